# SPDX-License-Identifier: Apache-2.0
"""A join ends with DeadlockError if nothing is left that could end it, and never otherwise.

Each healthy program waits longer than it takes to find a deadlock.  Its twins are detectors that
ignore what will wake it: they raise, and the same check sees that.

Serves ``_runtime/deadlock.py``, ``_runtime/waiting.py``.
"""

from __future__ import annotations

import sys

import pytest
from tests.support.running import run

from wakeproof._runtime.deadlock import HAS_GIL

needs_gil = pytest.mark.skipif(not HAS_GIL, reason="without the GIL no deadlock is looked for")

HEAD = """
import asyncio, gc, os, signal, socket, sys, threading, time, weakref
import wakeproof
from wakeproof import *
from wakeproof import coroutine, io
from wakeproof._runtime import deadlock, offload, waiting, wait
waiting.EACH_S = 0.1
LATER_S = 1.5

def start(fn, name=None):
    return VirtualThread(fn, name=name, group=group).start()

def raises(wait):
    try:
        wait()
    except DeadlockError as error:
        sys.stdout.write("raised\\n")
        assert "a dump of them is on stderr" in str(error)

def parked(*threads):
    while any(thread.state != "parked" for thread in threads):
        time.sleep(0.001)

"""


def program(body: str, twin: str = "", carriers: int = 2, **variables: str) -> tuple[str, str]:
    """Run a program in a group; return what it has printed, on stdout and on stderr."""
    inner = "".join(f"    {line}\n" for line in body.strip().splitlines())
    code = f"{HEAD}{twin}\nwith CarrierGroup({carriers}) as group:\n{inner}\nprint('ended')\n"
    ended = run([sys.executable, "-W", "ignore", "-c", code], timeout_s=120, **variables)
    return ended.stdout, ended.stderr


MUTEXES = """
one, two = Mutex(), Mutex()
def takes(first, second):
    with first:
        sleep(0.1)
        with second:
            pass
a, b = start(lambda: takes(one, two), "a"), start(lambda: takes(two, one), "b")
raises(a.join)
group.close(0, cancel=True)
"""
JOINS = """
threads = {}
def joins(other):
    park()
    return threads[other].result()
async def awaits(other):
    await coroutine.park()
    return await coroutine.join(threads[other])
threads["a"] = start(lambda: joins("b"), "a")
threads["b"] = VirtualThread(awaits, "a", name="b", group=group).start()
for thread in threads.values():
    thread.unpark()
raises(threads["a"].result)
"""
CHANNEL = """
channel, changed, permits = Channel(1), Condition(), Semaphore(0)
def waits():
    with changed:
        changed.wait()
threads = [start(channel.receive, "r"), start(waits, "c"), start(permits.acquire, "s")]
threads.append(start(park, "p"))
raises(threads[0].join)
group.close(0, cancel=True)
"""
FUTURES = """
futures, begin = [], Semaphore(0)
def waits_for(other):
    begin.acquire()
    return futures[other].result()
with VirtualThreadPool(max_workers=4) as pool:
    futures += [pool.submit(waits_for, 1), pool.submit(waits_for, 0)]
    begin.release(2)
    raises(futures[0].result)
    for future in futures:
        assert isinstance(future.exception(), DeadlockError)
"""
SCOPE = """
def forks():
    with Scope() as scope:
        scope.fork(park)
        raises(scope.join)
with Scope(group=group) as scope:
    scope.fork(park)
    raises(scope.join)
"""


@needs_gil
@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "edges"),
    [
        (MUTEXES, ["'a' waits for a mutex, which 'b' holds", "'b' waits for a mutex, which 'a' h"]),
        (JOINS, ["'a' waits for the end of 'b'", "'b' waits for the end of 'a'"]),
        (
            CHANNEL,
            [
                "'r' waits for the other side of a channel",
                "'c' waits for a condition",
                "'s' waits for a permit of a semaphore",
                "'p' waits for an unpark",
            ],
        ),
        (FUTURES, ["waits for the result of a future"]),
        (SCOPE, ["waits for an unpark"]),
    ],
    ids=["mutexes", "joins", "channel", "futures", "scope"],
)
def test_a_deadlock_is_printed_once_and_the_join_raises(body: str, edges: list[str]) -> None:
    out, err = program(body)
    assert out.splitlines() == ["raised", "ended"], err
    assert err.count("wakeproof: deadlock") == 1
    assert "; by stack:" in err  # the dump
    for edge in edges:
        assert edge in err


