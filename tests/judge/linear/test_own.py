# SPDX-License-Identifier: Apache-2.0
"""A user's own object against a sequential model in Python."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.running import run

from wakeproof.errors import UsageError
from wakeproof.judge.linear import own
from wakeproof.judge.linear.own import History, LinearModel, Operation, OwnLinearReport
from wakeproof.judge.own.program import Program

LINEAR = (sys.executable, "-m", "wakeproof", "linear")
HEAD = """
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include "linear.h"
"""
STACK = """
struct node { struct node *next; int value; };
static _Atomic(struct node *) head;
static struct node nodes[3];
static void push(int value) {
    struct node *node = &nodes[value], *next = atomic_load(&head);
    linear_call(push, value);
    node->value = value;
    %s
    linear_return(0);
}
static void pop(void) {
    linear_call(pop, 0);
    struct node *top = atomic_load(&head);
    while (top && !atomic_compare_exchange_weak(&head, &top, top->next)) ;
    linear_return(top ? top->value : 0);
}
static void *f(void *a) { push(1); pop(); return a; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, f, NULL);
    push(2);
    pop();
    pthread_join(t, NULL);
    return 0;
}
"""
SOUND = "do node->next = next; while (!atomic_compare_exchange_weak(&head, &next, node));"
CARELESS = "node->next = next; atomic_store(&head, node);"
LIFO = """
class Model:
    def __init__(self):
        self.items = []
    def push(self, value):
        self.items.append(value)
    def pop(self, _):
        return self.items.pop() if self.items else 0
"""
FIFO = LIFO.replace("pop()", "pop(0)")
HELD = {"SC": True, "TSO": True, "RC11": True}
BROKEN = dict.fromkeys(HELD, False)


def _checked(folder: Path, text: str, model: str, *flags: str) -> OwnLinearReport:
    (folder / "mine.c").write_text(HEAD + text, "utf-8")
    (folder / "model.py").write_text(model, "utf-8")
    return own.linear(Program((folder / "mine.c",), flags), folder / "model.py")


def _held(found: OwnLinearReport) -> dict[str, bool]:
    """Return by memory model whether every history was explained; all ends must be good."""
    for one in found.program.judged:
        assert one.result.verdicts == {"ended"}
        assert (one.result.exhaustive, one.result.error) == (True, "")
        assert (one.status == "violated") == bool(found.unexplained[one.model.label])
    return {label: not bad for label, bad in found.unexplained.items()}


def test_a_stack_is_a_stack_and_no_queue(tmp_path: Path) -> None:
    found = _checked(tmp_path, STACK % SOUND, LIFO)
    assert _held(found) == HELD
    assert found.holds
    assert found.returned.keys() == {"push 0", "pop 1", "pop 2"}
    assert found.histories["SC"] > found.histories["TSO"] == found.histories["RC11"] > 2
    assert not _checked(tmp_path, STACK % SOUND, FIFO).holds


def test_a_lost_push_is_found_and_shown(tmp_path: Path) -> None:
    found = _checked(tmp_path, STACK % CARELESS, LIFO)
    assert _held(found) == BROKEN
    history, count = found.unexplained["RC11"][0]
    assert count > 0
    assert any("pop(0) = 0" in line for line in history.lines)
    assert {one.token.model for one in found.counterexamples} == {"sc", "tso", "rc11"}


EARLY = """
static atomic_int value;
static void *f(void *a) {
    linear_call(set, 1);
    %s
    return a;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, f, NULL);
    linear_call(get, 0);
    linear_return(atomic_load(&value));
    pthread_join(t, NULL);
    return 0;
}
"""
REGISTER = """
class Model:
    value = 0
    def set(self, value):
        self.value = value
    def get(self, _):
        return self.value
