"""The notebooks, run: each needs an assertion, and git has no outputs.

Cells tagged `test` hold the assertions; the site shows the others. Results go to target/notebooks.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
EXECUTED = HERE.parents[1] / "target/notebooks"
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))


def test_there_are_six():
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, monkeypatch: pytest.MonkeyPatch):
    # Bars of progress are for readers who wait.
    monkeypatch.setenv("TQDM_DISABLE", "1")
    notebook = nbformat.read(path, as_version=4)
    EXECUTED.mkdir(parents=True, exist_ok=True)
    (EXECUTED / path.name).unlink(missing_ok=True)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and "test" not in cell.metadata.get("tags", [])]
    assert any(cell.outputs for cell in shown), "no cell has a result"
    nbformat.write(notebook, EXECUTED / path.name)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_assertions_are_in_test_cells_and_outputs_are_not_in_git(path: Path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    tests = [cell for cell in cells if "test" in cell.metadata.get("tags", [])]
    assert tests and all("assert " in cell.source for cell in tests)
    assert not any(cell.outputs or cell.execution_count for cell in cells), "clear all outputs before a commit"
