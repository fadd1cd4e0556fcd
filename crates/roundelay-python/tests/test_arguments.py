"""Arguments of calls: words of the command line, types, numbers of NumPy, missing packages."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy
import pandas
import pytest

import roundelay as rd
from conftest import CAPTURE, ROOT, SMALL, Fifo, command
from roundelay import _native
from roundelay._words import options
from roundelay.scenario import Cbr, Dumbbell, Queues, Scenario

OFFICE = ROOT / "examples/bounds/office.toml"


class Window:
    version = 1

    def on_ack(self, feedback):
        return 20 * feedback.segment_length

    on_loss = on_ack


def raised(call, kind: type[Exception] = rd.UsageError) -> rd.RoundelayError:
    with pytest.raises(kind) as found:
        call()
    return found.value


def test_positional_words_are_never_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "x.html"
    word = f"--html={page}"
    for call in (
        lambda: rd.compare(word, "5mbit", ["fifo"]),
        lambda: rd.compare(CAPTURE, "5mbit", [word]),
        lambda: rd.simulate(word),
        lambda: rd.replay(word),
        lambda: rd.replay(SMALL, [word]),
        lambda: rd.bounds(word),
        lambda: rd.bounds(OFFICE, [word], rate="1mbit"),
        lambda: rd.sweep(word, {"queue.core": ["fifo"]}),
        lambda: rd.papers(word, "figure-1"),
        lambda: rd.papers("mqfq", word),
        lambda: rd.compare("--help", "5mbit", ["fifo"]),
        lambda: rd.simulate("--help"),
        lambda: rd.compare("--html", "5mbit", ["fifo"]),
    ):
        error = raised(call)
        assert word in str(error) or re.match("--(help|html): (there is no such file|cannot open)", str(error)), error
    assert list(tmp_path.iterdir()) == []
    shutil.copy(CAPTURE, "-x.pcap")
    Path("-s.toml").write_text(SMALL)
    shutil.copy(OFFICE, "-b.toml")
    assert rd.compare(Path("-x.pcap"), "5mbit", ["fifo"], filter="udp port 53").disciplines == ["fifo"]
    assert rd.simulate("-s.toml").to_dict()["replicas"] and rd.bounds("-b.toml", ["drr"], rate="100mbit").delays
    assert rd.sweep(Path("-s.toml"), {"queue.core": ["fifo"]}).done == 1


@pytest.mark.parametrize("name", ["help", "version", "html=never", "colour", ""])
@pytest.mark.parametrize(
    "call",
    [
        lambda **more: rd.compare(CAPTURE, "5mbit", ["fifo"], **more),
        lambda **more: rd.simulate(SMALL, **more),
        lambda **more: rd.replay(SMALL, **more),
        lambda **more: rd.sweep(SMALL, {}, **more),
    ],
)
def test_unknown_keywords_are_type_errors(call, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = raised(lambda: call(**{name: True}), TypeError)
    assert isinstance(error, rd.UsageError) and error.given == name and str(error).startswith(f"{name}: unknown keyword")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "given", "meant"),
    [
        (lambda: rd.compare(CAPTURE, "5mbit", ["fifo"], fliter="udp"), "fliter", "filter"),
        (lambda: rd.simulate(SMALL, seeds=3), "seeds", "replicas"),
        (lambda: rd.replay(SMALL, seeds=3), "seeds", "replicas"),
        (lambda: rd.simulate(SMALL, parket="x"), "parket", "parquet"),
        (lambda: rd.sweep(SMALL, {}, fail_faster=True), "fail_faster", "fail_fast"),
        (lambda: rd.sweep(SMALL, {}, zip="a"), "zip", None),
        (lambda: rd.compare(CAPTURE, "5mbit", zip="a"), "zip", None),
    ],
)
def test_unknown_keywords_name_the_one_that_was_meant(call, given, meant):
    error = raised(call)
    assert (error.given, error.meant) == (given, meant) and "--" not in str(error)
    assert meant is None or f"did you mean '{meant}'" in str(error)


@pytest.mark.parametrize(
    ("call", "message", "given", "legal"),
    [
        (lambda: rd.sweep(SMALL, {}, seeds=0), "seeds=0: expected a whole number", "0", "1 to 1000000"),
        (lambda: rd.simulate(SMALL, replicas="many"), "replicas='many': ", "many", "1 to 10000"),
        (lambda: rd.compare(CAPTURE, "5mbt"), "rate='5mbt': cannot read '5mbt'", "5mbt", "1bit to 18000000tbit"),
        (lambda: rd.compare(CAPTURE, -5e6), "rate=-5000000.0: ", "-5000000.0", "1bit to 18000000tbit"),
        (lambda: rd.compare(CAPTURE, "5mbit", "fq_codle"), "queues='fq_codle': no discipline is called", "fq_codle", None),
        (lambda: rd.replay(SMALL, ["lstff"]), "queues='lstff': no discipline is called", "lstff", None),
        (lambda: rd.compare(CAPTURE, "5mbit", max_flows=0), "max_flows=0: ", "0", "1 to 1000000"),
        (lambda: rd.simulate(SMALL, queue="sfq depth 0"), "queue='sfq depth 0': sfq: depth 0", "0", "1 to 65535"),
        (lambda: rd.simulate(SMALL, packets=True), "parquet: missing", "parquet", None),
        (lambda: rd.sweep(SMALL, {}, until="ci=2%"), "figure: missing", "figure", None),
        (lambda: rd.sweep(SMALL, {}, figure="speed"), "figure='speed': no figure is called", "speed", None),
        (lambda: rd.compare(CAPTURE, "5mbit", interface="eth9"), f"{CAPTURE}: interface='eth9' matches none", None, None),
        (lambda: rd.bounds(OFFICE, ["drr"]), f"{OFFICE}:1: no [[hop]]: say the link's rate, as in rate='20mbit'", None, None),
        (lambda: rd.papers("mqfq", seeds=0), "seeds=0: expected a number of seeds", "0", "1 to 10000"),
        (lambda: rd.papers("mqfq", "figure-99"), "no item of mqfq is called 'figure-99'", "figure-99", None),
        (lambda: rd.simulate(SMALL, log="x.log", replicas=2), "log tells of one run, not of 2 replicas: leave out replicas, or choose one with seed", None, None),
    ],
)
def test_messages_have_the_callers_words(call, message, given, legal):
    error = raised(call)
    assert str(error).startswith(message) and "--" not in str(error) and "For more information" not in f"{error}{error.legal}"
    assert given is None or error.given == given
    assert legal is None or error.legal == legal


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rd.sweep(SMALL, {"queue.core": ["fifo"]}, why=True), "why: no keyword of sweep.*`why` of the result"),
        (lambda: rd.simulate(SMALL, dry_run=True), "dry_run: no keyword of simulate.*roundelay simulate --dry-run"),
        (lambda: rd.simulate(SMALL, json=True), "json: .*to_json"),
        (lambda: rd.simulate(SMALL, quiet=True), "quiet: .*progress=False"),
        (lambda: rd.sweep(SMALL, {}, seeds=3, replicas=5), "replicas: .*seeds"),
        (lambda: rd.compare(CAPTURE, "5mbit", ["fifo"], cost=True, no_cost=True), "no_cost: contradicts cost=True"),
        (lambda: rd.sweep(SMALL, {}, seeds=True), "seeds=True: expected a value"),
        (lambda: rd.simulate(SMALL, replicas=False), "replicas=False: expected a value"),
        (lambda: rd.compare(None, "5mbit"), "capture: expected a path.*not None"),
        (lambda: rd.compare(CAPTURE, None), "rate: expected a text such as '20mbit', or bits per second, not None"),
        (lambda: rd.compare(CAPTURE, [5]), "rate: .*not list"),
        (lambda: rd.simulate(None), "scenario: expected a path, .*not None"),
        (lambda: rd.sweep(None, {}), "scenario: expected a path, .*not None"),
        (lambda: rd.bounds(None), "flows: expected a path, .*not None"),
        (lambda: rd.sweep(SMALL, None), "over: expected a dictionary.*not None"),
        (lambda: rd.replay(SMALL, threshold=[1]), "threshold: .*not list"),
    ],
)
def test_refused_keywords_and_missing_arguments(call, message):
    error = raised(call, TypeError)
    with pytest.raises(rd.UsageError, match=message):
        raise error


@pytest.mark.parametrize("wrong", [["a"], {"a": 1}, b"x", b"", [], {}, set(), False, 0, 5, ("a",), iter("a")])
def test_a_path_is_a_text_or_a_path(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls = [(rd.compare, (CAPTURE, "5mbit", ["fifo"]), ("html", "parquet", "csv", "markdown", "weights"))]
    calls += [(rd.simulate, (SMALL,), ("html", "parquet", "csv", "markdown", "log", "pcapng"))]
    calls += [(rd.replay, (SMALL,), ("html", "parquet", "markdown", "on")), (rd.sweep, (SMALL, {}), ("out",)), (rd.papers, ("mqfq", "figure-1"), ("cache",))]
    for call, given, names in calls:
        for name in names:
            error = raised(lambda: call(*given, **{name: wrong}), TypeError)
            assert str(error).startswith(f"{name}: expected a path"), error
    assert str(raised(lambda: rd.compare(wrong, "5mbit", ["fifo"]), TypeError)).startswith("capture: expected a path")
    if not isinstance(wrong, dict):
        assert str(raised(lambda: rd.simulate(wrong), TypeError)).startswith("scenario: expected a path")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["compare", "simulate", "replay", "sweep", "bounds", "papers"])
def test_the_types_of_options_are_those_of_the_command(name):
    told = re.findall(r"^ +(?:-\w, )?--([a-z-]+)(?:(?: |\[=)<(.*?)>)?", command("help", name).stdout, re.MULTILINE)
    files = {option for option, value in told if value in ("FILE", "DIR", "NETWORK")}
    types = {option: "path" if option in files else "value" if value else "switch" for option, value in told}
    known = _native.options(name)
    assert known == {option: kind for option, kind in types.items() if option not in ("help", "version", "color")} and known["json"] == "switch"


def test_a_new_output_of_the_command_is_a_path(monkeypatch):
    """``_words`` has no list of the command's options."""
    monkeypatch.setattr("roundelay._words._takes", lambda function: {"new-page": "path", "new-switch": "switch", "number": "value"})
    assert options("compare", {"new_page": Path("a"), "new_switch": True, "number": 5}) == ["--new-page=a", "--new-switch", "--number=5"]
    assert "new_page: expected a path" in str(raised(lambda: options("compare", {"new_page": 5}), TypeError))


