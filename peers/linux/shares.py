"""Random drops: red, choke and sfb of Linux and ours under the same constant overloads.

A load is one list of arrivals and choices, as in the comparison of orders. Linux runs it many times, and so do we with as many
seeds as we like; only the qdisc's random numbers differ between runs. Compared are means over runs: the part of each flow's packets
that is dropped, and the packets that leave while a packet waits (by Little's law the mean queue). The tolerance follows from the
scatter of the runs: Welch's t, two-sided, with a probability of FALSE_ALARM that any comparison of the table fails by chance.
"""

import math
import random
import statistics
import sys

# Packets of each flow among ten.
PARTS = [5, 3, 1, 1]
ARRIVALS = 1500
OVERLOADS = [1.2, 2.0]
FALSE_ALARM = 0.001
# The load at which planted differences are looked for: at 2.0 some are too small for 40 runs, and were missed in a quarter of comparisons.
TELLING = 1.2
# Runs of ours for each run of Linux.
MORE = 5

EARLY = "avpkt 1000 burst 20 bandwidth 10mbit probability"
# The queue of choke is empty at times, and the guest's clock runs: at this bandwidth milliseconds of idle time leave the average as it is.
STILL = EARLY.replace("10mbit", "8kbit")
# Name, parameters in tc's words and in ours, and a planted difference: parameters that the comparison must tell from Linux's.
DISCIPLINES = {
    "red": {
        "tc": f"red limit 400000 min 10000 max 30000 {EARLY} 0.1",
        "ours": f"red limit 400000b min 10000b max 30000b {EARLY} 0.1",
        "planted": f"red limit 400000b min 10000b max 30000b {EARLY} 0.12",
    },
    "red, ECN": {
        "tc": f"red limit 400000 min 10000 max 60000 {EARLY} 0.3 ecn",
        "ours": f"red limit 400000b min 10000b max 60000b {EARLY} 0.3 ecn",
        "planted": f"red limit 400000b min 10000b max 60000b {EARLY} 0.36 ecn",
    },
    "choke": {
        "tc": f"choke limit 1000 min 10 max 30 {STILL} 0.1",
        "ours": f"choke limit 1000 min 10 max 30 {STILL} 0.1 linux",
        "planted": f"red limit 400000b min 10000b max 30000b {EARLY} 0.1",
    },
    "sfb": {
        "tc": "sfb rehash 600000 db 60000 limit 1000 max 25 target 20 increment 0.01 decrement 0.001 penalty_rate 1 penalty_burst 1",
        "ours": "sfb rehash 600s db 60s limit 1000 max 25 target 20 increment 0.01 decrement 0.001 penalty_rate 1 penalty_burst 1",
        "planted": "sfb rehash 600s db 60s limit 1000 max 25 target 20 increment 0.03 decrement 0.001 penalty_rate 1 penalty_burst 1",
    },
}
PARENT = "qdisc add dev DEV parent 1:1 handle 10: "


def load(overload, ecn):
    """Arrivals of 1,000 bytes and choices: `overload` arrivals for each choice."""
    rng = random.Random(f"shares {overload}")
    steps = []
    for flow in rng.choices(range(len(PARTS)), PARTS, k=ARRIVALS):
        steps.append(f"a 0 {flow} 1000 {2 if ecn and flow % 2 else 0}")
        while rng.random() < 1 / (1 + overload):
            steps.append("d")
    return steps


def measures(steps, order):
    """Drops of each flow and the mean wait of packets that left, in choices; the part of the packets that left with a mark."""
    flows = [int(step.split()[2]) for step in steps if step[0] == "a"]
    left = [int(word.rstrip("!")) for word in order]
    arrived_at, waits, choices, busy = [], [], 0, False

    def choose():
        waited = len(waits)
        if waited < len(left) and left[waited] < len(arrived_at):
            waits.append(choices - arrived_at[left[waited]])
            return True
        return False

    for step in steps:
        if step[0] == "a":
            arrived_at.append(choices)
            busy = busy or choose()
        else:
            choices += 1
            busy = busy and choose()
    came, went = [flows.count(flow) for flow in range(len(PARTS))], [0] * len(PARTS)
    for number in left:
        went[flows[number]] += 1
    values = {f"flow {flow + 1} dropped": 1 - went[flow] / came[flow] for flow in range(len(PARTS))}
    values["wait"] = statistics.fmean(waits)
    if any(word.endswith("!") for word in order):
        values["marked"] = sum(word.endswith("!") for word in order) / len(order)
    return values


def runs(steps, orders):
    """The values of each measure over runs. A measure that some run lacks is zero there."""
    all_runs = [measures(steps, order) for order in orders]
    names = dict.fromkeys(name for values in all_runs for name in values)
    return {name: [values.get(name, 0.0) for values in all_runs] for name in names}


def tolerance(theirs, ours, comparisons):
    """Half the width of the interval in which the difference of two means lies."""
    parts = [statistics.variance(values) / len(values) for values in (theirs, ours)]
    if not sum(parts):
        return 1e-9
    freedom = sum(parts) ** 2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (theirs, ours)))
    z = statistics.NormalDist().inv_cdf(1 - FALSE_ALARM / comparisons / 2)
    # Student's quantile from the normal one (Abramowitz and Stegun, 26.7.5).
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return t * math.sqrt(sum(parts))


def compare(theirs, ours, comparisons):
    """Rows: measure, mean in Linux, mean here, tolerance, whether they agree."""
    rows = []
    for name in theirs | ours:
        pair = [values.get(name, [0.0] * len(next(iter(values.values())))) for values in (theirs, ours)]
        means, most = [statistics.fmean(values) for values in pair], tolerance(*pair, comparisons)
        rows.append((name, *means, most, abs(means[0] - means[1]) <= most))
    return rows


def run(arguments, run_in_linux, run_ours, read_orders, parent):
    names = arguments.kinds or list(DISCIPLINES)
    loads = {(name, overload): load(overload, "ECN" in name) for name in names for overload in OVERLOADS}
    cases = {
        f"{name.replace(' ', '_')}-{overload}-{number}": {"tc": ["m 1500", parent, PARENT + DISCIPLINES[name]["tc"]], "steps": steps}
        for (name, overload), steps in loads.items()
        for number in range(arguments.runs)
    }
    theirs = read_orders(run_in_linux(cases, 300 + 10 * len(cases)))
    comparisons = len(loads) * (len(PARTS) + 2)
    agree = True
    print("| qdisc | load | measure | Linux | ours | tolerance | |\n|---|---|---|---|---|---|---|")
    for (name, overload), steps in loads.items():
        of_load = [order for case, order in theirs.items() if case.startswith(f"{name.replace(' ', '_')}-{overload}-")]

        def ours(words):
            cases = {
                f"{number}": {"ours": words, "seed": number + 1, "classes": [], "steps": steps} for number in range(MORE * arguments.runs)
            }
            return runs(steps, run_ours(cases).values())

        linux = runs(steps, of_load)
        for measure, there, here, most, equal in compare(linux, ours(DISCIPLINES[name]["ours"]), comparisons):
            digits = 2 if measure == "wait" else 4
            said = "" if equal else "differs"
            print(f"| {name} | {overload} | {measure} | {there:.{digits}f} | {here:.{digits}f} | {most:.{digits}f} | {said} |")
            agree = agree and equal
        # A comparison that cannot fail shows nothing.
        if overload == TELLING and all(equal for *_, equal in compare(linux, ours(DISCIPLINES[name]["planted"]), comparisons)):
            sys.exit(f"{name}, load {overload}: a planted difference was not found")
    return agree
