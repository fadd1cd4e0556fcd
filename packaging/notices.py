#!/usr/bin/env python3
"""Licences of what a release contains beside our own code: crates, Rust's standard library, uPlot.

    notices.py CRATE..      prints the notices of a binary or a library of these crates of ours

`release.py` puts them into each package, and tests that each crate of the build is there. The list of crates is that
of cargo (`cargo metadata`), with the features that a release has and without what only builds or tests; the texts are
those that the crates' authors ship.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Crates of ours in a release: the command, and the module of the wheel.
RELEASED = ["roundelay-cli", "roundelay-python"]
#: Files with a licence or a notice.
TEXTS = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
#: Where a crate leaves the choice, this is ours, in this order.
CHOICES = ["MIT", "Apache-2.0", "BSD-3-Clause", "BSD-2-Clause", "Zlib", "Unicode-3.0", "CC0-1.0", "Apache-2.0 WITH LLVM-exception"]
#: Words by which a file's name says that it has another licence than the chosen one.
OTHERS = {"MIT": ["apache", "unlicense", "bsd", "zlib", "boost"], "Apache-2.0": ["mit", "bsd", "zlib"]}


def fail(message: str) -> None:
    sys.exit(f"notices: {message}")


def metadata() -> dict:
    words = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        fail(done.stderr)
    return json.loads(done.stdout)


def crates(roots: list[str]) -> list[dict]:
    """The crates of others that are linked into these of ours, in the order of their names."""
    known = metadata()
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    names = {package["name"]: key for key, package in packages.items() if package["source"] is None}
    waiting = [names[root] for root in roots]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            is_macro = any("proc-macro" in target["kind"] for target in packages[dependency["pkg"]]["targets"])
            if is_linked and not is_macro and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    found = [packages[key] for key in seen if packages[key]["source"] is not None]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def chosen(expression: str) -> str:
    """The licence that we choose of an expression."""
    plain = expression.replace("/", " OR ")
    if " AND " in plain:
        return plain
    offered = [part.strip(" ()") for part in plain.split(" OR ")]
    for choice in CHOICES:
        if choice in offered:
            return choice
    return plain


def texts(folder: Path, licence: str) -> list[str]:
    """The texts that a crate ships for a licence, and its notices."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and TEXTS.match(path.name)]
    files += [path for path in sorted(folder.glob("LICENSES/*")) if path.is_file()]
    others = OTHERS.get(licence, [])
    fitting = [path for path in files if not any(word in path.name.lower() for word in others)]
    return [path.read_text(errors="replace").strip().replace("\r\n", "\n") for path in fitting or files]


def standard(licence: str, package: dict) -> str:
    """A licence for a crate that ships no text: that which we ship for ourselves, with its authors."""
    authors = ", ".join(package["authors"]) or f"the authors of {package['name']}"
    ours = {"MIT": "LICENSE-MIT", "Apache-2.0": "LICENSE-APACHE"}
    for name, file in ours.items():
        if name in licence:
            text = (ROOT / file).read_text().strip()
            return re.sub(r"^Copyright .*$", f"Copyright (c) {authors}", text, count=1, flags=re.MULTILINE)
    fail(f"{package['name']}: no text of {licence} in the crate, and none of ours")
    raise AssertionError


def heading(package: dict) -> str:
    return f"{package['name']} {package['version']}"


def notices(roots: list[str]) -> str:
    """All notices, each text once."""
    by_text: dict[str, list[str]] = {}
    for package in crates(roots):
        expression = package["license"] or "see the text"
        licence = chosen(expression)
        found = texts(Path(package["manifest_path"]).parent, licence) or [standard(licence, package)]
        for text in found:
            by_text.setdefault(text, []).append(f"{heading(package)} ({licence})")
    uplot = sorted((ROOT / "crates/roundelay-report/uplot").glob("LICEN*"))
    if not uplot:
        fail("crates/roundelay-report/uplot: no licence")
    by_text.setdefault(uplot[0].read_text().strip(), []).append("uPlot, in pages (MIT)")
    rust = re.sub(r"^Copyright .*$", "Copyright (c) The Rust Project Contributors", (ROOT / "LICENSE-MIT").read_text(), count=1, flags=re.MULTILINE)
    by_text.setdefault(rust.strip(), []).append("Rust's standard library (MIT)")
    parts = ["Roundelay itself is licensed under MIT OR Apache-2.0. It contains the following works of others."]
    for text, users in sorted(by_text.items(), key=lambda item: item[1]):
        parts.append("\n".join(users) + "\n\n" + text)
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


def main() -> None:
    roots = sys.argv[1:]
    if not roots:
        fail(f"expected crates of ours\n{__doc__}")
    print(notices(roots), end="")


if __name__ == "__main__":
    main()
