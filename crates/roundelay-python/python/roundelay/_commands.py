"""The commands compare, simulate, replay, plot, objective, verify, bench, bounds, papers, applications, import and live."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from . import _native, _toml
from ._calls import Call, keywords
from ._controls import ControlLike, controls
from ._errors import ArgumentTypeError, RoundelayError, RunError, Told, UsageError, of_command
from ._progress import Progress, reporting
from ._queues import QueueLike, many, split
from ._results import (
    Bounds,
    Comparison,
    Costs,
    Live,
    Objective,
    PaperItem,
    PaperResult,
    Replay,
    SideBySide,
    Simulation,
    Together,
    Verification,
)
from ._words import Path, further, line, listed, options, path_text, plain, rate_text, texts, time_text, wrong_type

_R = TypeVar("_R")

FlowBy = Literal["5tuple", "inner", "outer", "src", "dst", "dscp"]


def _located(call: Call, run: Callable[[], _R]) -> _R:
    """Runs a command. An error gets the words of the call, and the path of the file that its message names."""
    try:
        return run()
    except RoundelayError as error:
        reworded = call.reworded(error)
        if reworded is error:
            raise
        raise reworded from None


def _input(given: Any, name: str) -> tuple[str, tuple[str, str] | None, list[str]]:
    """A path for the command, the text in its place, and names for errors."""
    text = _toml.text_of(given, name)
    if text is None:
        path = path_text(name, given)
        return path, None, [path]
    return "-", (name, text), []


def _files(*given: Any) -> list[str]:
    """Names of files for errors."""
    return [str(each) for each in given if each is not None]


@keywords
def compare(
    capture: Path,
    rate: str | float,
    queues: QueueLike | Iterable[QueueLike] | None = None,
    *,
    trees: Path | Iterable[Path] = (),
    link: str | None = None,
    overhead: int | None = None,
    mpu: int | None = None,
    framing: str | None = None,
    buffer: str | None = None,
    filter: str | None = None,
    interface: str | int | None = None,
    direction: str | None = None,
    from_: str | float | None = None,
    to: str | float | None = None,
    busiest: str | float | None = None,
    mtu: int | str | None = None,
    keep_duplicates: bool = False,
    mirrored: bool = False,
    flow_by: FlowBy = "5tuple",
    weight: str | Iterable[str] | Mapping[str, int] = (),
    weights: Path | None = None,
    max_flows: int | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    cost: bool = False,
    react: bool = False,
    replicas: int | None = None,
    html: Path | None = None,
    parquet: Path | None = None,
    csv: Path | None = None,
    markdown: Path | None = None,
    anonymise: bool = False,
    anonymise_key: Path | None = None,
    threads: int | None = None,
    progress: Progress = None,
    **more: Any,
) -> Comparison:
    """Replays a capture through queue disciplines and compares them flow by flow.

    Every discipline gets every packet at the time at which the capture recorded it, in front of a link with
    the given rate. The replay is open-loop, so TCP does not react to delay or loss in it, unless you
    ``react``.

    What is compared:

    - ``capture``: a pcap or pcapng file.
    - ``rate``: ``"20mbit"``, or bits per second.
    - ``queues``: disciplines as ``tc`` writes them, classes written in Python, or both. ``"all"`` takes all
      built-in disciplines. By default those of Linux, or none if there are ``trees``.
    - ``trees``: TOML files with trees of disciplines.
    - ``link``: the kind of link, by a keyword of tc-cake(8), as in ``"docsis"``. ``overhead``, ``mpu``
      (bytes) and ``framing`` (``"none"``, ``"atm"``, ``"ptm"``) replace its values.
    - ``buffer``: for every discipline without a limit, ``"1000p"`` or ``"150kb"``.

    Which packets, and how they form flows:

    - ``filter``: only packets that match, as in ``"udp and not port 53"``.
    - ``interface``: only packets of this interface, by name or number.
    - ``direction``: ``"from 192.168.1.0/24"``, ``"to 10.0.0.1"``, ``"to 52:54:00:12:34:56"`` (a link-layer
      address), ``"to private"``, ``"in"``, ``"out"`` or ``"both"``. By default ``"auto"``, the direction with
      the larger load.
    - ``from_``, ``to``: only the packets between these times after the first. ``busiest``: only the part of
      this length with the most bytes. These are texts with a unit, or seconds.
    - ``mtu``: longer packets are split, by default above 1500 bytes. ``"none"`` splits none.
    - ``keep_duplicates``: replay copies of a packet too. ``mirrored``: leave out copies by a mirror port.
    - ``flow_by``: header fields that define a flow.
    - ``weight``: rules, as in ``{"dst port 443": 10}`` or ``["dst port 443 = 10"]``. The first match counts.
      ``weights``: a TOML file with rules, tried after those.
    - ``max_flows``: 1 to 1000000, by default as many as take 2 GB.

    How it runs, and what it writes:

    - ``seed``: for hashes and random choices, by default 1. ``seeds``: how often to run what hashes or draws,
      with consecutive seeds, by default 3. The figures are those of the first.
    - ``cost``: also measure the nanoseconds for a packet, the only result that differs from run to run.
    - ``react``: let senders react. Roundelay finds what the applications behind the capture wanted, and
      simulates them with their TCP under each discipline, ``replicas`` times. Further keywords are
      ``round_trip``, ``captured_rate``, ``congestion``, ``open``, ``up_rate`` and ``up_queue``.
    - ``html``, ``parquet``, ``csv``, ``markdown``: files to write, as the command does.
    - ``anonymise``: other addresses and no paths in all results, by a random key or the one in the file
      ``anonymise_key``.
    - ``threads``: by default one for each core.
    - ``progress``: True or False for a bar or none, by default a bar in notebooks if tqdm is installed. Or a
      function that gets the work done and all work, and may raise an exception to end the call.

    Further keywords are the command's options, with underscores.

    Raises :class:`UsageError` for a wrong argument or capture, :class:`RunError` if a file cannot be written,
    and any exception of a scheduler written in Python. Ctrl-C ends the call, and leaves no file half-written.
    """
    given = dict(locals())
    names, own = split(many(queues))
    rules = [f"{match} = {each}" for match, each in weight.items()] if isinstance(weight, Mapping) else texts("weight", weight)
    measured = plain(cost)
    if not isinstance(measured, bool):
        wrong_type("cost", "True or False", cost)
    if measured and "no_cost" in more:
        raise ArgumentTypeError("no_cost: contradicts cost=True; expected one of them", status=2, given="no_cost", meant="cost")
    path, tables = path_text("capture", capture), [path_text("trees", each) for each in listed("trees", trees)]
    words = options(
        "compare",
        {
            "rate": rate_text(rate),
            "link": link,
            "overhead": overhead,
            "mpu": mpu,
            "framing": framing,
            "buffer": buffer,
            "filter": filter,
            "interface": interface,
            "direction": direction,
            "from": time_text("from_", from_),
            "to": time_text("to", to),
            "busiest": time_text("busiest", busiest),
            "mtu": mtu,
            "keep_duplicates": keep_duplicates,
            "mirrored": mirrored,
            "flow_by": flow_by,
            "weight": rules,
            "weights": weights,
            "max_flows": max_flows,
            "seed": seed,
            "seeds": seeds,
            "no_cost": not measured and "no_cost" not in more,
            "react": react,
            "replicas": replicas,
            "html": html,
            "parquet": parquet,
            "csv": csv,
            "markdown": markdown,
            "anonymise": anonymise,
            "anonymise_key": anonymise_key,
            "threads": threads,
        }
    )
    words = line(["--quiet", *(f"--tree={each}" for each in tables), *words, *further("compare", more)], path, *names)
    call = Call("compare", given, [path, *tables, *_files(weights, html, parquet, csv, markdown)])
    with reporting(progress) as show:
        return Comparison(_located(call, lambda: _native.compare(words, own, show)))


class _Simulating(TypedDict, total=False):
    """Keywords of :func:`simulate` for one queue and for several."""

    congestion: ControlLike | Mapping[str, ControlLike] | None
    seed: int | None
    replicas: int
    html: Path | None
    parquet: Path | None
    csv: Path | None
    markdown: Path | None
    packets: bool
    log: Path | None
    pcapng: Path | None
    threads: int | None
    long: bool
    progress: Progress


@overload
def simulate(
    scenario: Path | Mapping[str, Any] | _toml.Tables,
    *,
    queue: QueueLike | None = None,
    pair: Literal[False] = False,
    **keywords: Unpack[_Simulating],
) -> Simulation: ...
@overload
def simulate(
    scenario: Path | Mapping[str, Any] | _toml.Tables,
    *,
    queue: Sequence[QueueLike],
    pair: bool = False,
    **keywords: Unpack[_Simulating],
) -> SideBySide: ...
@overload
def simulate(
    scenario: Path | Mapping[str, Any] | _toml.Tables,
    *,
    queue: QueueLike,
    pair: Literal[True],
    **keywords: Unpack[_Simulating],
) -> SideBySide: ...
@keywords
def simulate(
    scenario: Path | Mapping[str, Any] | _toml.Tables,
    *,
    queue: QueueLike | Sequence[QueueLike] | None = None,
    pair: bool = False,
    congestion: ControlLike | Mapping[str, ControlLike] | None = None,
    seed: int | None = None,
    replicas: int = 1,
    html: Path | None = None,
    parquet: Path | None = None,
    csv: Path | None = None,
    markdown: Path | None = None,
    packets: bool = False,
    log: Path | None = None,
    pcapng: Path | None = None,
    threads: int | None = None,
    long: bool = False,
    progress: Progress = None,
    **more: Any,
) -> Simulation | SideBySide:
    """Simulates a network: throughput, delay, loss, fairness and completion times.

    The same scenario, seed and version give the same result, with any number of threads.

    - ``scenario``: a TOML file, its text (with line breaks), a dictionary, or a
      :class:`roundelay.scenario.Scenario`. Files named in a text or dictionary are relative to the working
      directory.
    - ``queue``: a discipline for all router ports, as ``tc`` writes it, or a class written in Python. Buffers
      keep their sizes unless it has a limit. A list of disciplines runs each with the same seeds and returns a
      :class:`SideBySide`.
    - ``pair``: also run the scenario with its own queues, and compare seed by seed.
    - ``congestion``: a congestion control for all sources over TCP, or one for each name of a source:
      ``"reno"``, ``"cubic"`` or a class written in Python (:class:`CongestionControl`).
    - ``seed``: replaces the scenario's.
    - ``replicas``: number of runs with consecutive seeds, 1 to 10000.
    - ``html``, ``parquet``, ``csv``, ``markdown``, ``packets``, ``log``, ``pcapng``: files to write, as the
      command does.
    - ``threads``: by default one for each core.
    - ``long``: run a scenario of more than 10^10 events too.
    - ``progress``: as in :func:`compare`.

    Raises :class:`UsageError` for a wrong scenario, :class:`RunError` if the run fails or a file cannot be
    written, and any exception of a scheduler or a congestion control written in Python. Ctrl-C ends the call,
    and leaves no file half-written.
    """
    arguments = dict(locals())
    path, given, files = _input(scenario, "scenario")
    several = queue is not None and not isinstance(queue, str) and not callable(queue) and not hasattr(queue, "enqueue")
    queues: list[Any] = many(queue) if several else [] if queue is None else [queue]
    paired = plain(pair)
    if not isinstance(paired, bool):
        wrong_type("pair", "True or False", pair)
    if (several or paired) and not queues:
        raise UsageError("queue: expected one or more disciplines", status=2, given=str(queue), legal="disciplines")
    names, own = split(queues)
    limits = {place: getattr(queues[place], "limit", None) for place, _ in own}
    names = [f"{name} limit {limits[place]}" if limits.get(place) else name for place, name in enumerate(names)]
    words = options(
        "simulate",
        {
            "queue": names,
            "seed": seed,
            "replicas": replicas,
            "html": html,
            "parquet": parquet,
            "csv": csv,
            "markdown": markdown,
            "packets": packets,
            "log": log,
            "pcapng": pcapng,
            "threads": threads,
            "long": long,
        }
    )
    words = line(["--quiet", *words, *further("simulate", more)], path)
    call = Call("simulate", arguments, [*files, *_files(html, parquet, csv, markdown, log, pcapng)])
    mine = controls(congestion)
    with reporting(progress) as show:
        if several or paired:
            return SideBySide(_located(call, lambda: _native.simulate_queues(words, given, own, mine, paired, show)))
        return Simulation(_located(call, lambda: _native.simulate(words, given, own, mine, show)))


@keywords
def compare_results(
    *results: Comparison | Simulation | SideBySide | Live | Mapping[str, Any] | Path,
    labels: Iterable[str] | None = None,
    figure: Literal["delay_cdf", "delay_over_time"] | None = None,
    kinds: str | Iterable[str] = (),
) -> Together:
    """Puts results side by side: for each kind of packets the distribution of delays and the mean delay over
    time, with a curve for each result.

    - ``results``: of :func:`compare`, :func:`simulate` and :func:`live`, their dictionaries, or files with what
      the commands print with ``--json``.
    - ``labels``: one for each result, by default the file's name, or ``a``, ``b`` and so on.
    - ``figure``: draw this alone.
    - ``kinds``: draw only kinds of packets (sources, kinds of flows) whose names contain one of these texts.

    Raises :class:`UsageError` for what is no result.
    """
    arguments = {"results": results, "labels": labels, "figure": figure, "kinds": kinds}
    if not results:
        raise UsageError("results: expected one or more", status=2, given="", legal="results")
    given = None if labels is None else texts("labels", labels)
    if given is not None and len(given) != len(results):
        message = f"labels: {len(given)} for {len(results)} results; expected as many"
        raise UsageError(message, status=2, given=str(len(given)), legal=str(len(results)))
    named: list[tuple[str, str]] = []
    for place, result in enumerate(results):
        name, text = _json_of(result, chr(ord("a") + place % 26))
        named.append((name if given is None else given[place], text))
    call = Call("compare_results", arguments, [])
    return Together(_located(call, lambda: _native.plot(named, figure, texts("kinds", kinds))))


def _json_of(result: Any, name: str) -> tuple[str, str]:
    """A result's label and JSON."""
    if isinstance(result, Mapping):
        return name, json.dumps(result)
    if hasattr(result, "to_json"):
        return name, result.to_json()
    import pathlib  # noqa: PLC0415

    path = pathlib.Path(path_text("results", result))
    try:
        return path.stem, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot read: {error}", status=2, path=str(path), given=str(path)) from None


