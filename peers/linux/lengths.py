#!/usr/bin/env python3
"""Lengths on links beside Linux's cake: every IP packet of 0 to 9,000 bytes, in a kernel of user-mode-linux.

lengths.py [LENGTHS]   boots the kernel and compares; LENGTHS is the output of the example link_lengths
lengths.py guest FILE  the part inside: sends packets through cake, reads back the adjusted length of each
"""

import pathlib
import socket
import struct
import subprocess
import sys

from guest import environment, unfinished

HERE = pathlib.Path(__file__).resolve().parent
DEVICE = "dummy0"
# Numbers of rtnetlink, and of the attributes of a qdisc's statistics.
GET_QDISC, NEW_QDISC, DONE, REQUEST, DUMP = 38, 36, 3, 1, 0x300
ROOT, STATISTICS, OF_DISCIPLINE, LONGEST_ADJUSTED = 0xFFFFFFFF, 7, 4, 9


def boot(lengths):
    """Runs this file in the guest and returns its output."""
    work = lengths.parent
    output = work / "lengths.out"
    output.unlink(missing_ok=True)
    arguments = ["mem=192M", "rootfstype=hostfs", "rootflags=/", "rw", f"init={HERE}/lengths.sh", f"program={HERE}/lengths.py", f"lengths={lengths}", "quiet"]
    guest = subprocess.run(
        ["linux.uml", *arguments, "con=null", "con0=null,fd:1", f"uml_dir={work}/"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800, check=False, env=environment()
    )
    if not output.exists() or not output.read_text().endswith("\nend\n"):
        sys.exit(unfinished(guest.stdout + guest.stderr))
    return output.read_text().removesuffix("end\n")


def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("HH", data)
        if length < 4:
            break
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


class Device:
    """The interface with the qdisc at its root."""

    def __init__(self):
        self.index = socket.if_nametoindex(DEVICE)
        self.netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0800)
        self.frames.bind((DEVICE, 0))

    def set(self, words):
        subprocess.run(["tc", "qdisc", "del", "dev", DEVICE, "root"], capture_output=True, check=False)
        subprocess.run(["tc", "qdisc", "add", "dev", DEVICE, "root", "cake", *words], check=True)

    def send(self, length):
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
        packet = (head + bytes(max(0, length - len(head))))[:length]
        self.frames.send(b"\2" * 6 + b"\4" * 6 + b"\x08\0" + packet)

    def longest(self):
        """The largest length that cake has computed since it was set."""
        body = struct.pack("BxxxiIII", 0, self.index, 0, 0, 0)
        self.netlink.send(struct.pack("IHHII", 16 + len(body), GET_QDISC, REQUEST | DUMP, 1, 0) + body)
        longest, more = None, True
        while more:
            data = self.netlink.recv(65536)
            while data:
                length, kind = struct.unpack_from("IH", data)
                more = more and kind != DONE
                if kind == NEW_QDISC:
                    _, index, _, parent, _ = struct.unpack_from("BxxxiIII", data, 16)
                    if (index, parent) == (self.index, ROOT):
                        statistics = attributes(attributes(attributes(data[36:length])[STATISTICS])[OF_DISCIPLINE])
                        longest = struct.unpack("I", statistics[LONGEST_ADJUSTED])[0]
                data = data[(length + 3) & ~3 :]
        return longest


def guest(path):
    device = Device()
    for line in pathlib.Path(path).read_text().splitlines():
        words, ours = line.split("\t")
        device.set(words.split())
        # Lengths rise: the longest yet is that of the last packet.
        different = []
        # Cake's 32 bits wrap where a negative overhead exceeds the packet; no IP packet is as short.
        least = max([0, *(-int(number) for word, number in zip(words.split(), words.split()[1:]) if word == "overhead" and "raw" not in words)])
        for length, expected in enumerate(map(int, ours.split())):
            if length < least:
                continue
            device.send(length)
            linux = device.longest()
            if linux != expected:
                different.append(f"{length} bytes: {expected}, Linux {linux}")
        print(f"{words}: {length + 1 - least} lengths, {len(different)} differ", *different[:3], sep="; ", flush=True)
    print("end")


def main():
    if sys.argv[1:2] == ["guest"]:
        return guest(sys.argv[2])
    lengths = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/peers/lengths.txt").resolve()
    output = boot(lengths)
    print(output, end="")
    lines = output.splitlines()
    kinds = len(lengths.read_text().splitlines())
    if len(lines) != kinds or not all(line.endswith(" 0 differ") for line in lines):
        sys.exit("lengths differ from Linux's")
    return None


if __name__ == "__main__":
    main()
