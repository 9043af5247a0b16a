# SPDX-License-Identifier: Apache-2.0
"""The decorator, pytest's option, and what a program must not do."""

import contextlib
import ctypes
import gc
import html
import itertools
import json
import logging
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import wakeproof
from wakeproof._runtime.stdlib.replacement import _IN_C, Function
from wakeproof.errors import (
    JudgeError,
    NotExhaustiveWarning,
    ScheduleError,
    StateError,
    UnsupportedError,
    UsageError,
)
from wakeproof.judge.schedules import execution, modelled, stall
from wakeproof.judge.schedules.explore import Options, explore
from wakeproof.judge.schedules.given import of_token

LOCK = threading.Lock()  # made before any run
LOCAL = threading.local()


def started(*calls: object) -> None:
    threads = [threading.Thread(target=call) for call in calls]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def deadlock() -> None:
    a, b = threading.Lock(), threading.Lock()

    def take(first: threading.Lock, second: threading.Lock) -> None:
        with first, second:
            pass

    started(lambda: take(a, b), lambda: take(b, a))


def test_a_failure_says_who_waits_for_whom_and_can_be_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ScheduleError) as raised:
        wakeproof.schedules(deadlock)()
    said, token = str(raised.value), raised.value.token
    assert raised.value.verdict == "deadlock"
    assert "Thread-1 (<lambda>) waits for Thread-2 (<lambda>) waits for Thread-1" in said
    assert f"replay: {token}" in said
    monkeypatch.setenv("WAKEPROOF_REPLAY", token)
    with pytest.raises(ScheduleError, match="schedules: 1,"):
        wakeproof.schedules(deadlock)()
    monkeypatch.setenv("WAKEPROOF_REPLAY", "0x0")  # the usual order does not fail
    with pytest.warns(NotExhaustiveWarning, match="one schedule"):
        wakeproof.schedules(deadlock)()


def test_the_cause_is_what_the_program_has_raised() -> None:
    @wakeproof.schedules
    def fails() -> None:
        raise KeyError("a")

    with pytest.raises(ScheduleError, match="exception: KeyError in test: 'a'") as raised:
        fails()
    assert isinstance(raised.value.__cause__, KeyError)


def test_what_is_not_exhaustive_warns() -> None:
    def many() -> None:
        lock = threading.Lock()

        def enter() -> None:
            for _ in range(9):
                with lock:
                    pass

        started(enter, enter, enter)

    with pytest.warns(NotExhaustiveWarning, match="at most 0 preemptions, 50 runs"):
        wakeproof.schedules(most=50)(many)()
    with pytest.warns(NotExhaustiveWarning, match="at most 1 preemptions"):
        wakeproof.schedules(preemptions=1)(many)()


def test_a_schedule_by_lot_finds_a_bug_and_is_made_short() -> None:
    """The deadlock needs one preemption, which the search may not make."""
    for seed in 0, 1:  # by lot, and by priorities
        found = explore(deadlock, Options(preemptions=0, random=200, seed=seed))
        assert found.verdict == "deadlock"
        assert found.failure is not None
        assert found.failure.token == "0.1.2" or found.failure.token.count(".") <= 4


def test_what_a_lock_guards_takes_few_runs() -> None:
    """The end of a `with`, a new lock, a generator of one's own and `join` touch nothing."""

    def looks_up() -> None:
        cache: dict[int, int] = {}
        lock = threading.Lock()

        def look(key: int) -> int:
            with lock:
                if key not in cache:
                    cache[key] = key
                return cache[key]

        started(lambda: look(1), lambda: look(2))

    def locks_by_name() -> None:
        locks: dict[str, threading.Lock] = {}
        lock, counts = threading.Lock(), [0]

        def add() -> None:
            with lock:
                if "one" not in locks:
                    locks["one"] = threading.Lock()
            with locks["one"]:
                counts[0] += sum(number for number in (1, 2))

        started(add, add)
        assert counts == [6]

    for program, most in (looks_up, 12), (locks_by_name, 40):
        found = explore(program, Options(data=True))
        assert (found.verdict, found.preemptions) == ("holds", None)
        assert found.schedules <= most