class Place(os.PathLike):
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


def test_a_path_may_be_any_path_like_object(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rd.simulate(SMALL, html=Place(str(tmp_path / "page.html")))
    assert (tmp_path / "page.html").exists()
    assert "html: expected a path" in str(raised(lambda: rd.simulate(SMALL, html=Place(b"x")), TypeError))
    assert str(raised(lambda: rd.simulate(SMALL, html=""))) == "html='': expected a path"
    assert str(raised(lambda: rd.simulate(""))) == "scenario='': expected a path"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rd.simulate(SMALL, progress="yes"), "progress: expected True, False, None or a function, not str"),
        (lambda: rd.simulate(SMALL, progress=0), "progress: .*not int"),
        (lambda: rd.sweep(SMALL, {}, executor="rayy"), "executor='rayy': expected None, an Executor .* or 'ray'"),
        (lambda: rd.sweep(SMALL, {}, executor=5), "executor: expected None, an Executor .* or 'ray', not int"),
        (lambda: rd.sweep(SMALL, {}, congestion=Fifo), "congestion: expected 'reno', 'cubic' or a class with on_ack and on_loss, not the scheduler Fifo"),
        (lambda: rd.simulate(SMALL, congestion=Fifo), "congestion: .*not the scheduler Fifo"),
        (lambda: rd.simulate(SMALL, congestion=Window()), "congestion: .*not an instance of Window"),
        (lambda: rd.sweep(SMALL, {}, congestion=False), "congestion: .*not bool"),
        (lambda: rd.sweep(SMALL, {}, congestion=0), "congestion: .*not int"),
        (lambda: rd.sweep(SMALL, {}, congestion=""), "no congestion control is called ''"),
        (lambda: rd.compare(CAPTURE, "5mbit", Fifo()), "queue: expected a discipline as text or a class with enqueue and dequeue, not an instance of Fifo"),
        (lambda: rd.compare(CAPTURE, "5mbit", [Fifo()]), "queue: .*not an instance of Fifo"),
        (lambda: rd.simulate(SMALL, queue=Window), "queue: .*not the congestion control Window"),
        (lambda: rd.compare(CAPTURE, "5mbit", 5), "queues: expected one value or a list, not int"),
        (lambda: rd.compare(CAPTURE, "5mbit", {"fifo": 1}), "queues: .*not dict"),
        (lambda: rd.replay(SMALL, [Fifo]), "queues: .*schedulers written in Python run in compare, simulate and sweep"),
        (lambda: rd.replay(SMALL, Fifo), "queues: .*schedulers written in Python run in compare, simulate and sweep"),
        (lambda: rd.bounds(OFFICE, [Fifo]), "queues: .*schedulers written in Python"),
        (lambda: rd.compare(CAPTURE, "5mbit", "fifo", filter={"a": 1}), "filter: expected a text or a number, not dict"),
        (lambda: rd.compare(CAPTURE, "5mbit", "fifo", mirrored="yes"), "mirrored: expected True or False, not str"),
        (lambda: rd.compare(CAPTURE, "5mbit", "fifo", cost=1), "cost: expected True or False, not int"),
    ],
)
def test_wrong_types_are_refused_before_the_run(call, message):
    with pytest.raises(rd.UsageError, match=message):
        call()


