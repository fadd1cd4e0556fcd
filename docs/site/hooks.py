"""Hooks of mkdocs: the repository's Markdown as pages, links to sources, generated references, notebooks.

Pages keep their paths in the repository: a link that works on the forge works on the site.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
FORGE = "https://github.com/roundelay/roundelay"
# Markdown that other pages contain already.
CONTAINED = "papers/"
ASSETS = (".svg", ".png", ".cast", ".schema.json")
EXECUTED = ROOT / "target/notebooks"
# Pages of the papers' items: not in the repository, made from its records.
ITEMS = ROOT / "target/papers-pages"
NOTEBOOKS = ROOT / "examples/notebooks"


@cache
def tracked() -> frozenset[str]:
    """Files of the repository, and those that are new and not ignored."""
    line = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return frozenset(subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n"))


@cache
def folders() -> frozenset[str]:
    return frozenset(str(folder) for path in tracked() for folder in Path(path).parents)


def pages() -> list[str]:
    return sorted(path for path in tracked() if path.endswith(".md") and not path.startswith(CONTAINED) and (ROOT / path).exists())


# Scripts from npm: the site loads nothing from elsewhere.
SCRIPTS = {"scripts/mermaid.js": "mermaid/dist/mermaid.min.js", "scripts/iframe-worker.js": "iframe-worker/shim/index.js"}


def on_config(config):
    """Fills in the parts of the navigation that are lists of files."""
    schedulers = [path for path in pages() if re.fullmatch(r"docs/schedulers/[a-z0-9_]+\.md", path)]
    lists = {
        "schedulers": [{Path(path).stem: path} for path in schedulers],
        "notebooks": [{"Notebooks": ["examples/notebooks/README.md", *({title: page} for title, page in notebooks())]}],
    }
    for section in config.nav:
        for name, entries in section.items():
            section[name] = [each for entry in entries for each in (lists[entry] if isinstance(entry, str) and entry in lists else [entry])]
    return config


def on_files(files: Files, config) -> Files:
    add = lambda path, **source: files.append(File.generated(config, path, **source))  # noqa: E731
    for path in pages():
        add(path, abs_src_path=str(ROOT / path))
    for path in tracked():
        if path.startswith("docs/") and not path.startswith("docs/site/") and path.endswith(ASSETS):
            add(path, abs_src_path=str(ROOT / path))
    for path, module in SCRIPTS.items():
        add(path, abs_src_path=str(ROOT / "docs/site/node_modules" / module))
    for path in item_pages():
        add(f"docs/papers/{path.relative_to(ITEMS)}", abs_src_path=str(path))
    add("reference/command.md", content=command_reference())
    add("reference/scenario.md", content=scenario_reference())
    for path, content in json_references().items():
        add(path, content=content)
    add("reference/python.md", content=python_reference())
    for path, content in notebook_pages():
        add(path, content=content)
    return files


LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


# How much a page counts in the search, by the beginning of its path: what one does comes before what one looks up.
WEIGHTS = [("docs/install.md", 4.0), ("docs/guides/", 4.0), ("docs/tutorial.md", 4.0), ("docs/papers/", 0.3), ("docs/testing/", 0.3), ("docs/performance", 0.3), ("docs/simulator/validation", 0.3), ("docs/", 2.0), ("reference/", 0.5)]


def on_page_markdown(markdown: str, page, config, files: Files) -> str:
    """Links to files and folders without a page lead to the forge."""
    weights = [weight for beginning, weight in WEIGHTS if page.file.src_uri.startswith(beginning)]
    page.meta.setdefault("search", {"boost": weights[0] if weights else 1.0})

    def target(match: re.Match[str]) -> str:
        address = match.group(1)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), address))
        if "://" in address or files.get_file_from_path(path):
            return match.group(0)
        if path.endswith(".ipynb") and files.get_file_from_path(path.removesuffix(".ipynb") + ".md"):
            return address.removesuffix(".ipynb") + ".md"
        if path in folders():
            index = f"{path}/README.md"
            return posixpath.relpath(index, posixpath.dirname(page.file.src_uri) or ".") if index in tracked() else f"{FORGE}/tree/main/{path}"
        return f"{FORGE}/blob/main/{path}{match.group(2) or ''}" if path in tracked() else match.group(0)

    if PAPER.fullmatch(page.file.src_uri):
        markdown = with_items(markdown, Path(page.file.src_uri).stem)
    parts = re.split(f"({FENCE.pattern})", markdown, flags=FENCE.flags)
    return "".join(part if place % 2 else LINK.sub(target, part) for place, part in enumerate(parts))


def on_post_page(output: str, page, config) -> str:
    """The script of diagrams, on pages that have one."""
    if 'class="mermaid"' not in output:
        return output
    source = posixpath.relpath("scripts/mermaid.js", posixpath.dirname(page.url) or ".")
    return output.replace("</head>", f'<script src="{source}"></script></head>')


# The papers' items: a page each, and links to these from the paper's table.

PAPER = re.compile(r"docs/papers/[a-z-]+\.md")
ROW = re.compile(r'^\| <a id="([^"]+)"></a>([^|]+) \|', re.MULTILINE)


def item_pages() -> list[Path]:
    shutil.rmtree(ITEMS, ignore_errors=True)
    shutil.copytree(ROOT / "docs/papers/records", ITEMS / "records")
    run_command("papers", "--pages", str(ITEMS), "--details")
    return sorted(path for path in ITEMS.glob("*/*") if path.suffix in (".md", ".svg"))


def with_items(markdown: str, paper: str) -> str:
    def link(match: re.Match[str]) -> str:
        item, label = match.groups()
        if not (ITEMS / paper / f"{item}.md").exists():
            return match.group(0)
        return f'| <a id="{item}"></a>[{label}]({paper}/{item}.md) |'

    return ROW.sub(link, markdown)


# The command's reference: its help.


def run_command(*words: str) -> str:
    """Output of the command, of the installed package unless ROUNDELAY names another."""
    program = os.environ.get("ROUNDELAY")
    line = [program] if program else [sys.executable, "-m", "roundelay"]
    return subprocess.run([*line, *words], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def subcommands() -> list[str]:
    return re.findall(r"^  ([a-z]+) {2,}\S", run_command("--help").split("Commands:")[1].split("Options:")[0], re.MULTILINE)


def command_reference() -> str:
    parts = ["# The command", "Generated: the output of `--help` of each command.", "## roundelay", f"```text\n{run_command('--help')}```"]
    for name in subcommands():
        parts += [f"## roundelay {name}", f"```text\n{run_command(name, '--help')}```"]
    return "\n\n".join(parts)


# The reference of scenarios: the schema as tables.


def one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def kind(schema: dict, definitions: dict) -> str:
    """The type of a value in a table's cell."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"] if value is not None)
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            each = [kind(part, definitions) for part in schema[union] if part.get("type") != "null"]
            return " or ".join(dict.fromkeys(each))
    types = schema.get("type", "any")
    types = [types] if isinstance(types, str) else types
    names = []
    for each in types:
        if each == "array":
            names.append("list of " + kind(schema["items"], definitions) if "items" in schema else "list")
        elif each == "object" and isinstance(schema.get("additionalProperties"), dict):
            names.append("table of " + kind(schema["additionalProperties"], definitions))
        elif each != "null":
            names.append({"object": "table", "string": "text"}.get(each, each))
    span = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"), ("exclusiveMaximum", "below")) if key in schema]
    return " ".join([" or ".join(names), *span])


