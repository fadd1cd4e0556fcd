"""Results: tables for Arrow, the command's JSON, HTML for notebooks, plots."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn, Self

from . import _native
from ._extras import needs

if TYPE_CHECKING:
    from ._chart import ComparisonCharts, SimulationCharts
    from ._plot import ComparisonPlots, ReplayPlots, SimulationPlots


class Table:
    """A table with named columns, for any library that reads Arrow: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)``, DuckDB.

    Names of columns are its keys: ``"spec" in table``, ``table["spec"]``, ``dict(table)``. ``len(table)`` is
    the number of rows.
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a stream of Arrow arrays (PyCapsule interface)."""
        return self._native.__arrow_c_stream__(requested_schema)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._native.names()

    def keys(self) -> list[str]:
        """Names of the columns."""
        return self.column_names

    def __iter__(self) -> NoReturn:
        # pandas.DataFrame(table) would make rows of what a loop yields.
        raise TypeError("a loop over a table: expected keys() for the names of columns, or the values by to_dict(), to_pandas() or Arrow")

    def __contains__(self, name: object) -> bool:
        return name in self.column_names

    def to_dict(self) -> dict[str, list[Any]]:
        """Lists of values by column. None where there is no value."""
        return {name: self._native.column(name) for name in self.column_names}

    def to_pandas(self) -> Any:
        """A pandas DataFrame. Needs pandas and pyarrow."""
        with needs("pandas"):
            import pandas  # noqa: F401, PLC0415
            import pyarrow  # noqa: PLC0415

        return pyarrow.table(self).to_pandas()

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self:
            raise KeyError(f"{name!r} is no column; expected one of {', '.join(self.column_names)}")
        return self._native.column(name)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.column_names)})"

    def _repr_html_(self) -> str:
        """The first 20 rows."""
        names = self.column_names
        columns = [self[name][:20] for name in names]
        more = f"<p>{len(self) - 20} more rows</p>" if len(self) > 20 else ""
        return _grid(names, zip(*columns, strict=True)) + more


def _table(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> Table:
    """A table of rows."""
    names, rows = list(names), [list(row) for row in rows]
    return Table(_native.Table([(name, [row[place] for row in rows]) for place, name in enumerate(names)]))


def _grid(names: Iterable[str], rows: Iterable[Iterable[Any]], best: Iterable[bool] = ()) -> str:
    """An HTML table. ``best`` tells whether a row is bold."""
    bold = [*best]
    cell = lambda value: "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)  # noqa: E731
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = ""
    for number, row in enumerate(rows):
        style = ' style="font-weight: bold"' if number < len(bold) and bold[number] else ""
        body += f"<tr{style}>" + "".join(f"<td>{escape(cell(value))}</td>" for value in row) + "</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _millis(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds * 1e3:.3f} ms"


class _Result:
    """A result with the command's JSON, page and printed table."""

    def __init__(self, native: _native.Outcome) -> None:
        self._native = native

    def __reduce__(self) -> tuple[type[Self], tuple[_native.Outcome]]:
        return type(self), (self._native,)

    @cached_property
    def _dict(self) -> dict[str, Any]:
        return json.loads(self._native.json())

    def to_json(self) -> str:
        """The command's output with ``--json``, byte for byte."""
        return self._native.json()

    def to_dict(self) -> dict[str, Any]:
        """The command's JSON as a dictionary, in seconds, bits per second and bytes."""
        return json.loads(self._native.json())

    def to_html(self) -> str:
        """The command's self-contained page with charts."""
        return self._native.html()

    def to_text(self, width: int | None = None) -> str:
        """The text that the command prints, with all sections, ``width`` columns wide at most."""
        return self._native.text(width)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """The text that the command prints, with the best discipline in bold."""
        return self._native.part()


class _Tabled:
    """A result with a main table."""

    @property
    def _main(self) -> Table:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The main table as a stream of Arrow arrays (PyCapsule interface)."""
        return self._main.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The main table as a pandas DataFrame. Needs pandas and pyarrow."""
        return self._main.to_pandas()


