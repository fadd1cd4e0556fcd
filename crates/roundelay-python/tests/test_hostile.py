"""Schedulers and congestion controls in Python that misbehave: each ends the call with its own exception."""

from __future__ import annotations

import contextlib
import gc
import math
import pickle
import subprocess
import sys
import threading

import pytest

import roundelay as rd
from conftest import CAPTURE
from test_sweep import TCP, Control, Own


def queue(**methods) -> type:
    return type("Wild", (Own,), methods)


def interrupted(self, now):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("wild", "expected", "message"),
    [
        (queue(dequeue=lambda self, now: sys.exit(3)), SystemExit, "3"),
        (queue(dequeue=interrupted), KeyboardInterrupt, None),
        (queue(__init__=lambda self: 1 / 0), ZeroDivisionError, "division"),
        (queue(enqueue=lambda self, packet, now: self.enqueue(packet, now)), RecursionError, "recursion"),
        (queue(dequeue=lambda self, now: self), rd.ContractError, "returned Wild; expected a packet that waits, or None"),
        (queue(dequeue=lambda self, now: self.waiting[0]), rd.ContractError, "returned a packet that does not wait"),
        (queue(dequeue=lambda self, now: None, ready_at=lambda self: math.nan), ValueError, "legal range"),
        (queue(evict=lambda self: None, limit="1p"), rd.ContractError, "evict"),
    ],
)
def test_a_wild_scheduler_ends_the_call(wild, expected, message):
    with pytest.raises(expected, match=message):
        rd.simulate(TCP, queue=wild)
    # The next call is not affected.
    assert rd.simulate(TCP, queue=Own).to_dict()["replicas"]


@pytest.mark.parametrize(
    ("wild", "expected"),
    [
        (type("Wild", (Control,), {"__init__": lambda self: 1 / 0}), ZeroDivisionError),
        (type("Wild", (Control,), {"on_ack": lambda self, feedback: self.on_ack(feedback)}), RecursionError),
        (type("Wild", (Control,), {"on_ack": lambda self, feedback: True}), rd.ContractError),
        (lambda: 5, rd.ContractError),
    ],
)
def test_a_wild_control_ends_the_call(wild, expected):
    with pytest.raises(expected):
        rd.simulate(TCP, congestion=wild)
    assert rd.simulate(TCP, congestion=Control).to_dict()["replicas"]


@pytest.mark.parametrize("ready", [None, 0.0])
def test_packets_that_would_never_leave_are_a_broken_contract(ready):
    idle = queue(dequeue=lambda self, now: None, ready_at=lambda self: ready)
    for call in (lambda: rd.simulate(TCP, queue=idle), lambda: rd.compare(CAPTURE, "5mbit", [idle])):
        with pytest.raises(rd.ContractError, match=r"returned None although 1 packets wait, and ready_at names no later time"):
            call()


def test_a_scheduler_that_idles_has_something_to_evict():
    class Slow(Own):
        def dequeue(self, now):
            return None

        def ready_at(self):
            return 1e6

    with pytest.raises(rd.ContractError, match="the class has no method evict, and dequeue returned None"):
        rd.testing.check(Slow)


@pytest.mark.parametrize(("name", "value", "legal"), [("limit", "ten", "packets, as in 1000p"), ("reads", ["dscp"], "class, flow_size, remaining, slack, deadline")])
def test_wrong_attributes_name_the_class_and_what_is_legal(name, value, legal):
    with pytest.raises(rd.UsageError) as error:
        rd.compare(CAPTURE, "5mbit", [queue(**{name: value})])
    assert legal in str(error.value) and legal in error.value.legal and error.value.given in str(value)
    assert name != "limit" or str(error.value).startswith("Wild: limit ten: ")


@pytest.mark.parametrize("reads", [None, 3, {"class": 1}, b"class", [3], ["class", None]])
def test_fields_to_read_are_texts(reads):
    with pytest.raises(TypeError, match="^Wild: reads: expected a text or a list of texts, of class, flow_size, remaining, slack, deadline, not ") as error:
        rd.compare(CAPTURE, "5mbit", [queue(reads=reads)])
    assert isinstance(error.value, rd.UsageError) and error.value.status == 2 and "flow_size" in (error.value.legal or "")


def test_a_class_reads_one_field_as_priority():
    with pytest.raises(rd.UsageError, match="^Wild: reads class and flow_size, which are both packet.priority; expected one of class, flow_size, remaining") as error:
        rd.simulate(TCP, queue=queue(reads=["flow_size", "slack", "class"]))
    assert (error.value.status, error.value.given) == (2, "class, flow_size")
    assert error.value.legal == "one of class, flow_size, remaining; slack; deadline"
    for reads in ("class", {"class", "slack"}, ("flow_size", "deadline"), iter(["remaining"]), ["class", "class"], []):
        assert rd.compare(CAPTURE, "5mbit", [queue(reads=reads)]).to_dict()["disciplines"]


