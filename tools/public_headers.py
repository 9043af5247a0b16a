# SPDX-License-Identifier: Apache-2.0
"""Makes the public headers, <wakeproof/...>, from the headers of kernel/.

    tools/public_headers.py FOLDER      writes FOLDER/*.h anew; the standard library is enough
    tools/public_headers.py --list      prints every public declaration: tools/library/interface.txt

A function is public if its declaration is marked with WP_API or WP_API_INLINE (kernel/base/api.h).
For each header with public functions there is a public header of the same stem. It has these
functions with their comments, and the types, constants and macros that they need or that their
comments name. A body becomes a semicolon. A type is defined if a public function takes or returns
it, or if another type has a pointer to a const one, which a user fills in. A type is opaque if only
another type points to it, or if there is a `<type>_new`, because users then have none of their own.
``wakeproof.h`` includes all of them; ``version.h`` has the version of pyproject.toml.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL = ROOT / "kernel"
LICENSE = "/* SPDX-License-Identifier: Apache-2.0\n"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"\b(?:wp|WP)_\w+\b")
_PUBLIC = re.compile(r"WP_API(?:_INLINE)? ")
_CDEF = re.compile(r"^\s*/\* cdef: (begin|end) \*/\n", re.MULTILINE)


@dataclass
class Chunk:
    """One declaration or macro of a header, with the comment above it."""

    stem: str
    text: str
    comment: str = ""
    is_apart: bool = True  # an empty line stands above it
    names: set[str] = field(default_factory=set)  # that it declares

    @property
    def is_public(self) -> bool:
        """Whether the chunk is a function for users."""
        return _PUBLIC.match(self.text) is not None

    @property
    def is_function(self) -> bool:
        """Whether the chunk is a function, and no type, constant or macro."""
        return re.match(r"#|typedef|struct|enum|union", self.text) is None or (
            "{" not in self.text and not self.text.startswith(("#", "typedef"))
        )

    @property
    def code(self) -> str:
        """The text without comments."""
        return _COMMENT.sub("", self.text)

    @property
    def tag(self) -> str | None:
        """The name of the struct that the chunk defines."""
        found = re.match(r"(?:typedef )?struct (\w+) \{", self.text)
        return found[1] if found else None


def chunks(stem: str, text: str) -> Iterator[Chunk]:
    """Yield the declarations of a header's `text`, in its order."""
    comment, is_apart, lines = "", True, iter(_CDEF.sub("", text).split("\n"))
    for line in lines:
        piece = line
        if not line.strip():
            comment, is_apart = "", True
            continue
        while piece.count("/*") > piece.count("*/"):
            piece += "\n" + next(lines)
        if not _COMMENT.sub("", piece).strip():
            comment = piece
            continue
        if piece.startswith("#"):
            while piece.endswith("\\"):
                piece += "\n" + next(lines)
        else:
            while not _is_whole(_COMMENT.sub("", piece)):
                piece += "\n" + next(lines)
        yield Chunk(stem, piece, comment, is_apart, set(_declared(_COMMENT.sub("", piece))))
        comment, is_apart = "", False


def _is_whole(code: str) -> bool:
    """Return whether a declaration is complete: its braces are closed, and it has its end."""
    return code.count("{") == code.count("}") and (
        code.rstrip().endswith(";") or code.rstrip().endswith("\n}")
    )


def _declared(code: str) -> Iterator[str]:
    if found := re.match(r"#define (\w+)", code):
        yield found[1]
    elif re.match(r"(typedef )?(struct|enum|union)\b[^{;()]*\{", code):
        if found := re.match(r"(?:typedef )?(?:struct|enum|union) (\w+)", code):
            yield found[1]
        if re.match(r"(typedef )?enum", code):
            inside = code[code.index("{") + 1 : code.index("}")]
            yield from re.findall(r"^\s*(\w+)", inside.replace(",", "\n"), re.MULTILINE)
        if found := re.search(r"\}\s*(\w+);\s*$", code):
            yield found[1]
    elif found := re.match(r"typedef .*?(\w+);\s*$", code, re.DOTALL):
        yield found[1]
    else:
        yield from re.findall(r"\b(wp_\w+)\(", code)[:1]