def keys(schema: dict, definitions: dict) -> list[str]:
    """The table of an object's keys."""
    required = schema.get("required", [])
    lines = ["| key | value | default | |", "|---|---|---|---|"]
    for name, value in schema["properties"].items():
        default = "required" if name in required else "" if value.get("default") is None else f"`{json.dumps(value['default'])}`"
        lines.append(f"| `{name}` | {kind(value, definitions)} | {default.replace('|', chr(92) + '|')} | {one_line(value.get('description', ''))} |")
    return ["\n".join(lines)]


def described(schema: dict, definitions: dict, level: int) -> list[str]:
    """A definition: its text, its keys, and its variants."""
    parts = [one_line(schema["description"]).replace("\\|", "|")] if "description" in schema else []
    if "properties" in schema:
        parts += keys(schema, definitions)
    variants = schema.get("oneOf") or schema.get("anyOf") or []
    tables = [variant for variant in variants if "properties" in variant]
    for variant in tables:
        constants = [f"{key} = {json.dumps(value['const'])}" for key, value in variant["properties"].items() if "const" in value]
        parts += [f"{'#' * level} `{constants[0] if constants else 'a table'}`", *described(variant, definitions, level + 1)]
    others = [variant for variant in variants if variant not in tables and variant.get("type") != "null"]
    for variant in others:
        text = one_line(variant.get("description", ""))
        parts.append(f"- {kind(variant, definitions)}{': ' + text if text else ''}")
    if not parts or ("properties" not in schema and not variants):
        parts.append(f"Value: {kind({key: value for key, value in schema.items() if key != 'description'}, definitions)}.")
    if "examples" in schema:
        parts.append("Examples: " + ", ".join(f"`{json.dumps(value)}`" for value in schema["examples"]) + ".")
    return parts


