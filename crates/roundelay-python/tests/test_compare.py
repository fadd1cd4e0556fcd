"""rd.compare: the command's results, as Arrow, JSON, HTML and plots."""

from __future__ import annotations

import html
import inspect
import json
import re

import matplotlib
import pandas
import pyarrow
import pyarrow.parquet
import pytest

import roundelay as rd
from conftest import CAPTURE, SMALL, command, output

QUEUES = ["fifo", "fq_codel", "qfq"]
NAME = "examples/captures/home-downlink.pcap"


@pytest.fixture(scope="module")
def result() -> rd.Comparison:
    return rd.compare(CAPTURE, "5mbit", QUEUES)


def test_json_is_the_commands_byte_for_byte(repository):
    told = output("compare", NAME, *QUEUES, "--rate", "5mbit", "--no-cost", "--json")
    result = rd.compare(NAME, rate="5mbit", queues=QUEUES)
    assert result.to_json() == told
    assert result.to_dict() == json.loads(told)
    assert result.to_text(100) == rd.compare(NAME, 5_000_000, QUEUES, threads=1).to_text(100)


def test_selection_options_are_the_commands(repository, tmp_path):
    weights = tmp_path / "weights.toml"
    weights.write_text('[[weight]]\nmatch = "dst port 22"\nweight = 3\n')
    words = ["--filter", "udp or tcp", "--direction", "to 192.168.1.0/24", "--flow-by", "dst", "--weight", "src port 443 = 10"]
    words += ["--weights", weights, "--max-flows", "3", "--seed", "7", "--seeds", "2", "--buffer", "100p", "--keep-duplicates"]
    told = output("compare", NAME, "drr", "--rate", "5mbit", "--no-cost", "--json", "--tree", "examples/trees/home.toml", *words)
    result = rd.compare(
        NAME,
        "5mbit",
        "drr",
        trees="examples/trees/home.toml",
        filter="udp or tcp",
        direction="to 192.168.1.0/24",
        flow_by="dst",
        weight={"src port 443": 10},
        weights=weights,
        max_flows=3,
        seed=7,
        seeds=2,
        buffer="100p",
        keep_duplicates=True,
    )
    assert result.to_json() == told


def test_times_and_other_addresses(repository):
    path = "examples/captures/home-downlink.pcap"
    told = command("compare", path, "fifo", "--rate", "5mbit", "--no-cost", "--from", "5s", "--to", "20s", "--json").stdout
    assert rd.compare(path, "5mbit", "fifo", from_=5, to="20s").to_json() == told
    hidden = rd.compare(path, "5mbit", "fifo", from_=5, to=20.0, anonymise=True)
    assert "192.168.1." in told and "192.168.1." not in hidden.to_json() + hidden._repr_html_() and "home-downlink" not in hidden.to_json()


@pytest.mark.parametrize(
    ("call", "without"),
    [(rd.compare, {"no_cost", "tree", "wide", "react", "open", "replicas", "round_trip", "control", "captured_rate", "up_rate", "up_queue"}), (rd.simulate, {"template", "schema", "dry_run"}), (rd.replay, {"with", "plain"})],
)
def test_every_option_of_the_command_has_a_keyword(call, without):
    """Options for a terminal have none; some keywords have another name."""
    told = re.findall(r"^ +(?:-\w, )?--([a-z-]+)", command("help", call.__name__).stdout, re.MULTILINE)
    assert len(told) > 8
    known = {name.rstrip("_") for name in inspect.signature(call).parameters} | {"json", "quiet", "help", "color"} | without
    assert {each.replace("-", "_") for each in told} <= known


