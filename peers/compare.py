#!/usr/bin/env python3
"""Runs Roundelay's simulator beside ns-2 and ns-3 on the same scenarios: `make peers`.

compare.py check [FLOWS]    the results, side by side, with assertions; part of `make test-full`. FLOWS: a file for the bulk flows' goodputs
compare.py speed [ROUNDS]   CPU seconds, packet-hops a second and memory: medians of interleaved rounds
compare.py counts           instructions a packet-hop of ours, and how memory grows
compare.py questions        differences that come from phases of packets, and from ns-3's CUBIC: a quarter of an hour

Simulators that are not installed are left out, and the output says so.
"""

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import questions

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "target/release/examples"
PROGRAM = ROOT / "target/release/roundelay"
NS3 = ROOT / "target/peers/ns3"
FLOWS = 50
# Seconds that the dumbbell runs.
CHECKED, TIMED = 300, 1000
SEEDS = range(1, 6)


def present():
    names = ["roundelay"]
    names += ["ns-2"] if shutil.which("ns") else []
    names += ["ns-3"] if NS3.exists() else []
    for name in {"ns-2", "ns-3"} - set(names):
        print(f"{name} is not installed: left out (make setup-{name.replace('-', '')})")
    return names


def dumbbell(kind, seconds, starts, least_timeout=200):
    """The command for each simulator; a word says whether peers watch their queues, which costs them time. Timeouts are in milliseconds."""
    ours = {"cbr": "dumbbell", "tcp": "bulk_tcp"}[kind]
    return {
        "roundelay": lambda _: [EXAMPLES / ours, seconds, starts, least_timeout],
        "ns-2": lambda watch: ["ns", ROOT / "peers/dumbbell.tcl", kind, seconds, starts, watch, least_timeout],
        "ns-3": lambda watch: [NS3, kind, seconds, starts, watch, least_timeout],
    }


def bursts(folder, seconds):
    return {
        "roundelay": lambda _: [EXAMPLES / "bursts", seconds, 0.7, "tenth", "drained"],
        "ns-2": lambda watch: ["ns", ROOT / "peers/bursts.tcl", folder, watch],
        "ns-3": lambda watch: [NS3, "bursts", folder, watch],
    }


