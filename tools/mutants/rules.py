# SPDX-License-Identifier: Apache-2.0
"""The rules that make defects out of C text.  Pure: text in, edits out.

An edit never changes the number of lines of a file, so labels, reports and coverage keep their
places.  If a rule replaces the value of an expression, such as a condition, the expression is still
evaluated for its effects.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tools.mutants.parse import Function, Node, Token, functions, top_level

RULES = {
    "never": "a check never succeeds: if (c), while (c) -> ((c) && 0)",
    "always": "a check always succeeds: if (c) -> ((c) || 1)",
    "half": "half of a condition is lost: a && b -> a; a || b -> a",
    "weaker": "a memory order is one step weaker, or a fence is lost",
    "swap": "two adjacent statements change places",
    "drop": "a call or an assignment is lost",
    "once": "a loop ends after its first turn; _all becomes _one",
    "forever": "a timeout is lost: a deadline in a call -> WP_FOREVER",
    "off_by_one": "< becomes <=, > becomes >=, and back; + 1 and - 1 are lost",
    "index": "a wrong index: [0] -> [1], [n] -> [n - 1], [e] -> [0]",
    "opposite": "a function returns the opposite: true, false; an error, WP_OK",
}
"""Each rule and what it does."""

_WEAKER = {"acquire": ("relaxed",), "release": ("relaxed",), "acq_rel": ("acquire", "release")}
_FENCES = {"wp_fence_seq_cst": "((void)0)", "wp_fence_light": "((void)0)",
           "wp_fence_heavy": "(wp_fence_light(), 1)"}  # fmt: skip
_OPERATION = re.compile(r"(wp_(?:load|store|exchange|cas|fetch_\w+?)_)(acquire|release|acq_rel)")
_SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_DEADLINE = re.compile(r"[\w.>-]*(?:deadline|timeout|until)\w*")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Mutant:
    """One defect: an edit of a file of ``kernel/``."""

    file: str  # from the folder kernel/ on
    line: int
    function: str
    rule: str
    start: int
    end: int
    new: str
    code: str  # the line of source that changes, stripped
    becomes: str  # the same with the defect; all lines of the edit
    nth: int  # of equal edits of this function

    @property
    def name(self) -> str:
        """Return a name by the line's text and not its number: ``mutex.c-swap-1f2e3d4c``."""
        what = "\0".join((self.file, self.function, self.rule, self.code, self.becomes,
                          str(self.nth)))  # fmt: skip
        digest = hashlib.sha256(what.encode()).hexdigest()[:8]
        return f"{self.file.rpartition('/')[2]}-{self.rule}-{digest}"

    def applied(self, text: str) -> str:
        """Return the file's text with the defect."""
        return text[: self.start] + self.new + text[self.end :]


