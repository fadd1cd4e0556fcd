"""Code blocks of all Markdown pages, run: each language in one way.

| language | |
|---|---|
| sh | line by line in a folder with the examples, by the installed command; a page is one session |
| toml | read by the command that the tables are for |
| python | executed, a page after the shell's lines in the same folder |
| sql | executed by DuckDB after the shell's lines |
| rust | a doc test of the crate that includes the page |
| mermaid | drawn in a browser by test_site.py |
| text, none | output, formulas and drawings: not code |
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib
import pytest

SITE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SITE))

import hooks  # noqa: E402

ROOT = hooks.ROOT
LANGUAGES = {"sh", "toml", "python", "sql", "rust", "mermaid", "text", ""}
# The mark, in a comment of the line, of a command that the tests do not run.
NOT_RUN = "not run in the tests:"

# A network with two calls and downloads, of two seconds: mine.toml of the pages.
SCENARIO = {
    "topology": '[topology]\ntemplate = "dumbbell"\npairs = 4\nrate = "10mbit"\n',
    "queue": '[queue]\ncore = "fifo limit 100"\n',
    "meter": '[meter]\nrates = "100ms"\n',
    "objective": '[objective]\nmeasure = "completion"\n',
    "source": "".join(
        f'[[source]]\nname = "{name}"\nfrom = {first}\nto = {last}\n{rest}\n'
        for name, first, last, rest in [
            ("calls", '["s0"]', '["r0"]', 'kind = "cbr"\nrate = "64kbit"\npacket_len = 200'),
            ("call", '["s1"]', '["r1"]', 'kind = "cbr"\nrate = "64kbit"\npacket_len = 200'),
            ("downloads", '["s2"]', '["r2"]', 'kind = "tcp"'),
            ("web", '["r3"]', '["s3"]', 'kind = "request_response"\nrequest = 500\nresponse = "20kb"\nthink = "100ms"'),
        ]
    ),
}
FIRST = 'duration = "2s"\n'


class Block(NamedTuple):
    page: str
    line: int
    language: str
    code: str


def blocks() -> list[Block]:
    """All fenced blocks, in order of pages and lines."""
    found = []
    for page in hooks.pages():
        text = (ROOT / page).read_text()
        for match in re.finditer(r"^( *)```([^\n`]*)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL):
            found.append(Block(page, text[: match.start()].count("\n") + 1, match.group(2).strip(), match.group(3)))
    return found


ALL = blocks()
PAGES = sorted({block.page for block in ALL if block.language in ("sh", "python", "sql")})


def lines(block: Block) -> list[str]:
    """Commands of a shell block; a backslash continues a line."""
    return [line for line in block.code.replace("\\\n", " ").split("\n") if line.strip() and not line.lstrip().startswith("#")]


def words(line: str) -> list[str]:
    return shlex.split(line, comments=True)


def makes_what_is_there(line: list[str]) -> None:
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    unknown = [word for word in line[1:] if "=" not in word and word not in targets]
    assert not unknown, f"no target {unknown} in the Makefile"


def builds_what_is_there(line: list[str]) -> None:
    if "--path" in line:
        assert (ROOT / line[line.index("--path") + 1] / "Cargo.toml").exists()


def nothing(line: list[str]) -> None:
    """Nothing to check."""


class Elsewhere(NamedTuple):
    reason: str
    check: Callable[[list[str]], None]


# Programs that set up a machine or have tests of their own.
ELSEWHERE = {
    "git": Elsewhere("needs the network", nothing),
    "cd": Elsewhere("goes with git clone", nothing),
    "make": Elsewhere("a target of its own; must exist", makes_what_is_there),
    "cargo": Elsewhere("compiles for minutes: make own-scheduler, make compare", builds_what_is_there),
    "pip": Elsewhere("make wheel installs the package", nothing),
    "jupyter": Elsewhere("an editor; the notebooks run in test_notebooks.py", nothing),
}


def environment() -> dict[str, str]:
    """The installed command first on the path."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}


