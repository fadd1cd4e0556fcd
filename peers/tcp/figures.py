"""The figures of a run: of the kernel from what its guest left, of Roundelay from the JSON of its commands. Both have the same names and units."""

import json
import re
import struct

RECORD = struct.Struct("<QIHHBBBBHH")
TCP, UDP = 6, 17
# Bytes of a full packet, and of the data in it.
PACKET, DATA = 1500, 1448

# Name, decimals, and the least difference that means anything, in the figure's own unit.
FIGURES = {
    "drops": (0, 5),
    "call: loss, %": (2, 0.1),
    "call: wait p50, ms": (1, 1),
    "call: wait p99, ms": (1, 1),
    "bulk, 20 ms, Mbit/s": (2, 0.1),
    "bulk, 40 ms, Mbit/s": (2, 0.1),
    "file, s": (2, 0.1),
    "web: mean, s": (3, 0.01),
    "web: p90, s": (3, 0.01),
    "video chunk: mean, s": (2, 0.05),
    "utilisation, %": (1, 1),
    "upload, Mbit/s": (2, 0.1),
    "sent, s": (2, 0.1),
}


def quantile(values, part):
    """The value at this part of the sorted ones."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def mean(values):
    """None without values."""
    return sum(values) / len(values) if values else None


def of_kernel(folder, name, setup, seconds):
    """The figures of one run of the guest."""
    records = list(RECORD.iter_unpack((folder / f"{name}.packets").read_bytes()))
    begin = min(record[0] for record in records)
    end = begin + seconds * 1e9
    came, sent, carried, waits, bulk = 0, 0, 0, [], {1: 0, 2: 0}
    calls = [0, 0]
    sizes = {}
    for at, waited, length, _, protocol, server, is_sent, _, source_port, port in records:
        if not is_sent:
            came += 1
            calls[0] += protocol == UDP
            continue
        sent += 1
        carried += length if at <= end else 0
        if protocol == UDP:
            calls[1] += 1
            waits.append(waited / 1000)
        elif protocol == TCP and at <= end:
            flow = (server, port)
            sizes[flow] = sizes.get(flow, 0) + length
    # Bulk flows come from these servers in turn. The video's, also from the second, is smaller than each of them.
    for server in bulk:
        of_server = sorted((size for flow, size in sizes.items() if flow[0] == server), reverse=True)
        bulk[server] = sum(of_server[: (setup.bulks + 2 - server) // 2])
    transfers, uploaded = {}, None
    for line in (folder / f"{name}.transfers").read_text().splitlines():
        what, _, got, took = line.split()
        if what == "upload":
            uploaded = int(got) * 8 / seconds / 1e6
        if took != "-":
            transfers.setdefault(what, []).append(float(took))
    web = transfers.get("web", [])
    return {
        "drops": came - sent,
        "call: loss, %": 100 * (calls[0] - calls[1]) / calls[0],
        "call: wait p50, ms": quantile(waits, 0.5),
        "call: wait p99, ms": quantile(waits, 0.99),
        "bulk, 20 ms, Mbit/s": bulk[1] * 8 / seconds / 1e6,
        "bulk, 40 ms, Mbit/s": bulk[2] * 8 / seconds / 1e6 if bulk[2] else None,
        "file, s": mean(transfers.get("file", [])),
        "web: mean, s": mean(web),
        "web: p90, s": quantile(web, 0.9),
        "video chunk: mean, s": mean(transfers.get("video", [])),
        "utilisation, %": 100 * carried * 8 / seconds / setup.rate,
        "upload, Mbit/s": uploaded,
        "sent, s": mean(transfers.get("sent", [])),
    }


def application_of(line):
    """The application of traffic.c behind a connection of a scenario that was read from a capture: by when it began, and how much came or went."""
    start = re.search(r'start = "(\d+)(us|ms|s)"', line)
    begins = int(start[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[start[2]]
    came, went = 0, 0
    for way, amount in re.findall(r'"([<>]) (endless|\d+b)', line):
        size = 1 << 60 if amount == "endless" else int(amount[:-1])
        came, went = came + size * (way == "<"), went + size * (way == ">")
    if went > came:
        return "upload" if begins < 2 else "sent"
    for name, at, least in ("bulk 1", 0, 0), ("bulk 2", 1, 500_000), ("video", 2, 300_000), ("file", 10, 500_000):
        if at - 0.1 < begins < at + 0.2 and came >= least:
            return name
    return "web"


def named_by_application(scenario):
    """The scenario with a source of connections for each application, whatever kinds the reading has sorted them into."""
    blocks = re.split(r"(?=^\[\[source\]\]\n)", scenario, flags=re.MULTILINE)
    made = []
    for number, block in enumerate(blocks):
        if 'kind = "connections"' not in block:
            made.append(block)
            continue
        if "after = {" in block:
            # Its connections wait for others by their places in the list.
            made.append(re.sub(r'^name = ".*"$', f'name = "web of {number}"', block, count=1, flags=re.MULTILINE))
            continue
        head, _, rest = block.partition("connections = [\n")
        lines, _, after = rest.partition("]\n")
        by_application = {}
        for line in lines.splitlines(keepends=True):
            by_application.setdefault(application_of(line) if "start = " in line else None, []).append(line)
        for application, own in by_application.items():
            named = re.sub(r'^name = ".*"$', f'name = "{application} of {number}"', head, count=1, flags=re.MULTILINE)
            made.append(named + "connections = [\n" + "".join(own) + "]\n")
        made.append(after)
    return "".join(made)


def of_applications(text):
    """The figures of each replica of a scenario named by its applications."""
    return [of_named_replica(replica) for replica in json.loads(text)["replicas"]]


def of_named_replica(replica):
    """The figures of one such replica."""
    [link] = [link for link in replica["links"] if (link["from"], link["to"]) == ("entry", "exit")]
    groups = {group["name"]: group for group in replica["groups"]}

    def throughput(application, sender):
        """Of the flows in which data goes; None without any."""
        flows = [flow["throughput"] / 1e6 for flow in replica["flows"] if flow["group"].startswith(f"{application} of ") and flow["from"] == sender]
        return sum(flows) if flows else None

    def completion(application, figure):
        """Of the application's source with the most transfers; None if none ended."""
        of_it = [group["completion"] for name, group in groups.items() if name.startswith(f"{application} of ")]
        return max(of_it, key=lambda one: one["count"])[figure] if of_it else None

    # The kernel counts bytes of data, a throughput is of packets.
    uploaded = throughput("upload", "right")
    call = max((group for name, group in groups.items() if name.startswith("udp")), key=lambda group: group["packets"]["sent"], default=None)
    delay = call["delay"] if call and call["delay"]["count"] else {"p50": None, "p99": None}
    found = {
        "drops": sum(link["dropped"]),
        "call: loss, %": call and 100 * call["loss"],
        "call: wait p50, ms": delay["p50"] and 1000 * delay["p50"],
        "call: wait p99, ms": delay["p99"] and 1000 * delay["p99"],
        "bulk, 20 ms, Mbit/s": throughput("bulk 1", "left"),
        "bulk, 40 ms, Mbit/s": throughput("bulk 2", "left"),
        "file, s": completion("file", "mean"),
        "web: mean, s": completion("web", "mean"),
        "web: p90, s": completion("web", "p90"),
        "video chunk: mean, s": completion("video", "mean"),
        "utilisation, %": 100 * link["utilisation"],
        "upload, Mbit/s": uploaded and uploaded * DATA / PACKET,
        "sent, s": completion("sent", "mean"),
    }
    return {figure: value for figure, value in found.items() if value is not None}


