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


def test_readers_take_results_and_datasets_as_they_are(tmp_path):
    import duckdb
    import polars
    import pyarrow

    result = rd.sweep(SCENARIO, OVER, seeds=3, out=tmp_path / "d")
    table = pyarrow.table(result)
    assert table.schema.field("source.calls.rate").type == "int64" and table.schema.field("queue.core").type == "string"
    frame = polars.DataFrame(result).sort("queue.core", "source.calls.rate", "seed", "source")
    read = polars.scan_parquet(f"{tmp_path}/d/**/*.parquet", hive_partitioning=True).collect()
    order = ["queue.core", "source.calls.rate", "seed", "source"]
    assert read.sort(order).select(frame.columns).equals(frame) and len(frame) == 36
    query = 'SELECT "queue.core", avg(delay_p99) FROM read_parquet(?, hive_partitioning = true) WHERE source = \'calls\' GROUP BY ALL ORDER BY ALL'
    rows = duckdb.execute(query, [f"{tmp_path}/d/**/*.parquet"]).fetchall()
    assert [name for name, _ in rows] == ["fifo limit 20", "qfq"] and rows[1][1] < rows[0][1]
    assert "qfq" in result._repr_html_()


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
    with pytest.raises(TypeError, match="expected an Executor"):
        rd.sweep(scenario, {"queue.core": ["fifo"]}, executor=5)
    mixed = rd.sweep(scenario, {"queue.core": ["fifo", "red min 30kb max 20kb"]})
    assert (mixed.done, len(mixed.failed)) == (1, 1) and "less than max" in mixed.failed[0]["message"]


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_give_the_same_bytes(tmp_path, expected, kind):
    with kind(2) as executor:
        result = rd.sweep(SCENARIO, OVER, seeds=40, executor=executor, out=tmp_path / "d")
    assert files(tmp_path / "d") == expected and result.done == 160


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
        store.invalidate_cache()
        found = {path.removeprefix("sweeps/mine/"): store.cat_file(path) for path in store.find("sweeps/mine")}
        assert found == expected
        assert rd.sweep(SCENARIO, OVER, seeds=40, out="s3://sweeps/mine").cached == 160
    finally:
        server.stop()
