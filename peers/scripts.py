#!/usr/bin/env python3
"""Real scripts of others, run by `roundelay import --run`, and what their trees must have.

    python3 peers/scripts.py [--roundelay PROGRAM] [--local FOLDER] [--record FOLDER]

The scripts are not ours to keep, so they are fetched: packages of Debian by apt-get (Wonder Shaper,
FireQOS, the example of iproute2's documents), the others from their repositories by git. What cannot be fetched here is skipped, with a line that
says so. `--local FOLDER` takes repositories that are already there, under the last part of their names.
`--record FOLDER` writes what each script ran: recordings like these, with other addresses, are the
scripts of crates/roundelay-import/tests/operators.
"""

import argparse
import gzip
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

# How long a fetch may take, in seconds.
PATIENCE = 120

REPOSITORIES = {
    "sqm-scripts": "https://github.com/tohojo/sqm-scripts",
    "wondershaper": "https://github.com/magnific0/wondershaper",
}

PACKAGES = ["wondershaper", "fireqos", "firehol-common", "iproute2-doc"]

# A file for FireQOS, which is ours.
HOUSEHOLD = """interface eth0 wan output rate 18000kbit
    class voice commit 2000kbit
        match udp ports 5060
    class interactive
        match tcp port 22
        match icmp
    class web prio 3
        match tcp dports 80,443
    class default
"""

# Runs one of SQM's scripts with SQM's own functions, as its start-sqm does behind its checks.
SQM = """#!/bin/sh
here=$(dirname "$0")/src
SCRIPT=$1 IFACE=$2 DOWNLINK=$3 UPLINK=$4
SQM_LIB_DIR=$here SQM_STATE_DIR=/tmp/sqm SQM_QDISC_STATE_DIR=/tmp/sqm
SQM_VERBOSITY_MIN=0 SQM_VERBOSITY_MAX=4 SQM_DEBUG=0 SQM_SYSLOG=0
case $SCRIPT in *cake*) QDISC=cake ;; *) QDISC=fq_codel ;; esac
mkdir -p /tmp/sqm
. "$here/defaults.sh"
. "$here/functions.sh"
. "$here/$SCRIPT"
sqm_prepare_script
sqm_start_default
"""


def sqm(script):
    return ["sh", "./run.sh", script, "eth0", "90000", "18000"]


# (where the script is, command, interface, parts of its tree, what must not be in it)
CASES = [
    ("sqm-scripts", sqm("simplest.qos"), "eth0", ['rate = "18mbit"', "fq_codel linux limit 1001", "default = true"], []),
    ("sqm-scripts", sqm("simplest.qos"), "ifb4eth0", ['rate = "90mbit"', "fq_codel linux limit 1001"], []),
    ("sqm-scripts", sqm("simplest_tbf.qos"), "eth0", ["tbf rate 18mbit burst 2250b", "fq_codel linux limit 1001"], []),
    ("sqm-scripts", sqm("piece_of_cake.qos"), "eth0", ["cake linux bandwidth 18mbit", "besteffort"], []),
    ("sqm-scripts", sqm("piece_of_cake.qos"), "ifb4eth0", ["cake linux bandwidth 90mbit", "besteffort"], []),
    ("sqm-scripts", sqm("layer_cake.qos"), "eth0", ["cake linux bandwidth 18mbit", "diffserv3"], []),
    ("sqm-scripts", sqm("simple.qos"), "eth0", ['ceil = "17984kbit"', 'rate = "128kbit"', "dscp cs1"], ["marks are not in packets"]),
    (
        "wondershaper",
        ["./wondershaper", "-a", "eth0", "-d", "10000", "-u", "2000"],
        "eth0",
        ['rate = "400kbit"', 'ceil = "1900kbit"', "ack below 64 bytes", "default = true"],
        [],
    ),
    (
        "debian",
        ["bash", "./usr/lib/firehol/fireqos", "household.conf", "start"],
        "eth0",
        [
            "htb r2q 15",
            'rate = "2mbit"\nceil = "18mbit"\nprio = 0',
            '"udp and dst port 5060 and src 0.0.0.0/0"',
            '"icmp and src 0.0.0.0/0"',
            'name = "1:8000"',
            "default = true",
        ],
        ["reserve"],
    ),
    # The mark is that of an action at the other interface, which a tree has not.
    ("debian", ["sh", "./ifb.sh"], "ifb0", ["priority", "tbf rate 20kbit burst 1600b", "sfq linux", "matches the mark 1"], []),
    # 1.1a has cbq, which Linux has no longer: the tree says so.
    ("debian", ["./sbin/wondershaper", "eth0", "10000", "2000"], "eth0", ["cbq has no counterpart here"], []),
]


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **more)


