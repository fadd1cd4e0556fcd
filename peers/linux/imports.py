"""Imported scripts in Linux: each script of the tests, and the commands printed for the tree that it became, must set up the same classes and queues."""

import json
import pathlib
import re
import subprocess
import sys

import virtual

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent.parent / "crates" / "roundelay-import" / "tests" / "scripts"
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


def run(program, capture):
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
