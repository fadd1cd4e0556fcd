"""Processes and signals: fork after a call, Ctrl-C during one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import roundelay as rd
from children import TINY
from conftest import CAPTURE, HOME, SMALL

HERE = Path(__file__).parent

THREADS = """
import os, sys, time
import roundelay as rd
from pathlib import Path
small = sys.argv[1]
rd.simulate(small, replicas=4, threads=4)
rd.compare(sys.argv[2], "5mbit", ["fifo", "drr"], threads=4)
rd.replay(small, threads=4)
# An ended thread leaves the system's list a moment after it was joined.
for _ in range(100):
    if len(os.listdir("/proc/self/task")) == 1:
        break
    time.sleep(0.01)
print(len(os.listdir("/proc/self/task")))
"""


def test_no_thread_lives_after_a_call():
    line = [sys.executable, "-c", THREADS, SMALL, CAPTURE]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_hundred_children_after_simulate(method):
    subprocess.run([sys.executable, HERE / "children.py", method], check=True, timeout=1200)


LONG = """
import fcntl, os, sys, time
from concurrent.futures import ThreadPoolExecutor
import roundelay as rd
from pathlib import Path
folder, which = Path(sys.argv[1]), sys.argv[2]
text = Path(sys.argv[3]).read_text().replace('duration = "20s"', 'duration = "20000s"')

class Fifo:
    def __init__(self): self.queue = []
    def enqueue(self, packet, now): self.queue.append(packet)
    def dequeue(self, now): return self.queue.pop(0) if self.queue else None

class Locks(ThreadPoolExecutor):
    # The dataset is locked as by another process, while tasks run.
    def submit(self, *work):
        fcntl.flock(os.open(dataset / ".lock", os.O_RDWR), fcntl.LOCK_EX)
        return super().submit(*work)

pipe, dataset = folder.with_suffix(".pipe"), folder.with_suffix(".sweep")
os.mkfifo(pipe)
silent = os.open(pipe, os.O_RDWR) if which == "silent pipe" else None
files = dict(parquet=folder, html=folder / "page.html")
calls = {
    "simulate": lambda: rd.simulate(text, log=folder / "log", pcapng=folder / "pcapng", **files),
    "replicas": lambda: rd.simulate(text, replicas=100, **files),
    "own": lambda: rd.simulate(text, queue=Fifo, **files),
    "compare": lambda: [rd.compare(sys.argv[4], "5mbit", cost=True, **files) for _ in range(100)],
    "replay": lambda: rd.replay(text, **files),
    "sweep": lambda: rd.sweep(text, {"queue.core": ["fifo", "qfq"]}),
    "pipe": lambda: rd.compare(pipe, "5mbit", "fifo", **files),
    "silent pipe": lambda: rd.compare(pipe, "5mbit", "fifo", **files),
    "pipe of weights": lambda: rd.compare(sys.argv[4], "5mbit", "fifo", weights=pipe, **files),
    "pipe of a scenario": lambda: rd.simulate(pipe, **files),
    "pipe of a sweep": lambda: rd.sweep(pipe, {}),
    "pipe of bounds": lambda: rd.bounds(pipe),
    "locked dataset": lambda: rd.sweep(sys.argv[5], {}, executor=Locks(1), out=dataset),
    "check": lambda: [rd.testing.check(Fifo) for _ in range(100)],
}
print("ready", flush=True)
try:
    calls[which]()
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
else:
    print("ended", flush=True)
"""


def interrupted(tmp_path, which: str) -> float:
    """Seconds from SIGINT to KeyboardInterrupt in a child."""
    line = [sys.executable, "-c", textwrap.dedent(LONG), tmp_path, which, HOME, CAPTURE, TINY]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        # One that hears no signal ends all the same.
        killer = threading.Timer(60, process.kill)
        killer.start()
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        told = process.stdout.readline()
        killer.cancel()
    assert told[:1].isdigit(), told
    return float(told) - sent


PIPES = ["pipe", "silent pipe", "pipe of weights", "pipe of a scenario", "pipe of a sweep", "pipe of bounds"]


@pytest.mark.parametrize("which", ["simulate", "replicas", "own", "compare", "replay", "sweep", "check", "locked dataset", *PIPES])
def test_ctrl_c_ends_a_call_and_leaves_no_half_written_file(tmp_path, which):
    # The best of three: the machine may be busy.
    waits = []
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        waits.append(interrupted(folder, which))
        assert not [path for path in folder.iterdir() if "partial" in path.name or path.stat().st_size == 0]
        if which != "compare":
            assert list(folder.iterdir()) == []
    assert min(waits) <= 0.2, waits


def test_a_pipe_is_read_as_its_file_is(tmp_path):
    pipe = tmp_path / "pipe.pcap"
    os.mkfifo(pipe)

    def write():
        content = CAPTURE.read_bytes()
        time.sleep(0.2)
        with open(pipe, "wb", buffering=0) as writer:
            for place in range(0, len(content), 100_000):
                writer.write(content[place : place + 100_000])
                time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    piped = rd.compare(pipe, "5mbit", ["fifo", "qfq"]).to_dict()
    writer.join()
    whole = rd.compare(CAPTURE, "5mbit", ["fifo", "qfq"]).to_dict()
    assert piped["disciplines"] == whole["disciplines"] and piped["capture"]["packets"] == whole["capture"]["packets"]


def test_the_command_ends_on_ctrl_c(tmp_path):
    scenario = tmp_path / "long.toml"
    scenario.write_text(SMALL.replace('duration = "1s"', 'duration = "20000s"'))
    line = [sys.executable, "-m", "roundelay", "simulate", scenario, "--log", tmp_path / "log"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]


def test_the_gil_is_released():
    ticks, done = 0, threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    rd.simulate(HOME, replicas=8)
    done.set()
    thread.join()
    assert ticks > 20