def _texts_only(queues: Any) -> list[str]:
    """Disciplines for a function that takes none written in Python."""
    found = many(queues)
    for each in found:
        if callable(each) or hasattr(each, "enqueue"):
            wrong_type("queues", "disciplines as text; schedulers written in Python run in compare, simulate and sweep", each)
    return texts("queues", found)


@keywords
def replay(
    scenario: Path | Mapping[str, Any] | _toml.Tables,
    queues: str | Iterable[str] = (),
    *,
    on: Path | None = None,
    slack: str | None = None,
    resolution: str | float | None = None,
    threshold: str | float | None = None,
    congestion: ControlLike | Mapping[str, ControlLike] | None = None,
    seed: int | None = None,
    replicas: int = 1,
    html: Path | None = None,
    parquet: Path | None = None,
    markdown: Path | None = None,
    threads: int | None = None,
    long: bool = False,
    progress: Progress = None,
    **more: Any,
) -> Replay:
    """Records a schedule, replays it under other disciplines, and counts the packets that come out too late.

    Times are texts with a unit, or seconds.

    - ``scenario``: as in :func:`simulate`. With ``on``, it is a schedule in Parquet.
    - ``queues``: ``"lstf"``, ``"lstf preempt"``, ``"edf"``, ``"omniscient"`` and others, by default lstf.
    - ``on``: the network for a schedule in Parquet.
    - ``slack``: initial slack, ``"wait"``, ``"path-end"`` or ``"none"``.
    - ``resolution``: round slack down to multiples of this time.
    - ``threshold``: packets that are late by more are counted separately.
    - ``congestion``: for the recorded run, as in :func:`simulate`.
    - ``long``: as in :func:`simulate`. ``progress``: as in :func:`compare`.

    Raises :class:`UsageError` for a wrong argument or file, and :class:`RunError` if the run fails.
    """
    arguments = dict(locals())
    path, given, files = _input(scenario, "scenario")
    words = options(
        "replay",
        {
            "with": _texts_only(queues),
            "on": on,
            "slack": slack,
            "resolution": time_text("resolution", resolution),
            "threshold": time_text("threshold", threshold),
            "seed": seed,
            "replicas": replicas,
            "html": html,
            "parquet": parquet,
            "markdown": markdown,
            "threads": threads,
            "long": long,
        }
    )
    words = line(["--quiet", *words, *further("replay", more)], path)
    call = Call("replay", arguments, [*files, *_files(on, html, parquet, markdown)])
    mine = controls(congestion)
    with reporting(progress) as show:
        return Replay(_located(call, lambda: _native.replay(words, given, mine, show)))


