"""Conformance: what a scheduler owes to its callers."""

from __future__ import annotations

from dataclasses import dataclass

from . import _native
from ._queues import Queue, own
from collections.abc import Callable

__all__ = ["Checked", "check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """Numbers of a conformance check."""

    #: Calls of enqueue, dequeue and others.
    calls: int
    #: Packets dequeued.
    sent: int
    #: Packets dropped or evicted.
    dropped: int
    #: Packets refused.
    refused: int


def check(queue: Callable[..., Queue]) -> Checked:
    """Runs random calls on schedulers of this class, and compares each result with a record of all packets.

    The check demands what the tests of the built-in disciplines demand:

    - Packets and bytes are conserved, and a flow's packets leave in order.
    - A backlogged scheduler sends.
    - A drained scheduler is as good as new.
    - A refusal changes nothing.
    - The same seed and the same calls give the same packets.

    Raises :class:`roundelay.ContractError` with the first call that breaks the contract, or the scheduler's
    own exception, with a note that names the call.
    """
    return Checked(*_native.check(own(queue)))
