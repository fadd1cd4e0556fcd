#!/usr/bin/env python3
"""Linux qdiscs beside Roundelay's disciplines: commands and departure orders, in a kernel of user-mode-linux.

compare.py orders [CASES] [--seed N]   departure orders of random cases, packet by packet
compare.py clock [CASES] [--seed N]    the same with disciplines that read the clock: departures, drops and marks
compare.py cake [CASES] [--seed N]     departure orders of cake: isolation by flow and host, tins, full buffers
compare.py delays                      random drops of pie: losses, delays, marks and gaps between signals, within the spread of seeds
compare.py shares [RUNS]               random drops of red, choke and sfb: means over runs under constant overloads
compare.py rules                       printed commands for rules of weights and trees: the class that counts each packet
compare.py commands                    every tc command that `roundelay compare` prints for the example, and what the kernel made of it
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import cake
import delays
import rules
import shares
from guest import environment, unfinished

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILT = ROOT / "target" / "peers"


def boot(work, seconds):
    """Boots the kernel, runs `work.sh` of the directory `work` in it, and returns its output and the kernel's messages."""
    arguments = ["mem=192M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={HERE}/guest.sh", f"work={work}", "quiet"]
    console = ["con=null", "con0=null,fd:1", "con1=null", f"uml_dir={work}/", "umid=guest"]
    guest = subprocess.run(["linux.uml", *arguments, *console], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False, env=environment())
    status = work / "work.status"
    if not status.exists():
        sys.exit(unfinished(guest.stdout + guest.stderr))
    output = (work / "work.out").read_text()
    if status.read_text().strip() != "0":
        sys.exit(f"the guest's work failed, status {status.read_text().strip()}:\n{output[-3000:]}")
    return output, (work / "work.dmesg").read_text()


# Cases. Each is a dictionary: discipline (ours), commands (tc), classes (number, weight, longest packet), steps.

# The qdisc under test is a child of prio: without classes of its own and as the device's root, some qdiscs are bypassed while empty.
PARENT = "qdisc add dev DEV root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"

# Classes have queues as long as the device's.
DEEP = "l 100000"
# Numbers of classes from here on are priorities, without a class.
PRIORITY = 1000


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


def ets(rng):
    """user-mode-linux has no ets. Its rules are those of prio with drr in the last band: filters by source choose band and class."""
    strict, others = rng.choice([(1, 2), (2, 3), (4, 4), (1, 8), (3, 2), (7, 2)])
    bands = range(1, strict + others + 1)
    quanta = [rng.choice([1, 300, 1500, 1514, 3000, 9000]) if rng.random() < 0.5 else rng.randint(28, 9000) for _ in range(others)]
    tc = [DEEP, PARENT, f"qdisc add dev DEV parent 1:1 handle 10: prio bands {strict + 1} priomap{f' {strict}' * 16}", f"qdisc add dev DEV parent 10:{strict + 1} handle 20: drr"]
    tc += [f"class add dev DEV parent 20: classid 20:{number} drr quantum {quantum}" for number, quantum in zip(bands[strict:], quanta)]
    source = "protocol ip prio 1 u32 match ip src 10.0.0"
    tc += [f"filter add dev DEV parent 10: {source}.{number} flowid 10:{min(number, strict + 1)}" for number in bands]
    tc += [f"filter add dev DEV parent 20: {source}.{number} flowid 20:{number}" for number in bands[strict:]]
    return {
        "ours": f"ets bands {strict + others} strict {strict} quanta {' '.join(map(str, quanta))} limit 100000",
        "tc": tc,
        "classes": [],
        "steps": steps(rng, bands, lengths(rng, [rng.choice([300, 1500, 4000])] * 9), 120, rng.choice([1, 1, 2, 5])),
        "is_filtered": True,
    }


def prio(rng):
    # The default map of tc has three bands.
    bands = rng.randint(3, 9)
    words = f"prio bands {bands}"
    classes = range(1, bands + 1)
    if rng.random() < 0.5:
        words += " priomap " + " ".join(str(rng.randrange(bands)) for _ in range(16))
        classes = range(PRIORITY, PRIORITY + 16)
    lens = lengths(rng, [rng.choice([300, 1500, 4000])] * 16)
    return {
        "ours": f"{words} limit 100000",
        "tc": [DEEP, PARENT, f"qdisc add dev DEV parent 1:1 handle 10: {words}"],
        "classes": [],
        "steps": steps(rng, classes, lambda number: lens(number % PRIORITY), 120, rng.choice([1, 1, 2, 5])),
    }


