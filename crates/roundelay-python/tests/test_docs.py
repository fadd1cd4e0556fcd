"""The examples in docstrings, run. The pages' code blocks: docs/site/tests/test_blocks.py."""

from __future__ import annotations

import doctest

import pytest

import roundelay as rd
from roundelay import _scheduler, scenario


@pytest.mark.parametrize("module", [rd, _scheduler, scenario])
def test_examples_in_docstrings(module):
    failed, tried = doctest.testmod(module)
    assert failed == 0 and tried > 0
