"""Onsets of disciplines that drop at random, in virtual time: red, choke and sfb of Linux and ours in the first seconds, after pauses, and at other rates of the link.

The cases have the phases of `timed`'s onsets. Linux runs each one many times in one boot, and ours with many seeds; only random numbers differ
between runs. Compared are the packets dropped and marked of those that came in each half second, as means over runs. The tolerance is that of
`shares`.
"""

import pathlib
import random
import re
import statistics
import sys
import tempfile

import shares
import timed
import virtual

CASES = 4
# Runs of ours for each run of Linux.
MORE = 5
# The cases tell apart what drops and marks: of one window more than of another.
WINDOW_US = 500_000
LATE_NS = 2500

EARLY = "avpkt 1000 burst 20 bandwidth 1mbit probability"


def red(rng):
    most = rng.choice([20000, 40000])
    return f"red limit 400000 min {most // 3} max {most} {EARLY} {rng.choice([0.05, 0.1, 0.3])}{rng.choice(['', ' ecn'])}"


def choke(rng):
    most = rng.choice([20, 40])
    return f"choke limit 1000 min {most // 3} max {most} {EARLY} {rng.choice([0.05, 0.1, 0.3])}{rng.choice(['', ' ecn'])}"


def sfb(rng):
    most = rng.choice([10, 25])
    return f"sfb rehash 600000 db 60000 limit 1000 max {most} target {most - 5} increment {rng.choice(['0.01', '0.03'])} decrement 0.002 penalty_rate 1 penalty_burst 1"


def in_bytes(words):
    return re.sub(r"\b(limit|min|max) (\d+)", r"\1 \2b", words)


def in_seconds(words):
    return re.sub(r"\b(rehash|db) (\d+)000\b", r"\1 \2s", words)


# Words of tc, the same in ours, and a planted difference. In Linux other settings of red and sfb drop what waits, so only choke gets others.
DISCIPLINES = {
    "red": (red, in_bytes, lambda words: in_bytes(re.sub(r"avpkt 1000 burst 20", "avpkt 1000 burst 60", words))),
    "choke": (choke, lambda words: f"{words} linux", lambda words: in_bytes(re.sub(r"\b(min|max) (\d+)", r"\1 \g<2>000", words.replace("choke limit 1000", "red limit 400000")))),
    "sfb": (sfb, in_seconds, lambda words: in_seconds(re.sub(r"increment 0.0", "increment 0.1", words))),
}


def case_of(name, number):
    """A case: the words and the steps that both sides share."""
    make, *_ = DISCIPLINES[name]
    rng = random.Random(f"onsets {name} {number}")
    words = make(rng)
    flows = [1, 1, 1, 1, 2, 2, 3]
    change = (lambda rng: f"qdisc change dev DEV parent 1:1 handle 10: {make(rng)}") if name == "choke" else None
    steps = timed.onset(rng, flows, rng.choice([1_000_000, 2_000_000]), timed.points(rng), change)
    case = timed.alone(2_000_000, words, steps, is_filtered=True)
    case["tc"][0:1] = [timed.DEEP, f"m {timed.FRAME}"]
    return case


def in_ours(case, told):
    """The case with words of ours. Other settings hold from the middle of their command on."""
    steps = timed.at_moment(case, 0.5)
    changed = []
    for step in steps:
        command, handle, words = step.partition(" handle 10: ")
        # The writer of cases adds `linux`.
        changed.append(command + handle + told(words).removesuffix(" linux") if handle else step)
    return {**case, "ours": told(case["ours"]), "steps": changed, "late": LATE_NS}


def windows(case, departures):
    """Packets dropped and marked of those that came in each half second, by name."""
    sent = {word.rstrip("!"): word.endswith("!") for word, _ in departures}
    values, now, number = {}, 0, 0
    for step in case["steps"]:
        if step.startswith("t "):
            now = int(step[2:])
        elif step.startswith("a "):
            window = now // WINDOW_US
            for what in ("dropped", "marked"):
                values.setdefault(f"{what} from {window * WINDOW_US / 1e6:.1f} s", 0)
            values[f"dropped from {window * WINDOW_US / 1e6:.1f} s"] += str(number) not in sent
            values[f"marked from {window * WINDOW_US / 1e6:.1f} s"] += sent.get(str(number), False)
            number += 1
    return values


def over_runs(case, runs):
    """The values of each window over runs."""
    all_runs = [windows(case, run) for run in runs]
    return {name: [values[name] for values in all_runs] for name in all_runs[0]}


def run_ours(case, told, count, run_written):
    cases = {str(seed): {**in_ours(case, told), "seed": seed} for seed in range(1, count + 1)}
    with tempfile.TemporaryDirectory(prefix="roundelay-onsets-") as directory:
        path = pathlib.Path(directory) / "ours"
        timed.write_cases(cases, path, ours=True)
        return over_runs(case, [timed.read(words) for words in run_written(path).values()])


def run_linux(cases, arguments):
    """Departures of each case in each run, and the cases with what the kernel noted."""
    repeated = {f"{name}-{run}": case for name, case in cases.items() for run in range(arguments.runs)}
    with tempfile.TemporaryDirectory(prefix="roundelay-onsets-") as directory:
        path = pathlib.Path(directory) / "theirs"
        timed.write_cases(repeated, path, ours=False)
        lines = virtual.boot(path.read_text(), 300 + 10 * len(repeated), kernel=arguments.kernel)
    noted, theirs = timed.with_notes(repeated, lines)
    noted = {name: noted[f"{name}-0"] for name in cases}
    return noted, {name: [theirs[f"{name}-{run}"] for run in range(arguments.runs)] for name in cases}


def run(arguments, run_written):
    names = arguments.kinds or list(DISCIPLINES)
    cases = {f"{name}-{number}": case_of(name, number) for name in names for number in range(CASES)}
    cases, theirs = run_linux(cases, arguments)
    linux = {name: over_runs(case, theirs[name]) for name, case in cases.items()}
    comparisons = sum(len(values) for values in linux.values())
    agree = True
    for name in names:
        _, told, planted = DISCIPLINES[name]
        equal, found, drops, marks, worst = 0, 0, 0, 0, 0.0
        of_name = [f"{name}-{number}" for number in range(CASES)]
        for each in of_name:
            ours = run_ours(cases[each], told, MORE * arguments.runs, run_written)
            rows = shares.compare(linux[each], ours, comparisons)
            equal += all(row[-1] for row in rows)
            for window, there, here, most, is_equal in rows:
                drops += there if window.startswith("dropped") else 0
                marks += there if window.startswith("marked") else 0
                worst = max(worst, abs(there - here) / most)
                if arguments.show or not is_equal:
                    spread = statistics.stdev(linux[each][window])
                    print(f"  {each}, {window}: Linux {there:.2f}, ours {here:.2f}, tolerance {most:.2f}; a run of Linux strays by {spread:.2f}{'' if is_equal else ' DIFFERS'}")
            wrong = run_ours(cases[each], planted, MORE * arguments.runs, run_written)
            found += not all(row[-1] for row in shares.compare(linux[each], wrong, comparisons))
        print(f"{name}: {equal} of {CASES} cases equal in each half second, {worst:.2f} of the tolerance at most; {drops:.0f} dropped and {marks:.0f} marked a run; planted settings: {found} differ", flush=True)
        if not found:
            sys.exit(f"{name}: planted settings were not found")
        agree &= equal == CASES
    return agree