def mutants(file: str, text: str, known: frozenset[str] = frozenset()) -> list[Mutant]:
    """Return every defect that the rules make in a C file.

    `known`: the identifiers of the whole kernel, for a rule that puts one name in another's place.
    """
    found: list[Mutant] = []
    for function in functions(text):
        seen: dict[tuple[str, str, str], int] = {}
        for rule, start, end, new in sorted({*_edits(text, function, known)}):
            new += "\n" * (text.count("\n", start, end) - new.count("\n"))
            line = text.count("\n", 0, start) + 1
            code, becomes = _shown(text, start, end, new)
            if _flat(code) == _flat(becomes):
                continue
            key = rule, code, becomes
            seen[key] = seen.get(key, -1) + 1
            found.append(Mutant(file, line, function.name, rule, start, end, new, code, becomes,
                                seen[key]))  # fmt: skip
    return sorted(found, key=lambda m: (m.start, m.end, m.rule, m.new))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _shown(text: str, start: int, end: int, new: str) -> tuple[str, str]:
    """Return the lines of an edit before and after, each as one line."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    return _flat(text[first:last]), _flat(text[first:start] + new + text[end:last])


_Edit = tuple[str, int, int, str]


def _edits(text: str, function: Function, known: frozenset[str]) -> Iterator[_Edit]:
    for node in function.walk():
        if node.kind in ("if", "while", "for", "do") and node.condition:
            yield from _of_condition(text, node)
        if node.kind in ("while", "for", "do"):
            yield from _once(text, node)
        if node.kind == "expression":
            yield from _dropped(node)
        if node.kind == "return":
            yield from _opposite(text, function, node)
        yield from _swaps(text, node.children)
        for expression in node.expressions:
            yield from _halves(text, expression)
            yield from _of_tokens(text, expression, known)


def _copy(text: str, tokens: Sequence[Token]) -> str:
    return text[tokens[0].start : tokens[-1].end]


def _of_condition(text: str, node: Node) -> Iterator[_Edit]:
    tokens = node.condition
    start, end, copy = tokens[0].start, tokens[-1].end, _copy(text, tokens)
    if node.kind != "do":  # its loop that ends at once is the rule `once`
        yield "never", start, end, f"(({copy}) && 0)"
    if node.kind == "if":
        yield "always", start, end, f"(({copy}) || 1)"


def _once(text: str, node: Node) -> Iterator[_Edit]:
    if node.kind == "do" or [token.text for token in node.children[0].tokens] == ["continue", ";"]:
        start, end = node.condition[0].start, node.condition[-1].end
        yield "once", start, end, f"(({_copy(text, node.condition)}) && 0)"
        return
    body = node.children[0]
    if body.kind == "block":
        at = body.tokens[-1]
        yield "once", at.start, at.end, "break; }"
    else:
        start, end = body.tokens[0].start, body.tokens[-1].end
        yield "once", start, end, f"{{ {text[start:end]} break; }}"


def _dropped(node: Node) -> Iterator[_Edit]:
    start, end = node.tokens[0].start, node.tokens[-1].end
    if node.tokens[0].text == "(" and node.tokens[1].text == "void":
        return
    yield "drop", start, end, ";"


def _swaps(text: str, children: Sequence[Node]) -> Iterator[_Edit]:
    for one, other in pairwise(children):
        if (one.kind, other.kind) != ("expression", "expression"):
            continue
        if _are_apart(one, other):
            continue
        a, b = (one.tokens[0].start, one.tokens[-1].end), (other.tokens[0].start,
                                                          other.tokens[-1].end)  # fmt: skip
        yield "swap", a[0], b[1], text[b[0] : b[1]] + text[a[1] : b[0]] + text[a[0] : a[1]]


def _are_apart(one: Node, other: Node) -> bool:
    """Return whether no thread can see the order of two statements: plain, of other places."""
    if all(node.tokens[0].text == "free" for node in (one, other)):
        return True
    return not any(
        _calls(a) or not _written(a) or _written(a) in {token.text for token in b.tokens}
        for a, b in ((one, other), (other, one))
    )


def _calls(node: Node) -> bool:
    return any(
        after.text == "(" and re.match(r"[A-Za-z_]", token.text)
        and token.text != "sizeof"
        for token, after in pairwise(node.tokens)
    )  # fmt: skip


def _written(node: Node) -> str:
    """Return the last name of the place that a plain assignment writes; "": it is none."""
    sides = top_level(node.tokens, "=")
    if len(sides) != 2 or not sides[0]:
        return ""
    last = sides[0][-1].text
    return last if re.match(r"[A-Za-z_]", last) and sides[0][0].text != "*" else ""


def _halves(text: str, expression: Sequence[Token]) -> Iterator[_Edit]:
    """Remove one operand of each && and || of the outer level, and inside of parentheses."""
    for separator in (",", "=", "?", ":", "||", "&&"):  # from the weakest binding on
        operands = top_level(expression, separator)
        if len(operands) == 1:
            continue
        neutral = {"&&": "|| 1", "||": "&& 0"}.get(separator)
        for operand in operands:
            if neutral and operand:
                start, end = operand[0].start, operand[-1].end
                yield "half", start, end, f"(({_copy(text, operand)}) {neutral})"
            yield from _halves(text, operand)
        return
    first = depth = 0
    for at, token in enumerate(expression):
        depth += token.text == "("
        first = at if token.text == "(" and depth == 1 else first
        depth -= token.text == ")"
        if token.text == ")" and depth == 0:
            yield from _halves(text, expression[first + 1 : at])


def _of_tokens(text: str, tokens: Sequence[Token], known: frozenset[str]) -> Iterator[_Edit]:
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        start, end = token.start, token.end
        order = _OPERATION.fullmatch(token.text)
        if order:
            for weaker in _WEAKER[order[2]]:
                if not known or order[1] + weaker in known:
                    yield "weaker", start, end, order[1] + weaker
        if token.text in _FENCES and after == "(":
            yield "weaker", start, tokens[at + 2].end, _FENCES[token.text]
        if token.text in _SHIFTED:
            yield "off_by_one", start, end, _SHIFTED[token.text]
        if token.text == "1" and before in ("+", "-"):
            yield "off_by_one", start, end, "0"
        one = re.sub(r"_all\b", "_one", token.text)
        if one != token.text and one in known:
            yield "once", start, end, one
        if token.text == "[" and at:
            yield from _indices(text, tokens, at)
        if token.text in ("(", ",") and at:
            yield from _deadlines(tokens, at)


def _indices(text: str, tokens: Sequence[Token], at: int) -> Iterator[_Edit]:
    depth, end = 1, at + 1
    while depth and end < len(tokens):
        depth += (tokens[end].text == "[") - (tokens[end].text == "]")
        end += 1
    inner = tokens[at + 1 : end - 1]
    if not inner:
        return
    said = _copy(text, inner)
    new = "0"
    if _NUMBER.fullmatch(said):
        new = "1" if said == "0" else str(int(said) - 1)
    yield "index", inner[0].start, inner[-1].end, new


def _deadlines(tokens: Sequence[Token], at: int) -> Iterator[_Edit]:
    """Take an argument that is a deadline and nothing else."""
    end = at + 1
    while end < len(tokens) and re.fullmatch(r"\w+|\.|->", tokens[end].text):
        end += 1
    if end == at + 1 or end >= len(tokens) or tokens[end].text not in (",", ")"):
        return
    said = "".join(token.text for token in tokens[at + 1 : end])
    is_call = tokens[at].text == "," or re.fullmatch(r"[a-z_]\w*", tokens[at - 1].text)
    if is_call and _DEADLINE.fullmatch(said):
        yield "forever", tokens[at + 1].start, tokens[end - 1].end, "WP_FOREVER"


def _opposite(text: str, function: Function, node: Node) -> Iterator[_Edit]:
    value = node.tokens[1:-1]
    if not value:
        return
    start, end, said = value[0].start, value[-1].end, _copy(text, value)
    other = {"true": "false", "false": "true", "WP_OK": "WP_FORBIDDEN"}.get(said)
    if other:
        yield "opposite", start, end, other
    elif function.returns == "bool":
        yield "opposite", start, end, f"!({said})"
    elif re.fullmatch(r"WP_[A-Z]+", said) and function.returns == "int":
        yield "opposite", start, end, "WP_OK"
