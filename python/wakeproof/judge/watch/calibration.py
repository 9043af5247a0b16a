# SPDX-License-Identifier: Apache-2.0
"""What the stack of a thread looks like while it sleeps in a call of the C library.

The C library has no names for its inner functions, so they are learnt: a small program sleeps in
each call, and its stacks are read.  A call is known by the instruction that entered the kernel, and
by the return address into the public function, which lies at a fixed distance above.  What was
learnt is kept by the build id of the library.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wakeproof import locations
from wakeproof.errors import JudgeError, MissingToolError, WakeproofError
from wakeproof.judge import schema
from wakeproof.judge.builds import compiler
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import digest
from wakeproof.judge.watch.process import GoneError, Process, Sleep
from wakeproof.judge.watch.symbols import Place, Symbols

SOURCE: Final = Path(__file__).with_name("calibrate.c")
FUTEX: Final = 202
RESTARTED: Final = 219
_PATIENCE_S: Final = 5.0
_COMPILE_S: Final = 60.0


@dataclass(frozen=True)
class Call:
    """One blocking call: how its sleep is known."""

    name: str  # "cond.timed"
    pc: int
    distance: int  # from the stack pointer to the return address; -1: there is none
    behind: int  # that return address
    caller: int  # the distance to the return address into what has called it

    @property
    def kind(self) -> str:
        """Return the primitive: ``cond``."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Calibration:
    """What is known of one build of the C library; without calls: nothing, and why."""

    build_id: str = ""
    version: str = ""
    calls: tuple[Call, ...] = ()
    missing: str = ""

    def find(self, symbols: Symbols, sleep: Sleep) -> tuple[Call, Place | None] | None:
        """Return the call in which a thread sleeps, and what has called it."""
        place = symbols.place(sleep.pc)
        if place is None or not self.build_id or place.build_id != self.build_id:
            return None
        above = dict(symbols.returns(sleep.sp))
        for call in self.calls:
            at = above.get(call.distance)
            if call.pc == place.offset and (
                call.distance < 0
                or (at is not None and at.offset == call.behind and at.build_id == self.build_id)
            ):
                return call, above.get(call.caller)
        return None

    @property
    def has_conditions(self) -> bool:
        """Return whether the word of a condition variable has the meaning that is known here.

        glibc 2.41 has given it another one.
        """
        try:
            return (2, 25) <= tuple(int(word) for word in self.version.split(".")[:2]) <= (2, 40)
        except ValueError:
            return False


def calibrate() -> Calibration:
    """Return what is known of this machine's C library; it is learnt once."""
    try:
        command = compiler()
    except MissingToolError as error:
        return Calibration(missing=str(error))
    folder = locations.cache() / "watch"
    folder.mkdir(exist_ok=True)
    name = digest(SOURCE.read_text(encoding="utf-8"), *command, *_libraries())
    kept = folder / f"calibration-{name}.json"
    try:
        return schema.from_json(Calibration, kept.read_bytes())
    except (FileNotFoundError, schema.SchemaError):
        pass
    try:
        found = _learn(command, folder / f"calibrate-{name}")
    except (WakeproofError, OSError) as error:
        return Calibration(missing=str(error).partition("\n")[0])
    if found.calls:
        text = schema.of(Calibration).dump_json(found).decode()
        locations.write_atomically(kept, text)
    return found


def _libraries() -> list[str]:
    """Return what tells one C library from another: that of this process has its path and time."""
    found = set()
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        path = line.split(None, 5)[-1]
        if Path(path).name.startswith(("libc.", "libc-", "ld-musl")):
            found.add(f"{path} {Path(path).stat().st_mtime_ns}")
    return sorted(found)


def _learn(command: list[str], program: Path) -> Calibration:
    with Children() as children:
        built = children.run(
            [*command, "-O2", "-pthread", str(SOURCE), "-o", str(program)], timeout_s=_COMPILE_S
        )
        if built.code != 0:
            raise MissingToolError(f"the calibration does not compile: {built.output}")
        try:
            while True:
                if (found := _try(children, program)) is not None:
                    return found
        except GoneError:
            raise JudgeError("the helper of the calibration was killed: run this again") from None
        finally:
            program.unlink(missing_ok=True)


def _try(children: Children, program: Path) -> Calibration | None:
    """Run the helper once; None: somebody stopped it meanwhile, so that some of its calls differ.

    A call with a time limit goes on as another system call after SIGCONT.

    Raises:
        GoneError: somebody killed it.
    """
    child = children.start([str(program)])
    try:
        assert child.stdout is not None
        if not (version := child.stdout.readline().strip()):
            raise GoneError
        with Process(child.pid) as process:
            return _read(process, version)
    finally:
        children.forget(child)


def _read(process: Process, version: str) -> Calibration | None:
    """Read the stack of each thread once all of them sleep; None: they were stopped meanwhile."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        before = {one.tid: process.sleep(one.tid) for one in process.threads()}
        time.sleep(0.05)
        threads = process.threads()
        states = {one.state for one in threads}
        if before == {one.tid: process.sleep(one.tid) for one in threads} and states == {"S"}:
            break
        if "T" in states:  # `Children` says so
            deadline = time.monotonic() + _PATIENCE_S
        if time.monotonic() > deadline:
            return Calibration(missing="the calibration did not come to rest")
    if any(sleep is not None and sleep.number == RESTARTED for sleep in before.values()):
        return None
    symbols = Symbols(process)
    found: dict[tuple[int, int, int], set[Call]] = {}
    build_id = ""
    for thread in process.threads():
        sleep = before.get(thread.tid)
        if sleep is None or sleep.number != FUTEX or "." not in thread.name:
            continue
        place = symbols.place(sleep.pc)
        assert place is not None
        build_id = place.build_id
        above = list(symbols.returns(sleep.sp))
        own = [at for at, one in above if one.build_id != build_id]
        inner = [(at, one.offset) for at, one in above if own and at < own[0]]
        distance, behind = inner[-1] if inner else (-1, 0)
        call = Call(thread.name, place.offset, distance, behind, own[0] if own else -1)
        found.setdefault((call.pc, call.distance, call.behind), set()).add(call)
    # What two kinds of calls share tells neither.
    known = {
        call
        for calls in found.values() if len({call.kind for call in calls}) == 1
        for call in calls
    }  # fmt: skip
    # The outermost comes first: cnd_wait calls pthread_cond_wait.
    ordered = sorted(known, key=lambda one: (-one.distance, one.name))
    return Calibration(build_id, version, tuple(ordered))