def test_an_iterator_that_two_threads_share_gives_each_item_to_either() -> None:
    seen = set()

    def program() -> None:
        shared = iter([1, 2])
        got: tuple[list[int], list[int]] = ([], [])

        def take(me: int) -> None:
            for one in shared:
                got[me].append(one)

        started(lambda: take(0), lambda: take(1))
        seen.add(tuple(map(tuple, got)))

    assert explore(program, Options(data=True)).verdict == "holds"
    assert seen == {((1, 2), ()), ((1,), (2,)), ((2,), (1,)), ((), (1, 2))}


def test_objects_from_before_are_seen_and_left_as_they_were() -> None:
    LOCAL.name = "outside"
    orders = set()

    def program() -> None:
        order: list[int] = []

        def enter(me: int) -> None:
            LOCAL.name = me
            with LOCK:
                order.append(me)
            assert LOCAL.name == me

        started(lambda: enter(1), lambda: enter(2))
        orders.add(tuple(order))

    assert explore(program).verdict == "holds"
    assert orders == {(1, 2), (2, 1)}
    assert not LOCK.locked()
    assert LOCAL.name == "outside"


def test_values_of_a_local_that_is_gone_are_gone() -> None:
    """The next local may have its address."""

    def program() -> None:
        made, others = [threading.local()], []
        gate = threading.Lock()
        gate.acquire()

        def first() -> None:
            made[0].value = 1
            gate.acquire()
            assert not hasattr(made[0], "value")

        def second() -> None:
            made.clear()
            others.extend({"value": 1} for _ in range(200))  # where its dict was
            made.append(threading.local())
            gate.release()

        started(first, second)

    assert explore(program).verdict == "holds"


def test_no_test_waits() -> None:
    def program() -> None:
        thread = threading.Thread(target=lambda: time.sleep(3600))
        begin = time.monotonic()
        thread.start()
        thread.join(1800)
        if thread.is_alive():
            thread.join()
        assert time.monotonic() - begin >= 1800

    begin = time.perf_counter()
    found = explore(program)
    assert found.verdict == "holds", str(found)
    assert found.schedules >= 2  # in time, and not
    assert time.perf_counter() - begin < 60


def test_a_daemon_may_wait_for_ever() -> None:
    def program() -> None:
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    assert explore(program).verdict == "holds"


def test_what_is_not_deterministic_is_named() -> None:
    lot = random.Random(1)  # goes on from run to run

    def program() -> None:
        a, b = threading.Lock(), threading.Lock()

        def enter() -> None:
            with lot.choice((a, b)):
                pass
            with a:
                pass

        started(enter, enter)

    with pytest.raises(JudgeError, match="not deterministic"):
        explore(program)


def test_what_the_first_run_leaves_is_no_chance() -> None:
    """Such as a module that it imports, whose lock it uses."""
    made: list[threading.Lock] = []

    def program() -> None:
        if not made:
            with threading.Lock():
                made.append(threading.Lock())

        def enter() -> None:
            with made[0]:
                pass

        started(enter, enter)

    assert explore(program).verdict == "holds"


def test_threads_of_an_executor_are_joined_in_the_same_order() -> None:
    def program() -> None:
        with ThreadPoolExecutor(3) as pool:
            gate = threading.Barrier(3)
            for _ in range(3):
                pool.submit(gate.wait)
            trash.append([object() for _ in range(len(trash) % 7)])  # addresses differ

    trash: list[list[object]] = []
    assert explore(program, Options(most=300)).verdict in ("holds", "not exhaustive")


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (
            lambda number: [LOCK.acquire(False) for _ in range(1 + number % 2)],
            "is the end|of thread 0",
        ),
        (lambda number: 1 // (number < 2), "it was its end, and it fails"),
    ],
    ids=["steps", "failure"],
)
def test_chance_where_no_schedule_branches_is_found(tail: Any, said: str) -> None:
    """Two schedules have the same beginning, and each run has another end."""
    numbers = itertools.count()

    def program() -> None:
        one = threading.Lock()
        started(lambda: one.acquire(blocking=False), lambda: one.acquire(blocking=False))
        tail(next(numbers))

    with pytest.raises(JudgeError, match=f"not deterministic.*({said})"):
        explore(program)