"""


def test_under_sc_what_returns_earlier_comes_earlier(tmp_path: Path) -> None:
    """The store comes after the return: too late for who calls after the return."""
    right = EARLY % "atomic_store(&value, 1); linear_return(0);"
    late = EARLY % "linear_return(0); atomic_store(&value, 1);"
    assert _held(_checked(tmp_path, right, REGISTER)) == HELD
    assert _held(_checked(tmp_path, late, REGISTER)) == HELD | {"SC": False}


def test_elsewhere_what_happens_before_comes_earlier(tmp_path: Path) -> None:
    """Who joins a thread knows all that it has returned from."""
    text = EARLY.replace("linear_call(get, 0);\n", "").replace(
        "linear_return(atomic_load(&value));\n    pthread_join(t, NULL);",
        "pthread_join(t, NULL); linear_call(get, 0); linear_return(%s);",
    )
    right = text % ("atomic_store(&value, 1); linear_return(0);", "atomic_load(&value)")
    wrong = text % ("atomic_store(&value, 1); linear_return(0);", "0")
    assert _held(_checked(tmp_path, right, REGISTER)) == HELD
    assert _held(_checked(tmp_path, wrong, REGISTER)) == BROKEN


def test_a_store_that_is_known_does_not_make_the_return_known(tmp_path: Path) -> None:
    """Who reads the last store of an operation may do so before that operation returns."""
    text = """
    static atomic_int value;
    static void *f(void *a) {
        linear_call(set, 1);
        atomic_store_explicit(&value, 1, memory_order_release);
        linear_return(0);
        %s
        return a;
    }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        while (!atomic_load_explicit(&%s, memory_order_acquire)) ;
        linear_call(get, 0);
        linear_return(0);
        pthread_join(t, NULL);
        return 0;
    }
    """
    assert _held(_checked(tmp_path, text % ("", "value"), REGISTER)) == HELD | {"SC": False}
    later = "static atomic_int done;" + text % (
        "atomic_store_explicit(&done, 1, memory_order_release);",
        "done",
    )
    assert _held(_checked(tmp_path, later, REGISTER)) == BROKEN


CELL = """
static atomic_int item, count;
static void *f(void *a) {
    linear_call(push, 7);
    atomic_store_explicit(&item, 7, memory_order_relaxed);
    atomic_fetch_add_explicit(&count, 1, memory_order_ORDER);
    linear_return(0);
    return a;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, f, NULL);
    linear_call(pop, 0);
    linear_return(atomic_load(&count) ? atomic_load(&item) : -1);
    pthread_join(t, NULL);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("order", "expected"), [("release", HELD), ("relaxed", HELD | {"RC11": False})]
)
def test_a_weak_order_shows_in_a_history(
    tmp_path: Path, order: str, expected: dict[str, bool]
) -> None:
    model = LIFO.replace("else 0", "else -1")
    assert _held(_checked(tmp_path, CELL.replace("ORDER", order), model)) == expected


