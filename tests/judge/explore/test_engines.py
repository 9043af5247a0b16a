"""The two engines have the published numbers, and agree on compiled code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.litmus import LITMUS, STATES

from wakeproof.judge.explore import litmus
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.run import ExploreReport, explore
from wakeproof.judge.stress.grading import HELD

ROOT = Path(__file__).resolve().parents[3]
NUMBERS = STATES
SMALL = {  # and the least number of scenarios
    "parker": 5, "guard": 10, "mpsc": 4, "biased_lock": 2, "idle_set": 4, "carrier(?!_tasks)": 8,
    "search_(fragments|internal|reenqueue|unstealable)": 10,
}  # fmt: skip


def states_of(name: str, **options: object) -> Result:
    """Explore a futex program by the state engine under SC."""
    chosen = ExploreOptions(models=(Model.SC,), engine="states", loop_bound=0, **options)  # type: ignore[arg-type]
    text = LITMUS[name]
    return litmus.explore([text], (Model.SC,), chosen, examples=True)[0][Model.SC]


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_drepper_s_mutexes_have_their_published_states_edges_and_depths(name: str) -> None:
    expected = NUMBERS[name]
    result = states_of(name)
    assert result.exhaustive
    if "states" in expected:
        assert (result.states, result.edges) == (expected["states"], expected["edges"])
    bad = {found.verdict: found for found in result.outcomes if found.verdict != "ended"}
    if expected["verdict"] == "ok":
        assert not bad
    else:
        # Two threads in the critical section do race.
        same = {"lost_wakeup": "asleep", "race": "assertion"}
        assert expected["verdict"] in {same.get(kind, kind) for kind in bad}
    if "depth" in expected:
        found = bad.get("race") or bad.get("asleep") or bad["lost_wakeup"]
        steps = [e for e in found.example if e.kind not in ("fail", "plain_load", "plain_store")]
        assert len(steps) == expected["depth"]


Mutex2 = tuple[int, tuple[tuple[str, int], ...]]
"""The word; of each thread, which operation comes next, and what it has read."""


def steps_of_mutex2(state: Mutex2) -> Iterator[Mutex2]:
    """Return the steps of Drepper's mutex 2 in a state, one operation at a time."""
    word, threads = state
    for at, (comes, old) in enumerate(threads):

        def to(word: int, comes: str, old: int, woken: int = -1, at: int = at) -> Mutex2:
            after = [("take", it[1]) if n == woken else it for n, it in enumerate(threads)]
            after[at] = (comes, old)
            return word, tuple(after)

        again = to(word, "sleep" if word == 2 else "mark", word)
        match comes:
            case "lock":
                yield to(1, "inside", 0) if word == 0 else again
            case "mark":
                yield to(2 if word == 1 else word, "sleep" if word else "take", old)
            case "sleep":
                yield to(word, "asleep" if word == 2 else "take", old)
            case "take":
                yield to(2, "inside", 0) if word == 0 else again
            case "inside":
                yield to(word, "unlock", old)
            case "unlock":
                yield to(0, "over", 0) if word == 1 else to(word - 1, "free", word)
            case "free":
                yield to(0, "wake", old)
            case "wake":
                sleepers = [n for n, (comes, _) in enumerate(threads) if comes == "asleep"]
                yield from (to(word, "over", 0, n) for n in sleepers or [-1])


@pytest.mark.parametrize("threads", [2, 3])
def test_drepper_s_mutex_2_has_as_many_states_and_edges_as_a_model_of_it(threads: int) -> None:
    first: Mutex2 = (0, (("lock", 0),) * threads)
    known, new, edges = {first}, [first], 0
    while new:
        after = list(steps_of_mutex2(new.pop()))
        edges += len(after)
        new += (unknown := set(after) - known)
        known |= unknown
    result = states_of(f"F2_n{threads}")
    assert (result.states, result.edges) == (len(known), edges)


def test_spurious_wakeups_hide_no_deadlock() -> None:
    bad = {found.verdict for found in states_of("F6_n2", spurious=1).outcomes}
    assert bad & {"asleep", "lost_wakeup"}


@pytest.mark.parametrize(
    ("second", "verdicts"),
    [
        ("  store x 1 relaxed\n  wake x 1\n", {"ended"}),
        ("  wake x 1\n  store x 1 relaxed\n", {"ended", "asleep"}),
    ],
)
@pytest.mark.parametrize("model", [Model.TSO, Model.RC11])
def test_a_wait_that_comes_first_in_its_thread_sees_what_was_before_the_wake(
    second: str, verdicts: set[str], model: Model
) -> None:
    text = f"program first\nthread\n  wait x 0\nthread\n{second}"
    options = ExploreOptions(engine="graphs", loop_bound=0, timeouts=False)
    found = litmus.explore([text], (model,), options, examples=True)[0][model]
    assert found.exhaustive
    kinds = {"lost_wakeup": "asleep"}
    assert {kinds.get(one.verdict, one.verdict) for one in found.outcomes} == verdicts


def explored(file: Path | None, regex: str, **options: object) -> ExploreReport:
    chosen = ExploreOptions(**options)  # type: ignore[arg-type]
    return explore([file] if file else None, regex, chosen, twins=False, jobs=2)


@pytest.mark.slow
@pytest.mark.parametrize("scenarios", SMALL)
def test_both_engines_see_the_same_outcomes_of_the_kernel(scenarios: str) -> None:
    report = explored(None, f"^{scenarios}", models=(Model.SC, Model.TSO), engine="both")
    assert len(report.scenarios) >= SMALL[scenarios]
    assert {scenario.name: scenario.messages for scenario in report.scenarios
            if scenario.status != HELD} == {}  # fmt: skip
    for scenario in report.scenarios:
        assert {judged.result.engine for judged in scenario.judged} == {"graphs", "states"}
        assert all(judged.result.exhaustive for judged in scenario.judged), scenario.name


def test_litmus_of_compiled_code_tells_the_models_apart() -> None:
    file = ROOT / "tests" / "judge" / "scenarios" / "litmus.c"
    report = explored(file, "litmus", engine="both")
    seen = {
        (scenario.name, judged.model.value): judged.result.texts
        for scenario in report.scenarios
        for judged in scenario.judged
    }
    weak = {key: "0,0" in texts for key, texts in seen.items()}
    assert not weak["litmus_buffering", "sc"]
    assert weak["litmus_buffering", "tso"]
    assert weak["litmus_buffering", "rc11"]
    assert not weak["litmus_fenced", "rc11"]
    assert not weak["litmus_update_is_no_fence", "tso"]
    assert weak["litmus_update_is_no_fence", "rc11"]
    assert all("2,1" not in seen["litmus_independent_reads", model.value] for model in MODELS)


def test_seven_threads_that_add_have_5040_executions_each_once() -> None:
    threads = "thread\n  r0 = add x 1 seq_cst\n" * 7
    options = ExploreOptions(engine="graphs", check_duplicates=True)
    text = f"program adds\n{threads}observe x\n"
    result = litmus.explore([text], (Model.RC11,), options)[0][Model.RC11]
    assert (result.executions, result.duplicates, result.exhaustive) == (5040, 0, True)
