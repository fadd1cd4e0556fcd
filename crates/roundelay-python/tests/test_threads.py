"""Threads that drive schedulers, simulate, compare and sweep at once: with the GIL, and in a free-threaded Python without."""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from conftest import CAPTURE, SMALL, Fifo

import roundelay as rd


def at_once(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Results of functions that threads start at the same time."""
    start = threading.Barrier(len(works), timeout=60)
    results: list[Any] = [None] * len(works)

    def run(number: int) -> None:
        try:
            start.wait()
            results[number] = works[number]()
        except BaseException as error:  # noqa: BLE001
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    return results


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")
def test_the_module_leaves_the_gil_off():
    assert not sys._is_gil_enabled()


class Longest(Fifo):
    """Longest queue first, with a version for sweeps."""

    version = "1"

    def __init__(self):
        self.queues = {}

    def enqueue(self, packet, now):
        self.queues.setdefault(packet.flow, []).append(packet)

    def dequeue(self, now):
        longest = max(self.queues.values(), key=len, default=[])
        return longest.pop(0) if longest else None


class Window:
    """A window of twenty segments."""

    version = "1"

    def on_ack(self, feedback):
        return 20 * feedback.segment_length

    on_loss = on_ack


def driven(queue) -> list[Any]:
    """Departures and drops of a scheduler driven by hand."""
    scheduler, departed, dropped = rd.Scheduler(queue, rate="10mbit", limit="40p"), [], []
    for number in range(3000):
        scheduler.enqueue(number % 7, 100 + number % 1400, number, now=number * 1e-4)
        dropped += [drop.packet.payload for drop in scheduler.dropped]
        if number % 2:
            packet = scheduler.dequeue()
            departed.append(packet and packet.payload)
            dropped += [drop.packet.payload for drop in scheduler.dropped]
    return [departed, dropped, scheduler.drops]


def simulated() -> list[Any]:
    result = rd.simulate(SMALL, queue=Longest, congestion=Window, replicas=2, threads=2)
    return [result.to_json(), result.flows.to_dict(), result._repr_html_()]


def compared() -> list[Any]:
    result = rd.compare(CAPTURE, "5mbit", ["fq_codel", Longest], threads=2)
    return [result.verdict, result.to_json(), result.flows.to_dict()]


def swept() -> list[Any]:
    result = rd.sweep(SMALL, {"queue.core": ["qfq", Longest]}, seeds=2, threads=2, congestion=Window)
    return [result.runs.to_dict(), result.failed]


def refused() -> str:
    """The exception of a class comes out of the call of its own thread."""

    class Raises(Fifo):
        def dequeue(self, now):
            raise ZeroDivisionError(threading.get_ident())

    with pytest.raises(ZeroDivisionError) as raised:
        rd.simulate(SMALL, queue=Raises)
    assert raised.value.__notes__[0].startswith("in call ")
    return type(raised.value).__name__


WORKS = [
    lambda: driven("qfq_plus"),
    lambda: driven("fq_codel"),
    lambda: driven(Longest),
    simulated,
    compared,
    swept,
    refused,
    lambda: str(rd.testing.check(Longest)),
]


def test_calls_at_once_give_what_they_give_alone():
    alone = [work() for work in WORKS]
    for _ in range(2):
        assert at_once(WORKS * 2) == alone * 2


@pytest.mark.parametrize("queue", ["fq_codel", "wf2q_plus", Longest])
def test_a_scheduler_of_several_threads_loses_no_packet(queue):
    scheduler = rd.Scheduler(queue, limit="1000000p")

    def work(first: int) -> tuple[list[int], list[int]]:
        accepted, departed = [], []
        for number in range(first, first + 2000):
            try:
                if scheduler.enqueue(number % 5, 100, number):
                    accepted.append(number)
                packet = scheduler.dequeue()
                departed += [] if packet is None else [packet.payload]
            except RuntimeError as error:
                assert "in use by another thread" in str(error)
        return accepted, departed

    results = at_once([lambda first=first: work(first) for first in range(0, 8000, 2000)])
    accepted = [number for accepted, _ in results for number in accepted]
    departed = [number for _, departed in results for number in departed]
    while (packet := scheduler.dequeue()) is not None:
        departed.append(packet.payload)
    assert len(scheduler) == 0 and len(accepted) > 1000
    assert sorted(departed) == sorted(accepted)


def test_instances_of_a_class_run_at_the_same_time():
    meeting = threading.Barrier(2, timeout=60)

    class Meets(Fifo):
        """The first instance of each of two runs waits for that of the other."""

        waits = True

        def enqueue(self, packet, now):
            if Meets.waits:
                meeting.wait()
                Meets.waits = False
            super().enqueue(packet, now)

    native = rd.simulate(SMALL, queue="fifo limit 1000", replicas=2)
    own = rd.simulate(SMALL, queue=Meets, replicas=2, threads=2)
    assert not Meets.waits
    assert own.to_dict()["replicas"][0]["groups"] == native.to_dict()["replicas"][0]["groups"]