def fq(rng):
    """Flows by addresses and ports: packets have no priority, because those of priority 7 go first in Linux."""
    classes = range(1, rng.randint(2, 9) + 1)
    words = f"fq limit {rng.choice([10000, 50, 20, 5])} flow_limit {rng.choice([100, 100, 30, 5])} refill_delay 1000s nopacing"
    words += f" quantum {rng.randint(256, 6000)} initial_quantum {rng.randint(256, 20000)}"
    return {
        "ours": words,
        "tc": [PARENT, f"qdisc add dev DEV parent 1:1 handle 10: {words.replace('1000s', '1000000000us')} orphan_mask 4294967295"],
        "classes": [],
        "steps": steps(rng, classes, lengths(rng, [rng.choice([300, 1500, 4000])] * 9), 120, rng.choice([1, 1, 2, 5])),
        "is_filtered": True,
    }


# Debts of htb's classes are forgotten beyond a minute, which is more than a case lasts: a case of these rates sees no class recover.
SLOW = (64, 200, 800)
# A class of this rate and this bucket, half a second of it, pays for whatever a case sends.
FAST, DEEP_BUCKET = 1_000_000_000, 62_500_000


def grow(rng):
    """Classes on up to four levels: number, parent (0: the root), whether it has children."""
    nodes, inner, levels = [], [], {0: 0}
    for number in range(1, rng.randint(3, 14) + 1):
        parent = rng.choice([0, *inner, *inner[-1:]]) if inner else 0
        levels[number] = levels[parent] + 1
        inner += [number] * (levels[parent] < 3 and (number == 1 or rng.random() < 0.35))
        nodes.append((number, parent))
    parents = {parent for _, parent in nodes}
    return [(number, parent, int(number in parents)) for number, parent in nodes]


def htb(rng):
    """Classes on up to four levels. Buckets are counted in packets: a class of a slow rate sends its burst, then borrows, then waits, for the rest of the case."""
    def settings():
        slow = rng.choice(SLOW)
        # tc's buckets are below 274 seconds.
        bucket = lambda: rng.choice([1, rng.randint(1, 30 * slow), rng.randint(1, 30 * slow)])
        rate, burst = (FAST, DEEP_BUCKET) if rng.random() < 0.25 else (slow, bucket())
        ceil, cburst = (slow, bucket()) if rng.random() < 0.3 else (FAST, DEEP_BUCKET)
        return rate, ceil, burst, cburst

    nodes = []
    for number, parent, is_inner in grow(rng):
        quantum = rng.choice([1, 300, 1500, 3000]) if rng.random() < 0.5 else rng.randint(28, 6000)
        nodes.append((number, parent, *settings(), rng.choice([0, 0, 1, 2, 7]), quantum, is_inner))
    leaves = [node[0] for node in nodes if not node[-1]]
    tc = [DEEP, PARENT, "qdisc add dev DEV parent 1:1 handle 10: htb"]
    for number, parent, rate, ceil, burst, cburst, prio, quantum, _ in nodes:
        of = f"10:{parent:x}" if parent else "10:"
        tc.append(
            f"class add dev DEV parent {of} classid 10:{number:x} htb rate {rate}bit ceil {ceil}bit burst {burst} cburst {cburst} prio {prio} quantum {quantum}"
        )
    return {
        "nodes": [f"node {' '.join(map(str, node))}" for node in nodes],
        "tc": tc,
        "classes": [],
        "steps": steps(rng, leaves, lengths(rng, [rng.choice([300, 1500, 4000])] * 14), 120, rng.choice([1, 1, 2, 5])),
    }


def hfsc(rng):
    """Virtual times need no clock. Real-time curves and upper limits of slow rates let a class's first packet through, and no other in a case."""
    def fast():
        slope = lambda: 1000 * rng.randint(500, 9000)
        return (slope(), 1000 * rng.randint(1, 20), slope()) if rng.random() < 0.4 else (0, 0, slope())

    def slow(part):
        return (0, 0, rng.randint(8, 100) * 8) if rng.random() < part else (0, 0, 0)

    nodes = []
    for number, parent, is_inner in grow(rng):
        rt = slow(0 if is_inner else 0.2)
        ls = (0, 0, 0) if rt[2] and rng.random() < 0.2 else fast()
        nodes.append((number, parent, is_inner, *rt, *ls, *slow(0.1 if ls[2] else 0)))
    leaves = [node[0] for node in nodes if not node[2]]
    tc = [DEEP, PARENT, "qdisc add dev DEV parent 1:1 handle 10: hfsc"]
    for number, parent, _, *curves in nodes:
        words = ""
        for name, m1, d, m2 in zip(("rt", "ls", "ul"), curves[::3], curves[1::3], curves[2::3]):
            if m1 or m2:
                words += f" {name} m1 {m1}bit d {d}us m2 {m2}bit"
        tc.append(f"class add dev DEV parent 10:{f'{parent:x}' if parent else ''} classid 10:{number:x} hfsc{words}")
    size = rng.choice([300, 1500, 4000])
    return {
        "nodes": [f"curves {' '.join(map(str, node))}" for node in nodes],
        "tc": tc,
        "classes": [],
        # Lengths of all kinds: equal virtual times are rare, which rounding decides.
        "steps": steps(rng, leaves, lambda _: rng.randint(28, size), 120, rng.choice([1, 1, 2, 5])),
    }


