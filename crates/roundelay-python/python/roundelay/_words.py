"""Arguments of Python calls as words of the command line, with checks of their types."""

from __future__ import annotations

import decimal
import functools
import math
import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, cast

from . import _native
from ._errors import ArgumentTypeError, UsageError

#: A file.
Path = str | os.PathLike[str]

#: The command's options with what each takes.
_takes = functools.cache(_native.options)
#: The command's options with another face in Python.
_INSTEAD = {
    "json": "to_json() of the result",
    "quiet": "progress=False",
    "color": "to_text() of the result, which has no colours",
    "wide": "to_text(width=..) of the result",
    "plain": "to_text() of the result",
    "template": "the classes of roundelay.scenario",
    "schema": "the classes of roundelay.scenario",
    "why": "`why` of the result, the state before the runs; `roundelay sweep --why` runs nothing",
    "dry_run": "`roundelay simulate --dry-run`, which runs nothing; a call here checks the scenario before the run",
}


def wrong_type(name: str, expected: str, given: Any, what: str | None = None) -> NoReturn:
    """Raises the error for an argument that has another type, or is ``what``."""
    kind = what or ("None" if given is None else type(given).__name__)
    raise ArgumentTypeError(f"{name}: expected {expected}, not {kind}", status=2, legal=expected)


def plain(value: Any) -> Any:
    """A number or truth value of NumPy or ``decimal`` as one of Python. Anything else stays as given."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real | decimal.Decimal):
        return _float(value)
    if hasattr(value, "tolist") and getattr(value, "ndim", None) == 0:
        return value.tolist()
    return value


def _float(number: Any) -> float:
    """The nearest float: infinite for a number beyond all others."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def path_text(name: str, given: Any) -> str:
    """A path: a text or ``os.PathLike``."""
    path = os.fspath(cast("Path", given)) if isinstance(given, str | os.PathLike) else given
    if not isinstance(path, str):
        wrong_type(name, "a path, a text or os.PathLike", given)
    if not path:
        raise UsageError(f"{name}='': expected a path", status=2, given="", legal="a path")
    return path


def rate_text(rate: str | float) -> str:
    """A rate: a text with a unit, or bits per second."""
    number = plain(rate)
    if isinstance(number, str):
        return number
    if isinstance(number, bool) or not isinstance(number, int | float):
        wrong_type("rate", "a text such as '20mbit', or bits per second", rate)
    return f"{number}bit" if isinstance(number, int) else f"{number:.0f}bit"


def time_text(name: str, time: str | float | None) -> str | None:
    """A time: a text with a unit, or seconds."""
    number = plain(time)
    if number is None or isinstance(number, str):
        return number
    if isinstance(number, bool) or not isinstance(number, int | float):
        wrong_type(name, "a text such as '5ms', or seconds", time)
    return f"{_float(number) * 1e9:.3f}ns"


def listed(name: str, value: Any) -> list[Any]:
    """One or many as a list."""
    if value is None:
        return []
    if isinstance(value, str | os.PathLike):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes | bytearray):
        wrong_type(name, "one value or a list", value)
    return list(cast("Iterable[Any]", value))


def texts(name: str, value: str | Iterable[str] | None) -> list[str]:
    """One text or many."""
    found = listed(name, value)
    for each in found:
        if not isinstance(each, str):
            wrong_type(name, "a text or a list of texts", each)
    return found


def scalar(name: str, value: Any) -> str:
    """The word of a text, a number or a path."""
    word = plain(value)
    if isinstance(word, os.PathLike):
        return path_text(name, word)
    if isinstance(word, bool) or not isinstance(word, str | int | float):
        if isinstance(word, bool):
            raise ArgumentTypeError(f"{name}={word}: expected a value, no switch", status=2, given=str(word))
        wrong_type(name, "a text or a number", value)
    return str(word)


def options(function: str, values: Mapping[str, Any]) -> list[str]:
    """``--name value`` for each value, with the types of the command's options. None leaves an option out."""
    words: list[str] = []
    for name, value in values.items():
        option = name.replace("_", "-")
        takes = _takes(function)[option]
        if takes == "switch":
            switch = plain(value)
            if not isinstance(switch, bool):
                wrong_type(name, "True or False", value)
            words += [f"--{option}"] if switch else []
        elif takes == "path":
            words += [] if value is None else [f"--{option}={path_text(name, value)}"]
        elif value is not None:
            each = cast("list[Any]", value) if isinstance(value, list) else [value]
            words += [f"--{option}={scalar(name, one)}" for one in each]
    return words


def further(function: str, more: Mapping[str, Any]) -> list[str]:
    """Words for keywords without a parameter, which are options of the command. True is a switch, and several
    values repeat the option.
    """
    words: list[str] = []
    for given, value in more.items():
        name = given.rstrip("_")
        if name in _INSTEAD:
            raise ArgumentTypeError(f"{given}: no keyword of {function}(); use {_INSTEAD[name]}", status=2, given=given)
        if not name.isidentifier() or name in {"help", "version"}:
            raise ArgumentTypeError(f"{given}: unknown keyword", status=2, given=given)
        option = "--" + name.replace("_", "-")
        one = plain(value)
        if isinstance(one, bool):
            words += [option] if one else []
        elif isinstance(one, Iterable) and not isinstance(one, str | Mapping | bytes | bytearray | os.PathLike):
            words += [f"{option}={scalar(given, each)}" for each in cast("Iterable[Any]", one)]
        elif one is not None:
            words.append(f"{option}={scalar(given, one)}")
    return words


def line(options: list[str], *positionals: str) -> list[str]:
    """A command line whose positional words are never options."""
    return [*options, "--", *positionals]
