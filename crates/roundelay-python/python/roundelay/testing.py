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

    Packets and bytes are conserved; packets of a flow leave in order; a backlogged scheduler sends;
    a drained scheduler is as good as new; a refusal changes nothing; the same seed and the same
    calls give the same packets. These are the tests of the built-in disciplines.

    Raises :class:`roundelay.ContractError` with the first call that breaks the contract, or the
    scheduler's own exception, with a note that names the call.
    """
    return Checked(*_native.check(own(queue)))