def run(command):
    """What it printed, and its CPU seconds."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed")
    printed = {line.split()[0]: [float(word) for word in line.split()[1:]] for line in text.splitlines()}
    return printed, usage.ru_utime + usage.ru_stime


def write_starts(path, seed):
    """50 starts within the first second, in order: all simulators list flows alike."""
    draw = random.Random(seed)
    path.write_text("".join(f"{start:.9f}\n" for start in sorted(draw.random() for _ in range(FLOWS))))
    return path


def write_workload(folder, seconds):
    run([EXAMPLES / "bursts", seconds, 0.7, "tenth", "drained", folder])
    return folder


def jain(flows):
    return sum(flows) ** 2 / len(flows) / sum(flow * flow for flow in flows)


def table(title, rows):
    print(f"\n{title}\n")
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [str(cell).rjust(width) if place else str(cell).ljust(width) for place, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


claims, failures = [], []


def claim(text, holds):
    print(f"{'holds' if holds else 'FAILS'}: {text}")
    claims.append(text)
    if not holds:
        failures.append(text)


def summary(printed):
    """What is compared of a run on the dumbbell."""
    flows, one = sorted(printed["flows"]), lambda key: printed[key][0]
    mean = sum(flows) / FLOWS
    return {
        "delivered": sum(flows),
        "carried": one("bottleneck_departed"),
        "loss %": 100 * one("bottleneck_dropped") / one("bottleneck_arrived"),
        "queue": one("bottleneck_queue"),
        "sent in vain %": 100 * (1 - sum(flows) / one("bottleneck_departed")),
        "Jain": jain(flows),
        "least": flows[0] / mean,
        "10 %": flows[FLOWS // 10] / mean,
        "median": statistics.median(flows) / mean,
        "90 %": flows[-FLOWS // 10 - 1] / mean,
        "most": flows[-1] / mean,
    }


def digits(key, value):
    return f"{value:.0f}" if key in ("delivered", "carried") else f"{value:.2f}" if key in ("loss %", "queue", "sent in vain %") else f"{value:.4f}"


def check_cbr(names, folder):
    commands = dumbbell("cbr", 100, write_starts(folder / "starts.txt", 1))
    runs = {name: run(commands[name]("observe"))[0] for name in names}
    summaries = {name: summary(printed) for name, printed in runs.items()}
    keys = ["delivered", "loss %", "queue", "Jain", "least", "median", "most"]
    rows = [["", *keys]] + [[name, *(digits(key, summaries[name][key]) for key in keys)] for name in names]
    table("Dumbbell, 50 flows of constant rate, starts drawn from the first second, 100 s", rows)
    for name in names[1:]:
        claim(f"each flow's packets are those of {name}", runs["roundelay"]["flows"] == runs[name]["flows"])
        keys = ["bottleneck_arrived", "bottleneck_dropped", "bottleneck_departed"]
        claim("so is what the bottleneck takes, drops and carries", all(runs["roundelay"][key] == runs[name][key] for key in keys))


def check_tcp(names, folder):
    for least_timeout in (200, 1000):
        check_bulk(names, folder, least_timeout)


def check_bulk(names, folder, least_timeout):
    found, goodputs = {name: [] for name in names}, {name: [] for name in names}
    for seed in SEEDS:
        commands = dumbbell("tcp", CHECKED, write_starts(folder / "starts.txt", seed), least_timeout)
        for name in names:
            printed = run(commands[name]("observe"))[0]
            found[name].append(summary(printed))
            goodputs[name] += [packets * 8 / CHECKED for packets in printed["flows"]]
    if len(sys.argv) > 2:
        lines = (" ".join([name, *(f"{goodput:.2f}" for goodput in sorted(of_one))]) for name, of_one in goodputs.items())
        Path(sys.argv[2]).write_text("".join(f"{line}\n" for line in lines))
    keys = list(found["roundelay"][0])
    median = {name: {key: statistics.median(one[key] for one in runs) for key in keys} for name, runs in found.items()}
    rows = [["", *(f"{name}{part}" for name in names for part in ("", " from", " to"))]]
    for key in keys:
        values = ((median[name][key], min(one[key] for one in found[name]), max(one[key] for one in found[name])) for name in names)
        rows.append([key, *(digits(key, value) for triple in values for value in triple)])
    title = f"Dumbbell, 50 bulk flows, NewReno, timeouts of {least_timeout} ms and more, {CHECKED} s: median, least and most of {len(SEEDS)} draws of starts"
    table(f"{title}; flows' quantiles are over their mean", rows)
    peers = [median[name] for name in names[1:]]
    if not peers:
        return
    ours = median["roundelay"]
    # Peers differ from each other: with one of them alone there is less to be near to.
    few = 0.05 if len(peers) == 2 else 0.08
    for key, part in [("carried", 0.001), ("delivered", 0.01), ("loss %", few), ("queue", few), ("median", 0.02), ("10 %", 0.05), ("90 %", 0.05)]:
        off = min(abs(ours[key] / theirs[key] - 1) for theirs in peers)
        claim(f"{key} within {100 * part:g} % of the nearest peer's: off by {100 * off:.2f} %", off <= part)
    least = min(one["Jain"] for one in found["roundelay"])
    claim(f"Jain's index above 0.99 in each draw: {least:.4f}", least > 0.99)
    if len(peers) == 2:
        low, high = sorted(theirs["queue"] for theirs in peers)
        claim(f"mean queue between the peers': {low:.1f} to {high:.1f}", low <= ours["queue"] <= high)


def check_bursts(names, folder):
    seconds = 0.7
    commands = bursts(write_workload(folder, seconds), seconds)
    runs = {name: run(commands[name]("observe"))[0] for name in names}
    keys = ["delivered", "packet_hops", "dropped", "mean_wait_ms"]
    rows = [["", *keys]] + [[name, *(f"{runs[name][key][0]:.6f}".removesuffix(".000000") for key in keys)] for name in names]
    table(f"Internet2 at a tenth of its rates, whole flows over UDP at 70 % for {seconds} s, until all has arrived", rows)
    for name in names[1:]:
        claim(f"as many packets and packet-hops as {name}", all(runs["roundelay"][key] == runs[name][key] for key in keys[:3]))
        off = abs(runs["roundelay"]["mean_wait_ms"][0] / runs[name]["mean_wait_ms"][0] - 1)
        claim(f"mean wait within a millionth of {name}'s: off by {off:.1e}", off < 1e-6)


# Loads of one SFQ link: packets of a run, and runs.
SFQ_PACKETS, SFQ_RUNS = 2000, 20


def sfq_order(folder, draw, buckets, limit, flows):
    """A load through ns-2's SFQ: its departures, and the same calls as a case for the example `orders`."""
    now, lines = 0.0, []
    rate = draw.uniform(0.8, 2.0) * 1000
    for _ in range(SFQ_PACKETS):
        now += draw.expovariate(rate)
        lines.append(f"{now:.6f} {draw.randint(1, flows)}\n")
    (folder / "arrivals.txt").write_text("".join(lines))
    subprocess.run(["ns", ROOT / "peers/sfq.tcl", folder / "arrivals.txt", str(buckets), str(limit), folder / "trace.txt"], check=True)
    events = [line.split() for line in (folder / "trace.txt").read_text().splitlines() if line[0] in "+-"]
    order, calls, has_sent = [], [], False
    for place, (kind, _, _, _, _, _, _, flow, _, _, _, number) in enumerate(events):
        if kind == "+":
            # An idle link sends the packet at once; `d` says that the link has become idle.
            following = events[place + 1] if place + 1 < len(events) else ["", ""]
            finds_idle = following[0] == "-" and following[-1] == number
            calls += ["d"] * (finds_idle and has_sent) + [f"a {flow} 0 1000 0"]
        else:
            calls += [] if calls[-1][0] == "a" and events[place - 1][-1] == number else ["d"]
            order.append(number)
            has_sent = True
    return order, calls


