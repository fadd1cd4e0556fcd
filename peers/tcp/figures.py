"""The figures of a run: of the kernel from what its guest left, of Roundelay from the JSON of its commands. Both have the same names and units."""

import json
import struct

RECORD = struct.Struct("<QIHHBBBBHH")
TCP, UDP = 6, 17

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
    transfers = {}
    for line in (folder / f"{name}.transfers").read_text().splitlines():
        what, _, _, took = line.split()
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
    }


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