class Comparison(_Result, _Tabled):
    """Result of :func:`roundelay.compare`. As Arrow: one row for each discipline and flow."""

    @cached_property
    def flows(self) -> Table:
        """One row for each discipline and flow: the columns of ``flows.parquet``."""
        return Table(self._native.rows("flows"))

    @property
    def _main(self) -> Table:
        return self.flows

    @property
    def metadata(self) -> dict[str, str]:
        """Version, seed and hash of the configuration, as in the Parquet files."""
        return dict(self._native.metadata)

    @property
    def disciplines(self) -> list[str]:
        """The disciplines as written, in the order of the call."""
        return [each["spec"] for each in self._dict["disciplines"]]

    @property
    def best(self) -> str | None:
        """The discipline that the verdict names. None where it asks which packets share the link, or where shapers differ."""
        best = self._dict["verdict"].get("best")
        return None if best is None else self.disciplines[best]

    @property
    def verdict(self) -> str:
        """The verdict: the best discipline and why, a question, or why none is the best."""
        verdict = self._dict["verdict"]
        return verdict["reserve"]["sentence"] if verdict.get("is_open") else " ".join(verdict["sentences"])

    @property
    def commands(self) -> list[str]:
        """Linux commands that set up the best discipline. Empty if none are known."""
        return self._dict["verdict"]["commands"]

    @property
    def notes(self) -> list[str]:
        """Oddities of the capture and limits of the replay."""
        return self._dict["capture"]["notes"]

    @property
    def broken_bounds(self) -> list[str]:
        """Disciplines that broke a proven bound. If it is not empty, Roundelay has a fault, and the command exits with 1."""
        return [each["spec"] for each in self._dict["disciplines"] if each["kept_bounds"] is False]

    @property
    def plot(self) -> ComparisonPlots:
        """Plots. Needs matplotlib."""
        from ._plot import ComparisonPlots  # noqa: PLC0415

        return ComparisonPlots(self._dict)

    @property
    def chart(self) -> ComparisonCharts:
        """Interactive charts. Needs Altair."""
        from ._chart import ComparisonCharts  # noqa: PLC0415

        return ComparisonCharts(self._dict)

    def __repr__(self) -> str:
        return f"Comparison({self._dict['capture']['name']!r}, {', '.join(self.disciplines)}; best: {self.best})"


class SideBySide(_Result):
    """Result of :func:`roundelay.simulate` with several queues: the same seeds under each."""

    @property
    def queues(self) -> list[str]:
        """The queues, in the order of the call. Differences are to the first."""
        return [each["queue"] for each in self._dict["queues"]]

    @property
    def verdicts(self) -> dict[str, str]:
        """For each group of sources how it fares, in a sentence."""
        return {each["group"]: each["text"] for each in self._dict["verdicts"]}

    @property
    def notes(self) -> list[str]:
        """Notes that hold under all queues."""
        return self._dict["notes"]

    def __getitem__(self, queue: str) -> dict[str, Any]:
        """The results under a queue, as :meth:`Simulation.to_dict` has them."""
        for each in self._dict["queues"]:
            if each["queue"] == queue:
                return each["simulated"]
        raise KeyError(f"{queue!r} is no queue; expected one of {', '.join(self.queues)}")

    def __repr__(self) -> str:
        return f"SideBySide({', '.join(self.queues)})"


class Together(_Result):
    """Result of :func:`roundelay.compare_results`: results side by side. ``to_html()`` draws them."""

    @property
    def labels(self) -> list[str]:
        """The results' names in legends."""
        return [each["label"] for each in self._dict["results"]]

    @property
    def curves(self) -> dict[str, dict[str, dict[str, Any]]]:
        """By label and kind of packets, ``delay_cdf`` (pairs of seconds and shares) and ``delay_over_time`` (pairs of seconds)."""
        return {each["label"]: {kind["name"]: kind for kind in each["kinds"]} for each in self._dict["results"]}

    def __repr__(self) -> str:
        return f"Together({', '.join(self.labels)})"


