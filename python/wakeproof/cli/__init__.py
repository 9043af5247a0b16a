# SPDX-License-Identifier: Apache-2.0
"""The command `wakeproof`: one module per subcommand, one line per error.

Exit codes: 0 all claims hold, 1 a claim is violated, 2 usage, 3 the environment lacks something,
130 Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType

import typer
from typer.exceptions import TyperException

from wakeproof import errors
from wakeproof.cli.audit import audit
from wakeproof.cli.bench import bench
from wakeproof.cli.bench_http import bench_http
from wakeproof.cli.check import check
from wakeproof.cli.conform import conform
from wakeproof.cli.doctor import doctor
from wakeproof.cli.explore import explore
from wakeproof.cli.linear import linear
from wakeproof.cli.orders import orders
from wakeproof.cli.replay import replay
from wakeproof.cli.stress import stress
from wakeproof.cli.trace import trace

app = typer.Typer(
    name="wakeproof",
    help="Decide whether wakeups can be missed: in the specs, in the code, on this machine.",
    epilog="Exit codes: 0 holds, 1 violated, 2 usage, 3 the environment lacks something.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = (
    check, explore, conform, linear, orders, stress, audit, replay, trace, bench, bench_http,
    doctor,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)

WAKES = signal.SIGURG
"""Interrupts a sleep, and means nothing else."""


def main() -> None:
    """Run the command line; every expected error becomes one line on stderr and an exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    _wake_for_signals()
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False) or errors.EXIT_HOLDS
        if code == errors.EXIT_INTERRUPTED:
            _say("interrupted")
    except errors.WakeproofError as error:
        code = error.exit_code
        _say(str(error))
    except TyperException as error:  # an unknown command or option, a value of the wrong kind
        code = errors.EXIT_USAGE
        _say(_one_line(error.format_message()))
    except BrokenPipeError:  # `wakeproof explore | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = errors.EXIT_VIOLATED
    except OSError as error:  # a full disk, a folder that may not be written
        code = errors.EXIT_ENVIRONMENT
        _say(": ".join(filter(None, (error.filename, error.strerror or str(error)))))
    raise SystemExit(code)


def _say(message: str) -> None:
    print(f"wakeproof: {message}", file=sys.stderr)


def _one_line(message: str) -> str:
    line = " ".join(message.split())
    if line.startswith("No such command"):
        line += f" Commands: {', '.join(sorted(c.__name__.replace('_', '-') for c in COMMANDS))}."
    return line


def _wake_for_signals() -> None:
    """Have Ctrl-C end a sleep of the main thread that had all but begun when it came.

    CPython runs handlers between two instructions. A signal after its last look and before the
    system call leaves it asleep beside the handler, so a thread of ours wakes it once more.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.signal(WAKES, lambda _signal, _frame: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    threading.Thread(target=_wake_main, args=(read,), daemon=True).start()


def _wake_main(read: int) -> None:
    main_thread = threading.main_thread().ident
    while came := os.read(read, 64):  # the numbers of signals
        if any(number != WAKES for number in came) and main_thread is not None:
            time.sleep(0.1)
            signal.pthread_kill(main_thread, WAKES)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    """End like Ctrl-C, so that `kill` and a time-out in CI leave no child behind either."""
    raise KeyboardInterrupt