def test_what_waits_outside_is_refused() -> None:
    def program() -> None:
        with contextlib.closing(socket.socket()) as one:
            one.connect(("127.0.0.1", 1))

    with pytest.raises(UnsupportedError, match=r"socket\.connect"):
        explore(program)
    with pytest.raises(UnsupportedError, match=r"starts a process"):
        explore(lambda: subprocess.run([sys.executable, "-c", ""], check=True))
    with pytest.raises(UnsupportedError, match=r"multiprocessing waits for a process"):
        explore(multiprocessing.Queue().get)
    one, two = socket.socketpair()
    with one, two:
        for call in (lambda: one.recvmsg(1), lambda: one.sendmsg([b"x"]), lambda: one.recv(1)):
            with pytest.raises(UnsupportedError, match=r"socket\.\w+ waits for a peer"):
                explore(call)
    with pytest.raises(UnsupportedError, match=r"os\.system starts a process"):
        explore(lambda: os.system("true"))
    with pytest.raises(UnsupportedError, match=r"signal\.sigwait waits for a signal"):
        explore(lambda: signal.sigwait([signal.SIGUSR1]))


def test_all_functions_are_exchanged_in_place() -> None:
    """Else the threads of a run, which are no virtual threads, would call the old ones."""
    with modelled.exchanged():
        made = [one for area in modelled.AREAS for one in area() if isinstance(one, Function)]
        names = [repr(one) for one in made if not isinstance(getattr(one.owner, one.name), _IN_C)]
    assert not names
    assert len(made) > 50


def test_what_wakeproof_s_kernel_would_decide_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"wakeproof\.Mutex waits by a kernel of its own"):
        explore(wakeproof.Mutex)
    with pytest.raises(UnsupportedError, match=r"wakeproof\.\w+ waits by a kernel"):
        explore(lambda: wakeproof.VirtualThread(int).start())
    before = wakeproof.Mutex()

    def program() -> None:
        with before:
            pass

    with pytest.raises(UnsupportedError, match=r"wakeproof\.Mutex"):
        explore(program)
    with before:  # it is as it was
        pass
    assert wakeproof.VirtualThread(int).start().result() == 0