def check_sfq(names, folder):
    if "ns-2" not in names:
        return
    draw = random.Random(1)
    rules = {"ns2": "mqfq hashes 1 ns2", "paper": "mqfq hashes 1"}
    equal = dict.fromkeys(rules, 0)
    for run_number in range(SFQ_RUNS):
        buckets, limit, flows = draw.choice([8, 16]), draw.choice([20, 40, 100]), draw.randint(2, 8)
        order, calls = sfq_order(folder, draw, buckets, limit, flows)
        for name, words in rules.items():
            ours = f"ours {words} queues {buckets} buffer {limit} limit {limit} quantum 1000b"
            text = "\n".join([f"case {run_number}", ours, *calls, ""])
            printed = subprocess.run([EXAMPLES / "orders"], input=text, capture_output=True, text=True, check=True).stdout
            equal[name] += printed.split()[1:] == order
    claim(f"departures of ns-2's SFQ, {SFQ_PACKETS} packets a run: {equal['ns2']} of {SFQ_RUNS} runs equal", equal["ns2"] == SFQ_RUNS)
    claim(f"with the paper's rules {equal['paper']} of {SFQ_RUNS} runs are equal: a difference is found", equal["paper"] == 0)


def check(names):
    with tempfile.TemporaryDirectory() as folder:
        for checked in (check_cbr, check_tcp, check_bursts, check_sfq):
            checked(names, Path(folder))
    if not claims:
        sys.exit("\nnothing was claimed: neither ns-2 nor ns-3 is here to compare with (make setup-ns2, make setup-ns3)")
    if failures:
        sys.exit(f"\n{len(failures)} claims do not hold")


def speed(names, rounds):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        starts = write_starts(folder / "starts.txt", 1)
        scenarios = {
            f"dumbbell, 50 CBR flows, {TIMED} s": dumbbell("cbr", TIMED, starts),
            f"dumbbell, 50 bulk TCP flows, {TIMED} s": dumbbell("tcp", TIMED, starts),
            "Internet2, bursts at 70 %, 0.7 s of arrivals": bursts(write_workload(folder, 0.7), 0.7),
        }
        for title, commands in scenarios.items():
            table(f"{title}: median of {rounds} interleaved rounds, least and most", timed(names, rounds, commands))
            sys.stdout.flush()


