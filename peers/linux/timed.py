"""Departures beside Linux on a link of an exact rate, in virtual time: shapers, classes, signals."""

import pathlib
import random
import re
import struct
import sys
import tempfile

import virtual

# A departure is equal if it is the same packet, at a time within this of ours: qdiscs decide some microseconds late, and timers are late by as much.
NEAR_NS = 30_000
# Late decisions add up where a shaper forgets lateness. As a share of the time since the case began.
DRIFT = 0.00005
# Part of the cases that may differ: decisions of ours and theirs some microseconds apart, or random numbers of cake that no seed of ours has.
CLOSE = 0.1


def traffic(rng, classes, length, count, rate, load, tos=lambda _: 0):
    """`count` arrivals of `load` times what a link of `rate` carries: bursts of one class, single packets, pauses."""
    steps, now, ahead = [], 1000, 0
    favourite = rng.choice(classes)
    for _ in range(count):
        if rng.random() < 0.1:
            favourite = rng.choice(classes)
        number = favourite if rng.random() < 0.5 else rng.choice(classes)
        size = length(number)
        steps += [f"t {now}", f"a {number} {number} {size} {tos(number)}"]
        ahead += size * 8e6 / rate / load
        # Within a burst packets are less than a millisecond apart; then the load's time passes.
        if rng.random() < 0.2:
            now += round(ahead * rng.uniform(0.5, 1.5))
            ahead = 0
        now += rng.randint(100, 900)
        if rng.random() < 0.01:
            now += rng.randint(10_000, 400_000)
    return steps


def read(line):
    """The departures of a line: number with its mark, nanoseconds."""
    return [(word, int(at)) for word, _, at in (word.partition("@") for word in line)]


def first_difference(ours, theirs):
    """Where two lists of departures differ, or None."""
    for at, (our, their) in enumerate(zip(ours, theirs)):
        if our[0] != their[0] or abs(our[1] - their[1]) > NEAR_NS + DRIFT * their[1]:
            return at
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def is_same_order(ours, theirs):
    return [word for word, _ in ours] == [word for word, _ in theirs]


def grow(rng, levels=3, most=10):
    """Classes on up to four levels: number, parent (0: the root), whether it has children."""
    nodes, inner, level = [], [], {0: 0}
    for number in range(1, rng.randint(3, most) + 1):
        parent = rng.choice([0, *inner, *inner[-1:]]) if inner else 0
        level[number] = level[parent] + 1
        inner += [number] * (level[parent] < levels and (number == 1 or rng.random() < 0.35))
        nodes.append((number, parent))
    parents = {parent for _, parent in nodes}
    return [(number, parent, int(number in parents)) for number, parent in nodes]


def lengths(rng):
    """Of all kinds, so that equal times are rare, which rounding would decide."""
    size = rng.choice([300, 1500, 4000])
    return lambda _: rng.randint(28, size)


# Slow links: the kernel's microseconds are then short beside a packet.
RATES = [100_000, 400_000, 2_000_000]
# The qdisc under test is a child of prio, because some are bypassed while empty.
PARENT = "qdisc add dev DEV root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
QDISC = "qdisc add dev DEV parent 1:1 handle 10: "
DEEP = "l 10000"


def curves(rng, rate, is_inner):
    """`rt`, `ls` and `ul` of a class: m1, d and m2 of each."""

    def slope(low=0.05, high=0.8):
        return 8 * round(rate * rng.uniform(low, high) / 8)

    def curve(low=0.05, high=0.8):
        first = 1000 * rng.randint(1, 40)
        kind = rng.randrange(4)
        if kind == 0:
            return (0, first, slope(low, high))
        if kind == 1:
            return (slope(low, high), first, slope(low, high))
        return (0, 0, slope(low, high))

    rt = curve(0.01, 0.3) if not is_inner and rng.random() < 0.4 else (0, 0, 0)
    ls = (0, 0, 0) if rt[2] and rng.random() < 0.2 else curve()
    ul = curve(0.1, 0.6) if ls[2] and rng.random() < 0.2 else (0, 0, 0)
    return (*rt, *ls, *ul)


def hfsc_words(numbers):
    words = "hfsc"
    for name, m1, d, m2 in zip(("rt", "ls", "ul"), numbers[::3], numbers[1::3], numbers[2::3]):
        if m1 or m2:
            words += f" {name} m1 {m1}bit d {d}us m2 {m2}bit"
    return words


def hfsc(rng):
    rate = rng.choice(RATES)
    nodes = []
    for number, parent, is_inner in grow(rng):
        nodes.append((number, parent, is_inner, *curves(rng, rate, is_inner)))
    tc = [DEEP, PARENT, QDISC + "hfsc"]
    for number, parent, _, *numbers in nodes:
        tc.append(f"class add dev DEV parent 10:{f'{parent:x}' if parent else ''} classid 10:{number:x} {hfsc_words(numbers)}")
    leaves = [node[0] for node in nodes if not node[2]]
    return {
        "rate": rate,
        "nodes": [f"curves {' '.join(map(str, node))}" for node in nodes],
        "tc": tc,
        "steps": traffic(rng, leaves, lengths(rng), 150, rate, rng.choice([0.5, 0.9, 1.2, 2])),
    }


def rates(rng, rate):
    """rate, ceil, burst, cburst, prio and quantum of a class."""
    own = 8 * round(rate * rng.uniform(0.02, 0.5) / 8)
    ceil = rng.choice([own, 8 * round(own * rng.uniform(1, 4) / 8), rate])
    burst, cburst = rng.choice([1600, 4000, rng.randint(1500, 30000)]), rng.choice([1600, 4000, rng.randint(1500, 30000)])
    return (own, max(own, ceil), burst, cburst, rng.choice([0, 0, 1, 2, 7]), rng.choice([300, 1500, rng.randint(28, 9000)]))


def htb_words(numbers):
    own, ceil, burst, cburst, prio, quantum = numbers
    return f"htb rate {own}bit ceil {ceil}bit burst {burst} cburst {cburst} prio {prio} quantum {quantum}"


def htb(rng):
    rate = rng.choice(RATES)
    nodes = []
    for number, parent, is_inner in grow(rng):
        nodes.append((number, parent, *rates(rng, rate), is_inner))
    tc = [DEEP, PARENT, QDISC + "htb"]
    for number, parent, *numbers, _ in nodes:
        tc.append(f"class add dev DEV parent 10:{f'{parent:x}' if parent else ''} classid 10:{number:x} {htb_words(numbers)}")
    leaves = [node[0] for node in nodes if not node[-1]]
    return {
        "rate": rate,
        "nodes": [f"node {' '.join(map(str, node))}" for node in nodes],
        "tc": tc,
        "steps": traffic(rng, leaves, lengths(rng), 150, rate, rng.choice([0.5, 0.9, 1.2, 2])),
    }


