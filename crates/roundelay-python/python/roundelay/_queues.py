"""Queue disciplines as arguments: texts of ``tc``, or classes written in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, cast

from . import _native
from ._errors import UsageError
from ._native import Packet
from ._words import listed, wrong_type


class Queue(Protocol):
    """A scheduler written in Python.

    Packets of one flow leave in the order of arrival. As long as a packet waits, ``dequeue`` returns one,
    unless ``ready_at()`` names a later time. A class that idles also has ``evict()``. Times are in seconds.

    Optional methods:

    ``evict() -> Packet``
        The packet to drop when the buffer is full. Without it, packets that arrive at a full buffer
        are dropped before ``enqueue`` sees them.
    ``ready_at() -> float | None``
        When a scheduler that idles although packets wait serves next, in seconds.
    ``take_dropped() -> Packet | None``
        A packet that the scheduler itself dropped in the last call. It is called until it returns None.
    ``set_flow(flow: int, weight: int, max_packet_length: int)``
        A flow is added or changed. The length is in bytes.
    ``remove_flow(flow: int)``
        A flow is removed.
    ``set_link_rate(rate: int)``
        The link's rate in bits per second, before the first packet.

    Optional attributes of the class:

    - ``name``: in results, by default the class's name.
    - ``limit``: the buffer, ``"1000p"`` or ``"150kb"``, by default ``"1000p"``.
    - ``weighted`` and ``reorders``: by default False.
    - ``reads``: a list of the packet fields that the class reads. At most one of ``"class"``, ``"flow_size"``
      and ``"remaining"``: then ``packet.priority`` is the class by code point or rule, the flow's bytes, or
      its bytes still to come. Also ``"slack"`` or ``"deadline"``.

    If ``__init__`` has a parameter ``seed``, it gets the seed.
    """

    def enqueue(self, packet: Packet, now: float) -> bool | None:
        """Takes a packet. To refuse it, return False, with the state as before."""
        ...

    def dequeue(self, now: float) -> Packet | None:
        """The next packet for the link."""
        ...


#: A discipline: a text as ``tc`` writes it, or a class (or function) that makes a :class:`Queue`.
QueueLike: TypeAlias = str | Callable[..., Queue]

#: Stands for a discipline written in Python among the words of the command.
PLACEHOLDER = "fifo"


def own(queue: Callable[..., Queue]) -> _native.Own:
    """The discipline made from a class written in Python."""
    if not callable(queue):
        what = f"an instance of {type(queue).__name__}: each link makes its own" if hasattr(queue, "enqueue") else type(queue).__name__
        wrong_type("queue", "a discipline as text or a class with enqueue and dequeue", queue, what)
    if hasattr(queue, "on_ack") and not hasattr(queue, "enqueue"):
        wrong_type("queue", "a discipline as text or a class with enqueue and dequeue", queue, f"the congestion control {getattr(queue, '__name__', '')}")
    make = queue
    try:
        has_seed = "seed" in inspect.signature(make).parameters
    except (TypeError, ValueError):
        has_seed = False

    def made(seed: int) -> Queue:
        return make(seed=seed) if has_seed else make()

    fact: Callable[[str, Any], Any] = lambda name, default: getattr(queue, name, default)  # noqa: E731
    name = str(fact("name", fact("__name__", type(queue).__name__)))
    about = (inspect.getdoc(queue) or "a scheduler written in Python").splitlines()[0]
    return _native.Own(
        name,
        about,
        made,
        bool(fact("reorders", False)),
        bool(fact("weighted", False)),
        str(fact("limit", "1000p")),
        _fields(name, fact("reads", ())),
    )


#: What a class can read: the fields that are alone ``packet.priority``, and the others.
_PRIORITIES = ("class", "flow_size", "remaining")
_FIELDS = (*_PRIORITIES, "slack", "deadline")


def _fields(name: str, given: Any) -> list[str]:
    """The fields of packets that a class reads: one or several."""
    legal = f"one of {', '.join(_PRIORITIES)}; slack; deadline"
    expected = f"a text or a list of texts, of {', '.join(_FIELDS)}"
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes | bytearray):
        wrong_type(f"{name}: reads", expected, given)
    fields: list[Any] = [given] if isinstance(given, str) else list(cast("Iterable[Any]", given))
    for field in fields:
        if not isinstance(field, str):
            wrong_type(f"{name}: reads", expected, field)
    priorities = [field for field in _PRIORITIES if field in fields]
    if len(priorities) > 1:
        both = " and ".join(priorities)
        raise UsageError(f"{name}: reads {both}, which are both packet.priority; expected {legal}", status=2, given=", ".join(priorities), legal=legal)
    return fields


def many(queues: Any) -> list[Any]:
    """One discipline or many as a list."""
    is_one = callable(queues) or hasattr(queues, "enqueue")
    return [queues] if is_one else listed("queues", queues)


def split(queues: list[QueueLike]) -> tuple[list[str], list[tuple[int, _native.Own]]]:
    """Words for the command, and the disciplines written in Python with their places."""
    words = [queue if isinstance(queue, str) else PLACEHOLDER for queue in queues]
    return words, [(place, own(queue)) for place, queue in enumerate(queues) if not isinstance(queue, str)]
