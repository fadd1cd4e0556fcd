"""Congestion controls as arguments: names of built-in ones, or classes written in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from . import _native
from ._native import Feedback
from ._words import wrong_type


class CongestionControl(Protocol):
    """A congestion control of TCP written in Python: how the window grows and shrinks.

    Each connection of the simulation has an instance of its own, and one for each direction with data. TCP
    itself detects and repairs losses, as for the built-in controls. Return windows in bytes, whole or not
    (they are rounded down). Legal are one segment and more, up to 2**50.

    Optional methods:

    ``on_mark(feedback) -> float``
        An ECN mark, once for each window. Returns threshold and window. Without it, a mark is a loss.
    ``on_timeout(feedback) -> float``
        A retransmission timeout, the first since new data was acknowledged. Returns the threshold. The
        window is one segment. Without it, a timeout is a loss.
    ``on_limited(feedback) -> None``
        An acknowledgement that causes no growth, because the window was not in full use, or the
        acknowledgement echoes a mark.

    Optional attribute of the class: ``name``, in messages, by default the class's name.
    """

    def on_ack(self, feedback: Feedback) -> float:
        """Handles an acknowledgement of new data outside of fast recovery, in slow start too. Returns the window."""
        ...

    def on_loss(self, feedback: Feedback) -> float:
        """Handles a loss told by duplicate acknowledgements, once for each recovery. Returns the threshold,
        which is the window of fast recovery and after it."""
        ...


#: A control: ``"reno"``, ``"cubic"``, or a class (or function) that makes a :class:`CongestionControl`.
ControlLike: TypeAlias = str | Callable[[], CongestionControl]


def control(given: ControlLike) -> _native.Control:
    """A control for the compiled module."""
    if isinstance(given, str):
        return _native.Control(given, None)
    expected = "'reno', 'cubic' or a class with on_ack and on_loss"
    if not callable(given):
        what = f"an instance of {type(given).__name__}: each connection makes its own" if hasattr(given, "on_ack") else None
        wrong_type("congestion", expected, given, what)
    if hasattr(given, "enqueue") and not hasattr(given, "on_ack"):
        wrong_type("congestion", expected, given, f"the scheduler {getattr(given, '__name__', '')}")
    fact: Callable[[str, Any], Any] = lambda name, default: getattr(given, name, default)  # noqa: E731
    return _native.Control(str(fact("name", fact("__name__", type(given).__name__))), given)


def controls(given: ControlLike | Mapping[str, ControlLike] | None) -> list[tuple[str, _native.Control]]:
    """Controls by names of sources. ``all`` stands for all sources over TCP."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(name, control(each)) for name, each in given.items()]
    return [("all", control(given))]
