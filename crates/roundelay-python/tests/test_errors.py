"""Exceptions: the command's messages, with what was given and what is legal."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

import roundelay as rd
from conftest import SMALL, command
from roundelay.scenario import Scenario

CAPTURE = "examples/captures/home-downlink.pcap"


def raised(call) -> rd.RoundelayError:
    with pytest.raises(rd.RoundelayError) as found:
        call()
    return found.value


def test_messages_are_the_commands(repository, tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(SMALL.replace('rate = "10mbit"', 'rate = "10mbps"'))
    unknown = tmp_path / "unknown.toml"
    unknown.write_text(SMALL.replace("pairs", "pears"))
    cases = [
        (["compare", CAPTURE, "--rate", "5mbi"], lambda: rd.compare(CAPTURE, "5mbi")),
        (["compare", CAPTURE, "fq_codle", "--rate", "5mbit"], lambda: rd.compare(CAPTURE, "5mbit", "fq_codle")),
        (["compare", CAPTURE, "sfq depth 0", "--rate", "5mbit"], lambda: rd.compare(CAPTURE, "5mbit", ["sfq depth 0"])),
        (["compare", CAPTURE, "--rate", "5mbit", "--flow-by", "x"], lambda: rd.compare(CAPTURE, "5mbit", flow_by="x")),
        (["compare", "missing.pcap", "--rate", "5mbit"], lambda: rd.compare("missing.pcap", "5mbit")),
        (["compare", "README.md", "--rate", "5mbit"], lambda: rd.compare("README.md", "5mbit")),
        (["compare", CAPTURE, "--rate", "5mbit", "--filter", "udp and"], lambda: rd.compare(CAPTURE, "5mbit", filter="udp and")),
        (["simulate", "missing.toml"], lambda: rd.simulate("missing.toml")),
        (["simulate", str(wrong)], lambda: rd.simulate(wrong)),
        (["simulate", str(unknown)], lambda: rd.simulate(unknown)),
        (["bounds", "missing.toml"], lambda: rd.bounds("missing.toml")),
        (["replay", str(wrong)], lambda: rd.replay(wrong)),
    ]
    for words, call in cases:
        told = command(*words)
        error = raised(call)
        assert told.returncode == error.status == 2, words
        message = told.stderr.removeprefix("roundelay: ")
        # An option is a keyword in Python.
        message = re.sub(r"^invalid value '.*?' for '[^']*': ", "", message)
        assert message.startswith(re.sub(r"^(rate|queues|filter|flow_by)='.*?': ", "", str(error))), (message, str(error))
        assert isinstance(error, rd.UsageError) and isinstance(error, ValueError)


def test_given_and_legal_values(repository):
    error = raised(lambda: rd.compare(CAPTURE, "5mbit", ["sfq depth 0"]))
    assert (error.given, error.legal) == ("0", "1 to 65535")
    error = raised(lambda: rd.compare(CAPTURE, "5mbit", ["fq_codle"]))
    assert (error.given, error.meant) == ("fq_codle", "fq_codel")
    assert error.legal is not None and "qfq_plus" in error.legal
    error = raised(lambda: rd.Scheduler("sfq dept 4"))
    assert (error.given, error.meant) == ("dept", "depth")
    assert "did you mean 'depth'" in str(error)
    error = raised(lambda: rd.compare(CAPTURE, "5mbit", "fifo", max_flows=0))
    assert error.given == "0"
    error = raised(lambda: rd.compare(CAPTURE, "5mbit", "fifo", colour=True))
    assert error.given == "colour"
    error = raised(lambda: rd.Scheduler("wfq", rate="fast"))
    assert "fast" in str(error)


def test_paths_and_lines(repository, tmp_path):
    assert raised(lambda: rd.compare("missing.pcap", "5mbit")).path == "missing.pcap"
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(SMALL.replace("pairs", "pears"))
    error = raised(lambda: rd.simulate(wrong))
    line = 1 + SMALL.replace("pairs", "pears").splitlines().index("pears = 2")
    assert (error.path, error.line) == (str(wrong), line)
    error = raised(lambda: rd.simulate(SMALL.replace('"10mbit"', '"10"')))
    assert error.path is None and str(error).startswith("scenario:")
    error = raised(lambda: rd.compare(CAPTURE, "5mbit", "fifo", html=tmp_path / "none/page.html"))
    assert error.path == str(tmp_path / "none/page.html")
    assert isinstance(error, rd.RunError) and error.status == 1

@pytest.mark.parametrize(
    ("call", "given", "legal", "meant"),
    [
        (lambda: rd.sweep(SMALL, {"queue.core": ["fifoo"]}), "fifoo", "fifo, ", "fifo"),
        (lambda: rd.sweep(SMALL, {"queue.cor": ["fifo"]}), "cor", "core, edge, host", "core"),
        (lambda: rd.sweep(SMALL, {"source.download.rate": ["1mbit"]}), "download", "downloads", "downloads"),
        (lambda: rd.sweep(SMALL, {"queue.core": ["sfq depth 0"]}), "0", "1 to 65535", None),
        (lambda: rd.sweep(SMALL, {"queue.core": ["sfq dept 4"], "duration": ["1s"]}), "dept", "quantum, ", "depth"),
        (lambda: rd.sweep(SMALL, {"queue.core": "1..x/2"}), "1..x/2", "FROM..TO/FACTOR", None),
        (lambda: rd.simulate(SMALL.replace('"10mbit"', '"5mbt"')), "5mbt", "a number and bit, kbit, mbit", None),
        (lambda: rd.simulate(SMALL.replace('"1s"', '"1x"')), "1x", "a time in s, ms, us or ns", None),
        (lambda: rd.simulate(SMALL.replace("pairs", "pairz")), "pairz", "pairs, rate, delay", "pairs"),
        (lambda: rd.simulate(SMALL.replace('"tcp"', '"tpc"')), "tpc", "cbr, poisson", "tcp"),
        (lambda: rd.simulate(SMALL.replace('"tcp"', '"xyzzy"')), "xyzzy", "cbr, poisson", None),
        (lambda: rd.simulate(SMALL, congestion={"upload": "reno"}), "upload", "downloads", None),
    ],
)
def test_errors_of_scenarios_and_sweeps_have_what_their_messages_have(call, given, legal, meant):
    error = raised(call)
    assert (error.given, error.meant) == (given, meant), str(error)
    assert error.legal == legal or (legal and error.legal and error.legal.startswith(legal)), error.legal


def test_errors_of_sweeps_have_paths_and_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    over = {"queue.core": ["fifo"]}
    (tmp_path / "bad2.toml").write_text(SMALL.replace('"10mbit"', '"5mbt"'))
    line = SMALL.splitlines().index('rate = "10mbit"') + 1
    for path in ("bad2.toml", tmp_path / "bad2.toml"):
        error = raised(lambda: rd.sweep(path, over))
        assert (error.path, error.line, error.given) == (str(path), line, "5mbt") and str(error).startswith(f"{path}:{line}: ")
        simulated = raised(lambda: rd.simulate(path))
        assert (str(simulated), simulated.path, simulated.line) == (str(error), error.path, error.line)
    error = raised(lambda: rd.sweep("none.toml", over))
    assert error.path == "none.toml" and str(error) == str(raised(lambda: rd.simulate("none.toml")))
    # The lines of a text are the caller's, those of a plan are not.
    error = raised(lambda: rd.simulate(SMALL.replace('"10mbit"', '"5mbt"')))
    assert (error.path, error.line) == (None, line)
    assert raised(lambda: rd.simulate({"duration": "1x", "source": []})).line is None
    error = raised(lambda: rd.sweep(SMALL.replace("pairs", "pairz"), over))
    assert error.line is None and str(error).startswith("scenario: unknown field `pairz`")
    assert str(raised(lambda: rd.sweep(SMALL, {"queue.core": []}))).startswith("over: queue.core: ")
    error = raised(lambda: rd.sweep("x = [\n", {}))
    assert str(error).startswith("scenario:1: not legal TOML: ") and error.line == 1 and isinstance(error, rd.UsageError)
    error = raised(lambda: rd.sweep(SMALL, over, out="bad2.toml"))
    assert error.path == "bad2.toml"
    for executor in (None, ThreadPoolExecutor(1)):
        assert raised(lambda: rd.sweep(SMALL, over, out="/proc/none/here", executor=executor)).path == "/proc/none/here"


def test_a_scenario_read_from_a_file_has_the_errors_of_simulate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"toml.toml": b"x = [\n", "text.toml": b"\xff\xfe", "key.toml": SMALL.replace("pairs", "pears").encode(), "kind.toml": SMALL.replace("tcp", "tpc").encode()}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    for name in ["none.toml", ".", *texts]:
        read, simulated = raised(lambda: Scenario.read(name)), raised(lambda: rd.simulate(name))
        assert isinstance(read, rd.UsageError) and (read.path, read.line) == (simulated.path, simulated.line) == (name, read.line)
        assert str(read).startswith(f"{name}:")
        if name in ("none.toml", "text.toml"):
            assert str(read) == str(simulated)
    assert raised(lambda: Scenario.read("key.toml")).meant == "pairs"
    assert str(raised(lambda: Scenario.from_toml("x = [\n"))).startswith("scenario:1: not legal TOML: ")
    with pytest.raises(TypeError, match="path: expected a path"):
        Scenario.read(5)  # type: ignore[arg-type]