@keywords
def bounds(
    flows: Path | Mapping[str, Any],
    queues: str | Iterable[str] = (),
    *,
    rate: str | float | None = None,
    hops: int | None = None,
) -> Bounds:
    """The worst-case delays that disciplines guarantee to flows with token buckets, as proven.

    - ``flows``: a TOML file with flows and links, its text, or a dictionary.
    - ``queues``: disciplines, by default all with a proven bound.
    - ``rate``: for links without a rate in the file.
    - ``hops``: number of links in series if the file lists none, 1 to 1000.

    Raises :class:`UsageError` for a wrong argument or file.
    """
    arguments = dict(locals())
    path, given, files = _input(flows, "flows")
    words = options("bounds", {"rate": None if rate is None else rate_text(rate), "hops": hops})
    words = line(["--json", *words], path, *_texts_only(queues))
    return Bounds(_located(Call("bounds", arguments, files), lambda: _native.bounds(words, given)))


def _printed(call: Call, command: str, words: list[str], given: tuple[str, str] | None = None, *, found_faults: bool = False) -> str:
    """What the command prints, in a process of its own. ``given`` is a name and a text, on standard input. With
    ``found_faults``, exit status 1 is a result, too.
    """
    import subprocess  # noqa: PLC0415 (slow to import, and seldom needed)

    text = given[1] if given else None
    name = given[0] if given else "standard input"
    program = [sys.executable, "-m", "roundelay._child", command, *words]
    done = subprocess.run(program, input=text, capture_output=True, text=True, check=False)
    if done.returncode == 0 or (found_faults and done.returncode == 1 and done.stdout):
        return done.stdout
    try:
        told = Told(*json.loads(done.stderr.splitlines()[-1]))
    except (IndexError, TypeError, ValueError):
        # Ended by a signal, or without memory.
        raise RunError(done.stderr.strip() or f"{command}: ended with {done.returncode}", status=1) from None
    raise call.reworded(of_command(told._replace(file=name if told.file == "standard input" else told.file)))


