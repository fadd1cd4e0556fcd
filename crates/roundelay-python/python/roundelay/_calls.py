"""What a command's errors say about a Python call: its keywords in place of options, its files and texts."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeVar, cast

from ._errors import ArgumentTypeError, RoundelayError, Told

#: Keywords of the command's options and positional arguments with another name.
_RENAMED = {"tree": "trees", "no_cost": "cost", "with": "queues", "disciplines": "queues", "file": "scenario", "from": "from_"}
#: Two names of the number of runs.
_ALSO = {"seeds": "replicas", "replicas": "seeds"}

_F = TypeVar("_F", bound=Callable[..., Any])


def keywords(function: _F) -> _F:
    """Returns the function with better errors. An unknown keyword's error says which keyword was probably meant,
    also if a parameter is then missing.
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
    """A call of one of the package's functions: what its errors say about options and files."""

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
        name = _letters(option.lstrip("-<[")).lower().replace("-", "_")
        for each in (name, _RENAMED.get(name), _ALSO.get(name)):
            if each in self._arguments:
                return each
        return None

    def reworded(self, error: RoundelayError) -> RoundelayError:
        """The error in the words of the caller, with the path and the line."""
        told = error.told
        if told is None:
            return error
        if told.kind == "unknown":
            return self._unknown(_letters(told.options[0].lstrip("-")).replace("-", "_"))
        fault = told.fault if told.status != 2 else self._of_options(told, error)
        error.path, place, line, fault = self._located(told, fault)
        # The lines of a dictionary are those of no text that the caller has.
        is_text = error.path is not None or isinstance(self._arguments.get(place), str)
        error.line = line if is_text else None
        start = f"{place}:{line}: " if line else f"{place}: "
        error.args = (start + fault if place else fault,)
        return error

    def _unknown(self, given: str) -> ArgumentTypeError:
        known = self._known
        given = next((name for name in self._more if name.rstrip("_") == given), given)
        near = [_ALSO[given]] if _ALSO.get(given) in known else difflib.get_close_matches(given, known, 1, 0.7)
        meant = near[0] if near else None
        hint = f"; did you mean '{meant}'?" if meant else f"; {self._function}() has {', '.join(known)}"
        return ArgumentTypeError(f"{given}: unknown keyword{hint}", status=2, given=given, legal=", ".join(known), meant=meant)

    def _of_options(self, told: Told, error: RoundelayError) -> str:
        """The fault, with keywords in place of options."""
        names = [self._keyword(option) or option for option in told.options]
        if told.kind == "value" and told.value is not None:
            return self._of_value(names[0], told.value, told.fault, error)
        if told.kind == "empty":
            value = self._arguments.get(names[0])
            error.given = str(value)
            return f"{names[0]}={value!r}: expected a value"
        if told.kind == "missing":
            error.given = ", ".join(names)
            return f"{error.given}: missing, but needed with the other arguments"
        if told.kind == "conflict":
            error.given = names[0]
            return f"the argument {names[0]} cannot be used with {' and '.join(names[1:])}"
        error.legal = error.legal and self._in_keywords(error.legal)
        # Commands in a message stay commands.
        text, command, rest = told.fault.partition("roundelay ")
        return self._in_keywords(text) + command + rest

    def _of_value(self, keyword: str, whole: str, fault: str, error: RoundelayError) -> str:
        value = self._arguments.get(keyword)
        # The fault may know the part that is wrong: a parameter of a discipline.
        error.given = whole if error.given is None else error.given
        if isinstance(value, str) or not hasattr(value, "__float__") or getattr(value, "ndim", 0):
            return f"{keyword}={whole!r}: {fault}"
        # A number without its unit for the command.
        error.given = str(value)
        fault = fault.replace(f"'{whole}'", error.given).removeprefix(f"{value}: ")
        return f"{keyword}={value}: {fault}"

    def _in_keywords(self, text: str) -> str:
        """The text with the call's keywords, and their values, in place of options."""
        done, mark, rest = text.partition("--")
        while mark:
            name = _letters(rest)
            keyword, after = self._keyword(name), rest[len(name) :]
            if keyword is None:
                done += mark + name
            else:
                value = str(self._arguments[keyword])
                shown = next((each for each in (f" '{value}'", f" {value}") if each.strip() and after.startswith(each)), None)
                if shown is None and done.endswith("as in "):
                    shown = f" {after.split()[0].rstrip(',;:')}" if after.strip() else None
                done += keyword if shown is None else keyword + "='" + shown[1:].strip("'") + "'"
                after = after if shown is None else after[len(shown) :]
            before, mark, rest = after.partition("--")
            done += before
        return done

    def _located(self, told: Told, fault: str) -> tuple[str | None, str, int | None, str]:
        """The path of the file, its name in the caller's words, the line, and the rest of the message."""
        paths = dict(self._files)
        if told.file in paths:
            return paths[told.file], paths[told.file], told.line, fault
        place, line = told.file or "", told.line
        if place == "the sweep" and line:
            # A line of the plan that the package writes: the caller has its parts.
            place, line = "over" if told.key == "grid" else "scenario", None
            fault = fault.removeprefix("grid: ").removeprefix("scenario: ")
        for name, path in paths.items():
            if fault.startswith(f"{name}: "):
                return path, path, line, fault.removeprefix(f"{name}: ")
        # A file that the caller's own file or text names.
        is_named = bool(place) and place not in ("scenario", "flows", "over", "the sweep", "standard input")
        return place if is_named else None, place, line, fault


def _letters(option: str) -> str:
    """The name at the start of an option."""
    return "".join(itertools.takewhile(lambda letter: letter.isalpha() or letter == "-", option))