KINDS = {kind.__name__: kind for kind in (drr, qfq, sfq, fq_codel, ets, prio, fq, htb, hfsc)}


# Cases with a clock. Waits are real time in the guest: a case lasts six seconds. Waits are multiples of 20 ms, and targets
# and intervals lie between: a step that is late by some milliseconds changes no decision.
# Linux takes no standing queue for one while at most a frame of the device waits: a frame of Ethernet, as here.
FRAME = 1514


def timed_steps(rng, classes, longest, count):
    """Arrivals and departures with waits between: the backlog grows beyond the target for several intervals, and shrinks again."""
    steps, now = [], 0
    while sum(step[0] == "a" for step in steps) < count:
        now += 20_000 * rng.randint(1, 4)
        steps.append(f"t {now}")
        grows = len(steps) // 60 % 3 < 2
        arrivals = rng.choice([0, 1, 2, 3] if grows else [0, 0, 1])
        steps += [f"a {number} {number} {rng.randint(28, longest)} {rng.choice([0, 0, 1, 2, 3])}" for number in rng.choices(classes, k=arrivals)]
        steps += ["d"] * rng.choice([0, 1, 1] if grows else [1, 2, 3])
    return steps


def signals(rng, name, classes, limits, more):
    target, interval = rng.choice([30, 50, 90]), rng.choice([130, 210, 410])
    ecn = rng.choice(["", " ecn", " noecn"])
    words = f"{name} target {target}ms interval {interval}ms limit {rng.choice(limits)}{more}{ecn}"
    return {
        "ours": f"{words} linux",
        "tc": [f"m {FRAME}", PARENT, f"qdisc add dev DEV parent 1:1 handle 10: {words}"],
        "classes": [],
        "steps": timed_steps(rng, classes, 1500, 150),
    }


def codel(rng):
    return signals(rng, "codel", [0], [1000, 1000, 60], "")


def fq_codel_signals(rng):
    return signals(rng, "fq_codel", range(1, rng.randint(2, 4) + 1), [1000], f" quantum {rng.choice([300, 1514])} drop_batch 1")


def fq_codel_overflow(rng):
    return signals(rng, "fq_codel", range(1, rng.randint(2, 4) + 1), [60, 40, 20], f" quantum {rng.choice([300, 1514])} drop_batch 1")


TIMED = {kind.__name__: kind for kind in (codel, fq_codel_signals, fq_codel_overflow)}
# The kernel looks at the clock between the noted begin and end of a step. A case whose result depends on the time drawn between these is no evidence.
DRAWS = 20


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


