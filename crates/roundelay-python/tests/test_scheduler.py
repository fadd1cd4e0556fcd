"""A scheduler driven by hand, and schedulers written in Python."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque

import pytest

import roundelay as rd
from conftest import CAPTURE, SMALL, Fifo


def test_drr_by_hand_as_in_the_core():
    queue = rd.Scheduler("drr quantum 1500")
    for flow, name in [(0, "a"), (0, "b"), (1, "c")]:
        assert queue.enqueue(flow, 1500, name)
    assert (len(queue), queue.backlog_bytes) == (3, 4500)
    assert [queue.dequeue().payload for _ in range(3)] == ["a", "c", "b"]
    assert queue.dequeue() is None
    assert queue.drops == {"full": 0, "pushed_out": 0, "early": 0, "refused": 0, "filtered": 0}


def test_a_full_buffer_gives_up_the_arriving_packet_or_another():
    tail = rd.Scheduler("fifo limit 1")
    assert tail.enqueue(0, 100, "first") and not tail.enqueue(0, 100, "second")
    assert [(drop.packet.payload, drop.reason) for drop in tail.dropped] == [("second", "full")]
    push = rd.Scheduler("drr", limit="2p")
    assert push.enqueue(0, 1000, 0) and push.enqueue(0, 1000, 1) and push.enqueue(1, 100, 2)
    assert [(drop.packet.payload, drop.reason) for drop in push.dropped] == [(1, "pushed_out")]
    assert push.drops["pushed_out"] == 1 and push.limit == "2p"
    push.dequeue()
    assert push.dropped == []


def test_weights_times_and_header_fields():
    queue = rd.Scheduler("wf2q", rate="8mbit")
    queue.set_flow(0, weight=3)
    queue.set_flow(1)
    for number in range(8):
        queue.enqueue(number % 2, 1000, now=0.0)
    order = [queue.dequeue(now=number * 0.001).flow for number in range(5)]
    assert order.count(0) > order.count(1)
    with pytest.raises(ValueError, match="time runs backwards"):
        queue.dequeue(now=0.001)
    urgent = rd.Scheduler("edf")
    urgent.enqueue(0, 100, "late", deadline=2.0)
    urgent.enqueue(1, 100, "soon", deadline=1.0)
    packet = urgent.dequeue()
    assert packet is not None
    assert (packet.payload, packet.deadline, packet.length, packet.arrival) == ("soon", 1.0, 100, 0.0)
    urgent.remove_flow(0)
    wrong_numbers = [
        lambda: queue.enqueue(0, 0),
        lambda: queue.enqueue(0, 1 << 16),
        lambda: queue.enqueue(0, 1, now=-1.0),
        lambda: queue.enqueue(-1, 100),
        lambda: queue.enqueue(0, -100),
        lambda: queue.enqueue(0, 100, priority=1 << 32),
        lambda: queue.set_flow(0, weight=-1),
        lambda: queue.remove_flow(-1),
    ]
    for call in wrong_numbers:
        with pytest.raises(ValueError, match="legal range"):
            call()
    with pytest.raises(rd.UsageError, match="weight 2000: legal range 1 to 1024") as wrong:
        queue.set_flow(0, weight=2000)
    assert (wrong.value.given, wrong.value.legal) == ("2000", "1 to 1024")


def test_codel_drops_early_and_marks():
    for ecn in (False, True):
        queue = rd.Scheduler("codel ecn")
        for number in range(200):
            queue.enqueue(0, 1500, number, now=0.0, ecn=ecn)
        marked = early = 0
        for step in range(200):
            packet = queue.dequeue(now=0.01 * step)
            marked += packet is not None and packet.marked
            early += sum(drop.reason == "early" for drop in queue.dropped)
        assert (marked > 0, early > 0) == (ecn, not ecn)
        assert queue.drops["early"] == early


def test_two_threads_do_not_block_each_other():
    queue, failures = rd.Scheduler("fifo limit 1000000"), []

    def work():
        for _ in range(2000):
            try:
                queue.enqueue(0, 100)
                queue.dequeue()
            except RuntimeError as error:
                failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert all("in use by another thread" in str(error) for error in failures)


class LongestQueue:
    """Longest queue first."""

    limit = "100p"

    def __init__(self):
        self.queues = {}

    def enqueue(self, packet, now):
        if packet.flow >= 1 << 20:
            return False
        self.queues.setdefault(packet.flow, deque()).append(packet)
        return True

    def dequeue(self, now):
        waiting = [queue for queue in self.queues.values() if queue]
        if not waiting:
            return None
        return max(waiting, key=lambda queue: (sum(packet.length for packet in queue), -queue[0].flow)).popleft()

    def evict(self):
        return self.dequeue(0)


class Recorded(Fifo):
    """First in, first out, of a fixed seed."""

    seeds: list[int] = []

    def __init__(self, seed):
        super().__init__()
        self.seeds.append(seed)


def results(result):
    """The figures of each discipline, without names."""
    names = ("spec", "name", "about", "weighted", "bytes_per_flow", "fixed_bytes", "cost", "limit", "kept_bounds")
    found = []
    for each in json.loads(result.to_json())["disciplines"]:
        found.append({name: value for name, value in each.items() if name not in names})
    return found


def test_a_scheduler_in_python_gives_what_the_native_one_gives():
    result = rd.compare(CAPTURE, "5mbit", ["fifo limit 50", Fifo], buffer="50p", seed=3)
    native, own = results(result)
    assert result.disciplines == ["fifo limit 50", "Fifo"]
    assert own["total"]["drops"]["full"] > 100
    assert own["total"] == native["total"] and own["light_p99"] == native["light_p99"]
    for one, other in zip(native["flows"], own["flows"], strict=True):
        assert one["delay"] == other["delay"] and one["drops"] == other["drops"]


class Pacer(Fifo):
    """A packet leaves after the time of the packets before it at a rate."""

    rate = 1e6

    def __init__(self):
        super().__init__()
        self.next = 0.0

    def dequeue(self, now):
        if now < self.next:
            return None
        packet = super().dequeue(now)
        if packet is not None:
            self.next = max(now, self.next) + packet.length * 8 / self.rate
        return packet

    def ready_at(self):
        return self.next

    def evict(self):
        return super().dequeue(0)


@pytest.mark.parametrize("rate", [1e6, 2e6, 3e6, 7e5])
def test_a_pacer_is_not_asked_before_its_time(rate):
    pacer = type("Pacer", (Pacer,), {"rate": rate})
    rd.testing.check(pacer)
    fifo, paced = (each["total"] for each in rd.compare(CAPTURE, "5mbit", ["fifo", pacer]).to_dict()["disciplines"])
    # Nothing is left over.
    assert paced["packets"] + sum(paced["drops"].values()) == fifo["packets"] and paced["packets"] > 1000
    assert rd.simulate(SMALL, queue=pacer).to_dict()["replicas"]


class Expires(Fifo):
    """Drops what has waited for 10 ms, and may have nothing left to send."""

    def __init__(self):
        super().__init__()
        self.dropped = deque()

    def dequeue(self, now):
        while (packet := super().dequeue(now)) is not None and now - packet.arrival > 0.01:
            self.dropped.append(packet)
        return packet

    def ready_at(self):
        return None

    def take_dropped(self):
        return self.dropped.popleft() if self.dropped else None


def test_a_scheduler_may_drop_all_that_waits():
    queue = rd.Scheduler(Expires)
    for number in range(3):
        queue.enqueue(0, 100, number, now=0.0)
    assert queue.dequeue(now=1.0) is None
    assert (len(queue), queue.drops["early"]) == (0, 3)
    assert rd.testing.check(Expires).dropped > 0


class Priority:
    """The smallest class first."""

    reads = "class"

    def __init__(self):
        self.queues = defaultdict(deque)

    def enqueue(self, packet, now):
        self.queues[packet.priority].append(packet)

    def dequeue(self, now):
        first = min((priority for priority, waiting in self.queues.items() if waiting), default=None)
        return None if first is None else self.queues[first].popleft()


def test_a_class_reads_classes_of_rules_and_code_points(tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('[[weight]]\nmatch = "udp"\npriority = 2\n[[weight]]\nmatch = "src port 443"\npriority = 3\n')
    result = rd.compare(CAPTURE, "5mbit", ["priority", Priority, type("Blind", (Priority,), {"reads": ()})], buffer="100000p", weights=rules)
    native, own, blind = results(result)
    assert own["total"] == native["total"] and own["light_p99"] == native["light_p99"] != blind["light_p99"]


def test_a_scheduler_in_python_runs_in_simulate():
    own, native = rd.simulate(SMALL, queue=Fifo), rd.simulate(SMALL, queue="fifo")
    groups = lambda result: result.to_dict()["replicas"][0]["groups"]  # noqa: E731
    assert groups(own) == groups(native)
    assert rd.simulate(SMALL, queue=LongestQueue, replicas=3).to_dict()["summary"]["groups"][0]["throughput"]["mean"] > 8e6
    rd.simulate(SMALL, queue=Recorded, seed=11)
    assert len(set(Recorded.seeds)) > 1
    assert rd.simulate(SMALL, queue=LongestQueue).to_json() == rd.simulate(SMALL, queue=LongestQueue, threads=1).to_json()


def test_the_conformance_check_passes_what_is_right():
    for queue in (Fifo, LongestQueue):
        checked = rd.testing.check(queue)
        assert checked.calls > 100_000 and checked.sent > 10_000, checked
    assert rd.testing.check(LongestQueue).refused == 0


class Lifo(Fifo):
    def dequeue(self, now):
        return self.queue.pop() if self.queue else None


class Newest(Fifo):
    """First in, first out; a full buffer gives up the newest packet, and what has waited for long is dropped."""

    limit = "20p"

    def evict(self):
        return self.queue.pop()

    def ready_at(self):
        return None

    def take_dropped(self):
        return self.queue.pop(0) if len(self.queue) > 15 else None


def test_undeclared_reordering_is_a_note_of_the_result(tmp_path):
    declared = type("Declared", (Lifo,), {"reorders": True})
    queues = ["lifo", Fifo, Newest, declared]
    said = lambda result: [note for note in result.notes if "reordered" in note]  # noqa: E731
    result = rd.compare(CAPTURE, "5mbit", [*queues, Lifo])
    late = {flow for flow, spec, reordered in zip(*map(result.flows.__getitem__, ("flow", "spec", "reordered"))) if spec == "Lifo" and reordered}
    assert said(result) == [f"Lifo reordered packets of {len(late)} flows, and does not declare `reorders`."] and len(late) > 9
    result = rd.simulate(SMALL, queue=Lifo, replicas=2, html=tmp_path / "page.html")
    assert said(result) == ["Lifo reordered packets of a flow, and does not declare `reorders`."]
    assert said(result)[0] in (tmp_path / "page.html").read_text() and said(result)[0] in result.to_json() and said(result)[0] in str(result)
    assert not any(said(rd.simulate(SMALL, queue=queue)) for queue in queues)


class Loses(Fifo):
    def enqueue(self, packet, now):
        if packet.length < 1000:
            self.queue.append(packet)


class Twice(Fifo):
    def dequeue(self, now):
        return self.queue[0] if self.queue else None


class Strange(Fifo):
    def dequeue(self, now):
        return "a packet" if super().dequeue(now) else None


class Lazy(Fifo):
    def dequeue(self, now):
        return super().dequeue(now) if len(self.queue) > 3 else None


class Remembers(Fifo):
    """Differs from run to run."""

    made = 0

    def __init__(self):
        super().__init__()
        Remembers.made += 1
        self.number = Remembers.made

    def enqueue(self, packet, now):
        if self.number % 2 and packet.flow == 3:
            return False
        return super().enqueue(packet, now)


class NoDequeue:
    def enqueue(self, packet, now):
        pass


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        (Lifo, "left before packet .* of its flow"),
        (Loses, "returned None although"),
        (Twice, "does not wait: sent before"),
        (Strange, "returned str; expected a packet that waits, or None"),
        (Lazy, "returned None although"),
        (Remembers, "event .* differs"),
        (NoDequeue, "NoDequeue has no method dequeue"),
    ],
)
def test_the_conformance_check_names_the_first_call_that_breaks_the_contract(queue, message):
    with pytest.raises(rd.ContractError, match=message) as broken:
        rd.testing.check(queue)
    if queue is not NoDequeue:
        assert "call " in str(broken.value) or "seed " in str(broken.value)
        assert queue.__name__ in str(broken.value)


class Raises(Fifo):
    def dequeue(self, now):
        if now > 0.5:
            raise ZeroDivisionError("halfway")
        return super().dequeue(now)


class RaisesAtOnce:
    def __init__(self):
        raise LookupError("no table")


def test_an_exception_of_a_scheduler_comes_out_and_leaves_no_file(tmp_path):
    with pytest.raises(ZeroDivisionError, match="halfway") as raised:
        rd.compare(CAPTURE, "5mbit", ["fifo", Raises], parquet=tmp_path, html=tmp_path / "page.html")
    assert raised.value.__notes__[0].startswith("in call ") and "of Raises: dequeue(now=" in raised.value.__notes__[0]
    files = {"parquet": tmp_path, "log": tmp_path / "run.log", "pcapng": tmp_path / "run.pcapng", "html": tmp_path / "page.html"}
    with pytest.raises(ZeroDivisionError, match="halfway"):
        rd.simulate(SMALL, queue=Raises, **files)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError) as raised:
        rd.testing.check(Raises)
    assert "in call" in raised.value.__notes__[0]
    for call in (lambda: rd.simulate(SMALL, queue=RaisesAtOnce), lambda: rd.Scheduler(RaisesAtOnce)):
        with pytest.raises(LookupError, match="no table"):
            call()


def test_a_scheduler_in_python_by_hand():
    queue = rd.Scheduler(LongestQueue)
    for flow, length in [(0, 100), (1, 300), (0, 250)]:
        assert queue.enqueue(flow, length, (flow, length))
    assert not queue.enqueue(1 << 20, 100)
    assert queue.dropped[0].reason == "refused"
    assert queue.dequeue().payload == (0, 100)
    assert queue.limit == "100p"
    broken = rd.Scheduler(Raises)
    broken.enqueue(0, 100, now=0.0)
    with pytest.raises(ZeroDivisionError):
        broken.dequeue(now=1.0)
    with pytest.raises(rd.ContractError, match="failed in an earlier call"):
        broken.dequeue(now=2.0)
