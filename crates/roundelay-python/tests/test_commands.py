"""rd.simulate, rd.replay, rd.bounds, rd.papers, rd.schedulers: the command's results."""

from __future__ import annotations

import json
import pickle
import tomllib

import matplotlib
import pyarrow
import pyarrow.parquet
import pytest

import roundelay as rd
from roundelay import _native
from conftest import ROOT, SMALL, output
from roundelay.scenario import Dumbbell, Queues, Scenario, Tcp

MEASURED = SMALL + "[meter]\ntransfers = true\nrates = \"100ms\"\n"


def test_simulate_is_the_commands_byte_for_byte(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    told = output("simulate", path, "--json", "--replicas", "2", "--seed", "5", "--queue", "fifo limit 20")
    assert rd.simulate(path, replicas=2, seed=5, queue="fifo limit 20").to_json() == told


def test_a_scenario_is_a_path_a_text_a_dictionary_or_a_dataclass(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    typed = Scenario(
        name="small",
        duration="1s",
        topology=Dumbbell(pairs=2, rate="10mbit"),
        queue=Queues(core="fq_codel"),
        source=[Tcp(name="downloads", from_=["s0", "s1"], to=["r0", "r1"])],
    )
    results = [rd.simulate(given).to_json() for given in (path, str(path), SMALL, tomllib.loads(SMALL), typed)]
    assert len(set(results)) == 1
    assert results[0] == output("simulate", path, "--json")
    with pytest.raises(TypeError, match="expected a path"):
        rd.simulate(7)  # type: ignore[arg-type]


def test_tables_of_a_simulation_are_the_parquet_files(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(MEASURED)
    output("simulate", path, "--parquet", tmp_path / "command", "--replicas", "2")
    result = rd.simulate(path, replicas=2, parquet=tmp_path / "python")
    for name, table in [("flows", result.flows), ("links", result.links), ("transfers", result.transfers), ("rates", result.rates)]:
        of_command = pyarrow.parquet.read_table(tmp_path / f"command/{name}.parquet")
        ours = pyarrow.table(table)
        assert ours.equals(of_command) and ours.schema.equals(of_command.schema), name
        assert (tmp_path / f"python/{name}.parquet").read_bytes() == (tmp_path / f"command/{name}.parquet").read_bytes()
    assert len(result.rates) > 5
    assert pyarrow.table(result).num_rows == len(result.flows) == 4


def test_files_of_a_simulation(tmp_path):
    log = tmp_path / "run.log"
    rd.simulate(SMALL, log=log, pcapng=tmp_path / "run.pcapng", html=tmp_path / "run.html", csv=tmp_path / "csv")
    assert output("verify", log)
    assert (tmp_path / "run.html").read_text().startswith("<!")
    assert (tmp_path / "run.pcapng").stat().st_size > 1000
    assert len((tmp_path / "csv/flows.csv").read_text().splitlines()) == 3


def test_a_simulation_in_a_notebook():
    matplotlib.use("Agg")
    result = rd.simulate(SMALL, replicas=3)
    assert "downloads" in result._repr_html_() and "Mbit/s" in result._repr_html_()
    with pytest.raises(rd.UsageError, match="over_time = true"):
        result.plot.delay_cdf()
    timed = rd.simulate(SMALL + "[meter]\nover_time = true\n")
    for curves in (timed.plot.throughput_over_time(), timed.plot.delay_over_time(), timed.plot.wait(), timed.plot.backlog(), timed.plot.delay_cdf()):
        assert len(curves.lines) >= 1 and len(curves.lines[0].get_xdata()) > 10
    told = timed.to_dict()["replicas"][0]["over_time"]["groups"][0]["throughput"]
    assert timed.plot.throughput_over_time().lines[0].get_ydata()[5] == pytest.approx(told[5] / 1e6)
    for plot in (result.plot.throughput, result.plot.delay, result.plot.loss):
        assert len(plot().patches) >= 1
    heights = [bar.get_height() for bar in result.plot.throughput().patches]
    assert heights[0] == pytest.approx(result.to_dict()["summary"]["groups"][0]["throughput"]["mean"] / 1e6)
    assert result.notes == result.to_dict()["notes"]
    assert "small" in str(result)


def test_replay_is_the_commands_byte_for_byte(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    told = output("replay", path, "--with", "lstf", "--with", "fifo", "--threshold", "1ms", "--json")
    result = rd.replay(path, ["lstf", "fifo"], threshold=0.001)
    assert result.to_json() == told == rd.replay(SMALL, ["lstf", "fifo"], threshold="1ms").to_json()
    assert "lstf" in result._repr_html_()
    matplotlib.use("Agg")
    assert len(result.plot.overdue().patches) == 2


def test_bounds_are_the_commands_byte_for_byte(repository):
    path = "examples/bounds/office.toml"
    told = output("bounds", path, "drr", "qfq", "--rate", "100mbit", "--json")
    result = rd.bounds(path, ["drr", "qfq"], rate="100mbit")
    assert result.to_json() == told
    assert result.delays["drr"]["call"] == pytest.approx(5.228e-3, abs=1e-6)
    flows = tomllib.loads((ROOT / path).read_text())
    assert rd.bounds(flows, ["drr", "qfq"], rate=100e6).to_dict() == json.loads(told)
    assert "ms" in result._repr_html_()


OBJECTIVE = SMALL + '[objective]\nmeasure = "tail"\n'


def test_objectives_are_the_commands_byte_for_byte(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(OBJECTIVE)
    told = output("objective", path, "--with", "sfq", "--replicas", "2", "--json")
    result = rd.objective(path, queues="sfq", replicas=2)
    assert result.to_json() == told == rd.objective(OBJECTIVE, queues=["sfq"], replicas=2).to_json()
    assert result.disciplines[:3] == ["fifo", "fifo_plus", "lstf"] and "sfq" in result.disciplines
    assert set(result.verdicts.values()) <= {"does", "does_not", "cannot_tell"} and result.verdict
    assert len(result.runs) == 2 * len(result.disciplines) and result.runs["seed"][:2] == [1, 2]
    assert result.to_dict()["schema"] == "objective/1"
    page = result._repr_html_()
    assert page.count("font-weight: bold") >= 1 and result.verdict[:20] in page
    assert pickle.loads(pickle.dumps(result)).to_json() == told
    with pytest.raises(rd.UsageError, match=r"small.toml:\d+: .*'tial'.*did you mean 'tail'"):
        path.write_text(OBJECTIVE.replace("tail", "tial"))
        rd.objective(path)
    with pytest.raises(rd.UsageError, match=r"^scenario:\d+: ") as found:
        rd.objective(OBJECTIVE.replace("tail", "tial"))
    assert found.value.meant == "tail"


def test_logs_are_verified(tmp_path):
    log = tmp_path / "run.log"
    rd.simulate(SMALL, log=log)
    result = rd.verify(log)
    assert result.is_valid and len(result.faults) == 0 and result.totals["sent"] > 0 and sum(result.checks.values()) > 0
    assert result.to_json() == output("verify", log, "--json")
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if '"deliver"' not in line))
    broken = rd.verify(log, faults=3)
    assert not broken.is_valid and 1 <= len(broken.faults) <= 3 and broken.faults["line"][0] > 1
    assert "faults" in repr(broken) and "<table>" in broken._repr_html_()
    log.write_text("no log")
    with pytest.raises(rd.UsageError, match="run.log:1: "):
        rd.verify(log)


def test_costs_are_measured(tmp_path):
    saved = tmp_path / "saved.json"
    first = rd.bench(["drr", "qfq"], flows=[8, 16], memory="packed", pairs=200, rounds=2, save=saved)
    assert first.rows["queue"] == ["none", "fifo", "drr", "qfq"] * 2 and first.rows["flows"] == ["8"] * 4 + ["16"] * 4
    assert all(gross > 0 for gross in first.rows["gross"]) and first.rows["net"][0] == 0
    assert json.loads(saved.read_text()) == first.to_dict()
    again = rd.bench("drr", flows=8, memory="packed", pairs=200, rounds=2, against=saved)
    assert again.rows["was"][2] == first.rows["net"][2]
    assert again._repr_html_().count("font-weight: bold") == 1
    with pytest.raises(rd.UsageError, match="pattern='smal'"):
        rd.bench("drr", pattern="smal")


def test_papers_are_listed_and_run(tmp_path):
    items = rd.papers()
    assert {item.paper for item in items} >= {"qfq", "qfq-plus", "mqfq"}
    assert any(item.runs for item in items) and all(item.label for item in items)
    (found,) = rd.papers("mqfq", "figure-1", cache=tmp_path)
    assert found.label == "Figure 1"
    assert found.verdicts and all(found.verdicts.values())
    told = output("papers", "mqfq", "figure-1", "--cache", tmp_path, "--json")
    without = lambda item: {name: value for name, value in item.items() if name != "record"}  # noqa: E731
    assert [without(found.to_dict())] == [without(item) for item in json.loads(told)["items"]]
    assert "<table>" in found._repr_html_()
    with pytest.raises(rd.UsageError, match="no paper is called 'mqf'"):
        rd.papers("mqf")
    with pytest.raises(rd.UsageError, match="no item of"):
        rd.papers("mqfq", "figure-99")


def test_schedulers_have_parameters_with_ranges():
    found = rd.schedulers()
    assert list(found) == [each["name"] for each in json.loads(output("list", "--json"))["disciplines"]]
    for each in json.loads(output("list", "--json"))["disciplines"]:
        assert (found[each["name"]].linux, found[each["name"]].weighted) == (each["linux"], each["weighted"])
    target = {parameter.name: parameter for parameter in found["fq_codel"].parameters}["target"]
    assert (target.kind, target.default, target.unit) == ("time", "5ms", "us")
    assert target.minimum and target.maximum and target.legal == f"{target.minimum} to {target.maximum}"
    assert found["fq_codel"].linux == "fq_codel" and found["fq_codel"].linux_flows == "hashed"
    told = output("help", "fq_codel")
    for parameter in found["fq_codel"].parameters:
        assert parameter.name in told and parameter.legal in told and parameter.about in told


def test_replays_and_bounds_are_tables():
    polars = pytest.importorskip("polars")
    result = rd.replay(SMALL, ["lstf", "fifo"], replicas=2)
    rows = polars.DataFrame(result)
    assert rows.height == 2 * 2 * 2
    assert rows["with"].unique(maintain_order=True).to_list() == ["lstf", "fifo"]
    run = result.to_dict()["candidates"][1]["replicas"][0]
    found = rows.filter((polars.col("with") == "fifo") & (polars.col("seed") == run["seed"]) & (polars.col("counting") == "drained"))
    assert found["overdue"].to_list() == [run["drained"]["all"]["overdue"]]
    assert found["worst"].to_list() == [run["drained"]["all"]["worst_ps"] / 1e12]
    bounds = rd.bounds(ROOT / "examples/bounds/office.toml", ["qfq", "drr"], rate="100mbit")
    table = polars.DataFrame(bounds)
    assert table.filter(queue="qfq")["delay"].to_list() == list(bounds.delays["qfq"].values())


def test_a_table_of_columns_keeps_types():
    table = _native.Table([("text", ["a", None]), ("whole", [1, None]), ("number", [1, 2.5]), ("none", [None, None])])
    assert [table.column(name) for name in table.names()] == [["a", None], [1, None], [1.0, 2.5], [None, None]]
    with pytest.raises(RuntimeError):
        _native.Table([("a", [1]), ("b", [1, 2])])


def test_the_recorded_schedule_of_a_replay_takes_a_congestion_control():
    scenario = SMALL.replace("udp", "tcp")
    reno, cubic = (rd.replay(scenario, ["lstf"], congestion=each).to_dict() for each in ("reno", "cubic"))
    assert reno["recorded"] != cubic["recorded"]
    with pytest.raises(rd.UsageError, match="nobody"):
        rd.replay(scenario, ["lstf"], congestion={"nobody": "reno"})
