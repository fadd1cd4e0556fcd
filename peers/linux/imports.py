"""Imported scripts in Linux: each script of the tests, and the commands printed for the tree that it became, must set up the same classes and queues."""

import json
import pathlib
import re
import subprocess
import sys

import virtual

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent.parent / "crates" / "roundelay-import" / "tests" / "scripts"
DEVICES = ["eth0", "eth1", "eth2", "dsl0", "lan0", "ppp0", "ifb4eth0", "wan", "mine"]
# Words of a listing that say nothing about what a class does: where it hangs, what it has counted.
NOISE = re.compile(r" (leaf \w+:|level \d+|root|refcnt \d+|direct_packets_stat \d+|direct_qlen \d+|ver \S+|r2q \d+|default 0x\w+|default \d+|linklayer ethernet|mpu 0b?|overhead 0b?)(?= |$)")


def printed(program, capture, tree):
    """The commands for a tree file, or none and why."""
    run = [program, "compare", capture, "--tree", tree, "--rate", "1gbit", "--no-cost", "--json"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [], done.stderr.strip().splitlines()[-1]
    verdict = json.loads(done.stdout)["verdict"]
    return verdict["commands"], " ".join(verdict["sentences"])


def guest_script(files):
    """For each script: its own commands on its devices, then ours on one of our own, and listings behind each."""
    lines = [f"ip link add name {device} numtxqueues 4 type dummy; ip link set dev {device} up" for device in DEVICES]
    listing = "for kind in qdisc class; do tc -d $kind show dev {device} | sed 's/^/listing {name} {whose} {device} /'; done"
    clear = "; ".join(f"tc qdisc del dev {device} root 2> /dev/null" for device in DEVICES)
    for name in files:
        lines += [f"sh /files/{name}.sh 2>&1 | sed 's/^/listing {name} said - /'"]
        lines += [listing.format(name=name, whose="script", device=device) for device in DEVICES[:-1]]
        lines += [clear, f"DEV=mine sh /files/{name}.ours 2>&1 | sed 's/^/listing {name} failed - /'"]
        lines += [listing.format(name=name, whose="ours", device="mine"), clear]
    return "\n".join(lines) + "\n"


def read(lines):
    """Classes by number: kind, parent, words; and queues by the class that they are in."""
    classes, queues, root = {}, {}, None
    for line in lines:
        what, kind, handle, *_ = line.split()
        words = NOISE.sub("", " " + line.split(handle, 1)[1]).split()
        parent = words[words.index("parent") + 1] if "parent" in words else None
        rest = [word for at, word in enumerate(words) if word != "parent" and (at == 0 or words[at - 1] != "parent")]
        if what == "class" and kind not in ("mq", "fq_codel", "cake", "sfq"):
            classes[handle] = (kind, parent, rest)
        elif what == "qdisc" and parent:
            queues[parent] = (kind, rest)
        elif what == "qdisc":
            root = (kind, handle)
    return classes, queues, root


def names_of(commands):
    """What each class of the printed commands is called in the tree."""
    found = (re.search(r"(?:classid|handle) (\w+:\w*) .* # (.*)$", line) for line in commands)
    return {match[1]: match[2] for match in found if match}


def run(program, capture):
    trees, why = {}, {}
    for tree in sorted(SCRIPTS.glob("*.toml")):
        trees[tree.stem], why[tree.stem] = printed(program, capture, tree)
    files = {}
    for name, commands in trees.items():
        files[f"{name}.sh"] = (SCRIPTS / f"{name}.sh").read_text()
        files[f"{name}.ours"] = "\n".join(commands) + "\n"
    files["all.sh"] = guest_script(trees)
    output = virtual.boot("case imports\n$ qdisc add dev DEV root pfifo\n? sh /files/all.sh\nt 1\na 0 1 100 0\n", 900, files)
    for line in output:
        print(line)


if __name__ == "__main__":
    run(HERE.parent.parent / "target" / "release" / "roundelay", HERE.parent.parent / "examples" / "captures" / "home-downlink.pcap")
