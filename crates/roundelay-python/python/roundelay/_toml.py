"""TOML texts of dictionaries and scenarios."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable


@runtime_checkable
class Tables(Protocol):
    """An object with a TOML text, as :class:`roundelay.scenario.Scenario`."""

    def to_toml(self) -> str:
        """The text."""
        ...


def text_of(given: Any) -> str | None:
    """The text of a dictionary, of a scenario, or a text with line breaks; None for a path."""
    if isinstance(given, Tables):
        return given.to_toml()
    if isinstance(given, Mapping):
        return dumps(cast("Mapping[str, Any]", given))
    if isinstance(given, str) and "\n" in given:
        return given
    if isinstance(given, str | os.PathLike):
        return None
    raise TypeError(f"expected a path, a TOML text, a dictionary or a Scenario, not {type(given).__name__}")


def dumps(table: Mapping[str, Any]) -> str:
    """The dictionary as TOML, in its order. Values that are None are left out."""
    lines: list[str] = []
    _table(lines, [], table)
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_tables(value: Any) -> bool:
    """Whether a value is written as ``[[name]]``: a list of dictionaries."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    return all(isinstance(each, Mapping) for each in cast("Sequence[Any]", value))


def _table(lines: list[str], path: list[str], table: Mapping[str, Any]) -> None:
    items = [(name, value) for name, value in table.items() if value is not None]
    for name, value in items:
        if not isinstance(value, Mapping) and not _is_tables(value):
            lines.append(f"{_key(name)} = {_value(value)}")
    for name, value in items:
        inner = [*path, _key(name)]
        if isinstance(value, Mapping):
            lines += ["", f"[{'.'.join(inner)}]"]
            _table(lines, inner, cast("Mapping[str, Any]", value))
        elif _is_tables(value):
            for each in value:
                lines += ["", f"[[{'.'.join(inner)}]]"]
                _table(lines, inner, each)


def _key(name: str) -> str:
    is_bare = name and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in name)
    return name if is_bare else _string(name)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if type(value).__module__ == "datetime" and hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value).items()
        return "{ " + ", ".join(f"{_key(name)} = {_value(each)}" for name, each in inner if each is not None) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_value(each) for each in cast("Sequence[Any]", value)) + "]"
    if isinstance(value, os.PathLike):
        return _string(os.fspath(cast("os.PathLike[str]", value)))
    raise TypeError(f"{value!r}: TOML has no value of type {type(value).__name__}")