def test_an_operation_that_waits_cannot_happen_before_it_may(tmp_path: Path) -> None:
    text = """
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t has_item = PTHREAD_COND_INITIALIZER;
    static int items;
    static void *f(void *a) {
        linear_call(pop, 0);
        pthread_mutex_lock(&mutex);
        while (!items) pthread_cond_wait(&has_item, &mutex);
        items--;
        pthread_mutex_unlock(&mutex);
        linear_return(1);
        return a;
    }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        linear_call(push, 1);
        pthread_mutex_lock(&mutex);
        items++;
        pthread_cond_signal(&has_item);
        pthread_mutex_unlock(&mutex);
        linear_return(0);
        pthread_join(t, NULL);
        return 0;
    }
    """
    waits = LIFO.replace("else 0", "else NotImplemented")
    assert _held(_checked(tmp_path, text, waits)) == HELD
    early = text.replace("linear_call(push, 1);", "").replace(
        "linear_return(0);", "linear_call(push, 1); linear_return(0);"
    )
    assert _held(_checked(tmp_path, early, waits))["SC"] is False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said"),
    [
        (LIFO.replace("def push", "def put"), "Model has no method push"),
        (LIFO.replace("append(value)", "append(1 / 0)"), "push.2. raises ZeroDivisionError"),
        (LIFO.replace("self.items.append(value)", "return 'x'"), "push.2. returns 'x': allowed"),
        (LIFO.replace("self):\n", "self, size):\n"), "a new Model raises TypeError"),
        (LIFO.replace("[]\n", "[lambda: 0]\n"), "a new Model raises .*pickle"),
        ("x = 1", "needs a class Model; there is none"),
        ("class A: pass\nclass B: pass", "there is A, B"),
        ("1 +", "SyntaxError"),
    ],
)
def test_a_model_that_is_none_is_refused(tmp_path: Path, model: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _checked(tmp_path, STACK % SOUND, model)


def test_a_program_without_marks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="use linear_call and linear_return"):
        _checked(tmp_path, "int main(void) { return 0; }", LIFO)


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ("linear_call(stack->push, 1); linear_return(0);", "linear_call.stack->push, .*letters"),
        ('wakeproof_call("push ", 1); linear_return(0);', "linear_call.push , .*letters"),
        ("linear_call(push, 1); linear_call(pop, 0);", "calls pop before its last operation"),
        ("linear_return(3);", "returns 3 from no operation"),
        ("linear_call(push, 1); linear_return(0); linear_return(4);", "returns 4 from no"),
    ],
)
def test_marks_that_are_no_history_are_refused(tmp_path: Path, marks: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _checked(tmp_path, f"int main(void) {{ {marks} return 0; }}", LIFO)


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(HEAD + STACK % CARELESS, "utf-8")
    (tmp_path / "model.py").write_text(LIFO, "utf-8")
    ended = run(LINEAR, "mine.c", "--against", "model.py", "--model", "sc", cwd=tmp_path)
    assert ended.returncode == 1
    assert "no order of the operations explains its history" in ended.stdout
    assert "real time" in ended.stdout  # the name of the word that orders calls and returns
    token = next(line for line in ended.stdout.splitlines() if line.startswith("SC: wakeproof"))
    again = run((*LINEAR[:3], "replay"), token.split()[3], cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "history" in again.stdout
    ended = run(LINEAR, "mine.c", "--against", "model.py", "--json", cwd=tmp_path)
    found = json.loads(ended.stdout)
    assert (found["holds"], [one["model"] for one in found["models"]]) == (False, [*HELD])
    for arguments, said in (
        (["mine.c"], "needs its FILEs and --against"),
        (["--against", "model.py"], "needs its FILEs and --against"),
        (["mine.c", "--against", "none.py"], "none.py: there is no such file"),
        (["none.c", "--against", "model.py"], "no file none.c"),
    ):
        ended = run(LINEAR, *arguments, cwd=tmp_path)
        assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


class Stack:
    """As LIFO."""

    def __init__(self) -> None:
        self.items: list[int] = []

    def push(self, value: int) -> int:
        self.items.append(value)
        return 0

    def pop(self, _: int) -> int:
        return self.items.pop() if self.items else 0


NAMES = st.sampled_from([("push", 1, 0), ("push", 2, 0), ("pop", 0, 0), ("pop", 0, 1),
                         ("pop", 0, 2)])  # fmt: skip


@given(st.lists(st.lists(NAMES, max_size=3), min_size=1, max_size=3), st.data())
@settings(max_examples=200, deadline=None)
def test_the_search_finds_an_order_if_there_is_one(
    calls: list[list[tuple[str, int, int]]], data: st.DataObject
) -> None:
    """Against all permutations.  What came before is drawn so that it has no cycle."""
    placed = [(thread, at) for thread, of in enumerate(calls) for at in range(len(of))]
    moments = {place: data.draw(st.integers(0, 9)) for place in placed}
    for thread, at in placed:  # in program order
        moments[thread, at] = max(moments[thread, at], moments.get((thread, at - 1), 0))
    threads = tuple(
        tuple(
            Operation(thread, name, argument, result, tuple(
                (other, sum(moments[other, k] < moments[thread, at] for k in range(len(of))))
                for other, of in enumerate(calls)
                if other != thread and any(moments[other, k] < moments[thread, at]
                                           for k in range(len(of)))
            ))
            for at, (name, argument, result) in enumerate(calls[thread])
        )
        for thread in range(len(calls))
    )  # fmt: skip

    def fits(order: tuple[tuple[int, int], ...]) -> bool:
        stack, done = Stack(), [0] * len(calls)
        for thread, at in order:
            one = threads[thread][at]
            if done[thread] != at or any(done[of] < count for of, count in one.after):
                return False
            if getattr(stack, one.name)(one.argument) != one.result:
                return False
            done[thread] += 1
        return True

    expected = any(map(fits, itertools.permutations(placed))) if len(placed) < 7 else None
    found = LinearModel(Path("model.py"), Stack).explains(History(threads))
    assert expected is None or found == expected


def test_a_file_of_histories_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explored = own._explored

    def elsewhere(*given: Any) -> Any:
        *most, _, tick = given
        return explored(*most, Path("/no/such/place"), tick)

    monkeypatch.setattr(own, "_explored", elsewhere)
    with pytest.raises(UsageError, match="histories, /no/such/place, cannot be written: No such"):
        _checked(tmp_path, STACK % SOUND, LIFO)
