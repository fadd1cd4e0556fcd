"""Sweeps: a scenario for all combinations of values, on threads, an executor, Dask or Ray."""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from . import _native, _toml
from ._calls import Call, keywords
from ._classes import Classes, word
from ._commands import _located
from ._controls import ControlLike
from ._errors import ArgumentTypeError, RunError, UsageError
from ._extras import needs
from ._progress import Progress, Show, reporting
from ._results import Table, _grid
from ._words import Path, further, line, options, path_text, scalar, wrong_type

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path as _Path

    import xarray

    from ._chart import SweepCharts
    from ._plot import SweepPlots

#: Tasks in one call of a worker: shipping costs less than their runs, and a lost worker little.
_BATCH = 4
#: Calls under way for each worker at a time.
_AHEAD = 3
#: Attempts of a batch whose worker died.
_ATTEMPTS = 5
#: Committed batches between two uploads of the journal to a store.
_UPLOAD_EVERY = 16


class Sweep:
    """Result of :func:`roundelay.sweep`. As Arrow: one row for each run and source."""

    def __init__(self, native: _native.Swept, path: str | None, call: _Repeated) -> None:
        self._dict: dict[str, Any] = json.loads(native.json())
        for failed in self._dict["failed"]:
            failed["command"] = call.repeated(failed["values"], failed["seed"])
        self._dict["dataset"] = path
        self._text = native.text()
        if path is None or "://" in path:
            # The folder was temporary.
            lines = [line for line in self._text.splitlines(keepends=True) if not line.startswith("Dataset: ")]
            self._text = "".join([lines[0], *([f"Dataset: {path}\n"] if path else []), *lines[1:]])
        #: A line for each run of the plan, as ``roundelay sweep --why``: what the run was before this call,
        #: ``new``, ``changed`` (with keys, files and behaviours) or ``cached``.
        self.why: str = native.why()
        #: One row for each run and source: the swept keys, then the columns of the dataset.
        self.runs: Table = Table(native.runs())
        #: Folder or URL of the dataset. None if there was no ``out``.
        self.path = path

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Failed runs: ``point``, its ``values`` by key, ``seed``, ``message``, and ``command``, the call that
        repeats the run.

        Classes in the call have their names, with the module if two classes share one. ``scenario`` and
        ``congestion`` stand for what you called the sweep with, unless the scenario is a file.
        """
        return self._dict["failed"]

    @property
    def cached(self) -> int:
        """Number of runs that the dataset had before."""
        return self._dict["runs"]["cached"]

    @property
    def done(self) -> int:
        """Number of runs of this call."""
        return self._dict["runs"]["done"]

    @property
    def notes(self) -> list[str]:
        """Notes on points of the dataset with other values, runs of other plans, and intervals without meaning."""
        return self._dict["notes"]

    def to_dict(self) -> dict[str, Any]:
        """The command's JSON as a dictionary, with calls of this function for its commands."""
        return copy.deepcopy(self._dict)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table of runs as a stream of Arrow arrays (PyCapsule interface)."""
        return self.runs.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The runs as a pandas DataFrame. Needs pandas and pyarrow."""
        return self.runs.to_pandas()

    def to_xarray(self) -> xarray.Dataset:
        """The figures over the swept keys, seed and source. Needs xarray and NumPy.

        Combinations that were not run are NaN.
        """
        with needs("xarray"):
            import numpy  # noqa: PLC0415
            import xarray  # noqa: PLC0415

        columns = self.runs.to_dict()
        names = list(columns)
        keys = [*names[: names.index("identity")], "seed", "source"]
        figures = names[names.index("source") + 1 :]
        # Values in the order of the plan. A key mixes no texts and numbers.
        values = {key: list(dict.fromkeys(columns[key])) for key in keys}
        places = [[values[key].index(value) for value in columns[key]] for key in keys]
        shape = [len(values[key]) for key in keys]
        data: dict[str, Any] = {}
        for figure in figures:
            array = numpy.full(shape, numpy.nan)
            array[tuple(places)] = [numpy.nan if value is None else value for value in columns[figure]]
            data[figure] = (keys, array)
        return xarray.Dataset(data, coords=values)

    @property
    def plot(self) -> SweepPlots:
        """Plots. Needs matplotlib."""
        from ._plot import SweepPlots  # noqa: PLC0415

        return SweepPlots(self.runs.to_dict())

    @property
    def chart(self) -> SweepCharts:
        """Interactive charts. Needs Altair."""
        from ._chart import SweepCharts  # noqa: PLC0415

        return SweepCharts(self.runs.to_dict())

    def __len__(self) -> int:
        return len(self.runs)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Sweep({self._dict['points']} points, {self.cached} runs cached, {self.done} done, {len(self.failed)} failed{''.join(f'; {note}' for note in self.notes)})"

    def _repr_html_(self) -> str:
        """The summary and the first rows."""
        failed = _grid(["point", "seed", "message"], ((each["point"], each["seed"], each["message"]) for each in self.failed))
        return f"<p>{escape(repr(self))}</p>" + (failed if self.failed else "") + self.runs._repr_html_()


