"""The wrong value, the legal ones and the name meant, which exceptions have as data."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy
import pandas
import pytest

import roundelay as rd
from conftest import SMALL

CAPTURE = "examples/captures/home-downlink.pcap"
LENGTH = 'bytes of a packet, as in 1000 or "1000b"'
TIME = 'a time in s, ms, us or ns, as in "5ms", from 0 to 213 days'
SOURCE = {"name": "a", "kind": "cbr", "from": "s0", "to": "r0", "rate": "900kbit"}
SCENARIO = {"duration": "100ms", "topology": {"template": "dumbbell", "pairs": 1, "rate": "1mbit"}, "source": [SOURCE]}


def raised(call) -> rd.RoundelayError:
    with pytest.raises(rd.RoundelayError) as found:
        call()
    return found.value


@pytest.mark.parametrize(
    ("source", "given", "legal"),
    [
        ({"start": -1}, "-1", TIME),
        ({"dscp": 99}, "99", 'a code point, legal range 0 to 63, or a name, as in "ef" or "af41"'),
        ({"rate": 5}, "5", 'a rate, as in "10mbit", from 1bit to 18000000tbit'),
        ({"edge_codel": 3}, "3", 'a table, as in edge_codel = { target = "5ms" }'),
        ({"packet_len": True}, "true", LENGTH),
        ({"packet_len": 0}, "0", "1 to 65535"),
        ({"stop": "x"}, "x", TIME),
    ],
)
def test_details_of_a_source(source, given, legal):
    error = raised(lambda: rd.simulate({**SCENARIO, "source": [{**SOURCE, **source}]}))
    assert (error.given, error.legal) == (given, legal), str(error)


def test_errors_say_where_the_value_stands():
    error = raised(lambda: rd.simulate({**SCENARIO, "source": [{**SOURCE, "dscp": 99}]}))
    assert (error.owner, error.key) == ("source 'a'", "source.0.dscp")
    error = raised(lambda: rd.compare(CAPTURE, "20mbit", "fq_codel target x"))
    assert (error.owner, error.key) == ("fq_codel", "target")
    error = raised(lambda: rd.compare(CAPTURE, "20mbit", "fifoo"))
    assert (error.owner, error.key) == (None, None)


def test_details_of_calls(tmp_path):
    error = raised(lambda: rd.simulate({**SCENARIO, "topology": {"template": "dumbbell", "pairs": 0, "rate": "1mbit"}}))
    assert (error.given, error.legal) == ("0", "1 to 500000")
    error = raised(lambda: rd.sweep(SCENARIO, {"a." * 40 + "b": [1]}))
    assert (error.given, error.legal) == ("41", "1 to 16, as in queue.core")
    error = raised(lambda: rd.sweep(SCENARIO, {"source.a.packet_len": ["x", "y"]}))
    assert (error.given, error.legal) == ("x", f"{LENGTH}, at most 65536") and "packet_len=y" in str(error)
    error = raised(lambda: rd.sweep(SCENARIO, {"queue.core": ["fifoo", "qfqq"]}))
    assert (error.given, error.meant) == ("fifoo", "fifo") and error.legal and error.legal.startswith("fifo, ")
    error = raised(lambda: rd.compare("a\0b", "20mbit", "fifo"))
    assert (error.given, error.legal, error.path) == (None, None, "a\0b")
    rd.sweep(SCENARIO, {"source.a.packet_len": [500]}, out=tmp_path / "out")
    error = raised(lambda: rd.sweep(SCENARIO, {"duration": ["1s"]}, out=tmp_path / "out"))
    assert (error.given, error.legal) == (None, "another folder in out") and str(error).endswith("expected another folder in out")


@pytest.mark.parametrize("rate", [-5, 0, float("nan"), numpy.float64(-5.5), Decimal(-3)])
def test_a_wrong_number_is_told_as_given(rate):
    error = raised(lambda: rd.compare(CAPTURE, rate, "fifo"))
    assert error.given == str(rate) and str(error).startswith(f"rate={rate}: ") and f"{rate}bit" not in str(error)
    assert error.legal == "1bit to 18000000tbit"


HUGE = 10**400
RATES, SEEDS, FLOWS = "1bit to 18000000tbit", f"0 to {2**64 - 1}", f"0 to {2**32 - 1}"


@pytest.mark.parametrize("number", [-1, -HUGE, HUGE, 10**5000], ids=["-1", "-huge", "huge", "endless"])
@pytest.mark.parametrize(
    ("name", "legal", "call"),
    [
        ("seed", SEEDS, lambda queue, number: rd.Scheduler("fifo", seed=number)),
        ("flow", FLOWS, lambda queue, number: queue.enqueue(number, 100)),
        ("length", "1 to 65535", lambda queue, number: queue.enqueue(0, number)),
        ("priority", FLOWS, lambda queue, number: queue.enqueue(0, 100, priority=number)),
        ("now", "0 to 18446744 s", lambda queue, number: queue.enqueue(0, 100, now=number)),
        ("now", "0 to 18446744 s", lambda queue, number: queue.dequeue(now=number)),
        ("deadline", "0 to 18446744 s", lambda queue, number: queue.enqueue(0, 100, deadline=number)),
        ("weight", "1 to 1024", lambda queue, number: queue.set_flow(0, weight=number)),
        ("max_packet_length", "512 to 65536", lambda queue, number: queue.set_flow(0, max_packet_length=number)),
        ("flow", FLOWS, lambda queue, number: queue.remove_flow(number)),
        ("width", "0 to 65535", lambda queue, number: rd.simulate(SMALL).to_text(number)),
    ],
)
def test_a_number_of_any_size_is_told_with_its_legal_range(name, legal, call, number):
    queue = rd.Scheduler("fifo")
    error = raised(lambda: call(queue, number))
    given = "a longer number" if number == 10**5000 else str(number)
    assert (str(error), error.given, error.legal) == (f"{name} {given}: legal range {legal}", given, legal)
    assert isinstance(error, rd.UsageError) and len(queue) == 0


@pytest.mark.parametrize("rate", [-1, 0, -HUGE, HUGE, 1e30, float("inf"), float("nan"), Fraction(HUGE), Decimal("1e500")], ids=repr)
@pytest.mark.parametrize("call", [lambda rate: rd.Scheduler("fifo", rate=rate), lambda rate: rd.compare(CAPTURE, rate, "fifo")])
def test_a_rate_of_any_size_is_told_with_its_legal_range(call, rate):
    error = raised(lambda: call(rate))
    assert isinstance(error, rd.UsageError) and str(error).startswith(f"rate={rate}: ") and str(error).endswith(f"legal range {RATES}")
    assert (error.given, error.legal) == (str(rate), RATES)


def test_times_of_any_size_and_wrong_types_are_errors_of_the_package():
    queue = rd.Scheduler("fifo")
    error = raised(lambda: queue.enqueue(0, 100, slack=HUGE))
    assert (error.given, error.legal) == (str(HUGE), "-9223372 to 9223372 s")
    error = raised(lambda: rd.replay(SMALL, "lstf", threshold=HUGE))
    assert str(error) == f"threshold={HUGE}: expected {TIME}" and error.given == str(HUGE)
    queue.dequeue(now=2)
    error = raised(lambda: queue.dequeue(now=1))
    assert (str(error), error.given, error.legal) == ("now 1: time runs backwards; expected 2 or later", "1", "2 or later")
    for name, call in {
        "flow": lambda: queue.enqueue("x", 100),
        "length": lambda: queue.enqueue(0, 1.5),
        "now": lambda: queue.dequeue("x"),
        "rate": lambda: rd.Scheduler("fifo", rate=[1]),
        "limit": lambda: rd.Scheduler("fifo", limit=["1p"]),
        "seed": lambda: rd.Scheduler("fifo", seed=None),
    }.items():
        with pytest.raises(TypeError, match=f"^{name}: expected ") as found:
            call()
        assert isinstance(found.value, rd.UsageError)


@pytest.mark.parametrize("kind", [numpy.array, pandas.Series])
def test_an_array_of_names_is_no_number(kind):
    error = raised(lambda: rd.compare(CAPTURE, "5mbit", kind(["fifo", "fq_codle"])))
    assert str(error).startswith("queues='fq_codle': no discipline is called 'fq_codle'") and error.given == "fq_codle"


def test_a_wrong_time_is_told_as_given():
    error = raised(lambda: rd.replay(SMALL, "lstf", threshold=-1))
    assert (str(error), error.given, error.legal) == (f"threshold=-1: expected {TIME}", "-1", TIME)


def test_an_unknown_keyword_is_not_its_own_suggestion():
    error = raised(lambda: rd.simulate(SMALL, set_="x"))
    assert error.given == "set_" and error.meant is None and str(error).startswith("set_: unknown keyword; simulate() has scenario, queue, ")
    assert error.legal is not None and "set_" not in error.legal
    error = raised(lambda: rd.simulate(SMALL, sed=3, quite=True))
    assert (error.given, error.meant) == ("sed", "seed")


def test_a_misspelt_keyword_is_told_even_where_a_needed_one_is_missing():
    for call, meant in [(lambda: rd.compare(CAPTURE, rat="5mbit"), "rate"), (lambda: rd.bounds("x.toml", rat="5mbit"), "rate"), (lambda: rd.bench("drr", round=1), "rounds")]:
        with pytest.raises(rd.UsageError, match=f"unknown keyword; did you mean '{meant}'") as found:
            call()
        assert isinstance(found.value, TypeError) and found.value.meant == meant
    with pytest.raises(TypeError, match="'rate'"):
        rd.compare(CAPTURE)
    with pytest.raises(rd.UsageError, match=r"nonsense: unknown keyword; verify\(\) has log, faults"):
        rd.verify("x.log", nonsense=1)


def test_a_file_that_a_file_names_has_the_fault(tmp_path):
    tree = tmp_path / "bad.toml"
    tree.write_text('[[node]]\nname = "a"\ndiscipline = "fifoo"\n')
    error = raised(lambda: rd.simulate({**SCENARIO, "queue": {"core": f"tree {tree}"}}))
    assert (error.path, error.line, error.meant) == (str(tree), 3, "fifo")
    plan = tmp_path / "plan.toml"
    plan.write_text('papers = "x"\n')
    error = raised(lambda: rd.papers(str(plan)))
    assert (error.path, error.line, error.given) == (str(plan), 1, "papers")
    assert error.legal and error.legal.startswith("item, title, page, method, ")