@needs_gil
@pytest.mark.slow
def test_all_os_threads_that_join_raise() -> None:
    body = """
thread = start(park)
joiners = [threading.Thread(target=raises, args=(thread.join,)) for _ in range(3)]
for joiner in joiners:
    joiner.start()
raises(thread.join)
for joiner in joiners:
    joiner.join()
thread.unpark()
"""
    out, err = program(body)
    assert out.splitlines() == ["raised"] * 4 + ["ended"], err
    assert err.count("wakeproof: deadlock") == 1


@pytest.mark.slow
def test_a_join_with_a_limit_does_not_raise() -> None:
    out, err = program("thread = start(park)\nprint(thread.join(1.5))\nthread.unpark()")
    assert (out.splitlines(), err) == (["False", "ended"], "")


@needs_gil
@pytest.mark.slow
def test_nobody_joins_and_it_is_only_printed_by_the_watchdog() -> None:
    body = """
thread = start(park, "alone")
wakeproof.unwatch()
wakeproof.watch(1, lambda text: (sys.stderr.write(text), os._exit(7)))
"""
    out, err = program(body)
    assert "'alone' waits for an unpark" in err
    assert out == ""


HEALTHY = {
    "sleep": ("start(lambda: sleep(LATER_S)).join()", "timers"),
    "endless": (
        "endless = start(lambda: sleep(float('inf')))\nthread = start(park)\n"
        "print(thread.join(LATER_S))\nthread.unpark()\nendless.interrupt()",
        "",
    ),
    "limit": ("start(lambda: Semaphore(0).acquire(timeout_s=LATER_S)).join()", "timers"),
    "coroutine": (
        "async def sleeps():\n    await coroutine.sleep(LATER_S)\n"
        "waits = VirtualThread(sleeps, group=group).start()\nstart(waits.join).join()",
        "timers",
    ),
    "timer": (
        "permits = Semaphore(0)\nthreading.Timer(LATER_S, permits.release).start()\n"
        "start(permits.acquire).join()",
        "os_threads",
    ),
    "offload": (
        "for _ in range(2):\n    start(lambda: io.offload(time.sleep, LATER_S)).join()",
        "offload",
    ),
    "server": (
        "mine, there = io.socketpair(group=group)\npermits = Semaphore(0)\n"
        "server, idle = start(lambda: mine.recv(1)), start(permits.acquire)\n"
        "parked(server, idle)\n"
        "child = os.fork()\n"
        "if child == 0:\n    time.sleep(LATER_S)\n"
        "    os.write(there.fileno(), b'x')\n    os._exit(0)\n"
        "server.join()\npermits.release()\nidle.join()\nos.waitpid(child, 0)",
        "descriptors",
    ),
    "signal": (
        "permits = Semaphore(0)\nsignal.signal(signal.SIGALRM, lambda *_: permits.release())\n"
        "signal.setitimer(signal.ITIMER_REAL, LATER_S)\nstart(permits.acquire).join()",
        "handlers",
    ),
    "asyncio": (
        "permits, loop = Semaphore(0), asyncio.new_event_loop()\n"
        "runs = threading.Thread(target=loop.run_forever)\nruns.start()\n"
        "loop.call_soon_threadsafe(loop.call_later, LATER_S, permits.release)\n"
        "start(permits.acquire).join()\nloop.call_soon_threadsafe(loop.stop)\nruns.join()",
        "os_threads",
    ),
    "finalizer": (
        "class Cycle: pass\ngc.disable()\npermits, cycle = Semaphore(0), Cycle()\n"
        "cycle.me = cycle\nweakref.finalize(cycle, permits.release)\ndel cycle\n"
        "start(permits.acquire).join()",
        "garbage",
    ),
    "task": (
        "permits = Semaphore(0)\nother = CarrierGroup(1)\n"
        "other.submit(lambda: (time.sleep(LATER_S), permits.release()))\n"
        "start(permits.acquire).join()\nother.close()",
        "tasks",
    ),
    "computes": (
        "permits = Semaphore(0)\nblocks = start(lambda: (time.sleep(LATER_S), permits.release()))\n"
        "start(permits.acquire).join()",
        "states",
    ),
    "other joiner": (
        "permits, waits = Semaphore(0), start(park)\n"
        "def joins():\n    waits.join()\n    permits.release()\n"
        "joiner = threading.Thread(target=joins)\njoiner.start()\n"
        "threading.Timer(LATER_S, waits.unpark).start()\nstart(permits.acquire).join()\n"
        "joiner.join()",
        "os_threads",
    ),
}
TWINS = {
    "timers": "deadlock.lib = type('Lib', (), {'__getattr__': lambda _, name: (lambda *a: False)"
    " if name == 'wp__vthread_is_timed' else getattr(wait.lib, name)})()",
    "descriptors": "wait.Wait.ends_by_threads = True\n"
    "one = getattr(sys.modules.get('wakeproof._native.own'), 'SocketWait', wait.Wait)\n"
    "one.ends_by_threads, one.what = True, 'a socket'",
    "os_threads": "deadlock._are_all_known = lambda: True",
    "offload": "deadlock._are_all_known = lambda: True",
    "handlers": "deadlock._has_handlers = lambda: False",
    "garbage": "gc.collect = lambda: 0",
    "tasks": "deadlock.works = {}; deadlock._are_all_known = lambda: True",
    "states": "deadlock._are_all_known = lambda: True\n"
    "deadlock._ours = lambda: [one for one in deadlock.threads.values() if one.state == 'parked']",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEALTHY)
