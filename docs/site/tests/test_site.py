"""The built site: links and anchors lead somewhere, pages load nothing from elsewhere, search works from file://."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

SITE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SITE))

import hooks  # noqa: E402

BUILT = hooks.ROOT / "target/site"
PAGES = sorted(BUILT.rglob("*.html"))
# Where a browser loads without a click.
LOADS = [("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("audio", "src"), ("video", "src"), ("object", "data"), ("embed", "src"), ("form", "action")]
# Links that load.
RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch", "manifest"}


@cache
def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(), "html.parser")


@cache
def anchors(page: Path) -> frozenset[str]:
    return frozenset(element[name] for element in soup(page).find_all(True) for name in ("id", "name") if element.has_attr(name))


def test_all_pages_are_there():
    names = {page.relative_to(BUILT).as_posix() for page in PAGES}
    expected = {re.sub(r"(^|/)README\.html$", r"\1index.html", re.sub(r"\.md$", ".html", path)) for path in hooks.pages()}
    assert expected <= names, sorted(expected - names)
    assert {"reference/command.html", "reference/scenario.html", "reference/json.html", "reference/python.html"} <= names
    assert len([name for name in names if re.match(r"examples/notebooks/\d", name)]) == 6


def test_links_and_anchors_lead_somewhere():
    """Links within the site by file and anchor, links to the forge by the repository's files."""
    dead, count = [], 0
    for page in PAGES:
        if page.name == "404.html":
            continue
        for link in soup(page).find_all("a", href=True):
            target = urlsplit(link["href"])
            count += 1
            if link["href"].startswith(f"{hooks.FORGE}/"):
                path = re.sub(r"^(blob|tree)/main/", "", unquote(target.path.removeprefix("/roundelay/roundelay/")))
                if path and path not in hooks.tracked() and path not in hooks.folders():
                    dead.append((page.name, link["href"]))
            elif not target.scheme and not target.netloc:
                file = (page.parent / unquote(target.path)).resolve() if target.path else page
                file = file / "index.html" if file.is_dir() else file
                fragment = unquote(target.fragment)
                lost = file.suffix == ".html" and fragment and fragment not in anchors(file) and not fragment.startswith("__") if file.exists() else True
                if lost:
                    dead.append((page.relative_to(BUILT).as_posix(), link["href"]))
            else:
                assert target.scheme in ("http", "https", "mailto"), (page, link["href"])
    assert not dead, dead[:40]
    assert count > 5000, count


def test_no_page_loads_from_elsewhere():
    """Scripts, styles, pictures and fonts are files of the site."""
    elsewhere, missing = [], []
    for page in PAGES:
        loads = [element[attribute] for tag, attribute in LOADS for element in soup(page).find_all(tag) if element.has_attr(attribute)]
        loads += [link["href"] for link in soup(page).find_all("link", href=True) if RELATIONS & set(link.get("rel", []))]
        for address in loads:
            target = urlsplit(address)
            if target.scheme == "data":
                continue
            if target.scheme or target.netloc:
                elsewhere.append((page.name, address))
            elif target.path and page.name != "404.html" and not (page.parent / unquote(target.path)).exists():
                missing.append((page.relative_to(BUILT).as_posix(), address))
    for style in BUILT.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", style.read_text(), flags=re.DOTALL)
        elsewhere += [(style.name, address) for address in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", text)]
    for picture in BUILT.rglob("*.svg"):
        elsewhere += [(picture.name, address) for address in re.findall(r"(?:href|src)=\"(https?://[^\"]+)", picture.read_text())]
    assert not elsewhere and not missing, (elsewhere[:20], missing[:20])


def test_pictures_have_alternative_texts():
    bare = [(page.name, image.get("src")) for page in PAGES for image in soup(page).find_all("img") if not image.get("alt", "").strip()]
    # Plots of notebooks have the kind of picture as their text.
    assert not bare, bare[:20]


def test_references_are_complete():
    """Each command, each key of the schema, each public name of the package."""
    command = soup(BUILT / "reference/command.html").get_text()
    assert all(f"roundelay {name}" in command for name in hooks.subcommands())
    scenario = soup(BUILT / "reference/scenario.html").get_text()
    schema = json.loads((hooks.ROOT / "crates/roundelay-sim/src/scenario/schema.json").read_text())
    assert all(name in anchors(BUILT / "reference/scenario.html") for name in map(str.lower, schema["$defs"]))
    assert all(key in scenario for key in schema["properties"])
    for path in (hooks.ROOT / "docs/schemas").glob("*.schema.json"):
        text = soup(BUILT / f"reference/json/{path.name.removesuffix('.schema.json')}.html").get_text()
        assert all(key in text for key in json.loads(path.read_text()).get("properties", {})), path.name
    import roundelay  # noqa: PLC0415

    names = {f"roundelay.{name}" for name in roundelay.__all__ if not name.startswith("_")}
    assert names <= anchors(BUILT / "reference/python.html"), names - anchors(BUILT / "reference/python.html")


def test_search_has_an_index_for_file_addresses():
    index = (BUILT / "search/search_index.js").read_text()
    assert index.startswith("var __index") and index.count('"location"') > 500


def test_search_and_diagrams_in_a_browser():
    """In headless Chromium, from file://: no request elsewhere, no error, a search for qfq finds its page, diagrams are drawn."""
    done = subprocess.run(["node", str(SITE / "tests/browser.mjs"), str(BUILT)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
