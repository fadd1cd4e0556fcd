#!/usr/bin/env python3
"""Make `home-downlink.pcap`: a minute of real traffic at the input of a slow home downlink.

Two network namespaces hold real sockets of the kernel's own TCP, UDP and ICMP: "internet" has the servers, "home" the
clients. Each sees one Ethernet interface (a TAP device). This process carries the frames between the two: it adds every
server's propagation delay, and puts the frames through a drop-tail FIFO at the link's rate, as a home router with one
big dumb buffer does. TCP therefore feels real delay and real loss and reacts to both.

What is written is each frame towards the home *as it arrives at that FIFO*, with its arrival time, dropped frames
included: the input of a queue, to be replayed through other queues. Only headers are kept.

With `--both`, a second file has the same run in both directions: also each frame from the home as it leaves the uplink
for the internet, which is the same place. From both directions, round trips and pauses can be read.

Needs Linux, root, Python 3.9 or later and `ip` (iproute2). Nothing is left behind: the namespaces have no name and end
with the processes in them, and so do the TAP devices.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import fcntl
import gc
import gzip
import heapq
import multiprocessing
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# ---------------------------------------------------------------------------------------------------------------------
# The plan: the links, who is where, and who fetches what. Times in seconds from the start.

DURATION = 60.0
DOWN_RATE, DOWN_BUFFER = 5_000_000, 128_000  # bits a second, bytes: 205 ms when full
UP_RATE, UP_BUFFER = 1_000_000, 64_000
SERVER_RATE = 100_000_000  # each server's own access link: spaces its bursts
LAST_MILE = 0.002  # one way, between the home router and the home's hosts


@dataclass(frozen=True)
class Server:
    """A server: its address, its distance (one way, in seconds) and its TCP congestion control."""

    address: str
    distance: float
    congestion_control: str = "cubic"


@dataclass(frozen=True)
class Download:
    """A bulk TCP download that lasts from `start` to `end`, over `connections` parallel connections."""

    client: str
    server: Server
    start: float
    end: float
    connections: int = 1


RESOLVER = Server("192.0.2.53", 0.005)
PINGED = Server("192.0.2.1", 0.008)
GAME = Server("192.0.2.40", 0.012)
VOICE = Server("192.0.2.60", 0.015)
WEB = Server("198.51.100.80", 0.020)
VIDEO = Server("198.51.100.20", 0.006)
MIRROR = Server("203.0.113.10", 0.015)
UPDATES = Server("203.0.113.20", 0.025)
CLOUD = Server("203.0.113.30", 0.045, "reno")
SERVERS = (RESOLVER, PINGED, GAME, VOICE, WEB, VIDEO, MIRROR, UPDATES, CLOUD)

LAPTOP, TV, PHONE, CONSOLE, DESKTOP = (f"192.168.1.{host}" for host in (10, 20, 30, 40, 50))
HOSTS = (LAPTOP, TV, PHONE, CONSOLE, DESKTOP)

DOWNLOADS = (
    Download(LAPTOP, MIRROR, 5.0, 50.0),
    Download(CONSOLE, UPDATES, 12.0, 40.0, connections=4),
    Download(PHONE, CLOUD, 20.0, 50.0),
)
VIDEO_START, VIDEO_PERIOD, VIDEO_SEGMENT = 8.0, 2.0, 250_000
WEB_MEAN_GAP, WEB_CONNECTIONS, WEB_SIZES = 2.0, 2, (4_000, 40_000)
DNS_MEAN_GAP, DNS_ANSWERS = 0.5, (60, 400)  # the gap is each asking host's
PING_PERIOD = 0.2
VOICE_PERIOD, VOICE_SAMPLES = 0.020, 160  # G.711: 160 bytes every 20 ms, 172 with the RTP header
GAME_PERIOD, GAME_SIZES = 1 / 30, (60, 160)

TCP_PORT, DNS_PORT, VOICE_PORT, GAME_PORT = 443, 53, 40_000, 27_015
EXPEDITED_FORWARDING = 46 << 2  # DSCP EF, as it stands in the IPv4 TOS byte

# ---------------------------------------------------------------------------------------------------------------------
# A namespace with one TAP device.

INTERNET_MAC, HOME_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"  # locally administered
INTERNET_GATEWAY, HOME_GATEWAY = "198.51.100.254", "192.168.1.1"  # stand-ins: no host answers to them
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


def call_libc(function: str, *arguments: int) -> None:
    """Calls a C library function that returns 0 or sets errno (os.unshare came with Python 3.12 only)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{function}: {os.strerror(code)}")


