"""Charts with Altair: the data of the result, in valid specifications."""

from __future__ import annotations

import pytest

import roundelay as rd
from conftest import CAPTURE, SMALL


@pytest.fixture(scope="module")
def compared() -> rd.Comparison:
    return rd.compare(CAPTURE, "5mbit", ["fifo", "qfq"])


def values(chart) -> list[dict]:
    """The chart's rows; to_dict checks the specification by Vega-Lite's schema."""
    told = chart.to_dict()
    return told["data"]["values"] if "values" in told["data"] else next(iter(told["datasets"].values()))


@pytest.mark.parametrize("light", [False, True])
def test_distributions_of_delay(compared, light):
    rows = values(compared.chart.delay_cdf(light=light))
    for each in compared.to_dict()["disciplines"]:
        curve = each["light_curves" if light else "curves"]["delay_cdf"]
        mine = [row for row in rows if row["name"] == each["spec"]]
        assert [row["y"] for row in mine] == [part for delay, part in curve if delay > 0] and len(mine) > 10


def test_curves_over_time(compared):
    chart = compared.chart
    for draw, which, scale in [(chart.throughput, "throughput", 1e-6), (chart.backlog, "backlog", 1e-3)]:
        bins = compared.to_dict()["disciplines"][1]["curves"][which]
        assert [row["y"] for row in values(draw()) if row["name"] == "qfq"] == [each * scale for each in bins]


def test_delay_by_discipline(compared):
    told = {row["name"]: row["y"] for row in values(compared.chart.delay())}
    assert told == {each["spec"]: each["light"]["delay"]["p99"] * 1e3 for each in compared.to_dict()["disciplines"]}


def test_simulations_have_intervals_over_replicas():
    one, three = rd.simulate(SMALL), rd.simulate(SMALL, replicas=3)
    assert "layer" not in one.chart.throughput().to_dict()
    for draw, figure, scale in [(three.chart.throughput, "throughput", 1e-6), (three.chart.delay, "delay_p99", 1e3), (three.chart.loss, "loss", 100.0)]:
        told = draw().to_dict()
        assert len(told["layer"]) == 2
        group = three.to_dict()["summary"]["groups"][0]
        row = values(draw())[0]
        assert row["name"] == group["name"] and row["y"] == group[figure]["mean"] * scale
        assert row["low"] == pytest.approx(row["y"] - group[figure]["half_width"] * scale)