@keywords
def sweep(
    scenario: Path | Mapping[str, Any] | _toml.Tables,
    over: Mapping[str, Sequence[Any] | str],
    *,
    congestion: ControlLike | Mapping[str, ControlLike] | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    executor: Any = None,
    out: Path | None = None,
    until: str | None = None,
    figure: str | None = None,
    max_replicas: int | None = None,
    shard: str | None = None,
    fail_fast: bool = False,
    long: bool = False,
    threads: int | None = None,
    progress: Progress = None,
    **more: Any,
) -> Sweep:
    """Runs a scenario for all combinations of values of its keys.

    What runs:

    - ``scenario``: a TOML file, its text (with line breaks), a dictionary, or a
      :class:`roundelay.scenario.Scenario`.
    - ``over``: dotted keys of the scenario with their values, as in ``{"queue.core": ["fq_codel", "qfq"],
      "source.calls.rate": "64kbit..1mbit/2"}``. A source has its name.
    - ``seeds``: number of runs for each combination, with the same consecutive seeds for all. ``seed``: the
      first of these.
    - ``congestion``: congestion controls as in :func:`simulate`.
    - ``until``: adds runs to each point until the figure has this precision, ``"ci=2%"``, but
      ``max_replicas`` at most. It works only on threads of this process.
    - ``shard``: a part of the runs, ``"3/16"``.
    - ``long``: run points of more than 10^10 events too.
    - ``fail_fast``: the first failed run ends the sweep. By default failed runs are in the result's
      ``failed``, and do not stop the others.

    A value of ``queue.core``, ``queue.edge``, ``queue.host`` or a port's ``queue`` may be a scheduler written
    in Python (:class:`Queue`). Each class, of schedulers and of congestion controls, needs an attribute
    ``version``, a text or a whole number. It is part of a run's identity, so change it when the behaviour
    changes. An exception in a class is a failure of the run.

    Where it runs, and what it writes:

    - ``out``: folder of the dataset, or a URL of fsspec (``"s3://bucket/sweep"``, needs fsspec and the
      store's package). Runs that are in the dataset already are not repeated. Without ``out`` the dataset is
      deleted after the call.
    - ``executor``: None for threads of this process. Or an executor of ``concurrent.futures``, a
      ``dask.distributed.Client``, the address of its scheduler (``"tcp://..."``), or ``"ray"``. Workers need
      the same version of Roundelay, the files named in the scenario under the same paths, and the modules of
      classes written in Python. If a worker dies, its tasks run again, so no run is lost.
    - ``threads``: by default one for each core.
    - ``figure``: the result's text shows this figure's means and intervals, ``"calls.delay_p99"``.
    - ``progress``: True or False for a bar or none, by default a bar in notebooks if tqdm is installed. Or a
      function that gets the number of runs done and of all runs to do.

    Raises :class:`UsageError` for a wrong argument or scenario, and :class:`RunError` if the dataset cannot
    be written.
    """
    arguments = dict(locals())
    if seeds is not None and more.get("replicas") is not None:
        raise ArgumentTypeError("replicas: a second name of seeds; expected one of them", status=2, given="replicas", meant="seeds")
    _check_executor(executor)
    text, classes, files = _plan(scenario, over, congestion)
    values = {"seed": seed, "replicas": None if seeds is None else scalar("seeds", seeds), "threads": threads, "until": until, "figure": figure}
    words = [*options("sweep", {**values, "max_replicas": max_replicas, "fail_fast": fail_fast, "long": long, "shard": shard}), *further("sweep", more)]
    if classes is not None:
        _check_pickle(executor, classes)
    store = _store(out)
    with store as folder, reporting(progress) as show:
        # The copy of a store stands for its URL.
        call = Call("sweep", arguments, [*files, (folder, store.name or folder)])
        words = line(["--quiet", f"--out={folder}", *words], "-")
        given = ("the sweep", text)
        own = None if classes is None else classes.native()
        if executor is None:
            native = _located(call, lambda: _native.sweep(words, given, own, show))
        else:
            session = _located(call, lambda: _native.Session(words, given, own))
            native = _located(call, lambda: _run(session, functools.partial(_batch, classes), executor, store, show))
        store.complete()
    classes_by_word = {word(queue): queue for queue in (classes.queues.values() if classes else ())}
    return Sweep(native, store.name, _Repeated(scenario, classes_by_word, congestion, out))