def enter_new_namespace() -> None:
    """Moves this process into a network namespace of its own, without IPv6 and with no memory of past connections."""
    call_libc("unshare", CLONE_NEWNET)
    for name in ("ipv6/conf/all/disable_ipv6", "ipv6/conf/default/disable_ipv6", "ipv4/tcp_no_metrics_save"):
        with contextlib.suppress(FileNotFoundError):
            Path("/proc/sys/net", name).write_text("1")


def open_tap(name: str) -> int:
    """Creates a TAP device in the current namespace. It asks for no offloads: frames are whole, and of wire size."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def configure(mac: str, addresses: list[str], gateway: str, gateway_mac: str) -> None:
    """Gives the namespace's device its addresses, and a fixed gateway so that no ARP is needed."""
    commands = ["link set lo up", f"link set eth0 address {mac} mtu 1500 up"]
    commands += [f"address add {address}/32 dev eth0" for address in addresses]
    commands += [f"neighbour add {gateway} lladdr {gateway_mac} nud permanent dev eth0"]
    commands += [f"route add default via {gateway} dev eth0 onlink"]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(commands), text=True, check=True)


# ---------------------------------------------------------------------------------------------------------------------
# Parts that both ends share.


async def until(moment: float) -> None:
    """Sleeps until a moment of the monotonic clock."""
    await asyncio.sleep(max(0.0, moment - time.monotonic()))


def udp_socket(address: str, port: int = 0, tos: int = 0) -> socket.socket:
    """A bound UDP socket that never blocks."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setblocking(False)
    udp.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    udp.bind((address, port))
    return udp


Payload = Callable[[int], bytes]


async def send_stream(udp: socket.socket, peer: str, start: float, period: float, payload: Payload) -> None:
    """Sends payload(0), payload(1), ... to the peer's port of the same number, one a period, till the end."""
    port = udp.getsockname()[1]
    for number in range(int(DURATION / period)):
        await until(start + number * period)
        udp.sendto(payload(number), (peer, port))


def rtp_packet(number: int) -> bytes:
    """The numbered packet of an RTP stream (payload type 0: G.711 mu-law), all silence."""
    header = struct.pack("!BBHII", 0x80, 0, number & 0xFFFF, number * VOICE_SAMPLES, 0x524F554E)
    return header + b"\xff" * VOICE_SAMPLES


def game_packet(dice: random.Random) -> Payload:
    """Makes the numbered state updates of a game: small, and of changing size."""
    return lambda number: struct.pack("!I", number).ljust(dice.randint(*GAME_SIZES), b"\0")


# ---------------------------------------------------------------------------------------------------------------------
# The internet's side.


async def serve_tcp(server: Server, start: float) -> None:
    """Serves `BYTES n` (that many bytes) and `UNTIL t` (bytes until that second of the run), then closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            writer.transport.set_write_buffer_limits(high=16_384)
            while line := await reader.readline():
                unit, amount = line.split()
                if unit == b"BYTES":
                    writer.write(bytes(int(amount)))
                while unit == b"UNTIL" and time.monotonic() < start + float(amount):
                    writer.write(bytes(8_192))
                    await writer.drain()
                if unit == b"UNTIL" or reader.at_eof():
                    break
            writer.close()

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Connections inherit both options. The second keeps a download from running on long after its end.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, server.congestion_control.encode())
    listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, "TCP_NOTSENT_LOWAT", 25), 16_384)
    listener.bind((server.address, TCP_PORT))
    await asyncio.start_server(serve, sock=listener)


def answer_query(resolver: socket.socket, dice: random.Random) -> None:
    """Answers a DNS query with its own header and question, padded as if with records."""
    query, client = resolver.recvfrom(512)
    answer = query[:2] + b"\x81\x80" + query[4:]
    resolver.sendto(answer.ljust(dice.randint(*DNS_ANSWERS), b"\0"), client)


async def run_internet(start: float, dice: random.Random) -> None:
    """Everything the servers do. The kernel answers the pings."""
    for server in (WEB, VIDEO, MIRROR, UPDATES, CLOUD):
        await serve_tcp(server, start)
    resolver = udp_socket(RESOLVER.address, DNS_PORT)
    asyncio.get_running_loop().add_reader(resolver, answer_query, resolver, dice)
    voice = udp_socket(VOICE.address, VOICE_PORT, EXPEDITED_FORWARDING)
    game = udp_socket(GAME.address, GAME_PORT)
    await asyncio.gather(
        send_stream(voice, PHONE, start + 0.007, VOICE_PERIOD, rtp_packet),
        send_stream(game, DESKTOP, start + 0.003, GAME_PERIOD, game_packet(dice)),
    )


# ---------------------------------------------------------------------------------------------------------------------
# The home's side.


async def connect(client: str, server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Opens a TCP connection from one of the home's hosts."""
    return await asyncio.open_connection(server.address, TCP_PORT, local_addr=(client, 0))