def clock(arguments):
    kinds = list(TIMED)
    cases = {}
    for number in range(arguments.cases):
        kind = kinds[number % len(kinds)]
        cases[f"{kind}-{number}"] = TIMED[kind](random.Random(f"{kind} {number} {arguments.seed}"))
    lines = run_in_linux(cases, 300 + 10 * arguments.cases)
    theirs = read_orders(line for line in lines if not line.startswith("times "))
    times = {name: [int(time) for time in rest] for _, name, *rest in (line.split() for line in lines if line.startswith("times "))}
    draws = {
        f"{name}/{draw}": with_times(case, times[name], random.Random(f"{name} {draw}"))
        for name, case in cases.items()
        for draw in range(DRAWS)
    }
    ours = run_ours(draws)
    robust = [name for name in cases if all(ours[f"{name}/{draw}"] == ours[f"{name}/0"] for draw in range(DRAWS))]
    unequal = [name for name in robust if ours[f"{name}/0"] != theirs[name]]
    for name in unequal if arguments.show else []:
        show(name, cases[name], ours[f"{name}/0"], theirs[name])
    for kind in kinds:
        of_kind, sure = [name for name in cases if of(name) == kind], [name for name in robust if of(name) == kind]
        wrong = sum(of(name) == kind for name in unequal)
        dropped = sum(sum(step[0] == "a" for step in cases[name]["steps"]) - len(theirs[name]) for name in sure)
        marked = sum(word.endswith("!") for name in sure for word in theirs[name])
        print(f"{kind}: {len(sure) - wrong} of {len(sure)} cases equal, with {dropped} drops and {marked} marks; {len(of_kind) - len(sure)} cases are too close to call")
        # A kernel that never signals shows nothing, and neither does a comparison without cases.
        if not sure or not dropped or not marked:
            sys.exit(f"{kind}: no evidence")
        # A comparison that cannot fail shows nothing: signals as in RFC 8289 must differ.
        rfc = run_ours({name: draws[f"{name}/0"] for name in sure}, papers=True)
        differ = sum(rfc[name] != theirs[name] for name in sure)
        print(f"{kind}: without `linux` {len(sure) - differ} of {len(sure)} cases are equal")
        if not differ:
            sys.exit(f"{kind}: a planted difference was not found")
    return not unequal



def write_cases(cases, path, ours, papers=False):
    with path.open("w") as file:
        for name, case in cases.items():
            file.write(f"case {name}\n")
            if ours:
                file.writelines(f"seed {case['seed']}\n" for _ in range("seed" in case))
                if "nodes" in case:
                    file.writelines(f"{node}\n" for node in case["nodes"])
                    file.write("grown\n")
                else:
                    file.write(f"ours {case['ours'].replace(' linux', '') if papers else case['ours']}\n")
                file.writelines(f"class {number} {weight} {longest}\n" for number, weight, longest in case["classes"])
            else:
                file.writelines(f"{command}\n" if command[:2] in ("l ", "m ") else f"$ {command}\n" for command in case["tc"])
            # Where filters choose, packets have no class.
            is_filtered = not ours and case.get("is_filtered")
            file.writelines(re.sub(r"^a \d+", "a 0", step) + "\n" if is_filtered else f"{step}\n" for step in case["steps"])


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
    program = ROOT / "target" / "release" / "examples" / "orders"
    with tempfile.TemporaryDirectory(prefix="roundelay-linux-") as directory:
        written = pathlib.Path(directory) / "ours"
        write_cases(cases, written, ours=True, papers=papers)
        with written.open() as file:
            return read_orders(subprocess.run([program], stdin=file, capture_output=True, text=True, check=True).stdout.splitlines())


def show(name, case, ours, theirs):
    at = next((at for at, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    print(f"{name}: {case.get('ours') or case['nodes']} {case['classes']}\n  from packet {at} on: ours {ours[at:at + 12]}, Linux {theirs[at:at + 12]}")


def orders(arguments):
    # Classes of trees run only if named: their cases take a guest minutes.
    kinds = arguments.kinds or [kind for kind in KINDS if kind not in ("htb", "hfsc")]
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
RATES = ["5mbit", "20mbit", "10gbit"]
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
    command = commands_of.add_parser("cake")
    command.add_argument("cases", type=int, nargs="?", default=90)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--kinds", nargs="*", choices=cake.KINDS)
    command.add_argument("--show", action="store_true", help="print where orders differ")
    command.set_defaults(run=lambda arguments: cake.run(arguments, run_in_linux, run_ours, read_orders, PARENT, show))
    command = commands_of.add_parser("shares")
    command.add_argument("runs", type=int, nargs="?", default=40)
    command.add_argument("--kinds", nargs="*", choices=shares.DISCIPLINES)
    command.set_defaults(run=lambda arguments: shares.run(arguments, run_in_linux, run_ours, read_orders, PARENT))
    command = commands_of.add_parser("clock")
    command.add_argument("cases", type=int, nargs="?", default=60)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--show", action="store_true", help="print where cases differ")
    command.set_defaults(run=clock)
    commands_of.add_parser("delays").set_defaults(run=lambda _: delays.run(run_in_linux, run_ours, with_times, PARENT, FRAME))
    commands_of.add_parser("commands").set_defaults(run=commands)
    program = ROOT / "target" / "release" / "roundelay"
    commands_of.add_parser("rules").set_defaults(run=lambda _: rules.run(boot, program, CAPTURE))
    arguments = parser.parse_args()
    sys.exit(0 if arguments.run(arguments) else 1)


if __name__ == "__main__":
    main()
