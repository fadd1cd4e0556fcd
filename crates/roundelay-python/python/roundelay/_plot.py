"""Plots of results with matplotlib. The first plot imports it."""

from __future__ import annotations

from typing import Any

from ._curves import Curve, delays, of_groups, of_links, swept
from ._extras import needs


def _axes(ax: Any, title: str, x: str, y: str) -> Any:
    if ax is None:
        with needs("plot"):
            import matplotlib.pyplot  # noqa: PLC0415

        _, ax = matplotlib.pyplot.subplots()
    ax.set(title=title, xlabel=x, ylabel=y)
    return ax


class ComparisonPlots:
    """Plots of a comparison. Each returns matplotlib's axes. Pass ``ax`` to draw into existing ones."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def _curves(self, light: bool) -> list[tuple[str, dict[str, Any]]]:
        which = "light_curves" if light else "curves"
        return [(each["spec"], each[which]) for each in self._result["disciplines"]]

    def delay_cdf(self, ax: Any = None, *, light: bool = False) -> Any:
        """Distribution of packet delays, in milliseconds. ``light`` shows only the light flows."""
        ax = _axes(ax, "Delay of light flows" if light else "Delay of all packets", "delay (ms)", "fraction of packets")
        for name, curves in self._curves(light):
            points = curves["delay_cdf"]
            ax.step([delay * 1e3 for delay, _ in points], [part for _, part in points], where="post", label=name)
        ax.set_xscale("log")
        ax.legend()
        return ax

    def _over_time(self, ax: Any, which: str, scale: float, light: bool) -> Any:
        for name, curves in self._curves(light):
            bins = curves[which]
            ax.plot([place * curves["bin"] for place in range(len(bins))], [each * scale for each in bins], label=name)
        ax.legend()
        return ax

    def throughput(self, ax: Any = None, *, light: bool = False) -> Any:
        """Throughput over time, in Mbit/s."""
        return self._over_time(_axes(ax, "Throughput", "time (s)", "Mbit/s"), "throughput", 1e-6, light)

    def backlog(self, ax: Any = None, *, light: bool = False) -> Any:
        """Mean backlog over time, in kB."""
        return self._over_time(_axes(ax, "Backlog", "time (s)", "kB"), "backlog", 1e-3, light)

    def delay(self, ax: Any = None) -> Any:
        """The 99th percentile of delay over the light flows' packets, by discipline, in milliseconds."""
        ax = _axes(ax, "99th percentile of delay, light flows", "", "ms")
        bars = [(each["spec"], (each["light"]["delay"] or {}).get("p99")) for each in self._result["disciplines"]]
        known = [(name, p99 * 1e3) for name, p99 in bars if p99 is not None]
        ax.bar([name for name, _ in known], [p99 for _, p99 in known])
        return ax


class SimulationPlots:
    """Plots of a simulation. Each returns matplotlib's axes. Pass ``ax`` to draw into existing ones."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def _bars(self, ax: Any, figure: str, scale: float) -> Any:
        known = [(each["name"], each[figure]) for each in self._result["summary"]["groups"] if each[figure] is not None]
        means = [interval["mean"] * scale for _, interval in known]
        # One run has no interval.
        half = [(interval["half_width"] or 0.0) * scale for _, interval in known]
        ax.bar([name for name, _ in known], means, yerr=half if any(half) else None, capsize=4)
        return ax

    def throughput(self, ax: Any = None) -> Any:
        """Throughput of each source, in Mbit/s, with 95% confidence intervals over the replicas."""
        return self._bars(_axes(ax, "Throughput", "", "Mbit/s"), "throughput", 1e-6)

    def delay(self, ax: Any = None) -> Any:
        """The 99th percentile of delay of each source, in milliseconds, with 95% confidence intervals."""
        return self._bars(_axes(ax, "99th percentile of delay", "", "ms"), "delay_p99", 1e3)

    def loss(self, ax: Any = None) -> Any:
        """Lost packets of each source, in percent, with 95% confidence intervals."""
        return self._bars(_axes(ax, "Loss", "", "%"), "loss", 100.0)


    def _lines(self, ax: Any, curves: list[Curve]) -> Any:
        for name, places, values in curves:
            ax.plot(places, [float("nan") if value is None else value for value in values], label=name)
        ax.legend()
        return ax

    def throughput_over_time(self, ax: Any = None) -> Any:
        """Throughput of each source over time in the first replica, in Mbit/s. Needs ``[meter] over_time = true``."""
        curves = of_groups(self._result, "throughput", 1e-6)
        return self._lines(_axes(ax, "Throughput", "time (s)", "Mbit/s"), curves)

    def delay_over_time(self, ax: Any = None) -> Any:
        """Mean delay of each source over time in the first replica, in milliseconds. Needs ``[meter] over_time = true``."""
        curves = of_groups(self._result, "delay_mean", 1e3)
        return self._lines(_axes(ax, "Delay", "time (s)", "ms"), curves)

    def wait(self, ax: Any = None) -> Any:
        """Mean wait over time in the queue of each link between routers in the first replica, in milliseconds.
        Needs ``[meter] over_time = true``.
        """
        curves = of_links(self._result, "wait_mean", 1e3)
        return self._lines(_axes(ax, "Wait", "time (s)", "ms"), curves)

    def backlog(self, ax: Any = None) -> Any:
        """Backlog over time of each link between routers in the first replica, in kB. Needs ``[meter] over_time = true``."""
        curves = of_links(self._result, "backlog", 1e-3)
        return self._lines(_axes(ax, "Backlog", "time (s)", "kB"), curves)

    def delay_cdf(self, ax: Any = None) -> Any:
        """Distribution of each source's delays in the first replica, in milliseconds. Needs ``[meter] over_time = true``."""
        curves = delays(self._result)
        ax = _axes(ax, "Delay", "delay (ms)", "fraction of packets")
        for name, places, parts in curves:
            ax.step(places, parts, where="post", label=name)
        ax.set_xscale("log")
        ax.legend()
        return ax


class SweepPlots:
    """Plots of a sweep. Each returns matplotlib's axes. Pass ``ax`` to draw into existing ones."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    def figure(self, figure: str, ax: Any = None, *, x: str | None = None, by: str | None = None, source: str = "all") -> Any:
        """A figure over the values of a key: means over the seeds with 95% confidence intervals.

        ``x`` is the key along the axis, by default the last one swept. Each value of another key, ``by``,
        gets a line. ``source`` takes the figure of this source.
        """
        x, means = swept(self._columns, figure, x, by, source)
        ax = _axes(ax, figure, x, figure)
        for name in dict.fromkeys(mean.by for mean in means):
            mine = [mean for mean in means if mean.by == name]
            # Texts are categories.
            places = [mean.x if isinstance(mean.x, int | float) else str(mean.x) for mean in mine]
            half = [mean.half or 0.0 for mean in mine]
            ax.errorbar(places, [mean.mean for mean in mine], yerr=half if any(half) else None, marker="o", capsize=4, label=name or figure)
        ax.legend()
        return ax


class ReplayPlots:
    """Plots of a replay. Each returns matplotlib's axes. Pass ``ax`` to draw into existing ones."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def overdue(self, ax: Any = None) -> Any:
        """The fraction of packets that leave later than recorded, by discipline: the mean over the replicas."""
        ax = _axes(ax, "Overdue packets", "", "fraction")
        bars = [(each["with"], each["drained"]["overdue"]["mean"]) for each in self._result["candidates"]]
        ax.bar([name for name, _ in bars], [part for _, part in bars])
        return ax
