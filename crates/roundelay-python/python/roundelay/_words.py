"""Arguments of Python calls as words of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

#: A file.
Path = str | os.PathLike[str]


def rate_text(rate: str | float) -> str:
    """A rate: a text with a unit, or bits per second."""
    return rate if isinstance(rate, str) else f"{rate:.0f}bit"


def time_text(time: str | float) -> str:
    """A time: a text with a unit, or seconds."""
    return time if isinstance(time, str) else f"{time * 1e9:.3f}ns"


def options(values: Mapping[str, Any]) -> list[str]:
    """``--name value`` for each value; None and False leave an option out, a list repeats it."""
    words: list[str] = []
    for name, value in values.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, str | os.PathLike | int | float):
            words.append(f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        else:
            words += [f"{option}={os.fspath(each)}" for each in value]
    return words


def listed(value: str | Path | Iterable[Any] | None) -> list[Any]:
    """One or many as a list."""
    if value is None:
        return []
    return [value] if isinstance(value, str | os.PathLike) else list(value)


def paths(*files: Path | Iterable[Path] | None) -> list[str]:
    """Names of all files, for errors."""
    return [os.fspath(path) for each in files for path in listed(each)]