class Simulation(_Result, _Tabled):
    """Result of :func:`roundelay.simulate`. As Arrow: one row for each replica and flow."""

    @cached_property
    def flows(self) -> Table:
        """One row for each replica and flow: the columns of ``flows.parquet``.

        Of the flows that ended there are the first 4,096 of a replica, unless the call had ``parquet``.
        """
        return Table(self._native.rows("flows"))

    @property
    def _main(self) -> Table:
        return self.flows

    @cached_property
    def links(self) -> Table:
        """One row for each replica and link: the columns of ``links.parquet``."""
        return Table(self._native.rows("links"))

    @cached_property
    def transfers(self) -> Table:
        """One row for each replica and transfer. Empty unless the scenario has ``[meter] transfers``."""
        return Table(self._native.rows("transfers"))

    @cached_property
    def rates(self) -> Table:
        """One row for each replica, flow and interval. Empty unless the scenario has ``[meter] rates``."""
        return Table(self._native.rows("rates"))

    @cached_property
    def links_over_time(self) -> Table:
        """One row for each replica, link and step. Empty unless the scenario has ``[meter] over_time``."""
        return Table(self._native.rows("links_over_time"))

    @cached_property
    def sources_over_time(self) -> Table:
        """One row for each replica, source and step. Empty unless the scenario has ``[meter] over_time``."""
        return Table(self._native.rows("sources_over_time"))

    @property
    def metadata(self) -> dict[str, str]:
        """Version, seed and hash of the scenario, as in the Parquet files."""
        return dict(self._native.metadata)

    @property
    def notes(self) -> list[str]:
        """Notes on the scenario and its captures."""
        return self._dict["notes"]

    @property
    def plot(self) -> SimulationPlots:
        """Plots. Needs matplotlib."""
        from ._plot import SimulationPlots  # noqa: PLC0415

        return SimulationPlots(self._dict)

    @property
    def chart(self) -> SimulationCharts:
        """Interactive charts. Needs Altair."""
        from ._chart import SimulationCharts  # noqa: PLC0415

        return SimulationCharts(self._dict)

    def __repr__(self) -> str:
        return f"Simulation({self._dict['name']!r}, {len(self._dict['replicas'])} replicas)"


#: Counts of a replay, as in its JSON.
_COUNTS = ["packets", "missing", "overdue", "overdue_by_nanosecond", "overdue_by_threshold"]


class Replay(_Result, _Tabled):
    """Result of :func:`roundelay.replay`. As Arrow: the table ``replays``."""

    @cached_property
    def replays(self) -> Table:
        """Two rows for each discipline and seed, by ``counting``: ``drained`` are all packets sent within the
        window, and ``cut`` those that left the network within the window in both runs.

        The columns count packets, but ``worst`` is the largest lateness in seconds, and ``not_longer`` the
        fraction of the packets that waited no longer than recorded.
        """
        rows = [
            [
                each["with"],
                run["seed"],
                run["dropped"],
                counting,
                *(run[counting]["all"][name] for name in _COUNTS),
                run[counting]["all"]["worst_ps"] / 1e12,
                run[counting]["ratios"]["not_longer"],
            ]
            for each in self._dict["candidates"]
            for run in each["replicas"]
            for counting in ("drained", "cut")
        ]
        return _table(["with", "seed", "dropped", "counting", *_COUNTS, "worst", "not_longer"], rows)

    @property
    def _main(self) -> Table:
        return self.replays

    @property
    def plot(self) -> ReplayPlots:
        """Plots. Needs matplotlib."""
        from ._plot import ReplayPlots  # noqa: PLC0415

        return ReplayPlots(self._dict)

    def __repr__(self) -> str:
        return f"Replay({self._dict['name']!r}, {', '.join(each['with'] for each in self._dict['candidates'])})"


class _Text:
    """A result that is the command's JSON."""

    def __init__(self, text: str) -> None:
        self._json = text
        self._dict: dict[str, Any] = json.loads(text)

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self._json,)

    def to_json(self) -> str:
        """The command's output with ``--json``, byte for byte."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The command's JSON as a dictionary, in seconds, bits per second and bytes."""
        return json.loads(self._json)


class Live(_Text):
    """Result of :func:`roundelay.live`."""

    @property
    def is_valid(self) -> bool:
        """Whether you may use the figures."""
        return self._dict["verdict"]["is_valid"]

    @property
    def reasons(self) -> list[str]:
        """Why not, and what would mend it, a sentence each."""
        return self._dict["verdict"]["reasons"]

    @property
    def up(self) -> list[dict[str, Any]]:
        """The phases of the way up, from the near to the far end: ``conditions`` (queue and rate), ``books``, ``delay``, ``kinds``, ``flows``."""
        return self._dict["ways"][0]["phases"]

    @property
    def down(self) -> list[dict[str, Any]]:
        """The phases of the way down."""
        return self._dict["ways"][1]["phases"]

    def __repr__(self) -> str:
        verdict = "valid" if self.is_valid else "not to be used"
        return f"Live({self._dict['seconds']:.1f} s, {len(self.up)} phases up; {verdict})"


