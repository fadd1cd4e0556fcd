"""Sweeps: on threads, futures, Dask, Ray; into folders and an S3-compatible store."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import output

import roundelay as rd

SCENARIO = """
duration = "2s"
[topology]
template = "dumbbell"
pairs = 2
rate = "1mbit"
delay = "5ms"
[[source]]
name = "calls"
kind = "poisson"
from = "s0"
to = "r0"
rate = "200kbit"
packet_len = 200
[[source]]
name = "load"
kind = "poisson"
from = "s1"
to = "r1"
rate = "900kbit"
"""

OVER = {"queue.core": ["fifo limit 20", "qfq"], "source.calls.rate": "64kbit..128kbit/2"}


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


@pytest.fixture
def expected(tmp_path) -> dict[str, bytes]:
    """The dataset of an undisturbed local sweep with 40 seeds."""
    rd.sweep(SCENARIO, OVER, seeds=40, out=tmp_path / "expected")
    return files(tmp_path / "expected")


def test_a_sweep_is_that_of_the_command(tmp_path):
    result = rd.sweep(SCENARIO, OVER, seeds=3, out=tmp_path / "here")
    (tmp_path / "s.toml").write_text(SCENARIO)
    keys = ["queue.core=fifo limit 20,qfq", "source.calls.rate=64kbit..128kbit/2"]
    printed = output("sweep", tmp_path / "s.toml", *keys, "--replicas", 3, "--out", tmp_path / "there")
    assert "4 points, 12 runs: 0 cached, 12 done, 0 failed" in printed
    assert files(tmp_path / "here") == files(tmp_path / "there")
    assert (result.done, result.cached, result.failed) == (12, 0, [])
    again = rd.sweep(tmp_path / "s.toml", OVER, seeds=4, out=tmp_path / "here")
    assert (again.done, again.cached) == (4, 12)
    assert "Sweep(4 points, 12 runs cached, 4 done, 0 failed)" == repr(again)
    assert f"Dataset: {tmp_path / 'here'} (DuckDB" in str(again) and again.to_dict()["dataset"] == str(tmp_path / "here")
    # Without `out` there is no dataset after the call.
    without = rd.sweep(SCENARIO, {"queue.core": ["fifo"]})
    assert str(without).endswith(": 1 point, 1 run: 0 cached, 1 done, 0 failed\n") and without.to_dict()["dataset"] is None


def test_readers_take_results_and_datasets_as_they_are(tmp_path):
    import pyarrow

    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")

    result = rd.sweep(SCENARIO, OVER, seeds=3, out=tmp_path / "d")
    table = pyarrow.table(result)
    assert table.schema.field("source.calls.rate").type == "int64" and table.schema.field("queue.core").type == "string"
    frame = polars.DataFrame(result).sort("queue.core", "source.calls.rate", "seed", "source")
    read = polars.scan_parquet(f"{tmp_path}/d/**/*.parquet").collect()
    order = ["queue.core", "source.calls.rate", "seed", "source"]
    assert read.sort(order).select(frame.columns).equals(frame) and len(frame) == 36
    query = 'SELECT "queue.core", avg(delay_p99) FROM read_parquet(?) WHERE source = \'calls\' GROUP BY ALL ORDER BY ALL'
    rows = duckdb.execute(query, [f"{tmp_path}/d/**/*.parquet"]).fetchall()
    assert [name for name, _ in rows] == ["fifo limit 20", "qfq"] and rows[1][1] < rows[0][1]
    assert "qfq" in result._repr_html_()


def test_a_sweep_plots_its_figures_over_its_keys():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    result = rd.sweep(SCENARIO, OVER, seeds=3)
    axes = result.plot.figure("delay_p99", x="source.calls.rate", by="queue.core", source="calls")
    assert [line.get_label() for line in axes.containers] == ["fifo limit 20", "qfq"]
    columns = result.runs.to_dict()
    rows = [row for row in range(len(result)) if (columns["queue.core"][row], columns["source"][row]) == ("qfq", "calls")]
    first = [columns["delay_p99"][row] for row in rows if columns["source.calls.rate"][row] == columns["source.calls.rate"][rows[0]]]
    assert axes.containers[1].lines[0].get_ydata()[0] == pytest.approx(sum(first) / 3)
    chart = result.chart.figure("delay_p99", x="queue.core", source="calls").to_dict()
    assert len(chart["layer"]) == 2
    with pytest.raises(rd.UsageError, match="figure='dely'"):
        result.plot.figure("dely")


def test_readers_give_swept_keys_the_types_of_the_page(tmp_path):
    """Types of keys, as docs/sweeps.md has them."""
    import pyarrow.dataset

    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    scenario = SCENARIO + '[[port]]\nfrom = "left"\nto = "right"\nloss = 0.0\n'
    rd.sweep(scenario, {"port.0.loss": [0.0, 0.25], "source.calls.rate": ["64kbit"], "meter.wfi": [True]}, out=tmp_path / "d")
    files, keys = f"{tmp_path}/d/**/*.parquet", ["meter.wfi", "port.0.loss", "source.calls.rate"]
    schema = polars.scan_parquet(files).collect_schema()
    assert [schema[key] for key in keys] == [polars.String, polars.Float64, polars.Int64]
    table = pyarrow.dataset.dataset(tmp_path / "d").to_table()
    assert [str(table.schema.field(key).type) for key in keys] == ["string", "double", "int64"]
    assert set(table["port.0.loss"].to_pylist()) == {0.0, 0.25}
    kinds = dict(duckdb.execute("SELECT column_name, column_type FROM (DESCRIBE FROM read_parquet(?))", [files]).fetchall())
    assert [kinds[key] for key in keys] == ["VARCHAR", "DOUBLE", "BIGINT"]


def test_figures_are_arrays_over_the_keys():
    pytest.importorskip("xarray")
    data = rd.sweep(SCENARIO, OVER, seeds=3).to_xarray()
    assert dict(data.sizes) == {"queue.core": 2, "source.calls.rate": 2, "seed": 3, "source": 3}
    means = data.delay_p99.sel(source="calls").mean("seed")
    assert bool((means.sel({"queue.core": "qfq"}) < means.sel({"queue.core": "fifo limit 20"})).all())
    assert data["source.calls.rate"].values.tolist() == [64000, 128000]


def test_scenarios_may_be_dataclasses_and_errors_are_the_commands():
    from roundelay.scenario import Cbr, Dumbbell, Scenario

    scenario = Scenario(
        duration="100ms",
        topology=Dumbbell(pairs=1, rate="1mbit"),
        source=[Cbr(name="a", from_="s0", to="r0", rate="1mbit")],
    )
    assert rd.sweep(scenario, {"source.a.packet_len": [500, 1000]}).runs["source.a.packet_len"] == [500, 1000]
    with pytest.raises(rd.UsageError, match="no source is called 'b'"):
        rd.sweep(scenario, {"source.b.rate": ["1mbit"]})
    with pytest.raises(TypeError, match="executor: expected None, an Executor"):
        rd.sweep(scenario, {"queue.core": ["fifo"]}, executor=5)
    with pytest.raises(rd.UsageError, match="less than max"):
        rd.sweep(scenario, {"queue.core": ["fifo", "red min 30kb max 20kb"]})


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_give_the_same_bytes(tmp_path, expected, kind):
    with kind(2) as executor:
        result = rd.sweep(SCENARIO, OVER, seeds=40, executor=executor, out=tmp_path / "d")
    assert files(tmp_path / "d") == expected and result.done == 160


def test_a_killed_worker_of_a_pool_loses_no_run(tmp_path, expected):
    """Regression: a bare BrokenProcessPool."""
    import os
    import signal

    seen = []

    def kill(done, total):
        seen.append(done)
        if len(seen) == 5:
            os.kill(next(iter(executor._processes)), signal.SIGKILL)

    with ProcessPoolExecutor(2) as executor:
        result = rd.sweep(SCENARIO, OVER, seeds=40, executor=executor, out=tmp_path / "d", progress=kill)
    assert (result.done, result.failed) == (160, [])
    assert files(tmp_path / "d") == expected


def test_an_executor_that_breaks_says_how_to_resume(tmp_path):
    from concurrent.futures import BrokenExecutor, Executor, Future

    class Breaks(Executor):
        calls = 0

        def submit(self, fn, /, *args, **kwargs):
            self.calls += 1
            future = Future()
            if self.calls > 2:
                future.set_exception(BrokenExecutor("a worker died"))
            else:
                future.set_result(fn(*args, **kwargs))
            return future

    with pytest.raises(rd.RunError, match="the Breaks is broken, .* the same call with another executor resumes"):
        rd.sweep(SCENARIO, OVER, seeds=4, executor=Breaks(), out=tmp_path / "d")
    again = rd.sweep(SCENARIO, OVER, seeds=4, out=tmp_path / "d")
    assert (again.cached, again.done) == (8, 8)


TCP = """
duration = "1s"
[topology]
template = "dumbbell"
pairs = 1
rate = "2mbit"
delay = "5ms"
[[source]]
name = "downloads"
kind = "tcp"
from = "s0"
to = "r0"
"""


class Own:
    """First in, first out."""

    version = "1"

    def __init__(self):
        self.waiting = []

    def enqueue(self, packet, now):
        self.waiting.append(packet)

    def dequeue(self, now):
        return self.waiting.pop(0) if self.waiting else None


class Control:
    """A window of twenty segments."""

    version = 1

    def on_ack(self, feedback):
        return 20 * feedback.segment_length

    on_loss = on_ack


class Raises(Own):
    def dequeue(self, now):
        if now > 0.5:
            raise ValueError("half a second is enough")
        return super().dequeue(now)


def test_a_scheduler_in_python_is_a_value_of_a_key(tmp_path):
    over = {"queue.core": ["fifo limit 1000", Own]}
    result = rd.sweep(SCENARIO, over, seeds=2, out=tmp_path / "d")
    assert (result.done, result.failed) == (4, [])
    columns = result.runs.to_dict()
    rows = {name: [value for value, queue in zip(columns["delay_p99"], columns["queue.core"]) if queue == name] for name in set(columns["queue.core"])}
    # The class is a FIFO queue, with the same buffer.
    assert rows["Own"] == rows["fifo limit 1000"]
    assert rd.sweep(SCENARIO, over, seeds=2, out=tmp_path / "d").cached == 4
    newer = type("Own", (Own,), {"version": "2"})
    again = rd.sweep(SCENARIO, {"queue.core": ["fifo limit 1000", newer]}, seeds=2, out=tmp_path / "d")
    assert (again.cached, again.done) == (2, 2)
    assert again.why.splitlines()[2:] == [f"queue.core=Own seed={seed}: changed: behaviour of discipline.Own" for seed in (1, 2)]


def test_a_congestion_control_has_a_part_in_the_identity(tmp_path):
    over = {"topology.rate": ["1mbit", "2mbit"]}
    run = lambda **more: rd.sweep(TCP, over, out=tmp_path / "d", **more)  # noqa: E731
    assert run().done == 2
    mine = run(congestion={"downloads": Control})
    assert (mine.cached, mine.done, mine.failed) == (0, 2, [])
    assert all(line.endswith(": changed: behaviour of congestion.downloads") for line in mine.why.splitlines())
    assert run(congestion=Control).cached == 2
    assert run(congestion={"downloads": type("Control", (Control,), {"version": 2})}).done == 2
    gone = run()
    assert gone.done == 2 and all(line.endswith("congestion.downloads, not used any more") for line in gone.why.splitlines())
    assert run(congestion="reno").done == 2 and run(congestion="reno").cached == 2
    simulated = rd.simulate(TCP.replace("2mbit", "1mbit"), congestion=Control).to_dict()["summary"]["groups"][0]
    assert mine.runs["throughput"][0] == simulated["throughput"]["mean"]


@pytest.mark.parametrize(
    ("over", "congestion", "message"),
    [
        ({"queue.core": [type("Mine", (Own,), {"version": None})]}, None, "Mine: no version"),
        ({}, {"downloads": type("Mine", (Control,), {"version": ""})}, "Mine: no version"),
        ({"queue.core": [type("fifo", (Own,), {})]}, None, "name of a built-in one"),
        ({"queue.core": [type("pfifo", (Own,), {})]}, None, "^pfifo: a class with the name of a built-in one; expected another name"),
        ({"queue.core": [type("bfifo", (Own,), {})]}, None, "^bfifo: a class with the name of a built-in one; expected another name"),
        ({"queue.core": [type("prio", (Own,), {}), "fifo"]}, None, "^prio: a class with the name of a built-in one; expected another name"),
        ({"queue.core": [type("a b", (Own,), {})]}, None, "no name for a class"),
        ({"queue.core": [Own, type("Own", (Own,), {})]}, None, "two classes have this name"),
        ({"topology.rate": ["1mbit"]}, {"uploads": Control}, "legal names downloads"),
    ],
)
def test_wrong_classes_are_refused_before_a_run(over, congestion, message):
    with pytest.raises(rd.UsageError, match=message) as error:
        rd.sweep(TCP, over or {"topology.rate": ["1mbit"]}, congestion=congestion)
    assert error.value.status == 2


@pytest.mark.parametrize("threads", [False, True])
def test_an_exception_of_a_class_is_a_failure_of_its_run(threads):
    executor = ThreadPoolExecutor(2) if threads else None
    result = rd.sweep(SCENARIO, {"queue.core": ["fifo", Raises]}, seeds=2, executor=executor)
    assert (result.done, len(result.failed)) == (2, 2)
    assert all("half a second is enough" in failed["message"] and "of Raises: dequeue(now=0.5" in failed["message"] for failed in result.failed)


class Shortest(Own):
    """The shortest packet first, from a buffer of its own."""

    limit = "30p"
    reorders = True

    def dequeue(self, now):
        self.waiting.sort(key=lambda packet: packet.length)
        return super().dequeue(now)


PORTS = SCENARIO + '''
[[port]]
from = "left"
to = "right"
queue = "fifo"
[[port]]
from = "right"
to = "left"
queue = "fifo"
'''


def test_several_classes_are_values_of_ports_and_of_a_class_of_links(tmp_path):
    over = {"port.left>right.queue": ["fifo limit 1000", Own, Shortest], "port.right>left.queue": ["fifo limit 1000", Own], "queue.edge": ["fifo limit 1000", Own]}
    result = rd.sweep(PORTS, over, seeds=2, out=tmp_path / "d")
    assert (result.done, result.failed) == (24, [])
    columns = result.runs.to_dict()
    figures: dict[str, list] = {}
    for forth, back, edge, *rest in zip(*(columns[key] for key in [*over, "seed", "source", "delay_p99", "loss"]), strict=True):
        figures.setdefault(forth, []).append(tuple(rest))
        assert (back in ("Own", "fifo limit 1000")) and edge in ("Own", "fifo limit 1000")
    # FIFO queues are equal, whoever wrote them; the port that carries the load has the third.
    assert len(set(figures["Own"])) == 6 and set(figures["Own"]) == set(figures["fifo limit 1000"])
    assert set(figures["Shortest limit 30p"]).isdisjoint(figures["Own"])
    newer = type("Own", (Own,), {"version": "2"})
    over = {key: [newer if value is Own else value for value in values] for key, values in over.items()}
    again = rd.sweep(PORTS, over, seeds=2, out=tmp_path / "d")
    # Four of the twelve points have no Own.
    assert (again.cached, again.done) == (4, 20)


class Fails(Own):
    limit = "10p"

    def enqueue(self, packet, now):
        raise LookupError("no table")


@pytest.mark.parametrize("as_file", [False, True])
def test_the_call_that_repeats_a_failed_run_does_repeat_it(tmp_path, monkeypatch, as_file):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(TCP)
    scenario, congestion = "s.toml" if as_file else TCP, {"downloads": Control}
    over = {"queue.core": ["fifo", Fails], "topology.rate": "1mbit..2mbit/2"}
    result = rd.sweep(scenario, over, seeds=2, congestion=congestion, out="d")
    assert (result.done, len(result.failed)) == (4, 4)
    names = {"rd": rd, "Fails": Fails, "congestion": congestion} | ({} if as_file else {"scenario": scenario})
    for failed in result.failed:
        again = eval(failed["command"], names)  # noqa: S307
        assert [each["message"] for each in again.failed] == [failed["message"]] and "no table" in failed["message"]
        assert (again.cached, again.done, again.failed[0]["point"]) == (0, 0, failed["point"])
        assert again.to_dict()["failed"][0]["command"] == failed["command"]
    assert result.failed[0]["command"].startswith("rd.sweep('s.toml', {" if as_file else "rd.sweep(scenario, {'queue.core': [Fails], 'topology.rate': [")


def test_classes_of_one_name_are_told_apart_in_the_call():
    other = type("Fails", (Fails,), {"name": "Other", "version": "1", "__module__": "mine"})
    result = rd.sweep(TCP, {"queue.core": [Fails, other]})
    calls = [failed["command"] for failed in result.failed]
    assert ["[mine.Fails]" in call for call in calls] == [False, True] and f"[{Fails.__module__}.Fails]" in calls[0]


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_classes_travel_to_executors(tmp_path, kind):
    over = {"queue.core": ["fifo", Own]}
    rd.sweep(TCP, over, seeds=4, congestion=Control, out=tmp_path / "here")
    with kind(2) as executor:
        rd.sweep(TCP, over, seeds=4, congestion=Control, executor=executor, out=tmp_path / "there")
    assert files(tmp_path / "here") == files(tmp_path / "there") != {}


def test_classes_that_cannot_travel_are_refused():
    local = type("Local", (Own,), {})
    with ProcessPoolExecutor(1) as executor, pytest.raises(rd.UsageError, match="ProcessPoolExecutor sends classes to workers by pickle") as error:
        rd.sweep(TCP, {"queue.core": [local]}, executor=executor)
    assert error.value.status == 2
    with ThreadPoolExecutor(1) as executor:
        assert rd.sweep(TCP, {"queue.core": [local]}, executor=executor).done == 1
        with pytest.raises(rd.UsageError, match="until: adds runs on the threads of this process only"):
            rd.sweep(TCP, {"queue.core": ["fifo"]}, executor=executor, until="ci=2%", figure="delay_p99")


def test_figures_of_the_meter_are_columns():
    result = rd.sweep(SCENARIO, {"meter.wfi": [True, False], "meter.flows": [True]})
    measured = [value is not None for value in result.runs["b_wfi"]]
    assert measured == [True] * 3 + [False] * 3 and all(value is not None for value in result.runs["lives_throughput"])


def local_classes() -> tuple[type, type]:
    """Classes that travel by value: workers cannot import this module."""

    class Queue:
        version = "1"

        def __init__(self):
            self.waiting = []

        def enqueue(self, packet, now):
            self.waiting.append(packet)

        def dequeue(self, now):
            return self.waiting.pop(0) if self.waiting else None

    class Window:
        version = "1"

        def on_ack(self, feedback):
            return 20 * feedback.segment_length

        on_loss = on_ack

    return Queue, Window


def check_classes_travel(folder: Path, executor) -> None:
    """A sweep with classes on an executor gives the bytes of one on threads."""
    queue, window = local_classes()
    for name, each in [("threads", None), ("executor", executor)]:
        result = rd.sweep(TCP, {"queue.core": ["fifo", queue]}, seeds=4, congestion=window, executor=each, out=folder / name)
        assert (result.done, result.failed) == (8, [])
    assert files(folder / "threads") == files(folder / "executor")


def after_first_results(folder: Path, act) -> threading.Thread:
    """Acts once the journal has results."""

    def watch() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if any(path.stat().st_size for path in folder.glob(".journal/*/runs.jsonl")):
                return act()
            time.sleep(0.002)
        raise TimeoutError("no results")

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_dask_loses_nothing_with_a_killed_worker(tmp_path, expected):
    distributed = pytest.importorskip("distributed")
    killed: list[int] = []
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())

            def kill() -> None:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])

            thread = after_first_results(tmp_path / "d", kill)
            result = rd.sweep(SCENARIO, OVER, seeds=40, executor=client, out=tmp_path / "d")
            thread.join()
        assert files(tmp_path / "d") == expected
        assert (result.done, result.failed) == (160, []) and killed
        # The scheduler's address: everything is in the dataset already.
        again = rd.sweep(SCENARIO, OVER, seeds=41, executor=cluster.scheduler_address, out=tmp_path / "d")
        check_classes_travel(tmp_path, cluster.scheduler_address)
    assert (again.cached, again.done, again.failed) == (160, 4, [])


def test_ray_loses_nothing_with_a_killed_worker(tmp_path, expected, monkeypatch):
    # On loopback, without a token in the user's home.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray = pytest.importorskip("ray")
    killed: list[int] = []
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        pids = ray.remote(lambda: os.getpid())

        def kill() -> None:
            # The pool's processes run these tasks too.
            pid = ray.get(pids.remote())
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

        thread = after_first_results(tmp_path / "d", kill)
        result = rd.sweep(SCENARIO, OVER, seeds=40, executor="ray", out=tmp_path / "d")
        thread.join()
        check_classes_travel(tmp_path, "ray")
    finally:
        ray.shutdown()
    assert files(tmp_path / "d") == expected
    assert (result.done, result.failed) == (160, []) and killed


class Interrupted(ThreadPoolExecutor):
    """Raises KeyboardInterrupt after some results, as Ctrl-C does."""

    submitted = 0

    def submit(self, fn, /, *args, **kwargs) -> Future:
        self.submitted += 1
        if self.submitted > 20:
            raise KeyboardInterrupt
        return super().submit(fn, *args, **kwargs)


def test_a_store_of_s3_has_the_same_bytes_and_goes_on(tmp_path, expected, monkeypatch):
    moto = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem()
        store.mkdir("sweeps")
        with pytest.raises(KeyboardInterrupt), Interrupted(1) as executor:
            rd.sweep(SCENARIO, OVER, seeds=40, executor=executor, out="s3://sweeps/mine")
        store.invalidate_cache()
        assert any(path.endswith(".jsonl") for path in store.find("sweeps/mine"))
        result = rd.sweep(SCENARIO, OVER, seeds=40, out="s3://sweeps/mine")
        assert result.cached >= 60 and result.cached + result.done == 160
        assert str(result).splitlines()[1] == "Dataset: s3://sweeps/mine"
        store.invalidate_cache()
        found = {path.removeprefix("sweeps/mine/"): store.cat_file(path) for path in store.find("sweeps/mine")}
        assert found == expected
        assert rd.sweep(SCENARIO, OVER, seeds=40, out="s3://sweeps/mine").cached == 160
    finally:
        server.stop()
