# SPDX-License-Identifier: Apache-2.0
"""`wakeproof watch` on a corpus: hangs by class (recall), and healthy programs (precision).

    python -m tests.judge.watch.run [SECONDS]      each healthy program is watched so long; 60

A healthy program must get neither `deadlock` nor `missed` in any sweep.  What else is said of it is
counted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.judge.watch import twins
from tests.support import watching
from tests.support.watching import Case

from wakeproof.errors import UsageError
from wakeproof.judge.watch.process import GoneError, Process
from wakeproof.judge.watch.verdicts import BAD, QUIET_S, Report, Verdict, Watch

AT_ONCE = 10
RECORDED = (".c", ".cpp")
TRIES = 5
ROUNDS = 5
STEADY_S = 3
MUSL = ("cond_pool", "locks_busy", "malloc_busy", "timed_locks")
CONDITIONED = ("cond_pool", "locks_busy")
MODES = ("parker", "guard", "submit", "submit_bounded", "internal", "vthread", "mutex",
         "semaphore", "condition", "channel", "latch", "timer", "rest", "poll",
         "poll_rest", "conserve_out", "io", "io_group_close", "pool_idle", "pool_close", "scope",
         "rest_outside", "io_blocked", "lent", "lent_close", "placed", "placed_bounded", "replaced",
         "files", "back", "close_twice", "close_parks", "rest_replaced")  # fmt: skip
NGINX = """
master_process {2}; daemon off; error_log stderr; pid {0}/pid; events {{}}
http {{
  access_log off; client_body_temp_path {0}; proxy_temp_path {0}; fastcgi_temp_path {0};
  uwsgi_temp_path {0}; scgi_temp_path {0}; server {{ listen 127.0.0.1:{1}; }}
}}
"""


@dataclass(frozen=True)
class Healthy:
    """A program that is well: its command, and what is done to it once it runs."""

    name: str
    command: list[str]
    condition: Callable[[int], contextlib.AbstractContextManager[None]] = contextlib.nullcontext


@dataclass(frozen=True)
class Watched:
    """What was said of a healthy program in all sweeps."""

    name: str
    threads: int
    sweeps: int
    quiet: int
    verdicts: Counter[str]  # sweeps in which a thread had that verdict
    why: str  # of the worst
    cpu_ms: float  # of each sweep


def hangs() -> int:
    """Print the verdict on each hang, by class; return how many are not as their files say.

    The verdicts are from outside.  The hints are of another run, with the recorder.
    """
    print(
        f"{'hang':22} {'class':16} {'verdict':10} {'twin that goes on':18} hint with the recorder"
    )
    wrong, by_kind = 0, dict[str, Counter[str]]()
    hinted, recorded = Counter[str](), Counter[str]()
    every = [one for one in watching.cases() if one.kind != "healthy"]
    lacking = [one for one in every if one.tool and shutil.which(one.tool) is None]
    cases = sorted(
        (one for one in every if one not in lacking), key=lambda one: (one.kind, one.name)
    )
    watching.folder()  # one for all threads
    with ThreadPoolExecutor(2) as pool:
        for case, (found, fixed, hint) in zip(cases, pool.map(_judged, cases), strict=True):
            is_wrong = found != case.verdict or (bool(case.fixed) and fixed != case.fixed)
            wrong += is_wrong
            by_kind.setdefault(case.kind, Counter())[found] += 1
            if hint is not None:
                recorded[case.kind] += 1
                hinted[case.kind] += bool(hint)
            print(f"{case.file.name:22} {case.kind:16} {found:10} {fixed or 'has none':18} "
                  f"{'not recorded' if hint is None else hint}{'  <- wrong' * is_wrong}",
                  flush=True)  # fmt: skip
    for case in lacking:
        print(f"{case.file.name:22} {case.kind:16} no {case.tool}")
    print()
    for kind, counts in by_kind.items():
        told = ", ".join(f"{many} {verdict}" for verdict, many in counts.most_common())
        print(f"{kind}: {counts.total()} hangs: {told}; a hint in {hinted[kind]} of "
              f"{recorded[kind]} that were recorded")  # fmt: skip
    return wrong


def _judged(case: Case) -> tuple[str, str, str | None]:
    """Return the verdict on a hang, that on its twin, and its hints; None: it is not recorded."""
    found = _hung(case).verdict.value
    fixed = watching.judged(case, is_fixed=True).verdict.value if case.fixed else ""
    if case.file.suffix not in RECORDED:
        return found, fixed, None
    hints = _hung(case, is_recorded=True).hints
    return found, fixed, ", ".join(sorted({one.kind for one in hints}))


def _hung(case: Case, *, is_recorded: bool = False) -> Report:
    """Watch a hang.  On a machine that is busy a program may come through, and is run again."""
    for _ in range(TRIES):
        with contextlib.suppress(GoneError, UsageError):
            return watching.judged(case, is_recorded=is_recorded)
    raise RuntimeError(f"{case.file.name} does not hang")


def every() -> Iterator[Healthy]:
    """Yield the healthy programs that this machine can run."""
    folder = watching.folder()
    cases = [one for one in watching.cases() if not one.tool or shutil.which(one.tool)]
    for case in cases:
        if case.kind == "healthy":
            try:
                yield Healthy(case.file.name, watching.built(case, folder, is_fixed=False))
            except subprocess.CalledProcessError as error:
                if not case.crate:
                    raise
                print(f"{case.file.name} was not built: {error.stderr.decode()[-200:]}")
        elif case.fixed:
            yield Healthy(f"{case.file.name} fixed", watching.built(case, folder, is_fixed=True))
    for name in MUSL if shutil.which("musl-gcc") else ():
        target = folder / f"{name}-musl"
        source = watching.CORPUS / f"{name}.c"
        subprocess.run(["musl-gcc", "-O1", "-pthread", str(source), "-o", str(target), "-idirafter",
                        "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"], check=True,
                       capture_output=True)  # fmt: skip
        yield Healthy(f"{name}.c with musl", [str(target)])
    for case in cases:
        if case.name in CONDITIONED:
            command = watching.built(case, folder, is_fixed=False)
            for condition in (stopped, frozen, with_quota, idle):
                if condition.__name__ in ("stopped", "idle") or os.access(
                    "/sys/fs/cgroup", os.W_OK
                ):
                    yield Healthy(f"{case.file.name} {condition.__name__}", command, condition)
    kernel = str(twins.Kernels(folder).program())
    for mode in MODES:
        yield Healthy(f"our kernel: {mode}", [kernel, mode, "86400"])
    yield Healthy("sleep", ["sleep", "86400"])
    yield Healthy("cat", ["cat"])
    yield Healthy("bash", ["bash", "-c", "while read line; do echo $line; done"])
    yield Healthy("python -m http.server", [sys.executable, "-m", "http.server", "-b", "127.0.0.1",
                                            str(_port())])  # fmt: skip
    if shutil.which("nginx"):
        for master in ("off", "on"):
            place = folder / f"nginx-{master}"
            place.mkdir()
            (place / "conf").write_text(NGINX.format(place, _port(), master))
            yield Healthy(f"nginx, master process {master}", ["nginx", "-c", str(place / "conf")])


def _port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stop a process by a signal."""
    os.kill(pid, signal.SIGSTOP)
    yield


