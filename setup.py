# SPDX-License-Identifier: Apache-2.0
"""The parts of the build that pyproject.toml cannot describe: sources, stub, native part.

With Python.h the bindings are an extension that cffi makes from python/wakeproof/_native/build.py.
Without it (or with WAKEPROOF_ABI=1) the same kernel is compiled to libwakeproof.so, and cffi binds
this library at import, which needs no headers but makes calls slower.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
NATIVE = ROOT / "python" / "wakeproof" / "_native"
BASE = Path("build/setuptools") / f"{sys.implementation.cache_tag}{sys.abiflags}"
HAS_HEADERS = (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file()
USE_ABI = os.environ.get("WAKEPROOF_ABI") == "1" or not HAS_HEADERS
OF_PYTHON = [
    Extension(
        f"wakeproof._native.{name}",
        [f"python/wakeproof/_native/{part}.c" for part in parts],
        include_dirs=["kernel"],
        depends=[
            f"python/wakeproof/_native/{name}.h"
            for name in ("own", "core", "free", "spin", "aio_channel")
        ],
        # -g0: 448 functions. -gz: packed, which debuggers read all the same. initial-exec: the
        # variables of a thread are at fixed places, as in the kernel; else a call finds them.
        extra_compile_args=[
            "-std=c11",
            "-gz",
            "-g0" if name == "exchange" else "-g1",
            "-ftls-model=initial-exec",
        ],
        extra_link_args=["-gz"],
    )
    for name, *parts in (
        ("own", "own", "core", "future", "calls", "channels", "sockets"),
        ("locks", "locks"),
        ("exchange", "exchange"),
        ("aio", "aio", "aio_channel"),
    )
]
BUILT = ("kernel*.so", "own*.so", "locks*.so", "exchange*.so", "aio*.so", "libwakeproof.*")
LIBRARY_NAME = "wakeproof._native.libwakeproof"  # what setuptools takes for an extension


class BuildPy(build_py):
    """Makes the stub of the bindings, and packs the sources that the judges of a wheel need."""

    def run(self) -> None:
        typed = _module(ROOT / "tools" / "ffi_stub.py").stub(_builder().declarations())
        (NATIVE / "ffi.pyi").write_text(typed, encoding="utf-8")
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "wakeproof" / "_sources.zip"
        with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=9) as archive:
            for path in _judged():  # without times: the same sources make the same archive
                entry = ZipInfo(path.relative_to(ROOT).as_posix())
                archive.writestr(entry, path.read_bytes(), ZIP_DEFLATED)


def _judged() -> list[Path]:
    """Return the files that judges read, without what a run has left there."""
    files = [path for name in ("kernel", "specs", "stress") for path in (ROOT / name).rglob("*")]
    return sorted(
        path for path in files
        if path.is_file() and path.suffix not in (".o", ".so", ".pyc")
        and not any(part == "states" or part.startswith(".")
                    for part in path.relative_to(ROOT).parts)
    )  # fmt: skip


class BuildExt(build_ext):
    """Builds the cffi extension, or libwakeproof.so through build.py."""

    def build_extension(self, ext: Extension) -> None:
        if ".S" not in self.compiler.src_extensions:
            self.compiler.src_extensions.append(".S")  # the compiler knows, distutils does not
        if ext.name != LIBRARY_NAME:
            super().build_extension(ext)
            return
        builder = _builder()
        folder = Path(self.get_ext_fullpath(ext.name)).parent
        builder.build_library(folder)
        if not HAS_HEADERS:
            print(
                "wakeproof: no Python.h: the bindings use libwakeproof.so; "
                "install python3-dev (Debian: apt install python3-dev) for faster calls"
            )

    def copy_extensions_to_source(self) -> None:
        """In an editable install, remove the other mode's files, or an old kernel would load."""
        for path in [file for kind in BUILT for file in NATIVE.glob(kind)]:
            path.unlink()
        super().copy_extensions_to_source()
        if USE_ABI:  # setuptools itself copies the library only
            cdef = _builder().CDEF
            shutil.copyfile(Path(self.build_lib) / "wakeproof" / "_native" / cdef, NATIVE / cdef)

    def get_ext_filename(self, fullname: str) -> str:
        name = str(super().get_ext_filename(fullname))
        if fullname.endswith("libwakeproof"):
            return str(Path(name).with_name("libwakeproof.so"))
        return name


def _builder() -> Any:
    return _module(NATIVE / "build.py")


def _module(file: Path) -> Any:
    """Load a module as a file, because the package cannot be imported before it is built."""
    spec = importlib.util.spec_from_file_location(f"wakeproof_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def native_part() -> dict[str, Any]:
    """Return setup() arguments: the extension, or the plain library."""
    own = OF_PYTHON if HAS_HEADERS else []
    if USE_ABI:
        return {"ext_modules": [Extension(LIBRARY_NAME, []), *own]}
    return {"cffi_modules": ["python/wakeproof/_native/build.py:ffibuilder"], "ext_modules": own}


setup(
    cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
    options={"build": {"build_base": str(BASE)}},
    **native_part(),
)