@keywords
def objective(
    scenario: Path | Mapping[str, Any] | _toml.Tables,
    *,
    objective: str | None = None,
    source: str | None = None,
    slack: str | None = None,
    specialist: str | None = None,
    queues: str | Iterable[str] = (),
    seed: int | None = None,
    replicas: int = 5,
    cost: bool = False,
    html: Path | None = None,
    markdown: Path | None = None,
    threads: int | None = None,
    long: bool = False,
    **more: Any,
) -> Objective:
    """Tests whether least slack time first serves an objective as well as the discipline made for it, and at
    what cost.

    - ``scenario``: as in :func:`simulate`, with a table ``[objective]`` unless ``objective`` is given.
    - ``objective``: ``"completion"``, ``"completion-by-bytes"``, ``"tail"``, ``"fairness"``,
      ``"weighted-fairness"`` or ``"deadline"``.
    - ``source``: only packets and flows of this source.
    - ``slack``: what sources write into headers, as in ``"size 1s"``.
    - ``specialist``: the discipline made for the objective.
    - ``queues``: more disciplines.
    - ``cost``: also measure the nanoseconds for a packet, the only result that differs from run to run.
    - ``long``: as in :func:`simulate`.

    The command makes the runs in a process of its own.

    Raises :class:`UsageError` for a wrong argument or scenario, and :class:`RunError` if the run fails.
    """
    arguments = dict(locals())
    path, given, files = _input(scenario, "scenario")
    words = options(
        "objective",
        {
            "objective": objective,
            "source": source,
            "slack": slack,
            "specialist": specialist,
            "with": _texts_only(queues),
            "seed": seed,
            "replicas": replicas,
            "cost": cost,
            "html": html,
            "markdown": markdown,
            "threads": threads,
            "long": long,
        },
    )
    words = line(["--json", "--quiet", *words, *further("objective", more)], path)
    return Objective(_printed(Call("objective", arguments, [*files, *_files(html, markdown)]), "objective", words, given))


