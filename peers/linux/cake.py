"""Departure orders of Linux's cake beside ours: isolation by flow and host, tins, full buffers."""

import random
import sys

# Random dither makes a quantum shorter by a byte now and then: a case is equal if it is with one of these seeds.
SEEDS = range(1, 9)
# COBALT's target is then 180 s: it signals nothing, and forgets no queue. BLUE does not change in the first 180 s of a guest.
PATIENT = "rtt 3600s"
# With this many flows or hosts no two can share a place of a set of eight, whatever their hashes.
MOST = 8
# What the kernel counts for a packet of 700 to 1,500 bytes: a block of 2,048 with its header.
TRUESIZE = 2304

ISOLATION = ["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"]
TINS = ["precedence", "diffserv3", "diffserv4", "diffserv8"]


def case(words, planted, parent, before, steps, ours=""):
    """A case; `planted` are words with another order."""
    return {
        "ours": f"cake {words} {ours or 'limit 100000p'}",
        "planted": planted,
        "tc": ["m 1500", parent, f"qdisc add dev DEV parent 1:1 handle 10: cake {words}"],
        "classes": [],
        "steps": before + steps,
    }


def arrivals(rng, flows, count, load, length, tos):
    """`count` arrivals in runs, with `load` of them for each departure. Flows come and go."""
    steps, present = [], list(flows)
    favourite = rng.choice(present)
    for _ in range(count):
        if rng.random() < 0.1:
            present = rng.sample(list(flows), rng.randint(1, len(flows)))
            favourite = rng.choice(present)
        flow = favourite if rng.random() < 0.4 else rng.choice(present)
        steps.append(f"a 0 {flow} {length(flow)} {tos(flow)}")
        while rng.random() < 1 / (1 + load):
            steps.append("d")
    return steps


def lengths(rng, flows):
    """Packet lengths: one for all, two, or any."""
    of = {flow: rng.choice([80, 300, 1500]) for flow in flows}
    return rng.choice([lambda flow: of[flow], lambda _: rng.choice([100, 1500]), lambda _: rng.randint(28, 1500)])


def hosts(rng, flows):
    sources, destinations = rng.randint(1, 4), rng.randint(1, 4)
    return [f"h {flow} {rng.randint(1, sources)} {100 + rng.randint(1, destinations)}" for flow in flows]


def isolation(rng, parent):
    flows = range(1, rng.randint(2, MOST) + 1)
    mode = rng.choice(ISOLATION)
    other = "flowblind" if mode in ("flows", "dual-srchost", "dual-dsthost", "triple-isolate") else "flows"
    steps = arrivals(rng, flows, 150, rng.choice([1, 1, 2, 5]), lengths(rng, flows), lambda _: 0)
    words = f"besteffort {mode} {PATIENT}"
    return case(words, words.replace(mode, other), parent, hosts(rng, flows), steps)


def tins(rng, parent):
    flows = range(1, rng.randint(2, MOST) + 1)
    mode = rng.choice(TINS)
    points = {flow: rng.choice([0, 1, 2, 4, 8, 10, 16, 18, 24, 32, 34, 40, 44, 46, 48, 56, rng.randrange(64)]) for flow in flows}
    tos = rng.choice([lambda flow: points[flow] << 2, lambda _: rng.choice(list(points.values())) << 2])
    steps = arrivals(rng, flows, 150, rng.choice([1, 2, 5]), lengths(rng, flows), tos)
    words = f"{mode} {rng.choice(ISOLATION)} {PATIENT}"
    return case(words, words.replace(mode, "besteffort"), parent, hosts(rng, flows), steps)


def overflow(rng, parent):
    flows = range(1, rng.randint(2, MOST) + 1)
    limit = rng.choice([5, 10, 30])
    words = f"{rng.choice(['besteffort', 'diffserv4'])} {rng.choice(['flows', 'triple-isolate'])} {PATIENT}"
    # Each length once, so that few queues are equally long: the order of the kernel's heap would decide.
    fresh = rng.sample(range(700, 1500), 200)
    steps = arrivals(rng, flows, 150, rng.choice([2, 3]), lambda _: fresh.pop(), lambda flow: (flow % 3 * 8) << 2)
    built = case(words, words, parent, hosts(rng, flows), steps, f"limit {limit}p")
    built["tc"][-1] += f" memlimit {limit * TRUESIZE}"
    built["planted"] += f" limit {limit + 1}p"
    return built


KINDS = {kind.__name__: kind for kind in (overflow, isolation, tins)}


def of(name):
    return name.rsplit("-", 1)[0]


def run(arguments, run_in_linux, run_ours, read_orders, parent, show):
    kinds = arguments.kinds or list(KINDS)
    cases = {}
    # Kind after kind: full buffers first, before BLUE may change.
    for kind in kinds:
        for number in range(arguments.cases // len(kinds)):
            cases[f"{kind}-{number}"] = KINDS[kind](random.Random(f"cake {kind} {number} {arguments.seed}"), parent)
    theirs = read_orders(run_in_linux(cases, 300 + 3 * arguments.cases))
    seeded = {f"{name}/{seed}": {**case, "seed": seed} for name, case in cases.items() for seed in SEEDS}
    ours = run_ours(seeded)
    planted = run_ours({name: {**case, "ours": "cake " + case["planted"]} for name, case in cases.items()})
    good = True
    for kind in kinds:
        names = [name for name in cases if of(name) == kind]
        first = sum(ours[f"{name}/{SEEDS[0]}"] == theirs[name] for name in names)
        wrong = [name for name in names if all(ours[f"{name}/{seed}"] != theirs[name] for seed in SEEDS)]
        drops = sum(sum(step[0] == "a" for step in cases[name]["steps"]) - len(theirs[name]) for name in names)
        found = sum(planted[name] != theirs[name] for name in names)
        print(f"cake, {kind}: {len(names) - len(wrong)} of {len(names)} orders equal ({first} with the first seed), {drops} drops; planted words: {found} differ")
        for name in wrong if arguments.show else []:
            show(name, cases[name], ours[f"{name}/{SEEDS[0]}"], theirs[name])
        if not found:
            sys.exit(f"cake, {kind}: a planted difference was not found")
        good &= not wrong
    return good
