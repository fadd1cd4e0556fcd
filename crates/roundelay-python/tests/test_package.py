"""The package: imports, the command inside, stubs."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import roundelay as rd
from conftest import ROOT, command, output
from roundelay import _native

PROBE = """
import sys, time
before = set(sys.modules)
start = time.process_time()
import roundelay
spent = time.process_time() - start
known = sys.stdlib_module_names | {"roundelay"}
foreign = sorted(name for name in set(sys.modules) - before if name.split(".")[0] not in known)
print(spent, *foreign)
"""


def test_import_is_fast_and_needs_nothing_else():
    runs = [subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True) for _ in range(10)]
    words = [run.stdout.split() for run in runs]
    assert all(len(each) == 1 for each in words), words
    # CPU time, and the best of ten: the machine may be busy.
    assert min(float(each[0]) for each in words) <= 0.060


def test_the_wheel_needs_nothing_and_says_its_extras():
    metadata = importlib.metadata.metadata("roundelay")
    assert all("extra ==" in need for need in metadata.get_all("Requires-Dist") or [])
    assert set(metadata.get_all("Provides-Extra")) == {"altair", "arrow", "dask", "fsspec", "pandas", "plot", "progress", "ray", "xarray"}
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert metadata["Version"] == rd.__version__ == workspace


def test_the_command_is_inside():
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="roundelay")
    assert entry.value == "roundelay.__main__:main"
    script = Path(sys.executable).with_name("roundelay")
    told = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
    assert told == f"roundelay {rd.__version__}\n" == output("--version")
    assert output("list").splitlines()[0].split()[0] == "fifo"


def test_exit_statuses_are_the_commands():
    assert command().returncode == 2
    assert command("compare", "missing.pcap", "--rate", "1mbit").returncode == 2
    assert command("bench", "--instructions").returncode == 2


def stub() -> ast.Module:
    return ast.parse((Path(rd.__file__).parent / "_native.pyi").read_text())


def test_the_stub_has_the_names_of_the_module():
    top = {node.name for node in stub().body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert top == {name for name in vars(_native) if not name.startswith("__")} - {"_native"}
    for node in stub().body:
        if isinstance(node, ast.ClassDef):
            told = {each.name for each in node.body if isinstance(each, ast.FunctionDef)} - {"__new__"}
            kept = {"__len__", "__arrow_c_stream__"}
            real = {name for name in vars(getattr(_native, node.name)) if not name.startswith("_") or name in kept}
            assert told == real, node.name


def test_the_stub_has_the_parameters_of_the_module():
    for node in ast.walk(stub()):
        if isinstance(node, ast.ClassDef):
            owner = getattr(_native, node.name)
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
            continue
        for scope in (_native, _native.Scheduler):
            real = getattr(scope, node.name, None)
            if callable(real):
                told = [each.arg for each in [*node.args.args, *node.args.kwonlyargs]]
                assert told == list(inspect.signature(real).parameters), node.name
    assert owner is not None


def test_every_public_name_has_a_docstring():
    for name in rd.__all__:
        value = getattr(rd, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, name