def test_numbers_of_numpy_are_numbers(tmp_path):
    rate = numpy.float64(5e6)
    plain = rd.compare(CAPTURE, 5e6, ["fifo"], max_flows=3, keep_duplicates=True, seed=2, filter="udp").to_json()
    mine = rd.compare(CAPTURE, rate, ["fifo"], max_flows=numpy.int64(3), keep_duplicates=numpy.bool_(True), seed=numpy.array(2), filter=numpy.str_("udp"))  # type: ignore[arg-type]
    assert mine.to_json() == plain
    assert rd.compare(CAPTURE, Fraction(5_000_000), ["fifo"], max_flows=3, keep_duplicates=True, seed=2, filter="udp").to_json() == plain  # type: ignore[arg-type]
    assert rd.compare(CAPTURE, Decimal("5e6"), ["fifo"], max_flows=3, keep_duplicates=True, seed=2, filter="udp").to_json() == plain  # type: ignore[arg-type]
    for cost in (True, numpy.True_):
        assert rd.compare(CAPTURE, 5e6, ["fifo"], cost=cost).to_dict()["disciplines"][0].get("cost") is not None  # type: ignore[arg-type]
    assert rd.compare(CAPTURE, 5e6, ["fifo"], cost=numpy.False_).to_json() == rd.compare(CAPTURE, 5e6, ["fifo"]).to_json()  # type: ignore[arg-type]
    for number in (numpy.float32(0.5), Decimal("0.5"), numpy.int16(1), numpy.array(1.5)):
        assert rd.replay(SMALL, threshold=number).to_json() == rd.replay(SMALL, threshold=float(number)).to_json()