@keywords
def verify(log: Path, *, faults: int = 10) -> Verification:
    """Checks the log of a simulation, or the record of a live run, for events that are impossible in a real
    network.

    - ``log``: a file from ``simulate(.., log=..)`` or ``roundelay live --record``.
    - ``faults``: stop after this number, 1 to 1000.

    The check reads nothing but the log, in a process of its own.

    Raises :class:`UsageError` if the file is no log. Faults are no exception: see
    :attr:`Verification.is_valid`.
    """
    arguments = dict(locals())
    path = path_text("log", log)
    words = line(["--json", *options("verify", {"faults": faults})], path)
    return Verification(_printed(Call("verify", arguments, [path]), "verify", words, found_faults=True))


@keywords
def bench(
    queues: str | Iterable[str] = (),
    *,
    flows: str | int | Iterable[str | int] = (),
    pattern: str | Iterable[str] = (),
    memory: str | Iterable[str] = (),
    lengths: str | int | None = None,
    burst: int | Iterable[int] = (),
    pairs: int | None = None,
    rounds: int = 5,
    against: Path | None = None,
    save: Path | None = None,
    **more: Any,
) -> Costs:
    """Measures the cost of a packet, enqueue plus dequeue, under the loads of the QFQ paper.

    A process of its own measures. Let nothing else run on the machine meanwhile.

    - ``queues``: disciplines, by default all.
    - ``flows``: 512, or by weight ``"1:32k,2:4k"``, one or several.
    - ``pattern``: ``"small"``, ``"large"`` or ``"full"``.
    - ``memory``: ``"packed"`` or ``"scattered"``, by default both.
    - ``lengths``: bytes of packets, 1000, ``"64-1500"``, ``"imix"``.
    - ``burst``: packets in a call. ``pairs``: packets in a round.
    - ``rounds``: each measures every discipline.
    - ``against``: a file written by ``save``, to compare with.

    Raises :class:`UsageError` for a wrong argument.
    """
    arguments = dict(locals())
    many_of = {"flows": flows, "pattern": pattern, "memory": memory, "burst": burst}
    values = {name: [value] if isinstance(value, int) else listed(name, value) for name, value in many_of.items()}
    words = options("bench", {**values, "lengths": lengths, "pairs": pairs, "rounds": rounds, "against": against, "save": save})
    words = line(["--json", *words, *further("bench", more)], *_texts_only(queues))
    return Costs(_printed(Call("bench", arguments, _files(against, save)), "bench", words))


