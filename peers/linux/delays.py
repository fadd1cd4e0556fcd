"""Random drops of a discipline that reads the clock: pie of Linux and ours under the same loads.

Single drops cannot be compared, but their numbers can. A case is a load of 25 seconds of real time in the guest. Ours runs the case with
many seeds, at times drawn between the noted begin and end of each step; the values of Linux must lie within the spread of ours.
"""

import concurrent.futures
import math
import random
import statistics
import sys

SEEDS = 40
# Linux takes no standing queue for one while at most a frame of the device waits: a frame of Ethernet, as ours has.
FRAME = 1514
# Packets of 1000 bytes at a link that sends one in 5 ms.
SERVICE, LENGTH = 5_000, 1000
# Microseconds of a case, and of its start, which is measured apart.
WHOLE, START = 25_000_000, 6_000_000
# Largest distance from the mean of ours, in standard deviations: with 36 values and 39 degrees of freedom, a false alarm in 460 runs.
FAR = 4.5
# The guest's clock ticks every 10 ms, and its timers may be late by one tick: part of a value.
TICKS = 0.01


def constant(load, capable):
    """Arrivals at `load` times the link's rate, departures at the link's: (time, step) in order."""
    gap = SERVICE / load
    arrivals = [(int(number * gap), f"a 0 1 {LENGTH} {2 if capable else 0}") for number in range(int(WHOLE / gap))]
    return sorted(arrivals + [(time, "d") for time in range(SERVICE, WHOLE, SERVICE)], key=lambda step: step[0])


