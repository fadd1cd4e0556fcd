"""Exceptions: the command's messages, with what was given and what is legal."""

from __future__ import annotations

import pytest

import roundelay as rd
from conftest import SMALL, command

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
        message = told.stderr.removeprefix("roundelay: ").removeprefix("error: ")
        assert message.startswith(str(error)), (message, str(error))
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
    assert error.given == "--colour"
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