class _Repeated(NamedTuple):
    """Arguments of a sweep that a call repeats to do one of its runs again."""

    scenario: Any
    #: Classes by their values in the plan.
    classes: Mapping[str, Callable[..., Any]]
    congestion: Any
    out: Path | None

    def repeated(self, values: Mapping[str, Any], seed: int) -> str:
        """A call of :func:`sweep` that does one run."""

        names = [_called(queue) for queue in self.classes.values()]

        def written(value: Any) -> str:
            queue = self.classes.get(value) if isinstance(value, str) else None
            if queue is None:
                return repr(value)
            name = _called(queue)
            return name if names.count(name) == 1 else f"{queue.__module__}.{getattr(queue, '__qualname__', name)}"

        over = ", ".join(f"{key!r}: [{written(value)}]" for key, value in values.items())
        scenario = "scenario" if _toml.text_of(self.scenario) is not None else repr(os.fspath(self.scenario))
        congestion = ", congestion=congestion" if self.congestion else ""
        out = "" if self.out is None else f", out={os.fspath(self.out)!r}"
        return f"rd.sweep({scenario}, {{{over}}}, seed={seed}{congestion}{out})"


def _called(queue: Callable[..., Any]) -> str:
    """Name of a class in a program."""
    return getattr(queue, "__name__", type(queue).__name__)


def _plan(scenario: Any, over: Any, congestion: Any) -> tuple[str, Classes | None, list[tuple[str, str]]]:
    """The sweep file, classes written in Python, and names of files in messages with the paths as given."""
    text = _toml.text_of(scenario)
    if text is None:
        path = path_text("scenario", scenario)
        base: Any = os.path.abspath(path)
        files = [(base, path)]
    else:
        base, files = _toml.loads(text, "scenario"), []
    listed = _values(over)
    queues = [value for each in listed.values() if not isinstance(each, str) for value in each if callable(value)]
    classes = Classes(queues, congestion) if queues or congestion is not None else None
    values = {
        key: each if isinstance(each, str) else [word(value) if callable(value) else value for value in each]
        for key, each in listed.items()
    }
    return _toml.dumps({"scenario": base, "grid": values}), classes, files


