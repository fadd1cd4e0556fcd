"""Progress: reports to a function, bars in notebooks, an exception that ends the call."""

from __future__ import annotations

import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

import roundelay as rd
from conftest import CAPTURE, SMALL, Fifo
from roundelay import _progress

# Long enough for reports every 20 ms.
LONG = SMALL.replace('duration = "1s"', 'duration = "40s"')
OVER = {"queue.core": ["fifo", "qfq"]}


class Reports(list):
    def __call__(self, done: int, whole: int) -> None:
        self.append((done, whole))


@pytest.mark.parametrize(
    "call",
    [
        lambda told: rd.compare(CAPTURE, "5mbit", ["fifo", "qfq"], progress=told),
        lambda told: rd.simulate(LONG, replicas=2, progress=told),
        lambda told: rd.replay(SMALL, ["lstf"], progress=told),
        lambda told: rd.sweep(SMALL, OVER, seeds=3, progress=told),
        lambda told: rd.sweep(SMALL, OVER, seeds=3, executor=ThreadPoolExecutor(1), progress=told),
    ],
    ids=["compare", "simulate", "replay", "sweep", "sweep on an executor"],
)
def test_a_function_is_told_up_to_the_end(call):
    told = Reports()
    call(told)
    assert told
    assert told == sorted(told)
    assert len({whole for _, whole in told}) == 1
    assert told[-1][0] == told[-1][1] > 0


def test_a_sweep_counts_its_runs():
    told = Reports()
    rd.sweep(SMALL, OVER, seeds=3, progress=told)
    assert told[-1] == (6, 6)


def test_an_exception_of_the_function_ends_the_call():
    def refuse(done: int, whole: int) -> None:
        raise LookupError(f"{done} of {whole}")

    with pytest.raises(LookupError):
        # Without the exception this run would take minutes.
        rd.simulate(SMALL.replace('duration = "1s"', 'duration = "36000s"'), progress=refuse)
    assert len(rd.simulate(SMALL, queue=Fifo).flows) == 2


def test_without_a_notebook_there_is_no_bar():
    with _progress.reporting(None) as show:
        assert show is None
    with _progress.reporting(False) as show:
        assert show is None


def test_a_bar_shows_the_part_done(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.setattr(_progress, "_PATIENCE", 0)
    with _progress.reporting(True) as show:
        assert show is not None
        show(1, 4)
        time.sleep(0.2)     # bars are drawn ten times a second
        show(4, 4)
    assert "100%" in capsys.readouterr().err


def test_a_notebook_has_a_bar(monkeypatch: pytest.MonkeyPatch):
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert _progress._in_notebook()
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with _progress.reporting(None) as show:
        assert show is None
    with pytest.raises(ImportError), _progress.reporting(True):
        pass
