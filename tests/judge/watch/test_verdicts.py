# SPDX-License-Identifier: Apache-2.0
"""A process that hangs gets the verdict that it deserves, and its twin, which goes on, does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.judge.watch import run
from tests.support import watching
from tests.support.watching import Case

from wakeproof.judge.watch import verdicts
from wakeproof.judge.watch.process import Process
from wakeproof.judge.watch.verdicts import Verdict, Watch

pytestmark = pytest.mark.slow
FREEZER, QUOTAS = Path("/sys/fs/cgroup/freezer"), Path("/sys/fs/cgroup/cpu")
HANGS = [one for one in watching.cases() if one.file.suffix == ".c" and one.kind != "healthy"]


@pytest.mark.parametrize("case", HANGS, ids=[one.name for one in HANGS])
def test_a_hang_gets_its_verdict(case: Case) -> None:
    assert watching.judged(case).verdict == case.verdict


@pytest.mark.parametrize("case", HANGS, ids=[one.name for one in HANGS])
def test_its_twin_that_goes_on_only_waits(case: Case) -> None:
    assert watching.judged(case, is_fixed=True).verdict == case.fixed


def _named(name: str) -> Case:
    (found,) = (one for one in HANGS if one.name == name)
    return found


def test_a_deadlock_names_mutexes_owners_and_callers() -> None:
    found = watching.judged(_named("mutex_order"))
    first, second = sorted(found.threads, key=lambda one: one.tid)
    assert (first.object, second.object) == ("right (mutex_order)", "left (mutex_order)")
    assert (first.owner, second.owner) == (second.tid, first.tid)
    assert (first.called_by, second.called_by) == ("main (mutex_order)", "other (mutex_order)")
    assert first.why == f"each waits for the next: {first.tid} -> {second.tid} -> {first.tid}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a PID namespace")
def test_in_a_container_owners_have_other_numbers_and_are_found_all_the_same() -> None:
    case = _named("mutex_order")
    program = watching.built(case, watching.folder(), is_fixed=False)
    with watching.running(["unshare", "--pid", "--fork", "--kill-child", *program]) as parent:
        time.sleep(0.5)
        (inside,) = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        found = watching.looked(int(inside))
    assert found.verdict == Verdict.DEADLOCK
    first, second = sorted(found.threads, key=lambda one: one.tid)
    assert (first.owner, second.owner) == (second.tid, first.tid)


def test_one_look_alone_calls_nothing_missed() -> None:
    case = _named("sem_forgotten")
    with watching.running(watching.built(case, watching.folder(), is_fixed=False)) as pid:
        found = watching.looked(pid, seconds=0)
    assert (found.sweeps, found.verdict) == (1, Verdict.WAITS)
    assert [one.why for one in found.threads if one.waits_for == "semaphore"] == [
        "the semaphore counts 1"
    ]


def test_a_library_that_is_loaded_between_two_looks_is_known(tmp_path: Path) -> None:
    (tmp_path / "late.c").write_text("""
        static int word;
        void nap(void)
        {
            register long timeout __asm__("r10") = 0;
            long call = 202, wait_private = 128;
            __asm__ volatile("syscall" : "+a"(call)
                             : "D"(&word), "S"(wait_private), "d"(0), "r"(timeout)
                             : "rcx", "r11", "memory");
        }""")
    (tmp_path / "early.c").write_text("""
        #include <dlfcn.h>
        #include <unistd.h>
        int main(void)
        {
            char byte;
            if (read(0, &byte, 1) == 1)
                ((void (*)(void))dlsym(dlopen("./late.so", RTLD_NOW), "nap"))();
        }""")
    for command in (["-shared", "-fPIC", "late.c", "-o", "late.so"], ["early.c", "-o", "early"]):
        subprocess.run(["cc", *command], check=True, cwd=tmp_path)
    with subprocess.Popen(["./early"], cwd=tmp_path, stdin=subprocess.PIPE, bufsize=0) as child:
        try:
            with Process(child.pid) as process:
                its = Watch(process)
                watching.come_to_rest(process)
                its.sweep()
                (before,) = its.report().threads
                assert child.stdin is not None
                child.stdin.write(b"x")
                watching.come_to_rest(process)
                its.sweep()
                (after,) = its.report().threads
        finally:
            child.kill()
    assert (before.waits_for, after.waits_for, after.object) == ("read", "futex", "word (late.so)")


def test_it_tells_how_long_a_thread_has_slept() -> None:
    with watching.running(["sleep", "1000"]) as pid:
        found = watching.looked(pid, seconds=1.8)
    (thread,) = found.threads
    assert thread.is_timed
    assert thread.since_s is not None
    assert 1.8 <= thread.since_s < 10


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_protocol_that_is_not_known_is_unknown_and_a_known_one_is_not() -> None:
    unknown = watching.judged(_any("latch_rounds"), seconds=0).threads
    assert {one.verdict for one in unknown if one.waits_for == "futex"} <= {Verdict.UNKNOWN}
    known = watching.judged(_any("cond_pool"), seconds=0).threads
    assert {one.verdict for one in known if one.waits_for == "condition variable"} <= {
        Verdict.WAITS
    }


def test_while_a_thread_runs_it_may_still_wake_the_sleeper() -> None:
    case = _any("late_wake")
    with watching.running(watching.built(case, watching.folder(), is_fixed=False)) as pid:
        time.sleep(0.3)
        with Process(pid) as process:
            found = verdicts.watch(process, 1.8)
    (waiter,) = (one for one in found.threads if one.tid != pid)
    assert (waiter.verdict, waiter.why[:13]) == (Verdict.UNKNOWN, "its word is 0")
    assert found.quiet_sweeps == 0
    assert any("no verdict on missed wakeups" in one for one in found.unknown)


def _any(name: str) -> Case:
    (found,) = (one for one in watching.cases() if one.name == name)
    return found


@pytest.mark.skipif(not FREEZER.is_dir() or os.geteuid() != 0, reason="no freezer to write to")
def test_a_frozen_process_is_stopped_and_one_that_was_thawed_is_not() -> None:
    with watching.running(["sleep", "1000"]) as pid:
        with run.frozen(pid):
            found = watching.looked(pid, seconds=0)
        assert (found.verdict, found.threads[0].why) == (
            Verdict.STOPPED, "its control group is frozen"
        )  # fmt: skip
        assert watching.looked(pid, seconds=0).verdict == Verdict.WAITS


@pytest.mark.skipif(not QUOTAS.is_dir() or os.geteuid() != 0, reason="no quota to set")
def test_a_process_without_cpu_time_is_starved_and_one_with_it_runs() -> None:
    with watching.running(["sh", "-c", "while :; do :; done"]) as pid, Process(pid) as process:
        assert verdicts.watch(process, 0.5, 0.2).verdict == Verdict.RUNS
        with run.with_quota(pid):
            (QUOTAS / f"wakeproof-watch-{pid}" / "cpu.cfs_period_us").write_text("1000000")
            time.sleep(0.5)
            found = {verdicts.watch(process, 0.5, 0.2).verdict for _ in range(3)}
        assert Verdict.STARVED in found


def test_a_thread_behind_a_deadlock_is_stuck_and_the_program_that_goes_on_is_not() -> None:
    """In mutex_order.c the main thread is in the cycle; here a third thread wants its mutex."""
    case = _named("mutex_behind")
    found = watching.judged(case)
    counts = Counter(one.verdict for one in found.threads)
    assert counts == {Verdict.DEADLOCK: 2, Verdict.STUCK: 1}
    (behind,) = (one for one in found.threads if one.verdict == Verdict.STUCK)
    assert behind.why == f"thread {behind.owner} is in a deadlock"
    assert watching.judged(case, is_fixed=True).verdict == case.fixed


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_names_of_cxx_are_as_their_author_wrote_them() -> None:
    found = watching.judged(_any("atomic_wait"))
    assert {(one.object, one.called_by.partition(" ")[0]) for one in found.threads
            if one.waits_for == "futex"} == {
        ("ready (atomic_wait)", "std::__atomic_wait_address_v")
    }  # fmt: skip
    assert found.verdict == Verdict.MISSED
