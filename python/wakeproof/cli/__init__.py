# SPDX-License-Identifier: Apache-2.0
"""The command `wakeproof`: each subcommand is a module, each error is one line.

The command of a judge is in the judge's folder, ``judge/NAME/command.py``.  The other commands are
in this folder.

Exit codes: 0 all claims hold, 1 a claim is violated, 2 wrong usage, 3 the environment lacks
something, 130 Ctrl-C.  This module needs nothing but Python, so that `run`, `doctor` and
`trace` run without an extra.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from wakeproof import errors

if TYPE_CHECKING:
    from wakeproof.cli.program import Program

HELP = "Decide whether wakeups can be missed: in the specs, in the code, on this machine."
EPILOG = "Exit codes: 0 holds, 1 violated, 2 usage, 3 the environment lacks something."
OF_JUDGES = {
    file.parent.name: file for file in sorted(Path(__file__).parents[1].glob("judge/*/command.py"))
}
COMMANDS = {
    **dict.fromkeys(OF_JUDGES, "judge"),
    **dict.fromkeys(("cc", "c++"), "judge"),
    **dict.fromkeys(("run", "trace"), ""),
    **dict.fromkeys(("bench", "bench-http"), "bench"),
    "doctor": "",
}
"""Each command in the order of the help, with the extra that it needs ("": none)."""

WAKES = signal.SIGURG
"""The signal that interrupts a sleep.  It means nothing else."""


def main() -> None:
    """Run the command line; every expected error becomes one line on stderr and an exit code."""
    try:
        if sys.argv[1:2] != ["run"]:  # whose program has descriptors and signals to itself
            _open_streams()
            signal.signal(signal.SIGTERM, _terminate)
            _forget_ourselves()
            _wake_for_signals()
        code = _run(sys.argv[1:] or ["--help"])
        if not isinstance(code, int):
            code.install()
        if code == errors.EXIT_INTERRUPTED:
            _say("interrupted")
    except KeyboardInterrupt:
        code = errors.EXIT_INTERRUPTED
        _say("interrupted")
    except errors.WakeproofError as error:
        code = error.exit_code
        _say(str(error))
    except BrokenPipeError:  # `wakeproof explore | head`: the reader has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = errors.EXIT_VIOLATED
    except OSError as error:  # a full disk, or a folder without permission to write
        code = errors.EXIT_ENVIRONMENT
        _say(": ".join(filter(None, (error.filename, error.strerror or str(error)))))
    except MemoryError:
        code = errors.EXIT_ENVIRONMENT
        _say("no memory is left")
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        code = errors.EXIT_ENVIRONMENT
        _say("the system starts no more threads: see ulimit -u, and the limits of the container")
    if not isinstance(code, int):
        code.run()
        return
    raise SystemExit(code)


def place(command: str) -> tuple[str, str, Path]:
    """Return the function of a command, its module and its file."""
    function = command.replace("-", "_")
    if command == "c++":
        return "cxx", *place("cc")[1:]
    if command in OF_JUDGES:
        return function, f"wakeproof.judge.{command}.command", OF_JUDGES[command]
    return function, f"wakeproof.cli.{function}", Path(__file__).with_name(f"{function}.py")


def _open_streams() -> None:
    """Open stdin, stdout and stderr where they are closed, so that no other file gets their place.

    What a compiler prints would be written into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115,PTH123


def _forget_ourselves() -> None:
    """Take no compiler from the environment that is `wakeproof cc`, which would call itself.

    ``make CC="wakeproof cc"`` puts it there for each command that make runs.
    """
    for name in ("CC", "CXX"):
        words = os.environ.get(name, "").split()
        if any(Path(word).name in ("wakeproof", "wakeproof.exe") for word in words):
            del os.environ[name]


def _say(message: str) -> None:
    print(f"wakeproof: {message}", file=sys.stderr)


def has_judge() -> bool:
    """Return whether the extra `judge` is installed; commands report parts that are missing."""
    return all(find_spec(name) for name in ("typer", "rich"))


def _run(arguments: list[str]) -> int | Program:
    """Run the whole command line, or the commands that need no extra; return what is left to do."""
    if has_judge():
        from wakeproof.cli import app, sandbox

        if sandbox.asked(arguments):
            return sandbox.run(arguments)
        return app.run(arguments)
    from wakeproof.cli import no_extra

    return no_extra.run(arguments)


def _wake_for_signals() -> None:
    """Let Ctrl-C end a sleep of the main thread that is just about to begin.

    CPython runs signal handlers between two instructions. If a signal comes after CPython's last
    check and before the system call, the main thread sleeps and the handler does not run. So a
    second thread interrupts the main thread's sleep after each signal.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.signal(WAKES, lambda _signal, _frame: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    threading.Thread(target=_wake_main, args=(read,), daemon=True).start()


def _wake_main(read: int) -> None:
    main_thread = threading.main_thread().ident
    while came := os.read(read, 64):  # the numbers of the signals that came
        if any(number != WAKES for number in came) and main_thread is not None:
            time.sleep(0.1)
            signal.pthread_kill(main_thread, WAKES)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    """End as after Ctrl-C, so that `kill` and a time-out in CI leave no child process behind."""
    raise KeyboardInterrupt