@contextlib.contextmanager
def _grouped(pid: int, controller: str, file: str, value: str) -> Iterator[None]:
    """Put a process into a control group of its own, with a value."""
    root = Path("/sys/fs/cgroup") / controller
    group = root / f"wakeproof-watch-{pid}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(pid))
        (group / file).write_text(value)
        yield
    finally:
        if controller == "freezer":
            (group / file).write_text("THAWED")
        (root / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def frozen(pid: int) -> contextlib.AbstractContextManager[None]:
    """Freeze a process."""
    return _grouped(pid, "freezer", "freezer.state", "FROZEN")


def with_quota(pid: int) -> contextlib.AbstractContextManager[None]:
    """Give a process 1 % of a CPU."""
    return _grouped(pid, "cpu", "cpu.cfs_quota_us", "1000")


@contextlib.contextmanager
def idle(pid: int) -> Iterator[None]:
    """Let a process run only while nothing else does."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))
    yield


def watched(one: Healthy, seconds: float) -> Watched:
    """Watch a healthy program."""
    counts, threads, why, worst = Counter[str](), 0, "", len(Verdict)
    with watching.running(one.command) as pid:
        time.sleep(1.5)
        with one.condition(pid), Process(pid) as process:
            its = Watch(process)
            its.sweep()
            used_s, end = time.thread_time(), time.monotonic() + seconds
            found: Report = its.report()
            while time.monotonic() < end:
                time.sleep(QUIET_S)
                its.sweep()
                found = its.report()
                counts.update({judged.verdict.value for judged in found.threads})
                threads = max(threads, len(found.threads))
                rank = list(Verdict).index(found.verdict)
                if rank < worst:
                    worst, why = rank, found.threads[0].why
            used_s = time.thread_time() - used_s
    return Watched(one.name, threads, found.sweeps, found.quiet_sweeps, counts, why,
                   1e3 * used_s / max(1, found.sweeps - 1))  # fmt: skip


def healthy(seconds: float) -> int:
    """Print what is said of each healthy program; return how many are called missed or locked."""
    print(f"\n{'healthy program':32} threads sweeps quiet  suspect stuck  CPU/sweep  worst verdict")

    def safely(one: Healthy) -> Watched | str:
        try:
            return watched(one, seconds)
        except (GoneError, UsageError, OSError) as error:
            return f"{one.name:32} was not watched: {error or 'it has ended'}"

    all_of = list(every())
    bad, suspects, stuck, done = 0, 0, 0, 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for found in pool.map(safely, all_of):
            if isinstance(found, str):
                print(found, flush=True)
                continue
            done += 1
            is_bad = any(found.verdicts[one.value] for one in BAD)
            bad += is_bad
            suspects += found.verdicts["suspect"] > 0
            stuck += found.verdicts["stuck"] > 0
            worst = min(found.verdicts, key=lambda name: list(Verdict).index(Verdict(name)))
            said = f"{worst}{': ' * bool(found.why)}{found.why}{'  <- WRONG' * is_bad}"
            print(
                f"{found.name:32} {found.threads:7} {found.sweeps:6} {found.quiet:5} "
                f"{found.verdicts['suspect']:8} {found.verdicts['stuck']:5} {found.cpu_ms:7.1f} ms"
                f"  {said}",
                flush=True,
            )
    print(f"\n{done} of {len(all_of)} healthy programs were watched for {seconds:g} s each: {bad} "
          f"called missed or in a deadlock, {suspects} suspect, {stuck} stuck")  # fmt: skip
    return bad + (len(all_of) - done)


def hints(seconds: float = 5.0) -> None:
    """Print in which healthy programs the recorder hints at something."""
    folder = watching.folder()
    cases = [one for one in watching.cases() if one.file.suffix in RECORDED]
    programs = {one.name: watching.built(one, folder, is_fixed=one.kind != "healthy")
                for one in cases if one.kind == "healthy" or one.fixed}  # fmt: skip
    kernel = str(twins.Kernels(folder).program())
    programs |= {f"our kernel: {mode}": [kernel, mode, "86400"] for mode in MODES}

    def hinted(name: str) -> str:
        with watching.running(programs[name], is_recorded=True) as pid:
            found = watching.looked(pid, seconds)
        return f"{name}: {found.hints[0].kind}: {found.hints[0].why}" if found.hints else ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [one for one in pool.map(hinted, programs) if one]
    print(f"\n{len(programs)} healthy programs with the recorder, {seconds:g} s each: hints in "
          f"{len(found)}", *found, sep="\n  ", flush=True)  # fmt: skip


def steady() -> None:
    """Print what a look each half second and the recorder cost a program with a CPU of its own."""
    (case,) = (one for one in watching.cases() if one.name == "steady")
    program = watching.built(case, watching.folder(), is_fixed=False)
    own, other = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    print(f"\na program on CPU {other} alone, watch on CPU {own}; ns of CPU time for a round, the "
          f"median of {ROUNDS}")  # fmt: skip
    print(f"{'':28} {'alone':>8} {'watched':>8} {'ratio':>6} {'recorded':>8}")
    for name, words in (("two threads hand a turn", []), ("a signal to nobody", ["signals"])):
        alone, seen, recorded = list[float](), list[float](), list[float]()
        for _ in range(ROUNDS):
            command = ["taskset", "-c", str(other), *program, *words, str(STEADY_S)]
            alone.append(_round_ns(command))
            seen.append(_round_ns(command, own))
            recorded.append(_round_ns(command, is_recorded=True))
        first, second, third = map(statistics.median, (alone, seen, recorded))
        print(
            f"{name:28} {first:8.1f} {second:8.1f} {second / first:6.3f} {third:8.1f}", flush=True
        )


def _round_ns(command: list[str], watch_on: int = -1, *, is_recorded: bool = False) -> float:
    """Run steady.c, and watch it from a CPU if there is one; return what it prints."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                             env=watching.environment(is_recorded=is_recorded))  # fmt: skip
    if watch_on >= 0:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {watch_on})
        time.sleep(0.5)
        with contextlib.suppress(GoneError, UsageError), Process(child.pid) as process:
            its = Watch(process)
            while child.poll() is None:
                its.sweep()
                time.sleep(QUIET_S)
        os.sched_setaffinity(0, before)
    return float(child.communicate()[0])


def main(arguments: list[str]) -> int:
    """Run all, and fail if a verdict is not as it must be."""
    seconds = float(arguments[0]) if arguments else 60.0
    wrong = hangs() + healthy(seconds)
    hints()
    steady()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = ["Case", "main"]