async def download(plan: Download, start: float) -> None:
    """One connection of a bulk download."""
    await until(start + plan.start)
    reader, writer = await connect(plan.client, plan.server)
    writer.write(b"UNTIL %f\n" % plan.end)
    while await reader.read(65_536):
        pass
    writer.close()


async def watch_video(start: float) -> None:
    """Fetches a segment every period over one connection; when late, the next one at once."""
    await until(start + VIDEO_START)
    reader, writer = await connect(TV, VIDEO)
    while time.monotonic() < start + DURATION:
        asked = time.monotonic()
        writer.write(b"BYTES %d\n" % VIDEO_SEGMENT)
        await reader.readexactly(VIDEO_SEGMENT)
        await until(asked + VIDEO_PERIOD)


async def fetch(client: str, size: int) -> None:
    """One short web connection."""
    reader, writer = await connect(client, WEB)
    writer.write(b"BYTES %d\n" % size)
    await reader.readexactly(size)
    writer.close()


async def browse(start: float, dice: random.Random) -> None:
    """Opens a page, a few parallel connections each, at random moments."""
    await until(start + 0.5)
    pages = []
    while time.monotonic() < start + DURATION:
        sizes = (dice.randint(*WEB_SIZES) for _ in range(WEB_CONNECTIONS))
        pages.append(asyncio.gather(*(fetch(LAPTOP, size) for size in sizes)))
        await asyncio.sleep(dice.expovariate(1 / WEB_MEAN_GAP))


async def resolve(client: str, start: float, dice: random.Random) -> None:
    """Asks the resolver at random moments, always from one port, and throws the answers away."""
    await until(start + 0.1)
    udp = udp_socket(client)
    while time.monotonic() < start + DURATION:
        header = struct.pack("!HHHHHH", dice.getrandbits(16), 0x0100, 1, 0, 0, 0)
        udp.sendto(header + b"\x07example\x03com\0\0\x01\0\x01", (RESOLVER.address, DNS_PORT))
        await asyncio.sleep(dice.expovariate(1 / DNS_MEAN_GAP))


def internet_checksum(data: bytes) -> int:
    """The ones' complement checksum of RFC 1071 over an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


async def ping(start: float) -> None:
    """Sends echo requests of the usual 64 ICMP bytes; the answers are seen on their way, so nobody reads them here."""
    icmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    icmp.bind((LAPTOP, 0))
    for number in range(int(DURATION / PING_PERIOD)):
        await until(start + 0.05 + number * PING_PERIOD)
        message = struct.pack("!BBHHH", 8, 0, 0, 1, number) + bytes(56)
        checksum = struct.pack("!H", internet_checksum(message))
        icmp.sendto(message[:2] + checksum + message[4:], (PINGED.address, 0))


async def run_home(start: float, dice: random.Random) -> None:
    """Everything the home's hosts do."""
    voice = udp_socket(PHONE, VOICE_PORT, EXPEDITED_FORWARDING)
    game = udp_socket(DESKTOP, GAME_PORT)
    await asyncio.gather(
        *(download(plan, start) for plan in DOWNLOADS for _ in range(plan.connections)),
        *(resolve(client, start, dice) for client in (LAPTOP, PHONE)),
        watch_video(start),
        browse(start, dice),
        ping(start),
        send_stream(voice, VOICE.address, start, VOICE_PERIOD, rtp_packet),
        send_stream(game, GAME.address, start, GAME_PERIOD, game_packet(dice)),
    )


# ---------------------------------------------------------------------------------------------------------------------
# The two sides as processes.

Side = Callable[[float, random.Random], Awaitable[None]]


@dataclass(frozen=True)
class Namespace:
    """How to set one side up."""

    run: Side
    mac: str
    addresses: list[str]
    gateway: str
    gateway_mac: str


INTERNET = Namespace(run_internet, INTERNET_MAC, [s.address for s in SERVERS], INTERNET_GATEWAY, HOME_MAC)
HOME = Namespace(run_home, HOME_MAC, list(HOSTS), HOME_GATEWAY, INTERNET_MAC)


