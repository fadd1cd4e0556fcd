"""Paths and helpers of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CAPTURE = ROOT / "examples/captures/home-downlink.pcap"
HOME = ROOT / "examples/scenarios/home.toml"

# A second of two TCP connections over 10 Mbit/s.
SMALL = """
name = "small"
duration = "1s"
[topology]
template = "dumbbell"
pairs = 2
rate = "10mbit"
[queue]
core = "fq_codel"
[[source]]
name = "downloads"
kind = "tcp"
from = ["s0", "s1"]
to = ["r0", "r1"]
"""


def command(*words: object) -> subprocess.CompletedProcess[str]:
    """The command of the package, in the repository's folder."""
    line = [sys.executable, "-m", "roundelay", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)


def output(*words: object) -> str:
    """Standard output of the command, which must succeed."""
    done = command(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Fifo:
    """First in, first out."""

    def __init__(self) -> None:
        self.queue: list = []

    def enqueue(self, packet, now):
        self.queue.append(packet)

    def dequeue(self, now):
        return self.queue.pop(0) if self.queue else None


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository's folder as working directory, so that names in results are the command's."""
    monkeypatch.chdir(ROOT)
    return ROOT
