"""A queue discipline to drive by hand."""

from __future__ import annotations

from typing import Self

from . import _native
from ._commands import _located
from ._calls import Call
from ._queues import PLACEHOLDER, QueueLike, own
from ._words import rate_text, scalar


class Scheduler(_native.Scheduler):
    """A queue discipline with its buffer: you enqueue, dequeue and keep the time.

    >>> q = Scheduler("drr quantum 1500")
    >>> [q.enqueue(flow, 1500, name) for flow, name in [(0, "a"), (0, "b"), (1, "c")]]
    [True, True, True]
    >>> [q.dequeue().payload for _ in range(3)]
    ['a', 'c', 'b']

    - ``queue``: a discipline as ``tc`` writes it, or a class written in Python.
    - ``rate``: the link's rate, a text or bits per second. WFQ and WF2Q need it.
    - ``limit``: the buffer, ``"1000p"`` or ``"150kb"``, by default the discipline's.
    - ``seed``: for hashes and random choices.

    Times of calls are in seconds and must not run backwards. Without a time, a call happens at the time of
    the one before.
    """

    __slots__ = ()

    def __new__(
        cls, queue: QueueLike, *, rate: str | float | None = None, limit: str | None = None, seed: int = 1
    ) -> Self:
        call = Call("Scheduler", dict(locals()), [])
        text, mine = (queue, None) if isinstance(queue, str) else (PLACEHOLDER, own(queue))
        speed = None if rate is None else rate_text(rate)
        buffer = None if limit is None else scalar("limit", limit)
        return _located(call, lambda: _native.Scheduler.__new__(cls, text, mine, speed, buffer, seed))

    def set_flow(self, flow: int, weight: int = 1, max_packet_length: int = 2048) -> None:
        """Adds or changes a flow. ``weight`` is 1 to 1024, the longest packet 512 to 65536 bytes."""
        super().set_flow(flow, weight, max_packet_length)

    def __repr__(self) -> str:
        return f"Scheduler({self.spec!r}, limit={self.limit!r}, {len(self)} packets, {self.backlog_bytes} bytes)"