def _values(over: Any) -> dict[str, str | list[Any]]:
    """The swept keys, each with a range as text or a list of values."""
    if not isinstance(over, Mapping):
        wrong_type("over", "a dictionary of keys with their values, as in {'queue.core': ['fifo', 'qfq']}", over)
    found: dict[str, str | list[Any]] = {}
    for key, values in cast("Mapping[Any, Any]", over).items():
        if not isinstance(key, str):
            wrong_type(f"over: key {key!r}", "a text with dots, as in 'queue.core'", key)
        name = f"over[{key!r}]"
        if hasattr(values, "tolist") or hasattr(values, "to_list"):
            # An array without dimensions is one value.
            values = _toml.simple(values, name)
            values = values if isinstance(values, str | list) else [values]
        if isinstance(values, str):
            found[key] = str(values)
        elif not isinstance(values, Iterable) or isinstance(values, Mapping | Set | bytes | bytearray | memoryview | type):
            wrong_type(name, "a list of values, or a range as text, as in '64kbit..1mbit/2'", values)
        else:
            each = enumerate(cast("Iterable[Any]", values))
            found[key] = [value if callable(value) else _toml.simple(value, f"{name}[{place}]") for place, value in each]
    return found


_EXECUTORS = "None, an Executor of concurrent.futures, a dask Client, the address of its scheduler ('tcp://..') or 'ray'"


def _check_executor(executor: Any) -> None:
    """Raises an error if this cannot run tasks."""
    if isinstance(executor, str):
        if executor != "ray" and ":" not in executor:
            message = f"executor={executor!r}: expected {_EXECUTORS}"
            raise UsageError(message, status=2, given=executor, legal=_EXECUTORS, meant="ray" if "ray" in executor.lower() else None)
    elif executor is not None and not hasattr(executor, "submit"):
        wrong_type("executor", _EXECUTORS, executor)


