#!/usr/bin/env python3
"""Linux qdiscs beside Roundelay's disciplines: commands and departure orders, in kernels of user-mode-linux and in virtual time.

compare.py orders [CASES] [--seed N]   departure orders of random cases, packet by packet
compare.py timed [CASES] [--seed N]    departures, drops and marks on a link of an exact rate, in virtual time: cake, htb, hfsc, shapers in each other, tbf, ets, prio, fq, fq_pie, pie, codel, fq_codel; --kernel newest: in the newest kernel of Debian's backports
compare.py collisions [RUNS]           flows that share a queue of cake: how many of 50 to 800
compare.py delays                      random drops of pie: losses, delays, marks and gaps between signals, within the spread of seeds
compare.py shares [RUNS]               random drops of red, choke and sfb: means over runs under constant overloads
compare.py onsets [RUNS]               random drops of red, choke and sfb in virtual time: each half second from the first packet on, after pauses and changes; --kernel newest
compare.py rules                       printed commands for rules of weights and trees: the class that counts each packet
compare.py imports                     scripts that `roundelay import` reads: packets through some of them and through their trees, and the commands of the trees that they became
compare.py commands                    every tc command that `roundelay compare` prints for the example, and what the kernel made of it
"""

import argparse
import functools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

import collisions
import delays
import imports
import onsets
import rules
import shares
import timed
import virtual
from guest import environment, unfinished

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILT = ROOT / "target" / "peers"


def boot(work, seconds):
    """Boots the kernel, runs `work.sh` of the directory `work` in it, and returns its output and the kernel's messages. On a busy host it may take ten times as long as `seconds`, those of an idle one."""
    arguments = ["mem=192M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={HERE}/guest.sh", f"work={work}", "quiet"]
    console = ["con=null", "con0=null,fd:1", "con1=null", f"uml_dir={work}/", "umid=guest"]
    pipe = subprocess.PIPE
    guest = subprocess.Popen(["linux.uml", *arguments, *console], stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=environment(), start_new_session=True)
    try:
        said = "".join(guest.communicate(timeout=10 * seconds))
    except subprocess.TimeoutExpired:
        # The guest's processes are processes of the host, which outlive the first one.
        os.killpg(guest.pid, signal.SIGKILL)
        sys.exit(f"the guest did not end within {10 * seconds} s")
    status = work / "work.status"
    if not status.exists():
        sys.exit(unfinished(said))
    output = (work / "work.out").read_text()
    if status.read_text().strip() != "0":
        sys.exit(f"the guest's work failed, status {status.read_text().strip()}:\n{output[-3000:]}")
    return output, (work / "work.dmesg").read_text()


# Cases. Each is a dictionary: discipline (ours), commands (tc), classes (number, weight, longest packet), steps.

# The qdisc under test is a child of prio: without classes of its own and as the device's root, some qdiscs are bypassed while empty.
PARENT = "qdisc add dev DEV root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"

# Classes have queues as long as the device's.
DEEP = "l 100000"


def steps(rng, classes, lengths, count, load):
    """`count` arrivals in runs of random lengths, with departures between them: `load` arrivals for each departure."""
    steps = []
    favourite = rng.choice(classes)
    for _ in range(count):
        if rng.random() < 0.1:
            favourite = rng.choice(classes)
        number = favourite if rng.random() < 0.4 else rng.choice(classes)
        steps.append(f"a {number} {number} {lengths(number)} 0")
        while rng.random() < 1 / (1 + load):
            steps.append("d")
    return steps


def lengths(rng, longest):
    """Packet lengths: one for all, two, or any up to the class's longest."""
    kind = rng.randrange(3)
    two = (rng.randint(28, min(longest)), min(longest))
    return (lambda _: two[1], lambda _: rng.choice(two), lambda number: rng.randint(28, longest[number - 1]))[kind]


