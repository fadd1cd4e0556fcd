#!/usr/bin/env python3
"""A discipline of one's own here and in ns.py: lines and CPU seconds for the same task, `make python-bench`.

Longest queue first on a link of 8 Mbit/s with a buffer of 100 packets; ten flows of 1 Mbit/s each in packets of
1000 bytes, for 20 seconds. ns.py is a library on SimPy: sources, server and sink are processes of the program.
"""

from __future__ import annotations

import inspect
import time

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


def lines(part: object) -> int:
    """Lines of code, without empty ones and documentation."""
    return len([line for line in inspect.getsource(part).split("\n") if line.strip() and '"""' not in line])


def measured(run) -> tuple[int, float]:
    """Result, and the least CPU seconds of three runs."""
    spent, result = [], 0
    for _ in range(3):
        start = time.process_time()
        result = run()
        spent.append(time.process_time() - start)
    return result, min(spent)


def main() -> None:
    print("Longest queue first, 25,000 packets offered to a link that carries 20,000")
    server, there = of_ns_py()
    rows = [("Roundelay", LongestQueue, here), ("ns.py", server, there)]
    delivered = []
    for name, discipline, run in rows:
        packets, seconds = measured(run)
        delivered.append(packets)
        print(f"  {name:10} discipline {lines(discipline):3} lines, task {lines(run):3} lines, {packets:6} delivered, {seconds:6.2f} s")
    # Ties at one instant are resolved differently.
    assert abs(delivered[0] - delivered[1]) < 0.01 * delivered[0], delivered


if __name__ == "__main__":
    main()