def _check_pickle(executor: Any, classes: Classes) -> None:
    """Raises an error if an executor in other processes cannot get the classes."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    if executor is None or isinstance(executor, ThreadPoolExecutor):
        return
    if executor == "ray":
        with needs("ray"):
            from ray.cloudpickle.cloudpickle import dumps as by_value  # noqa: PLC0415

        classes.check_pickle("Ray", by_value)
    elif isinstance(executor, str) or type(executor).__module__.split(".")[0] == "distributed":
        with needs("dask"):
            from distributed.protocol.pickle import dumps  # noqa: PLC0415

        classes.check_pickle("Dask", dumps)
    else:
        import pickle  # noqa: PLC0415

        classes.check_pickle(type(executor).__name__, pickle.dumps)


def _batch(classes: Classes | None, tasks: Sequence[str]) -> list[tuple[str, bytes | str]]:
    """Runs tasks in a worker. Each gives its result, or the message of its failure."""
    results: list[tuple[str, bytes | str]] = []
    own = None if classes is None else classes.native()
    for task in tasks:
        try:
            results.append((task, bytes(_native.sweep_task(task, own))))
        except Exception as error:  # noqa: BLE001
            results.append((task, str(error) or type(error).__name__))
    return results


_Run = Callable[[Sequence[str]], list[tuple[str, bytes | str]]]


def _run(session: _native.Session, run: _Run, executor: Any, store: _Store, show: Show | None) -> _native.Swept:
    """Runs all tasks on an executor, and commits each result once."""
    tasks = session.tasks()
    batches = [tasks[place : place + _BATCH] for place in range(0, len(tasks), _BATCH)]
    done = 0
    for number, (batch, results) in enumerate(_results(executor, run, batches)):
        if isinstance(results, Exception):
            message = f"the worker failed: {results}"
            results = [(task, message) for task in batch]
        for task, result in results:
            if isinstance(result, bytes):
                session.commit(result)
            else:
                session.failed(task, result)
        done += len(batch)
        if show is not None:
            show(done, len(tasks))
        if number % _UPLOAD_EVERY == _UPLOAD_EVERY - 1:
            store.save()
    return session.finish()


_Results = Iterator[tuple[Sequence[str], Any]]


def _results(executor: Any, run: _Run, batches: list[list[str]]) -> _Results:
    """Results of batches, as they become complete. A batch that failed gives an exception."""
    if executor == "ray":
        return _on_ray(run, batches)
    if isinstance(executor, str):
        return _on_dask_at(executor, run, batches)
    if type(executor).__module__.split(".")[0] == "distributed":
        return _on_dask(executor, run, batches)
    return _on_futures(executor, run, batches)


def _on_futures(executor: Executor, run: _Run, batches: list[list[str]]) -> _Results:
    """Results of an executor. A pool that breaks with a worker is followed by another one of the same kind."""
    lost: list[list[str]] = []
    yield from _until_broken(executor, run, batches, lost)
    for _ in range(_ATTEMPTS):
        if not lost:
            return
        with _another(executor, len(lost)) as pool:
            batches, lost = lost, []
            yield from _until_broken(pool, run, batches, lost)
    if lost:
        raise _broken(executor, len(lost), f"{_ATTEMPTS} further pools lost workers as well")


def _until_broken(executor: Executor, run: _Run, batches: list[list[str]], lost: list[list[str]]) -> _Results:
    """Results of an executor. ``lost`` gets the batches that a broken one has not done."""
    from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait  # noqa: PLC0415

    workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    waiting = iter(batches)
    under_way: dict[Any, list[str]] = {}
    while True:
        for batch in waiting:
            try:
                under_way[executor.submit(run, batch)] = batch
            except BrokenExecutor:
                lost.extend([batch, *waiting])
                break
            if len(under_way) >= workers * _AHEAD:
                break
        if not under_way:
            return
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            batch = under_way.pop(future)
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                lost.append(batch)
                continue
            if error is not None and not isinstance(error, Exception):
                raise error
            yield batch, error or future.result()


def _another(executor: Executor, lost: int) -> Executor:
    """A new pool like one that is broken: a worker that is killed takes all of its pool with it."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    if type(executor) is not ProcessPoolExecutor:
        raise _broken(executor, lost, "Roundelay cannot make another one like it")
    known = vars(executor)
    return ProcessPoolExecutor(
        max_workers=known.get("_max_workers"),
        mp_context=known.get("_mp_context"),
        initializer=known.get("_initializer"),
        initargs=known.get("_initargs", ()),
    )


def _broken(executor: Executor, lost: int, why: str) -> RunError:
    count = f"{lost} tasks are" if lost > 1 else "1 task is"
    message = (
        f"the {type(executor).__name__} is broken, because a worker died, and {why}: {count} not done; "
        "the same call with another executor resumes, because the dataset in out= keeps what is done"
    )
    return RunError(message, status=1)


def _on_dask_at(address: str, run: _Run, batches: list[list[str]]) -> _Results:
    with needs("dask"):
        from distributed import Client  # noqa: PLC0415

    with Client(address) as client:
        yield from _on_dask(client, run, batches)


def _on_dask(client: Any, run: _Run, batches: list[list[str]]) -> _Results:
    from distributed import as_completed  # noqa: PLC0415

    # Dask runs the tasks of a lost worker again. Results are pure, but keys must differ.
    futures = client.map(run, batches, pure=False, retries=_ATTEMPTS)
    owners = dict(zip((future.key for future in futures), batches, strict=True))
    done = as_completed(futures)
    del futures
    for future in done:
        batch = owners[future.key]
        result = future.exception() or future.result()
        future.release()
        yield batch, result