def repository(name, folder, local):
    """The folder with a repository's files, or why there is none."""
    if local:
        kept = pathlib.Path(local) / name
        if kept.is_dir():
            shutil.copytree(kept, folder / name)
            return folder / name, None
    try:
        cloned = run(["git", "clone", "--quiet", "--depth", "1", REPOSITORIES[name], str(folder / name)])
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    if cloned.returncode:
        return None, cloned.stderr.strip().splitlines()[-1] if cloned.stderr.strip() else "git failed"
    return folder / name, None


def packages(folder):
    """A folder with the files of Debian's packages."""
    root = folder / "debian"
    root.mkdir()
    for name in PACKAGES:
        try:
            fetched = run(["apt-get", "download", name], cwd=folder)
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, str(error)
        if fetched.returncode:
            return None, f"apt-get download {name}: " + (fetched.stderr.strip().splitlines() or ["failed"])[-1]
    for package in folder.glob("*.deb"):
        run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    (root / "household.conf").write_text(HOUSEHOLD)
    (root / "ifb.sh").write_text(example(root / "usr/share/doc/iproute2/actions/ifb-README.gz"))
    return root, None


def example(document):
    """The commands of a document of iproute2: from where it names tc to the rule below."""
    text = gzip.open(document, "rt").read()
    return text[text.index("export TC=") :].partition("\n---")[0] + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--roundelay", default="target/release/roundelay")
    parser.add_argument("--local")
    parser.add_argument("--record")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.roundelay).resolve())
    wrong = []
    done = skipped = 0
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = pathlib.Path(name).resolve()
        folder.chmod(0o755)  # root runs scripts as nobody
        places = {}
        for place in sorted({case[0] for case in CASES}):
            found, why = packages(folder) if place == "debian" else repository(place, folder, arguments.local)
            places[place] = found
            if why:
                print(f"skipped: {place}, which cannot be fetched here: {why}")
            if found and place == "sqm-scripts":
                (found / "run.sh").write_text(SQM)
        for place, command, device, parts, nowhere in CASES:
            at = places[place]
            if not at:
                skipped += 1
                continue
            words = [program, "import", "--json", "--dev", device, "--run", "--", *command]
            ran = run(words, cwd=at)
            title = f"{place}: {' '.join(command)} at {device}"
            if ran.returncode:
                if "no sandbox here" in ran.stderr:
                    print(f"skipped: {title}: no sandbox here")
                    skipped += 1
                else:
                    wrong.append(f"{title}: {ran.stderr.strip()[-300:]}")
                continue
            page = json.loads(ran.stdout)
            missing = [part for part in parts if part not in page["tree"]]
            missing += [f"not: {part}" for part in nowhere if part in page["tree"]]
            if missing:
                wrong.append(f"{title}: {missing}\n{page['tree']}")
            else:
                done += 1
                print(f"right: {title}")
            if arguments.record:
                record = pathlib.Path(arguments.record)
                record.mkdir(exist_ok=True)
                name = f"{place}-{pathlib.Path(command[-4] if place == 'sqm-scripts' else command[0]).name}.sh"
                (record / name).write_text(page["recorded"])
    for text in wrong:
        print(f"wrong: {text}")
    print(f"{done} right, {len(wrong)} wrong, {skipped} skipped")
    return 1 if wrong or not done and not skipped else 0


if __name__ == "__main__":
    sys.exit(main())