def of_simulation(text):
    """The figures of each replica of a simulated scenario of `roundelay applications`."""
    return [of_replica(replica) for replica in json.loads(text)["replicas"]]


def of_replica(replica):
    """The figures of one replica."""
    groups = {group["name"]: group for group in replica["groups"]}
    [link] = [link for link in replica["links"] if (link["from"], link["to"]) == ("entry", "exit")]
    bulk = [flow["throughput"] / 1e6 for flow in replica["flows"] if flow["group"].endswith(" bulk") and flow["from"] == "left"]
    call = groups["udp streams"]
    completion = {size: groups[f"tcp 443 {size}"]["completion"] for size in ("short", "medium", "long", "bulk") if f"tcp 443 {size}" in groups}
    web = completion["short"]
    # A chunk that the capture's end cut off may be taken for endless; bulk transfers themselves never end.
    video = completion.get("medium", completion["bulk"])
    return {
        "drops": sum(link["dropped"]),
        "call: loss, %": 100 * call["loss"],
        "call: wait p50, ms": 1000 * call["delay"]["p50"],
        "call: wait p99, ms": 1000 * call["delay"]["p99"],
        "bulk, 20 ms, Mbit/s": sum(bulk[0::2]) or None,
        "bulk, 40 ms, Mbit/s": sum(bulk[1::2]) or None,
        "file, s": completion.get("long", {}).get("mean"),
        "web: mean, s": web["mean"],
        "web: p90, s": web["p90"],
        "video chunk: mean, s": video["mean"],
        "utilisation, %": 100 * link["utilisation"],
    }


def of_replay(text, rate):
    """The figures of `roundelay compare` without a reaction; it has no completion times."""
    comparison = json.loads(text)
    [discipline] = comparison["disciplines"]
    total = discipline["total"]
    found = {
        "drops": sum(total["drops"].values()),
        "utilisation, %": 100 * total["throughput"] / rate,
    }
    bulk = {1: 0, 2: 0}
    for flow, outcome in zip(comparison["flows"], discipline["flows"], strict=True):
        label = flow["label"]
        if label.startswith("udp"):
            found["call: loss, %"] = 100 * outcome["loss"]
            found["call: wait p50, ms"] = 1000 * outcome["delay"]["p50"]
            found["call: wait p99, ms"] = 1000 * outcome["delay"]["p99"]
        for server in bulk:
            if label.startswith(f"tcp 10.0.2.{server}:"):
                bulk[server] = max(bulk[server], outcome["throughput"] / 1e6)
    found["bulk, 20 ms, Mbit/s"], found["bulk, 40 ms, Mbit/s"] = bulk[1], bulk[2]
    return found
