# SPDX-License-Identifier: Apache-2.0
"""Runs one module of CPython's own tests, in a thread of some kind or with an event loop of ours.

  python child.py test.test_queue --bodies virtual --threads os --record FILE

It starts in a folder of its own, and appends a line of JSON to FILE when a test begins and when it
has ended.  A test that takes too long ends the process; `run.py` starts another for the rest.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import sys
import threading
import time
import traceback
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HUNG = 70  # the exit code
BLOCKED_S = 0.3  # a carrier that stands still for longer has not waited for its turn only
LOCAL = ("test.test_socketserver", "test.test_urllib2_localnet")  # their network is this machine


class Record(unittest.TestResult):
    """The outcome of each test, one line each."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._lines = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - until the exit
        self._owner = os.getpid()
        self._said: dict[str, str] = {}
        self._last: dict[str, Any] = {}
        self.pulse: Pulse | None = None

    def write(self, **fields: object) -> None:
        """Write one line; a test's forked child writes none."""
        if os.getpid() == self._owner:
            self._lines.write(json.dumps(fields) + "\n")
            self._lines.flush()

    def startTest(self, test: Any) -> None:
        """Note which test runs, for a process that ends in it."""
        super().startTest(test)
        self._said = {}
        self.write(begins=name_of(test))

    def stopTest(self, test: Any) -> None:
        """Note the outcome."""
        super().stopTest(test)
        said = self._said
        worst = next((kind for kind in ("failed", "skipped", "passed") if kind in said), "passed")
        self._last = {"test": name_of(test), "outcome": worst, "why": said.get(worst, "")}

    def finish(self) -> None:
        """Write the outcome of the last test, now that its thread has ended."""
        last, self._last = self._last, {}
        if self.pulse and last and self.pulse.worst_s > BLOCKED_S:
            last["blocked_s"] = round(self.pulse.worst_s, 3)
        if last:
            self.write(**last)

    def addSuccess(self, test: Any) -> None:
        self._said.setdefault("passed", "")

    def addSkip(self, test: Any, reason: str) -> None:
        if isinstance(test, unittest.TestCase):
            self._said.setdefault("skipped", reason)
        else:  # a whole class or module
            self.write(test=name_of(test), outcome="skipped", why=reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._said.setdefault("passed", "")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._said["failed"] = "it was expected to fail"

    def _failed(self, test: Any, err: Any) -> None:
        text = "".join(traceback.format_exception(*err))
        if isinstance(test, unittest.TestCase) or hasattr(test, "test_case"):
            self._said.setdefault("failed", text)
        else:  # of a class's or module's setup
            self.write(test=name_of(test), outcome="failed", why=text)

    addError = addFailure = _failed  # noqa: N815

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._failed(subtest, err)


def name_of(test: Any) -> str:
    """Return ``Class.test_name``, or the text of something else that failed."""
    if isinstance(test, unittest.TestCase):
        return ".".join(test.id().split(".")[-2:])
    return str(test)


def patient(wait: Callable[[], Any]) -> Any:
    """Wait in the main thread; an interrupt is a test's own, which would have run there."""
    while True:
        try:
            return wait()
        except KeyboardInterrupt:
            continue


def in_thread(body: Callable[[], Any]) -> Any:
    """Run `body` in an OS thread of its own, and return or raise as it does."""
    came: list[Any] = []

    def run() -> None:
        try:
            came.append((body(), None))
        except BaseException as error:  # noqa: BLE001, RUF100 - handed on
            came.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    patient(thread.join)
    value, error = came[0]
    if error is not None:
        raise error
    return value


class Pulse:
    """A virtual thread that notes for how long its carrier ran nothing, not even a computation.

    `worst_s` is the longest time since `begin` that the pulse came late, less the time in which the
    carrier ran or waited for a processor: something waited without parking.
    """

    def __init__(self, group: Any) -> None:
        import wakeproof

        self._sleep = wakeproof.sleep
        self.worst_s, self._beat_s = 0.0, 0.02
        began = threading.Event()
        wakeproof.VirtualThread(self._run, began, name="pulse", group=group).start()
        began.wait()

    def _run(self, began: threading.Event) -> None:
        self._file = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._at = self._now()
        began.set()
        while True:
            self._sleep(self._beat_s)
            self.note()

    def _now(self) -> tuple[float, float]:
        ran_ns, queued_ns, _ = self._file.read_text(encoding="ascii").split()
        return time.monotonic(), (int(ran_ns) + int(queued_ns)) / 1e9

    def begin(self) -> None:
        """Forget what was before."""
        self.worst_s, self._at = 0.0, self._now()

    def note(self) -> None:
        """Measure since the last call."""
        wall, busy = self._now()
        self.worst_s = max(self.worst_s, wall - self._at[0] - (busy - self._at[1]) - self._beat_s)
        self._at = wall, busy


def virtual(
    threads: str, limit_s: float, is_installed: bool
) -> tuple[Callable[[Callable[[], Any]], Any], Pulse]:
    """Return what runs a body in a virtual thread of one carrier, and that carrier's pulse."""
    import wakeproof

    if is_installed:
        wakeproof.install(**({"threads": "virtual"} if threads == "virtual" else {}))
    group = wakeproof.CarrierGroup(1)
    pulse = Pulse(group)

    def run(body: Callable[[], Any]) -> Any:
        pulse.begin()
        thread = wakeproof.VirtualThread(body, name="body", group=group).start()
        try:
            return patient(lambda: thread.result(limit_s))
        except wakeproof.DeadlineError:
            print(f"hung: more than {limit_s} s", file=sys.stderr)
            wakeproof.dump(file=sys.stderr)
            faulthandler.dump_traceback(all_threads=True)
            os._exit(HUNG)
        finally:
            pulse.note()

    return run, pulse


def each(suite: Any) -> Iterator[Any]:
    """Yield all tests of a suite."""
    for test in suite:
        yield from each(test) if isinstance(test, unittest.TestSuite) else (test,)


def main() -> None:
    """Run the tests of one module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("--bodies", choices=("main", "os", "virtual"), required=True)
    parser.add_argument("--threads", choices=("os", "virtual"), default="os")
    parser.add_argument("--record", required=True)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one test")
    parser.add_argument("--only", help="a file with the names of the tests to run")
    parser.add_argument("--plain", action="store_true", help="without wakeproof.install: a defect")
    parser.add_argument("--list", action="store_true", help="write the names only")
    options = parser.parse_args()
    sys.path = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).parent]

    from test import support

    support.use_resources = ["network"] if options.module in LOCAL else []
    suite = unittest.defaultTestLoader.loadTestsFromName(options.module)
    record = Record(options.record)
    if options.list:
        for test in each(suite):
            record.write(name=name_of(test))
        return
    if options.only:
        names = set(Path(options.only).read_text(encoding="utf-8").split("\n"))
        suite = unittest.TestSuite(
            [test for test in each(suite) if name_of(test) in names]
        )  # a flat suite runs the fixtures of classes and modules as well
    wrap: Any = {"main": lambda body: body(), "os": in_thread}.get(options.bodies)
    if wrap is None:
        wrap, record.pulse = virtual(options.threads, options.limit, not options.plain)
    theirs = unittest.TestCase.run
    main_thread = threading.get_ident()

    def run(self: Any, result: Any = None) -> Any:
        if threading.get_ident() != main_thread:
            return theirs(self, result)  # a test that runs a test
        faulthandler.dump_traceback_later(options.limit + 5, exit=True)
        try:
            return wrap(lambda: theirs(self, result))
        finally:
            record.finish()
            faulthandler.dump_traceback_later(options.limit + 5, exit=True)  # for what comes after

    unittest.TestCase.run = run  # type: ignore[method-assign]
    suite.run(record)
    faulthandler.cancel_dump_traceback_later()
    record.write(ended=True)
    sys.stderr.flush()
    os._exit(0)  # a thread that a failed test left behind must not hold it


if __name__ == "__main__":
    main()
