"""Interactive charts of results with Altair, with tooltips. The first chart imports Altair."""

from __future__ import annotations

from typing import Any

from ._extras import needs
from ._pictures import Bars, Lines, compared_delays, compared_over_time, compared_p99, links_over_time, of_sources, source_delays, sources_over_time, swept


def _lines(picture: Lines) -> Any:
    with needs("altair"):
        import altair  # noqa: PLC0415

    rows = [{"name": name, "x": x, "y": y} for name, places, values in picture.curves for x, y in zip(places, values, strict=True)]
    scale = altair.Scale(type="log") if picture.is_distribution else altair.Scale()
    chart = altair.Chart(altair.Data(values=rows), title=picture.title)
    return chart.mark_line(interpolate="step-after" if picture.is_distribution else "linear").encode(
        x=altair.X("x:Q", title=picture.x, scale=scale), y=altair.Y("y:Q", title=picture.y), color=altair.Color("name:N", title=None), tooltip=["name:N", "x:Q", "y:Q"]
    )


def _interval(mean: float, half: float | None) -> dict[str, float]:
    return {} if half is None else {"low": mean - half, "high": mean + half}


def _bars(picture: Bars) -> Any:
    with needs("altair"):
        import altair  # noqa: PLC0415

    rows = [{"name": name, "y": value, **_interval(value, half)} for name, value, half in picture.bars]
    base = altair.Chart(altair.Data(values=rows), title=picture.title).encode(x=altair.X("name:N", title=None, sort=None))
    bars = base.mark_bar().encode(y=altair.Y("y:Q", title=picture.y), tooltip=["name:N", "y:Q"])
    if not any("low" in row for row in rows):
        return bars
    return bars + base.mark_rule(color="black").encode(y="low:Q", y2="high:Q")


class ComparisonCharts:
    """Charts of a comparison. Each returns an Altair chart. ``light`` shows only the light flows."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def delay_cdf(self, *, light: bool = False) -> Any:
        """Distribution of packet delays, in milliseconds."""
        return _lines(compared_delays(self._result, light))

    def throughput(self, *, light: bool = False) -> Any:
        """Throughput over time, in Mbit/s."""
        return _lines(compared_over_time(self._result, "throughput", light))

    def backlog(self, *, light: bool = False) -> Any:
        """Mean backlog over time, in kB."""
        return _lines(compared_over_time(self._result, "backlog", light))

    def delay(self) -> Any:
        """The 99th percentile of delay over the light flows' packets, by discipline, in milliseconds."""
        return _bars(compared_p99(self._result))


class SimulationCharts:
    """Charts of a simulation by source, with 95% confidence intervals over the replicas. Each returns an Altair chart."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def throughput(self) -> Any:
        """Throughput of each source, in Mbit/s."""
        return _bars(of_sources(self._result, "throughput"))

    def delay(self) -> Any:
        """The 99th percentile of delay of each source, in milliseconds."""
        return _bars(of_sources(self._result, "delay_p99"))

    def loss(self) -> Any:
        """Lost packets of each source, in percent."""
        return _bars(of_sources(self._result, "loss"))

    def throughput_over_time(self) -> Any:
        """Throughput of each source over time in the first replica, in Mbit/s. Needs ``[meter] over_time = true``."""
        return _lines(sources_over_time(self._result, "throughput"))

    def delay_over_time(self) -> Any:
        """Mean delay of each source over time in the first replica, in milliseconds. Needs ``[meter] over_time = true``."""
        return _lines(sources_over_time(self._result, "delay_mean"))

    def wait(self) -> Any:
        """Mean wait over time in the queue of each link between routers in the first replica, in milliseconds.
        Needs ``[meter] over_time = true``.
        """
        return _lines(links_over_time(self._result, "wait_mean"))

    def backlog(self) -> Any:
        """Backlog over time of each link between routers in the first replica, in kB. Needs ``[meter] over_time = true``."""
        return _lines(links_over_time(self._result, "backlog"))

    def delay_cdf(self) -> Any:
        """Distribution of each source's delays in the first replica, in milliseconds. Needs ``[meter] over_time = true``."""
        return _lines(source_delays(self._result))


class SweepCharts:
    """Charts of a sweep. Each returns an Altair chart."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    def figure(self, figure: str, *, x: str | None = None, by: str | None = None, source: str = "all") -> Any:
        """A figure over the values of a key, as :meth:`SweepPlots.figure` draws it."""
        with needs("altair"):
            import altair  # noqa: PLC0415

        x, means = swept(self._columns, figure, x, by, source)
        rows = [{"name": mean.by or figure, "x": mean.x, "y": mean.mean, **_interval(mean.mean, mean.half)} for mean in means]
        kind = "Q" if all(isinstance(row["x"], int | float) for row in rows) else "N"
        base = altair.Chart(altair.Data(values=rows), title=figure).encode(x=altair.X(f"x:{kind}", title=x, sort=None), color=altair.Color("name:N", title=None))
        lines = base.mark_line(point=True).encode(y=altair.Y("y:Q", title=figure), tooltip=["name:N", f"x:{kind}", "y:Q"])
        if not any("low" in row for row in rows):
            return lines
        return lines + base.mark_rule().encode(y="low:Q", y2="high:Q")
