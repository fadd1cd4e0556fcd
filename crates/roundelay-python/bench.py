#!/usr/bin/env python3
"""CPU nanoseconds of a packet, enqueue plus dequeue, through a scheduler driven from Python: `make python-bench`.

512 flows, packets of 1000 bytes, one packet of each flow waiting. Beside it the native loop of `roundelay bench`,
the same discipline written in Python, and ns.py's DRR server, which runs inside SimPy. Then a call of a congestion
control written in Python, in a simulation: the CPU time beyond that of the built-in control, by call.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import deque

import roundelay as rd

FLOWS = 512
PAIRS = 100_000
ROUNDS = 5


class Drr:
    """Deficit round robin, quantum 1500 bytes."""

    limit = "1000000p"

    def __init__(self):
        self.queues, self.credit, self.turns = {}, {}, deque()

    def enqueue(self, packet, now):
        queue = self.queues.setdefault(packet.flow, deque())
        if not queue:
            self.turns.append(packet.flow)
            self.credit[packet.flow] = 1500
        queue.append(packet)

    def dequeue(self, now):
        while self.turns:
            flow = self.turns[0]
            queue = self.queues[flow]
            if queue[0].length <= self.credit[flow]:
                packet = queue.popleft()
                self.credit[flow] -= packet.length
                if not queue:
                    self.turns.popleft()
                return packet
            self.credit[flow] += 1500
            self.turns.rotate(-1)
        return None


def by_hand(queue) -> float:
    """Nanoseconds of a pair."""
    scheduler = rd.Scheduler(queue, limit="1000000p")
    for flow in range(FLOWS):
        scheduler.enqueue(flow, 1000)
    start = time.process_time_ns()
    for number in range(PAIRS):
        scheduler.enqueue(number % FLOWS, 1000)
        scheduler.dequeue()
    spent = time.process_time_ns() - start
    assert len(scheduler) == FLOWS
    return spent / PAIRS


def loop() -> float:
    """Nanoseconds of the loop alone."""
    start = time.process_time_ns()
    for number in range(PAIRS):
        _ = number % FLOWS
    return (time.process_time_ns() - start) / PAIRS


def ns_py() -> float:
    """Nanoseconds of a packet through ns.py's DRR server and SimPy, from put to its departure."""
    import simpy
    from ns.packet.packet import Packet
    from ns.packet.sink import PacketSink
    from ns.scheduler.drr import DRRServer

    env = simpy.Environment()
    server = DRRServer(env, 8e9, [1] * FLOWS)
    server.out = sink = PacketSink(env)
    count = PAIRS // 5

    def arrivals():
        for number in range(count):
            server.put(Packet(env.now, 1000, number, flow_id=number % FLOWS))
            yield env.timeout(1e-6)

    env.process(arrivals())
    start = time.process_time_ns()
    env.run()
    spent = time.process_time_ns() - start
    assert sum(sink.packets_received.values()) == count
    return spent / count


def native(discipline: str) -> float:
    """Net nanoseconds in the native loop, of `roundelay bench`."""
    words = ["bench", discipline, "--flows", str(FLOWS), "--memory", "packed", "--pairs", "1000000", "--rounds", "3", "--json"]
    done = subprocess.run([sys.executable, "-m", "roundelay", *words], capture_output=True, text=True, check=True)
    (load,) = json.loads(done.stdout)["tables"]
    (net,) = [row["net"] for row in load["a_packet"] if row["subject"] == discipline]
    return net


class Reno:
    """Reno, RFC 5681."""

    calls = 0

    def __init__(self):
        self.towards_next = 0

    def on_ack(self, feedback):
        Reno.calls += 1
        if feedback.window < feedback.threshold:
            return feedback.window + min(feedback.acknowledged, feedback.segment_length)
        self.towards_next += feedback.acknowledged
        if self.towards_next < feedback.window:
            return feedback.window
        self.towards_next -= feedback.window
        return feedback.window + feedback.segment_length

    def on_loss(self, feedback):
        self.towards_next = 0
        return max(feedback.in_flight // 2, 2 * feedback.segment_length)


def control() -> float:
    """Nanoseconds of a call of a congestion control."""
    scenario = {
        "duration": "20s",
        "topology": {"template": "dumbbell", "pairs": 1, "rate": "100mbit", "delay": "10ms"},
        "queue": {"core": "fifo limit 500"},
        "source": [{"kind": "tcp", "from": "s0", "to": "r0"}],
    }
    spent = []
    for congestion in ("reno", Reno):
        start = time.process_time_ns()
        rd.simulate(scenario, congestion=congestion)
        spent.append(time.process_time_ns() - start)
    calls, Reno.calls = Reno.calls, 0
    assert calls > 10_000
    return (spent[1] - spent[0]) / calls


def main() -> None:
    def best(measure, *given):
        return min(measure(*given) for _ in range(ROUNDS))

    print(f"CPU nanoseconds of a packet, enqueue plus dequeue, {FLOWS} flows; best of {ROUNDS} rounds")
    rows = [(f"rd.Scheduler({name!r})", best(by_hand, name)) for name in ("fifo", "drr", "fq_codel", "qfq_plus")]
    rows += [(f"roundelay bench {name}, net", native(name)) for name in ("fifo", "drr", "fq_codel", "qfq_plus")]
    rows += [("rd.Scheduler(Drr), written in Python", best(by_hand, Drr))]
    try:
        rows += [("ns.py's DRRServer in SimPy", best(ns_py))]
    except ImportError:
        print("ns.py is not installed")
    rows += [("the loop alone", best(loop)), ("a call of a congestion control in Python", best(control))]
    for name, nanos in rows:
        print(f"  {name:40} {nanos:8.0f}")


if __name__ == "__main__":
    main()