class Nest:
    """Qdiscs in classes of qdiscs: lines of ours, commands of tc, numbers of the leaves."""

    def __init__(self, rng, rate):
        self.rng, self.rate = rng, rate
        self.ours, self.tc, self.leaves = [], [], []
        self.number, self.handle = 0, 0x10

    def qdisc(self, kind, place, number):
        """What is in our node of this number, and in Linux's class at this place. Returns the leaves below."""
        rng, handle = self.rng, self.handle
        self.handle += 1
        if kind == "fifo":
            self.tc.append(f"qdisc add dev DEV parent {place} handle {handle:x}: pfifo limit 10000")
            self.leaves.append(number)
            return [number]
        words = {"prio": "prio bands 4 priomap" + 16 * " 0", "tbf": f"{self.words} limit 10000000"}.get(kind, kind)
        self.tc.append(f"qdisc add dev DEV parent {place} handle {handle:x}: {words}")
        classes = grow(rng, 2, 5) if kind in ("htb", "hfsc") else [(1, 0, 0)] if kind == "tbf" else [(band + 1, 0, 0) for band in range(rng.randint(2, 4))]
        numbers = {0: number}
        below = []
        quantum = self.quantum
        for minor, parent, is_inner in classes:
            inside = "fifo" if is_inner else rng.choice(INSIDE[kind] if number == 0 or kind != "tbf" else self.inside_bucket)
            if kind == "prio" and number:
                inside = "fifo"
            own = self.node(kind, minor, numbers[parent], is_inner, inside)
            numbers[minor] = own
            at = f"parent {handle:x}:{f'{parent:x}' if parent else ''} classid {handle:x}:{minor:x}"
            if kind in ("htb", "hfsc"):
                self.tc.append(f"class add dev DEV {at} {self.class_words}")
            elif kind == "drr":
                self.tc.append(f"class add dev DEV {at} drr quantum {quantum}")
            if not is_inner:
                # Below a root of prio or htb, a bucket's prio goes by what waits when the bucket is full, in both.
                self.inside_bucket = INSIDE["tbf"] if kind in ("prio", "htb") else ["fifo"]
                leaves = self.qdisc(inside, f"{handle:x}:{minor:x}", own)
                below += leaves
                if kind != "tbf":
                    for leaf in leaves:
                        self.tc.append(f"filter add dev DEV parent {handle:x}: protocol ip prio 1 u32 match ip src 10.0.0.{leaf}/32 flowid {handle:x}:{minor:x}")
        return below

    def discipline(self, kind):
        """The words of ours. tc's follow from them."""
        own = 8 * round(self.rate * self.rng.uniform(0.1, 0.7) / 8)
        self.words = f"tbf rate {own}bit burst {self.rng.choice([4000, 6000, 20000])}"
        self.quantum = self.rng.choice([300, 1500, 9000])
        return {"tbf": self.words, "prio": "priority", "drr": f"drr quantum {self.quantum}"}.get(kind, kind)

    def node(self, above, minor, parent, is_inner, inside):
        """A class of ours with this qdisc inside."""
        self.number += 1
        has_children = int(is_inner or inside != "fifo")
        if above == "htb":
            numbers = rates(self.rng, self.rate)
            self.class_words = htb_words(numbers)
            line = f"node {self.number} {parent} {' '.join(map(str, numbers))} {has_children}"
        elif above == "hfsc":
            numbers = curves(self.rng, self.rate, is_inner)
            self.class_words = hfsc_words(numbers)
            line = f"curves {self.number} {parent} {has_children} {' '.join(map(str, numbers))}"
        else:
            line = f"child {self.number} {parent} {minor - 1} {has_children}"
        if not is_inner and inside != "fifo":
            self.ours.append(f"of {self.discipline(inside)}")
        self.ours.append(line)
        return self.number


# What may be in a class of each kind. Linux stops where drr or hfsc is over a shaper, so these are not compared.
INSIDE = {"prio": ["tbf", "htb", "hfsc", "fifo"], "tbf": ["fifo", "prio", "drr"], "htb": ["fifo", "tbf", "prio", "drr"], "hfsc": ["fifo"], "drr": ["fifo"]}


def nested(rng):
    """Shapers as classes: prio over tbf, htb and hfsc, tbf over drr and prio, htb over tbf, prio and drr."""
    rate = rng.choice(RATES)
    nest = Nest(rng, rate)
    kind = rng.choice(["prio", "prio", "tbf", "htb"])
    root = nest.discipline(kind)
    nest.qdisc(kind, "1:1", 0)
    return {
        "rate": rate,
        "nodes": [f"root {root}", *nest.ours],
        "tc": [DEEP, PARENT, *nest.tc],
        "steps": traffic(rng, nest.leaves, lengths(rng), 150, rate, rng.choice([0.5, 0.9, 1.2])),
        "is_filtered": True,
    }


def signalling(rng):
    """Words of CoDel, with which it drops and marks on slow links."""
    return f"target {rng.choice([5, 30, 90])}ms interval {rng.choice([100, 210, 410])}ms limit {rng.choice([10000, 40])} {rng.choice(['ecn', 'noecn'])}"


# What is in a leaf: words of ours, words of tc. pie below its target drops nothing at random.
INSIDE_LEAF = {
    "cake": lambda _: (f"cake unlimited besteffort flows {PATIENT}",) * 2,
    "fq_codel": lambda rng: (lambda words: (f"fq_codel {words} linux", f"fq_codel {words}"))(signalling(rng)),
    "codel": lambda rng: (lambda words: (f"codel {words} linux", f"codel {words}"))(signalling(rng)),
    "sfq": lambda rng: (lambda words: (f"sfq {words} linux", f"sfq {words}"))(f"quantum {rng.randint(1514, 4000)} limit {rng.choice([127, 30])}"),
    "pie": lambda rng: (lambda limit: (f"pie limit {limit} target 3600s tupdate 600s", f"pie limit {limit} target 3600000000us tupdate 600000000us"))(rng.choice([10000, 30])),
    "fq": lambda rng: (lambda words: (words, f"{words} orphan_mask 4294967295"))(
        f"fq limit {rng.choice([10000, 50])} flow_limit 100 quantum {rng.randint(1500, 6000)} initial_quantum {rng.randint(1500, 20000)}"
    ),
}
# Each leaf has so many flows, of the numbers n, n + 20 and so on.
FLOWS_OF_LEAF = 3


