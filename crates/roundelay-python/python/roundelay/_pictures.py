"""What plots and charts draw: titles, axes and values of each picture."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from ._errors import UsageError

#: Quantiles of Student's distribution for a 95% interval, by degrees of freedom from 1 on.
_STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086]


class Curve(NamedTuple):
    """A named line: places and values."""

    name: str
    x: list[float]
    y: list[float | None]


class Lines(NamedTuple):
    """A picture of curves, with its axes."""

    title: str
    x: str
    y: str
    curves: list[Curve]
    #: A distribution: steps over a logarithmic axis.
    is_distribution: bool = False


class Bar(NamedTuple):
    """A named value, and half its 95% interval if it has one."""

    name: str
    value: float
    half: float | None = None


class Bars(NamedTuple):
    """A picture of values side by side."""

    title: str
    y: str
    bars: list[Bar]


class Axis(NamedTuple):
    """How a figure is drawn: its title, its unit, and how many of the unit its own unit is."""

    title: str
    unit: str
    scale: float


_OVER_TIME = {
    "throughput": Axis("Throughput", "Mbit/s", 1e-6),
    "backlog": Axis("Backlog", "kB", 1e-3),
    "delay_mean": Axis("Delay", "ms", 1e3),
    "wait_mean": Axis("Wait", "ms", 1e3),
}

_OF_SOURCES = {
    "throughput": Axis("Throughput", "Mbit/s", 1e-6),
    "delay_p99": Axis("99th percentile of delay", "ms", 1e3),
    "loss": Axis("Loss", "%", 100.0),
}


def _curve(name: str, step: float, values: list[float | None], scale: float) -> Curve:
    scaled = [None if value is None else value * scale for value in values]
    return Curve(name, [place * step for place in range(len(scaled))], scaled)


def _distribution(title: str, points: list[tuple[str, list[list[float]]]]) -> Lines:
    """Distributions of delays. A logarithmic axis has no zero."""
    curves: list[Curve] = []
    for name, pairs in points:
        later = [(delay * 1e3, part) for delay, part in pairs if delay > 0]
        curves.append(Curve(name, [delay for delay, _ in later], [part for _, part in later]))
    return Lines(title, "delay (ms)", "fraction of packets", curves, is_distribution=True)


def _compared(result: Mapping[str, Any], light: bool) -> list[tuple[str, dict[str, Any]]]:
    which = "light_curves" if light else "curves"
    return [(each["spec"], each[which]) for each in result["disciplines"]]


def compared_delays(result: Mapping[str, Any], light: bool) -> Lines:
    """The distribution of delays under each discipline."""
    title = "Delay of light flows" if light else "Delay of all packets"
    return _distribution(title, [(name, curves["delay_cdf"]) for name, curves in _compared(result, light)])


def compared_over_time(result: Mapping[str, Any], which: str, light: bool) -> Lines:
    """A figure over time under each discipline."""
    title, unit, scale = _OVER_TIME[which]
    curves = [_curve(name, curves["bin"], curves[which], scale) for name, curves in _compared(result, light)]
    return Lines(title, "time (s)", unit, curves)


def compared_p99(result: Mapping[str, Any]) -> Bars:
    """The light flows' p99 delay under each discipline."""
    bars = [(each["spec"], (each["light"]["delay"] or {}).get("p99")) for each in result["disciplines"]]
    return Bars("99th percentile of delay, light flows", "ms", [Bar(name, p99 * 1e3) for name, p99 in bars if p99 is not None])


def of_sources(result: Mapping[str, Any], which: str) -> Bars:
    """A figure of each source: means over the replicas. One run has no interval."""
    title, unit, scale = _OF_SOURCES[which]
    bars: list[Bar] = []
    for each in result["summary"]["groups"]:
        if each[which] is not None:
            half = each[which]["half_width"]
            bars.append(Bar(each["name"], each[which]["mean"] * scale, None if half is None else half * scale))
    return Bars(title, unit, bars)


def _over_time(result: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first replica, and its curves."""
    run = result["replicas"][0]
    if run.get("over_time") is None:
        raise UsageError("curves of a simulation: expected [meter] over_time = true in the scenario", status=2, legal="[meter] over_time = true")
    return run, run["over_time"]


def sources_over_time(result: Mapping[str, Any], which: str) -> Lines:
    """A figure over time of each group of sources of the first replica."""
    run, curves = _over_time(result)
    title, unit, scale = _OVER_TIME[which]
    groups = zip(run["groups"], curves["groups"], strict=False)
    return Lines(title, "time (s)", unit, [_curve(group["name"], curves["step"], values[which], scale) for group, values in groups])


def links_over_time(result: Mapping[str, Any], which: str) -> Lines:
    """A figure over time of each link between routers of the first replica, or of each link if there are none."""
    run, curves = _over_time(result)
    title, unit, scale = _OVER_TIME[which]
    both = list(zip(run["links"], curves["links"], strict=True))
    links = [(link, values) for link, values in both if link["class"] == "core"] or both
    return Lines(title, "time (s)", unit, [_curve(f"{link['from']} > {link['to']}", curves["step"], values[which], scale) for link, values in links])


def source_delays(result: Mapping[str, Any]) -> Lines:
    """The distribution of each group's delays in the first replica."""
    run, curves = _over_time(result)
    groups = zip(run["groups"], curves["groups"], strict=False)
    return _distribution("Delay", [(group["name"], values["delay"]) for group, values in groups])


class Mean(NamedTuple):
    """A figure at a point of a sweep: the mean over the seeds, and half the 95% interval if there are several."""

    by: str
    x: Any
    mean: float
    half: float | None


def swept(columns: Mapping[str, list[Any]], figure: str, x: str | None, by: str | None, source: str) -> tuple[str, list[Mean]]:
    """The name of the horizontal axis, and the means of a figure over one or two keys."""
    names = list(columns)
    keys = names[: names.index("identity")]
    figures = names[names.index("source") + 1 :]
    _known("figure", figure, figures)
    _known("source", source, list(dict.fromkeys(columns["source"])))
    x = keys[-1] if x is None else x
    _known("x", x, keys)
    if by is None:
        others = [key for key in keys if key != x]
        by = others[0] if others else None
    if by is not None:
        _known("by", by, keys)
    points: dict[tuple[Any, Any], list[float]] = {}
    for row, value in enumerate(columns[figure]):
        if columns["source"][row] == source and value is not None:
            points.setdefault(("" if by is None else columns[by][row], columns[x][row]), []).append(value)
    found: list[Mean] = []
    for (name, place), values in points.items():
        half = None
        if len(values) > 1:
            quantile = _STUDENT[min(len(values) - 1, len(_STUDENT)) - 1] if len(values) - 1 <= len(_STUDENT) else 1.96
            half = quantile * statistics.stdev(values) / len(values) ** 0.5
        found.append(Mean(str(name), place, statistics.fmean(values), half))
    return x, found


def _known(name: str, given: str, known: list[str]) -> None:
    if given not in known:
        raise UsageError(f"{name}={given!r}: expected one of {', '.join(known)}", status=2, given=given, legal=", ".join(known))