class Kernel:
    """The declarations of all headers, and those that a user needs."""

    def __init__(self, kernel: Path) -> None:
        self.kernel = kernel
        self.headers = {path.stem: path for path in sorted(kernel.rglob("*.h"))}
        texts = {stem: path.read_text(encoding="utf-8") for stem, path in self.headers.items()}
        self.texts = texts
        every = [chunk for stem, text in texts.items() for chunk in chunks(stem, text)]
        self.every = every
        forward = re.compile(r"(?:typedef )?struct (\w+)(?: \1)?;$")
        self.made = {name.removesuffix("_new") for chunk in every if chunk.is_public
                     for name in chunk.names if name.endswith("_new")}  # fmt: skip
        self.home: dict[str, Chunk] = {}
        for chunk in every:
            if not forward.match(chunk.code.strip()) and not chunk.text.startswith(("#inc", "#if")):
                for name in chunk.names:
                    if name not in self.home or chunk.is_public:
                        self.home[name] = chunk
        self.kept: list[Chunk] = []
        for chunk in every:
            if chunk.is_public:
                self._keep(chunk)

    def _keep(self, chunk: Chunk) -> None:
        if any(chunk is other for other in self.kept):
            return
        self.kept.append(chunk)
        for name in self._needed(chunk):
            if (other := self.home.get(name)) and not other.is_function:
                self._keep(other)

    def _needed(self, chunk: Chunk) -> Iterator[str]:
        code = prototype(chunk.text) if chunk.is_public else chunk.text
        yield from re.findall(r"\bWP_[A-Z0-9_]+\b", chunk.comment + code)
        code = _COMMENT.sub("", code)
        yield from re.findall(r"\benum (wp_\w+)", code)
        for const, name, star in re.findall(r"(\bconst )?\b(wp_\w+)\b(\s*\*)?", code):
            if not star or ((chunk.is_public or const) and name not in self.made):
                yield name

    def public(self) -> dict[str, str]:
        """Return the text of each header by its stem."""
        stems = {chunk.stem for chunk in self.kept}
        order = {id(chunk): place for place, chunk in enumerate(self.every)}
        self.kept.sort(key=lambda chunk: order[id(chunk)])
        return {stem: self._header(stem) for stem in sorted(stems)}

    def _header(self, stem: str) -> str:
        own = [chunk for chunk in self.kept if chunk.stem == stem]
        whole = {chunk.tag for chunk in self.kept if chunk.tag}
        here = {name for chunk in own for name in chunk.names}
        others, opaque = {"api"}, set()
        for chunk in own:
            for name in self._needed(chunk):
                if name in self.home and name not in here:
                    other = self.home[name]
                    if any(other is kept for kept in self.kept) and other.stem != stem:
                        others.add(other.stem)
            code = _COMMENT.sub("", prototype(chunk.text) if chunk.is_public else chunk.text)
            pointed = set(re.findall(r"\b(wp_\w+)\s*\*", code)) - here
            opaque |= pointed - whole if chunk.is_public else pointed
        opaque = {name for name in opaque if name in self.home or self._is_struct(name)}
        opaque |= {chunk.tag for chunk in own if chunk.tag and chunk.text.startswith("struct")}
        opaque -= {
            name
            for name in opaque
            if (at := self.home.get(name)) and at.text.startswith("typedef wp")
        }
        guard = f"WAKEPROOF_{stem.upper()}_H"
        title = re.search(rf"\* ({stem}\.h - .*?)(?: \*/|\n \*\s*\n)", self.texts[stem], re.DOTALL)
        system = re.findall(r"^#include <.*>$", self.texts[stem], re.MULTILINE)
        system = sorted({"#include <stdbool.h>", "#include <stdint.h>", "#include <stddef.h>",
                         *(name for name in system if "stdatomic" not in name)})  # fmt: skip
        wholes = "".join(f"#include <wakeproof/{other}.h>\n" for other in sorted(others))
        opaques = "".join(f"typedef struct {name} {name};\n" for name in sorted(opaque))
        first = title[1] if title else f"{stem}.h"
        body = "".join(_shown(chunk) for chunk in own)
        body = body if opaques else body.lstrip("\n")
        return (
            f"{LICENSE} * {first} */\n#ifndef {guard}\n#define {guard}\n\n"
            + "\n".join(system) + "\n\n" + wholes
            + '\n#ifdef __cplusplus\nextern "C" {\n#endif\n\n' + opaques + body
            + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
        )  # fmt: skip

    def _is_struct(self, name: str) -> bool:
        return any(
            f"struct {name} " in text or f"struct {name};" in text for text in self.texts.values()
        )