def leaves(rng, above):
    """Leaves that drop, mark and take turns below a class: each is to be what it is alone."""
    rate = rng.choice(RATES)
    own = 8 * round(rate * rng.uniform(0.4, 1) / 8)
    quanta = [rng.choice([300, 1500, 9000, rng.randint(256, 4000)]) for _ in range(1 if above == "tbf" else rng.randint(1, 3))]
    bands = len(quanta)
    strict = rng.randint(0, bands - 1)
    bucket = f"tbf rate {own}bit burst {rng.choice([4000, 6000])}"
    order = f"ets bands {bands} strict {strict} quanta {' '.join(map(str, quanta[strict:]))}"
    words = {"prio": ("priority", "prio bands 4 priomap" + 16 * " 0"), "ets": (order, order), "tbf": (bucket, f"{bucket} limit 10000000"), "drr": ("drr quantum 1", "drr")}
    ours, theirs = words.get(above, (above, above))
    nodes, tc = [f"root {ours}"], [DEEP, f"m {FRAME}", PARENT, QDISC + theirs]
    for number, quantum in enumerate(quanta, 1):
        if above == "htb":
            numbers = rates(rng, rate)
            line, command = f"node {number} 0 {' '.join(map(str, numbers))} 0", htb_words(numbers)
        elif above == "hfsc":
            numbers = curves(rng, rate, False)
            line, command = f"curves {number} 0 0 {' '.join(map(str, numbers))}", hfsc_words(numbers)
        else:
            line, command = f"child {number} 0 {number - 1} 0", f"drr quantum {quantum}"
            if above == "drr":
                nodes.append(f"weight {quantum}")
        if above in ("htb", "hfsc", "drr"):
            tc.append(f"class add dev DEV parent 10: classid 10:{number:x} {command}")
        inside, of_tc = INSIDE_LEAF[rng.choice(list(INSIDE_LEAF))](rng)
        nodes += [f"of {inside}", line]
        tc.append(f"qdisc add dev DEV parent 10:{number:x} handle {0x20 + number:x}: {of_tc}")
        for flow in range(number, number + 20 * FLOWS_OF_LEAF, 20):
            nodes += [f"flow {flow} {number}"]
            if above != "tbf":
                tc.append(f"filter add dev DEV parent 10: protocol ip prio 1 u32 match ip src 10.0.0.{flow}/32 flowid 10:{number:x}")
    flows = [number + 20 * each for number in range(1, bands + 1) for each in range(FLOWS_OF_LEAF)]
    steps = traffic(rng, flows, lambda _: rng.randint(28, 1500), 300, rate, rng.choice([0.9, 1.1, 1.3, 2]), points(rng))
    return {"rate": rate, "nodes": nodes, "tc": tc, "steps": steps, "is_filtered": True, "seeds": range(1, 9 if any("of cake" in node for node in nodes) else 2)}


def leaves_of_prio(rng):
    return leaves(rng, "prio")


def leaves_of_htb(rng):
    return leaves(rng, "htb")


def leaves_of_hfsc(rng):
    return leaves(rng, "hfsc")


def leaves_of_drr(rng):
    return leaves(rng, "drr")


def leaves_of_ets(rng):
    return leaves(rng, "ets")


def leaves_of_tbf(rng):
    return leaves(rng, "tbf")


LEAVES_OF = (leaves_of_prio, leaves_of_htb, leaves_of_hfsc, leaves_of_drr, leaves_of_ets, leaves_of_tbf)


def load(rng):
    return rng.choice([0.5, 0.9, 1.2, 2])


def flows_of(rng):
    return range(1, rng.randint(2, 8) + 1)


def alone(rate, words, steps, ours=None, **more):
    """A case of one qdisc, which has the same words in both."""
    return {"rate": rate, "ours": ours or words, "tc": [DEEP, PARENT, QDISC + words], "steps": steps, **more}


def tbf(rng):
    rate = rng.choice(RATES)
    own = 8 * round(rate * rng.uniform(0.2, 0.9) / 8)
    words = f"tbf rate {own}bit burst {rng.choice([4000, 6000, 20000])} limit {rng.choice([10000, 60000, 10000000])}"
    if rng.random() < 0.4:
        words += f" peakrate {8 * round(own * rng.uniform(1.1, 3) / 8)}bit mtu {rng.choice([4000, 8000])}"
    return alone(rate, words, traffic(rng, [1], lengths(rng), 150, own, load(rng)))


def ets(rng):
    rate = rng.choice(RATES)
    bands = rng.randint(2, 9)
    strict = rng.randint(0, bands - 1)
    quanta = [rng.choice([300, 1500, 1514, 3000, 9000, rng.randint(256, 9000)]) for _ in range(bands - strict)]
    words = f"ets bands {bands} strict {strict} quanta {' '.join(map(str, quanta))}"
    return alone(rate, words, traffic(rng, range(1, bands + 1), lengths(rng), 150, rate, load(rng)), f"{words} limit 100000")


def prio(rng):
    rate, bands = rng.choice(RATES), rng.randint(3, 9)
    words = f"prio bands {bands}"
    return alone(rate, words, traffic(rng, range(1, bands + 1), lengths(rng), 150, rate, load(rng)), f"{words} limit 100000")


def fq(rng):
    """Flows by addresses and ports: packets have no priority, because those of priority 7 go first in Linux."""
    rate = rng.choice(RATES)
    flows = flows_of(rng)
    own = 8 * round(rate / len(flows) * rng.uniform(0.3, 2) / 8)
    words = f"fq limit {rng.choice([10000, 50])} flow_limit {rng.choice([100, 20])} quantum {rng.randint(1500, 6000)} initial_quantum {rng.randint(1500, 20000)}"
    words += f" maxrate {own}bit refill_delay {rng.choice([40, 500])}ms"
    # Marks of what waited longer than its pace asks.
    if rng.random() < 0.5:
        words += f" ce_threshold {rng.choice([1, 30, 200])}ms"
    steps = traffic(rng, flows, lengths(rng), 150, rate, load(rng), points(rng))
    case = alone(rate, words, steps, words, is_filtered=True)
    case["tc"][-1] += " orphan_mask 4294967295"
    return case


