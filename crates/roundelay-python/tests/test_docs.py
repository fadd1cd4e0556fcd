"""The code of docs/python.md, docs/sweeps.md and the README, and the examples in docstrings, run."""

from __future__ import annotations

import doctest
import re

import matplotlib
import pytest

import roundelay as rd
from conftest import ROOT
from roundelay import _scheduler, scenario


@pytest.mark.parametrize("name", ["docs/python.md", "docs/sweeps.md", "README.md"])
def test_every_code_block_runs(repository, name):
    matplotlib.use("Agg")
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    scope: dict = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{name}, block {number}", "exec"), scope)


@pytest.mark.parametrize("module", [rd, _scheduler, scenario])
def test_examples_in_docstrings(module):
    failed, tried = doctest.testmod(module)
    assert failed == 0 and tried > 0