def prototype(text: str) -> str:
    """Return a function's declaration without its body."""
    found = re.match(r"(.*?\))(\s*/\*[^{}]*\*/)?\n\{\n.*\n\}\s*$", text, re.DOTALL)
    return (found[1] + ";" + (found[2] or "") if found else text).replace(
        "WP_API_INLINE ", "WP_API "
    )


def _shown(chunk: Chunk) -> str:
    text = prototype(chunk.text) if chunk.is_public else chunk.text
    text = text.replace("_Alignas(", "WP_ALIGNAS(")
    above = "\n" if chunk.is_apart or chunk.comment else ""
    return above + (chunk.comment + "\n" if chunk.comment else "") + text + "\n"


def interface(kernel: Kernel) -> str:
    """Return the public declarations without comments, one in each line, sorted by header.

    A function that is inline in the kernel is listed like any other: the library exports it, too.
    """
    lines = []
    for stem in kernel.public():  # sorts them, too
        lines.append(f"\n{stem}.h\n")
        for chunk in kernel.kept:
            if chunk.stem == stem:
                text = prototype(chunk.text) if chunk.is_public else chunk.text
                code = " ".join(_COMMENT.sub("", text).split()).removeprefix("WP_API ")
                lines.append(f"  {code}\n")
    return "".join(lines).lstrip("\n")


def version(pyproject: Path) -> str:
    """Return version.h."""
    text = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["version"]
    numbers = dict(zip(("MAJOR", "MINOR", "PATCH"), text.split("."), strict=True))
    lines = "".join(f"#define WP_VERSION_{name} {number}\n" for name, number in numbers.items())
    return (
        f"{LICENSE} * version.h - the version of these headers. */\n#ifndef WAKEPROOF_VERSION_H\n"
        f'#define WAKEPROOF_VERSION_H\n\n{lines}#define WP_VERSION "{text}"\n\n#endif\n'
    )


def main(arguments: list[str]) -> int:
    """Write the headers."""
    if len(arguments) != 1:
        print("usage: public_headers.py FOLDER | --list", file=sys.stderr)
        return 2
    if arguments == ["--list"]:
        sys.stdout.write(interface(Kernel(KERNEL)))
        return 0
    folder = Path(arguments[0])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    headers = Kernel(KERNEL).public()
    headers["api"] = (KERNEL / "base" / "api.h").read_text(encoding="utf-8")
    headers["version"] = version(ROOT / "pyproject.toml")
    includes = "".join(f"#include <wakeproof/{stem}.h>\n" for stem in sorted(headers))
    headers["wakeproof"] = (
        f"{LICENSE} * wakeproof.h - all public headers. */\n#ifndef WAKEPROOF_WAKEPROOF_H\n"
        f"#define WAKEPROOF_WAKEPROOF_H\n\n{includes}\n#endif\n"
    )
    for stem, text in headers.items():
        (folder / f"{stem}.h").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