def fq_shared(rng):
    """Flows that share the link without pacing: turns, credits, and the fast path of newer kernels."""
    rate, flows = rng.choice(RATES), flows_of(rng)
    words = f"fq limit 10000 flow_limit {rng.choice([100, 100, 20, 5])} quantum {rng.randint(1500, 6000)} initial_quantum {rng.randint(1500, 20000)} refill_delay {rng.choice([40, 500])}ms"
    if rng.random() < 0.5:
        words += f" ce_threshold {rng.choice([1, 30, 200])}ms"
    steps = traffic(rng, flows, lengths(rng), 200, rate, rng.choice([0.3, 0.5, 0.9, 1.2]), points(rng))
    case = alone(rate, words, steps, words, is_filtered=True)
    case["tc"][-1] += " orphan_mask 4294967295"
    return case


def later(steps, micros):
    """The same arrivals, all later."""
    return [re.sub(r"^t (\d+)$", lambda found: f"t {int(found[1]) + micros}", step) for step in steps]


def fq_pie(rng):
    """The orders and the full buffer: below its target PIE drops nothing. Packets come when the first update is over, which is half a second after the qdisc was made, whatever tupdate says: it takes the lock for some tenths of a millisecond."""
    rate = rng.choice(RATES)
    words = f"fq_pie limit {rng.choice([10000, 60, 20])} flows 1024 target 3600s tupdate 600s quantum {rng.choice([300, 1514, rng.randint(256, 4000)])}"
    steps = later(traffic(rng, flows_of(rng), lengths(rng), 150, rate, load(rng)), 1_000_000)
    return alone(rate, words.replace("3600s", "3600000000us").replace("600s", "600000000us"), steps, words, is_filtered=True)


def points(rng):
    """ECN of each packet: none, capable, or marked by a router before."""
    return lambda _: rng.choice([0, 0, 1, 2, 3])


def signals(rng, name, flows, limits, more):
    rate = rng.choice(RATES)
    # A frame of the link lasts 4 ms and more.
    target, interval = rng.choice([5, 30, 90]), rng.choice([100, 210, 410])
    words = f"{name} target {target}ms interval {interval}ms limit {rng.choice(limits)}{more}{rng.choice([' ecn', ' noecn'])}"
    steps = traffic(rng, flows, lambda _: rng.randint(28, 1500), 400, rate, rng.choice([1.1, 1.3, 2]), points(rng))
    case = alone(rate, words, steps, f"{words} linux", is_filtered=True)
    case["tc"][0:1] = [DEEP, f"m {FRAME}"]
    return case


def codel(rng):
    return signals(rng, "codel", [1], [1000, 1000, 60], "")


def fq_codel(rng):
    return signals(rng, "fq_codel", flows_of(rng), [1000, 1000, 60, 20], f" quantum {rng.choice([300, 1514])} drop_batch {rng.choice([1, 1, 64])}")


# Linux takes no standing queue for one while at most a frame of the device waits: a frame of Ethernet, as ours has.
FRAME = 1514


def onset(rng, flows, rate, tos, change=None):
    """Three to five phases of .3 to .8 s with loads from half to three times the link's rate, after a pause or not. Before some of them the link gets another rate, or the qdisc other settings."""
    steps, now, bits = [], 1000, rate
    for phase in range(rng.randint(3, 5)):
        if rng.random() < 0.4:
            now += rng.randint(50_000, 700_000)
        if phase and rng.random() < 0.4:
            bits = round(rate * rng.choice([0.3, 0.5, 2, 3]))
            steps += [f"t {now}", f"r {bits}"]
        if change and phase and rng.random() < 0.4:
            steps += [f"t {now}", f"x {change(rng)}"]
            # A command takes some milliseconds.
            now += 60_000
        part = rng.choice([0.5, 0.9, 1.1, 1.3, 2, 3])
        end = now + rng.randint(300_000, 800_000)
        while now < end:
            number, size = rng.choice(flows), rng.randint(40, 1514)
            steps += [f"t {now}", f"a {number} {number} {size} {tos(number)}"]
            now += round(size * 8e6 / bits / part * rng.uniform(0.1, 1.9))
    return steps


# The kernel's random numbers are those of our discipline with this seed.
SEED = 1
KNOWN = "? echo {} > /sys/module/sch_pie/parameters/known"


# Of fq_pie. A flow has the queue of its hash's highest bits.
QUEUES = 8


def pie_case(words, steps):
    case = alone(4_000_000, words, steps, f"{words} linux", is_filtered=True, known=True, seed=SEED)
    case["tc"] = [DEEP, f"m {FRAME}", PARENT, QDISC + words, KNOWN.format(first_state(SEED))]
    return case


def pie_words(rng):
    target, update = rng.choice([5, 15, 15, 40]), rng.choice([15, 15, 16, 30, 40])
    words = f"target {target}ms tupdate {update}ms alpha {rng.choice([1, 2, 2, 8])} beta {rng.choice([10, 20, 20, 32])}"
    return words + rng.choice(["", "", " ecn"]) + rng.choice(["", "", " bytemode"])


def pie(rng):
    """The onset of PIE, with the kernel's random numbers known: drops and marks packet by packet."""
    words = f"pie limit 10000 {pie_words(rng)}{rng.choice(['', '', '', ' dq_rate_estimator'])}"
    return pie_case(words, onset(rng, [1], rng.choice([1_000_000, 4_000_000]), points(rng)))


def fq_pie_drops(rng):
    """The same for queues of flows. Few queues, because the kernel holds the qdisc while it updates them: the flows have hashes with which each has its own."""
    words = f"fq_pie limit 10000 flows {QUEUES} quantum {rng.choice([300, 1514])} {pie_words(rng)}"
    flows = list(range(1, rng.randint(1, 3) + 1))
    case = pie_case(words, onset(rng, flows, rng.choice([1_000_000, 4_000_000]), points(rng)))
    case["tc"] += [f"k {flow} {(flow - 1) * ((1 << 32) // QUEUES) + 1}" for flow in flows]
    return case


def signals_onset(rng, name, flows, more):
    """CoDel after pauses, at other rates of the link, with other settings."""

    def times(rng):
        return f"target {rng.choice([5, 30, 90])}ms interval {rng.choice([50, 100, 210])}ms"

    words = f"{name} limit 10000 {times(rng)}{more}{rng.choice([' ecn', ' noecn'])}"
    change = lambda rng: f"qdisc change dev DEV parent 1:1 handle 10: {re.sub('target .*ms', times(rng), words)}"
    steps = onset(rng, flows, rng.choice([400_000, 2_000_000]), points(rng), change)
    case = alone(2_000_000, words, steps, f"{words} linux", is_filtered=True)
    case["tc"][0:1] = [DEEP, f"m {FRAME}"]
    return case


