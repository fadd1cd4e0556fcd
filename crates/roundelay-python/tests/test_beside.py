"""Results side by side, and the commands applications, import and live."""

from __future__ import annotations

import json
import pickle

import pytest
import roundelay as rd
from conftest import ROOT, output

SCENARIO = """
duration = "2s"
topology = { template = "dumbbell", pairs = 2, rate = "5mbit", delay = "5ms" }
queue = { core = "fifo" }
[[source]]
name = "download"
kind = "tcp"
from = "s0"
to = "r0"
[[source]]
name = "calls"
kind = "poisson"
from = "s1"
to = "r1"
rate = "64kbit"
packet_len = 200
"""
CAPTURE = ROOT / "examples/captures/home-downlink.pcap"


class Last:
    """Last in, first out."""

    reorders = True

    def __init__(self):
        self.waiting = []

    def enqueue(self, packet, now):
        self.waiting.append(packet)

    def dequeue(self, now):
        return self.waiting.pop() if self.waiting else None


def test_several_queues_are_the_commands(tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    beside = rd.simulate(tmp_path / "s.toml", queue=["fifo", "drr"], replicas=3)
    words = ["--queue", "fifo", "--queue", "drr", "--replicas", "3"]
    assert beside.to_json() == output("simulate", str(tmp_path / "s.toml"), *words, "--json")
    assert beside.queues == ["fifo", "drr"]
    assert set(beside.verdicts) == {"download", "calls"} and "under drr" in beside.verdicts["calls"]
    calls = {queue: next(group for group in beside[queue]["summary"]["groups"] if group["name"] == "calls") for queue in beside.queues}
    assert calls["drr"]["delay_p99"]["mean"] < calls["fifo"]["delay_p99"]["mean"]
    with pytest.raises(KeyError, match="expected one of fifo, drr"):
        beside["qfq"]
    assert "Calls: delay of packets" in beside.to_html()
    assert pickle.loads(pickle.dumps(beside)).to_html() == beside.to_html()


def test_classes_are_queues_among_several():
    beside = rd.simulate(SCENARIO, queue=["fifo", Last])
    alone = rd.simulate(SCENARIO, queue=Last)
    assert beside.queues == ["fifo", "Last"]
    assert beside["Last"]["replicas"] == alone.to_dict()["replicas"]


def test_a_pair_begins_with_the_scenarios_own_queues():
    pair = rd.simulate(SCENARIO, queue="fq_codel", pair=True, replicas=2)
    assert pair.queues == ["the scenario's own", "fq_codel"]
    assert pair["the scenario's own"]["replicas"] == rd.simulate(SCENARIO, replicas=2).to_dict()["replicas"]
    assert pair["fq_codel"]["replicas"] == rd.simulate(SCENARIO, queue="fq_codel", replicas=2).to_dict()["replicas"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pair": True}, "queue: expected one or more disciplines"),
        ({"queue": []}, "queue: expected one or more disciplines"),
        ({"queue": ["fifo", "fifo"]}, "stands twice"),
        ({"queue": ["fifo", "fq_codl"]}, "did you mean 'fq_codel'"),
        ({"queue": ["fifo", "drr"], "log": "x.log"}, "only of one queue"),
        ({"queue": "drr", "pair": 3}, "pair: expected True or False"),
    ],
)
def test_wrong_queues_are_told(arguments, message):
    with pytest.raises(rd.UsageError, match=message):
        rd.simulate(SCENARIO, **arguments)