def live_in(namespace: Namespace, control: socket.socket, parent: int, seed: str) -> None:
    """A child's whole life: makes its namespace, hands the TAP device over, waits for the start, runs its side."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends this process
    call_libc("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above
        return
    enter_new_namespace()
    tap = open_tap("eth0")
    configure(namespace.mac, namespace.addresses, namespace.gateway, namespace.gateway_mac)
    socket.send_fds(control, [b"ready"], [tap])
    os.close(tap)
    (start,) = struct.unpack("!d", control.recv(8))

    async def run_and_stay() -> None:
        await namespace.run(start, random.Random(seed))
        await asyncio.sleep(DURATION)  # the parent ends it

    asyncio.run(run_and_stay())


@contextlib.contextmanager
def spawn(namespace: Namespace, seed: str) -> Iterator[tuple[socket.socket, int]]:
    """Runs one side in a child process: yields the control socket and the TAP device; ends the child on leaving."""
    ours, theirs = socket.socketpair()
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=live_in, args=(namespace, theirs, os.getpid(), seed), daemon=True)
    child.start()
    theirs.close()
    try:
        message, descriptors, _, _ = socket.recv_fds(ours, 16, 1)
        if message != b"ready":
            raise RuntimeError("a namespace could not be set up (see above; is this run as root?)")
        yield ours, descriptors[0]
        if not child.is_alive():
            raise RuntimeError("one side ended early (see above)")
        os.close(descriptors[0])
    finally:
        child.kill()
        child.join()
        ours.close()


# ---------------------------------------------------------------------------------------------------------------------
# The network between the two sides. All times here are integers, in nanoseconds.


@dataclass
class Link:
    """A link of a fixed rate behind a drop-tail FIFO of a fixed size."""

    rate: int
    buffer: int
    free_at: int = 0
    worst_wait: int = 0

    def admit(self, now: int, length: int) -> int | None:
        """When a packet that arrives now has been sent, or None if the buffer has no room for it."""
        wait = max(0, self.free_at - now)
        if wait * self.rate // 8_000_000_000 + length > self.buffer:
            return None
        self.worst_wait = max(self.worst_wait, wait)
        self.free_at = now + wait + length * 8_000_000_000 // self.rate
        return self.free_at


@dataclass
class Network:
    """Carries frames between the two TAP devices, and remembers what arrives at the downlink."""

    internet: int
    home: int
    down: Link = field(default_factory=lambda: Link(DOWN_RATE, DOWN_BUFFER))
    up: Link = field(default_factory=lambda: Link(UP_RATE, UP_BUFFER))
    arrivals: list[tuple[int, bytes]] = field(default_factory=list)
    departures: list[tuple[int, bytes]] = field(default_factory=list)
    dropped: int = 0
    dropped_upstream: int = 0
    worst_lateness: int = 0
    events: list[tuple[int, int, int | None, bytes]] = field(default_factory=list)
    scheduled: int = 0

    def __post_init__(self) -> None:
        """Looks the distances up once, by address as it stands in a frame."""
        self.distance = {socket.inet_aton(s.address): int(s.distance * 1e9) for s in SERVERS}
        self.access = {address: Link(SERVER_RATE, 1 << 40) for address in self.distance}

    def schedule(self, moment: int, device: int | None, frame: bytes) -> None:
        """At that moment, writes the frame to a device; or, if None, brings it to the downlink's queue."""
        heapq.heappush(self.events, (moment, self.scheduled, device, frame))
        self.scheduled += 1

    def from_internet(self, now: int, frame: bytes) -> None:
        """A server has sent a frame: over its access link and the distance, it gets to the downlink."""
        source = frame[26:30]
        sent = self.access[source].admit(now, len(frame))
        if sent is not None:
            self.schedule(sent + self.distance[source], None, frame)

    def from_home(self, now: int, frame: bytes) -> None:
        """The home has sent a frame: through the uplink's queue, then the distance to its server."""
        sent = self.up.admit(now + int(LAST_MILE * 1e9), len(frame))
        if sent is None:
            self.dropped_upstream += 1
        else:
            self.departures.append((sent, frame))
            self.schedule(sent + self.distance[frame[30:34]], self.internet, frame)

    def at_downlink(self, now: int, frame: bytes) -> None:
        """A frame gets to the downlink's queue: this is what the capture shows."""
        self.arrivals.append((now, frame))
        sent = self.down.admit(now, len(frame))
        if sent is None:
            self.dropped += 1
        else:
            self.schedule(sent + int(LAST_MILE * 1e9), self.home, frame)

    def run(self, start: int, end: int) -> None:
        """Carries frames from start to end. Model times are exact; how late the process acted on them is noted."""
        while (now := time.monotonic_ns()) < end:
            while self.events and self.events[0][0] <= now:
                moment, _, device, frame = heapq.heappop(self.events)
                self.worst_lateness = max(self.worst_lateness, now - moment)
                if device is None:
                    self.at_downlink(moment, frame)
                else:
                    os.write(device, frame)
            self.read(self.internet, self.from_internet, start)
            self.read(self.home, self.from_home, start)
            wake_at = min(self.events[0][0], end) if self.events else end
            wait = max(0, wake_at - time.monotonic_ns())
            select.select([self.internet, self.home], [], [], wait / 1e9)

    @staticmethod
    def read(device: int, forward: Callable[[int, bytes], None], start: int) -> None:
        """Forwards all IPv4 frames that a device has ready."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame = os.read(device, 65_536)
                now = time.monotonic_ns()
                if frame[12:14] == b"\x08\x00" and now >= start:
                    forward(now, frame)


def become_urgent() -> None:
    """Asks for real-time scheduling, so that other work on the machine disturbs the network less."""
    gc.disable()
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


# ---------------------------------------------------------------------------------------------------------------------
# The capture file.

PCAP_NANOSECONDS, PCAP_ETHERNET, SNAPLEN = 0xA1B23C4D, 1, 80
ETHERNET_HEADER, IPV4_HEADER, UDP_HEADER, APPLICATION_HEADER = 14, 20, 8, 12


def headers_only(frame: bytes) -> bytes:
    """The frame up to the end of its transport header, and of UDP's payload an RTP or DNS header too."""
    transport = ETHERNET_HEADER + IPV4_HEADER
    if frame[23] == socket.IPPROTO_TCP:
        return frame[: min(SNAPLEN, transport + (frame[transport + 12] >> 4) * 4)]
    if frame[23] == socket.IPPROTO_UDP:
        return frame[: transport + UDP_HEADER + APPLICATION_HEADER]
    return frame[: transport + 8]