def drr(rng):
    quantum = rng.choice([1, 100, 500, 1000, 1500, 3000]) if rng.random() < 0.5 else rng.randint(28, 4000)
    classes = range(1, rng.randint(2, 9) + 1)
    weights = [rng.choice([1, 1, 2, 3, 7]) for _ in classes]
    if rng.random() < 0.3:
        # Quanta in any ratio.
        quantum, weights = 1, [rng.randint(28, 9000) for _ in classes]
    add = [f"class add dev DEV parent 10: classid 10:{number} drr quantum {quantum * weight}" for number, weight in zip(classes, weights)]
    return {
        "ours": f"drr quantum {quantum} limit 100000",
        "tc": [DEEP, PARENT, "qdisc add dev DEV parent 1:1 handle 10: drr", *add],
        "classes": [(number, weight, 4000) for number, weight in zip(classes, weights)],
        "steps": steps(rng, classes, lengths(rng, [4000 if rng.random() < 0.3 else 1500] * len(classes)), 120, rng.choice([1, 1, 2, 5])),
    }


def qfq(rng):
    classes = range(1, rng.randint(2, 9) + 1)
    kinds = [(rng.choice([1, 1, 2, 3, 10, 100, 1000]), rng.choice([512, 1000, 1500, 1514, 2048, 4000])) for _ in range(rng.randint(1, 3))]
    chosen = [rng.choice(kinds) for _ in classes]
    queue = rng.choice([0, 1, 3, 1000, 1000])
    add = [
        f"class add dev DEV parent 10: classid 10:{number} qfq weight {weight} maxpkt {longest}" for number, (weight, longest) in zip(classes, chosen)
    ]
    return {
        "ours": f"qfq_plus aggregate {min(queue + 1, 8)} linux limit 100000",
        "tc": [f"l {queue}", PARENT, "qdisc add dev DEV parent 1:1 handle 10: qfq", DEEP, *add],
        "classes": [(number, weight, longest) for number, (weight, longest) in zip(classes, chosen)],
        "steps": steps(rng, classes, lengths(rng, [longest for _, longest in chosen]), 120, rng.choice([1, 1, 2, 5])),
    }


def sfq(rng):
    classes = range(1, rng.randint(2, 9) + 1)
    quantum = rng.choice([300, 500, 1000, 1500, 3000]) if rng.random() < 0.5 else rng.randint(256, 4000)
    # Limits above 127, buckets fewer than classes, depths beyond Linux's 127, and more packets in the buffer than buckets may hold.
    limit, depth, flows = rng.choice(
        [(127, 127, 127), (20, 20, 127), (10, 127, 127), (30, 5, 127), (8, 3, 127), (4, 127, 127), (1000, 200, 127), (300, 127, 4), (1000, 20, 5)]
    )
    head = rng.choice(["", " headdrop"])
    words = f"sfq quantum {quantum} limit {limit} depth {depth} flows {flows} divisor 1024"
    return {
        "ours": f"{words}{head} linux",
        "tc": [PARENT, f"qdisc add dev DEV parent 1:1 handle 10: {words}{head}"],
        "classes": [],
        "steps": steps(
            rng, classes, lengths(rng, [rng.choice([300, 1500, 4000])] * len(classes)), 600 if limit > 127 else 120, rng.choice([1, 1, 2, 5])
        ),
    }


def fq_codel(rng):
    classes = range(1, rng.randint(2, 9) + 1)
    quantum = rng.choice([300, 500, 1000, 1514, 3000]) if rng.random() < 0.5 else rng.randint(256, 4000)
    words = f"fq_codel quantum {quantum} limit {rng.choice([10240, 50, 20, 5])} target 1000s interval 1000s drop_batch {rng.choice([1, 2, 64])}"
    return {
        "ours": f"{words} linux",
        "tc": [PARENT, f"qdisc add dev DEV parent 1:1 handle 10: {words.replace('1000s', '1000000000us')}"],
        "classes": [],
        "steps": steps(rng, classes, lengths(rng, [rng.choice([300, 1500, 4000])] * len(classes)), 120, rng.choice([1, 1, 2, 5])),
    }


KINDS = {kind.__name__: kind for kind in (drr, qfq, sfq, fq_codel)}
# Those that `timed` has no cases of its own for.
timed.KINDS |= {kind.__name__: functools.partial(timed.on_a_link, kind) for kind in (drr, qfq, sfq)}


