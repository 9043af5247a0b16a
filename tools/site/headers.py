# SPDX-License-Identifier: Apache-2.0
"""Sphinx's directive `public-headers`: the reference of the C headers of one layer.

It shows the public headers that tools/public_headers.py makes: functions, and the types and
constants that they need, each with the comment above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.parsing import nested_parse_to_nodes
from tools.public_headers import KERNEL, Chunk, Kernel, prototype

COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
CONTRACT = re.compile(r"\s*\[([^\[\]]+)\]\.?$")
"""The end of a function's comment: who may call it, and whether it blocks."""


@cache
def _kernel() -> Kernel:
    kernel = Kernel(KERNEL)
    kernel.public()  # in the order of the headers
    return kernel


def _words(comment: str) -> str:
    """Return a comment's text on one line, without markup but for names in backticks."""
    inside = " ".join(part.strip() for part in COMMENT.findall(comment))
    line = re.sub(r"\s+\*?\s*", " ", inside.replace("\n * ", " ").replace("\n *", " ")).strip()
    parts = re.split(r"`([^`]+)`", line)
    parts[::2] = [re.sub(r"([\\*`_|])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"``{name}``" for name in parts[1::2]]
    return "".join(parts)


def _functions(chunks: list[Chunk]) -> Iterator[str]:
    """Yield each function, with the functions right below it that share its comment."""
    texts = [prototype(chunk.text) for chunk in chunks]
    codes = [" ".join(COMMENT.sub("", text).split()) for text in texts]
    codes = [code.removeprefix("WP_API ").removesuffix(";") for code in codes]
    beside = "".join(comment[0] for text in texts if (comment := COMMENT.search(text)))
    said = _words(chunks[0].comment + beside)
    yield f".. c:function:: {codes[0]}\n"
    yield from (f"                 {code}\n" for code in codes[1:])
    yield "\n"
    contract = CONTRACT.search(said)
    yield f"   {CONTRACT.sub('', said)}\n\n"
    if contract:
        yield f"   *{contract[1]}*\n\n"


def _other(chunk: Chunk) -> Iterator[str]:
    """Yield each type, group of constants or macro, with its text."""
    names = sorted(name for name in chunk.names if re.match(r"(wp|WP)_", name))
    if chunk.tag or re.match(r"(typedef )?(struct|union)", chunk.text):
        kind, shown = "struct", [chunk.tag or names[0]]
    elif chunk.text.startswith("typedef"):
        kind, shown = "type", names[-1:]
    else:
        kind, shown = "macro", names
    yield f".. c:{kind}:: {shown[0]}\n"
    yield from (f"              {name}\n" for name in shown[1:])
    yield "\n"
    if said := _words(chunk.comment):
        yield f"   {said}\n\n"
    yield "   .. code-block:: c\n\n"
    yield from (f"      {line}\n" for line in chunk.text.split("\n"))


def _titles(stem: str) -> str:
    found = re.search(rf"\* {stem}\.h - (.*?)(?: \*/|\n \*\s*\n)", _kernel().texts[stem], re.DOTALL)
    return _words(f"/*{found[1]}*/") if found else ""


@cache
def _opaque() -> dict[str, str]:
    """Return the types of which a user only has pointers, with the headers that make them."""
    found: dict[str, str] = {}
    whole = {chunk.tag for chunk in _kernel().kept}
    for stem, text in _kernel().public().items():
        for name in re.findall(r"^typedef struct (\w+) \1;$", text, re.MULTILINE):
            if name not in whole and (name not in found or f" {name}_new(" in text):
                found[name] = stem
    return found


def reference(layer: str) -> str:
    """Return a layer's headers as reStructuredText."""
    parts: list[str] = []
    kept = _kernel().kept
    for stem in dict.fromkeys(chunk.stem for chunk in kept):
        path = _kernel().headers[stem].relative_to(KERNEL)
        if path.parts[0] != layer:
            continue
        title = f"<wakeproof/{stem}.h>"
        opaque = [name for name, home in _opaque().items() if home == stem]
        parts.append(f"{title}\n{'-' * len(title)}\n\n{_titles(stem)}\n")
        parts.extend(f".. c:struct:: {name}\n\n   Opaque.\n" for name in opaque)
        own = [chunk for chunk in kept if chunk.stem == stem]
        parts.extend(
            "".join(_functions(group) if group[0].is_public else _other(group[0]))
            for group in _groups(own)
            if group[0].is_public or stem != "api"
        )
    return "\n".join(parts)


def _groups(chunks: list[Chunk]) -> list[list[Chunk]]:
    groups: list[list[Chunk]] = []
    for chunk in chunks:
        shares = chunk.is_public and not chunk.is_apart and not chunk.comment
        if shares and groups and groups[-1][0].is_public:
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return groups


class PublicHeaders(SphinxDirective):
    """`.. public-headers:: sync`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the sections, one for each header."""
        for path in _kernel().headers.values():
            self.env.note_dependency(str(path))
        text = reference(self.arguments[0])
        return nested_parse_to_nodes(self.state, text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("public-headers", PublicHeaders)
    return {"parallel_read_safe": True}
