"""Exceptions: the command's messages in the words of Python, with the wrong value and the legal ones where known."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeVar, cast


class RoundelayError(Exception):
    """Base of all exceptions of Roundelay.

    ``status`` is the command's exit status; the other attributes are None where unknown.
    """

    status: int
    #: The file with the error.
    path: str | None
    #: Line in that file, or in the text of the scenario, from 1.
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
    """An argument is wrong, or an input file is missing or not what it should be. Errors about the type of an
    argument and about unknown keywords are also ``TypeError``.
    """


class ArgumentTypeError(UsageError, TypeError):
    """An argument has a wrong type, or a keyword is unknown."""


class RunError(RoundelayError, RuntimeError):
    """The run failed, or its files could not be written."""


class ContractError(RoundelayError):
    """A scheduler or a congestion control written in Python broke its contract."""


#: A text in quotes; an apostrophe within a word, as in ``fo'o``, ends none.
_QUOTED = re.compile(r"(?<!\w)'(.{0,1000}?)'(?!\w)|`([^`]{0,1000})`|\"([^\"]{0,1000})\"")
#: Prefixes that are no part of the fault: the option, the point of a sweep, file and line, the source.
_OPTION = re.compile(r"invalid value '.*?' for '[^']*':?\s*", re.DOTALL)
_POINT = re.compile(r"the sweep: (?:'[^']*'|[^':]|:(?! ))*: ")
_LINE = re.compile(r"[^'`\"]*?:\d+: ")
_SOURCE = re.compile(r"source '[^']*': ")
#: What ends the part with the wrong value.
_START = re.compile(r"\(?did you mean|(?:^|[,;:] |\? )(?:expected |it has )|\blegal (?:range|names|values) ")
_LEGAL = re.compile(r"\blegal (?:range|names|values) ([^;]*)")
_EXPECTED = re.compile(r"(?:^|[,;:] |\? )(?:expected (?:one of )?|it has )([^;]*)")
#: A value without quotes: ``KEY VALUE``, ``KEY = VALUE`` or ``KEY: VALUE``; places in a file are no values.
_BARE = re.compile(r"(?:^|[:;] )(?:(?!(?:offset|column|line|packet|link|flow|node) )[A-Za-z_][\w.-]*(?: = | ))?([-+]?\.?\d\S*|true|false|\[[^\[\]]*\]|\{[^{}]*\})$")
_OUTSIDE = re.compile(r"(\S+) is not in the $")


def _cut(message: str) -> str:
    """The first line without the prefixes that are no part of the fault."""
    option = _OPTION.match(message)
    text = message[option.end() if option else 0 :].partition("\n")[0]
    for prefix in (_POINT, _LINE, _SOURCE):
        found = prefix.match(text)
        text = text[found.end() :] if found else text
    return text


def _one(before: str, masked: str) -> str | None:
    """The wrong value at the end of the text before the legal ones; None if it cannot be told for certain."""
    outside = _OUTSIDE.search(before)
    if outside is not None:
        return outside[1]
    before, masked = before.rstrip(" ,;:("), masked.rstrip(" ,;:(")
    quoted = list(_QUOTED.finditer(masked))
    if quoted and quoted[-1].end() == len(masked):
        return before[quoted[-1].start() + 1 : quoted[-1].end() - 1]
    # Quoted, with the fault behind: `'1..2': a range without a step`, `cannot read 'x': ..`.
    alone = [each for each in quoted if masked[: each.start()].endswith(("cannot read ", ": ", "; ")) or each.start() == 0]
    alone = [each for each in alone if masked[each.end() : each.end() + 2] == ": "]
    bare = _BARE.search(masked)
    # A number behind a text without a key is what the text amounts to: `'9158401s': 9158401s`.
    if bare is not None and not any(bare.start() == each.end() and bare.start(1) == each.end() + 2 for each in alone):
        return before[bare.start(1) : bare.end(1)]
    return before[alone[0].start() + 1 : alone[0].end() - 1] if len(alone) == 1 else None


def _of_names(text: str, masked: str) -> tuple[str, str] | None:
    """A wrong name and the legal ones: ``no source is called 'cals' (did you mean 'calls'?): calls, load``."""
    start = 0
    while (end := masked.find(": ", start)) >= 0:
        part = masked[start:end]
        word = re.search(r"\b(?:no|unknown)\b", part)
        quoted = list(_QUOTED.finditer(part)) if word else []
        if word and quoted:
            # In `'cbz' is no kind of source` the name is before the word.
            behind = [each for each in quoted if each.start() > word.end()]
            given = quoted[0] if part[: word.start()].endswith("' is ") or not behind else behind[0]
            if ";" not in part[given.end() :]:
                return text[start + given.start() + 1 : start + given.end() - 1], text[end + 2 :]
        start = end + 2
    return None


def details(message: str) -> tuple[str | None, str | None, str | None]:
    """The wrong value, the legal ones and the name probably meant, by the form of a message. Where a message
    tells of several faults, those of the first one.
    """
    if "not legal TOML" in message:
        return None, None, None
    text = _cut(message)
    # The words of values are none of the message.
    masked = _QUOTED.sub(lambda found: found.group()[0] + "_" * (len(found.group()) - 2) + found.group()[0], text)
    near = re.search(r"did you mean ('_*')", masked)
    meant = text[near.start(1) + 1 : near.end(1) - 1] if near else None
    start, legal = _START.search(masked), _LEGAL.search(masked) or _EXPECTED.search(masked)
    names = _of_names(text, masked) if legal is None else None
    if names is not None:
        given, values = names
    else:
        given = _one(text[: start.start()], masked[: start.start()]) if start else None
        values = text[legal.start(1) : legal.end(1)] if legal else None
    return given, values.replace("`", "").strip() if values else None, meant


def of_command(status: int, message: str, given: str | None, legal: str | None, meant: str | None) -> RoundelayError:
    """The exception of a failed command. Called by the compiled module."""
    if status != 2:
        return RunError(message, status=status, given=given, legal=legal, meant=meant)
    found = details(message)
    given, legal, meant = (mine if mine is not None else other for mine, other in zip((given, legal, meant), found, strict=True))
    return UsageError(message, status=status, given=given, legal=legal or None, meant=meant)


def contract(message: str, given: str | None, legal: str | None) -> ContractError:
    """The exception of a broken contract. Called by the compiled module."""
    return ContractError(message, given=given, legal=legal)


#: Keywords of the command's options and positional arguments with another name.
_RENAMED = {"tree": "trees", "no_cost": "cost", "with": "queues", "disciplines": "queues", "file": "scenario", "from": "from_"}
#: Two names of the number of runs.
_ALSO = {"seeds": "replicas", "replicas": "seeds"}

_INVALID = re.compile(r"invalid value '(?P<given>.*?)' for '(?P<option>[^']*)'(?:: )?(?P<rest>.*)", re.DOTALL)
_UNEXPECTED = re.compile(r"unexpected argument '--(?P<option>[^'=]*)[^']*' found")
_NO_VALUE = re.compile(r"a value is required for '(?P<option>[^']*)' but none was supplied")
_PLACE = re.compile(r"'?(?:--(?P<option>[a-z][a-z-]*)(?![a-z=-])(?: <[A-Z_/=a-z]+>)?|[<\[](?P<word>[A-Z]+)[>\]])(?:\.\.\.)?'?(?: (?P<value>'[^']*'|[^\s,;:]+))?")


_F = TypeVar("_F", bound=Callable[..., Any])


def keywords(function: _F) -> _F:
    """The function, whose calls tell the keyword that an unknown one was probably meant to be, also in place of a
    parameter that is then missing.
    """
    # Not by the module inspect, which is slow to import.
    plain = cast("FunctionType", function)
    code = plain.__code__
    names = [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    needed = names[: code.co_argcount - len(plain.__defaults__ or ())]
    takes_all = bool(code.co_flags & 0x08)

    @functools.wraps(function)
    def called(*given: Any, **more: Any) -> Any:
        missing = [name for name in needed if name not in more and name not in names[: len(given)]]
        unknown = [name for name in more if name not in names]
        for name in unknown:
            near = difflib.get_close_matches(name, missing or names, 1, 0.6)
            if (near and missing) or not takes_all:
                meant = near[0] if near else None
                hint = f"; did you mean '{meant}'?" if meant else f"; {function.__name__}() has {', '.join(names)}"
                raise ArgumentTypeError(f"{name}: unknown keyword{hint}", status=2, given=name, legal=", ".join(names), meant=meant)
        return function(*given, **more)

    return cast("_F", called)


class Call:
    """A call of a function of the package: what its errors say of options and files."""

    def __init__(self, function: str, arguments: Mapping[str, Any], files: Iterable[str | tuple[str, str]]) -> None:
        self._function = function
        self._more = list(arguments.get("more", {}))
        self._known = [name for name in arguments if name != "more"]
        self._arguments = {**arguments, **arguments.get("more", {})}
        self._arguments.pop("more", None)
        #: Names of files in messages, with the paths as given.
        self._files = [(each, each) if isinstance(each, str) else each for each in files]

    def _keyword(self, option: str) -> str | None:
        """The keyword of an option or of a positional argument."""
        found = re.search(r"[A-Za-z][A-Za-z-]*", option)
        name = found.group().lower().replace("-", "_") if found else ""
        for each in (name, _RENAMED.get(name), _ALSO.get(name)):
            if each in self._arguments:
                return each
        return None

    def reworded(self, error: RoundelayError) -> RoundelayError:
        """The error in the words of the caller, with the path and the line."""
        message = str(error)
        if isinstance(error, UsageError):
            message, _, _ = message.partition("\n\nFor more information")
            told, _, _ = message.partition("\n\n  tip: ")
            unknown = _UNEXPECTED.match(told)
            if unknown is not None:
                return self._unknown(unknown["option"].replace("-", "_"), error)
            # Line numbers of a plan that no file has.
            message = re.sub(r"^the sweep:\d+: (grid: )?(?!scenario: )", lambda found: "over: " if found[1] else "scenario: ", told)
        error.path, place, message = self._located(message)
        # The lines of a dictionary are those of no text that the caller has.
        is_text = error.path is not None or isinstance(self._arguments.get(place), str)
        line = re.match(r":(\d+): ", message) if is_text else None
        error.line = int(line[1]) if line else None
        error.args = (place + (self._reworded(message, error) if isinstance(error, UsageError) else message),)
        return error

    def _unknown(self, given: str, error: RoundelayError) -> ArgumentTypeError:
        known = self._known
        given = next((name for name in self._more if name.rstrip("_") == given), given)
        near = [_ALSO[given]] if _ALSO.get(given) in known else difflib.get_close_matches(given, known, 1, 0.7)
        meant = near[0] if near else None
        hint = f"; did you mean '{meant}'?" if meant else f"; {self._function}() has {', '.join(known)}"
        return ArgumentTypeError(f"{given}: unknown keyword{hint}", status=2, given=given, legal=", ".join(known), meant=meant)

    def _reworded(self, message: str, error: RoundelayError) -> str:
        invalid, missing = _INVALID.match(message), _NO_VALUE.match(message)
        if invalid is not None:
            keyword, rest = self._keyword(invalid["option"]) or invalid["option"], invalid["rest"]
            # The compiled module may know the part that is wrong: a parameter of a discipline.
            error.given = invalid["given"] if error.given is None else error.given
            rest = re.sub(r"\s*\[possible values: (.*?)\]", r"expected \1", rest).strip()
            value = self._arguments.get(keyword)
            if isinstance(value, str) or not hasattr(value, "__float__") or getattr(value, "ndim", 0):
                shown = repr(invalid["given"])
            else:
                # A number without its unit for the command.
                shown = error.given = str(value)
                rest = rest.replace(f"'{invalid['given']}'", shown).removeprefix(f"{shown}: ")
            return f"{keyword}={shown}: {rest}"
        if missing is not None:
            keyword = self._keyword(missing["option"]) or missing["option"]
            value = self._arguments.get(keyword)
            error.given, error.legal = str(value), None
            return f"{keyword}={value!r}: expected a value"
        lacking = message.partition("required arguments were not provided:")[2]
        if lacking:
            error.given = ", ".join(self._keyword(each) or each for each in lacking.split("\n") if each.strip())
            return f"{error.given}: missing, but needed with the other arguments"
        if error.given and (error.given.startswith("--") or error.given[0] in "[<"):
            error.given = self._keyword(error.given) or error.given
        # Commands in a message stay commands.
        text, command, rest = message.partition("roundelay ")
        error.legal = _PLACE.sub(self._named, error.legal) if error.legal else error.legal
        return _PLACE.sub(self._named, text) + command + rest

    def _named(self, found: re.Match[str]) -> str:
        keyword = self._keyword(found["option"] or found["word"])
        if keyword is None:
            return found.group()
        value = found["value"]
        if value is None:
            return keyword
        is_given = value.strip("'") == str(self._arguments[keyword]) or found.string[: found.start()].endswith("as in ")
        return f"{keyword}='" + value.strip("'") + "'" if is_given else f"{keyword} {value}"

    def _located(self, message: str) -> tuple[str | None, str, str]:
        """The path of the file at the start of a message, the start in the caller's words, and the rest."""
        for name, path in sorted(self._files, key=lambda each: -len(each[0])):
            if message.startswith(f"{name}:"):
                return path, path, message[len(name) :]
        text = re.match(r"scenario(?=:\d+: )|flows(?=:\d+: )", message)
        return None, text.group() if text else "", message[text.end() :] if text else message
