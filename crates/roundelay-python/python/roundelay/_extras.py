"""Packages that some functions need: the extras of the wheel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Imports of an extra. If a package is missing, the error says how to install the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed: pip install 'roundelay[{extra}]'"
        raise ModuleNotFoundError(message, name=error.name) from error
