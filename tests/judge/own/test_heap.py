# SPDX-License-Identifier: Apache-2.0
"""Memory that a program allocates: who gets a freed block again, and what is never freed."""

from __future__ import annotations

import pytest
from tests.support.own import may_leak, of_text, verdicts

ENDED = "ended ended ended"
LOST = "assertion assertion assertion"

STACK = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node { struct node *next; int n; };
static _Atomic(struct node *) head;
static void push(struct node *node) {
    node->next = atomic_load(&head);
    while (!atomic_compare_exchange_weak(&head, &node->next, node)) ;
}
static struct node *made(int n) {
    struct node *node = malloc(sizeof *node);
    node->n = n;
    return node;
}
static void *adds(void *a) { push(made(1)); return a; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, adds, 0);
    push(made(2));
    pthread_join(thread, 0);
    struct node *top = atomic_load(&head);
    %s
}
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param("return 0;", ENDED, id="a pointer in static data leads to both"),
        pytest.param("atomic_store(&head, top->next); free(top); return 0;", ENDED, id="freed"),
        pytest.param("atomic_store(&head, top->next); return 0;", LOST, id="popped, not freed"),
        pytest.param("atomic_store(&head, top->next); exit(!top);", ENDED, id="main still has it"),
        pytest.param(
            "static void *inside; inside = &top->n; atomic_store(&head, 0);"
            "free(top->next); return !inside;",
            ENDED,
            id="a pointer into it",
        ),
        pytest.param(
            "static char *behind; behind = (char *)(top + 1) + 64; atomic_store(&head, 0);"
            "free(top->next); return !behind;",
            LOST,
            id="a pointer far behind it",
        ),
        pytest.param(
            "top->next->next = top; atomic_store(&head, 0); return 0;", LOST, id="a ring of two"
        ),
    ],
)
def test_a_block_without_a_pointer_to_it_is_a_leak(end: str, expected: str) -> None:
    results = of_text(STACK % end)
    assert verdicts(results) == expected
    if expected == LOST:
        for result in results.values():
            (found,) = result.outcomes
            assert "16 bytes are lost" in found.example[-1].text
            assert found.example[-1].site is not None
            assert found.example[-1].site.line == 12  # where it was allocated


def test_a_leak_in_one_interleaving_is_found() -> None:
    """Both threads may see that there is nothing yet; the second store then loses a block."""
    text = """
    #include <pthread.h>
    #include <stdatomic.h>
    #include <stdlib.h>
    static _Atomic(int *) once;
    static void *uses(void *a) {
        if (!atomic_load(&once)) { int *made = malloc(4); *made = 3; %s }
        return a;
    }
    int main(void) {
        pthread_t t;
        pthread_create(&t, 0, uses, 0);
        uses(0);
        pthread_join(t, 0);
        return *atomic_load(&once) != 3;
    }
    """
    store = "atomic_store(&once, made);"
    frees = "int *none = 0; if (!atomic_compare_exchange_strong(&once, &none, made)) free(made);"
    lost = of_text(text % store)
    assert verdicts(lost) == LOST
    assert all(result.verdicts == {"ended", "assertion"} for result in lost.values())
    assert verdicts(of_text(text % frees)) == ENDED


def test_leaks_are_looked_for_once_every_thread_was_joined() -> None:
    text = """
    #include <pthread.h>
    #include <stdlib.h>
    static void *f(void *a) { return malloc(8); }
    int main(void) {
        pthread_t t; void *made;
        pthread_create(&t, 0, f, 0);
        %s
        return 0;
    }
    """
    assert verdicts(of_text(text % "pthread_detach(t); (void)made;")) == ENDED
    assert verdicts(of_text(text % "pthread_join(t, &made); free(made);")) == ENDED
    assert verdicts(of_text(text % "pthread_join(t, &made);")) == LOST


def test_all_blocks_of_all_threads_are_followed() -> None:
    """5000 blocks, more than one thread may have; the first that was allocated is the last."""
    text = """
    #include <pthread.h>
    #include <stdlib.h>
    struct node { struct node *next; } *mine, *its;
    static void fill(struct node **list) {
        for (int i = 0; i < 2500; i++) {
            struct node *node = malloc(sizeof(*node));
            node->next = *list;
            *list = node;
        }
    }
    static void *f(void *a) { fill(&its); return a; }
    int main(void) {
        pthread_t t;
        pthread_create(&t, 0, f, 0);
        pthread_join(t, 0);
        fill(&mine);
        %s
        return 0;
    }
    """
    assert verdicts(of_text(text % "")) == ENDED
    assert verdicts(of_text(text % "mine->next->next = 0;")) == LOST


def test_a_thread_that_still_runs_may_have_blocks() -> None:
    text = """
    #include <pthread.h>
    #include <stdatomic.h>
    #include <stdlib.h>
    static atomic_int has_made, other;
    static void *f(void *a) {
        void *made = malloc(8);
        has_made = 1;
        other = 1;
        free(made);
        return a;
    }
    int main(void) {
        pthread_t t;
        pthread_create(&t, 0, f, 0);
        while (!has_made) ;
        return 0;
    }
    """
    assert verdicts(of_text(text)) == ENDED


def test_the_last_value_of_modification_order_counts() -> None:
    """Whichever pointer main finds and frees, the other one is lost."""
    text = """
    #include <pthread.h>
    #include <stdatomic.h>
    #include <stdlib.h>
    static _Atomic(void *) last;
    static void *f(void *a) { atomic_store_explicit(&last, malloc(8), %s); return a; }
    int main(void) {
        pthread_t t[2];
        for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0);
        for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
        free(atomic_load(&last));
        return 0;
    }
    """
    for order in ("memory_order_relaxed", "memory_order_seq_cst"):
        for result in of_text(text % order).values():
            assert (result.verdicts, result.exhaustive) == ({"assertion"}, True)
            assert sum(found.count for found in result.outcomes) >= 2


def test_leaks_are_no_defect_if_the_user_says_so() -> None:
    text = "#include <stdlib.h>\nint main(void) { return !malloc(8); }"
    assert verdicts(of_text(text)) == LOST
    assert verdicts(of_text(text, change=may_leak)) == ENDED


REUSED = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(int *) taken;
static int same;
static void *frees(void *first) {
    free(first);
    int *second = malloc(4);
    same = second == first;
    free(second);
    return 0;
}
int main(void) {
    pthread_t t;
    int *first = malloc(4);
    pthread_create(&t, 0, frees, first);
    pthread_join(t, 0);
    return %s;
}
"""


def test_who_frees_a_block_of_another_thread_may_get_it_again() -> None:
    """An ABA problem needs that: the node that is popped and freed was pushed by another thread."""
    for broken in ("same", "!same"):
        results = of_text(REUSED % broken)
        assert all(result.verdicts == {"ended", "assertion"} for result in results.values())