def _on_ray(run: _Run, batches: list[list[str]]) -> _Results:
    with needs("ray"):
        import ray  # noqa: PLC0415
        from ray.exceptions import RayError  # noqa: PLC0415

    if not ray.is_initialized():
        ray.init(log_to_driver=False)

    def work(batch: Sequence[str]) -> list[tuple[str, bytes | str]]:
        return run(batch)

    # A partial object is no function for Ray.
    remote = ray.remote(max_retries=_ATTEMPTS, num_cpus=1)(work)
    most = max(1, int(ray.cluster_resources().get("CPU", 1))) * _AHEAD
    waiting = iter(batches)
    under_way: dict[Any, list[str]] = {}
    while True:
        for batch in waiting:
            under_way[remote.remote(batch)] = batch
            if len(under_way) >= most:
                break
        if not under_way:
            return
        ready, _ = ray.wait(list(under_way), num_returns=1)
        for reference in ready:
            batch = under_way.pop(reference)
            try:
                result: Any = ray.get(reference)
            except RayError as error:
                result = error
            yield batch, result


class _Store:
    """Dataset in a folder."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self._temporary: str | None = None

    def __enter__(self) -> str:
        return self.name or self._make()

    def __exit__(self, *_: object) -> None:
        import shutil  # noqa: PLC0415

        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _make(self) -> str:
        """Makes a folder that lives as long as the call."""
        import tempfile  # noqa: PLC0415

        self._temporary = tempfile.mkdtemp(prefix="roundelay-sweep-")
        return self._temporary

    def save(self) -> None:
        """Saves the results so far."""

    def complete(self) -> None:
        """Saves the dataset."""


class _Remote(_Store):
    """Dataset in a store of fsspec, with a copy in a temporary folder during the call.

    The journal is uploaded from time to time, so that a later call goes on with the saved runs.
    """

    def __init__(self, url: str) -> None:
        with needs("fsspec"):
            import fsspec  # noqa: PLC0415

        super().__init__(url)
        try:
            self._files, root = cast("tuple[Any, str]", fsspec.core.url_to_fs(url))
        except ImportError as error:
            raise ModuleNotFoundError(f"out={url!r}: fsspec needs the package of this store: {error}", name=error.name) from error
        except ValueError as error:
            raise UsageError(f"out={url!r}: {error}; expected a URL of fsspec", status=2, path=url, given=url) from error
        self._root = root.rstrip("/")
        self._known: dict[str, bytes] = {}

    def __enter__(self) -> str:
        from pathlib import Path as _Path  # noqa: PLC0415

        folder = _Path(self._make())
        try:
            self._fetch(folder)
        except BaseException:
            super().__exit__()
            raise
        return str(folder)

    def _fetch(self, folder: _Path) -> None:
        for path in self._files.find(self._root) if self._files.exists(self._root) else []:
            name = path[len(self._root) + 1 :]
            content = cast("bytes", self._files.cat_file(path))
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            self._known[name] = content

    def __exit__(self, *exception: object) -> None:
        if exception[0] is not None:
            self.save()
        super().__exit__(*exception)

    def _local(self) -> dict[str, _Path]:
        from pathlib import Path as _Path  # noqa: PLC0415

        folder = _Path(cast("str", self._temporary))
        return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in {".parquet", ".jsonl"}}

    def _put(self, names: Callable[[str], bool]) -> None:
        for name, path in self._local().items():
            content = path.read_bytes() if names(name) else None
            # An empty journal says nothing.
            if content and self._known.get(name) != content:
                self._files.pipe_file(f"{self._root}/{name}", content)
                self._known[name] = content

    def save(self) -> None:
        """Uploads complete points first, then the journal."""
        self._put(lambda name: name.endswith(".parquet"))
        self._put(lambda name: name.endswith(".jsonl"))

    def complete(self) -> None:
        """Uploads all, then deletes what the local copy no longer has."""
        self._put(lambda name: True)
        local = self._local()
        for name in [name for name in self._known if name not in local]:
            self._files.rm_file(f"{self._root}/{name}")
            del self._known[name]


def _store(out: Path | None) -> _Store:
    if out is None:
        return _Store(None)
    name = path_text("out", out)
    return _Remote(name) if "://" in name else _Store(name)
