"""Plots of results with matplotlib. The first plot imports it."""

from __future__ import annotations

from typing import Any

from ._extras import needs
from ._pictures import Bar, Bars, Lines, compared_delays, compared_over_time, compared_p99, links_over_time, of_sources, source_delays, sources_over_time, swept


def _axes(ax: Any, title: str, x: str, y: str) -> Any:
    if ax is None:
        with needs("plot"):
            import matplotlib.pyplot  # noqa: PLC0415

        _, ax = matplotlib.pyplot.subplots()
    ax.set(title=title, xlabel=x, ylabel=y)
    return ax


def _lines(ax: Any, picture: Lines) -> Any:
    ax = _axes(ax, picture.title, picture.x, picture.y)
    for name, places, values in picture.curves:
        known = [float("nan") if value is None else value for value in values]
        if picture.is_distribution:
            ax.step(places, known, where="post", label=name)
        else:
            ax.plot(places, known, label=name)
    if picture.is_distribution:
        ax.set_xscale("log")
    ax.legend()
    return ax


def _bars(ax: Any, picture: Bars) -> Any:
    ax = _axes(ax, picture.title, "", picture.y)
    half = [bar.half or 0.0 for bar in picture.bars]
    ax.bar([bar.name for bar in picture.bars], [bar.value for bar in picture.bars], yerr=half if any(half) else None, capsize=4)
    return ax


class ComparisonPlots:
    """Plots of a comparison. Each returns matplotlib's axes. Pass ``ax`` to draw into existing ones."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def delay_cdf(self, ax: Any = None, *, light: bool = False) -> Any:
        """Distribution of packet delays, in milliseconds. ``light`` shows only the light flows."""
        return _lines(ax, compared_delays(self._result, light))

    def throughput(self, ax: Any = None, *, light: bool = False) -> Any:
        """Throughput over time, in Mbit/s."""
        return _lines(ax, compared_over_time(self._result, "throughput", light))

    def backlog(self, ax: Any = None, *, light: bool = False) -> Any:
        """Mean backlog over time, in kB."""
        return _lines(ax, compared_over_time(self._result, "backlog", light))

    def delay(self, ax: Any = None) -> Any:
        """The 99th percentile of delay over the light flows' packets, by discipline, in milliseconds."""
        return _bars(ax, compared_p99(self._result))


class SimulationPlots:
    """Plots of a simulation. Each returns matplotlib's axes. Pass ``ax`` to draw into existing ones."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def throughput(self, ax: Any = None) -> Any:
        """Throughput of each source, in Mbit/s, with 95% confidence intervals over the replicas."""
        return _bars(ax, of_sources(self._result, "throughput"))

    def delay(self, ax: Any = None) -> Any:
        """The 99th percentile of delay of each source, in milliseconds, with 95% confidence intervals."""
        return _bars(ax, of_sources(self._result, "delay_p99"))

    def loss(self, ax: Any = None) -> Any:
        """Lost packets of each source, in percent, with 95% confidence intervals."""
        return _bars(ax, of_sources(self._result, "loss"))

    def throughput_over_time(self, ax: Any = None) -> Any:
        """Throughput of each source over time in the first replica, in Mbit/s. Needs ``[meter] over_time = true``."""
        return _lines(ax, sources_over_time(self._result, "throughput"))

    def delay_over_time(self, ax: Any = None) -> Any:
        """Mean delay of each source over time in the first replica, in milliseconds. Needs ``[meter] over_time = true``."""
        return _lines(ax, sources_over_time(self._result, "delay_mean"))

    def wait(self, ax: Any = None) -> Any:
        """Mean wait over time in the queue of each link between routers in the first replica, in milliseconds.
        Needs ``[meter] over_time = true``.
        """
        return _lines(ax, links_over_time(self._result, "wait_mean"))

    def backlog(self, ax: Any = None) -> Any:
        """Backlog over time of each link between routers in the first replica, in kB. Needs ``[meter] over_time = true``."""
        return _lines(ax, links_over_time(self._result, "backlog"))

    def delay_cdf(self, ax: Any = None) -> Any:
        """Distribution of each source's delays in the first replica, in milliseconds. Needs ``[meter] over_time = true``."""
        return _lines(ax, source_delays(self._result))


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
        bars = [Bar(each["with"], each["drained"]["overdue"]["mean"]) for each in self._result["candidates"]]
        return _bars(ax, Bars("Overdue packets", "fraction", bars))
