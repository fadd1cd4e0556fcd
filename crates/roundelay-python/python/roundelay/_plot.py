"""Plots of results with matplotlib, which is imported by the first plot."""

from __future__ import annotations

from typing import Any

from ._extras import needs


def _axes(ax: Any, title: str, x: str, y: str) -> Any:
    if ax is None:
        with needs("plot"):
            import matplotlib.pyplot  # noqa: PLC0415

        _, ax = matplotlib.pyplot.subplots()
    ax.set(title=title, xlabel=x, ylabel=y)
    return ax


class ComparisonPlots:
    """Plots of a comparison. Each returns matplotlib's axes; ``ax`` draws into existing ones."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def _curves(self, light: bool) -> list[tuple[str, dict[str, Any]]]:
        which = "light_curves" if light else "curves"
        return [(each["spec"], each[which]) for each in self._result["disciplines"]]

    def delay_cdf(self, ax: Any = None, *, light: bool = False) -> Any:
        """Distribution of packet delays, in milliseconds. ``light``: of the light flows only."""
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
        """The 99th percentile of delay over the packets of light flows, by discipline, in milliseconds."""
        ax = _axes(ax, "99th percentile of delay, light flows", "", "ms")
        bars = [(each["spec"], (each["light"]["delay"] or {}).get("p99")) for each in self._result["disciplines"]]
        known = [(name, p99 * 1e3) for name, p99 in bars if p99 is not None]
        ax.bar([name for name, _ in known], [p99 for _, p99 in known])
        return ax


class SimulationPlots:
    """Plots of a simulation. Each returns matplotlib's axes; ``ax`` draws into existing ones."""

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


class ReplayPlots:
    """Plots of a replay. Each returns matplotlib's axes; ``ax`` draws into existing ones."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def overdue(self, ax: Any = None) -> Any:
        """The fraction of packets that leave later than recorded, by discipline: mean of the replicas."""
        ax = _axes(ax, "Overdue packets", "", "fraction")
        bars = [(each["with"], each["drained"]["overdue"]["mean"]) for each in self._result["candidates"]]
        ax.bar([name for name, _ in bars], [part for _, part in bars])
        return ax
