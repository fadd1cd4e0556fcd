#!/usr/bin/env python3
"""A discipline of one's own here, in ns.py and in ns-3's Python bindings: lines and CPU seconds for the same task, `make python-bench`.

Longest queue first on a link of 8 Mbit/s with a buffer of 100 packets; ten flows of 1 Mbit/s each in packets of
1000 bytes, for 20 seconds. ns.py is a library on SimPy: sources, server and sink are processes of the program. ns-3's
bindings compile calls at run time; a run is a process of its own, for ns-3 frees the objects of Python at its end.
Both libraries are a module `ns`: ns-3 lies in a folder of its own, the first argument.
"""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import time
import types
from pathlib import Path

import roundelay as rd

FLOWS, SECONDS = 10, 20


class LongestQueue:
    limit = "100p"

    def __init__(self):
        self.queues = {}

    def enqueue(self, packet, now):
        self.queues.setdefault(packet.flow, []).append(packet)

    def dequeue(self, now):
        longest = max(self.queues.values(), key=len, default=[])
        return longest.pop(0) if longest else None


def here() -> int:
    """Packets delivered by the simulator."""
    scenario = {
        "duration": f"{SECONDS}s",
        "topology": {"template": "dumbbell", "pairs": FLOWS, "rate": "8mbit", "delay": "1ms"},
        "queue": {"core": "fifo limit 100"},
        "source": [{"name": "flows", "kind": "cbr", "from": "s*", "to": "r*", "rate": "1mbit", "packet_len": 1000}],
    }
    return sum(rd.simulate(scenario, queue=LongestQueue).flows["delivered"])


def of_ns_py():
    """The task with ns.py: its names are imported here, because the package is optional."""
    from collections import deque

    import simpy
    from ns.packet.dist_generator import DistPacketGenerator
    from ns.packet.sink import PacketSink

    class LongestQueueServer:
        def __init__(self, env, rate, limit):
            self.env, self.rate, self.limit = env, rate, limit
            self.queues, self.size, self.out, self.arrived = {}, 0, None, env.event()
            env.process(self.run())

        def put(self, packet):
            if self.size == self.limit:
                return
            self.queues.setdefault(packet.flow_id, deque()).append(packet)
            self.size += 1
            if not self.arrived.triggered:
                self.arrived.succeed()

        def run(self):
            while True:
                if not self.size:
                    self.arrived = self.env.event()
                    yield self.arrived
                packet = max(self.queues.values(), key=len).popleft()
                self.size -= 1
                yield self.env.timeout(packet.size * 8 / self.rate)
                self.out.put(packet)

    def there() -> int:
        env = simpy.Environment()
        server = LongestQueueServer(env, 8e6, 100)
        server.out = sink = PacketSink(env)
        for flow in range(FLOWS):
            generator = DistPacketGenerator(env, f"s{flow}", lambda: 0.008, lambda: 1000, flow_id=flow)
            generator.out = server
        env.run(until=SECONDS)
        return sum(sink.packets_received.values())

    return LongestQueueServer, there