def test_results_of_any_command_stand_side_by_side(tmp_path):
    slow, fast = rd.simulate(SCENARIO), rd.simulate(SCENARIO, queue="fq_codel")
    both = rd.compare_results(slow, fast, labels=["slow", "fast"])
    assert both.labels == ["slow", "fast"]
    assert set(both.curves["slow"]) == {"download", "calls"}
    cdf = both.curves["fast"]["calls"]["delay_cdf"]
    assert cdf == sorted(cdf) and cdf[-1][1] == 1
    assert str(both).startswith("The p99 delay of calls is ")
    page = both.to_html()
    assert page.count('"title":"Calls: ') == 2 and '"name":"fast"' in page
    assert rd.compare_results(slow, fast, figure="delay_cdf", kinds="calls").to_html().count('"title":') == 1
    # Files are what the commands print.
    (tmp_path / "slow.json").write_text(slow.to_json())
    replay = rd.compare(CAPTURE, "5mbit", ["fifo", "drr"])
    mixed = rd.compare_results(tmp_path / "slow.json", replay, fast.to_dict())
    assert mixed.labels == ["slow", "b: fifo", "b: drr", "c"]
    command = json.loads(output("plot", str(tmp_path / "slow.json"), "--json"))
    assert command["results"][0]["kinds"] == [*mixed.curves["slow"].values()]
    assert pickle.loads(pickle.dumps(both)).to_html() == page


@pytest.mark.parametrize(
    ("results", "arguments", "message"),
    [
        ((), {}, "results: expected one or more"),
        (("missing.json",), {}, "missing.json: cannot read"),
        (({"schema": "list/1"},), {}, "list/1 has no delays to draw"),
        ((5,), {}, "results: expected a path"),
        ((SCENARIO,), {"labels": []}, "labels: 0 for 1 results"),
    ],
)
def test_what_is_no_result_is_told(results, arguments, message):
    with pytest.raises(rd.UsageError, match=message):
        rd.compare_results(*results, **arguments)
    result = rd.simulate(SCENARIO)
    with pytest.raises(rd.UsageError, match="no kind of packets is called 'nope'"):
        rd.compare_results(result, kinds="nope")
    with pytest.raises(rd.UsageError, match="no figure is called 'loss'"):
        rd.compare_results(result, figure="loss")  # type: ignore[arg-type]


def test_applications_are_a_scenario_that_runs():
    both = ROOT / "examples/captures/home-both.pcap.gz"
    text = rd.applications(both, "3mbit")
    assert text == output("applications", str(both), "--rate", "3mbit")
    assert "[[source]]" in text
    with pytest.raises(rd.UsageError, match="missing.pcap"):
        rd.applications("missing.pcap")


def test_senders_react_in_a_comparison():
    both = ROOT / "examples/captures/home-both.pcap.gz"
    result = rd.compare(both, "3mbit", ["fifo", "fq_codel"], react=True, replicas=2)
    assert result.to_dict()["reaction"]["replicas"] == 2
    with pytest.raises(rd.UsageError, match="react: missing"):
        rd.compare(CAPTURE, "5mbit", ["fifo"], replicas=2)


def test_a_script_of_tc_is_a_tree(tmp_path):
    script = "tc qdisc add dev eth0 root handle 1: htb default 2\ntc class add dev eth0 parent 1: classid 1:2 htb rate $UP\n"
    tree = rd.import_tc(script, set={"UP": "10mbit"})
    assert "[[node]]" in tree and "10mbit" in tree
    (tmp_path / "qos.sh").write_text(script)
    assert rd.import_tc(tmp_path / "qos.sh", set={"UP": "10mbit"}).split("\n")[2:] == tree.split("\n")[2:]
    with pytest.raises(rd.UsageError, match="tc"):
        rd.import_tc("echo nothing\necho at all\n")


def test_a_live_run_has_phases():
    sends = "for i in {1..150}; do echo $i > /dev/udp/{far}/9; sleep .01; done"
    try:
        run = rd.live(["bash", "-c", sends], "300kbit", queue="fifo limit 50", at="500ms queue drr")
    except rd.RoundelayError as error:
        pytest.skip(str(error))
    queues = [phase["conditions"]["queue"] for phase in run.up]
    assert queues == ["fifo limit 50", "drr"]
    assert sum(phase["books"]["sent"] for phase in run.up) >= 140
    assert run.is_valid == (run.reasons == [])
    both = rd.compare_results(run, labels=["live"])
    assert "up, short UDP" in both.curves[both.labels[0]]
    with pytest.raises(TypeError, match="command: expected a list of words"):
        rd.live("ping", "1mbit")
    with pytest.raises(rd.UsageError, match="did you mean 'fq_codel'"):
        rd.live(["true"], "1mbit", queue="fq_codl")
