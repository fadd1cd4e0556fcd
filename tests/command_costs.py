#!/usr/bin/env python3
"""Instructions of whole commands, counted by callgrind: `make bench-check` compares them with those in docs/performance/commands.json.

command_costs.py check FILE    fails where a count differs by more than 2%, also for the better: the committed counts stay true
command_costs.py write FILE    counts and writes the file
command_costs.py print         counts and prints

The program is target/release/roundelay, or the one that ROUNDELAY names.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("ROUNDELAY", ROOT / "target/release/roundelay")
EXAMPLE = ROOT / "examples/captures/home-downlink.pcap"
BOTH_WAYS = ROOT / "examples/captures/home-both.pcap.gz"
TOLERANCE = 0.02

# As many packets as pairs: the run is short, so that opening the flows counts.
DUMBBELL = """
seed = 1
duration = "1s"
warmup = "0s"
[topology]
template = "dumbbell"
pairs = {pairs}
rate = "100mbit"
delay = "10ms"
access_rate = "100mbit"
access_delay = "10ms"
[queue]
core = "fifo limit 1000"
edge = "fifo limit 1000"
[[source]]
name = "steady"
kind = "cbr"
from = "s*"
to = "r*"
rate = "8kbit"
packet_len = 1000
"""

# Networks with many equally short routes.
SPREAD = """
seed = 1
duration = "1ms"
warmup = "0ms"
[topology]
{topology}
[routing]
spread = true
[queue]
core = "fifo limit 500kb"
edge = "fifo limit 500kb"
[[source]]
name = "short"
kind = "arrivals"
from = "host*"
utilisation = 0.4
link_rate = "10gbit"
sizes = "web_search"
transport = "tcp"
"""
LEAF_SPINE = SPREAD.format(topology='template = "leaf_spine"\nleaves = 200\nspines = 200\nhosts_per_leaf = 4')
FAT_TREE = SPREAD.format(topology='template = "fat_tree"\nk = 24')


SCENARIOS = ROOT / "examples/scenarios"
CBR = (SCENARIOS / "dumbbell-cbr.toml").read_text()
TCP = (SCENARIOS / "dumbbell-tcp.toml").read_text()
INTERNET2 = (SCENARIOS / "internet2-bursts.toml").read_text()
CAKE = (SCENARIOS / "cake-load.toml").read_text()


def put(text, *changes):
    """A scenario with changed lines. Each old line must be there."""
    for old, new in changes:
        if old not in text:
            sys.exit(f"no line {old!r} in the scenario: {text}")
        text = text.replace(old, new)
    return text


def lasting(text, duration):
    """A scenario that ends earlier."""
    line = next(line for line in text.splitlines() if line.startswith("duration ="))
    return put(text, (line, f'duration = "{duration}ms"'))


CONTROL = 'tcp = { preset = "ns2_newreno", segment_len = 960 }'
# A packet-hop's cost is the difference of two runs, over the difference of their hops: without
# set-up, which would hide it. The name, the scenario, options, and the runs' milliseconds.
HOPS = [
    ("internet2, bursts", put(INTERNET2, ('variant = "tenth"', 'variant = "1g-10g"'), ("100mbit", "1gbit"), ('stop = "700ms"\n', "")), [], [10, 20]),
    ("internet2 at a tenth, bursts", put(INTERNET2, ('stop = "700ms"\n', "")), [], [100, 200]),
    ("dumbbell, 50 CBR flows", CBR, [], [20_000, 60_000]),
    ("dumbbell, 50 TCP flows", TCP, [], [20_000, 60_000]),
    ("dumbbell, 5,000 CBR flows", put(CBR, ("pairs = 50", "pairs = 5000"), ('rate = "5mbit"', 'rate = "500mbit"')), [], [1_200, 1_600]),
    ("dumbbell, 50 TCP flows, BBR", put(TCP, (CONTROL, 'tcp = { control = "bbr" }')), [], [20_000, 60_000]),
    ("dumbbell, 50 TCP flows, CUBIC", put(TCP, (CONTROL, 'tcp = { control = "cubic" }')), [], [20_000, 60_000]),
    ("cake, voip beside TCP", CAKE, [], [12_000, 20_000]),
    ("dumbbell, 50 CBR flows, a tree", CBR, ["--queue", f"tree {ROOT / 'examples/trees/home.toml'}"], [20_000, 60_000]),
]


def hop(folder, text, options, durations):
    """Instructions of a marginal packet-hop."""
    counts = []
    for duration in durations:
        file = folder / "hop.toml"
        file.write_text(lasting(text, duration))
        results = folder / "hop.json"
        count = instructions("simulate", file, *options, "--json", output=results)
        hops = json.loads(results.read_text())["replicas"][0]["packet_hops"]
        counts.append((count, hops))
    (short, few), (long, many) = counts
    return round((long - short) / (many - few))


def capture(path, flows):
    """A capture of UDP packets, each of a flow of its own, 20 microseconds apart."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for number in range(flows):
            nanoseconds = number * 20_000
            source = struct.pack(">I", 10 << 24 | number)
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 1000, number % 65535 + 1, 0, 64, 17, 0) + source + bytes([192, 0, 2, 1])
            udp = struct.pack(">HHHH", 1024 + number % 60000, 443, 980, number % 65535 + 1)
            bytes_of_packet = ip + udp + struct.pack(">QI", number, 7)
            file.write(struct.pack("<IIII", nanoseconds // 10**9, nanoseconds % 10**9, len(bytes_of_packet), 1000))
            file.write(bytes_of_packet)


def instructions(*arguments, output=None):
    """Instructions of a run of the command. What it prints goes to the file `output`."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [str(word) for word in [*tool, PROGRAM, *arguments]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    if output is not None:
        output.write_text(done.stdout)
    return next(int(line.split()[-1]) for line in done.stderr.splitlines() if "Collected" in line)


def of_compare(path):
    return instructions("compare", path, "--rate", "5mbit", "drr", "--no-cost", "--json", "--threads", 1)


def counted():
    """A row for each count: its name, and the instructions."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        counts = {"compare: the example under drr": of_compare(EXAMPLE)}
        counts["applications: the example of both directions"] = instructions("applications", BOTH_WAYS, "--rate", "5mbit")

        flows = [10_000, 20_000]
        for number in flows:
            capture(folder / f"{number}.pcap", number)
        few, many = (of_compare(folder / f"{number}.pcap") for number in flows)
        counts["compare: a flow of one packet"] = (many - few) // (flows[1] - flows[0])

        pairs = [2_000, 6_000]
        for number in pairs:
            (folder / f"{number}.toml").write_text(DUMBBELL.format(pairs=number))
        few, many = (instructions("simulate", folder / f"{number}.toml", "--json") for number in pairs)
        counts["simulate: a pair at a dumbbell, with its packet"] = (many - few) // (pairs[1] - pairs[0])

        for name, text in [("leaf_spine, 200 by 200", LEAF_SPINE), ("fat_tree, k = 24", FAT_TREE)]:
            (folder / "network.toml").write_text(text)
            counts[f"simulate --dry-run: {name}"] = instructions("simulate", folder / "network.toml", "--dry-run")

        for name, text, options, durations in HOPS:
            counts[f"a packet-hop: {name}"] = hop(folder, text, options, durations)
    return counts


def compiler():
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def check(path):
    before, now = json.loads(path.read_text()), counted()
    if before["compiler"] != compiler():
        print(f"The counts in {path} are of another compiler: {before['compiler']}")
    wrong = 0
    for name in {**before["instructions"], **now}:
        old, new = before["instructions"].get(name), now.get(name)
        if old is None or new is None:
            print(f"{name}: {old} -> {new}, expected a count in both")
            wrong += 1
            continue
        change = new / old - 1
        is_wrong = abs(change) > TOLERANCE
        print(f"{name}: {old:,} -> {new:,} instructions ({change:+.1%}){' !' if is_wrong else ''}")
        wrong += is_wrong
    if wrong:
        sys.exit(f"{wrong} counts differ by more than {TOLERANCE:.0%}.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"] and len(sys.argv) == 3:
        check(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["write"] and len(sys.argv) == 3:
        found = {"compiler": compiler(), "instructions": counted()}
        Path(sys.argv[2]).write_text(json.dumps(found, indent=2) + "\n")
    elif sys.argv[1:] == ["print"]:
        for name, count in counted().items():
            print(f"{name}: {count:,}")
    else:
        sys.exit(__doc__)