def write_cases(cases, path, ours, papers=False):
    with path.open("w") as file:
        for name, case in cases.items():
            file.write(f"case {name}\n")
            if ours:
                file.writelines(f"seed {case['seed']}\n" for _ in range("seed" in case))
                file.write(f"ours {case['ours'].replace(' linux', '') if papers else case['ours']}\n")
                file.writelines(f"class {number} {weight} {longest}\n" for number, weight, longest in case["classes"])
            else:
                file.writelines(f"{command}\n" if command[:2] in ("l ", "m ") else f"$ {command}\n" for command in case["tc"])
            file.writelines(f"{step}\n" for step in case["steps"])


def read_orders(lines):
    words = (line.split() for line in lines)
    return {name: order for name, *order in words}


def run_in_linux(cases, seconds):
    """The lines of results of the cases in the guest."""
    with tempfile.TemporaryDirectory(prefix="roundelay-linux-") as directory:
        work = pathlib.Path(directory)
        write_cases(cases, work / "cases", ours=False)
        (work / "work.sh").write_text("./orders cases results\n")
        (work / "orders").write_bytes((BUILT / "orders").read_bytes())
        (work / "orders").chmod(0o755)
        boot(work, seconds)
        return (work / "results").read_text().splitlines()


def run_ours(cases, papers=False):
    """The orders of the cases through our disciplines."""
    with tempfile.TemporaryDirectory(prefix="roundelay-linux-") as directory:
        written = pathlib.Path(directory) / "ours"
        write_cases(cases, written, ours=True, papers=papers)
        return run_written(written)


def run_written(cases):
    """The orders of the cases of a file through our disciplines."""
    program = ROOT / "target" / "release" / "examples" / "orders"
    with cases.open() as file:
        return read_orders(subprocess.run([program], stdin=file, capture_output=True, text=True, check=True).stdout.splitlines())