@keywords
def papers(
    paper: str | None = None,
    item: str | None = None,
    *,
    full: bool = False,
    seeds: int | None = None,
    instead: str | None = None,
    cache: Path | None = None,
    fresh: bool = False,
    threads: int | None = None,
) -> list[PaperItem] | list[PaperResult]:
    """Tables, figures and theorems of the papers. Without arguments it returns a list, otherwise it runs them
    and judges the claims.

    - ``paper``: a name from the list, ``"all"``, or a plan file.
    - ``item``: one item of the paper.
    - ``full``: as published, instead of the quick setting.
    - ``seeds``: number of seeds.
    - ``instead``: this discipline in place of those examined, so that you see verdicts change.
    - ``cache``: folder of cached runs.
    - ``fresh``: neither read nor write the cache.

    The command makes the runs in a process of its own.
    """
    call = Call("papers", dict(locals()), [paper] if paper else [])
    if paper is None:
        return [PaperItem(*words, runs=runs) for words, runs in _native.papers()]
    words = options("papers", {"full": full, "seeds": seeds, "instead": instead, "cache": cache, "fresh": fresh, "threads": threads})
    words = line(["--json", "--quiet", *words], path_text("paper", paper), *texts("item", item))
    printed = _printed(call, "papers", words)
    if not printed.startswith("{"):
        raise UsageError(printed.strip(), status=2, given=item or paper)
    return [PaperResult(found) for found in json.loads(printed)["items"]]


