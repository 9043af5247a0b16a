# SPDX-License-Identifier: Apache-2.0
"""Makes the type stub of the cdef, which setup.py writes to python/wakeproof/_native/ffi.pyi.

A struct `wp_some_thing`, and a pointer to it, is the class CSomeThing. A constant has its value, so
that a type checker knows it. The names of placement policies, which users type, are the literal
PlacementPolicy. cffi accepts more than Python's types can express: a pointer to any object is a
`_Pointer`, an enum an int. Nothing is imported from wakeproof here, because this runs before the
package exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cffi import FFI

HEAD = """# SPDX-License-Identifier: Apache-2.0
# What the cdef offers, typed.  Made by tools/ffi_stub.py in each build: do not edit it.
from collections.abc import Callable
from typing import Any, Final, Literal, NewType, Self, TypeVar, overload

_T = TypeVar("_T")

class _Pointer: ...

Null = _Pointer
Text = NewType("Text", _Pointer)
CPath = NewType("CPath", _Pointer)
CPointer = NewType("CPointer", _Pointer)

class CBytes(_Pointer):
    def __enter__(self) -> CBytes: ...
    def __exit__(self, *error: object) -> None: ...

class CNumber(_Pointer):
    def __getitem__(self, index: int) -> int: ...
    def __setitem__(self, index: int, value: int) -> None: ...
"""
FFI_CLASS = """
class _FFI:
    errno: int
    NULL: Final[_Pointer]
    def gc(self, cdata: _T, destructor: Callable[[_T], None], size: int = 0) -> _T: ...
{new}
    @overload
    def cast(self, cdecl: Literal["void *"], value: int) -> CPointer: ...
    @overload
    def cast(self, cdecl: Literal["wp_vthread *"], value: int) -> CVThread: ...
    @overload
    def cast(self, cdecl: Literal["wp_group *"], value: CGroup) -> CGroup: ...
    @overload
    def cast(self, cdecl: Literal["int(*)(uint64_t)"], value: int) -> CPointer: ...
    @overload
    def cast(self, cdecl: Literal["uintptr_t"], value: _Pointer) -> int: ...
    def addressof(self, library: _Lib, name: str) -> CPointer: ...
    def callback(
        self,
        cdecl: str,
        python_callable: Callable[..., object],
        error: int = 0,
        onerror: Callable[[Any, Any, Any], object] | None = None,
    ) -> _Pointer: ...
    def from_buffer(self, python_buffer: bytes | memoryview) -> CBytes: ...
    def string(self, cdata: Text | CPath) -> bytes: ...
"""
_FUNCTION = re.compile(r"^(?!typedef)([a-z][\w \n]*?[ *\n])(wp_\w+)\(([^;{}]*)\);", re.MULTILINE)
_NUMBERS = ("int", "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t", "uint16_t", "uint8_t",
            "unsigned", "long long")  # fmt: skip


def class_of(name: str) -> str:
    """Return the class of a struct."""
    words = re.sub(r"^wp_+", "", name).split("_")
    return "C" + "".join(word.capitalize() for word in words).replace("Vthread", "VThread")


def typed(declared: str, is_result: bool = False) -> str:
    """Return Python's type of a C type without its name."""
    plain = re.sub(r"\b(const|struct)\b", "", declared).strip()
    plain = re.sub(r"\s*\*", " *", re.sub(r"\s+", " ", plain))
    if "(" in plain:
        return "_Pointer"
    base, stars = plain.rstrip(" *"), plain.count("*")
    if stars == 0:
        if base == "void":
            return "None"
        if base == "bool":
            return "bool" if is_result else "int"
        return "int" if base in _NUMBERS or base.startswith("enum ") else class_of(base)
    if base == "char":
        return "Text" if is_result else "bytes | _Pointer"
    if base == "void":
        one = "CPointer" if is_result or stars == 2 else "_Pointer"
    else:
        one = "CNumber" if base in _NUMBERS else class_of(base)
    return f"list[{one}]" if stars == 2 else one


