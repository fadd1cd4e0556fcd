"""Classes written in Python in a sweep: schedulers and congestion controls, with their versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _native
from ._controls import ControlLike, control
from ._errors import UsageError
from ._queues import own


#: Names of what is built in beside the schedulers: also under their names in tc.
_RESERVED = {"reno", "cubic", "tree", "pfifo", "bfifo", "prio"}


class Classes:
    """Schedulers and congestion controls of a sweep, which travel to workers by pickle."""

    def __init__(self, queues: Sequence[Callable[..., Any]], congestion: ControlLike | Mapping[str, ControlLike] | None) -> None:
        given = congestion if isinstance(congestion, Mapping) else {} if congestion is None else {"all": congestion}
        self.queues: dict[str, Callable[..., Any]] = {}
        self.controls: dict[str, ControlLike] = dict(given)
        #: Versions by ``discipline.NAME`` and ``control.NAME``.
        self.versions: dict[str, str] = {}
        for queue in queues:
            _keep(self.queues, _name(queue), queue)
        mine: dict[str, Any] = {}
        for each in self.controls.values():
            if not isinstance(each, str):
                control(each)  # a wrong type fails here
                _keep(mine, _name(each), each)
        self.versions |= {f"discipline.{name}": _version(name, each) for name, each in self.queues.items()}
        self.versions |= {f"control.{name}": _version(name, each) for name, each in mine.items()}

    def native(self) -> _native.Classes:
        """The classes for the compiled module."""
        controls = [(source, control(each)) for source, each in self.controls.items()]
        return _native.Classes([own(queue) for queue in self.queues.values()], controls, self.versions)

    def check_pickle(self, what: str, dumps: Callable[[Any], bytes]) -> None:
        """Raises an error if the classes cannot travel to the workers of an executor."""
        for each in [*self.queues.values(), *self.controls.values()]:
            try:
                dumps(each)
            except Exception as error:
                message = f"{_name(each)}: {what} sends classes to workers by pickle, which fails: {error}"
                raise UsageError(f"{message}; expected a class of a module that workers can import", status=2) from error


def word(queue: Callable[..., Any]) -> str:
    """A scheduler among a key's values: its name, and its buffer's limit if it has one."""
    limit = getattr(queue, "limit", None)
    return f"{_name(queue)} limit {limit}" if limit else _name(queue)


def _name(given: Any) -> str:
    return str(getattr(given, "name", getattr(given, "__name__", type(given).__name__)))


def _keep(known: dict[str, Any], name: str, given: Any) -> None:
    """Adds a class under a name, which stands for the class in the dataset."""
    from ._disciplines import schedulers  # noqa: PLC0415

    if name in schedulers() or name in _RESERVED:
        raise UsageError(f"{name}: a class with the name of a built-in one; expected another name: set `name` in the class", status=2, given=name)
    if not name or any(letter.isspace() or not letter.isprintable() or letter in ",'\"" for letter in name):
        legal = "letters, digits and signs without spaces, commas and quotes"
        raise UsageError(f"{name!r}: no name for a class in a sweep; expected {legal}", status=2, given=name, legal=legal)
    if known.setdefault(name, given) is not given:
        raise UsageError(f"{name}: two classes have this name; expected a name for each: set `name` in one of them", status=2, given=name)


def _version(name: str, given: Any) -> str:
    version = getattr(given, "version", None)
    if isinstance(version, bool) or not isinstance(version, str | int) or str(version) == "":
        raise UsageError(
            f"{name}: no version: a sweep keeps results, and runs again what has changed; "
            f'expected an attribute of the class, as in `version = "1"`, with another value after each change of its behaviour',
            status=2,
        )
    return str(version)
