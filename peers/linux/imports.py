"""Imported scripts in Linux: each script of the tests, and the commands printed for the tree that it became, must set up the same classes and queues. And packets through some scripts, run by the kernel, and through their trees: the same departures."""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import timed
import virtual

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent.parent / "crates" / "roundelay-import" / "tests"
SCRIPTS = TESTS / "scripts"
DEVICES = ["eth0", "eth1", "eth2", "dsl0", "lan0", "ppp0", "ifb4eth0", "wan", "ifb4wan", "pppoe-wan", "swp1", "mine"]
# Words of a listing that say nothing about what a class does: where it hangs, what it has counted. A priomap
# is rules of flows in the tree; cake's default memlimit is written in ours.
NOISE = re.compile(r" (leaf \w+:|level \d+|root|refcnt \d+|direct_packets_stat \d+|direct_qlen \d+|ver \S+|r2q \d+|default 0x\w+|default \d+|priomap( \d+)+|memlimit \S+|linklayer ethernet|mpu 0b?|overhead 0b?)(?= |$)")


def printed(program, capture, tree):
    """The commands for a tree file, or none and why."""
    # A rate at which the capture contends, because there are no commands otherwise; a buffer that leaves the leaves' limits as they are.
    run = [program, "compare", capture, "--tree", tree, "--rate", "1mbit", "--buffer", "1000000", "--no-cost", "--json"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [], done.stderr.strip().splitlines()[-1]
    verdict = json.loads(done.stdout)["verdict"]
    return verdict["commands"], " ".join(verdict["sentences"])


def guest_script(names):
    """For each script: its own commands on its devices, then ours on one of our own, and listings behind each."""
    lines = [f"ip link add name {device} numtxqueues 4 type dummy; ip link set dev {device} up" for device in DEVICES]
    clear = "; ".join(f"tc qdisc del dev {device} root 2> /dev/null; tc qdisc del dev {device} ingress 2> /dev/null" for device in DEVICES)
    for name in names:
        # A list of commands without `tc` in front is a batch.
        runs = f"tc -force -batch /files/{name}.sh" if is_batch(name) else f"sh /files/{name}.sh"
        for whose, command, devices in (("script", runs, DEVICES[:-1]), ("ours", f"DEV=mine sh -e /files/{name}.ours", DEVICES[-1:])):
            lines.append(f"{command} 2>&1 | sed 's/^/said {name} {whose} - /'")
            for device in devices:
                lines += [f"tc -d {kind} show dev {device} | sed 's/^/list {name} {whose} {device} /'" for kind in ("qdisc", "class")]
            lines.append(clear)
    return "\n".join(lines) + "\n"


def is_batch(name):
    words = (line.split() for line in (SCRIPTS / f"{name}.sh").read_text().splitlines())
    return any(line and line[0] in ("qdisc", "class") for line in words)


def read(lines):
    """Classes by number, with kind, parent, and words; and queues by the class that they are in, or `root`."""
    classes, queues, buckets = {}, {}, set()
    for line in lines:
        if not line.startswith(("qdisc ", "class ")):
            # A table of sizes (stab) is of the link: `compare --link`.
            continue
        what, kind, handle, *_ = line.split()
        words = NOISE.sub("", " " + line.split(handle, 1)[1]).split()
        parent = words.pop(words.index("parent") + 1) if "parent" in words else "root"
        # A pfifo without limit has the interface's, 1000 packets, or here that of the buffer.
        # A sfq without any word has 128 flows, of which its 127 packets fill 127.
        words = [word for word in " ".join(words).replace("limit 1000000p", "limit 1000p").replace("limit 127p quantum 1514b depth 127 flows 128", "limit 127p quantum 1514b depth 127 flows 127").split() if word != "parent"]
        if kind == "ingress" or (kind == "noqueue" and parent == "root"):
            continue
        if what == "class":
            # Some kinds name the qdisc as the parent of its own classes.
            classes[handle] = (kind, "root" if parent.endswith(":") else parent, words)
            continue
        # The only class of tbf may go by the name of its qdisc. Its limit is that of the queue which it had before.
        if kind == "tbf":
            buckets.add(handle)
        if parent in buckets:
            parent += "1"
        # Ours has a shaper at the root, if the tree does not shape by itself.
        queues[parent] = (kind, handle, words)
        if handle == "10:":
            queues[handle] = (kind, handle, words)
    return classes, queues


def names_of(commands):
    """What each class of the printed commands is called in the tree, and each qdisc by the class that it is in."""
    names = {}
    for line in commands:
        found = re.search(r"classid (\w+:\w+) .* # (.*)$", line) or re.search(r"parent (\w+:\w+) handle \w+: .* # (.*)$", line)
        if found:
            names.setdefault(found[1], found[2])
    return names


def faults(script, ours, names):
    """Where the two set-ups part, as sentences, and the number of classes and queues compared."""
    classes, queues = script
    our_classes, our_queues = ours
    by_name = {name: number for number, name in names.items()}
    found, compared = [], 0
    for number, (kind, parent, words) in classes.items():
        if kind not in ("htb", "hfsc", "drr", "qfq") or number.endswith(":"):
            continue
        compared += 1
        our_kind, our_parent, our_words = our_classes.get(by_name.get(number), (None, None, []))
        our_parent = names.get(our_parent, our_parent)
        if (kind, parent, words) != (our_kind, our_parent, our_words):
            found.append(f"class {number}: {kind} {' '.join(words)} in {parent}; ours {our_kind} {' '.join(our_words)} in {our_parent}")
    for parent, (kind, handle, words) in queues.items():
        if parent not in by_name and parent != "root":
            continue
        # A tree has no netem, which its remarks say.
        if kind == "netem":
            continue
        compared += 1
        place = by_name.get(parent) or by_name.get(handle) or "10:"
        our_kind, _, our_words = our_queues.get(place, (None, None, []))
        if kind == "tbf" and f"{handle}1" in queues:
            words, our_words = without_latency(words), without_latency(our_words)
        if kind != our_kind or words != our_words:
            found.append(f"queue in {parent}: {kind} {' '.join(words)}; ours {our_kind} {' '.join(our_words)}")
    return found, compared


def without_latency(words):
    """The words of a tbf with a queue of its own inside, whose limit plays no part."""
    return re.sub(r"(^| )(lat|limit) \S+", "", " ".join(words)).split()


def run(program, capture, run_written):
    """Both comparisons."""
    is_good = send_through(program, run_written)
    return set_up(program, capture) and is_good


def set_up(program, capture):
    """Whether the scripts and the commands of their trees set up the same."""
    trees, why, device = {}, {}, {}
    for tree in sorted(SCRIPTS.glob("*.toml")):
        trees[tree.stem], why[tree.stem] = printed(program, capture, tree)
        device[tree.stem] = re.search(r"Interface (\S+) of", tree.read_text())[1]
    files = {"all.sh": guest_script(trees)}
    for name, commands in trees.items():
        files[f"{name}.sh"] = (SCRIPTS / f"{name}.sh").read_text()
        files[f"{name}.ours"] = "\n".join(commands) + "\n"
    output = virtual.boot("case imports\n$ qdisc add dev DEV root pfifo\n? sh /files/all.sh\nt 1\na 0 1 100 0\n", 900, files)
    lists, said = {}, {}
    for line in output:
        if line.startswith("says imports "):
            what, name, whose, of, rest = [*line.removeprefix("says imports ").split(" ", 4), ""][:5]
            (lists if what == "list" else said).setdefault((name, whose, of), []).append(rest)
    good, before, differ = True, None, 0
    for name, commands in trees.items():
        script = read(lists.get((name, "script", device[name]), []))
        ours = read(lists.get((name, "ours", "mine"), []))
        found, compared = faults(script, ours, names_of(commands))
        if not compared:
            print(f"{name}: not compared, because its root is a qdisc for devices of several queues (mq)")
            continue
        # A comparison that cannot fail shows nothing: the tree of another script.
        differ += bool(before and faults(script, *before)[0])
        before = (ours, names_of(commands))
        found += [f"no commands: {why[name]}"] * (not commands) + [f"ours: {text}" for text in said.get((name, "ours", "-"), [])]
        print(f"{name}: {compared - len(found)} of {compared} classes and queues the same" + "".join(f"\n  {each}" for each in found), flush=True)
        good &= not found
    if differ < len(trees) // 2:
        sys.exit("trees of other scripts were not found")
    print(f"{differ} scripts differ from the tree of the one before")
    return good


# Scripts whose packets are compared: what Wonder Shaper and two of SQM's ran, one with three classes that borrow, and an htb inside an htb. The rate that shapes all, in bits per second.
SENDING = {
    "operators/recorded-wondershaper": 2_000_000,
    "operators/recorded-simplest": 18_000_000,
    "operators/recorded-piece_of_cake": 18_000_000,
    "scripts/simple": 9_000_000,
    "operators/htb_in_htb": 6_000_000,
}
CASES = 10
LINK = 100_000_000
# Code points of flows: none, interactive, EF, CS1.
POINTS = [0, 0, 4, 46, 8]


def send(rng, rate, has_acks):
    """Arrivals of flows with a code point each, and of one that is all acknowledgements; and the flows' headers, for the rules."""
    flows = range(1, rng.randint(3, 8) + 1)
    points = {flow: rng.choice(POINTS) for flow in flows}
    acks = flows[-1] if has_acks else 0
    load = rng.choice([0.7, 1.1, 1.5])
    ends = {flow: (rng.randint(1, 4), rng.randint(101, 104)) for flow in flows}
    steps = [f"h {flow} {source} {destination}" for flow, (source, destination) in ends.items()]
    arrivals = timed.traffic(rng, flows, lambda flow: 52 if flow == acks else rng.randint(100, 1500), 250, rate, load, lambda flow: points[flow] << 2)
    for step in arrivals:
        if step.startswith(f"a {acks} "):
            steps.append("s " + (acks.to_bytes(2, "big") + bytes.fromhex("01bb 00000001 00000001 8010 1388 0000 0000 0101080a 00000001 00000001")).hex())
        steps.append(re.sub(r"^a \d+", "a 0", step))
    headers = []
    for flow in flows:
        protocol, to, ack = (6, 443, " ack") if flow == acks else (17, 9, "")
        source, destination = ends[flow]
        headers.append(f"from {flow} {protocol} 10.254.0.{source} 10.255.0.{destination} {flow} {to} {points[flow]}{ack}")
    return steps, headers


def bits_a_second(case, departures):
    """What has left between the first departure and the last one."""
    lengths = [int(step.split()[3]) for step in case["steps"] if step.startswith("a ")]
    numbers = [int(word.rstrip("!")) for word, _ in departures]
    seconds = (departures[-1][1] - departures[0][1]) / 1e9
    return 8 * sum(lengths[number] for number in numbers[:-1]) / seconds


def send_through(program, run_written):
    """Packets through the scripts in the kernel and through their trees."""
    with tempfile.TemporaryDirectory(prefix="roundelay-imports-") as directory:
        work = pathlib.Path(directory)
        cases, changed, files = {}, {}, {}
        for place, rate in SENDING.items():
            name = place.rpartition("/")[2]
            # The device of the guest's link.
            text = re.sub(r"\beth0\b", "link0", (TESTS / f"{place}.sh").read_text())
            files[f"{name}.sh"] = text
            (work / f"{name}.sh").write_text(text)
            imported = subprocess.run([program, "import", work / f"{name}.sh", "--dev", "link0"], capture_output=True, text=True, check=True).stdout
            # The link has frames without a header, and cake counts what is in front of the network layer. The kernel is an older one than `linux` means.
            tree = re.sub(r"cake linux ([^\"]*)", r"cake linux 6.1 \1 header 0", imported)
            (work / f"{name}.toml").write_text(tree)
            # Comparisons that cannot fail show nothing: a tree with a tenth less.
            less = re.sub(r'((?:rate|ceil) = "|bandwidth )(\d+)(kbit|mbit)', lambda found: f"{found[1]}{int(found[2]) * (900 if found[3] == 'kbit' else 900_000)}bit", tree)
            (work / f"{name}.less.toml").write_text(less)
            for number in range(CASES):
                steps, headers = send(random.Random(f"imports {name} {number}"), rate, "ack below" in tree)
                case = {
                    "rate": LINK,
                    "tc": ["l 1000", f"? tc qdisc del dev link0 ingress 2> /dev/null; sh /files/{name}.sh > /dev/null 2>&1; tc qdisc show dev link0 root"],
                    "steps": steps,
                    "seeds": range(1, 33 if "cake" in tree else 2),
                }
                cases[f"{name}-{number}"] = {**case, "nodes": [f"file {work / name}.toml", *headers]}
                changed[f"{name}-{number}"] = {**case, "nodes": [f"file {work / name}.less.toml", *headers]}
        timed.write_cases(cases, work / "theirs", ours=False)
        lines = virtual.boot((work / "theirs").read_text(), 900, files)
        for line in lines:
            if line.startswith("says ") and " noqueue " in line:
                sys.exit(f"a script has set up nothing: {line}")
        _, theirs = timed.with_notes(cases, lines)
        ours = {name: timed.nearest(runs, theirs[name]) for name, runs in timed.run_ours(cases, work, run_written).items()}
        wrong = {name: timed.nearest(runs, theirs[name]) for name, runs in timed.run_ours(changed, work, run_written).items()}
    good = True
    for place in SENDING:
        script = place.rpartition("/")[2]
        names = [name for name in cases if timed.kind_of(name) == script]
        unequal = [name for name in names if timed.first_difference(ours[name], theirs[name]) is not None]
        orders = sum(timed.is_same_order(ours[name], theirs[name]) for name in names)
        apart = [abs(our - their) for name in names if name not in unequal for (_, our), (_, their) in zip(ours[name], theirs[name])]
        rates = [bits_a_second(cases[name], ours[name]) / bits_a_second(cases[name], theirs[name]) - 1 for name in names]
        packets = sum(len(theirs[name]) for name in names)
        found = sum(timed.first_difference(wrong[name], theirs[name]) is not None for name in names)
        print(
            f"{script}: {orders} of {len(names)} orders equal, {len(names) - len(unequal)} with all times, of {packets} packets; times up to {max(apart, default=0) / 1000:.0f} us apart, rates up to {max(map(abs, rates)):.5%}; with a tenth less {found} differ",
            flush=True,
        )
        for name in unequal:
            timed.show(name, ours[name], theirs[name])
        timed.comparison_can_fail(names[0], theirs[names[0]])
        good &= len(unequal) <= len(names) * timed.CLOSE and found > len(names) // 2
    return good
