"""Interactive charts of results with Altair, with tooltips. The first chart imports Altair."""

from __future__ import annotations

from typing import Any

from ._curves import Curve, delays, of_groups, of_links, swept
from ._extras import needs


def _lines(rows: list[dict[str, Any]], title: str, x: str, y: str, log: bool = False, step: bool = False) -> Any:
    with needs("altair"):
        import altair  # noqa: PLC0415

    scale = altair.Scale(type="log") if log else altair.Scale()
    chart = altair.Chart(altair.Data(values=rows), title=title)
    return chart.mark_line(interpolate="step-after" if step else "linear").encode(
        x=altair.X("x:Q", title=x, scale=scale), y=altair.Y("y:Q", title=y), color=altair.Color("name:N", title=None), tooltip=["name:N", "x:Q", "y:Q"]
    )


def _bars(rows: list[dict[str, Any]], title: str, y: str) -> Any:
    with needs("altair"):
        import altair  # noqa: PLC0415

    base = altair.Chart(altair.Data(values=rows), title=title).encode(x=altair.X("name:N", title=None, sort=None))
    bars = base.mark_bar().encode(y=altair.Y("y:Q", title=y), tooltip=["name:N", "y:Q"])
    if not any("low" in row for row in rows):
        return bars
    return bars + base.mark_rule(color="black").encode(y="low:Q", y2="high:Q")


class ComparisonCharts:
    """Charts of a comparison. Each returns an Altair chart. ``light`` shows only the light flows."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def _curves(self, light: bool) -> list[tuple[str, dict[str, Any]]]:
        which = "light_curves" if light else "curves"
        return [(each["spec"], each[which]) for each in self._result["disciplines"]]

    def delay_cdf(self, *, light: bool = False) -> Any:
        """Distribution of packet delays, in milliseconds."""
        # A logarithmic axis has no zero.
        points = [(name, delay * 1e3, part) for name, curves in self._curves(light) for delay, part in curves["delay_cdf"] if delay > 0]
        rows = [{"name": name, "x": delay, "y": part} for name, delay, part in points]
        title = "Delay of light flows" if light else "Delay of all packets"
        return _lines(rows, title, "delay (ms)", "fraction of packets", log=True, step=True)

    def _over_time(self, which: str, scale: float, title: str, y: str, light: bool) -> Any:
        curves = self._curves(light)
        rows = [{"name": name, "x": place * curve["bin"], "y": each * scale} for name, curve in curves for place, each in enumerate(curve[which])]
        return _lines(rows, title, "time (s)", y)

    def throughput(self, *, light: bool = False) -> Any:
        """Throughput over time, in Mbit/s."""
        return self._over_time("throughput", 1e-6, "Throughput", "Mbit/s", light)

    def backlog(self, *, light: bool = False) -> Any:
        """Mean backlog over time, in kB."""
        return self._over_time("backlog", 1e-3, "Backlog", "kB", light)

    def delay(self) -> Any:
        """The 99th percentile of delay over the light flows' packets, by discipline, in milliseconds."""
        bars = [(each["spec"], (each["light"]["delay"] or {}).get("p99")) for each in self._result["disciplines"]]
        rows = [{"name": name, "y": p99 * 1e3} for name, p99 in bars if p99 is not None]
        return _bars(rows, "99th percentile of delay, light flows", "ms")


class SimulationCharts:
    """Charts of a simulation by source, with 95% confidence intervals over the replicas. Each returns an Altair chart."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def _figure(self, figure: str, scale: float, title: str, y: str) -> Any:
        rows: list[dict[str, Any]] = []
        for each in self._result["summary"]["groups"]:
            if each[figure] is None:
                continue
            mean, half = each[figure]["mean"] * scale, each[figure]["half_width"]
            interval = {} if half is None else {"low": mean - half * scale, "high": mean + half * scale}
            rows.append({"name": each["name"], "y": mean, **interval})
        return _bars(rows, title, y)

    def throughput(self) -> Any:
        """Throughput of each source, in Mbit/s."""
        return self._figure("throughput", 1e-6, "Throughput", "Mbit/s")

    def delay(self) -> Any:
        """The 99th percentile of delay of each source, in milliseconds."""
        return self._figure("delay_p99", 1e3, "99th percentile of delay", "ms")

    def loss(self) -> Any:
        """Lost packets of each source, in percent."""
        return self._figure("loss", 100.0, "Loss", "%")

    def throughput_over_time(self) -> Any:
        """Throughput of each source over time in the first replica, in Mbit/s. Needs ``[meter] over_time = true``."""
        return _lines(_rows(of_groups(self._result, "throughput", 1e-6)), "Throughput", "time (s)", "Mbit/s")

    def delay_over_time(self) -> Any:
        """Mean delay of each source over time in the first replica, in milliseconds. Needs ``[meter] over_time = true``."""
        return _lines(_rows(of_groups(self._result, "delay_mean", 1e3)), "Delay", "time (s)", "ms")

    def wait(self) -> Any:
        """Mean wait over time in the queue of each link between routers in the first replica, in milliseconds.
        Needs ``[meter] over_time = true``.
        """
        return _lines(_rows(of_links(self._result, "wait_mean", 1e3)), "Wait", "time (s)", "ms")

    def backlog(self) -> Any:
        """Backlog over time of each link between routers in the first replica, in kB. Needs ``[meter] over_time = true``."""
        return _lines(_rows(of_links(self._result, "backlog", 1e-3)), "Backlog", "time (s)", "kB")

    def delay_cdf(self) -> Any:
        """Distribution of each source's delays in the first replica, in milliseconds. Needs ``[meter] over_time = true``."""
        # A logarithmic axis has no zero.
        rows = [row for row in _rows(delays(self._result)) if row["x"] > 0]
        return _lines(rows, "Delay", "delay (ms)", "fraction of packets", log=True, step=True)


def _rows(curves: list[Curve]) -> list[dict[str, Any]]:
    return [{"name": name, "x": x, "y": y} for name, places, values in curves for x, y in zip(places, values, strict=True)]


class SweepCharts:
    """Charts of a sweep. Each returns an Altair chart."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    def figure(self, figure: str, *, x: str | None = None, by: str | None = None, source: str = "all") -> Any:
        """A figure over the values of a key, as :meth:`SweepPlots.figure` draws it."""
        with needs("altair"):
            import altair  # noqa: PLC0415

        x, means = swept(self._columns, figure, x, by, source)
        rows: list[dict[str, Any]] = []
        for mean in means:
            interval = {} if mean.half is None else {"low": mean.mean - mean.half, "high": mean.mean + mean.half}
            rows.append({"name": mean.by or figure, "x": mean.x, "y": mean.mean, **interval})
        kind = "Q" if all(isinstance(row["x"], int | float) for row in rows) else "N"
        base = altair.Chart(altair.Data(values=rows), title=figure).encode(x=altair.X(f"x:{kind}", title=x, sort=None), color=altair.Color("name:N", title=None))
        lines = base.mark_line(point=True).encode(y=altair.Y("y:Q", title=figure), tooltip=["name:N", f"x:{kind}", "y:Q"])
        if not any("low" in row for row in rows):
            return lines
        return lines + base.mark_rule().encode(y="low:Q", y2="high:Q")