def test_an_option_is_repeated_for_each_of_several_values():
    expected = rd.replay(SMALL, ["edf", "lstf"]).to_json()
    for make in (list, tuple, iter, numpy.array, pandas.Series, lambda values: (each for each in values), lambda values: dict.fromkeys(values).keys()):
        assert rd.replay(SMALL, with_=make(["edf", "lstf"])).to_json() == expected
    assert rd.replay(SMALL, with_={"edf"}).to_json() == rd.replay(SMALL, with_=numpy.array("edf")).to_json() == rd.replay(SMALL, "edf").to_json()
    for wrong in ({"edf": 1}, b"edf", [None], object()):
        assert "with_: expected a text or a number, not " in str(raised(lambda: rd.replay(SMALL, with_=wrong), TypeError))


TABLE = {
    "duration": "100ms",
    "topology": {"template": "dumbbell", "pairs": 2, "rate": "1mbit"},
    "meter": {"transfers": True},
    "source": [{"name": "a", "kind": "cbr", "from": ["s0", "s1"], "to": ["r0", "r1"], "rate": "1mbit", "packet_len": 500}],
}


def test_scenarios_take_values_of_numpy_and_pandas():
    expected = rd.simulate(TABLE).to_json()
    source = {**TABLE["source"][0], "from": numpy.array(["s0", "s1"]), "to": pandas.Series(["r0", "r1"]), "packet_len": numpy.int32(500)}
    table = {**TABLE, "topology": {**TABLE["topology"], "pairs": numpy.array(2)}, "meter": {"transfers": numpy.bool_(True)}, "source": [source]}
    assert rd.simulate(table).to_json() == expected
    polars = pytest.importorskip("polars")
    assert rd.simulate({**table, "source": [{**source, "from": polars.Series(["s0", "s1"])}]}).to_json() == expected
    typed = Scenario(duration="100ms", topology=Dumbbell(pairs=numpy.int64(2), rate="1mbit"), source=[Cbr(from_=numpy.array(["s0", "s1"]), to=["r0", "r1"], rate="1mbit", packet_len=numpy.float64(500.0).astype(int))])  # type: ignore[arg-type]
    assert typed.to_dict()["source"][0]["from"] == ["s0", "s1"] and Scenario.from_toml(typed.to_toml()).to_dict() == typed.to_dict()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (numpy.arange(500, 1500, 500), [500, 1000]),
        (numpy.array(["500", "1000"], dtype=object).astype(int), [500, 1000]),
        ([numpy.int64(500), numpy.array(1000)], [500, 1000]),
        (pandas.Series([500, 1000]), [500, 1000]),
        (pandas.Index([500, 1000]), [500, 1000]),
        (range(500, 1500, 500), [500, 1000]),
        ((500, 1000), [500, 1000]),
        (numpy.array(500), [500]),
        (numpy.int64(500), [500]),
    ],
)
def test_sweeps_take_values_of_numpy_and_pandas(values, expected):
    assert sorted(set(rd.sweep(TABLE, {"source.a.packet_len": values}).runs["source.a.packet_len"])) == expected


