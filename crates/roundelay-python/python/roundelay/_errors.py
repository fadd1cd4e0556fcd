"""Exceptions: the command's messages in the words of Python, with the wrong value and the legal ones where known."""

from __future__ import annotations

from typing import Any, NamedTuple


class RoundelayError(Exception):
    """Base of all exceptions of Roundelay.

    ``status`` is the command's exit status. The other attributes are None where unknown.
    """

    status: int
    #: The file with the error.
    path: str | None
    #: Line in that file, or in the text of the scenario, from 1.
    line: int | None
    #: The key of the value: in a file its path, as in ``source.0.rate``, else the discipline's parameter.
    key: str | None
    #: What has the key: a named table of a file, as in ``source 'web'``, else the discipline.
    owner: str | None
    #: The value as given.
    given: str | None
    #: The legal values, or the legal range.
    legal: str | None
    #: The name that was probably meant.
    meant: str | None
    #: The failure of the command, if it is one.
    told: Told | None = None

    def __init__(
        self,
        message: str,
        *,
        status: int = 1,
        path: str | None = None,
        line: int | None = None,
        owner: str | None = None,
        key: str | None = None,
        given: str | None = None,
        legal: str | None = None,
        meant: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.path, self.line = status, path, line
        self.given, self.legal, self.meant = given, legal, meant
        self.owner, self.key = owner, key


class UsageError(RoundelayError, ValueError):
    """An argument is wrong, or an input file is missing or not what it should be. Errors about an argument's
    type and about unknown keywords are also ``TypeError``.
    """


class ArgumentTypeError(UsageError, TypeError):
    """An argument has a wrong type, or a keyword is unknown."""


class RunError(RoundelayError, RuntimeError):
    """The run failed, or its files could not be written."""


class ContractError(RoundelayError):
    """A scheduler or a congestion control written in Python broke its contract."""


class Told(NamedTuple):
    """A failure of the command as data, from the compiled module or from a process of its own."""

    status: int
    #: In the words of the command.
    message: str
    #: The same without the file, the line and the option.
    fault: str
    owner: str | None
    key: str | None
    given: str | None
    legal: str | None
    meant: str | None
    file: str | None
    line: int | None
    #: What is wrong with options: ``value``, ``empty``, ``unknown``, ``missing``, ``conflict``, or nothing.
    kind: str
    #: As in ``--rate <RATE>``.
    options: list[str]
    #: The whole value of an option.
    value: str | None


def of_command(about_fault: tuple[Any, ...], about_options: tuple[Any, ...] = ()) -> RoundelayError:
    """The exception of a failed command. Called by the compiled module with the values of `Told`."""
    failure = Told(*about_fault, *about_options)
    kind = UsageError if failure.status == 2 else RunError
    error = kind(
        failure.message,
        status=failure.status,
        owner=failure.owner,
        key=failure.key,
        given=failure.given,
        legal=failure.legal,
        meant=failure.meant,
    )
    error.told = failure
    return error


def usage(message: str, given: str, legal: str, meant: str | None) -> UsageError:
    """The exception of a wrong argument of the compiled module."""
    return UsageError(message, status=2, given=given, legal=legal, meant=meant)


def contract(message: str, given: str | None, legal: str | None) -> ContractError:
    """The exception of a broken contract. Called by the compiled module."""
    return ContractError(message, given=given, legal=legal)