class Objective(_Text, _Tabled):
    """Result of :func:`roundelay.objective`. As Arrow: the table ``runs``."""

    @property
    def disciplines(self) -> list[str]:
        """The disciplines, in the order of the table: fifo, the specialist, lstf, then others."""
        return [each["queue"] for each in self._dict["disciplines"]]

    @property
    def figure(self) -> str:
        """What is compared: ``"completion"``, ``"delay_tail"``, ``"jain"``, ``"in_time"``."""
        return self._dict["figure"]

    @property
    def verdicts(self) -> dict[str, str]:
        """Whether lstf, and whether fifo, serves the objective as well as the specialist: ``"does"``, ``"does_not"`` or ``"cannot_tell"``."""
        return {name: self._dict[name]["answer"] for name in ("lstf", "fifo")}

    @property
    def verdict(self) -> str:
        """The answers in words."""
        return f"{self._dict['lstf']['sentence']} {self._dict['fifo']['sentence']}"

    @property
    def notes(self) -> list[str]:
        """Notes on the scenario."""
        return self._dict["notes"]

    @cached_property
    def runs(self) -> Table:
        """One row for each discipline and seed: ``queue``, ``seed``, the figure as ``value``, ``loss``,
        ``undelivered``, and the numbers of ``complete`` and ``incomplete`` flows.
        """
        names = ["seed", "value", "loss", "undelivered", "complete", "incomplete"]
        every = self._dict["disciplines"]
        return _table(["queue", *names], ([each["queue"], *(run[name] for name in names)] for each in every for run in each["replicas"]))

    @property
    def _main(self) -> Table:
        return self.runs

    def __repr__(self) -> str:
        return f"Objective({self._dict['name']!r}, {self._dict['measure']}: {', '.join(f'{name} {answer}' for name, answer in self.verdicts.items())})"

    def _repr_html_(self) -> str:
        """The disciplines, the best one bold, and the verdict. More is better for fairness and for packets in time."""
        means = [(each["value"] or {}).get("mean") for each in self._dict["disciplines"]]
        known = [mean for mean in means if mean is not None]
        best = None if not known else max(known) if self.figure in ("jain", "in_time") else min(known)
        rows: list[tuple[object, ...]] = []
        for each, mean in zip(self._dict["disciplines"], means, strict=True):
            half = (each["value"] or {}).get("half_width")
            rows.append((each["queue"], mean, None if half is None else f"±{half:.3g}"))
        return _grid(["discipline", self.figure, "95%"], rows, [mean == best for mean in means]) + f"<p>{escape(self.verdict)}</p>"


class Verification(_Text, _Tabled):
    """Result of :func:`roundelay.verify`. As Arrow: the table ``faults``."""

    @property
    def is_valid(self) -> bool:
        """Whether the log has no fault."""
        return not self._dict["faults"]

    @property
    def totals(self) -> dict[str, int]:
        """How many events and packets there were, with the packets' fates."""
        return self._dict["totals"]

    @property
    def checks(self) -> dict[str, int]:
        """Number of checks of each kind."""
        return self._dict["checks"]

    @cached_property
    def faults(self) -> Table:
        """The first faults, one for each link, and any that are not about a link.

        The columns are ``line`` of the log, ``what``, ``link`` by number or None, and ``wake``, the number of
        later lines with faults about the same link.
        """
        names = ["line", "what", "link", "wake"]
        return _table(names, ([each[name] for name in names] for each in self._dict["faults"]))

    @property
    def _main(self) -> Table:
        return self.faults

    def __repr__(self) -> str:
        found = "no fault" if self.is_valid else f"{len(self.faults)} faults, the first in line {self._dict['faults'][0]['line']}"
        return f"Verification({self.totals['events']} events, {found})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>" + ("" if self.is_valid else self.faults._repr_html_())