def test_sweeps_take_texts_fractions_and_truth_values_of_numpy():
    texts = numpy.array(["fifo", "qfq"])
    assert set(rd.sweep(TABLE, {"queue.core": texts}).runs["queue.core"]) == {"fifo", "qfq"}
    port = {**TABLE, "port": [{"from": "left", "to": "right", "loss": 0.0}]}
    over = {"port.0.loss": numpy.linspace(0, 0.5, 3), "meter.wfi": numpy.array([True, False])}
    runs = rd.sweep(port, over).runs
    assert sorted(set(runs["port.0.loss"])) == [0.0, 0.25, 0.5] and sorted(set(map(str, runs["meter.wfi"]))) == ["false", "true"]


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("queue.core=fifo", "over: expected a dictionary of keys.*not str"),
        ([("queue.core", ["fifo"])], "over: expected a dictionary of keys.*not list"),
        ({("queue", "core"): ["fifo"]}, r"over: key \('queue', 'core'\): expected a text"),
        ({5: ["fifo"]}, "over: key 5: expected a text"),
        ({"queue.core": b"fifo"}, r"over\['queue.core'\]: expected a list of values.*not bytes"),
        ({"queue.core": [b"fifo"]}, r"over\['queue.core'\]\[0\]: expected .*not bytes"),
        ({"queue.core": 5}, r"over\['queue.core'\]: expected a list of values.*not int"),
        ({"queue.core": None}, r"over\['queue.core'\]: expected a list of values.*not NoneType|not None"),
        ({"queue.core": {"fifo", "qfq"}}, r"over\['queue.core'\]: expected a list of values.*not set"),
        ({"queue.core": {"fifo": 1}}, r"over\['queue.core'\]: expected a list of values.*not dict"),
        ({"queue.core": ["fifo", {1}]}, r"over\['queue.core'\]\[1\]: .*TOML has no value of this type, not set"),
        ({"queue.core": [None]}, r"over\['queue.core'\]\[0\]: .*not None"),
    ],
)
def test_wrong_values_of_a_sweep_name_the_key(over, message):
    with pytest.raises(TypeError, match=message) as found:
        rd.sweep(SMALL, over)
    assert isinstance(found.value, rd.UsageError)


