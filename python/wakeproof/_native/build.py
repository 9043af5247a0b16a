# SPDX-License-Identifier: Apache-2.0
"""Build the bindings: one cdef, cut from the headers, bound in one of two ways.

API mode: `ffibuilder` makes the extension ``wakeproof._native.kernel``, which needs Python.h;
setup.py runs it.
ABI mode: `build_library` makes ``libwakeproof.so`` and, beside it, the cdef that binds it.
Both compile the same kernel.  In ABI mode one more file gives header-only functions real symbols.
Nothing is imported from wakeproof here, because this runs before the package exists.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from cffi import FFI

PACKAGE = Path(__file__).resolve().parent
KERNEL = PACKAGE.parents[2] / "kernel"
# Separate extension modules; the last is generated.
_OF_PYTHON = (
    "own.c", "core.c", "future.c", "calls.c", "channels.c", "sockets.c",
    "locks.c", "exchange.c", "aio.c", "aio_channel.c",
    "kernel.c",
)  # fmt: skip
SOURCES = (
    *(path for path in sorted(PACKAGE.glob("*.c")) if path.name not in _OF_PYTHON),
    *sorted(KERNEL.rglob("*.c")),
    *sorted(KERNEL.rglob("*.S")),  # each is empty on all machines but its own
)
# No frame skips the guard page of a virtual thread's stack: each page is touched, in order.
PROBED = "-fstack-clash-protection"
# `wakeproof watch` and tools/gdb.py read the layout of our objects, which -g writes; $CFLAGS takes
# the place of what Python was built with, and so of its -g.
FLAGS = ("-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Werror=implicit-function-declaration",
         "-pthread", PROBED)  # fmt: skip
LIBRARY = "libwakeproof.so"
CDEF = "libwakeproof.cdef"  # beside the library: the declarations of what it exports
# Empty, the macro turns each `static inline` of the headers into a function with a symbol.
INCLUDES = "".join(f'#include "{name}"\n' for name in ("binding.h", "pools.h", "watch.h"))
INLINES = f"#define WP_INLINE\n{INCLUDES}"

URING_COMPILED, URING_LINKED = ("-DWP_URING",), ("-luring",)
_URING = """
#include <liburing.h>
int main(void)
{
    struct io_uring_sqe entry;
    io_uring_prep_cancel64(&entry, 0, IORING_ASYNC_CANCEL_ANY);
    return io_uring_queue_init(1, 0, IORING_SETUP_COOP_TASKRUN);
}
"""

_REGION = re.compile(r"/\* cdef: begin \*/(.*?)/\* cdef: end \*/", re.DOTALL)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_BODY = re.compile(r"\)\n\{\n.*?\n\}", re.DOTALL)


def cut(text: str) -> str:
    """Return the declarations between the cdef marks of a header's `text`.

    Comments are dropped, and an inline function's body becomes a semicolon.

    Raises:
        ValueError: there are no marks, or a mark has no partner.
    """
    regions: list[str] = _REGION.findall(text)
    if not regions or text.count("cdef: begin") != len(regions):
        raise ValueError("marks cdef: begin and cdef: end must come in pairs, at least one")
    plain = _COMMENT.sub("", "".join(regions))
    plain = re.sub(r"\b(?:WP_API_INLINE|WP_API|WP_INLINE) ", "", plain)
    return re.sub(r"\n\s*\n+", "\n", _BODY.sub(");", plain)).strip() + "\n"


def headers() -> list[Path]:
    """Return the headers with cdef marks: Python's own, which name the types, then the kernel's.

    Each header of the kernel comes after those that its `#include` lines name.
    """
    own = sorted(PACKAGE.glob("*.h"))
    found: dict[Path, None] = {}

    def add(path: Path) -> None:
        for name in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            for folder in (PACKAGE, KERNEL):
                if (folder / name).is_file():
                    add(folder / name)
        found[path] = None

    for path in own:
        add(path)
    ordered = sorted(found, key=lambda path: path not in own)
    return [path for path in ordered if "cdef: begin" in path.read_text(encoding="utf-8")]


def declarations() -> str:
    """Return the whole cdef."""
    return "".join(cut(path.read_text(encoding="utf-8")) for path in headers())


def has_uring(*compiler: str) -> bool:
    """Return whether that compiler can compile and link with liburing, which files need."""
    return "WAKEPROOF_NO_URING" not in os.environ and _links_uring(*compiler)


@functools.cache
def _links_uring(*compiler: str) -> bool:
    command = [*compiler, "-x", "c", "-", *URING_LINKED, "-o", os.devnull]
    try:
        made = subprocess.run(command, input=_URING, text=True, capture_output=True, check=False)
    except OSError:  # no such compiler: the compilation itself reports it
        return False
    return made.returncode == 0


def compiler() -> list[str]:
    """Return $CC (default cc) as a command."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def build_library(out_dir: Path) -> Path:
    """Compile ``libwakeproof.so`` for ABI mode with $CC (default cc) and $CFLAGS; return its path.

    Both files appear under their names only when complete; the cdef first, then the library.

    Raises:
        OSError: there is no such compiler.
        subprocess.CalledProcessError: the compiler failed; its messages are on stderr.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    flags = [*FLAGS, "-fPIC", "-shared", *shlex.split(os.environ.get("CFLAGS", ""))]
    linked: tuple[str, ...] = ()
    if has_uring(*compiler()):
        flags, linked = [*flags, *URING_COMPILED], URING_LINKED
    with tempfile.TemporaryDirectory(dir=out_dir, prefix=".wakeproof-") as folder:
        inlines, library, cdef = (Path(folder) / n for n in ("inlines.c", LIBRARY, CDEF))
        inlines.write_text(INLINES, encoding="utf-8")
        cdef.write_text(declarations(), encoding="utf-8")
        include = [f"-I{KERNEL}", f"-I{PACKAGE}"]
        files = [str(path) for path in (inlines, *SOURCES)]
        command = [*compiler(), *flags, *include, *files, *linked, "-o", str(library)]
        subprocess.run(command, check=True)
        cdef.replace(out_dir / CDEF)
        return library.replace(out_dir / LIBRARY)


def _builder() -> FFI:
    """Describe the extension; paths are relative to the working folder, for setuptools."""
    ffi, uring = FFI(), has_uring(*compiler())
    ffi.cdef(declarations())
    ffi.set_source(
        "wakeproof._native.kernel",
        INCLUDES,
        sources=[os.path.relpath(path) for path in SOURCES],
        include_dirs=[os.path.relpath(path) for path in (KERNEL, PACKAGE)],
        extra_compile_args=[*FLAGS, *(URING_COMPILED if uring else ())],
        extra_link_args=list(URING_LINKED) if uring else [],
    )
    return ffi


if __name__ == "__main__":  # python build.py FOLDER: ABI mode, without setuptools
    sys.stdout.write(f"{build_library(Path(sys.argv[1]))}\n")
elif __name__ == "__cffi__":  # the name under which cffi's setuptools hook runs this file
    ffibuilder = _builder()
