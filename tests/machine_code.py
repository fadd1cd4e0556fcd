#!/usr/bin/env python3
"""Machine code of each crate in a release build: `make bench-check` compares it with docs/performance/machine-code.json.

machine_code.py check FILE    fails where a crate's code, or what it compiles of another crate of ours, grew by more than 5%
machine_code.py write FILE    measures and writes the file
machine_code.py print         measures, and prints which types brought the code of other crates

The libraries are those of target/release/deps, or of the folder that MACHINE_CODE names.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = Path(os.environ.get("MACHINE_CODE", ROOT / "target/release/deps"))
TOLERANCE = 0.05
# Growth that is no finding: rounding of a small crate.
FEW_BYTES = 4096
OURS = re.compile(r"\b(roundelay(?:_[a-z_]+)?)::")
# A line of nm about code: address, bytes, kind and name.
SYMBOL = re.compile(r"^[0-9a-f]+ (?P<bytes>[0-9a-f]+) [tTwW] (?P<name>.+)$", re.MULTILINE)
# The type or module that a function belongs to: its path, without the last part.
PATH = re.compile(r"\broundelay(?:_[a-z_]+)?(?:::\w+)+")


def functions(library):
    """Each function of a library: its name, and its bytes."""
    command = ["nm", "--defined-only", "--print-size", "--demangle", library]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for symbol in SYMBOL.finditer(listed):
        yield symbol["name"], int(symbol["bytes"], 16)


def newest_libraries():
    """The newest library of each crate of ours."""
    found = {}
    for library in sorted(LIBRARIES.glob("libroundelay*.rlib"), key=lambda path: path.stat().st_mtime):
        crate = library.name.removeprefix("lib").rsplit("-", 1)[0]
        found[crate] = library
    if not found:
        sys.exit(f"No library of ours in {LIBRARIES}: build in release first.")
    return found


def measured():
    """For each crate: the bytes of its code, the functions and bytes of other crates of ours in it, and the types of these."""
    crates, types = {}, {}
    for crate, library in sorted(newest_libraries().items()):
        whole, foreign, of_types = 0, {}, Counter()
        for name, size in functions(library):
            whole += size
            owner = OURS.search(name)
            if owner is None or owner[1] == crate:
                continue
            counts = foreign.setdefault(owner[1], {"functions": 0, "bytes": 0})
            counts["functions"] += 1
            counts["bytes"] += size
            path = PATH.search(name)[0]
            of_types[path.rpartition("::")[0]] += size
        crates[crate] = {"bytes": whole, "of_others": dict(sorted(foreign.items()))}
        types[crate] = of_types
    return crates, types


def compiler():
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def grown(before, now):
    """The lines of growth beyond the tolerance."""
    lines = []
    for crate, code in now.items():
        old = before.get(crate)
        if old is None:
            lines.append(f"{crate}: not in the file")
            continue
        if code["bytes"] > old["bytes"] * (1 + TOLERANCE) + FEW_BYTES:
            lines.append(f"{crate}: {old['bytes']:,} -> {code['bytes']:,} bytes")
        for owner, counts in code["of_others"].items():
            most = old["of_others"].get(owner, {"bytes": 0})["bytes"]
            if counts["bytes"] > most * (1 + TOLERANCE) + FEW_BYTES:
                lines.append(f"{crate}: {most:,} -> {counts['bytes']:,} bytes of {owner}")
    return lines


def share(code):
    """The part of a crate's code that is the core's."""
    return code["of_others"].get("roundelay", {"bytes": 0})["bytes"] / code["bytes"]


def show(crates, types):
    for crate, code in crates.items():
        print(f"{crate}: {code['bytes']:,} bytes, {share(code):.1%} of the core")
        for owner, counts in code["of_others"].items():
            print(f"  of {owner}: {counts['functions']:,} functions, {counts['bytes']:,} bytes")
        for name, size in types[crate].most_common(5):
            print(f"    {name}: {size:,} bytes")


def check(path):
    before = json.loads(path.read_text())
    if before["compiler"] != compiler():
        print(f"The bytes in {path} are of another compiler: {before['compiler']}")
    crates, types = measured()
    lines = grown(before["crates"], crates)
    if lines:
        show({line.split(":")[0]: crates[line.split(":")[0]] for line in lines}, types)
        print(*lines, sep="\n")
        sys.exit(f"{len(lines)} figures grew by more than {TOLERANCE:.0%}.")
    print(f"Machine code of {len(crates)} crates: nothing grew by more than {TOLERANCE:.0%}.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"] and len(sys.argv) == 3:
        check(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["write"] and len(sys.argv) == 3:
        found = {"compiler": compiler(), "crates": measured()[0]}
        Path(sys.argv[2]).write_text(json.dumps(found, indent=2) + "\n")
    elif sys.argv[1:] == ["print"]:
        show(*measured())
    else:
        sys.exit(__doc__)