@pytest.mark.parametrize(
    ("scenario", "key"),
    [
        ({"duration": 1j}, "duration"),
        ({"topology": {"rate": b"1mbit"}}, "topology.rate"),
        ({"source": [{"from": {"s0"}}]}, r"source\[0\].from"),
        ({"source": [{"from": ["s0", None]}]}, r"source\[0\].from\[1\]"),
        ({5: "x"}, "a dictionary: key 5"),
        ({"topology": {None: "x"}}, "topology: key None"),
    ],
)
def test_wrong_values_of_a_scenario_name_the_key(scenario, key):
    with pytest.raises(TypeError, match=f"^{key}: expected "):
        rd.simulate(scenario)


def test_wrong_values_of_a_dataclass_name_the_key():
    queues = Queues(core={"fifo"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="^Queues.core: expected .*not set"):
        rd.simulate(Scenario(duration="1s", queue=queues, source=[]))


def test_a_store_that_cannot_be_opened_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    error = raised(lambda: rd.sweep(SMALL, {"queue.core": ["fifo"]}, out="foo://b/x"))
    assert str(error).startswith("out='foo://b/x': ") and (error.path, error.given) == ("foo://b/x", "foo://b/x")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    import fsspec

    fsspec.register_implementation("missing", "s3fs.S3FileSystem", errtxt="Install s3fs to access S3")
    with pytest.raises(ImportError, match="out='missing://b/x': .*Install s3fs"):
        rd.sweep(SMALL, {"queue.core": ["fifo"]}, out="missing://b/x")
    raised(lambda: rd.sweep(SMALL, {"queue.core": ["fifoo"]}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("extra", "package", "call"),
    [
        ("plot", "matplotlib", lambda result: result.plot.throughput()),
        ("altair", "altair", lambda result: result.chart.throughput()),
        ("pandas", "pyarrow", lambda result: result.to_pandas()),
        ("pandas", "pandas", lambda result: result.flows.to_pandas()),
        ("xarray", "xarray", lambda result: rd.sweep(SMALL, {}).to_xarray()),
        ("progress", "tqdm.auto", lambda result: rd.simulate(SMALL, progress=True)),
        ("ray", "ray", lambda result: rd.sweep(SMALL, {}, executor="ray")),
        ("dask", "distributed", lambda result: rd.sweep(SMALL, {}, executor="tcp://127.0.0.1:1")),
        ("fsspec", "fsspec", lambda result: rd.sweep(SMALL, {}, out="s3://b/x")),
    ],
)
def test_a_missing_package_is_told_with_its_extra(monkeypatch, extra, package, call):
    result = rd.simulate(SMALL)
    for name in list(sys.modules):
        if name.split(".")[0] == package.split(".")[0]:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'roundelay\[{extra}\]'") as found:
        call(result)
    assert isinstance(found.value.__cause__, ModuleNotFoundError) and found.value.name


def test_a_table_is_a_mapping_of_columns():
    table = rd.simulate(SMALL, replicas=2).flows
    assert "throughput" in table and "nothing" not in table and 5 not in table
    assert list(table.keys()) == table.column_names
    assert dict(table) == table.to_dict() == {**table} and len(table) == 4
    with pytest.raises(KeyError, match="'nothing' is no column; expected one of "):
        table["nothing"]


def test_a_table_is_right_for_each_library_or_refused():
    table = rd.simulate(SMALL, replicas=2).flows
    # A loop over names of columns gave a DataFrame with these as its rows.
    for call in (lambda: pandas.DataFrame(table), lambda: list(table)):
        with pytest.raises(TypeError, match=r"to_pandas\(\)"):
            call()
    assert table.to_pandas().to_dict("list") == pandas.DataFrame(dict(table)).to_dict("list")
    for name, make in (("pyarrow", "table"), ("polars", "DataFrame")):
        found = getattr(pytest.importorskip(name), make)(table)
        assert (found.to_pydict() if name == "pyarrow" else found.to_dict(as_series=False)) == table.to_dict()


def test_a_sweep_has_the_notes_of_its_dataset(tmp_path):
    first = rd.sweep(SMALL, {"queue.core": ["fifo"]}, out=tmp_path / "d")
    assert first.notes == [] and repr(first).endswith("0 failed)")
    second = rd.sweep(SMALL, {"queue.core": ["qfq"]}, out=tmp_path / "d")
    (note,) = second.notes
    assert f"Note: {note}\n" in str(second) and note in repr(second) and note in second._repr_html_() and "other values" in note