def test_a_build_without_what_it_needs_is_named() -> None:
    program = (
        "import sys; sys.modules['wakeproof._native.exchange'] = None\n"
        "import wakeproof\n"
        "try: wakeproof.schedules\n"
        "except wakeproof.MissingToolError as error: print(error)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "apt install python3-dev" in ended.stdout, ended.stderr


def test_pytest_runs_in_such_a_build() -> None:
    """The plugin is loaded by each run of pytest, and the judge only when it is used."""
    program = (
        "import sys; sys.modules['wakeproof._native.exchange'] = None\n"
        "import wakeproof.judge.schedules.pytest_plugin\n"
        "print('wakeproof.judge.schedules.explore' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.stdout == "False\n", ended.stderr


def test_schedules_that_are_not_fair_are_said_to_be_left_out() -> None:
    def program() -> None:
        lock, ready = threading.Lock(), []

        def make() -> None:
            with lock:
                ready.append(1)

        thread = threading.Thread(target=make)
        thread.start()
        while True:
            with lock:
                if ready:
                    break
            time.sleep(0)
        thread.join()

    assert str(explore(program)).startswith("holds: every fair schedule,")
    assert str(explore(lambda: started(int))).startswith("holds: every schedule,")


def test_a_virtual_thread_is_refused() -> None:
    with pytest.raises(StateError, match="the caller is a virtual thread"):
        wakeproof.VirtualThread(explore, int).start().result()


@pytest.mark.slow
@pytest.mark.parametrize("step", range(0, 60, 3))
def test_an_exception_from_outside_leaves_nothing_behind(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes between the mount of a thread and its turn, or before the unmount, as Ctrl-C may."""
    calls = 0

    def fails(name: str) -> None:
        real = getattr(execution.own, name)

        def call(*args: object) -> object:
            nonlocal calls
            calls += 1
            if calls == step and name == "unmount":
                raise KeyboardInterrupt
            said = real(*args)
            if calls == step:
                raise KeyboardInterrupt
            return said

        monkeypatch.setattr(execution.own, name, call)

    fails("mount")
    fails("unmount")
    with contextlib.suppress(KeyboardInterrupt, ScheduleError):
        explore(lambda: started(int, int))
    monkeypatch.undo()
    with pytest.raises(SystemError, match="nothing is mounted"):
        execution.own.unmount()
    assert logging.root.manager.disable == 0
    assert gc.isenabled()
    assert explore(lambda: started(int)).verdict == "holds"


def test_who_watches_collections_is_not_called_in_a_run() -> None:
    """Such as hypothesis, whose callback reads the time."""
    seen: list[int] = []

    def watch(*_: object) -> None:
        seen.append(threading.get_ident())
        time.perf_counter()

    explore(int)  # what it imports makes collections
    gc.callbacks.append(watch)
    try:
        assert explore(lambda: started(gc.collect, gc.collect)).schedules == 1
        assert seen == []
        gc.collect()
        assert seen
    finally:
        gc.callbacks.remove(watch)


def test_one_exploration_at_a_time() -> None:
    found = explore(lambda: explore(int))
    assert found.failure is not None
    assert "one at a time" in found.failure.said


def test_sets_of_futures_have_the_same_order_in_each_run() -> None:
    def program() -> None:
        with ThreadPoolExecutor(1) as pool:
            futures = [pool.submit(pow, 2, power) for power in range(3)]
            assert wait(futures, timeout=5)
            assert {future.result() for future in as_completed(futures)} == {1, 2, 4}

    assert explore(program, Options(most=400)).verdict in ("holds", "not exhaustive")


def test_a_test_that_never_ends_without_a_thread_is_a_livelock() -> None:
    def program() -> None:
        while time.monotonic():
            pass

    assert explore(program, Options(steps=200)).verdict == "livelock"


def test_a_loop_without_a_synchronisation_point_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall, "AFTER_S", 0.5)
    ready: list[int] = []

    def spin() -> None:
        while not ready:
            pass

    with pytest.raises(JudgeError, match=r"test_schedules\.py:\d+: '(while not ready:|pass)'"):
        explore(lambda: started(spin, lambda: ready.append(1)))
    assert "data=True" in str(stall.StalledError())


def blocks_in_c() -> None:
    ctypes.CDLL(None).sleep(20)


@pytest.mark.parametrize("handles", [True, False], ids=["main thread", "other thread"])
def test_a_call_in_c_that_waits_ends(monkeypatch: pytest.MonkeyPatch, handles: bool) -> None:
    monkeypatch.setattr(stall, "AFTER_S", 0.5)
    before = signal.getsignal(signal.SIGURG)
    begun = time.monotonic()
    if handles:
        with pytest.raises(JudgeError, match=r"test_schedules\.py:\d+: 'ctypes.CDLL\(None\).sleep"):
            explore(blocks_in_c)
        assert time.monotonic() - begun < 10
        with pytest.raises(JudgeError, match="in Thread-1, which is in no line of yours"):
            explore(lambda: started(partial(ctypes.CDLL(None).sleep, 20)))
    else:
        raised: list[object] = []

        def elsewhere() -> None:
            try:
                explore(lambda: [waits_shortly() for _ in range(200)])
            except JudgeError as error:
                raised.append(error)

        def waits_shortly() -> None:
            ctypes.CDLL(None).usleep(100_000)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert len(raised) == 1
    assert signal.getsignal(signal.SIGURG) == before


def test_a_call_in_c_that_no_signal_ends_is_named_though_pytest_captures(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        textwrap.dedent("""
        import ctypes
        import wakeproof
        from wakeproof.judge.schedules import stall

        stall.AFTER_S = 0.5

        @wakeproof.schedules
        def test_two_locks():
            mutex = ctypes.create_string_buffer(64)
            ctypes.CDLL(None).pthread_mutex_lock(mutex)
            ctypes.CDLL(None).pthread_mutex_lock(mutex)
    """)
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as tests:
        assert tests.stderr is not None
        late = threading.Timer(30, tests.kill)
        late.start()
        said = next((line for line in tests.stderr if "wakeproof" in line), "")
        late.cancel()
        tests.kill()
    assert "test_mine.py:12: 'ctypes.CDLL(None).pthread_mutex_lock(mutex)'" in said


def test_install_excludes_it() -> None:
    wakeproof.install()
    try:
        with pytest.raises(StateError, match="uninstall"):
            wakeproof.schedules(deadlock)()
    finally:
        wakeproof.uninstall()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"most": 0}, "most is 0; allowed: 1 or more"),
        ({"preemptions": -1}, "preemptions is -1; allowed: 0 or more"),
        ({"replay": "0x"}, "replay: '0x' of '0x'"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        wakeproof.schedules(**options)(deadlock)()


def test_a_test_that_yields_is_refused() -> None:
    def program() -> Iterator[None]:
        yield

    async def main() -> AsyncIterator[None]:
        yield

    for test in program, main:
        with pytest.raises(UsageError, match="has a yield, so a call of it runs nothing"):
            wakeproof.schedules(test)


FILE = textwrap.dedent("""
    import threading

    def test_two_locks():
        a, b = threading.Lock(), threading.Lock()

        def take(first, second):
            with first, second:
                pass

        pairs = (a, b), (b, a)
        threads = [threading.Thread(target=take, args=pair, daemon=True) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_fixture(tmp_path):
        assert tmp_path.exists()
""")


def test_a_schedule_opens_in_the_viewer(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="the viewer needs wakeproof[judge]")
    (tmp_path / "test_mine.py").write_text(FILE)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--wakeproof-schedules",
         "--wakeproof-html", "page.html", "test_mine.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 failed" in ended.stdout, ended.stdout + ended.stderr
    page = (tmp_path / "page.html").read_text()
    data = page.partition('<script type="application/json"')[2].partition(">")[2]
    viewed = json.loads(html.unescape(data.partition("</script>")[0]))
    (one,) = viewed["counterexamples"]
    assert one["title"] == "test_mine.py::test_two_locks: deadlock"
    assert one["lanes"] == ["test", "Thread-1 (take)", "Thread-2 (take)"]
    taken = [step for step in one["steps"] if step["text"] == "with first, second:"]
    assert {step["lane"] for step in taken} == {1, 2}
    (key,) = taken[0]["sources"]
    assert "with first, second:" in viewed["sources"][key]["text"]
    assert one["command"].endswith("'test_mine.py::test_two_locks'")


def test_pytest_runs_all_tests_under_every_schedule(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(FILE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]

    def run(*options: str) -> str:
        ended = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return ended.stdout + ended.stderr

    said = run("--wakeproof-schedules")
    assert "1 failed, 1 passed" in said
    assert "ScheduleError: deadlock" in said
    token = said.partition("replay: ")[2].split()[0]
    assert "1 failed" in run("--wakeproof-schedules", "--wakeproof-replay", token)
    assert "2 passed" in run()


def forgets_to_join() -> None:
    results: list[int] = []
    thread = threading.Thread(target=results.append, args=(1,))
    thread.start()
    assert thread.ident is not None
    assert results == [1]


def test_a_thread_may_begin_after_its_start_has_returned() -> None:
    found = explore(forgets_to_join)
    assert found.verdict == "assertion", str(found)
    assert found.failure is not None
    assert found.failure.token == "late"
    again = explore(forgets_to_join, Options(replay=found.failure.token))
    assert (again.verdict, again.schedules) == ("assertion", 1)
    assert again.failure == found.failure
    assert threading.active_count() == len(threading.enumerate())
    assert all(thread.name != "Thread-1 (append)" for thread in threading.enumerate())


def test_a_thread_that_begins_late_has_a_row_when_it_does() -> None:
    def program() -> None:
        results: list[int] = []
        thread = threading.Thread(target=results.append, args=(1,), name="late one")
        thread.start()
        was_empty = not results
        assert was_empty == (thread in threading.enumerate())
        thread.join()
        assert not was_empty

    found = explore(program)
    assert found.failure is not None, str(found)
    assert "(begin" in found.failure.lanes
    assert found.failure.token.startswith("late.")


def said(program: Callable[[], object]) -> str:
    found = explore(program)
    assert found.failure is not None, str(found)
    return found.failure.said


def test_who_waits_for_itself_is_told_so() -> None:
    def program() -> None:
        lock = threading.Lock()
        with lock, lock:
            pass

    assert said(program).startswith("test waits for itself; ")


def test_who_has_ended_with_a_lock_is_told_so() -> None:
    def program() -> None:
        lock = threading.Lock()
        started(lock.acquire)
        lock.acquire()

    assert "for Thread-1 (acquire), which has ended; nobody is left" in said(program)


def test_waits_and_threads_of_pools_have_the_names_that_the_user_knows() -> None:
    def program(waits: Any) -> None:
        lock = threading.Lock()
        with ThreadPoolExecutor(1) as pool, lock:
            waits(pool, lock)

    def by_wait(pool: ThreadPoolExecutor, lock: Any) -> None:
        wait([pool.submit(lock.acquire)])

    def by_map(pool: ThreadPoolExecutor, lock: Any) -> None:
        list(pool.map(lambda _: lock.acquire(), [1]))

    assert "waits in concurrent.futures.wait at" in said(lambda: program(by_wait))
    assert "waits in Executor.map at" in said(lambda: program(by_map))
    assert "; ThreadPoolExecutor-0_0 waits in " in said(lambda: program(by_map))


def test_what_pytest_does_for_an_assertion_is_no_step(tmp_path: Path) -> None:
    (tmp_path / "test_counts.py").write_text(
        "import threading\n"
        "import wakeproof\n"
        "@wakeproof.schedules(data=True)\n"
        "def test_counts():\n"
        "    count = [0]\n"
        "    thread = threading.Thread(target=int)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "    assert count == [1]\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_counts.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    token = ended.stdout.partition("replay: ")[2].partition("\n")[0]
    choices, _ = of_token(token)
    assert len(choices) < 50, ended.stdout


@pytest.mark.parametrize(
    ("blocked", "file", "said"),
    [
        ("jinja2", "page.html", "--wakeproof-html needs jinja2: pip install 'wakeproof[judge]'"),
        ("", "none/page.html", "--wakeproof-html none/page.html: there is no folder"),
    ],
)
def test_a_page_that_cannot_be_written_is_said_in_one_line(
    tmp_path: Path, blocked: str, file: str, said: str
) -> None:
    if not blocked:
        pytest.importorskip("jinja2", reason="the viewer needs wakeproof[judge]")
    (tmp_path / "conftest.py").write_text("")
    command = (
        f"import sys, pytest\nsys.modules[{blocked!r}] = None\n"
        f"sys.exit(pytest.main(['-q', '--wakeproof-html', {file!r}]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR, ended.stdout + ended.stderr
    assert said in ended.stdout + ended.stderr
    assert "INTERNALERROR" not in ended.stdout + ended.stderr


def test_schedules_by_lot_also_let_threads_begin_late() -> None:
    def program() -> None:
        lock = threading.Lock()
        order: list[int] = []

        def work(me: int) -> None:
            order.append(me)
            with lock:
                pass

        started(partial(work, 0), partial(work, 1))
        assert order == [0, 1]  # so it is if each runs while it is started

    assert explore(program).verdict == "holds"
    found = explore(program, Options(preemptions=0, most=1, random=40))
    assert found.verdict == "assertion", str(found)
    assert found.failure is not None
    assert found.failure.token.startswith("late.")


def test_an_event_of_threads_that_nobody_saw_set_is_a_lost_wakeup() -> None:
    def program() -> None:
        event = threading.Event()
        thread = threading.Thread(target=lambda: event.wait())
        thread.start()
        event.set()
        event.clear()
        thread.join()

    found = explore(program)
    assert found.verdict == "lost wakeup", str(found)
    assert found.failure is not None
    assert "before anybody saw it" in found.failure.said