def show(name, case, ours, theirs):
    at = next((at for at, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    print(f"{name}: {case['ours']} {case['classes']}\n  from packet {at} on: ours {ours[at:at + 12]}, Linux {theirs[at:at + 12]}")


def orders(arguments):
    kinds = arguments.kinds or list(KINDS)
    cases = {}
    for number in range(arguments.cases):
        kind = kinds[number % len(kinds)]
        cases[f"{kind}-{number}"] = KINDS[kind](random.Random(f"{kind} {number} {arguments.seed}"))
    theirs = read_orders(run_in_linux(cases, 300 + 3 * arguments.cases))
    ours = run_ours(cases, arguments.papers)
    unequal = differing(ours, theirs)
    for name in unequal if arguments.show else []:
        show(name, cases[name], ours[name], theirs[name])
    counts = {kind: (sum(of(name) == kind for name in unequal), sum(of(name) == kind for name in cases)) for kind in kinds}
    for kind, (wrong, all_cases) in counts.items():
        print(f"{kind}: {all_cases - wrong} of {all_cases} orders equal")
    # A comparison that cannot fail shows nothing.
    for kind in kinds:
        planted = next(name for name in cases if of(name) == kind and len(theirs[name]) > 1)
        order = theirs[planted]
        for other in (order[:-2] + order[:-3:-1], order[:-1], [*order, "70000"]):
            if differing({planted: other}, theirs) != [planted]:
                sys.exit(f"{planted}: a planted difference was not found")
    if arguments.papers:
        return all(wrong > 0 for kind, (wrong, _) in counts.items() if kind != "drr")
    return not unequal


def of(name):
    """The kind of a case."""
    return name.rsplit("-", 1)[0]


def differing(ours, theirs):
    """Names of cases whose departures differ: another order, a packet more or less, or another mark."""
    return [name for name, order in ours.items() if order != theirs[name]]


# Commands.

CAPTURE = ROOT / "examples" / "captures" / "home-downlink.pcap"
SPECS = [
    "fifo", "pfifo limit 50", "bfifo limit 30000", "drr", "drr quantum 3000", "qfq", "qfq_plus", "qfq_plus aggregate 1 linux", "qfq_plus aggregate 4",
    "priority", "sfq", "sfq limit 1", "sfq limit 1000", "sfq limit 9000 depth 500 flows 20 linux", "sfq divisor 4 limit 1000 linux", "sfq linux perturb 10s depth 20 headdrop", "fq_codel", "fq_codel limit 500 target 10ms interval 200ms noecn quantum 300",
    "codel", "codel target 20ms ecn limit 200", "pie", "pie target 20ms tupdate 30ms alpha 4 beta 10 ecn bytemode dq_rate_estimator limit 200", "red", "red min 10kb max 40kb ecn nodrop limit 80kb", "red adaptive", "choke", "choke min 20 max 60 limit 200",
    "sfb", "sfb increment 0.01 rehash 60000",
]
# Rules of weights: a first one with ports, networks of both families, a code point, either end.
WEIGHTS = [
    ["src port 443 = 10"],
    ["udp dst portrange 40000-40100 = 20", "dscp ef = 7", "host 192.0.2.1 = 3", "src 2001:db8::/32 and tcp = 2", "icmp = 5"],
]
RATES = ["5mbit", "20mbit"]
# Parameters of these names are compared: as written in the command, in the units of `tc -j`.
UNITS = {"us": 1, "ms": 1000, "s": 1000000}


def value(word):
    """A number of a command: bare, or a time in microseconds."""
    match = re.fullmatch(r"([0-9.]+)(us|ms|s)?", word)
    return float(match[1]) * UNITS.get(match[2], 1) if match else None


def written(line):
    """The name and the numbers of a printed `tc qdisc add .. handle 10: NAME ..`."""
    name, *words = line.split(" handle 10: ")[1].split(" #")[0].split()
    pairs = zip(words, words[1:])
    return name, {key: value(number) for key, number in pairs if value(key) is None and value(number) is not None}


def commands(_):
    program = ROOT / "target" / "release" / "roundelay"
    scripts = {}
    for spec in SPECS:
        for rate in RATES if spec == "drr" else RATES[:1]:
            for by in ["5tuple", "dscp"] if spec in ("drr", "qfq") else ["5tuple"]:
                run = [program, "compare", CAPTURE, spec, "--rate", rate, "--flow-by", by, "--no-cost", "--json"]
                result = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
                lines = result["verdict"]["commands"]
                if not lines:
                    sys.exit(f"no commands for {spec}")
                scripts[f"{spec}, {rate}, {by}"] = lines
    for spec in ("drr", "qfq", "qfq_plus linux"):
        for rules in WEIGHTS:
            run = [program, "compare", CAPTURE, spec, "--rate", RATES[0], "--no-cost", "--json", *(word for rule in rules for word in ("--weight", rule))]
            lines = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)["verdict"]["commands"]
            if sum("flower" in line for line in lines) < len(rules):
                sys.exit(f"no filters for {spec} with {rules}: {lines}")
            scripts[f"{spec}, {rules}"] = lines
    with tempfile.TemporaryDirectory(prefix="roundelay-linux-") as directory:
        work = pathlib.Path(directory)
        shell = ["set -u", "ip link add dummy9 type dummy", "ip link set dev dummy9 up", "DEV=dummy9"]
        for number, lines in enumerate(scripts.values()):
            (work / f"{number}.sh").write_text("set -e\n" + "\n".join(lines) + "\n")
            shell += [
                f"dmesg -c > /dev/null; DEV=$DEV sh {number}.sh > {number}.out 2>&1; echo $? >> {number}.out",
                f"tc -s -j qdisc show dev $DEV > {number}.json; dmesg > {number}.dmesg",
            ]
        (work / "work.sh").write_text("\n".join(shell) + "\n")
        boot(work, 600)
        faults = 0
        for number, (name, lines) in enumerate(scripts.items()):
            output = (work / f"{number}.out").read_text().split("\n")[:-1]
            messages = [line for line in (work / f"{number}.dmesg").read_text().splitlines() if re.search("quantum|warn|burst|big|small", line)]
            qdiscs = json.loads((work / f"{number}.json").read_text())
            [add] = [line for line in lines if " handle 10: " in line]
            kind, numbers = written(add)
            found = [qdisc for qdisc in qdiscs if qdisc["handle"] == "10:" and qdisc["kind"] == kind]
            wrong = [f"status and output {output}"] * (output != ["0"]) + [f"kernel: {line}" for line in messages]
            wrong += [] if found else [f"no {kind} in {qdiscs}"]
            for key, number_written in numbers.items() if found else []:
                # tc-sfb(8): milliseconds in commands; tc -j prints microseconds.
                number_written *= 1000 if kind == "sfb" and key in ("rehash", "db") else 1
                read = found[0]["options"].get(key)
                if isinstance(read, str):
                    read = value(read.rstrip("pb"))
                # The kernel rounds times to 1024 ns; tc prints probabilities with few digits.
                if isinstance(read, (int, float)) and abs(read - number_written) > max(1.1, 0.001 * number_written):
                    wrong.append(f"{key}: {number_written:g} was written, {read:g} is set")
            faults += bool(wrong)
            for fault in wrong:
                print(f"{name}: {fault}")
        print(f"{len(scripts) - faults} of {len(scripts)} sets of commands: taken without a word, with our parameters")
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands_of = parser.add_subparsers(required=True)
    command = commands_of.add_parser("orders")
    command.add_argument("cases", type=int, nargs="?", default=600)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--kinds", nargs="*", choices=KINDS)
    command.add_argument("--show", action="store_true", help="print where orders differ")
    command.add_argument("--papers", action="store_true", help="our disciplines without `linux`: those of each kind but drr must differ from Linux")
    command.set_defaults(run=orders)
    command = commands_of.add_parser("shares")
    command.add_argument("runs", type=int, nargs="?", default=40)
    command.add_argument("--kinds", nargs="*", choices=shares.DISCIPLINES)
    command.set_defaults(run=lambda arguments: shares.run(arguments, run_in_linux, run_ours, read_orders, PARENT))
    command = commands_of.add_parser("onsets")
    command.add_argument("runs", type=int, nargs="?", default=20)
    command.add_argument("--kinds", nargs="*", choices=onsets.DISCIPLINES)
    command.add_argument("--kernel", choices=(virtual.KERNEL, virtual.NEWEST), default=virtual.KERNEL, help="the release's own kernel, or the newest of its backports")
    command.add_argument("--show", action="store_true", help="print all half seconds")
    command.set_defaults(run=lambda arguments: onsets.run(arguments, run_written))
    command = commands_of.add_parser("timed")
    command.add_argument("cases", type=int, nargs="?", default=10, help="cases of each kind")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--kinds", nargs="*", choices=timed.KINDS)
    command.add_argument("--kernel", choices=(virtual.KERNEL, virtual.NEWEST), default=virtual.KERNEL, help="the release's own kernel, or the newest of its backports")
    command.add_argument("--boots", type=int, default=1, help="boots with other random numbers, in which the kernel is compared with itself")
    command.add_argument("--show", action="store_true", help="print where departures differ")
    command.set_defaults(run=lambda arguments: timed.run(arguments, run_written))
    command = commands_of.add_parser("collisions")
    command.add_argument("runs", type=int, nargs="?", default=50)
    command.set_defaults(run=lambda arguments: collisions.run(arguments.runs, run_written))
    commands_of.add_parser("imports").set_defaults(run=lambda _: imports.run(ROOT / "target" / "release" / "roundelay", CAPTURE, run_written))
    commands_of.add_parser("delays").set_defaults(run=lambda _: delays.run(run_in_linux, run_ours, PARENT))
    commands_of.add_parser("commands").set_defaults(run=commands)
    program = ROOT / "target" / "release" / "roundelay"
    commands_of.add_parser("rules").set_defaults(run=lambda _: rules.run(boot, program, CAPTURE))
    arguments = parser.parse_args()
    sys.exit(0 if arguments.run(arguments) else 1)


if __name__ == "__main__":
    main()
