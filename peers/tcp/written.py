"""The household of traffic.c written down as a scenario, without a capture: for set-ups with other applications than the captured one, and beside predictions from the capture."""

from setups import SECONDS

# Round trips of the servers, in microseconds; the packets of a call, with their headers.
ROUND_TRIPS = {1: 20_000, 2: 40_000, 3: 60_000}
CALL_LEN, PING_LEN = 200, 84
NODES = """
[queue]
core = "fifo limit 1000"

[[node]]
name = "left"
host = true

[[node]]
name = "entry"

[[node]]
name = "exit"

[[node]]
name = "right"
host = true
"""
LINK = """
[[link]]
from = "{}"
to = "{}"
rate = "10gbit"
"""


def size_of_object(number):
    """As traffic.c has it: sizes spread over a decade and a half."""
    place = number * 0.6180339887498949
    return int(2000 * 45 ** (place - int(place)))


def connection(server, start, messages):
    """A connection of the client to a server, closed with the run."""
    words = ", ".join(f'"{message}"' for message in messages)
    return f'  {{ start = "{round(start * 1e6)}us", round_trip = "{ROUND_TRIPS[server]}us", until = "{SECONDS}s", messages = [{words}] }},\n'


def transfers(name, control, connections):
    """A source of connections."""
    return (
        f'\n[[source]]\nname = "tcp 443 {name}"\nkind = "connections"\nfrom = "right"\nto = "left"\n'
        f'start_jitter = "10ms"\ntcp = {{ preset = "linux", control = "{control}" }}\nconnections = [\n{"".join(connections)}]\n'
    )


def packets(name, server, packet_len, rate):
    """Packets at a steady rate that begin after half a second."""
    return (
        f'\n[[source]]\nname = "{name}"\nkind = "cbr"\nfrom = "left"\nto = "right"\nstart = "500ms"\nstop = "{SECONDS * 1000 - 300}ms"\n'
        f'start_jitter = "10ms"\npacket_len = {packet_len}\nrate = "{rate * packet_len * 8}bit"\n'
    )


def scenario(setup):
    """The scenario of a set-up."""
    bulks = [connection(1 + number % 2, number, ["> 8b", "< endless"]) for number in range(setup.bulks)]
    objects = range((SECONDS - 2 - 1) * 3)
    web = [connection(3, 1 + number / 3, ["> 12b", f"< {size_of_object(number)}b"]) for number in objects]
    chunks = ["> 11b", "< 400000b"] + ["> 11b after 1s", "< 400000b"] * (SECONDS - 2)
    text = f'seed = 1\nduration = "{SECONDS}s"\n{NODES}'
    for ends in ("left", "entry"), ("entry", "exit"), ("exit", "right"):
        text += LINK.format(*ends)
    text += f'\n[[port]]\nfrom = "entry"\nto = "exit"\nrate = "{setup.rate}bit"\nqueue = "{setup.discipline}"\n'
    text += transfers("bulk", setup.control, bulks)
    text += transfers("long", setup.control, [connection(3, 10, ["> 14b", "< 3000000b"])])
    text += transfers("short", setup.control, web)
    text += transfers("medium", setup.control, [connection(2, 2, chunks)])
    return text + packets("udp streams", 3, CALL_LEN, 50) + packets("pings", 1, PING_LEN, 10)