@keywords
def applications(
    capture: Path,
    rate: str | float | None = None,
    *,
    captured_rate: str | float | None = None,
    direction: str | None = None,
    filter: str | None = None,
    **more: Any,
) -> str:
    """What the applications behind a capture wanted, as the text of a scenario whose TCP senders react.

    You can give the text to :func:`simulate` and :func:`sweep`. Comments say what the capture could not tell.

    - ``capture``: a pcap or pcapng file with both directions.
    - ``rate``: of the link in the scenario, by default ``captured_rate``, that of the link that was captured.
    - ``direction``, ``filter``: as in :func:`compare`.

    Further keywords are the command's options, with underscores. The command runs in a process of its own.

    Raises :class:`UsageError` for a wrong argument or capture.
    """
    arguments = dict(locals())
    path = path_text("capture", capture)
    rates = {"rate": rate, "captured_rate": captured_rate}
    values = {name: None if value is None else rate_text(value) for name, value in rates.items()}
    words = options("applications", {**values, "direction": direction, "filter": filter})
    words = line([*words, *further("applications", more)], path)
    return _printed(Call("applications", arguments, [path]), "applications", words)


@keywords
def import_tc(script: Path, *, dev: str | None = None, set: Mapping[str, str] | None = None, **more: Any) -> str:
    """A script of ``tc`` commands as a tree of disciplines, in TOML, for ``trees`` of :func:`compare` and
    ``[trees]`` of a scenario. Comments tell what a tree cannot have, with the script's lines.

    - ``script``: a file, or its text (with line breaks). It is read and not run.
    - ``dev``: the interface, by default the one with the most classes.
    - ``set``: values of the script's variables.

    The command runs in a process of its own.

    Raises :class:`UsageError` for a wrong argument or script.
    """
    arguments = dict(locals())
    path, given, files = _input(script, "script")
    settings = [f"{name}={value}" for name, value in (set or {}).items()]
    # What stands behind -- is a command to run.
    place = f"./{path}" if path.startswith("-") and given is None else path
    words = [*options("import", {"dev": dev, "set": settings}), *further("import", more), place]
    return _printed(Call("import_tc", arguments, files), "import", words, given)


@keywords
def live(
    command: Sequence[str],
    rate: str | float | None = None,
    *,
    queue: str | None = None,
    far: Sequence[str] = (),
    delay: str | float | None = None,
    duration: str | float | None = None,
    at: str | Iterable[str] = (),
    record: Path | None = None,
    html: Path | None = None,
    seed: int | None = None,
    **more: Any,
) -> Live:
    """Real packets: runs a command at the near end of a link of its own, behind a discipline. Linux only.

    - ``command``: the words of the command. ``{far}`` stands for the address of the far end, ``{near}`` for that
      of the near end. What it prints is not kept.
    - ``rate``: of the link, both ways. ``queue``: the discipline, as ``tc`` writes it, by default ``fifo``.
    - ``far``: the words of a command at the far end, which starts first.
    - ``delay``: each way. ``duration``: of the run. These are texts with a unit, or seconds.
    - ``at``: changes on the way, as in ``"3s queue fq_codel"``. Each begins a phase.
    - ``record``, ``html``, ``seed``: as the command's.

    Further keywords are the command's options, with underscores. The command runs in a process of its own, and
    needs no privileges where ordinary users may make user namespaces.

    Raises :class:`UsageError` for a wrong argument, and :class:`RunError` if the run fails.
    """
    arguments = dict(locals())
    words = options(
        "live",
        {
            "rate": None if rate is None else rate_text(rate),
            "queue": queue,
            "delay": time_text("delay", delay),
            "duration": time_text("duration", duration),
            "at": texts("at", at),
            "record": record,
            "html": html,
            "seed": seed,
        },
    )
    near = texts("command", list(command) if not isinstance(command, str) else command)
    if isinstance(command, str) or not near:
        wrong_type("command", "a list of words, as in ['ping', '-c', '3', '{far}']", command, "a text" if isinstance(command, str) else "an empty list")
    ends = [*near, *(["--", *texts("far", far)] if far else [])]
    printed = _printed(Call("live", arguments, _files(record, html)), "live", ["--json", "--quiet", *words, *further("live", more), "--", *ends])
    for text in reversed(printed.splitlines()):
        # The command at the near end writes to the same standard output.
        if text.startswith('{"schema":"live/'):
            return Live(text)
    raise RunError("live: the run printed no result", status=1)