def codel_onset(rng):
    return signals_onset(rng, "codel", [1], "")


def fq_codel_onset(rng):
    return signals_onset(rng, "fq_codel", list(flows_of(rng)), f" quantum {rng.choice([300, 1514])}")


def siphash(key, words):
    """SipHash-1-3 of words of 64 bits, as the crate derives seeds."""
    mask = (1 << 64) - 1
    v = [key[0] ^ 0x736F6D6570736575, key[1] ^ 0x646F72616E646F6D, key[0] ^ 0x6C7967656E657261, key[1] ^ 0x7465646279746573]

    def turned(value, bits):
        return ((value << bits) | (value >> (64 - bits))) & mask

    def round_of():
        v[0] = (v[0] + v[1]) & mask
        v[1] = turned(v[1], 13) ^ v[0]
        v[0] = turned(v[0], 32)
        v[2] = (v[2] + v[3]) & mask
        v[3] = turned(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & mask
        v[3] = turned(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & mask
        v[1] = turned(v[1], 17) ^ v[2]
        v[2] = turned(v[2], 32)

    for word in [*words, (8 * len(words) & 255) << 56]:
        v[3] ^= word
        round_of()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(3):
        round_of()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def first_state(seed):
    """The state from which a discipline of this seed draws: its purpose has the number 4 (`Purpose::Draws`)."""
    return siphash((seed, 0), (4, 0, 0))


# Modes in which a packet's hash alone finds its queue, so that the guest can be told our queues.
BY_HASH = ["flows", "dual-srchost", "dual-dsthost", "triple-isolate"]
CAKE_FLOWS = ["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"]
CAKE_TINS = ["precedence", "diffserv3", "diffserv4", "diffserv8"]
# COBALT's target is then 180 s: it signals nothing, and forgets no queue.
PATIENT = "rtt 3600s"
# What the kernel counts for a packet of 700 to 1,500 bytes: a block of 2,048 with its header.
TRUESIZE = 2304
# With this many flows or hosts no two can share a place of a set of eight, whatever their hashes.
MOST_FLOWS = 8


def cake_case(rng, words, rate, tos=lambda _: 0, length=None, count=150, at=None, limit="limit 100000p", memory="", queues=None):
    """Packets from random hosts. Cake tells the flows apart by itself in both, or by `queues` in both; random dither makes a quantum shorter by a byte now and then."""
    flows = range(1, len(queues) + 1) if queues else range(1, rng.randint(2, MOST_FLOWS) + 1)
    places = [f"q {flow} {queue}" for flow, queue in zip(flows, queues or [])]
    pairs = [f"h {flow} {rng.randint(1, 4)} {100 + rng.randint(1, 4)}" for flow in flows]
    steps = traffic(rng, flows, length or (lambda _: rng.randint(28, 1500)), count, at or rate, load(rng), tos)
    steps = places + pairs + [re.sub(r"^a \d+", "a 0", step) for step in steps]
    case = alone(rate, f"cake {words}", steps, f"cake {words} header 0 {limit}", seeds=range(1, 9))
    case["tc"] = [DEEP, f"m {FRAME}", PARENT, QDISC + f"cake {words} {memory}"]
    return case


def code_points(rng):
    """A code point a flow."""
    codes = {number: rng.choice([0, 1, 2, 4, 8, 10, 16, 18, 24, 32, 34, 40, 44, 46, 48, 56, rng.randrange(64)]) for number in range(1, 10)}
    return lambda number: codes[(number - 1) % 9 + 1] << 2


def cake_overflow(rng):
    """A full buffer: the order of the kernel's heap decides, and in it the queues' numbers."""
    limit = rng.choice([5, 10, 30])
    words = f"{rng.choice(['besteffort', 'diffserv4'])} {rng.choice(BY_HASH)} {PATIENT}"
    queues = [rng.randrange(1024) for _ in range(rng.randint(2, MOST_FLOWS))]
    short = rng.choice([700, 1500])
    case = cake_case(rng, words, rng.choice(RATES), code_points(rng), lambda _: rng.randint(short, 1500), limit=f"limit {limit}p", memory=f"memlimit {limit * TRUESIZE}", queues=queues)
    return {**case, "ours": f"{case['ours']} linux"}


def cake_collisions(rng):
    """More flows than a set has ways: some share a queue."""
    first = 8 * rng.randrange(128)
    queues = [first + rng.randrange(8) if rng.random() < 0.8 else rng.randrange(1024) for _ in range(rng.randint(9, 16))]
    words = f"{rng.choice(['besteffort', 'diffserv4'])} {rng.choice(BY_HASH)} {PATIENT}"
    return cake_case(rng, words, rng.choice(RATES), code_points(rng), count=250, queues=queues)


def cake_isolation(rng):
    return cake_case(rng, f"besteffort {rng.choice(CAKE_FLOWS)} {PATIENT}", rng.choice(RATES))


def cake_tins(rng):
    return cake_case(rng, f"{rng.choice(CAKE_TINS)} {rng.choice(CAKE_FLOWS)} {PATIENT}", rng.choice(RATES), code_points(rng))


def cake_shaped(rng):
    """The shaper, its lengths, tins by their own rates. COBALT's target is longer than a case."""
    rate = rng.choice(RATES)
    own = 8 * round(rate * rng.uniform(0.2, 0.8) / 8)
    mode = rng.choice(["besteffort", "besteffort", *CAKE_TINS])
    line = rng.choice(["", "", "overhead 18 mpu 64", "overhead 40 atm", "overhead 30 ptm", "ethernet", "docsis", "pppoe-vcmux"])
    return cake_case(rng, f"bandwidth {own}bit {mode} {rng.choice(CAKE_FLOWS)} {line} {PATIENT}", rate, code_points(rng), at=own)


def cake_signals(rng):
    """COBALT: drops and marks."""
    rate = rng.choice(RATES)
    shaped = rng.random() < 0.5
    own = 8 * round(rate * rng.uniform(0.3, 0.8) / 8)
    words = f"{f'bandwidth {own}bit' if shaped else 'unlimited'} {rng.choice(['besteffort', 'besteffort', 'diffserv4'])} {rng.choice(['flows', 'triple-isolate', 'flowblind'])}"
    words += f" {rng.choice(['', '', 'ingress']) if shaped else ''} rtt {rng.choice([20, 100, 300])}ms"
    ecn = points(rng)
    return cake_case(rng, words, rate, ecn, count=400, at=own if shaped else rate)


def cake_onset(rng):
    """COBALT after pauses and at other rates of the link."""
    words = f"unlimited {rng.choice(['besteffort', 'diffserv4'])} {rng.choice(['flows', 'flowblind'])} rtt {rng.choice([20, 100, 300])}ms"
    flows = list(range(1, rng.randint(1, 4) + 1))
    steps = onset(rng, flows, rng.choice([1_000_000, 2_000_000]), points(rng))
    case = cake_case(rng, words, 2_000_000)
    return {**case, "steps": [re.sub(r"^a \d+", "a 0", step) for step in steps]}


class Connection:
    """One end of a connection of TCP: what its next segment has in its header."""

    def __init__(self, rng, port):
        self.rng, self.port = rng, port
        self.number = rng.choice([1000, rng.randrange(1 << 32), (1 << 32) - 5000])
        self.blocks = []
        self.clock, self.echo = rng.randrange(1 << 32), rng.randrange(1 << 32)
        self.has_times, self.selects = rng.random() < 0.6, rng.random() < 0.7
        self.flags = 0

    def segment(self):
        """The header, and how many bytes of data follow."""
        rng = self.rng
        self.clock += rng.choice([0, 1, 1, 20])
        self.echo += rng.choice([0, 0, 1, 5])
        if rng.random() < 0.1:
            self.flags ^= rng.choice([0x40, 0x80])
        if rng.random() < 0.75:
            self.number += rng.choice([0, 1448, 1448, 2896, 2896, 14480])
            self.blocks = [block for block in self.blocks if block[0] > self.number]
        elif self.selects:
            self.receive_beyond()
        number, flags, data, options = self.number, 0x10 | self.flags, 0, b""
        if self.has_times:
            behind = rng.choice([0] * 20 + [1, 50])
            options += struct.pack("!BBBBII", 1, 1, 8, 10, (self.clock - behind) % 2**32, self.echo % 2**32)
        told = list(self.blocks)
        if self.selects and rng.random() < 0.04:
            # Bytes that came twice.
            told.insert(0, (number - 2896, number - 1448))
        told = told[: 3 if options else 4]
        if told:
            options += struct.pack("!BBBB", 1, 1, 5, 2 + 8 * len(told)) + b"".join(struct.pack("!II", start % 2**32, end % 2**32) for start, end in told)
        kind = rng.random()
        if kind < 0.06:
            number -= rng.choice([1448, 4344])
        elif kind < 0.12:
            data = rng.choice([1, 100, 1000])
        elif kind < 0.16:
            flags |= rng.choice([0x01, 0x04, 0x08, 0x20])
        elif kind < 0.17:
            flags = rng.choice([0x02, 0x12, 0x04])
        elif kind < 0.19 and len(options) <= 36:
            # An option that few know.
            options += bytes([30, 4, 1, 2])
        elif kind < 0.21 and len(options) <= 20:
            # A signature (RFC 2385).
            options += bytes([1, 1, 19, 18]) + bytes(16)
        elif kind < 0.22 and len(options) <= 36:
            options += bytes([0, 9, 9, 9])
        reserved = rng.random() < 0.01
        words = ((5 + len(options) // 4) << 4) + reserved
        header = struct.pack("!HHIIBBHHH", self.port, 443, 1, number % 2**32, words, flags, 5000, 0, 0)
        return header + options, data

    def receive_beyond(self):
        """A segment comes out of order: a block begins, or grows."""
        if self.blocks and self.rng.random() < 0.7:
            at = self.rng.randrange(len(self.blocks))
            self.blocks.insert(0, (lambda block: (block[0], block[1] + 1448))(self.blocks.pop(at)))
        else:
            start = max([self.number, *(end for _, end in self.blocks)]) + 1448
            self.blocks.insert(0, (start, start + 1448))


def cake_acks(rng):
    """The filter of acknowledgements: connections with and without timestamps and selective acknowledgements, that share queues or not."""
    rate = rng.choice([50_000, 100_000, 200_000])
    shaped = rng.random() < 0.5
    own = 8 * round(rate * rng.uniform(0.3, 0.8) / 8)
    words = f"{f'bandwidth {own}bit' if shaped else 'unlimited'} {rng.choice(['besteffort', 'diffserv4'])} {rng.choice(['flowblind', 'flows', 'triple-isolate'])}"
    words += f" {rng.choice(['ack-filter', 'ack-filter-aggressive'])} {rng.choice(['', 'ingress']) if shaped else ''} {PATIENT}"
    connections = {flow: [Connection(rng, 1000 * flow + each) for each in range(rng.randint(1, 2))] for flow in range(1, 10)}
    headers = []

    def length(flow):
        if rng.random() < 0.02:
            headers.append(None)
            return rng.randint(28, 1000)
        header, data = rng.choice(connections[flow]).segment()
        headers.append(header)
        return 20 + len(header) + data

    is_blind = "flowblind" in words
    # Connections of one flow have one queue only if the guest is told so.
    queues = None if is_blind else [rng.randrange(1024) for _ in range(rng.randint(1, 3))]
    case = cake_case(rng, words, rate, points(rng), length, 300, at=own if shaped else rate, queues=queues)
    steps, coming = [], iter(headers)
    for step in case["steps"]:
        header = next(coming) if step.startswith("a ") else None
        steps += [f"s {header.hex()}"] if header else []
        steps.append(step)
    return {**case, "steps": steps}


def can_be_on_a_link(case):
    """Not those with quanta that 6.1.192's drr takes for others. And a device without a queue, which stands for qfq without aggregates, gets one here with its first qdisc."""
    quanta = [int(quantum) for command in case["tc"] for quantum in re.findall(r" drr quantum (\d+)", command)]
    return min(quanta, default=LEAST_QUANTUM) >= LEAST_QUANTUM and "l 0" not in case["tc"]


def on_a_link(make, rng):
    """A case of `orders` on a link: the same classes and lengths, with times in the place of choices."""
    case = make(rng)
    while not can_be_on_a_link(case):
        case = make(rng)
    rate = rng.choice(RATES)
    arrivals = iter([step for step in case["steps"] if step.startswith("a ")])
    count = sum(step.startswith("a ") for step in case["steps"])
    lengths = [int(step.split()[3]) for step in case["steps"] if step.startswith("a ")]
    steps = traffic(rng, [1], lambda _: sum(lengths) // count, count, rate, load(rng))
    # In this guest a qdisc cannot have queues as long as those of `orders`.
    commands = [DEEP if command == "l 100000" else command for command in case["tc"]]
    return {**case, "rate": rate, "tc": commands, "steps": [next(arrivals) if step.startswith("a ") else step for step in steps]}


LEAST_QUANTUM = 256

KINDS = {kind.__name__: kind for kind in (cake_overflow, cake_collisions, cake_isolation, cake_tins, cake_shaped, cake_signals, cake_onset, cake_acks, htb, hfsc, nested, *LEAVES_OF, tbf, ets, prio, fq, fq_shared, fq_pie, codel, fq_codel, codel_onset, fq_codel_onset, pie, fq_pie_drops)}


def scaled(pattern, factor):
    """Replaces the first number that the pattern finds by `factor` times as much."""
    return lambda text: re.sub(pattern, lambda found: f"{found[1]}{8 * round(int(found[2]) * factor / 8)}", text, count=1)


# What each kind is planted with: other settings of ours, whose departures must differ from Linux's in some case.
PLANTED = {
    "cake_overflow": lambda words: re.sub(r"limit (\d+)p", lambda found: f"limit {int(found[1]) + 1}p", words),
    "cake_acks": lambda words: words.replace("ack-filter-aggressive", "no-filter").replace("ack-filter", "ack-filter-aggressive").replace("no-filter", "ack-filter"),
    "cake_isolation": lambda words: re.sub(r"besteffort (\S+)", lambda found: "besteffort " + ("flows" if found[1] == "flowblind" else "flowblind"), words),
    "cake_tins": lambda words: re.sub("|".join(CAKE_TINS), "besteffort", words),
    "cake_shaped": scaled(r"(bandwidth )(\d+)", 1.005),
    "cake_onset": scaled(r"(rtt )(\d+)", 2),
    "cake_signals": scaled(r"(rtt )(\d+)", 2),
    "htb": scaled(r"(node \d+ \d+ )(\d+)", 0.9),
    "hfsc": lambda node: re.sub(r"(curves \d+ \d+ 0 .* )(\d+)( \d+ \d+ \d+)$", lambda found: f"{found[1]}{int(found[2]) // 2}{found[3]}", node),
    "nested": lambda line: scaled(r"((?:tbf rate|node \d+ \d+) )(\d+)", 0.9)(line),
    "tbf": scaled(r"(rate )(\d+)", 0.98),
    "ets": scaled(r"(quanta )(\d+)", 3),
    "prio": lambda _: "fifo limit 100000",
    "fq": scaled(r"(maxrate )(\d+)", 0.95),
    "fq_shared": lambda words: words.replace(OLDER, "") if OLDER in words else words + OLDER,
    "fq_pie": scaled(r"(quantum )(\d+)", 1.3),
    # Of classes with weights, whose quantum may be 1.
    "drr": lambda words: "drr quantum 1500 limit 100000" if "quantum 1 " in words else scaled(r"(quantum )(\d+)", 3)(words),
    "qfq": lambda words: words.replace(" linux", ""),
    "sfq": lambda words: words.replace(" linux", ""),
    "codel": lambda words: words.replace(" linux", ""),
    "fq_codel": lambda words: words.replace(" linux", ""),
    "codel_onset": lambda words: words.replace(" linux", ""),
    "fq_codel_onset": lambda words: words.replace(" linux", ""),
    "pie": lambda words: words.replace(" linux", ""),
    "fq_pie_drops": lambda words: words.replace(" linux", ""),
}


# The rules of fq before 6.7, and of cake before its table of square roots became exact.
OLDER = " linux 6.1"


def older(words):
    """Words of a discipline, with the older kernel's rules where it has others."""
    if not words.removeprefix("of ").startswith(("fq ", "cake ")):
        return words
    return words.removesuffix(" linux") + OLDER


def in_kernel(case, kernel):
    """The case with the rules of this kernel."""
    if kernel != virtual.KERNEL:
        return case
    if "nodes" in case:
        return {**case, "nodes": [older(node) for node in case["nodes"]]}
    return {**case, "ours": older(case["ours"])}


def planted(name, case):
    if kind_of(name).startswith("leaves_of_"):
        # First in, first out in each leaf.
        return {**case, "nodes": [re.sub("^of .*", "of fifo limit 100000", node) for node in case["nodes"]]}
    if kind_of(name) == "cake_collisions":
        # Other queues, of which no two flows share one.
        return {**case, "steps": [re.sub(r"^(q (\d+)) .*", lambda found: f"{found[1]} {40 * int(found[2])}", step) for step in case["steps"]]}
    change = PLANTED[kind_of(name)]
    if "nodes" in case:
        return {**case, "nodes": [change(node) for node in case["nodes"]]}
    return {**case, "ours": change(case["ours"])}


def kind_of(name):
    return name.rsplit("-", 1)[0]


def write_cases(cases, path, ours):
    with path.open("w") as file:
        for name, case in cases.items():
            file.write(f"case {name}\nrate {case['rate']}\n")
            if not ours:
                for line in case["tc"]:
                    file.write(f"{line}\n" if line[:2] in ("l ", "m ", "? ", "k ") else f"$ {line}\n")
            else:
                file.write(f"seed {case.get('seed', 1)}\n")
                file.writelines(f"{node}\n" for node in case.get("nodes", []))
                file.write("grown\n" if "nodes" in case else f"ours {case['ours']}\n")
                file.writelines(f"class {number} {weight} {longest}\n" for number, weight, longest in case.get("classes", []))
                file.write(f"late {case.get('late', LATE[0])}\n")
                file.writelines(f"made {case['made']}\n" for _ in range("made" in case))
            for step in case["steps"]:
                if not ours and case.get("is_filtered"):
                    step = re.sub(r"^a \d+", "a 0", step)
                if ours and step.startswith("x "):
                    step = f"x {step.partition(' handle 10: ')[2]}{' linux' if ' linux' in case['ours'] else ''}"
                file.write(f"{step}\n")


# How late the kernel chooses, in ns: none to some microseconds. Where an arrival falls between, it may or may not be seen.
LATE = [4800, 1000, 2500, 8000, 0]


# A tick of the kernel, in ms. fq counts a flow's silence in ticks, so a pause of `refill_delay` takes up to one more, as it falls between them.
TICK = 4


def refills_later(words):
    """Words of fq with a `refill_delay` that is longer by a tick, or None."""
    if not words.removeprefix("of ").startswith("fq "):
        return None
    if "refill_delay" not in words:
        return re.sub("fq ", f"fq refill_delay {40 + TICK}ms ", words, count=1)
    return re.sub(r"refill_delay (\d+)ms", lambda found: f"refill_delay {int(found[1]) + TICK}ms", words)


def by_ticks(case):
    """The case, and if it has fq, also with the silence that takes a tick more."""
    if "nodes" in case:
        later = {**case, "nodes": [refills_later(node) or node for node in case["nodes"]]}
    else:
        later = {**case, "ours": refills_later(case["ours"]) or case["ours"]}
    return [case] if later == case else [case, later]


def variants(cases):
    """Each case with each lateness and, where random numbers decide, with each seed. Other settings hold from some moment of their command."""
    return {
        f"{name}/{late}/{seed}/{moment}/{ticks}": {**run, "late": late, "seed": seed, "steps": at_moment(case, moment)}
        for name, case in cases.items()
        for ticks, run in enumerate(by_ticks(case))
        for seed in case.get("seeds", [1])
        for late in LATE
        for moment in (MOMENTS if "changed" in case else [0])
    }


# When other settings hold: at these parts of their command's time.
MOMENTS = [0.5, 0.6, 0.7, 0.8, 0.9, 1, 0]


def at_moment(case, moment):
    """The steps, with each change of settings at this part of its command's time."""
    moments = iter(case.get("changed", []))
    steps = []
    for step in case["steps"]:
        if step.startswith("x "):
            begin, end = next(moments)
            steps.append(f"t {round(begin + moment * (end - begin)) // 1000}")
        steps.append(step)
    return steps


# PIE's first update comes so many ns after its queue was made, as ours has it.
FIRST_UPDATE = 512_000_000


def with_notes(cases, lines):
    """The cases with what the kernel noted: when settings changed, and how the begin lay between two updates of PIE. And the departures."""
    cases, theirs = {name: dict(case) for name, case in cases.items()}, {}
    for word, *words in (line.split() for line in lines):
        if word == "updates":
            # Without known random numbers PIE signals nothing, and its updates play no part.
            if "known" in cases[words[0]]:
                cases[words[0]]["made"] = FIRST_UPDATE - int(words[1])
        elif word == "changed":
            cases[words[0]].setdefault("changed", []).append([int(at) for at in words[1:]])
        elif word != "says":
            theirs[word] = read(words)
    return cases, theirs


def nearest(runs, theirs):
    """The first run that equals Linux's departures, else the first."""
    return next((run for run in runs if first_difference(run, theirs) is None), runs[0])


def run_ours(cases, work, run_written):
    """The runs of each case: one for each lateness and seed."""
    write_cases(variants(cases), work / "ours", ours=True)
    runs = {}
    for variant, words in run_written(work / "ours").items():
        runs.setdefault(variant.partition("/")[0], []).append(read(words))
    return runs


def show(name, ours, theirs):
    at = first_difference(ours, theirs)
    around = slice(max(at - 3, 0), at + 6)
    print(f"  {name} from departure {at} of {len(theirs)} on:\n    ours  {ours[around]}\n    Linux {theirs[around]}")


def comparison_can_fail(name, theirs):
    """A comparison that cannot fail shows nothing: two departures exchanged, one less, one more, one late."""
    late = [*theirs[:-1], (theirs[-1][0], theirs[-1][1] + 1_000_000 + round(2 * DRIFT * theirs[-1][1]))]
    exchanged = [*theirs[:-2], (theirs[-1][0], theirs[-2][1]), (theirs[-2][0], theirs[-1][1])]
    for other in (exchanged, theirs[:-1], [*theirs, ("70000", theirs[-1][1])], late):
        if first_difference(other, theirs) is None:
            sys.exit(f"{name}: a planted difference was not found")


def kernel_itself(cases, written, arguments, boots):
    """The kernel's departures of each case in further boots, with other random numbers."""
    others = {}
    for seed in range(2, boots + 1):
        lines = virtual.boot(written, 300 + 10 * len(cases), kernel=arguments.kernel, seed=seed)
        for name, departures in with_notes(cases, lines)[1].items():
            others.setdefault(name, []).append(departures)
    return others


def run(arguments, run_written):
    kinds = arguments.kinds or list(KINDS)
    # Kind after kind. Full buffers of cake come first: BLUE may drop at random once the guest is older than the target.
    cases = {
        f"{kind}-{number}": in_kernel(KINDS[kind](random.Random(f"timed {kind} {number} {arguments.seed}")), arguments.kernel)
        for kind in kinds
        for number in range(arguments.cases)
    }
    with tempfile.TemporaryDirectory(prefix="roundelay-timed-") as directory:
        work = pathlib.Path(directory)
        write_cases(cases, work / "theirs", ours=False)
        known = any("known" in case for case in cases.values())
        lines = virtual.boot((work / "theirs").read_text(), 300 + 10 * len(cases), kernel=arguments.kernel, known=known)
        cases, theirs = with_notes(cases, lines)
        others = kernel_itself(cases, (work / "theirs").read_text(), arguments, arguments.boots)
        ours = {name: nearest(runs, theirs[name]) for name, runs in run_ours(cases, work, run_written).items()}
        changed = {name: planted(name, case) for name, case in cases.items()}
        wrong = {name: nearest(runs, theirs[name]) for name, runs in run_ours(changed, work, run_written).items()}
    good = True
    for kind in kinds:
        names = [name for name in cases if kind_of(name) == kind]
        unequal = [name for name in names if first_difference(ours[name], theirs[name]) is not None]
        other_order = sum(not is_same_order(ours[name], theirs[name]) for name in names)
        found = sum(first_difference(wrong[name], theirs[name]) is not None for name in names)
        lost = sum(sum(step[0] == "a" for step in cases[name]["steps"]) - len(theirs[name]) for name in names)
        marks = sum(word.endswith("!") for name in names for word, _ in theirs[name])
        apart = [abs(our - their) for name in names if name not in unequal for (_, our), (_, their) in zip(ours[name], theirs[name])]
        print(
            f"{kind}: {len(names) - len(unequal)} of {len(names)} equal, {other_order} in another order; {lost} lost, {marks} marked; times up to {max(apart, default=0) / 1000:.0f} us apart; planted settings: {found} differ",
            flush=True,
        )
        if arguments.boots > 1:
            apart = [name for name in names if any(first_difference(other, theirs[name]) is not None for other in others[name])]
            print(f"  in {len(apart)} cases the kernel itself has other departures in another of {arguments.boots} boots, {len(set(apart) & set(unequal))} of the {len(unequal)} that differ from ours among them")
        for name in unequal if arguments.show else []:
            show(name, ours[name], theirs[name])
        comparison_can_fail(names[0], theirs[names[0]])
        if not found:
            sys.exit(f"{kind}: planted settings were not found")
        good &= len(unequal) <= len(names) * CLOSE
    return good
