"""Typed scenarios: generated from the schema, and back and forth between TOML and dataclasses."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import roundelay as rd
from conftest import ROOT
from roundelay import _native, _toml, scenario
from roundelay.scenario import Scenario

TEMPLATES = [*scenario._TEMPLATE.kinds, "nodes"]
EXAMPLES = sorted((ROOT / "examples/scenarios").glob("*.toml"))


def test_the_dataclasses_are_those_of_the_schema():
    assert _native.schema() == (ROOT / "crates/roundelay-sim/src/scenario/schema.json").read_text()
    generator = ROOT / "crates/roundelay-python/generate.py"
    text = subprocess.run([sys.executable, generator, "--print"], capture_output=True, text=True, check=True).stdout
    assert text == Path(scenario.__file__).read_text(), "run crates/roundelay-python/generate.py"


@pytest.mark.parametrize("name", [*TEMPLATES, *(path.name for path in EXAMPLES)])
def test_scenarios_go_there_and_back(name):
    text = _native.template(name) if name in TEMPLATES else (ROOT / "examples/scenarios" / name).read_text()
    assert text is not None
    table = tomllib.loads(text)
    typed = Scenario.from_toml(text)
    assert typed.to_dict() == table
    assert tomllib.loads(typed.to_toml()) == table
    assert Scenario.from_toml(typed.to_toml()) == typed == Scenario.from_dict(table)


def test_trees_are_tables_by_name():
    trees = tomllib.loads((ROOT / "examples/trees/home.toml").read_text())
    table = {"duration": "1s", "trees": {"home": trees}, "source": []}
    typed = Scenario.from_dict(table)
    assert typed.trees is not None
    assert isinstance(typed.trees["home"], scenario.Tree)
    assert typed.to_dict() == table


def test_wrong_keys_have_a_suggestion():
    with pytest.raises(rd.UsageError, match="Scenario: key 'durations': unknown; did you mean 'duration'") as wrong:
        Scenario.from_dict({"durations": "1s"})
    assert (wrong.value.given, wrong.value.meant) == ("durations", "duration")
    with pytest.raises(rd.UsageError, match="Scenario: key 'duration' is missing"):
        Scenario.from_dict({})
    with pytest.raises(rd.UsageError, match="kind = 'tpc': unknown; did you mean 'tcp'"):
        Scenario.from_dict({"duration": "1s", "source": [{"kind": "tpc", "from": "s0"}]})


def test_any_dictionary_goes_through_toml():
    table = {
        "text": 'quotes " and \\ and \n and \x7f and é',
        "": 1,
        "a key": [1, 2.5, True, "x"],
        "nested": [[1460, 0.5], [14600, 1.0]],
        "table": {"one": {"two": {"three": [{"a": 1}, {"a": 2, "b": {"c": []}}]}}},
        "large": 1e300,
        "inline": [{"a": 1}],
    }
    assert tomllib.loads(_toml.dumps({**table, "nothing": None})) == table
    with pytest.raises(TypeError, match="^a: expected .* TOML has no value of this type, not set"):
        _toml.dumps({"a": {1, 2}})
