"""Docstrings as Markdown: doctests become blocks of code, roles of references the name alone."""

from __future__ import annotations

import re

import griffe

ROLE = re.compile(r":(?:class|func|meth|attr|mod):`~?([^`]+)`")
# A doctest ends at an empty line.
DOCTEST = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Markdown(griffe.Extension):
    """Rewrites each docstring."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = DOCTEST.sub(lambda match: f"```python\n{match.group(0)}\n```", text)