def waves(high, low):
    """Four seconds of one load and four of another, in turn."""
    both = constant(high, False), constant(low, False)
    arrivals = [(time, step) for phase in (0, 1) for time, step in both[phase] if step != "d" and time // 4_000_000 % 2 == phase]
    return sorted(arrivals + [step for step in both[0] if step[1] == "d"], key=lambda step: step[0])


def case_of(words, timed, parent):
    return {
        "ours": words,
        "tc": [f"m {FRAME}", parent, f"qdisc add dev DEV parent 1:1 handle 10: {words.replace(*ASKED)}"],
        "classes": [],
        "steps": [line for time, step in timed for line in (f"t {time}", step)],
    }


# The guest has 100 ticks a second. Linux's timer for `tupdate 20ms` comes every third tick, not every second one: ours has 30 ms.
# Larger loads would begin with delays above 250 ms, where Linux has a rule of its own.
PIE = "pie limit 1000 target 100ms tupdate 30ms alpha 8 beta 32"
ASKED = ("tupdate 30ms", "tupdate 20ms")
CASES = {
    "load 1.1": (PIE, constant(1.1, False)),
    "load 1.2": (PIE, constant(1.2, False)),
    "load 1.2, bytemode": (f"{PIE} bytemode", constant(1.2, False)),
    "waves of 1.2 and 0.8": (PIE, waves(1.2, 0.8)),
    "load 1.04, ecn": (f"{PIE} ecn", constant(1.04, True)),
    "load 1.2, ecn": (f"{PIE} ecn", constant(1.2, True)),
}
# Differences that the comparison must find: parameters of ours only.
PLANTED = {
    "target": ("target 100ms", "target 120ms"),
    "tupdate": ASKED,
    "alpha": ("alpha 8", "alpha 16"),
    "beta": ("beta 32", "beta 12"),
}


def measured(case, order):
    """Values of a case whose steps have times: losses and mean delays of the start and of the rest, marks, and the spread of gaps between signals."""
    left = [int(word.rstrip("!")) for word in order]
    marked = {int(word[:-1]) for word in order if word.endswith("!")}
    kept, now, arrived, present, ends = set(left), 0, [], 0, []
    for step in case["steps"]:
        if step[0] == "t":
            now = int(step[2:])
        elif step[0] == "a":
            present += len(arrived) in kept
            arrived.append(now)
        elif present:
            present -= 1
            ends.append(now)
    lost = set(range(len(arrived))) - kept
    is_start = [time < arrived[0] + START for time in arrived]
    delays = [(end - arrived[number], is_start[number]) for number, end in zip(left, ends)]
    signals = sorted(lost | marked)
    gaps = [after - before for before, after in zip(signals, signals[1:])]
    values = {}
    for name, phase in (("start", True), ("rest", False)):
        values[f"loss, {name}"] = sum(is_start[number] == phase for number in lost) / is_start.count(phase)
        values[f"delay, {name}"] = statistics.fmean(delay for delay, start in delays if start == phase) / 1000
    values["marks"] = len(marked) / len(arrived)
    values["gaps"] = statistics.pstdev(gaps) / statistics.fmean(gaps)
    return values


def with_times(case, times, rng):
    """The case with a time for each step, between the begin and the end of the step in the guest. At the end of the case the guest takes what is left, packet by packet."""
    steps, drawn = [], 0
    left = sum((step[0] == "a") - (step[0] == "d") for step in case["steps"])
    for step, begin, end in zip([step for step in case["steps"] if step[0] != "t"] + [None], times[::2], times[1::2]):
        drawn = max(drawn, rng.randint(begin, end))
        steps += [f"t {drawn}"] + ([step] if step else [])
        if not step:
            steps += [word for time in sorted(rng.randint(drawn, end) for _ in range(left)) for word in (f"t {time}", "d")]
    return {**case, "steps": steps}


def spread(case, times, name, words, run_ours):
    """Values of ours over the seeds, at the times of the guest."""
    cases = {
        f"{name}/{seed}": {**with_times(case, times, random.Random(f"{name} {seed}")), "seed": seed, "ours": words} for seed in range(SEEDS)
    }
    orders = run_ours(cases)
    return [measured(cases[each], orders[each]) for each in cases]


def far(theirs, ours):
    """Names of the values of Linux that are far from ours, with the distance in standard deviations."""
    distances = {}
    for name, value in theirs.items():
        values = [each[name] for each in ours]
        mean = statistics.fmean(values)
        deviation = math.hypot(statistics.stdev(values) * math.sqrt(1 + 1 / len(values)), TICKS * mean)
        distances[name] = abs(value - mean) / deviation if deviation else 0.0 if value == mean else math.inf
    return {name: distance for name, distance in distances.items() if distance > FAR}


def run(run_in_linux, run_ours, parent):
    cases = {name.replace(" ", "_"): case_of(*case, parent) for name, case in CASES.items()}
    # Each case in a guest of its own: all wait for the clock.
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        results = list(pool.map(lambda name: run_in_linux({name: cases[name]}, 300), cases))
    equal, found = True, {planted: [] for planted in PLANTED}
    print(f"{'case':29} {'value':12} {'Linux':>9} {'ours':>9} {'deviation':>9}")
    for (name, case), lines in zip(cases.items(), results):
        orders = {first: rest for first, *rest in (line.split() for line in lines) if first != "times"}
        [times] = [[int(time) for time in rest] for first, _, *rest in (line.split() for line in lines) if first == "times"]

        def ours_with(words, case=case, times=times, name=name):
            return spread(case, times, name, words, run_ours)

        linux, ours = measured(with_times(case, times, random.Random(name)), orders[name]), ours_with(case["ours"])
        wrong = far(linux, ours)
        equal &= not wrong
        for value, number in linux.items():
            of_ours = [each[value] for each in ours]
            remark = f"  {wrong[value]:.1f} deviations" if value in wrong else ""
            print(f"{name.replace('_', ' '):29} {value:12} {number:9.4f} {statistics.fmean(of_ours):9.4f} {statistics.stdev(of_ours):9.4f}{remark}")
        for planted, (right, other) in PLANTED.items():
            if right in case["ours"]:
                found[planted].append(bool(far(linux, ours_with(case["ours"].replace(right, other)))))
    for planted, cases_found in found.items():
        right, other = PLANTED[planted]
        print(f"{other} in place of {right}: found in {sum(cases_found)} of {len(cases_found)} cases")
        # A comparison that cannot fail shows nothing.
        if not any(cases_found):
            sys.exit(f"{planted}: a planted difference was not found")
    return equal