def test_a_program_that_something_will_wake_is_left_alone(name: str) -> None:
    body, twin = HEALTHY[name]
    if twin == "garbage" and not HAS_GIL:
        pytest.skip("only the search for a deadlock collects the garbage")
    out, err = program(f"{body}")
    assert out.splitlines()[-1:] == ["ended"], err
    assert err == ""


@needs_gil
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (_, twin) in HEALTHY.items() if twin])
def test_a_detector_that_ignores_it_raises_wrongly(name: str) -> None:
    body, twin = HEALTHY[name]
    body = f"try:\n{''.join(f'    {line}' + chr(10) for line in body.splitlines())}"
    body += "except DeadlockError:\n    print('wrong', flush=True)\n    os._exit(0)\n"
    out, err = program(body, TWINS[twin])
    assert out == "wrong\n", err


RANDOM = """
import random
seed = time.time_ns()
chosen, rounds, end = random.Random(seed), 0, time.monotonic() + 5
waiting.EACH_S = 0.0005
sys.stderr.write(f"seed {seed}\\n")
while time.monotonic() < end:
    permits, channel, rounds = Semaphore(0), Channel(1), rounds + 1
    later, kind = chosen.random() * 0.004, chosen.randrange(6)
    waits = start(permits.acquire)
    if kind == 0:
        start(lambda: (sleep(later), permits.release()))
    elif kind == 1:
        start(lambda: (io.offload(time.sleep, later), permits.release()))
    elif kind == 2:
        threading.Timer(later, permits.release).start()
    elif kind == 3:
        group.submit(lambda: (time.sleep(later), permits.release()))
    elif kind == 4:
        receives = start(channel.receive)
        start(lambda: (receives.join(), permits.release()))
        start(lambda: (time.sleep(later), channel.send(1)))
    else:
        async def sleeps():
            await coroutine.sleep(later)
            permits.release()
        start(sleeps)
    waits.join()
print(rounds > 10)
"""


@pytest.mark.slow
def test_random_programs_that_look_all_the_time_find_no_deadlock() -> None:
    out, err = program(RANDOM)
    assert out.splitlines() == ["True", "ended"], err


RACE = """
import random
rounds = 0
end = time.monotonic() + 5
waiting.EACH_S = 0.001
while time.monotonic() < end:
    permits, rounds = Semaphore(0), rounds + 1
    thread = start(permits.acquire)
    threading.Timer(random.random() * 0.01, permits.release).start()
    thread.join()
print(rounds > 10)
"""


@pytest.mark.slow
def test_a_look_at_the_moment_of_a_wake_finds_no_deadlock() -> None:
    """Found once: the thread had ended between two readings, and of none each was parked."""
    out, err = program(RACE, carriers=1)
    assert (out.splitlines(), err) == (["True", "ended"], "")
