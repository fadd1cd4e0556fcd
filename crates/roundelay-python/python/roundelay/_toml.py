"""TOML texts of dictionaries and scenarios."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from ._errors import UsageError
from ._words import plain, wrong_type


@runtime_checkable
class Tables(Protocol):
    """An object with a TOML text, as :class:`roundelay.scenario.Scenario`."""

    def to_toml(self) -> str:
        """The text."""
        ...


def text_of(given: Any, name: str = "scenario") -> str | None:
    """The text of a dictionary or scenario, or a text with line breaks. None for a path."""
    if isinstance(given, Tables) and not isinstance(given, type):
        return given.to_toml()
    if isinstance(given, Mapping):
        return dumps(cast("Mapping[str, Any]", given))
    if isinstance(given, str) and "\n" in given:
        return given
    if isinstance(given, str | os.PathLike):
        return None
    wrong_type(name, "a path, a TOML text, a dictionary or a Scenario", given)


def loads(text: str, name: str, path: str | None = None) -> dict[str, Any]:
    """The dictionary of a text in TOML. Errors are those of the command."""
    import tomllib  # noqa: PLC0415

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        told = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        why = told[1] if told else str(error)
        line = int(told[2]) if told and told[2] else len(text.splitlines()) or 1
        raise UsageError(f"{name}:{line}: not legal TOML: {why}", status=2, path=path, line=line) from error


def read(path: str) -> dict[str, Any]:
    """The dictionary of a file in TOML."""
    expected = "expected a scenario in TOML"
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such file; {expected}", status=2, path=path) from error
    except OSError as error:
        raise UsageError(f"{path}: cannot read: {error.strerror}; {expected}", status=2, path=path) from error
    try:
        return loads(content.decode(), path, path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: offset {error.start}: no text in UTF-8; {expected}", status=2, path=path) from error


def simple(value: Any, key: str) -> Any:
    """A value with only TOML's types: dictionaries, lists, texts, numbers, truth values, dates.

    NumPy's numbers and arrays, Series of pandas and polars, and Arrow's arrays become numbers and lists.
    """
    value = plain(value)
    if isinstance(value, str | bool | int | float):
        return value
    for method in ("tolist", "to_list", "to_pylist"):
        # The elements of a memoryview are its bytes.
        if hasattr(value, method) and not isinstance(value, memoryview):
            return simple(getattr(value, method)(), key)
    if isinstance(value, Mapping):
        return table(cast("Mapping[str, Any]", value), key)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [simple(each, f"{key}[{place}]") for place, each in enumerate(cast("Sequence[Any]", value))]
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    if any(base.__module__ == "datetime" for base in type(value).__mro__) and hasattr(value, "isoformat"):
        return value
    wrong_type(key, "a text, a number, True, False, a date, a list or a dictionary; TOML has no value of this type", value)


def table(given: Mapping[str, Any], key: str = "") -> dict[str, Any]:
    """A dictionary with only TOML's types. Values that are None are left out."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if not isinstance(name, str):
            wrong_type(f"{key or 'a dictionary'}: key {name!r}", "a text", name)
        if value is not None:
            found[name] = simple(value, f"{key}.{name}" if key else name)
    return found


def dumps(given: Mapping[str, Any]) -> str:
    """The dictionary as TOML, in its order. Values that are None are left out."""
    lines: list[str] = []
    _table(lines, [], table(given))
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_tables(value: Any) -> bool:
    """Whether a value is written as ``[[name]]``: a list of dictionaries."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in cast("list[Any]", value))


def _table(lines: list[str], path: list[str], table: dict[str, Any]) -> None:
    for name, value in table.items():
        if not isinstance(value, dict) and not _is_tables(value):
            lines.append(f"{_key(name)} = {_value(value)}")
    for name, value in table.items():
        inner = [*path, _key(name)]
        if isinstance(value, dict):
            lines += ["", f"[{'.'.join(inner)}]"]
            _table(lines, inner, cast("dict[str, Any]", value))
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
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value).items()
        return "{ " + ", ".join(f"{_key(name)} = {_value(each)}" for name, each in inner) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, cast("list[Any]", value))) + "]"
    return value.isoformat()
