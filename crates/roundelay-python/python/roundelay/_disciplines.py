"""The registry of queue disciplines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import _native

Kind = Literal["count", "size", "time", "rate", "number", "choice", "switch", "counts", "sizes"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a discipline, written after the discipline's name: ``"sfq depth 64"``."""

    #: Name, as ``tc`` writes it.
    name: str
    #: One line.
    about: str
    #: Kind of value: bytes for ``size``, bits per second for ``rate``. ``switch`` is a word alone.
    kind: Kind
    #: Default value with its unit.
    default: str
    #: Smallest legal value with its unit. None for choices and switches.
    minimum: str | None
    #: Largest legal value with its unit. None for choices and switches.
    maximum: str | None
    #: The legal words of a choice.
    choices: tuple[str, ...]
    #: Unit of a bare number. None for numbers without a unit.
    unit: str | None
    #: Legal values in words.
    legal: str


@dataclass(frozen=True, slots=True)
class Discipline:
    """A queue discipline."""

    name: str
    #: One line.
    about: str
    #: The publication.
    source: str
    #: Name of the qdisc in Linux's ``tc``. None if Linux does not have the discipline.
    linux: str | None
    #: How the qdisc tells flows apart: ``unread``, ``hashed``, ``exact`` or ``classes``.
    linux_flows: str | None
    #: Whether flows can have weights.
    weighted: bool
    #: Whether packets of one flow can leave in another order than they came.
    reorders: bool
    #: Cost of a packet, in O-notation.
    complexity: str
    #: Whether the discipline can be an inner node of a tree.
    interior: bool
    #: Default buffer in packets. None without a limit in packets.
    default_limit_packets: int | None
    #: Default buffer in bytes. None without a limit in bytes.
    default_limit_bytes: int | None
    parameters: tuple[Parameter, ...]


def schedulers() -> dict[str, Discipline]:
    """All queue disciplines by name, with parameters, defaults, legal ranges and Linux's names."""
    found: dict[str, Discipline] = {}
    for entry in _native.disciplines():
        parameters = [Parameter(**{**one, "choices": tuple(one["choices"])}) for one in entry.pop("parameters")]
        found[entry["name"]] = Discipline(**entry, parameters=tuple(parameters))
    return found
