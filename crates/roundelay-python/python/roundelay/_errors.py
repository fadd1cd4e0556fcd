"""Exceptions: the command's messages, with the wrong value and the legal ones where known."""

from __future__ import annotations


class RoundelayError(Exception):
    """Base of all exceptions of Roundelay.

    ``status`` is the command's exit status; the other attributes are None where unknown.
    """

    status: int
    #: The file with the error.
    path: str | None
    #: Line in that file, from 1.
    line: int | None
    #: The value as given.
    given: str | None
    #: The legal values, or the legal range.
    legal: str | None
    #: The name that was probably meant.
    meant: str | None

    def __init__(
        self,
        message: str,
        *,
        status: int = 1,
        path: str | None = None,
        line: int | None = None,
        given: str | None = None,
        legal: str | None = None,
        meant: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.path, self.line = status, path, line
        self.given, self.legal, self.meant = given, legal, meant


class UsageError(RoundelayError, ValueError):
    """An argument is wrong, or an input file is missing or not what it should be."""


class RunError(RoundelayError, RuntimeError):
    """The run failed, or its files could not be written."""


class ContractError(RoundelayError):
    """A scheduler or a congestion control written in Python broke its contract."""


def of_command(status: int, message: str, given: str | None, legal: str | None, meant: str | None) -> RoundelayError:
    """The exception of a failed command. Called by the compiled module."""
    if legal is None and "legal range " in message:
        legal = message.rsplit("legal range ", 1)[1].split(";")[0].strip()
    kind = UsageError if status == 2 else RunError
    return kind(message, status=status, given=given, legal=legal, meant=meant)


def contract(message: str, given: str | None, legal: str | None) -> ContractError:
    """The exception of a broken contract. Called by the compiled module."""
    return ContractError(message, given=given, legal=legal)


def locate(error: RoundelayError, names: list[str]) -> None:
    """Sets ``path`` and ``line`` if the message begins with one of these names."""
    message = str(error)
    for name in names:
        if message.startswith(f"{name}:"):
            error.path = name
            number = message[len(name) + 1 :].split(":", 1)[0]
            error.line = int(number) if number.isdecimal() else None
            return