def run(line: str, folder: Path) -> None:
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    # Exit status 1 is a verdict of an objective or of claims, not a mistake of the line.
    verdict = words(line)[1] in ("objective", "papers") and done.returncode == 1 and done.stdout
    assert done.returncode == 0 or verdict, f"{line}\nexit status {done.returncode}\n{done.stderr[-2000:]}"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with the files that pages name."""
    made: dict[str, Path] = {}

    def of(page: str) -> Path:
        if page not in made:
            folder = made[page] = tmp_path_factory.mktemp(re.sub(r"\W+", "-", page))
            shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("target"))
            shutil.copy(ROOT / "examples/captures/home-downlink.pcap", folder / "capture.pcap")
            shutil.copy(ROOT / "examples/trees/home.toml", folder / "home.toml")
            (folder / "mine.toml").write_text(FIRST + "".join(SCENARIO.values()))
            shutil.copy(folder / "mine.toml", folder / "network.toml")
            sweep = [block.code for block in ALL if block.language == "toml" and "\n[grid]" in block.code]
            (folder / "sweep.toml").write_text(sweep[0].replace("replicas = 20", "replicas = 2"))
        return made[page]

    return of


def test_every_language_has_a_test():
    """A block of another language is not run by anything."""
    others = [(block.page, block.line, block.language) for block in ALL if block.language not in LANGUAGES]
    assert not others
    assert len([block for block in ALL if block.language in ("sh", "toml", "python")]) >= 35


@pytest.mark.parametrize("page", PAGES)
def test_shell_python_and_sql(page: str, prepared, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    """The lines of the shell, then the blocks of Python and SQL, in a folder of the page."""
    matplotlib.use("Agg")
    folder = prepared(page)
    monkeypatch.chdir(folder)
    mine = [block for block in ALL if block.page == page]
    skipped = []
    for block in (block for block in mine if block.language == "sh"):
        for line in lines(block):
            program, *_ = words(line)
            if NOT_RUN in line:
                skipped.append(f"{page}: {line}")
            elif program in ELSEWHERE:
                ELSEWHERE[program].check(words(line))
                skipped.append(f"{page}: {line.split('#')[0].strip()}: {ELSEWHERE[program].reason}")
            elif shutil.which(program, path=environment()["PATH"]):
                run(line, folder)
            else:
                assert program == "tshark", f"{page}:{block.line}: no program {program}"
                skipped.append(f"{page}: {line}: {program} is not installed here")
    scope: dict = {"__name__": page}
    for block in (block for block in mine if block.language == "python"):
        exec(compile(block.code, f"{block.page}, block at line {block.line}", "exec"), scope)
    for block in (block for block in mine if block.language == "sql"):
        import duckdb  # noqa: PLC0415

        assert duckdb.sql(block.code).fetchall(), block
    with capsys.disabled():
        print("".join(f"\nnot run: {each}" for each in skipped), end="")


# Tables by which a block of TOML is known, and the command that reads such a file.
READERS = [
    ("flow", "roundelay bounds block.toml --rate 100mbit"),
    ("weight", "roundelay compare capture.pcap --rate 5mbit --no-cost --weights block.toml fifo"),
    ("scenario", "roundelay sweep block.toml --why"),
]


@pytest.mark.parametrize("block", [block for block in ALL if block.language == "toml"], ids=lambda block: f"{block.page}:{block.line}")
def test_toml(block: Block, prepared):
    """A block is read as its kind of file; a part of a scenario takes the place of the same part in one."""
    folder = prepared(block.page)
    tables = tomllib.loads(block.code)
    reader = next((line for table, line in READERS if table in tables), None)
    if reader is None:
        first = "" if "duration" in tables else FIRST
        rest = "".join(text for table, text in SCENARIO.items() if table not in tables and not ("node" in tables and table == "topology"))
        (folder / "block.toml").write_text(f"{first}{block.code}\n{rest}")
        reader = "roundelay simulate block.toml --dry-run"
    else:
        (folder / "block.toml").write_text(block.code)
    run(reader, folder)


def test_rust_is_in_doc_tests():
    """cargo test runs the blocks of pages that a crate includes."""
    included = set()
    for source in (ROOT / "crates").glob("*/src/lib.rs"):
        for path in re.findall(r'#\[doc = include_str!\("([^"]+\.md)"\)\]', source.read_text()):
            included.add((source.parent / path).resolve().relative_to(ROOT).as_posix())
    pages = {block.page for block in ALL if block.language == "rust"}
    assert pages and pages <= included, f"in no doc test: {sorted(pages - included)}"


def test_lines_that_do_not_run_say_why():
    """The complete list of marked lines: a new one needs a reason here and on the page."""
    marked = {line.split("#")[0].strip(): line.split(NOT_RUN)[1].strip() for block in ALL if block.language == "sh" for line in lines(block) if NOT_RUN in line}
    assert marked == {
        "tcpdump -i eth0 -s 128 -w capture.pcap": "needs root and an interface",
        "roundelay papers mqfq figure-4 --full": "the published length, minutes to hours",
        "roundelay live --demo": "takes 22 seconds",
        "roundelay live --rate 20mbit fq_codel -- iperf3 -C cubic -c {far} -- iperf3 -s -1": "needs iperf3",
        'roundelay live --between eth1 eth2 --rate 100mbit "fq_codel target 5ms"': "needs root and two interfaces",
        "roundelay live --between tap:home eth1 --rate 20mbit fq_codel": "needs root and an interface",
        "roundelay live --restore": "needs root",
        "roundelay live --rate 10mbit --view fq_codel -- iperf3 -c {far} -- iperf3 -s -1": "needs iperf3 and a terminal",
        'roundelay live set --name home rate 50mbit queue "fq_codel target 10ms" --way down': "needs a running session",
    }
