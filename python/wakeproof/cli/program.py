# SPDX-License-Identifier: Apache-2.0
"""A program that `wakeproof run` runs as ``python`` would, with `wakeproof.install` in effect."""

from __future__ import annotations

import os
import runpy
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, ClassVar, Final

from wakeproof.errors import UsageError

_RUN_MAIN: Final = vars(runpy)["_run_module_as_main"]  # all of what `python -m` does


@dataclass(frozen=True)
class Program:
    """A script, a folder or archive with ``__main__.py``, or a module, and its arguments.

    Attributes:
        name: the path, or the module's name.
        arguments: what follows in ``sys.argv``.
        is_module: whether `name` is a module's.
        threads: as of `wakeproof.install`.
    """

    WHAT: ClassVar[str] = "Run this script, or folder with __main__.py, with its arguments."
    THREADS: ClassVar[str] = "What threading.Thread starts: os or virtual. Default: os."

    name: str
    arguments: list[str]
    is_module: bool
    threads: Any

    @classmethod
    def of(cls, words: list[str], threads: str, *, is_module: bool) -> Program:
        """Return the program of a command line.

        Raises:
            UsageError: no program is named, or there is no such file.
        """
        if not words:
            raise UsageError("run: no program is named; as in: wakeproof run app.py [ARGUMENTS]")
        if not is_module and not Path(words[0]).exists():
            raise UsageError(f"run: there is no file {words[0]}; for a module: wakeproof run -m")
        return cls(words[0], words[1:], is_module, threads)

    def install(self) -> None:
        """Call `wakeproof.install`.

        Raises:
            UsageError: `threads` is neither "os" nor "virtual".
        """
        from wakeproof.standard import install

        install(threads=self.threads)

    def run(self) -> None:
        """Run it as ``__main__``; a traceback of what it raises is shown without our frames."""
        path = Path(self.name)
        main = sys.modules["__main__"] = ModuleType("__main__")
        sys.argv[:] = [self.name, *self.arguments]
        if not sys.flags.safe_path:
            sys.path[0] = str(self._folder())
        try:
            if self.is_module:
                _RUN_MAIN(self.name)
            elif is_archive(path):
                _RUN_MAIN("__main__", alter_argv=False)
            else:
                file = os.path.join(Path.cwd(), self.name)  # noqa: PTH118 - keeps ./ as python does
                main.__dict__.update(__file__=file, __builtins__=__builtins__, __cached__=None)
                main.__loader__ = SourceFileLoader("__main__", file)
                exec(_compiled(path, file), main.__dict__)  # noqa: S102 - as python does
        except BaseException:
            sys.excepthook = _Hook(sys.excepthook)
            raise

    def _folder(self) -> Path:
        """Return the first place from which it imports."""
        if self.is_module:
            return Path.cwd()
        path = Path(self.name)
        return path.absolute() if is_archive(path) else path.resolve().parent


def is_archive(path: Path) -> bool:
    """Return whether Python imports ``__main__`` from this path: a folder, or a zip archive."""
    from zipfile import is_zipfile

    return path.is_dir() or is_zipfile(path)


def _compiled(path: Path, name: str) -> CodeType:
    code = compile(path.read_bytes(), name, "exec", dont_inherit=True)
    assert isinstance(code, CodeType)
    return code


class _Hook:
    """Show an exception by the hook that was there, without the frames of this command."""

    def __init__(self, shown_by: Any) -> None:
        self._shown_by = shown_by

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        last, at = trace, trace
        while at is not None:
            if at.tb_frame.f_code is Program.run.__code__:
                last = at.tb_next
            at = at.tb_next
        self._shown_by(kind, error.with_traceback(last), last)