def test_markdown_is_the_commands(repository, tmp_path):
    rd.compare(CAPTURE, "5mbit", ["fifo"], markdown=tmp_path / "here.md")
    output("compare", CAPTURE, "fifo", "--rate", "5mbit", "--no-cost", "--markdown", tmp_path / "there.md")
    assert (tmp_path / "here.md").read_text() == (tmp_path / "there.md").read_text() != ""
    rd.replay(SMALL, markdown=tmp_path / "replay.md")
    rd.simulate(SMALL, markdown=tmp_path / "simulate.md")
    assert all("| " in (tmp_path / f"{name}.md").read_text() for name in ("replay", "simulate"))


def test_flows_are_those_of_the_parquet_file(repository, tmp_path):
    output("compare", NAME, *QUEUES, "--rate", "5mbit", "--no-cost", "--parquet", tmp_path / "command")
    result = rd.compare(NAME, "5mbit", QUEUES, parquet=tmp_path / "python")
    of_command = pyarrow.parquet.read_table(tmp_path / "command/flows.parquet")
    table = pyarrow.table(result)
    assert table.equals(of_command)
    assert table.schema.equals(of_command.schema)
    assert table.schema.metadata == {name: of_command.schema.metadata[name] for name in table.schema.metadata}
    assert result.metadata["roundelay.seed"] == "1"
    written = sorted(path.name for path in (tmp_path / "python").iterdir())
    assert written == sorted(path.name for path in (tmp_path / "command").iterdir())
    assert len(written) == 4
    for name in written:
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes()


def test_pandas_polars_and_duckdb_read_a_result_as_it_is(result):
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    flows = result.flows
    frame = polars.DataFrame(result)
    assert frame.shape == (len(flows), len(flows.column_names)) == (216, 37)
    assert frame["delay_p99"].to_list() == flows["delay_p99"]
    assert result.to_pandas()["bytes"].to_list() == flows["bytes"]
    assert pandas.DataFrame(flows.to_dict())["spec"].unique().tolist() == QUEUES
    sums = duckdb.sql("select spec, sum(packets)::bigint as packets from flows group by spec order by spec").fetchall()
    expected = sorted((each["spec"], each["total"]["packets"]) for each in result.to_dict()["disciplines"])
    assert sums == expected


def test_a_result_in_words(result):
    assert result.disciplines == QUEUES
    assert result.best in QUEUES
    assert result.best in result.verdict
    assert result.broken_bounds == []
    assert "open-loop" in result.notes[-1]
    page = result._repr_html_()
    assert "<table>" in page and "fq_codel" in page and result.commands[0] in html.unescape(page)
    assert page.count('<tr style="font-weight: bold"><td>* ' + result.best) >= 1
    assert "<td>" in result.flows._repr_html_()
    assert result.to_html().startswith("<!")
    assert repr(result).endswith(f"best: {result.best})")


def test_another_seed_has_a_row(result):
    assert "<td>seed 3</td>" in result._repr_html_() and "\n    seed 3 " in str(result)
    alone = rd.compare(CAPTURE, "5mbit", QUEUES, seeds=1)
    assert "<td>seed" not in alone._repr_html_() and "\n    seed" not in str(alone)
    assert [each["seed"] for each in result.to_dict()["other_seeds"]] == [2, 3] and "other_seeds" not in alone.to_dict()


def test_plots(result):
    matplotlib.use("Agg")
    for plot in (result.plot.delay_cdf, result.plot.throughput, result.plot.backlog):
        axes = plot()
        assert [line.get_label() for line in axes.get_lines()] == QUEUES
        assert all(len(line.get_xdata()) > 10 for line in axes.get_lines())
        assert plot(axes, light=True) is axes
    assert [bar.get_height() > 0 for bar in result.plot.delay().patches] == [True] * 3


def test_without_queues_all_disciplines_run():
    few = rd.compare(CAPTURE, "5mbit", "all", filter="udp port 53")
    assert few.disciplines == list(rd.schedulers())


def test_costs_are_measured_on_request():
    result = rd.compare(CAPTURE, "5mbit", ["fifo"], cost=True, filter="udp port 53")
    assert result.to_dict()["disciplines"][0]["cost"]["nanos_per_packet"] >= 0
