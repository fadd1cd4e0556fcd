"""Base of the generated dataclasses: conversion to dictionaries and TOML, and back."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from . import _toml
from ._errors import UsageError
from ._words import Path, path_text


class Choice:
    """One of several tables, by the value of a key."""

    def __init__(self, key: str, kinds: dict[str, type[Table]], otherwise: type[Table] | None = None) -> None:
        self.key, self.kinds, self.otherwise = key, kinds, otherwise

    def from_dict(self, table: Mapping[str, Any]) -> Table:
        """The table of the kind that the key names."""
        given = table.get(self.key)
        if given is None and self.otherwise is not None:
            return self.otherwise.from_dict(table)
        kind = self.kinds.get(str(given))
        if kind is None:
            raise _unknown(f"{self.key} = {given!r}", str(given), list(self.kinds))
        return kind.from_dict(table)


class ByName:
    """Tables by name, as in ``[trees.NAME]``."""

    def __init__(self, kind: type[Table]) -> None:
        self.kind = kind

    def from_dict(self, tables: Mapping[str, Any]) -> dict[str, Table]:
        """The tables by name."""
        return {name: self.kind.from_dict(table) for name, table in tables.items()}


def _unknown(what: str, given: str, known: list[str]) -> UsageError:
    near = difflib.get_close_matches(given, known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    legal = ", ".join(known)
    message = f"{what}: unknown{hint or f'; expected one of {legal}'}"
    return UsageError(message, status=2, given=given, legal=legal, meant=near[0] if near else None)


@dataclasses.dataclass(kw_only=True)
class Table:
    """A table of a scenario."""

    #: How values are made from dictionaries, by field.
    _nested: ClassVar[dict[str, Any]] = {}
    #: Keys of fields with another name.
    _renamed: ClassVar[dict[str, str]] = {}

    def to_dict(self) -> dict[str, Any]:
        """The table as a dictionary. Fields that are None are left out."""
        # What says the kind comes before what all kinds have.
        own = type(self).__annotations__
        names = sorted((field.name for field in dataclasses.fields(self)), key=lambda name: name not in own)
        fields = ((name, getattr(self, name)) for name in names)
        named = ((self._renamed.get(name, name), value) for name, value in fields if value is not None)
        return {name: _plain(value, f"{type(self).__name__}.{name}") for name, value in named}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """The table from a dictionary.

        Raises :class:`roundelay.UsageError` for an unknown or missing key.
        """
        fields = {cls._renamed.get(field.name, field.name): field for field in dataclasses.fields(cls)}
        values: dict[str, Any] = {}
        for key, value in table.items():
            field = fields.get(key)
            if field is None:
                raise _unknown(f"{cls.__name__}: key '{key}'", key, list(fields))
            if field.init:
                values[field.name] = _made(cls._nested.get(field.name), value)
        missing = [key for key, field in fields.items() if field.init and field.default is dataclasses.MISSING and field.name not in values]
        if missing:
            raise UsageError(f"{cls.__name__}: key '{missing[0]}' is missing", status=2, given=missing[0])
        return cls(**values)


@dataclasses.dataclass(kw_only=True)
class TopTable(Table):
    """A whole file."""

    def to_toml(self) -> str:
        """The file's text."""
        return _toml.dumps(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """From a text in TOML.

        Raises :class:`roundelay.UsageError` for an unknown or missing key, and for a text that is not TOML.
        """
        return cls.from_dict(_toml.loads(text, "scenario"))

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a TOML file.

        Raises :class:`roundelay.UsageError`, with the path and the line where known, for a file that cannot
        be read, that is not TOML, or has an unknown or missing key.
        """
        name = path_text("path", path)
        try:
            return cls.from_dict(_toml.read(name))
        except UsageError as error:
            if error.path is None:
                error.path, error.line = name, _line_of(name, error.given)
                error.args = (f"{name}:{error.line}: {error}" if error.line else f"{name}: {error}",)
            raise


def _line_of(path: str, word: str | None) -> int | None:
    """The line with a wrong key or value, if only one has the word."""
    with open(path, encoding="utf-8") as file:
        found = [number for number, line in enumerate(file, 1) if word and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", line.partition("#")[0])]
    return found[0] if len(found) == 1 else None


def _plain(value: Any, key: str) -> Any:
    if isinstance(value, Table):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(each, f"{key}.{name}") for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(each, f"{key}[{place}]") for place, each in enumerate(cast("Sequence[Any]", value))]
    return _toml.simple(value, key)


def _made(kind: Any, value: Any) -> Any:
    if kind is None:
        return value
    if isinstance(value, list):
        return [_made(kind, each) for each in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return kind.from_dict(value)
    return value
