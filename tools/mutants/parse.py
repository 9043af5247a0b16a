# SPDX-License-Identifier: Apache-2.0
"""A small parser for statements of the kernel's C, with only what the rules need.

It reads the kernel's own layout: a function's body starts and ends with a brace in column 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*|\"(?:\\.|[^\"\\])*\""
    r"|'(?:\\.|[^'\\])+'|<<=|>>=|\.\.\.|->|\+\+|--|&&|\|\||[-+*/%&|^!=<>]=|<<|>>|\S"
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_BODY = re.compile(r"^\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_TYPES = frozenset({
    "static", "const", "struct", "enum", "union", "unsigned", "signed", "int", "bool", "char",
    "void", "long", "short", "float", "double", "register", "volatile", "extern", "typedef",
    "_Alignas", "_Static_assert", "_Thread_local",
})  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Token:
    """A token and its place in the file's text."""

    text: str
    start: int
    end: int


@dataclass
class Node:
    """A statement.  kind: block, if, while, for, do, switch, return, jump, declaration, expression.

    `condition` is the text in the parentheses of if, while and do, or the middle part of `for`.
    `expressions` are the parts that are expressions; `children` are the statements inside.
    """

    kind: str
    tokens: Sequence[Token]
    condition: Sequence[Token] = ()
    expressions: list[Sequence[Token]] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Yield this statement and all statements inside it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Function:
    """A function: its name, the last word of its type, its statements."""

    name: str
    returns: str
    body: Node

    def walk(self) -> Iterator[Node]:
        """Yield every statement."""
        return self.body.walk()


class NotReadError(Exception):
    """A statement that this parser does not know."""


def blanked(text: str) -> str:
    """Turn comments and directives to spaces; offsets and lines stay."""
    for what in (_COMMENT, _DIRECTIVE):
        text = what.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    return text


def functions(text: str) -> list[Function]:
    """Return the functions of a C file, without those that the parser cannot read."""
    code = blanked(text)
    found = []
    for body in _BODY.finditer(code):
        head = re.split(r"[;}]\s*$|\n\s*\n", code[: body.start()].rstrip(), flags=re.MULTILINE)[-1]
        head = re.sub(r"__attribute__\(\(.*?\)\)", "", head)
        named = re.search(r"(\w+)[\s*]+\**(\w+)\(", head) or re.search(r"(\w*)\s*\b(\w+)\(", head)
        if not named:
            continue
        tokens = [Token(t.group(), t.start(), t.end())
                  for t in _TOKEN.finditer(code, body.start(), body.end())]  # fmt: skip
        try:
            node, end = _statement(tokens, 0)
        except (NotReadError, IndexError):
            continue
        if end == len(tokens):
            returns = "pointer" if "*" in named.group() else named[1]
            found.append(Function(named[2], returns, node))
    return found


def top_level(tokens: Sequence[Token], separator: str) -> list[Sequence[Token]]:
    """Split at a separator outside of brackets."""
    parts: list[Sequence[Token]] = []
    depth = first = 0
    for at, token in enumerate(tokens):
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == separator and depth == 0:
            parts.append(tokens[first:at])
            first = at + 1
    return [*parts, tokens[first:]]


def _close(tokens: Sequence[Token], at: int) -> int:
    """Return the place behind the bracket that closes the one at `at`."""
    depth = 0
    while True:
        depth += (tokens[at].text in "([{") - (tokens[at].text in ")]}")
        at += 1
        if depth == 0:
            return at


def _until(tokens: Sequence[Token], at: int) -> int:
    """Return the place behind the semicolon that ends a simple statement."""
    while tokens[at].text != ";":
        if tokens[at].text in ")]}":
            raise NotReadError(tokens[at].text)
        at = _close(tokens, at) if tokens[at].text in "([{" else at + 1
    return at + 1


def _statement(tokens: Sequence[Token], at: int) -> tuple[Node, int]:
    first, word = at, tokens[at].text
    if word == "{":
        node = Node("block", ())
        at += 1
        while tokens[at].text != "}":
            child, at = _statement(tokens, at)
            node.children.append(child)
        node.tokens = tokens[first : at + 1]
        return node, at + 1
    if word in ("case", "default") or (
        _WORD.fullmatch(word) and tokens[at + 1].text == ":" and word != "else"
    ):
        while tokens[at].text != ":":
            at += 1
        return Node("label", tokens[first : at + 1]), at + 1
    if word in ("if", "while", "for", "switch"):
        return _headed(tokens, at)
    if word == "do":
        child, at = _statement(tokens, at + 1)
        if tokens[at].text != "while":
            raise NotReadError("do")
        end = _close(tokens, at + 1)
        condition = tokens[at + 2 : end - 1]
        return Node("do", tokens[first : end + 1], condition, [condition], [child]), end + 1
    end = _until(tokens, at)
    if word == "return":
        value = tokens[at + 1 : end - 1]
        return Node("return", tokens[at:end], (), [value] if value else []), end
    if word in ("break", "continue", "goto"):
        return Node("jump", tokens[at:end]), end
    if end == at + 1:
        return Node("empty", tokens[at:end]), end
    if _is_declaration(tokens[at:end]):
        values = []
        for part in top_level(tokens[at : end - 1], ","):
            sides = top_level(part, "=")
            values += [side for side in sides[1:] if side]
        return Node("declaration", tokens[at:end], (), values), end
    return Node("expression", tokens[at:end], (), [tokens[at : end - 1]]), end


def _headed(tokens: Sequence[Token], at: int) -> tuple[Node, int]:
    first, word = at, tokens[at].text
    end = _close(tokens, at + 1)
    head = tokens[at + 2 : end - 1]
    condition, expressions = head, [head]
    if word == "for":
        parts = top_level(head, ";")
        if len(parts) != 3:
            raise NotReadError("for")
        condition = parts[1]
        start = (
            top_level(parts[0], "=")[1:] if parts[0] and _is_declaration(parts[0]) else parts[:1]
        )
        expressions = [part for part in (*start, *parts[1:]) if part]
    elif word == "switch":
        condition = ()
    body, end = _statement(tokens, end)
    children = [body]
    if word == "if" and end < len(tokens) and tokens[end].text == "else":
        other, end = _statement(tokens, end + 1)
        # Return the two separately: they are never neighbours that could change places.
        children = [body, Node("else", other.tokens, (), [], [other])]
    return Node(word, tokens[first:end], condition, expressions, children), end


def _is_declaration(tokens: Sequence[Token]) -> bool:
    words = [token.text for token in tokens[:6]]
    if words[0] in _TYPES or re.fullmatch(r"\w+_t", words[0]) or words[0] == "wp_atomic":
        return True
    if not _WORD.fullmatch(words[0]):
        return False
    at = 1
    while at < len(words) and words[at] in ("*", "const"):
        at += 1
    return (
        at + 1 < len(words)
        and bool(_WORD.fullmatch(words[at]))
        and words[at + 1] in ("=", ";", ",", "[")
    )
