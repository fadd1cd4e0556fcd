"""Rules of weights and trees in Linux: the printed commands are run, then single packets are sent, and the class or leaf that counts each one must be that of its rule.

In the guest: rules.py guest PLAN RESULTS.
"""

import ipaddress
import json
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
EF = 46
INTERFACE = "dummy9"


def packet(protocol=TCP, src="198.51.100.7", dst="203.0.113.9", sport=50000, dport=80, dscp=0):
    return {"protocol": protocol, "src": src, "dst": dst, "sport": sport, "dport": dport, "dscp": dscp}


def six(**keys):
    return packet(**{"src": "2001:db8:ffff::7", "dst": "3fff::9", **keys})


# Rules of weights, and packets with the weight that each must get. Rules have different weights: the class's weight names its rule.
WEIGHTS = [
    (["src port 443 = 10"], [(packet(sport=443), 10), (six(protocol=UDP, sport=443), 10), (packet(dport=443), 1), (packet(protocol=ICMP, sport=0, dport=0), 1)]),
    (
        ["udp dst portrange 40000-40100 = 20", "dscp ef = 7", "host 192.0.2.1 = 3", "src 2001:db8::/32 and tcp = 2", "proto icmp = 5"],
        [
            (packet(protocol=UDP, dport=40000), 20),
            (six(protocol=UDP, dport=40100), 20),
            (packet(protocol=UDP, dport=40101), 1),
            (packet(dport=40050), 1),
            (packet(protocol=UDP, dport=40050, dscp=EF, src="192.0.2.1"), 20),
            (packet(dscp=EF, src="192.0.2.1"), 7),
            (six(dscp=EF), 7),
            (packet(dscp=EF - 1), 1),
            (packet(src="192.0.2.1"), 3),
            (packet(dst="192.0.2.1", protocol=UDP), 3),
            (six(), 2),
            (six(protocol=UDP), 1),
            (six(src="2001:db9::1"), 1),
            (packet(protocol=ICMP, sport=0, dport=0), 5),
            (six(protocol=ICMPV6, src="3fff::1", sport=0, dport=0), 1),
        ],
    ),
]

HOME = (pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "trees" / "home.toml").read_text()
# The example's packets and their leaves.
AT_HOME = [
    (packet(dscp=EF, dst="192.168.1.20"), "call"),
    (packet(protocol=UDP, src="192.0.2.40", dst="192.168.1.20"), "small"),
    (packet(protocol=ICMP, sport=0, dport=0, dst="192.168.1.20"), "small"),
    (six(protocol=UDP, sport=53), "small"),
    (packet(sport=53, dst="192.168.1.20"), "television"),
    (packet(dst="192.168.1.10"), "laptop"),
    (packet(dst="192.168.1.40"), "console"),
    (packet(), "everything else"),
    (six(), "everything else"),
]


def chain(levels):
    """A tree with `levels` levels below its root: at each level a leaf for one port."""
    lines = ['[[node]]\nname = "0"\ndiscipline = "drr"']
    for level in range(1, levels):
        lines.append(f'[[node]]\nname = "{level}"\nparent = "{level - 1}"\ndiscipline = "drr"')
        lines.append(f'[[node]]\nname = "port {level}"\nparent = "{level - 1}"\ndiscipline = "fifo"\nflows = ["dst port {level}"]')
    lines.append(f'[[node]]\nname = "rest"\nparent = "{levels - 1}"\ndiscipline = "fifo"\ndefault = true')
    return "\n".join(lines) + "\n"


# Trees: text, packets and leaves.
TREES = {
    "home with drr": (HOME.replace('"wf2q_plus"', '"drr"'), AT_HOME),
    "home with qfq": (HOME.replace('"wf2q_plus"', '"qfq_plus aggregate 2 linux"'), AT_HOME),
    "home with prio over drr": (
        HOME.replace('"wf2q_plus"', '"drr"').replace('"drr"', '"priority"', 1).replace('name = "hosts"', 'name = "hosts"\npriority = 1'),
        AT_HOME,
    ),
    "leaves with classes": (
        HOME.replace('"wf2q_plus"', '"qfq"').replace('"fifo limit 50"', '"drr"').replace('"sfq limit 200"', '"priority"'),
        AT_HOME,
    ),
    "red, choke, sfb, codel below drr": (
        HOME.replace('"wf2q_plus"', '"drr"')
        .replace('"fifo limit 50"', '"codel"')
        .replace('"sfq limit 200"', '"red"')
        .replace('"fq_codel limit 400"', '"sfb"')
        .replace('"sfb"', '"choke"', 1),
        AT_HOME,
    ),
    "eight levels": (chain(8), [(packet(dport=port), f"port {port}") for port in range(1, 8)] + [(packet(dport=8), "rest")]),
}


def commands(program, capture, arguments):
    """The printed commands, and the verdict's sentences, for the capture with these arguments."""
    run = [program, "compare", capture, "--rate", "5mbit", "--no-cost", "--json", *arguments]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")
    verdict = json.loads(done.stdout)["verdict"]
    return verdict["commands"], " ".join(verdict["sentences"])


