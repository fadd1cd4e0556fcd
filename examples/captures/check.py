#!/usr/bin/env python3
"""Checks `home-downlink.pcap`: is it small, whole, and does it show the contention it is shipped for?

Reads the capture with nothing but the standard library, replays it through a FIFO of 1000 packets on a 5 Mbit/s link,
prints a table of what is in it, and exits with an error unless every expectation holds.
"""

from __future__ import annotations

import argparse
import ipaddress
import struct
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LINK_RATE, QUEUE_LIMIT = 5_000_000, 1000  # bits a second, packets
QUIET_UNTIL, BUSY_UNTIL = 5.0, 50.0  # seconds: bulk downloads run between the two
MAX_FILE_SIZE = 3_000_000
PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP"}


@dataclass(frozen=True)
class Packet:
    """One frame: when it came (in nanoseconds), how long it was on the wire, and whose it is."""

    time: int
    length: int
    protocol: str
    server: str
    flow: tuple[str, str, int, int]


@dataclass(frozen=True)
class Expectation:
    """What the capture must hold of one server's traffic."""

    name: str
    protocol: str
    flows: range
    packets: range


EXPECTED = {
    "192.0.2.60": Expectation("voice, DSCP EF", "UDP", range(1, 2), range(2900, 3001)),
    "192.0.2.40": Expectation("game", "UDP", range(1, 2), range(1700, 1801)),
    "192.0.2.53": Expectation("DNS", "UDP", range(2, 3), range(120, 500)),
    "192.0.2.1": Expectation("ping", "ICMP", range(1, 2), range(290, 301)),
    "198.51.100.80": Expectation("web", "TCP", range(20, 150), range(200, 4000)),
    "198.51.100.20": Expectation("video", "TCP", range(1, 2), range(1000, 6000)),
    "203.0.113.10": Expectation("mirror download", "TCP", range(1, 2), range(1000, 20_000)),
    "203.0.113.20": Expectation("update, 4 connections", "TCP", range(4, 5), range(2000, 15_000)),
    "203.0.113.30": Expectation("cloud download", "TCP", range(1, 2), range(300, 15_000)),
}
VOICE = "192.0.2.60"


@dataclass
class Service:
    """What the capture does hold of one server's traffic; waits are in seconds."""

    flows: set[tuple[str, str, int, int]] = field(default_factory=set)
    packets: int = 0
    octets: int = 0
    quiet_waits: list[float] = field(default_factory=list)
    busy_waits: list[float] = field(default_factory=list)


def parse(time: int, length: int, frame: bytes) -> Packet:
    """Reads an Ethernet frame with IPv4 inside."""
    if frame[12:14] != b"\x08\x00" or frame[14] != 0x45:
        raise ValueError("a frame that is not plain IPv4")
    source, destination = (str(ipaddress.IPv4Address(frame[at : at + 4])) for at in (26, 30))
    protocol = PROTOCOLS[frame[23]]
    ports = (0, 0) if protocol == "ICMP" else struct.unpack("!HH", frame[34:38])
    return Packet(time, length, protocol, source, (source, destination, *ports))


def read_pcap(data: bytes) -> Iterator[Packet]:
    """Reads a little-endian classic pcap with nanoseconds."""
    magic, _, _, _, _, snaplen, link_type = struct.unpack_from("<IHHiIII", data)
    if (magic, link_type) != (0xA1B23C4D, 1):
        raise ValueError("not a little-endian nanosecond pcap of Ethernet")
    at = 24
    while at < len(data):
        seconds, nanoseconds, kept, length = struct.unpack_from("<IIII", data, at)
        at += 16
        if not kept <= min(snaplen, length) or at + kept > len(data):
            raise ValueError(f"a broken record before byte {at}")
        yield parse(seconds * 1_000_000_000 + nanoseconds, length, data[at : at + kept])
        at += kept


