"""Data of plots and charts: curves of a simulation over time, figures of a sweep by its keys."""

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


def _over_time(result: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first replica, and its curves."""
    run = result["replicas"][0]
    if run.get("over_time") is None:
        raise UsageError("curves of a simulation: expected [meter] over_time = true in the scenario", status=2, legal="[meter] over_time = true")
    return run, run["over_time"]


def of_groups(result: Mapping[str, Any], which: str, scale: float) -> list[Curve]:
    """A curve for each group of sources of the first replica."""
    run, curves = _over_time(result)
    found: list[Curve] = []
    for group, values in zip(run["groups"], curves["groups"], strict=False):
        scaled = [None if value is None else value * scale for value in values[which]]
        found.append(Curve(group["name"], [place * curves["step"] for place in range(len(scaled))], scaled))
    return found


def of_links(result: Mapping[str, Any], which: str, scale: float) -> list[Curve]:
    """A curve for each link between routers of the first replica, or for each link if there are none."""
    run, curves = _over_time(result)
    both = list(zip(run["links"], curves["links"], strict=True))
    core = [(link, values) for link, values in both if link["class"] == "core"]
    found: list[Curve] = []
    for link, values in core or both:
        scaled = [None if value is None else value * scale for value in values[which]]
        found.append(Curve(f"{link['from']} > {link['to']}", [place * curves["step"] for place in range(len(scaled))], scaled))
    return found


def delays(result: Mapping[str, Any]) -> list[Curve]:
    """The distribution of each group's delays, in milliseconds."""
    run, curves = _over_time(result)
    found: list[Curve] = []
    for group, values in zip(run["groups"], curves["groups"], strict=False):
        points = values["delay"]
        found.append(Curve(group["name"], [delay * 1e3 for delay, _ in points], [part for _, part in points]))
    return found


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