def scenario_reference() -> str:
    schema = json.loads((ROOT / "crates/roundelay-sim/src/scenario/schema.json").read_text())
    definitions = schema["$defs"]
    parts = ["# Keys of a scenario", "Generated from the [JSON Schema](../crates/roundelay-sim/src/scenario/schema.json). [Scenarios](../docs/simulator/scenarios.md) explains the tables."]
    parts += ["## The file", *described(schema, definitions, 3)]
    for name, definition in definitions.items():
        parts += [f"## {name}", *described(definition, definitions, 3)]
    # List items of one list need no empty line between.
    return re.sub(r"\n\n(?=- )", "\n", "\n\n".join(parts)).replace("\n- ", "\n\n- ", 0)


def json_references() -> dict[str, str]:
    """An index, and a page for each schema: several have definitions of one name."""
    paths = sorted((ROOT / "docs/schemas").glob("*.schema.json"))
    names = [path.name.removesuffix(".schema.json") for path in paths]
    links = [f"- [{name}](json/{name}.md)" for name in names]
    index = ["# Keys of the JSON", "Of each command. [Outputs](../docs/simulator/outputs.md#json) introduces them.", "\n".join(links)]
    pages = {"reference/json.md": "\n\n".join(index) + "\n"}
    for name, path in zip(names, paths):
        schema = json.loads(path.read_text())
        definitions = schema.get("$defs", {})
        parts = [f"# Keys of {name}", f"Generated from the [JSON Schema](../../docs/schemas/{path.name}).", *described(schema, definitions, 2)]
        for definition, value in definitions.items():
            parts += [f"## {definition}", *described(value, definitions, 3)]
        pages[f"reference/json/{name}.md"] = "\n\n".join(parts) + "\n"
    return pages


# The Python API: docstrings and stubs, read without an import.

API = ["roundelay", "roundelay.scenario", "roundelay.testing"]


def python_reference() -> str:
    package = ROOT / "crates/roundelay-python/python/roundelay/__init__.py"
    names = re.findall(r'^    "(\w+)",$', package.read_text().split("__all__")[1], re.MULTILINE)
    parts = ["# Python API", "Generated from docstrings and types. [Roundelay in Python](../docs/python.md) is the introduction."]
    parts += [f"::: roundelay.{name}" for name in names if name not in ("__version__", "testing")]
    parts += ["::: roundelay.testing", "::: roundelay.scenario"]
    return "\n\n".join(parts) + "\n"


# Notebooks, as the tests have run them.


def notebooks() -> list[tuple[str, str]]:
    """Title and page of each notebook, in order."""
    found = []
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        first = "".join(json.loads(path.read_text())["cells"][0]["source"])
        found.append((first.split("\n")[0].removeprefix("# "), f"examples/notebooks/{path.stem}.md"))
    return found


def notebook_pages():
    """Markdown and pictures of each notebook, without the cells that only test."""
    from nbconvert import MarkdownExporter  # noqa: PLC0415
    from traitlets.config import Config  # noqa: PLC0415

    settings = Config()
    settings.TagRemovePreprocessor.remove_cell_tags = ("test",)
    settings.TagRemovePreprocessor.enabled = True
    settings.MarkdownExporter.preprocessors = ["nbconvert.preprocessors.TagRemovePreprocessor"]
    exporter = MarkdownExporter(config=settings)
    for _, page in notebooks():
        name = Path(page).stem
        path = EXECUTED / f"{name}.ipynb"
        if not path.exists():
            raise PluginError(f"{path} is missing: run the notebooks first, with make docs")
        body, resources = exporter.from_filename(str(path), resources={"unique_key": name, "output_files_dir": name})
        source = f"[The notebook]({FORGE}/blob/main/examples/notebooks/{name}.ipynb)"
        title, rest = body.strip().replace("![png](", "![Plot of the cell above](").split("\n", 1)
        yield page, f"{title}\n\n{source}\n{rest}\n"
        for picture, data in resources["outputs"].items():
            yield f"examples/notebooks/{picture}", data
