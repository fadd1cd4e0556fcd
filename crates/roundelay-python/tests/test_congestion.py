"""Congestion controls written in Python."""

from __future__ import annotations

import math
import threading

import pytest

import roundelay as rd
from conftest import SMALL

# Two connections that share a dumbbell's bottleneck with a short buffer, and a call without TCP.
DUMBBELL = """
name = "dumbbell"
duration = "3s"
[topology]
template = "dumbbell"
pairs = 3
rate = "10mbit"
delay = "10ms"
[queue]
core = "fifo limit 30"
[[source]]
name = "downloads"
kind = "tcp"
from = ["s0", "s1"]
to = ["r0", "r1"]
start_step = "50ms"
tcp = { control = "reno", FLAVOUR }
[[source]]
name = "call"
kind = "cbr"
from = "s2"
to = "r2"
rate = "64kbit"
"""
SACK = DUMBBELL.replace("FLAVOUR", 'flavour = "sack"')
NEWRENO = DUMBBELL.replace("FLAVOUR", 'preset = "ns2_newreno"')
MARKED = DUMBBELL.replace("FLAVOUR", "ecn = true, pacing = true").replace("fifo limit 30", "fq_codel ecn")


class Reno:
    """RFC 5681."""

    def __init__(self):
        self.towards_next = 0

    def on_ack(self, feedback):
        if feedback.window < feedback.threshold:
            return feedback.window + min(feedback.acknowledged, feedback.segment_length)
        self.towards_next += feedback.acknowledged
        if self.towards_next < feedback.window:
            return feedback.window
        self.towards_next -= feedback.window
        return feedback.window + feedback.segment_length

    def on_loss(self, feedback):
        self.towards_next = 0
        return max(feedback.in_flight // 2, 2 * feedback.segment_length)


class Gentle(Reno):
    def on_loss(self, feedback):
        return max(feedback.in_flight * 7 / 8, 2 * feedback.segment_length)


def packets(tmp_path, scenario, **keywords):
    """Every packet of the run: the event log, and the results."""
    log = tmp_path / "run.log"
    result = rd.simulate(scenario, log=log, seed=5, **keywords)
    return log.read_bytes(), result.to_dict()["replicas"], result


@pytest.mark.parametrize("scenario", [SACK, NEWRENO, MARKED])
def test_a_reno_in_python_gives_the_packets_of_the_native_one(tmp_path, scenario):
    native, results, found = packets(tmp_path, scenario)
    assert len(native) > 100_000
    own, own_results, own_found = packets(tmp_path, scenario.replace('control = "reno"', 'control = "cubic"'), congestion=Reno)
    assert own == native and own_results == results
    by_name, _, _ = packets(tmp_path, scenario, congestion={"downloads": Reno})
    assert by_name == native
    other, _, _ = packets(tmp_path, scenario, congestion=Gentle)
    assert other != native
    # A hash of its own: the configuration is another.
    assert found.metadata != own_found.metadata


def test_built_in_controls_by_name(tmp_path):
    cubic = SACK.replace('control = "reno"', 'control = "cubic"')
    assert packets(tmp_path, SACK, congestion="cubic")[0] == packets(tmp_path, cubic)[0]
    assert packets(tmp_path, cubic, congestion={"downloads": "reno"})[0] == packets(tmp_path, SACK)[0]
    assert packets(tmp_path, cubic)[0] != packets(tmp_path, SACK)[0]


class Recorder(Reno):
    """Keeps the calls of all instances."""

    made: list[Recorder] = []

    def __init__(self):
        super().__init__()
        self.calls: list = []
        self.made.append(self)

    def on_ack(self, feedback):
        self.calls.append(("ack", feedback))
        return super().on_ack(feedback)

    def on_limited(self, feedback):
        self.calls.append(("limited", feedback))

    def on_loss(self, feedback):
        self.calls.append(("loss", feedback))
        return super().on_loss(feedback)

    def on_mark(self, feedback):
        self.calls.append(("mark", feedback))
        return super().on_loss(feedback)

    def on_timeout(self, feedback):
        self.calls.append(("timeout", feedback))
        return super().on_loss(feedback)


@pytest.fixture
def recorded():
    Recorder.made.clear()
    return Recorder.made


def test_each_connection_has_an_instance_and_its_feedback(recorded):
    result = rd.simulate(SACK, congestion=Recorder)
    assert len(recorded) == 2
    calls = recorded[0].calls
    _, first = calls[0]
    assert isinstance(first, rd.Feedback)
    assert (first.window, first.segment_length, first.acknowledged % 1448) == (14_480, 1448, 0)
    # The dumbbell has a round trip of 60 ms: the SYN, then the first window.
    assert 0.12 < first.now < 0.13 and 0.06 <= first.round_trip < 0.065
    assert 0.06 <= first.smoothed_round_trip <= first.round_trip and first.threshold > 1 << 20
    assert repr(first).startswith(f"Feedback(now={first.now}, window=14480, ")
    times = [feedback.now for _, feedback in calls]
    assert times == sorted(times) and times[-1] < 3.0
    losses = [feedback for name, feedback in calls if name == "loss"]
    assert losses and all(loss.acknowledged == 0 and loss.round_trip is None for loss in losses)
    assert all(0 < loss.in_flight for loss in losses)
    acknowledged = sum(feedback.acknowledged for made in recorded for _, feedback in made.calls)
    assert 0 < acknowledged * 8 / 3 <= result.to_dict()["replicas"][0]["groups"][0]["throughput"] * 1.01
    recorded.clear()
    rd.simulate(MARKED, congestion=Recorder)
    assert any(name == "mark" for made in recorded for name, _ in made.calls)
    recorded.clear()
    # A buffer of two packets loses whole windows.
    rd.simulate(NEWRENO.replace("fifo limit 30", "fifo limit 2"), congestion=Recorder)
    assert any(name == "timeout" for made in recorded for name, _ in made.calls)


def test_a_connection_that_does_not_fill_its_window(recorded):
    text = SACK.replace('kind = "tcp"', 'kind = "tcp"\nsize = "1000b"')
    rd.simulate(text, congestion=Recorder)
    assert [name for made in recorded for name, _ in made.calls] == ["limited", "limited"]


def test_replicas_and_threads_give_the_same():
    run = lambda threads: rd.simulate(SACK, congestion=Gentle, replicas=4, threads=threads).to_json()  # noqa: E731
    assert run(1) == run(4)
    results: list[str] = []
    others = [threading.Thread(target=lambda: results.append(run(2))) for _ in range(3)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join(120)
    assert results == [run(1)] * 3


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (0, "0"),
        (-3.5, "-3.5"),
        (1447, "1447"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (2**50 + 1, str(2**50 + 1)),
        (10**400, str(10**400)),
        (None, "None"),
        ("wide", "str"),
    ],
)
@pytest.mark.parametrize("method", ["on_ack", "on_loss"])
def test_windows_out_of_range_are_refused(method, value, given):
    wild = type("Wild", (Reno,), {method: lambda self, feedback: value})
    with pytest.raises(rd.ContractError) as wrong:
        rd.simulate(SACK, congestion=wild)
    legal = f"1448 to {2**50} bytes"
    assert str(wrong.value) == f"Wild: {method} returned {given}; expected a window, a number of bytes: legal range {legal}"
    assert (wrong.value.given, wrong.value.legal) == (given, legal)
    assert wrong.value.__notes__[0].startswith("in call ") and f"of Wild: {method}(Feedback(now=" in wrong.value.__notes__[0]


@pytest.mark.parametrize("value", [1448, 1448.9, 2**50])
def test_windows_at_the_ends_of_the_range_are_legal(value):
    wild = type("Wild", (Reno,), {"on_ack": lambda self, feedback: value})
    assert rd.simulate(SACK, congestion=wild).to_dict()["replicas"][0]["groups"][0]["packets"]["delivered"] > 10


class Raises(Reno):
    name = "raises at one second"

    def on_ack(self, feedback):
        if feedback.now > 1.0:
            raise ZeroDivisionError("no window")
        return super().on_ack(feedback)


class RaisesAtOnce:
    def __init__(self):
        raise LookupError("no table")


class NoLoss:
    def on_ack(self, feedback):
        return feedback.window


def test_an_exception_of_a_control_comes_out_and_leaves_no_file(tmp_path):
    files = {"parquet": tmp_path, "log": tmp_path / "run.log", "html": tmp_path / "page.html"}
    with pytest.raises(ZeroDivisionError, match="no window") as raised:
        rd.simulate(SACK, congestion=Raises, replicas=1, **files)
    assert "of raises at one second: on_ack(Feedback(now=1.0" in raised.value.__notes__[0]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LookupError, match="no table"):
        rd.simulate(SACK, congestion=RaisesAtOnce)
    with pytest.raises(rd.ContractError, match=r"NoLoss has no method on_loss; a congestion control has on_ack\(feedback\) and"):
        rd.simulate(SACK, congestion=NoLoss)


def test_wrong_arguments_name_what_is_legal():
    with pytest.raises(rd.UsageError, match="no source is called 'download'") as wrong:
        rd.simulate(SACK, congestion={"download": Reno})
    assert (wrong.value.given, wrong.value.legal, wrong.value.meant) == ("download", "downloads, or all", "downloads")
    with pytest.raises(rd.UsageError, match="source 'call' does not use TCP: legal names downloads, or all"):
        rd.simulate(SACK, congestion={"call": Reno})
    with pytest.raises(rd.UsageError, match="no congestion control is called 'cubik'") as wrong:
        rd.simulate(SACK, congestion="cubik")
    assert (wrong.value.given, wrong.value.legal, wrong.value.meant) == ("cubik", "reno, cubic", "cubic")
    for given in (3, {"downloads": 3}):
        with pytest.raises(TypeError, match="expected 'reno', 'cubic' or a class with on_ack and on_loss, not int"):
            rd.simulate(SMALL, congestion=given)  # pyright: ignore[reportArgumentType]