def timed(names, rounds, commands):
    hops, events, seconds, memory, ratios = 0, 0, {name: [] for name in names}, {}, {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            printed, cpu = run(commands[name]("plain"))
            memory[name] = printed["peak_memory_mb"][0]
            seconds[name].append(cpu)
            if name == "roundelay":
                hops, events = printed["packet_hops"][0], printed["events"][0]
            ratios[name].append(cpu / seconds["roundelay"][-1])
    rows = [["", "CPU s", "from", "to", "M packet-hops / CPU s", "M events / CPU s", "peak MB", "CPU s / ours"]]
    for name in names:
        median = statistics.median(seconds[name])
        spread = [f"{value:.3f}" for value in (median, min(seconds[name]), max(seconds[name]))]
        of_events = f"{events / median / 1e6:.2f}" if name == "roundelay" else ""
        rows.append([name, *spread, f"{hops / median / 1e6:.2f}", of_events, f"{memory[name]:.1f}", f"{statistics.median(ratios[name]):.1f}"])
    return rows


# Ours alone: name, example, arguments of a run, and those of one twice as long.
COUNTED = [
    ("dumbbell, 50 CBR flows", "dumbbell", [100], [200]),
    ("dumbbell, 50 bulk TCP flows", "bulk_tcp", [100], [200]),
    ("Internet2, bursts at 70 %", "bursts", [0.2, 0.7, "tenth", "drained"], [0.4, 0.7, "tenth", "drained"]),
    ("fat-tree, k = 8, Poisson at 30 %", "fat_tree", [1, 8], [2, 8]),
]
# Ours alone: a run, and one ten times as long.
GROWN = [
    ("dumbbell, 50 CBR flows", "dumbbell", [1000], [10000]),
    ("dumbbell, 50 bulk TCP flows", "bulk_tcp", [1000], [10000]),
    ("Internet2, bursts at 30 %", "bursts", [5, 0.3, "tenth"], [50, 0.3, "tenth"]),
    ("Internet2, bursts at 70 %", "bursts", [5, 0.7, "tenth"], [50, 0.7, "tenth"]),
    ("fat-tree, k = 16, Poisson at 30 %", "fat_tree", [7], [70]),
]


def counted(example, arguments):
    """Packet-hops, events and instructions of a run."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*tool, EXAMPLES / example, *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    printed = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    instructions = next(line.split()[-1] for line in done.stderr.splitlines() if "Collected" in line)
    return int(printed["packet_hops"]), int(printed["events"]), int(instructions)


def counts():
    rows = [["", "packet-hops", "instructions a packet-hop", "events a packet-hop"]]
    for title, example, once, twice in COUNTED:
        short, long = counted(example, once), counted(example, twice)
        hops, events, instructions = (more - less for less, more in zip(short, long))
        rows.append([title, hops, f"{instructions / hops:.0f}", f"{events / hops:.2f}"])
    table("Instructions: the difference between a run and one twice as long, under callgrind", rows)
    rows = [["", "packet-hops", "CPU s", "M packet-hops / CPU s", "most in flight", "peak MB"]]
    for title, example, *runs in GROWN:
        for place, arguments in enumerate(runs):
            printed, cpu = run([EXAMPLES / example, *arguments])
            hops, most = printed["packet_hops"][0], printed.get("most_in_flight")
            cells = [f"{hops:.0f}", f"{cpu:.1f}", f"{hops / cpu / 1e6:.2f}", f"{most[0]:.0f}" if most else "", f"{printed['peak_memory_mb'][0]:.1f}"]
            rows.append([title if place == 0 else "  ten times as long", *cells])
    table("Memory: runs, and others ten times as long", rows)


def answer(names):
    with tempfile.TemporaryDirectory() as folder:
        for title, rows in questions.questions(PROGRAM, ROOT, NS3, names, Path(folder)):
            table(f"{title}: {len(questions.SEEDS)} draws of starts", rows)
            sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"]:
        check(present())
    elif sys.argv[1:2] == ["speed"]:
        speed(present(), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    elif sys.argv[1:2] == ["counts"]:
        counts()
    elif sys.argv[1:2] == ["questions"]:
        answer(present())
    else:
        sys.exit(__doc__)