def of_ns3():
    """The task with ns-3: a queue discipline over a queue for each flow, on a point-to-point link."""
    from ns import ns

    class LongestQueueDisc(ns.QueueDisc):
        def __init__(self):
            super().__init__(ns.QueueDiscSizePolicy.MULTIPLE_QUEUES)
            self.queues = {}

        def CheckConfig(self):
            return True

        def InitializeParams(self):
            pass

        def DoEnqueue(self, item):
            if self.GetNPackets() == 100:
                self.DropBeforeEnqueue(item, "full")
                return False
            flow = item.Hash(0)
            if flow not in self.queues:
                self.queues[flow] = ns.CreateObject[ns.DropTailQueue[ns.QueueDiscItem]]()
                self.AddInternalQueue(self.queues[flow])
            return self.queues[flow].Enqueue(item)

        def DoDequeue(self):
            longest = max(self.queues.values(), key=lambda queue: queue.GetNPackets(), default=None)
            return longest.Dequeue() if longest else ns.Ptr[ns.QueueDiscItem]()

    # ns-3 frees the discipline at the end of the process: Python must not.
    alive = []

    def there() -> int:
        alive.append(LongestQueueDisc())
        nodes = ns.NodeContainer()
        nodes.Create(2)
        link = ns.PointToPointHelper()
        link.SetDeviceAttribute("DataRate", ns.StringValue("8Mbps"))
        link.SetChannelAttribute("Delay", ns.StringValue("1ms"))
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.StringValue("1p"))
        devices = link.Install(nodes)
        ns.InternetStackHelper().Install(nodes)
        nodes.Get(0).GetObject[ns.TrafficControlLayer]().SetRootQueueDiscOnDevice(devices.Get(0), alive[0])
        addresses = ns.Ipv4AddressHelper()
        addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
        to = addresses.Assign(devices).GetAddress(1)
        sinks = ns.ApplicationContainer()
        for port in range(9000, 9000 + FLOWS):
            address = ns.InetSocketAddress(to, port).ConvertTo()
            source = ns.OnOffHelper("ns3::UdpSocketFactory", address)
            # 970 bytes and 30 of headers make 1000 on the link.
            source.SetConstantRate(ns.DataRate("970kbps"), 970)
            source.Install(nodes.Get(0))
            sinks.Add(ns.PacketSinkHelper("ns3::UdpSocketFactory", address).Install(nodes.Get(1)))
        ns.Simulator.Stop(ns.Seconds(SECONDS))
        ns.Simulator.Run()
        return sum(sinks.Get(flow).GetObject[ns.PacketSink]().GetTotalRx() for flow in range(FLOWS)) // 970

    return LongestQueueDisc, there


def in_a_process() -> tuple[list[int], float]:
    """Lines of ns-3's discipline and task, packets, and the least CPU seconds of three processes, imports left out."""
    words, environment = [sys.executable, __file__, "ns-3"], os.environ | {"PYTHONPATH": sys.argv[1]}
    runs = [subprocess.run(words, capture_output=True, text=True, env=environment) for _ in range(3)]
    results = [run.stdout.split()[-4:] for run in runs]
    if not all(len(result) == 4 for result in results):
        raise SystemExit(runs[0].stderr)
    return [int(word) for word in results[0][:3]], min(float(result[3]) for result in results)


def lines(part: type | types.FunctionType) -> int:
    """Lines of code, without empty ones and documentation. Classes are looked up by name: bindings give theirs no file."""
    text = Path(__file__).read_text()
    if isinstance(part, types.FunctionType):
        source = inspect.getsource(part)
    else:
        found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == part.__name__)
        source = ast.get_source_segment(text, next(found))
    return len([line for line in source.split("\n") if line.strip() and '"""' not in line])


def measured(run) -> tuple[int, float]:
    """Result, and the least CPU seconds of three runs."""
    spent, result = [], 0
    for _ in range(3):
        start = time.process_time()
        result = run()
        spent.append(time.process_time() - start)
    return result, min(spent)


def row(name: str, counts: list[int], seconds: float) -> None:
    discipline, task, packets = counts
    print(f"  {name:10} discipline {discipline:3} lines, task {task:3} lines, {packets:6} delivered, {seconds:6.2f} s")


def main() -> None:
    if sys.argv[1:] == ["ns-3"]:
        discipline, there = of_ns3()
        start = time.process_time()
        packets = there()
        print(lines(discipline), lines(there), packets, time.process_time() - start, flush=True)
        # Not through destructors: ns-3 and Python would both free the discipline.
        os._exit(0)
    print("Longest queue first, 25,000 packets offered to a link that carries 20,000")
    server, there = of_ns_py()
    delivered = []
    for name, discipline, run in [("Roundelay", LongestQueue, here), ("ns.py", server, there)]:
        packets, seconds = measured(run)
        delivered.append(packets)
        row(name, [lines(discipline), lines(run), packets], seconds)
    counts, seconds = in_a_process()
    delivered.append(counts[2])
    row("ns-3", counts, seconds)
    # Ties at one instant are resolved differently.
    assert all(abs(delivered[0] - other) < 0.01 * delivered[0] for other in delivered), delivered


if __name__ == "__main__":
    main()
