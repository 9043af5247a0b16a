# SPDX-License-Identifier: Apache-2.0
"""Print what wakeproof.schedules and its peers find in the same programs, and how long it takes.

Usage: python schedules.py [--again TOOL...]                print the tables
       python schedules.py --one TOOL NAME broken|mended    print one answer, in the tool's Python

The programs are those of tests/schedules.  The Python needs wakeproof, and is 3.13 or newer; each
peer gets an environment of its own under build/peers, made from the same Python.  Each answer is
made by a process of its own, which has some seconds: then it counts as none.  Answers are kept
under build/peers as well; --again asks these tools anew.

  threads   frontrun starts the threads itself, so a program runs in a greenlet up to there, and
            goes on when they have ended.  interleave-test exchanges what `threading` has: it draws
            orders first, and then goes through those of two preemptions.  ploom knows threads,
            locks and cells of its own: a program gets these in place of `threading`, and has its
            variables in cells (`in_cells`)
  asyncio   each tool runs the program's coroutine: first by lot, and then, if it can, through all
            orders of two deviations.  Where a task is to be cancelled, a task beside the program
            cancels one, at a time that the tool draws; wakeproof does so by itself
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import inspect
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / "build" / "peers" / "schedules"
ANSWERS = ENVIRONMENTS / "answers.json"
SECONDS = 30.0
FIRST = 300
"""Schedules by lot, before a search that is exhaustive within a bound."""
BOUND = 2

Said = tuple[str, str]
"""A verdict, and more about it."""

LOT = "nothing found"


def bugs_of(name: str) -> Any:
    """Return the module whose program that is."""
    sys.path.insert(0, str(ROOT))
    module = importlib.import_module("tests.schedules.bugs_of_asyncio")
    of_threads = importlib.import_module("tests.schedules.bugs")
    is_of_threads = name in vars(of_threads) or name == "count_of_callbacks_beside_their_queue"
    return of_threads if is_of_threads else module


def kind_of(error: BaseException | str) -> str:
    """Return what an error says of a program."""
    name = error if isinstance(error, str) else type(error).__name__
    if "eadlock" in name:
        return "deadlock"
    return "assertion" if name == "AssertionError" else f"exception {name}"


# ---- threads ----


def by_wakeproof(name: str, mended: bool) -> Said:
    """Return what wakeproof says."""
    from wakeproof.judge.schedules.explore import Options, explore

    bug = bugs_of(name).BUGS[name]
    found = explore(lambda: bug.program(mended), Options(**bug.options, seconds=SECONDS))
    return found.verdict, f"{found.schedules} runs"


def by_frontrun(name: str, mended: bool) -> Said:
    """Return what frontrun says."""
    import frontrun
    import greenlet

    bugs = bugs_of(name)
    bug = bugs.BUGS[name]
    if "together(" not in inspect.getsource(bug.program):
        return "cannot", "the program starts its threads itself"
    hub = greenlet.getcurrent()
    calls: list[list[Callable[[], object]]] = []

    def together(*those: Callable[[], object]) -> None:
        calls.append(list(those))
        hub.switch()

    def setup() -> Any:
        program = greenlet.greenlet(lambda: bug.program(mended))
        program.switch()
        return program, calls.pop()

    def invariant(state: Any) -> bool:
        try:
            state[0].switch()
        except AssertionError:
            return False
        return True

    for module in bugs, sys.modules["tests.schedules.bugs_of_asyncio"]:
        vars(module)["together"] = together
    _, those = setup()
    try:
        found = frontrun.explore(
            setup=setup,
            workers=[lambda state, at=at: state[1][at]() for at in range(len(those))],
            invariant=invariant,
            total_timeout=SECONDS,
        )
    except Exception as error:
        return f"raises {type(error).__name__}", str(error)
    said = {True: "holds", False: "fails", None: "inconclusive"}[found.property_holds]
    return said, f"{found.num_explored} runs; {found.inconclusive_reason or ''}"


def by_interleave_test(name: str, mended: bool) -> Said:
    """Return what interleave-test says."""
    import interleave_test
    from interleave_test._strategies import DFSStrategy

    ends = time.perf_counter() + SECONDS

    class Timed(DFSStrategy):  # type: ignore[misc]
        def more(self) -> bool:
            return bool(super().more()) and time.perf_counter() < ends

    bug = bugs_of(name).BUGS[name]
    runs = 0
    search: Any = Timed(BOUND)
    for strategy in "random", search:
        result = interleave_test.explore(
            lambda: bug.program(mended),
            iterations=FIRST if strategy == "random" else 1_000_000,
            strategy=strategy,
            seed=1,
            raise_on_failure=False,
            timeout=SECONDS,
        )
        runs += result.schedules_run
        if result.failure is not None:
            error = result.failure.exception
            return kind_of(error or result.failure.kind), f"{runs} runs"
    if search._frontier:
        return LOT, f"{runs} runs"
    return f"holds within {BOUND}", f"{runs} runs"


def by_ploom(name: str, mended: bool) -> Said:
    """Return what ploom says."""
    import ploom

    root = str(ROOT)

    def scenario() -> None:  # in a process of its own
        sys.path[:0] = [root, root + "/bench/peers"]
        own = vars(importlib.import_module("schedules"))["in_cells"]().get(name)
        if own is not None:
            own(mended)
            return
        bugs = importlib.import_module("tests.schedules.bugs")
        ours = importlib.import_module("ploom")
        bugs.threading = SimpleNamespace(Thread=ours.Thread, Lock=ours.Lock)  # type: ignore[attr-defined]
        bugs.time = SimpleNamespace(sleep=lambda _: ours.yield_now())  # type: ignore[attr-defined]
        bugs.BUGS[name].program(mended)

    limits = ploom.Config(
        max_executions=1_000_000, timeout=SECONDS, max_preemptions=BOUND, minimize_executions=0
    )
    code = inspect.getsource(bugs_of(name).BUGS[name].program)
    for lacking in ("Condition", "Event", "Semaphore", "Barrier", "Timer", "Queue", "Future",
                    "ThreadPoolExecutor"):  # fmt: skip
        if lacking in code and name not in in_cells():
            return "cannot", f"has no {lacking}"
    try:
        found = ploom.check(scenario, config=limits, trace_dir=ENVIRONMENTS / "traces")
    except ploom.DeadlockError:
        return "deadlock", ""
    except ploom.ModelCheckError as error:
        return kind_of(str(error).partition(":")[0].rpartition(".")[2]), str(error)
    except ploom.IncompleteExplorationError:
        return LOT, ""
    return f"holds within {BOUND}", f"{found.executions} runs"


def in_cells() -> dict[str, Callable[[bool], None]]:
    """Return those programs whose variables threads share, with ploom's cells."""
    import ploom

    def together(*calls: Callable[[], object]) -> None:
        threads = [ploom.Thread(target=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def lock(mended: bool) -> Any:
        return ploom.Lock() if mended else contextlib.nullcontext()

    def counter(mended: bool) -> None:
        guard, count = lock(mended), ploom.SharedCell(0)

        def add() -> None:
            with guard:
                count.write(count.read() + 1)

        together(add, add)
        assert count.read() == 2

    def double_checked(mended: bool) -> None:
        guard, only, made = ploom.Lock(), ploom.SharedCell(None), []

        def get() -> None:
            if only.read() is None:
                with guard:
                    if not mended or only.read() is None:
                        made.append(1)
                        only.write(True)

        together(get, get)
        assert len(made) == 1

    def published(mended: bool) -> None:
        shared, port = ploom.SharedCell(False), ploom.SharedCell(0)

        def write() -> None:
            if mended:
                port.write(80)
            shared.write(True)
            port.write(80)

        def read() -> None:
            if shared.read():
                assert port.read() == 80

        together(write, read)

    def flag(mended: bool) -> None:
        guard, taken, got = lock(mended), ploom.SharedCell(False), []

        def take() -> None:
            with guard:
                if not taken.read():
                    taken.write(True)
                    got.append(1)

        together(take, take)
        assert len(got) == 1

    def key(mended: bool) -> None:
        value = ploom.SharedCell(1)  # None: it is not there

        def use() -> None:
            if mended:
                value.read()
            elif value.read() is not None and value.read() is None:
                raise KeyError("a")

        together(use, lambda: value.write(None))

    def looks(mended: bool) -> None:
        guard, done = ploom.Lock(), ploom.SharedCell(False)

        def look() -> None:
            while True:
                with guard:
                    while not done.read():
                        if mended:
                            break
                        ploom.yield_now()
                    else:
                        return
                ploom.yield_now()

        def do() -> None:
            with guard:
                done.write(True)

        together(do, look)

    return {
        "counter_without_a_lock": counter,
        "double_checked_without_the_second_check": double_checked,
        "published_before_it_is_whole": published,
        "flag_looked_at_and_then_set": flag,
        "key_deleted_between_look_and_use": key,
        "looks_again_and_again_with_the_lock_held": looks,
    }


# ---- asyncio ----


def coroutine_of(name: str, mended: bool, draw: Callable[[int], int]) -> Awaitable[None]:
    """Return the program as a coroutine, which has one of its tasks cancelled if it is to be."""
    bug = bugs_of(name).BUGS[name]
    mains: list[Any] = []
    asyncio.run, before = mains.append, asyncio.run  # type: ignore[assignment]
    try:
        bug.program(mended)
    finally:
        asyncio.run = before
    (main,) = mains
    if not bug.options.get("cancels"):
        return main  # type: ignore[no-any-return]

    async def cancels_one(*not_these: Any) -> None:
        for _ in range(draw(8)):
            await asyncio.sleep(0)
        some = asyncio.all_tasks() - {asyncio.current_task(), *not_these}
        if some:
            by_name = sorted(some, key=lambda task: (len(task.get_name()), task.get_name()))
            by_name[draw(len(by_name))].cancel()

    async def both() -> None:
        beside = asyncio.ensure_future(cancels_one(asyncio.current_task()))
        with contextlib.suppress(asyncio.CancelledError):
            await main
        await beside

    return both()


def by_detangle(name: str, mended: bool) -> Said:
    """Return what detangle says."""
    import detangle

    runs = 0
    for strategy in None, detangle.DFS(max_delays=BOUND):
        try:
            found = detangle.explore(
                lambda: coroutine_of(name, mended, lambda most: detangle.randint(0, most - 1)),
                runs=1_000_000 if strategy else FIRST,
                strategy=strategy,
                max_duration=SECONDS,
                shrink=False,
                database=False,
                seed=1,
            )
        except detangle.BugFound as error:
            failure = error.report.failure
            kind = failure.kind
            cause = failure.exception
            said = kind if kind == "deadlock" or cause is None else kind_of(cause)
            return said, f"{runs + error.report.runs} runs"
        runs += found.runs
    return (f"holds within {BOUND}" if found.exhausted else LOT), f"{runs} runs"


def by_simloom(name: str, mended: bool) -> Said:
    """Return what simloom says."""
    import simloom

    async def main() -> None:
        await coroutine_of(name, mended, lambda most: simloom.draw("cancel", most))

    found: Any = simloom.explore(main, runs=FIRST)
    if not found.failures:
        found = simloom.explore_systematic(main, max_delays=BOUND)
    if found.failures:
        return kind_of(found.failures[0].error), f"{found.failures[0].seed} runs"
    return (f"holds within {BOUND}" if found.proven_correct else LOT), f"{found.schedules} runs"


def by_simloop(name: str, mended: bool) -> Said:
    """Return what simloop says."""
    import simloop

    async def main() -> None:
        await coroutine_of(name, mended, simloop.sim.random.randrange)

    found = simloop.explore(main, range(2 * FIRST))
    if found is not None:
        return kind_of(found.exception), f"{found.seeds_passed + 1} runs"
    return LOT, f"{2 * FIRST} runs"


def by_seedloop(name: str, mended: bool) -> Said:
    """Return what seedloop says."""
    import seedloop

    async def scenario(world: Any) -> None:
        await coroutine_of(name, mended, world.rng.randrange)

    found = seedloop.check(scenario, seeds=2 * FIRST, on_failure="return")
    if found.error is not None:
        return kind_of(found.error), f"{found.checked} runs"
    return LOT, f"{found.checked} runs"


OWN_LOOP = "loop_closed_after_a_worker_has_looked"
"""A program that makes its loop itself."""

THREADS: dict[str, Callable[[str, bool], Said]] = {
    "wakeproof": by_wakeproof, "frontrun": by_frontrun, "interleave-test": by_interleave_test,
    "ploom": by_ploom,
}  # fmt: skip
ASYNCIO: dict[str, Callable[[str, bool], Said]] = {
    "wakeproof": by_wakeproof, "detangle": by_detangle, "simloom": by_simloom,
    "simloop": by_simloop, "seedloop": by_seedloop,
}  # fmt: skip
VERSIONS = {
    "detangle": "0.1.0", "frontrun": "0.7.0", "interleave-test": "0.1.0", "ploom": "0.1.1",
    "seedloop": "0.4.1", "simloom": "0.5.0", "simloop": "0.2.2",
}  # fmt: skip
ALSO = {"frontrun": ["greenlet"]}


# ---- the tables ----


def print_one(tool: str, name: str, how: str) -> None:
    """Print what a tool says of a program, as JSON, in the last line."""
    is_ours = tool == "wakeproof"
    importlib.import_module(
        f"{tool}.judge.schedules.explore" if is_ours else tool.replace("-", "_")
    )
    bugs_of(name)
    began = time.perf_counter()
    try:
        if name == OWN_LOOP and not is_ours:
            raise RuntimeError("the program makes its loop itself")
        said, more = (THREADS | ASYNCIO)[tool](name, how == "mended")
    except Exception as error:
        said, more = "cannot", f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    took = time.perf_counter() - began
    print("\n" + json.dumps([said, took, more]), flush=True)
    os._exit(0)  # threads that a tool has left wait for ever


def python_of(tool: str) -> str:
    """Return the Python that has the tool; make its environment if there is none."""
    if tool == "wakeproof":
        return sys.executable
    where = ENVIRONMENTS / tool
    python = where / "bin" / "python"
    if not (where / "is_made").exists():
        venv.create(where, clear=True, with_pip=True)
        packages = [f"{tool}=={VERSIONS[tool]}", *ALSO.get(tool, ())]
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        (where / "is_made").touch()
    return str(python)


def asked(tool: str, name: str, how: str) -> tuple[str, float, str]:
    """Return what a tool says of a program, and after how many seconds."""
    command = [python_of(tool), __file__, "--one", tool, name, how]
    if tool == "frontrun":
        command = [str(Path(command[0]).with_name("frontrun")), "python", *command[1:]]
    path = f"{Path(python_of(tool)).parent}{os.pathsep}{os.environ['PATH']}"
    pinned = {"PYTHONHASHSEED": "0"}  # simloom asks for it
    limit = 2 * SECONDS
    try:
        run = subprocess.run(
            command, env={**os.environ, "PATH": path, **pinned}, capture_output=True, text=True,
            timeout=limit, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        said, took, more = json.loads(run.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return "no answer", limit, ""
    except (IndexError, ValueError):
        return "ends", 0.0, (run.stderr.splitlines() or [""])[-1]
    return said, took, more


def print_table(tools: list[str], names: list[str], answers: dict[str, list[Any]]) -> None:
    """Print a row for each program, as Markdown, and on stderr each answer as it comes."""
    print(f"| program | {' | '.join(tools)} |")
    print("|---" * (len(tools) + 1) + "|")
    for name in names:
        cells = []
        for tool in tools:
            texts = []
            for how in "broken", "mended":
                key = f"{tool} {name} {how}"
                if key not in answers:
                    answers[key] = list(asked(tool, name, how))
                    print(key, *answers[key], file=sys.stderr)
                    ANSWERS.write_text(json.dumps(answers))
                said, took, _ = answers[key]
                texts.append(said if said == "cannot" else f"{said} {took:.2f}")
            cells.append("cannot" if texts == ["cannot"] * 2 else "; ".join(texts))
        print(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |", flush=True)
    print()


def main() -> None:
    """Print the tables, or one answer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--again", nargs="*", default=[], metavar="TOOL")
    parser.add_argument("--one", nargs=3, metavar=("TOOL", "NAME", "HOW"))
    parsed = parser.parse_args()
    if parsed.one:
        print_one(*parsed.one)
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    kept = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    answers = {key: one for key, one in kept.items() if key.split()[0] not in parsed.again}
    of_threads = bugs_of("together")
    for tools, is_theirs in (THREADS, True), (ASYNCIO, False):
        names = [name for name in of_threads.BUGS if (bugs_of(name) is of_threads) == is_theirs]
        print_table(list(tools), names, answers)


if __name__ == "__main__":
    main()
