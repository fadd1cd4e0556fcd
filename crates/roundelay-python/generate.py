#!/usr/bin/env python3
"""Writes python/roundelay/scenario.py, typed dataclasses of scenarios, from their JSON Schema.

generate.py           writes the file
generate.py --print   prints its text

tests/test_scenario.py fails if the file is not what this program writes.
"""

import json
import keyword
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMA = HERE / "../roundelay-sim/src/scenario/schema.json"
TARGET = HERE / "python/roundelay/scenario.py"

# Definitions of the schema with other names in Python.
NAMES = {
    "QueueTable": "Queues",
    "RoutingTable": "Routing",
    "NodeEntry": "Node",
    "LinkEntry": "Link",
    "PortEntry": "Port",
    "TreeTable": "Tree",
    "Measures": "Meter",
    "File": "TopologyFile",
}
# Definitions that are a choice between tables, by a key.
CHOICES = {"Template": "template", "SourceTable": "kind"}
# The class of what all tables of a choice have in common.
COMMON = {"SourceTable": "EverySource"}
# A definition that is a choice between two others.
TOPOLOGY = "TopologyTable"

HEADER = '''"""Scenarios as typed dataclasses, generated from their JSON Schema by generate.py: do not edit.

>>> from roundelay.scenario import Dumbbell, Queues, Scenario, Tcp
>>> scenario = Scenario(
...     duration="10s",
...     topology=Dumbbell(pairs=2, rate="10mbit"),
...     queue=Queues(core="fq_codel"),
...     source=[Tcp(from_=["s0", "s1"], to=["r0", "r1"])],
... )
>>> Scenario.from_toml(scenario.to_toml()) == scenario
True

A field that is None is left out: the scenario's default applies. Names that Python reserves end in an
underscore: ``from_``, ``class_``. Values are checked by :func:`roundelay.simulate`, with the messages of the
command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from ._tables import ByName, Choice, Table, TopTable

'''


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_"))