def write_pcap(path: Path, arrivals: list[tuple[int, bytes]], start: int) -> None:
    """Writes a classic nanosecond pcap. Its times count from the start of the run, and so read like the plan's."""
    opened = gzip.GzipFile(path, "wb", mtime=0) if path.suffix == ".gz" else path.open("wb")
    with opened as file:
        file.write(struct.pack("<IHHiIII", PCAP_NANOSECONDS, 2, 4, 0, 0, SNAPLEN, PCAP_ETHERNET))
        for moment, frame in arrivals:
            seconds, nanoseconds = divmod(moment - start, 1_000_000_000)
            kept = headers_only(frame)
            file.write(struct.pack("<IIII", seconds, nanoseconds, len(kept), len(frame)) + kept)


def report(network: Network, path: Path) -> None:
    """Says what happened."""
    count, octets = len(network.arrivals), sum(len(frame) for _, frame in network.arrivals)
    print(f"{path}: {count} frames ({octets / 1e6:.1f} MB on the wire), file of {path.stat().st_size} bytes")
    print(f"dropped by the downlink's FIFO: {network.dropped} ({100 * network.dropped / count:.1f} %)")
    print(f"longest wait in it: {network.down.worst_wait / 1e6:.0f} ms; upstream: {network.up.worst_wait / 1e6:.0f} ms")
    print(f"dropped upstream: {network.dropped_upstream}")
    print(f"worst lateness of this process: {network.worst_lateness / 1e6:.1f} ms")
    if network.worst_lateness > 20_000_000:
        print("warning: the machine was too busy; the traffic saw extra jitter. Run it again.", file=sys.stderr)


def main() -> None:
    """Runs both sides and the network between them for a minute, then writes the capture."""
    parser = argparse.ArgumentParser(description="Make a capture of a congested home downlink (needs root).")
    parser.add_argument("--out", type=Path, default=Path("home-downlink.pcap"), help="the capture file to write")
    parser.add_argument("--both", type=Path, help="a second file, with both directions; .gz compresses it")
    parser.add_argument("--seed", default="1", help="for the random gaps and sizes of web, DNS and game traffic")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that leaving ends the children
    with spawn(INTERNET, arguments.seed) as (internet, tap1), spawn(HOME, arguments.seed) as (home, tap2):
        network = Network(tap1, tap2)
        become_urgent()
        start = time.monotonic() + 1.0
        start_ns, duration_ns = int(start * 1e9), int(DURATION * 1e9)
        for control in (internet, home):
            control.sendall(struct.pack("!d", start))
        network.run(start_ns, start_ns + duration_ns)
    write_pcap(arguments.out, network.arrivals, start_ns)
    if arguments.both:
        both = sorted(network.arrivals + network.departures, key=lambda arrival: arrival[0])
        write_pcap(arguments.both, both, start_ns)
    report(network, arguments.out)


if __name__ == "__main__":
    main()