def test_schedulers_live_on_after_the_run_and_work_in_threads():
    kept: list[Own] = []

    class Threaded(Own):
        def __init__(self):
            super().__init__()
            kept.append(self)

        def dequeue(self, now):
            sent: list = []
            thread = threading.Thread(target=lambda: sent.append(Own.dequeue(self, now)))
            thread.start()
            thread.join()
            return sent[0]

    threaded = rd.simulate(TCP, queue=Threaded).to_dict()["replicas"]
    assert threaded == rd.simulate(TCP, queue=type("Threaded", (Own,), {})).to_dict()["replicas"]
    late = [packet for each in kept for packet in each.waiting]
    assert all(packet.length > 0 and repr(packet).startswith("Packet(") for packet in late)
    assert kept[0].dequeue(9.0) is None or late
    # A packet of an ended run is no packet of another queue.
    strays = late[:1]
    if strays:
        stray = queue(dequeue=lambda self, now: strays[0])
        with pytest.raises(rd.ContractError, match="does not wait"):
            rd.simulate(TCP, queue=stray)


def test_a_scheduler_that_calls_itself_is_told_so_and_loses_nothing():
    """From its own callback, and from the end of a packet that nobody wants any more."""
    scheduler: rd.Scheduler

    class Calls(Own):
        def enqueue(self, packet, now):
            with pytest.raises(RuntimeError, match="in use"):
                scheduler.enqueue(1, 100)
            with pytest.raises(RuntimeError, match="in use"):
                scheduler.dequeue()
            super().enqueue(packet, now)

    class Late:
        """A payload that uses the scheduler as it goes."""

        told: list[BaseException] = []

        def __del__(self):
            try:
                scheduler.dequeue()
            except RuntimeError as error:
                self.told.append(error)

    scheduler = rd.Scheduler(Calls, limit="3p")
    for number in range(9):
        scheduler.enqueue(1, 100, Late() if number % 2 else number)
    gc.collect()
    while scheduler.dequeue() is not None:
        pass
    assert len(scheduler) == 0
    assert all("in use" in str(error) for error in Late.told)


def test_calls_within_callbacks_are_calls_like_others():
    alone = rd.simulate(TCP, queue=Own).to_dict()["replicas"]
    inner: list = []

    class Nests(Own):
        def enqueue(self, packet, now):
            if not inner:
                inner.append(None)
                inner[0] = rd.simulate(TCP, queue=Own, congestion=Control, threads=1).to_dict()["replicas"]
                assert rd.compare(CAPTURE, "5mbit", ["fifo", Own], threads=1).best
            super().enqueue(packet, now)

    assert rd.simulate(TCP, queue=type("Own", (Nests,), {})).to_dict()["replicas"] == alone
    assert inner[0]


class Unequal:
    """Equal to nothing and everything, and without a text, a length or a hash."""

    def __eq__(self, other):
        raise OSError("eq")

    def __repr__(self):
        raise OSError("repr")

    __hash__ = __len__ = __float__ = __index__ = __bool__ = __iter__ = __str__ = __repr__


@pytest.mark.parametrize("garbage", [Unequal(), Unequal, b"\xff\x00", "\ud800", 1 << 9999, -math.inf, [[]], object(), type, print])
def test_garbage_from_callbacks_is_an_exception(garbage):
    for method in ("dequeue", "ready_at", "evict"):
        wild = queue(**{"dequeue": lambda self, now: None, "ready_at": lambda self: None, method: lambda self, *now: garbage}, limit="1p")
        with pytest.raises(Exception):  # noqa: B017
            rd.simulate(TCP, queue=wild)
    for method in ("on_ack", "on_loss"):
        wild = type("Wild", (Control,), {method: lambda self, feedback: garbage})
        # A loss may never come.
        with contextlib.suppress(Exception):
            rd.simulate(TCP, congestion=wild)
    for name in ("limit", "reads"):
        with pytest.raises(Exception):  # noqa: B017
            rd.simulate(TCP, queue=queue(**{name: garbage}))
    assert rd.simulate(TCP, queue=Own).to_dict()["replicas"]


DAMAGED = """
import pickle, sys
whole = sys.stdin.buffer.read()
read = 0
for at in range(0, len(whole), max(1, len(whole) // 400)):
    for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]):
        try:
            result = pickle.loads(damaged)
            repr(result), getattr(result, "to_dict", dict)()
            read += 1
        except Exception:
            pass
print(read)
"""


def test_a_damaged_pickle_is_an_exception_or_a_result():
    """In a process of its own: a pickle may ask for any function, and what this tests is that ours do not end the process."""
    results = [rd.simulate(TCP), rd.compare(CAPTURE, "5mbit", ["fifo"]), rd.compare(CAPTURE, "5mbit", ["fifo"]).flows]
    for result in results:
        done = subprocess.run([sys.executable, "-c", DAMAGED], input=pickle.dumps(result), capture_output=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]


SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
code = '''
try:
    import roundelay
except ImportError as error:
    assert "subinterpreters" in str(error), error
else:
    assert roundelay.Scheduler("fifo").dequeue() is None
'''
import sys
if len(sys.argv) > 1:
    import roundelay
for _ in range(3):
    other = interpreters.create()
    failed = interpreters.run_string(other, code)
    assert failed is None, failed
    interpreters.destroy(other)
import roundelay
scheduler = roundelay.Scheduler("fifo")
scheduler.enqueue(1, 100, "packet")
assert scheduler.dequeue().payload == "packet"
"""


@pytest.mark.parametrize("words", [[], ["first"]])
def test_a_subinterpreter_has_the_module_or_an_exception(words):
    """Whether this interpreter has imported the module before, or not."""
    done = subprocess.run([sys.executable, "-c", SUBINTERPRETER, *words], capture_output=True, text=True, timeout=300, check=False)
    if "No module named '_xxsubinterpreters'" in done.stderr:
        pytest.skip("no subinterpreters here")
    assert done.returncode == 0, done.stderr