def run(boot, program, capture):
    """Whether the kernel takes all commands, and each packet is counted where its rule says."""
    plan, expected = {}, {}
    with tempfile.TemporaryDirectory(prefix="roundelay-linux-") as directory:
        work = pathlib.Path(directory)
        for spec in ("drr", "qfq", "qfq_plus linux", "qfq_plus aggregate 2 linux"):
            for rules, packets in WEIGHTS:
                lines, _ = commands(program, capture, [spec, *(word for rule in rules for word in ("--weight", rule))])
                name = f"{spec}, {'; '.join(rules)}"
                plan[name] = {"script": "\n".join(lines), "of": "class", "packets": [fields for fields, _ in packets]}
                unit = "quantum {}b" if spec == "drr" else "weight {} "
                expected[name] = [re.compile(r"class (drr|qfq) 10:.*" + unit.format(1514 * weight if spec == "drr" else weight)) for _, weight in packets]
        for name, (text, packets) in TREES.items():
            (work / "tree.toml").write_text(text)
            lines, sentences = commands(program, capture, ["--tree", work / "tree.toml"])
            if not lines:
                sys.exit(f"{name}: no commands: {sentences}")
            plan[name] = {"script": "\n".join(lines), "of": "qdisc", "packets": [fields for fields, _ in packets]}
            handles = {node: handle for line in lines for handle, node in re.findall(r"^tc qdisc add .* handle (\w+): .* # (.*)$", line)}
            expected[name] = [re.compile(rf"qdisc \w+ {handles[leaf]}: ") for _, leaf in packets]
        (work / "plan.json").write_text(json.dumps(plan))
        (work / "work.sh").write_text(f"python3 {pathlib.Path(__file__).resolve()} guest plan.json results.json\n")
        boot(work, 600)
        results = json.loads((work / "results.json").read_text())
    return judge(plan, expected, results)


def judge(plan, expected, results):
    faults, sent = 0, 0
    for name, result in results.items():
        if result["status"] != 0 or result["output"]:
            faults += 1
            print(f"{name}: status {result['status']}: {result['output']}")
        for fields, pattern, lines in zip(plan[name]["packets"], expected[name], result["counted"], strict=result["status"] == 0):
            sent += 1
            if not any(pattern.match(line) for line in lines):
                faults += 1
                print(f"{name}: {fields} is not counted by {pattern.pattern}, but by {lines}")
    print(f"{len(results)} sets of rules and trees, {sent} packets: {faults} faults")
    # A comparison that cannot fail shows nothing: other expectations must fail.
    for name, result in results.items():
        turned = expected[name][1:] + expected[name][:1]
        wrong = sum(not any(pattern.match(line) for line in lines) for pattern, lines in zip(turned, result["counted"]))
        if not wrong:
            sys.exit(f"{name}: a planted difference was not found")
    return not faults


# In the guest.


def bytes_of(fields):
    """An IP packet with these fields."""
    ports = struct.pack("!HHI", fields["sport"], fields["dport"], 0)
    payload = ports + bytes(24)
    src, dst = ipaddress.ip_address(fields["src"]), ipaddress.ip_address(fields["dst"])
    if src.version == 6:
        head = struct.pack("!IHBB", 6 << 28 | fields["dscp"] << 22, len(payload), fields["protocol"], 64)
        return head + src.packed + dst.packed + payload
    head = struct.pack("!BBHHHBBH", 0x45, fields["dscp"] << 2, 20 + len(payload), 0, 0, 64, fields["protocol"], 0) + src.packed + dst.packed
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = 0xFFFF ^ (total & 0xFFFF) + (total >> 16)
    return head[:10] + struct.pack("!H", checksum) + head[12:] + payload


def counts(of):
    """Packets sent, by the line of each class or qdisc."""
    text = subprocess.run(["tc", "-s", of, "show", "dev", INTERFACE], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(rf"^({of} .*)\n Sent \d+ bytes (\d+) pkt", text, re.MULTILINE))


def guest(plan, results):
    found = {}
    subprocess.run(["ip", "link", "add", INTERFACE, "type", "dummy"], check=True)
    subprocess.run(["ip", "link", "set", "dev", INTERFACE, "up"], check=True)
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    for name, case in json.loads(pathlib.Path(plan).read_text()).items():
        done = subprocess.run(["sh", "-ec", case["script"]], env={"DEV": INTERFACE, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, text=True, check=False)
        found[name] = {"status": done.returncode, "output": done.stdout + done.stderr, "counted": []}
        for fields in case["packets"] if done.returncode == 0 else []:
            before = counts(case["of"])
            protocol = 0x86DD if ":" in fields["src"] else 0x0800
            sender.sendto(bytes_of(fields), (INTERFACE, protocol, 0, 0, b"\2\0\0\0\0\1"))
            time.sleep(0.02)
            after = counts(case["of"])
            found[name]["counted"].append([line for line, packets in after.items() if packets != before.get(line, "0")])
    pathlib.Path(results).write_text(json.dumps(found))


if __name__ == "__main__":
    guest(*sys.argv[2:])
