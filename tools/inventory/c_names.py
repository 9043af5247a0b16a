# SPDX-License-Identifier: Apache-2.0
"""The names that C headers declare, each with its signature, fields or value.

The compiler preprocesses the headers; this module splits the result into declarations.  Names of
parameters are left out, because a caller does not see them: ``int wp_park(wp_parker *parker)`` is
``int (wp_parker *)``.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tools.inventory.sections import Facts

from wakeproof.errors import JudgeError
from wakeproof.judge.builds import compiler
from wakeproof.judge.process import Children

TIMEOUT_S = 60.0
Declared = tuple[str, Facts]

_MARKER = re.compile(r'# \d+ "([^"]*)"')
_MACRO = re.compile(r"#define (\w+)(\([^)]*\))?\s*(.*)")
_LEFT_OUT = re.compile(
    r'\b(?:static|extern|inline|__inline__|__inline|_Noreturn|__extension__)\b|"Python"'
)
_TYPES = frozenset({
    "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "bool",
    "_Bool", "const", "volatile",
})  # fmt: skip
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def of_headers(headers: Sequence[Path], root: Path, folders: Iterable[Path]) -> Iterator[Declared]:
    """Yield what `headers`, and what they include below `root`, declare; macros as well.

    Raises:
        JudgeError: they do not compile together.
    """
    text = "".join(f'#include "{header}"\n' for header in headers)
    yield from of_text(_own_lines(_preprocessed(text, folders), root))


def of_text(text: str) -> Iterator[Declared]:
    """Yield what preprocessed text declares: functions, types, constants, variables, macros."""
    lines = text.splitlines()
    for line in lines:
        if macro := _MACRO.match(line):
            yield _macro(macro)
    for chunk in _chunks("\n".join(line for line in lines if not line.startswith("#"))):
        yield from _declared(chunk)


def merged(declared: Iterable[Declared]) -> dict[str, Facts]:
    """Return each name once: the definition of a type replaces a declaration of its name.

    Raises:
        JudgeError: a name has two different declarations.
    """
    found: dict[str, Facts] = {}
    for name, facts in declared:
        other = found.get(name, facts)
        if facts != other and not (facts["kind"] == other["kind"] == "type"):
            raise JudgeError(f"{name} is declared as {other} and as {facts}")
        found[name] = other if "fields" in other else facts
    return found


def _preprocessed(text: str, folders: Iterable[Path]) -> list[str]:
    command = [*compiler(), "-std=c11", "-E", "-dD", *(f"-I{folder}" for folder in folders)]
    with Children() as children, tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(text)
        file.flush()
        ended = children.run([*command, file.name], timeout_s=TIMEOUT_S)
    if ended.code or ended.timed_out:
        raise JudgeError(f"the headers do not compile together: {ended.output.strip()[-400:]}")
    return ended.output.splitlines()


def _own_lines(lines: list[str], root: Path) -> str:
    """Return the lines that stand in files below `root`."""
    own: list[str] = []
    is_own = False
    for line in lines:
        if marker := _MARKER.match(line):
            is_own = Path(marker[1]).resolve().is_relative_to(root)
        elif is_own:
            own.append(line)
    return "\n".join(own)


def _macro(found: re.Match[str]) -> Declared:
    name, parameters, value = found.groups()
    if parameters:
        return name, {"kind": "macro", "parameters": _spaced(parameters)}
    return name, {"kind": "macro", "value": " ".join(value.split())}


def _chunks(text: str) -> Iterator[str]:
    """Yield each declaration at the top level; of a function's body, only its braces are left."""
    begin = depth = body = 0
    for match in re.finditer(r"""[()\[\]{};]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", text):
        mark = match[0]
        depth += _BRACKETS.get(mark, 0)
        if mark == "{" and depth == 1:
            body = match.start()
        if depth == 0 and mark == "}" and _is_function(text[begin:body]):
            yield text[begin:body] + "{}"
            begin = match.end()
        elif depth == 0 and mark == ";":
            yield text[begin : match.start()]
            begin = match.end()


def _is_function(head: str) -> bool:
    return _plain(head).endswith(")") and not re.match(r"\s*(?:typedef|enum)\b", head)


def _plain(text: str) -> str:
    """Return a declaration without attributes and storage classes, on one line."""
    while found := re.search(r"\b__attribute__\s*\(|\b__asm__\s*(?:volatile)?\s*\(", text):
        end = _closing(text, found.end() - 1)
        text = text[: found.start()] + text[end + 1 :]
    return _spaced(_LEFT_OUT.sub(" ", text))


def _spaced(text: str) -> str:
    text = " ".join(text.split())
    text = re.sub(r"\s*([(),;{}\[\]])\s*", r"\1", text)
    text = re.sub(r",(?=\S)", ", ", text)
    return re.sub(r"\s*\*\s*", " *", text).replace("* *", "**").replace("( *", "(*")


def _closing(text: str, begin: int) -> int:
    depth = 0
    for at in range(begin, len(text)):
        depth += _BRACKETS.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def _declared(chunk: str) -> Iterator[Declared]:
    plain = _plain(chunk)
    is_type = plain.startswith("typedef ")
    text = plain.removeprefix("typedef ").strip()
    if not text or text.startswith("_Static_assert"):
        return
    if enum := re.match(r"enum\s*(\w*)\s*\{(.*)\}\s*(\w*)$", text):
        yield from _constants(enum[2])
        if name := enum[3] or enum[1]:
            yield name, {"kind": "type", "signature": "enum"}
    elif record := re.match(r"(struct|union)\s*(\w*)\s*\{(.*)\}\s*(\w*)$", text):
        if name := record[4] or record[2]:
            fields = [part for part in _split(record[3], ";") if part]
            yield name, {"kind": "type", "signature": record[1], "fields": fields}
    elif re.fullmatch(r"(?:struct|union|enum) \w+", text) and not is_type:
        return  # only named, and not defined
    elif is_type:
        name = _type_name(text)
        yield name, {"kind": "type", "signature": _without(text, name)}
    elif function := re.match(r"([\w *]*?)(\w+)\((.*)\)(?:\{\})?$", text):
        parameters = ", ".join(map(_parameter, _split(function[3], ",")))
        signature = f"{function[1].strip()} ({parameters})"
        yield function[2], {"kind": "function", "signature": signature}
    elif variable := re.match(r"(.*?)(\w+)((?:\[[^\]]*\])*)(?:\s*=.*)?$", text):
        yield variable[2], {"kind": "variable", "signature": f"{variable[1].strip()} {variable[3]}"}
    else:
        raise JudgeError(f"what is declared here? {text[:200]}")


def _constants(text: str) -> Iterator[Declared]:
    base, after = "0", 0  # the value before is base + after
    for part in filter(None, _split(text, ",")):
        name, _, value = (word.strip() for word in part.partition("="))
        base, after = (value, 0) if value else (base, after)
        whole = str(int(base) + after) if re.fullmatch(r"-?\d+", base) else ""
        yield name, {"kind": "constant", "value": whole or (f"{base} + {after}" if after else base)}
        after += 1


def _split(text: str, mark: str) -> list[str]:
    parts, begin, depth = [], 0, 0
    for at, character in enumerate(text):
        depth += _BRACKETS.get(character, 0)
        if character == mark and not depth:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [*parts, text[begin:].strip()]


def _type_name(text: str) -> str:
    pointer = re.search(r"\(\*(\w+)\)", text)
    function = re.match(r"[\w *]*?(\w+)\(", text)
    last = re.search(r"(\w+)(?:\[[^\]]*\])*$", text)
    found = pointer or function or last
    if found is None:
        raise JudgeError(f"which type is named here? {text[:200]}")
    return found[1]


def _without(text: str, name: str) -> str:
    return _spaced(re.sub(rf"\b{name}\b(?!.*\b{name}\b)", "", text, count=1))


def _parameter(text: str) -> str:
    """Return a parameter's type."""
    if pointer := re.search(r"\(\*(\w+)\)", text):
        return text.replace(pointer[0], "(*)", 1)
    words = re.findall(r"\w+|\*|\[[^\]]*\]|\S", text)
    named = [at for at, word in enumerate(words) if re.fullmatch(r"[A-Za-z_]\w*", word)]
    if len(named) > 1 or (named and "*" in words[: named[0]]):
        last = words[named[-1]]
        is_name = last not in _TYPES and words[named[-1] - 1] not in ("struct", "union", "enum")
        others = {words[at] for at in named[:-1]} - {"const", "volatile"}
        if is_name and others:
            return _spaced(re.sub(rf"\b{last}\b(?!.*\b{last}\b)", "", text, count=1)).strip()
    return text