def functions(cdef: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the line of each function."""
    for result, name, arguments in _FUNCTION.findall(cdef):
        shown = ["self"]
        for number, argument in enumerate(_split(arguments)):
            if argument == "void":
                continue
            pointer = re.fullmatch(r".*\(\*(\w+)\)\(.*\)", argument, re.DOTALL)
            named = re.fullmatch(r"(.*?)(\w+)", argument, re.DOTALL)
            if pointer:
                what, called = "(", pointer[1]
            else:
                assert named is not None, argument
                what, called = named[1], named[2]
            if not what.strip():
                what, called = called, f"a{number}"
            shown.append(f"{called}: {typed(what)}")
        yield name, f"    def {name}({', '.join(shown)}) -> {typed(result, True)}: ..."


def _split(arguments: str) -> Iterator[str]:
    depth, one = 0, ""
    for character in arguments:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield one.strip()
            one = ""
        else:
            one += character
    yield one.strip()


def constants(ffi: FFI, cdef: str) -> dict[str, int]:
    """Return the constants with their values."""
    found = {name: int(value, 0) for name, value in
             re.findall(r"^#define (\w+) \(?(-?\w+)\)?\s*$", cdef, re.MULTILINE)}  # fmt: skip
    library = ffi.dlopen(None)
    names = [name for body in re.findall(r"enum(?: \w+)? \{([^}]*)\}", cdef)
             for name in re.findall(r"(?:^|,)\s*(\w+)", body)]  # fmt: skip
    return found | {name: int(getattr(library, name)) for name in names}


def placement_policies(cdef: str) -> str:
    """Return the type of the policies' names; the last constant of the enum is their number."""
    (body,) = re.findall(r"enum wp_placement_policy \{([^}]*)\}", cdef)
    *names, _ = re.findall(r"\bWP_PLACE_(\w+)", body)
    return f"PlacementPolicy = Literal[{', '.join(repr(name.lower()) for name in names)}]\n"


def stub(cdef: str) -> str:
    """Return the text of the stub."""
    ffi = FFI()
    ffi.cdef(cdef)
    defined = re.findall(r"^(?:typedef )?struct (\w+)\s*\{", cdef, re.MULTILINE)
    named = re.findall(r"^typedef struct (\w+) \w+;", cdef, re.MULTILINE)
    classes = []
    for name in defined:
        rows = [
            f"    {field}: {_of_field(kind.type.cname)}"
            for field, kind in ffi.typeof(f"struct {name}").fields
        ]
        rows.append("    def __getitem__(self, index: int) -> Self: ...")
        classes.append(f"class {class_of(name)}(_Pointer):\n" + "\n".join(rows) + "\n")
    opaque = [f'{class_of(name)} = NewType("{class_of(name)}", _Pointer)\n'
              for name in dict.fromkeys(named) if name not in defined]  # fmt: skip
    kinds = {
        "char[]": ("CPath", "int | bytes"),
        "int *": ("CNumber", "int"),
        "void **": ("list[CPointer]", ""),
    }
    kinds |= {f"{base}{how}": ("CNumber", "list[int]" if how == "[]" else "int")
              for base in ("uint32_t", "uint64_t") for how in ("[]", " *")}  # fmt: skip
    kinds |= {f"{name} **": (f"list[{class_of(name)}]", "") for name in dict.fromkeys(named)}
    kinds |= {f"{name} *": (class_of(name), "") for name in defined}
    kinds |= {f"{name}[]": (class_of(name), "int") for name in defined}
    new = "\n".join(
        f'    @overload\n    def new(self, cdecl: Literal["{kind}"]'
        + (f", init: {init}{' = 0' if kind.endswith('*') else ''}" if init else "")
        + f") -> {result}: ..."
        for kind, (result, init) in kinds.items()
    )
    numbers = [f"    {name}: Final = {value}" for name, value in constants(ffi, cdef).items()]
    lines = [line for _, line in functions(cdef)]
    return "\n".join([
        HEAD, placement_policies(cdef), *opaque, *classes, FFI_CLASS.format(new=new),
        "class _Lib:", *numbers, *lines, "",
        "ffi: Final[_FFI]", "lib: Final[_Lib]", 'MODE: Final[Literal["api", "abi"]]', "",
    ])  # fmt: skip


def _of_field(kind: str) -> str:
    if kind == "_Bool":
        return "bool"
    if re.fullmatch(r"(const )?char ?(\*|\[\d+\])", kind):
        return "Text | CPath"
    if re.fullmatch(r"(const )?uint(32|64)_t \*", kind.replace("unsigned int", "uint32_t")):
        return "_Pointer"
    if kind.endswith("*"):
        return "CPointer" if kind == "void *" else typed(kind, True)
    return "_Pointer" if "(" in kind else "int"