def in_python(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


class Generator:
    def __init__(self, schema: dict) -> None:
        self.definitions = schema["$defs"]
        self.top = schema
        self.classes: list[str] = []
        self.done: dict[str, str] = {}
        self.exported: list[str] = []

    def name(self, definition: str) -> str:
        return NAMES.get(definition, definition)

    def is_table(self, definition: str) -> bool:
        return definition in CHOICES or definition == TOPOLOGY or "properties" in self.definitions[definition]

    def type_of(self, schema: dict) -> str:
        """The Python type of a value, without None."""
        if "$ref" in schema:
            definition = schema["$ref"].rsplit("/", 1)[1]
            self.define(definition)
            return self.done[definition]
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            types = [self.type_of(choice) for choice in choices if choice.get("type") != "null"]
            literals = [kind for kind in types if kind.startswith("Literal[")]
            if literals and len(literals) == len(types):
                return "Literal[" + ", ".join(kind[8:-1] for kind in literals) + "]"
            return " | ".join(dict.fromkeys(types))
        kind = schema.get("type")
        if isinstance(kind, list):
            return self.type_of({**schema, "type": next(each for each in kind if each != "null")})
        if kind == "array":
            if "prefixItems" in schema:
                inner = " | ".join(dict.fromkeys(self.type_of(item) for item in schema["prefixItems"]))
                return f"Sequence[{inner}]"
            return f"Sequence[{self.type_of(schema['items'])}]"
        if kind == "object":
            return f"dict[str, {self.type_of(schema['additionalProperties'])}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[kind]

    def nested(self, schema: dict) -> str | None:
        """How from_dict makes a value: the class or choice, or None for a plain value."""
        if "$ref" in schema:
            definition = schema["$ref"].rsplit("/", 1)[1]
            if not self.is_table(definition):
                return None
            return f"_{self.name(definition).upper()}" if definition in (*CHOICES, TOPOLOGY) else self.name(definition)
        for choice in schema.get("anyOf", []):
            found = self.nested(choice)
            if found:
                return found
        if schema.get("type") == "array" and "items" in schema:
            return self.nested(schema["items"])
        if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
            inner = self.nested(schema["additionalProperties"])
            return inner and f"ByName({inner})"
        return None

    def define(self, definition: str) -> None:
        if definition in self.done:
            return
        schema = self.definitions[definition]
        name = self.name(definition)
        if definition == TOPOLOGY:
            template = self.type_of(schema["anyOf"][0])
            file = self.type_of(schema["anyOf"][1])
            self.done[definition] = "Topology"
            self.alias("Topology", f"{template} | {file}", schema)
            self.classes.append(f'_TOPOLOGYTABLE = Choice("template", _TEMPLATE.kinds, otherwise={file})\n')
            return
        if definition in CHOICES:
            key = CHOICES[definition]
            members = []
            base = COMMON.get(definition, "Table")
            if base != "Table":
                common = {key: schema[key] for key in ("properties", "required") if key in schema}
                self.table(base, {**common, "description": "What every source has."}, None)
            for choice in schema["oneOf"]:
                const = choice["properties"][key]["const"]
                member = camel(const)
                self.table(member, choice, key, base)
                members.append((const, member))
            union = " | ".join(member for _, member in members)
            alias = "Source" if definition == "SourceTable" else definition
            self.done[definition] = alias
            self.alias(alias, union, schema)
            kinds = ", ".join(f'"{const}": {member}' for const, member in members)
            self.classes.append(f'_{name.upper()} = Choice("{key}", {{{kinds}}})\n')
            return
        self.done[definition] = name
        if "properties" in schema:
            self.table(name, schema, None)
        else:
            self.alias(name, self.type_of(schema), schema)

    def alias(self, name: str, value: str, schema: dict) -> None:
        self.exported.append(name)
        lines = [f"#: {line}" for line in self.text(schema)]
        examples = schema.get("examples")
        if examples:
            lines.append("#: Examples: " + ", ".join(json.dumps(example) for example in examples) + ".")
        self.classes.append("\n".join([*lines, f"{name}: TypeAlias = {value}"]) + "\n")

    def text(self, schema: dict, width: int = 108) -> list[str]:
        words = schema.get("description", "").replace("\n", " ").replace("`", "``")
        return textwrap.wrap(words, width)

    def with_default(self, schema: dict) -> dict:
        """The value with its default behind its description."""
        if schema.get("default") in (None, [], {}):
            return schema
        words = f"{schema.get('description', '')} Default: {json.dumps(schema['default'])}."
        return {**schema, "description": words}

    def table(self, name: str, schema: dict, key: str | None, base: str = "Table") -> None:
        self.exported.append(name)
        required = set(schema.get("required", []))
        fields, nested, renamed = [], [], []
        properties = sorted(schema["properties"].items(), key=lambda item: item[0] not in required)
        for each, value in properties:
            python = in_python(each)
            if python != each:
                renamed.append(f'"{python}": "{each}"')
            fields += [f"    #: {line}" for line in self.text(self.with_default(value), 104)]
            if each == key:
                fields.append(f"    {python}: {self.type_of(value)} = field(default={json.dumps(value['const'])}, init=False)")
                continue
            kind, made = self.type_of(value), self.nested(value)
            if made:
                nested.append(f'"{python}": {made}')
            default = "" if each in required else " | None = None"
            fields.append(f"    {python}: {kind}{default}")
        about = self.text(schema) or [f"The table ``{name.lower()}``."]
        lines = ["@dataclass(kw_only=True)", f"class {name}({base}):", f'    """{about[0]}']
        lines += [f"    {line}" for line in about[1:]]
        lines[-1] += '"""'
        lines.append("")
        if nested:
            inherited = [f"**{base}._nested"] if base in COMMON.values() else []
            lines.append(f"    _nested: ClassVar[dict[str, Any]] = {{{', '.join([*inherited, *nested])}}}")
        if renamed:
            lines.append(f"    _renamed: ClassVar[dict[str, str]] = {{{', '.join(renamed)}}}")
        if nested or renamed:
            lines.append("")
        self.classes.append("\n".join([*lines, *fields]) + "\n")

    def run(self) -> str:
        top = {**self.top, "description": self.top["description"]}
        self.table("Scenario", top, None, "TopTable")
        names = "".join(f'    "{name}",\n' for name in sorted(self.exported))
        return HEADER + f"__all__ = [\n{names}]\n\n\n" + "\n\n".join(self.classes)


if __name__ == "__main__":
    text = Generator(json.loads(SCHEMA.read_text())).run()
    if "--print" in sys.argv:
        sys.stdout.write(text)
    else:
        TARGET.write_text(text)
