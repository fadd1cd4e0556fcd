"""Flows that share a queue of cake: how many, beside Linux, whose hashes have a random key."""

import pathlib
import sys
import tempfile

import virtual

SIZES = [50, 100, 200, 400, 800]
# A quantum: each queue sends a packet a turn.
LEN = 1514
WORDS = "cake unlimited diffserv3 flows rtt 3600s"
# All packets come while this one is on the link. It has a tin of its own, so its queue is none of those that are counted.
PLUG = "a 0 1000000 4000 184"
# Means of one distribution are this far apart, in standard errors, in any row with a probability below .0001.
APART = 4.5


def case(flows, run):
    """Each flow has two packets. Flows of another run have other numbers, because all runs in a guest have one key."""
    first = 1 + 1000 * run
    numbers = [number for number in range(first, first + flows) for _ in range(2)]
    return ["t 1000", PLUG, *(f"a 0 {number} {LEN} 0" for number in numbers)]


def shared(order, flows):
    """The part of the flows that share their queue. The first two turns have the first flow of each queue, and the next two the second flow of each queue that has one."""
    order = [(number - 1) // 2 for number in order[1:]]
    if len(order) != 2 * flows:
        sys.exit(f"{len(order)} packets of {2 * flows} have left")

    def before_again(part):
        return next((at for at, flow in enumerate(part) if at and flow == part[0]), len(part))

    queues = before_again(order)
    rest = order[2 * queues :]
    crowded = before_again(rest) if rest else 0
    return (flows - (queues - crowded)) / flows


def write(path, cases, ours):
    """The cases, with our discipline or with Linux's."""
    with path.open("w") as file:
        for (flows, run), steps in cases.items():
            file.write(f"case {flows}/{run}\nrate 1000000\n")
            if ours:
                file.write(f"seed {1 + run}\nours {ours}\n")
            else:
                file.write("l 10000\n$ qdisc add dev DEV root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
                file.write(f"$ qdisc add dev DEV parent 1:1 handle 10: {WORDS}\n")
            file.writelines(f"{step}\n" for step in steps)


def parts(lines):
    """The parts of flows that share, by number of flows."""
    found = {flows: [] for flows in SIZES}
    for name, words in lines:
        flows = int(name.partition("/")[0])
        found[flows].append(shared([int(word.partition("@")[0]) for word in words], flows))
    return found


def mean(values):
    """The mean and its variance."""
    middle = sum(values) / len(values)
    return middle, sum((value - middle) ** 2 for value in values) / (len(values) - 1) / len(values)


def is_near(one, other):
    """Whether both are of one distribution. Single shared queues are rare with few flows, hence the part of one in a thousand."""
    (a, of_a), (b, of_b) = mean(one), mean(other)
    return abs(a - b) <= APART * (of_a + of_b) ** 0.5 + 0.001


def run(runs, run_written):
    cases = {(flows, number): case(flows, number) for flows in SIZES for number in range(runs)}
    with tempfile.TemporaryDirectory(prefix="roundelay-collisions-") as directory:
        work = pathlib.Path(directory)
        write(work / "theirs", cases, None)
        lines = virtual.boot((work / "theirs").read_text(), 3600)
        theirs = parts((name, words) for name, *words in (line.split() for line in lines))
        ours = {}
        for name, words in {"ours": f"{WORDS} header 0 limit 100000p", "planted": "fq_codel flows 1024 quantum 1514 target 3600s interval 3600s linux limit 100000p"}.items():
            write(work / name, cases, words)
            ours[name] = parts(run_written(work / name).items())
    good, found = True, 0
    for flows in SIZES:
        (linux, _), (mine, _) = mean(theirs[flows]), mean(ours["ours"][flows])
        is_equal = is_near(ours["ours"][flows], theirs[flows])
        found += not is_near(ours["planted"][flows], theirs[flows])
        good &= is_equal
        print(f"{flows} flows: {linux:.4f} share a queue in Linux, {mine:.4f} in ours{'' if is_equal else ': NOT equal'}", flush=True)
    print(f"without sets of eight: {found} of {len(SIZES)} differ")
    if not found:
        sys.exit("a planted difference was not found")
    return good