class Costs(_Text, _Tabled):
    """Result of :func:`roundelay.bench`. As Arrow: the table ``rows``."""

    @cached_property
    def rows(self) -> Table:
        """One row for each load and discipline.

        - ``flows``, ``pattern``, ``memory``, ``lengths``, ``burst``: the load.
        - ``queue``: the discipline, or ``none`` for the packet generator alone.
        - ``gross`` and ``net``: the cost of a packet in ns or instructions, with the generator's cost and
          without.
        - ``was``: the net cost in the file of ``against``.
        - ``sent``: the fraction of the packets that were sent.
        """
        load = ["flows", "pattern", "memory", "lengths", "burst"]
        rows = [
            [*(table[name] for name in load), row["subject"], row.get("ns", row.get("instructions")), row["net"], row.get("was"), row["sent"]]
            for table in self._dict["tables"]
            for row in table["a_packet"]
        ]
        return _table([*load, "queue", "gross", "net", "was", "sent"], rows)

    @property
    def _main(self) -> Table:
        return self.rows

    def __repr__(self) -> str:
        return f"Costs({len(self._dict['tables'])} loads, {len(self.rows)} rows)"

    def _repr_html_(self) -> str:
        """Net costs by discipline and load, the cheapest discipline of each load bold."""
        text = ""
        for table in self._dict["tables"]:
            rows = [(row["subject"], row["net"], row["sent"]) for row in table["a_packet"]]
            nets = [net for subject, net, _ in rows if subject != "none"]
            best = [subject != "none" and net == min(nets) for subject, net, _ in rows]
            title = f"{table['flows']} flows, {table['pattern']}, {table['memory']}"
            text += f"<h5>{escape(title)}</h5>" + _grid(["discipline", "net", "sent"], rows, best)
        return text


class Bounds(_Text, _Tabled):
    """Result of :func:`roundelay.bounds`: worst-case delays in seconds. As Arrow: the table ``flows``."""

    @property
    def delays(self) -> dict[str, dict[str, float | None]]:
        """Worst delay in seconds, by discipline and flow. None without a proof. Where the file sets the
        discipline of every link, the discipline is ``"delay"``.
        """
        flows = [flow["name"] for flow in self._dict["flows"]]
        every = self._dict["disciplines"]
        return {
            each["spec"] or "delay": dict(zip(flows, (one["delay"] for one in each["flows"]), strict=True))
            for each in every
        }

    @cached_property
    def flows(self) -> Table:
        """One row for each discipline and flow: ``queue``, ``flow``, and ``delay`` in seconds, None without a proof."""
        rows = ((queue, flow, delay) for queue, flows in self.delays.items() for flow, delay in flows.items())
        return _table(["queue", "flow", "delay"], rows)

    @property
    def _main(self) -> Table:
        return self.flows

    def __repr__(self) -> str:
        return f"Bounds({', '.join(self.delays)})"

    def _repr_html_(self) -> str:
        delays = self.delays
        flows = [flow["name"] for flow in self._dict["flows"]]
        return _grid(["flow", *delays], ([flow, *(_millis(each[flow]) for each in delays.values())] for flow in flows))


@dataclass(frozen=True, slots=True)
class PaperItem:
    """A table, figure or theorem of a paper."""

    #: Name of the paper in calls.
    paper: str
    #: Name of the item in calls.
    item: str
    #: Title of the paper.
    title: str
    #: Name in the paper: ``Figure 4``.
    label: str
    #: Description in a line.
    about: str
    #: Whether there is a plan to run.
    runs: bool


class PaperResult:
    """A run of a paper's item: published and own values, and a verdict for each claim."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._dict = found

    def to_dict(self) -> dict[str, Any]:
        """The command's JSON as a dictionary."""
        return self._dict

    @property
    def label(self) -> str:
        """Name in the paper: ``Figure 4``."""
        return self._dict["label"]

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of each claim."""
        return {claim["claim"]: claim["verdict"] for claim in self._dict["claims"]}

    def __repr__(self) -> str:
        return f"PaperResult({self._dict['paper']} {self._dict['item']}: {', '.join(self.verdicts.values())})"

    def _repr_html_(self) -> str:
        claims = _grid(["claim", "verdict"], self.verdicts.items())
        names = ["figure", "published", "ours", "ratio"]
        return claims + _grid(names, ([row.get(name) for name in names] for row in self._dict["comparison"]))
