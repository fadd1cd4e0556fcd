"""A hundred children after simulate(): children.py fork|forkserver|spawn. A program of its own: libraries of other
tests have threads."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time

import roundelay as rd

TINY = """
duration = "10ms"
topology = { template = "dumbbell", pairs = 2, rate = "10mbit" }
[[source]]
kind = "tcp"
from = ["s0", "s1"]
to = ["r0", "r1"]
"""


def child(expected: str) -> None:
    """Runs a simulation in the child and compares it with the parent's."""
    sys.exit(rd.simulate(TINY, replicas=2).to_json() != expected)


def main(method: str) -> None:
    context = multiprocessing.get_context(method)
    for _ in range(10):
        expected = rd.simulate(TINY, replicas=2, threads=4).to_json()
        # The system's count; an ended thread leaves the list a moment after it was joined.
        for _ in range(100):
            if len(os.listdir("/proc/self/task")) == 1:
                break
            time.sleep(0.01)
        assert len(os.listdir("/proc/self/task")) == 1
        children = [context.Process(target=child, args=(expected,)) for _ in range(10)]
        for each in children:
            each.start()
        for each in children:
            each.join(120)
        assert [each.exitcode for each in children] == [0] * 10


if __name__ == "__main__":
    main(sys.argv[1])