def fifo_waits(packets: list[Packet]) -> list[float | None]:
    """How long each packet takes from its arrival until it has been sent, in seconds; None where it is dropped."""
    departures: deque[int] = deque()
    waits: list[float | None] = []
    for packet in packets:
        while departures and departures[0] <= packet.time:
            departures.popleft()
        if len(departures) >= QUEUE_LIMIT:
            waits.append(None)
            continue
        begin = max(packet.time, departures[-1]) if departures else packet.time
        departures.append(begin + packet.length * 8_000_000_000 // LINK_RATE)
        waits.append((departures[-1] - packet.time) / 1e9)
    return waits


def quantile(values: list[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else 0.0


def by_server(packets: list[Packet], waits: list[float | None]) -> dict[str, Service]:
    """Adds everything up by server."""
    services: dict[str, Service] = {}
    start = packets[0].time
    for packet, wait in zip(packets, waits):
        service = services.setdefault(packet.server, Service())
        service.flows.add(packet.flow)
        service.packets += 1
        service.octets += packet.length
        moment = (packet.time - start) / 1e9
        if wait is not None and moment < QUIET_UNTIL:
            service.quiet_waits.append(wait)
        elif wait is not None and moment < BUSY_UNTIL:
            service.busy_waits.append(wait)
    return services


def print_table(services: dict[str, Service]) -> None:
    """Prints a row for each server."""
    print(f"Delay through a FIFO of {QUEUE_LIMIT} packets at {LINK_RATE / 1e6:g} Mbit/s, in ms:")
    print(f"quiet is before second {QUIET_UNTIL:g}, busy is from then to second {BUSY_UNTIL:g}.\n")
    print(f"{'traffic':<22}{'server':<15}{'flows':>6}{'packets':>9}{'bytes':>11}"
          f"{'quiet p50':>11}{'p99':>7}{'busy p50':>10}{'p99':>9}")  # fmt: skip
    for server, service in services.items():
        name = EXPECTED[server].name if server in EXPECTED else "(unexpected)"
        quantiles = [
            f"{1000 * quantile(waits, share):.1f}" if waits else "-"
            for waits in (service.quiet_waits, service.busy_waits)
            for share in (0.5, 0.99)
        ]
        print(f"{name:<22}{server:<15}{len(service.flows):>6}{service.packets:>9}{service.octets:>11}"
              f"{quantiles[0]:>11}{quantiles[1]:>7}{quantiles[2]:>10}{quantiles[3]:>9}")  # fmt: skip


def problems(size: int, packets: list[Packet], services: dict[str, Service]) -> Iterator[str]:
    """Says what is wrong with the capture."""
    start = packets[0].time
    duration = (packets[-1].time - start) / 1e9
    if size >= MAX_FILE_SIZE:
        yield f"the file has {size} bytes, {MAX_FILE_SIZE} or more"
    if not 55 <= duration <= 65:
        yield f"it lasts {duration:.1f} s, not 55 to 65 s"
    if any(later.time < earlier.time for earlier, later in zip(packets, packets[1:])):
        yield "time runs backwards"
    if any(packet.length > 1514 for packet in packets):
        yield "it has frames longer than Ethernet's 1514 bytes"
    load = offered_load(packets)
    if load < 0.95:
        yield f"the busy period's load is {load:.0%} of the link, below 95%"
    for server, expected in EXPECTED.items():
        service = services.get(server, Service())
        if len(service.flows) not in expected.flows or service.packets not in expected.packets:
            yield f"{expected.name}: {len(service.flows)} flows and {service.packets} packets are not plausible"
    if any(p.server not in EXPECTED or p.protocol != EXPECTED[p.server].protocol for p in packets):
        yield "it has traffic that is not expected"
    if quantile(services.get(VOICE, Service()).busy_waits, 0.99) < 0.100:
        yield "a FIFO does not hurt the voice stream: its p99 is below 100 ms"


def offered_load(packets: list[Packet]) -> float:
    """What arrives in the busy period, as a share of what the link can send."""
    begin, end = (packets[0].time + int(second * 1e9) for second in (QUIET_UNTIL, BUSY_UNTIL))
    octets = sum(packet.length for packet in packets if begin <= packet.time < end)
    return octets * 8e9 / (LINK_RATE * (end - begin))


def main() -> None:
    """Checks the capture named on the command line, or else the one beside this file."""
    parser = argparse.ArgumentParser(description="Check home-downlink.pcap and show what is in it.")
    default = Path(__file__).with_name("home-downlink.pcap")
    parser.add_argument("capture", type=Path, nargs="?", default=default, help="the capture (default: the one beside)")
    data = parser.parse_args().capture.read_bytes()
    packets = list(read_pcap(data))
    if not packets:
        sys.exit("PROBLEM: the capture is empty")
    waits = fifo_waits(packets)
    services = by_server(packets, waits)
    print_table(services)
    duration = (packets[-1].time - packets[0].time) / 1e9
    print(f"\n{len(packets)} packets in {duration:.1f} s, {waits.count(None)} dropped; file of {len(data)} bytes;")
    print(f"busy period's load: {offered_load(packets):.1%} of the link")
    found = list(problems(len(data), packets, services))
    for problem in found:
        print(f"PROBLEM: {problem}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
