# SPDX-License-Identifier: Apache-2.0
"""What the explorer would not see, or not model, is refused or caught: nothing in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.own import CXX, may_leak, of_program, of_text, verdicts
from tests.support.running import run

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.own.program import Program
from wakeproof.judge.process import Children

ONE = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n"
RUN = """
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, f, NULL);
    f(NULL);
    pthread_join(t, NULL);
    return %s;
}
"""
REFUSED = {
    "inline assembly": (
        'static int n; static void *f(void *a) { __asm__ volatile("lock; incl %0" : "+m"(n)); '
        "return a; }" + RUN % "n != 2",
        "program.c:4: the explorer does not model the instruction `lock incl n(%rip)`",
    ),
    "a load in assembly": (
        "static int n; int main(void) { int v;\n"
        '__asm__ ("movl %1, %0" : "=r"(v) : "m"(n)); return v; }',
        "program.c:5: the explorer does not model the instruction `movl n(%rip), %e",
    ),
    "a system call in assembly": (
        'int main(void) { long r = 39; __asm__ volatile("syscall" : "+a"(r) : : "rcx", "r11"); '
        "return r < 0; }",
        "program.c:4: the explorer does not model the instruction `syscall`",
    ),
    "the network": (
        "#include <sys/socket.h>\nint main(void) { return socket(AF_INET, SOCK_STREAM, 0); }",
        "calls socket, which the explorer does not model",
    ),
    "random numbers": ("int main(void) { return rand(); }", "calls rand, which the explorer"),
    "another process": (
        "#include <unistd.h>\nint main(void) { return fork() < 0; }",
        "calls fork, which the explorer does not model",
    ),
    "sixteen bytes": (
        "struct two { long a, b; }; static _Atomic(struct two) x;\n"
        "int main(void) { struct two now = atomic_load(&x); return (int)now.a; }",
        "an atomic o",
    ),
    "no program": ("int f(void) { return 0; }", "own__main"),
    "a mistake": ("int main(void) { return x; }", "does not compile"),
    "a plain flag": (
        "static int stop; static void *f(void *a) { stop = 1; return a; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, NULL, f, NULL); while (!stop) ; }",
        "loops for ever at ",
    ),
    "a volatile flag": (
        "static volatile int stop; static void *f(void *a) { stop = 1; return a; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, NULL, f, NULL); while (!stop) ; }",
        "--volatile relaxed",
    ),
    "twenty threads": (
        "static void *f(void *a) { return a; }\nint main(void) { pthread_t t[20];\n"
        "for (int i = 0; i < 20; i++) pthread_create(&t[i], NULL, f, NULL);\n"
        "for (int i = 0; i < 20; i++) pthread_join(t[i], NULL); }",
        "more than 16 threads",
    ),
    "a deep stack": (
        "static int f(volatile int n) { volatile int a[999]; a[n % 999] = n; "
        "return f(n + 1) + a[0]; }\nint main(void) { return f(0); }",
        "overflows its stack",
    ),
    "accesses of mixed size": (
        "static union { _Atomic long whole; _Atomic int half; } u;\n"
        "int main(void) { atomic_store(&u.whole, 1); return atomic_load(&u.half) != 1; }",
        "atomic accesses of mixed size",
    ),
    "a system call": (
        "#include <sys/syscall.h>\n#include <unistd.h>\n"
        "int main(void) { return (int)syscall(SYS_getpid); }",
        "is not modelled",
    ),
}
CAUGHT = {
    "a pointer to nothing": (
        "static _Atomic(int *) p; static void *f(void *a) { static int x; atomic_store(&p, &x); "
        "return a; }\nint main(void) { pthread_t t; pthread_create(&t, NULL, f, NULL); "
        "int v = *atomic_load(&p); pthread_join(t, NULL); return v; }",
        "crash", "touches memory that is not there, at 0x0",
    ),
    "freed twice": ("int main(void) { int *p = malloc(4); free(p); free(p); }", "crash",
                    "frees memory that was freed at program.c:4"),
    "used after free": (
        "int main(void) { int *p = malloc(4); *p = 1; free(p); return *p; }", "crash",
        "reads memory that was freed at program.c:4",
    ),
    "behind a block": (
        "int main(void) { int *p = malloc(4 * sizeof(int)); p[4] = 1; free(p); }", "crash",
        "writes 4 bytes 16 bytes behind the start of a block of 16 bytes",
    ),
    "not from malloc": ("int main(void) { int x; free(&x); }", "crash", "malloc did not return"),
    "divided by zero": (
        "int main(int argc, char **argv) { return 7 / (argc - 1); }", "crash", "divides by zero",
    ),
    "aborted": ("int main(void) { abort(); }", "crash", "calls abort"),
    "a return code": ("int main(void) { return 3; }", "assertion", "main returns 3"),
    "an exit code": ("int main(void) { exit(4); }", "assertion", "exits with 4"),
    "another's mutex": (
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "int main(void) { pthread_mutex_unlock(&m); }",
        "crash", "unlocks a mutex that it does not hold",
    ),
    "joined twice over": (
        "int main(void) { pthread_join((pthread_t)5, NULL); }", "crash", "joins what is no thread",
    ),
    "a race on another's stack": (
        "static void *f(void *a) { ++*(int *)a; return a; }\nint main(void) { int x = 0; "
        "pthread_t t; pthread_create(&t, NULL, f, &x); x++; pthread_join(t, NULL); }",
        "race", "nothing orders the two",
    ),
    "a race on a string that is printed": (
        "#include <stdio.h>\nstatic char a[2] = \"a\"; static void *f(void *b) "
        "{ a[0] = 'b'; return b; }\nint main(void) { pthread_t t; "
        "pthread_create(&t, NULL, f, NULL); "
        'printf("%-5d %*.2f %lu %s\\n", 1, 5, 2.5, 3ul, a); pthread_join(t, NULL); }',
        "race", "nothing orders the two",
    ),
    "a race on a copy": (
        "#include <string.h>\nstatic char a[9]; static void *f(void *b) { "
        'memcpy(a, "12345678", 9); return b; }' + RUN % "a[0] != '1'",
        "race", "nothing orders the two",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_explored_is_refused_by_name(what: str) -> None:
    text, message = REFUSED[what]
    with pytest.raises(UsageError) as error:
        of_text(ONE + text, options=ExploreOptions(models=(Model.SC,)))
    assert message in str(error.value)
    assert "Traceback" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("what", CAUGHT)
def test_a_defect_is_caught_under_each_model(what: str) -> None:
    text, verdict, message = CAUGHT[what]
    results = of_text(ONE + text)
    for result in results.values():
        bad = [found for found in result.outcomes if found.verdict != "ended"]
        assert bad
        assert not verdict or {found.verdict for found in bad} == {verdict}
        assert any(message in found.example[-1].text for found in bad)


@pytest.mark.slow
@CXX
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#include <fstream>\nint main() { std::ifstream file("a"); return !file; }', "fstream"),
        ("#include <random>\nint main() { return std::random_device()() == 1; }", "random_device"),
        (
            "#include <filesystem>\nint main() { return std::filesystem::exists("
            '"/no/such/file"); }',
            "filesystem",
        ),
    ],
)
def test_what_the_c_library_of_cxx_asks_the_system_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match="which the explorer does not model") as error:
        of_text(text, "-std=c++17", suffix=".cpp")
    assert message in str(error.value)


def test_an_object_that_was_not_compiled_for_the_explorer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int next(void); int main(void) { return next(); }", "utf-8")
    (tmp_path / "next.c").write_text("int next(void) { static int n; return n++; }", "utf-8")
    with Children() as children:
        command = ["cc", "-c", str(tmp_path / "next.c"), "-o", str(tmp_path / "next.o")]
        assert children.run(command, timeout_s=60).code == 0
    with pytest.raises(UsageError, match=r"next\.o was not compiled for the explorer"):
        of_program(Program((tmp_path / "main.c", tmp_path / "next.o")))


def test_a_program_whose_runs_differ_has_no_verdict(tmp_path: Path) -> None:
    """An object with hooks may still have a source of chance that is not seen."""
    (tmp_path / "ticks.s").write_text(
        ".globl ticks\nticks: rdtsc\n ret\n .data\n .quad __tsan_init\n"
        ' .section .note.GNU-stack, "", @progbits\n', "utf-8"
    )  # fmt: skip
    run(["cc", "-c", "ticks.s", "-o", "ticks.o"], cwd=tmp_path).check_returncode()
    (tmp_path / "program.c").write_text(
        ONE + "atomic_uint x; unsigned ticks(void);\n"
        "int main(void) { atomic_store(&x, ticks()); return 0; }\n", "utf-8"
    )  # fmt: skip
    with pytest.raises(UsageError, match="does not do the same when it is run again"):
        of_program(Program((tmp_path / "program.c", tmp_path / "ticks.o")))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("W(x, 1); a = R(y);", "W(y, 1); b = R(x);", id="store buffering"),
        pytest.param("W(x, 1); W(y, 1);", "a = R(y); b = R(x);", id="message passing"),
        pytest.param("a = R(x); W(y, 1);", "b = R(y); W(x, 1);", id="load buffering"),
        pytest.param("W(x, 1); W(y, 2);", "W(y, 1); W(x, 2);", id="two writes each"),
        pytest.param("W(x, 1); a = R(x); W(x, 2);", "b = R(x); W(y, b); a = R(y);", id="one place"),
    ],
)
def test_volatile_accesses_keep_their_order(one: str, other: str) -> None:
    """As relaxed atomics: a load must not be taken before the stores that come before it."""
    text = """
    #include <stdio.h>
    %s x, y;
    static int a, b, c;
    static void *f(void *u) { %s return u; }
    static void *g(void *u) { %s return u; }
    int main(void) {
        pthread_t t, u;
        pthread_create(&t, NULL, f, NULL), pthread_create(&u, NULL, g, NULL);
        pthread_join(t, NULL), pthread_join(u, NULL);
        printf("%%d %%d %%d %%d", a + c, b, (int)R(x), (int)R(y));
        return 0;
    }
    """
    other = other.replace("a = R(y)", "c = R(y)")
    atomic = (
        "#define W(at, v) atomic_store_explicit(&at, v, memory_order_relaxed)\n"
        "#define R(at) atomic_load_explicit(&at, memory_order_relaxed)\n"
        + text
        % ("static atomic_int", one, other)
    )
    volatile = "#define W(at, v) at = v\n#define R(at) at\n" + text % (
        "static volatile int",
        one,
        other,
    )
    expected = of_text(ONE + atomic)
    found = of_text(ONE + volatile, volatile_is_relaxed=True)
    for model, result in found.items():
        assert result.exhaustive
        assert (result.texts, result.executions) == (
            expected[model].texts, expected[model].executions
        )  # fmt: skip


def test_a_volatile_access_is_atomic_if_asked_for() -> None:
    text = """
    static volatile int data, flag;
    static void *f(void *a) { data = 1; flag = 1; return a; }
    int main(void) {
        pthread_t t;
        int bad = 0;
        pthread_create(&t, NULL, f, NULL);
        if (flag) bad = !data;
        pthread_join(t, NULL);
        return bad;
    }
    """
    assert verdicts(of_text(ONE + text)) == "race race race"
    relaxed = of_text(ONE + text, volatile_is_relaxed=True)
    assert verdicts(relaxed) == "ended ended assertion"


def test_a_thread_has_its_own_variables_and_errno() -> None:
    text = """
    #include <assert.h>
    #include <errno.h>
    static _Thread_local int mine = 5;
    static int *there;
    static void *f(void *a) {
        assert(mine == 5 && errno == 0);
        mine = 6, errno = 3, there = &mine;
        return a;
    }
    int main(void) {
        pthread_t t;
        mine = 7, errno = 9;
        pthread_create(&t, NULL, f, NULL);
        pthread_join(t, NULL);
        assert(mine == 7 && errno == 9 && *there == 6);
        return 0;
    }
    """
    assert verdicts(of_text(ONE + text)) == "ended ended ended"


def test_an_atomic_variable_of_a_thread_begins_with_its_value() -> None:
    text = """
    static _Thread_local atomic_int mine = 5;
    static void *f(void *a) { return (void *)(long)(atomic_fetch_add(&mine, 1) == 5 ? 1 : 2); }
    int main(void) {
        pthread_t t;
        void *one;
        pthread_create(&t, NULL, f, NULL);
        pthread_join(t, &one);
        return one != (void *)1L || atomic_load(&mine) != 5;
    }
    """
    assert verdicts(of_text(ONE + text)) == "ended ended ended"


def test_what_is_printed_is_read_again_in_each_execution() -> None:
    text = """
    #include <stdio.h>
    static char text[2] = "a";
    static atomic_int turn;
    static void *f(void *a) {
        if (atomic_exchange(&turn, 1) == 0) text[0] = 'b', atomic_store(&turn, 2);
        return a;
    }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        atomic_exchange(&turn, 1);
        pthread_join(t, NULL);
        printf("%s", text);
        return 0;
    }
    """
    for result in of_text(ONE + text).values():
        assert result.texts == {"a", "b"}


def test_freed_memory_is_used_again_and_is_not() -> None:
    text = """
    #include <stdio.h>
    int main(void) {
        void *one = malloc(24), *other;
        free(one);
        other = malloc(24);
        puts(one == other ? "same" : "fresh");
        free(other);
        return 0;
    }
    """
    for result in of_text(ONE + text).values():
        assert result.texts == {"same", "fresh"}


def test_a_freed_block_may_get_other_atomic_objects() -> None:
    """It is used again where its objects are the same, and is not where they overlap others."""
    text = """
    #include <stdio.h>
    #include <string.h>
    int main(void) {
        atomic_long *one = malloc(24);
        atomic_int *other;
        atomic_init(one, 1), atomic_fetch_add(one, 1), free(one);
        other = malloc(24);
        atomic_init(other + 1, 1), atomic_fetch_add(other + 1, 1);
        printf("%d", *(other + 1));
        free(other);
        return 0;
    }
    """
    for result in of_text(ONE + text).values():
        assert result.texts == {"2"}


def test_blocks_of_different_calls_have_different_addresses() -> None:
    """Else an atomic object of one would overlap that of the other, in another execution."""
    text = """
    static atomic_int turn;
    static void *f(void *a) { turn = 1; return a; }
    static int small(void) {
        atomic_int *at = calloc(2, 4);
        return at[1]++ + at[0]++;
    }
    static int large(void) { atomic_long *at = calloc(1, 8); return (int)(*at)++; }
    int main(void) {
        pthread_t t;
        int found;
        pthread_create(&t, NULL, f, NULL);
        found = turn ? small() : large();
        pthread_join(t, NULL);
        return found;
    }
    """
    for result in of_text(ONE + text, change=may_leak).values():
        assert (result.executions, result.verdicts) == (2, {"ended"})


def test_blocks_of_one_call_may_have_different_alignments() -> None:
    text = """
    #include <stdio.h>
    static atomic_int turn, *found;
    static void *f(void *a) { turn = 1; return a; }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        for (int i = 0; i < 3; i++) {
            size_t alignment = turn ? 256 : 16;
            found = aligned_alloc(alignment, 256);
            if ((size_t)found % alignment) return 1;
            atomic_init(found, i), (*found)++;
        }
        pthread_join(t, NULL);
        printf("%d", *found);
        return 0;
    }
    """
    for result in of_text(ONE + text, change=may_leak).values():
        assert (result.exhaustive, result.verdicts, result.texts) == (True, {"ended"}, {"3"})


def test_keys_of_threads_are_the_same_in_each_execution() -> None:
    text = """
    static atomic_int n;
    static void *f(void *of) {
        pthread_key_t gone, key;
        pthread_key_create(&gone, NULL);
        pthread_key_create(&key, NULL);
        pthread_key_delete(gone);
        ((atomic_uint *)of)[0] = key;
        n++;
        return of;
    }
    int main(void) {
        pthread_t t, u;
        static atomic_uint keys[3];
        pthread_create(&t, NULL, f, keys);
        pthread_create(&u, NULL, f, keys + 1);
        f(keys + 2);
        pthread_join(t, NULL);
        pthread_join(u, NULL);
        return keys[0] == keys[1];
    }
    """
    for result in of_text(ONE + text).values():
        assert result.verdicts == {"ended"}


def test_memory_of_a_constructor_is_there_in_each_execution() -> None:
    text = """
    static int *early;
    static atomic_int x;
    __attribute__((constructor)) static void begin(void) { early = malloc(4); *early = 5; }
    static void *f(void *a) { return (void *)(long)atomic_fetch_add(&x, 1); }
    int main(void) {
        pthread_t t;
        int mine, was = (*early)++;
        pthread_create(&t, NULL, f, NULL);
        mine = atomic_fetch_add(&x, 1);
        pthread_join(t, NULL);
        free(early);
        return was != 5 || mine > 1;
    }
    """
    for result in of_text(ONE + text).values():
        assert (result.executions, result.verdicts) == (2, {"ended"})


def test_a_wait_until_a_time_may_time_out() -> None:
    text = """
    #include <errno.h>
    #include <stdio.h>
    #include <time.h>
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    static int ready;
    static void *f(void *a) {
        pthread_mutex_lock(&m), ready = 1, pthread_cond_signal(&c), pthread_mutex_unlock(&m);
        return a;
    }
    int main(void) {
        pthread_t t;
        struct timespec now, until;
        int code = 0;
        clock_gettime(CLOCK_REALTIME, &until), until.tv_sec += 5;
        pthread_create(&t, NULL, f, NULL);
        pthread_mutex_lock(&m);
        while (!ready && !code) code = pthread_cond_timedwait(&c, &m, &until);
        puts(code == ETIMEDOUT ? "late" : "told");
        pthread_mutex_unlock(&m);
        clock_gettime(CLOCK_REALTIME, &now);
        pthread_join(t, NULL);
        return code == ETIMEDOUT && now.tv_sec < until.tv_sec;
    }
    """
    for result in of_text(ONE + text).values():
        assert (result.exhaustive, result.verdicts) == (True, {"ended"})
        assert result.texts == {"late", "told"}


def test_assembly_that_only_waits_is_harmless() -> None:
    text = """
    static atomic_int ready;
    static void *f(void *a) { atomic_store(&ready, 1); return a; }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        while (!atomic_load(&ready)) { __asm__ volatile("pause" ::: "memory"); }
        __asm__ volatile("" ::: "memory");
        pthread_join(t, NULL);
        return 0;
    }
    """
    assert verdicts(of_text(ONE + text)) == "ended ended ended"


def test_machine_code_with_atomic_instructions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("void f(void); int main(void) { f(); return 0; }", "utf-8")
    (tmp_path / "f.s").write_text(
        ".globl f\nf:\n lock; incl n\n ret\n.globl g\ng:\n call __tsan_init\n ret\n"
        ".data\nn: .long 0\n", "utf-8",
    )  # fmt: skip
    with Children() as children:
        command = ["cc", "-c", str(tmp_path / "f.s"), "-o", str(tmp_path / "f.o")]
        assert children.run(command, timeout_s=60).code == 0
    with pytest.raises(UsageError, match="f has the instruction `lock incl"):
        of_program(Program((tmp_path / "main.c", tmp_path / "f.o")))


def test_a_loop_that_writes_and_restores_memory_is_recognised() -> None:
    text = """
    static volatile int scratch;
    static atomic_int ready;
    static void *f(void *a) { atomic_store(&ready, 1); return a; }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        while (!atomic_load(&ready)) scratch = 1, scratch = 0;
        pthread_join(t, NULL);
        return scratch;
    }
    """
    for result in of_text(ONE + text).values():
        assert (result.exhaustive, result.verdicts) == (True, {"ended"})
    counts = text.replace("scratch = 1, scratch = 0", "scratch++")
    with pytest.raises(UsageError, match="more than 2000 events"):
        of_text(ONE + counts)


FREES = "static void *frees(void *a) { free(a); return a; }\n"
READS = "static void *reads(void *a) { return (void *)(long)*(int *)a; }\n"


@pytest.mark.parametrize("first", ["frees", "reads"])
@pytest.mark.parametrize("second", ["frees", "reads"])
def test_a_free_without_an_order_to_an_access_is_caught_in_either_order(
    first: str, second: str
) -> None:
    text = (
        f"int main(void) {{ int *p = malloc(4); *p = 1; pthread_t t, u;\n"
        f"pthread_create(&t, NULL, {first}, p); pthread_create(&u, NULL, {second}, p);\n"
        "pthread_join(t, NULL); pthread_join(u, NULL); return 0; }"
    )
    for result in of_text(ONE + FREES + READS + text, change=may_leak).values():
        both_read = (first, second) == ("reads", "reads")
        assert result.verdicts == {"ended"} if both_read else "ended" not in result.verdicts


def test_a_free_that_was_run_after_the_access_at_first_is_caught() -> None:
    """The access is recorded first; run again, it comes after the free, and is not the new step."""
    text = """
    #include <semaphore.h>
    static atomic_int z;
    static int *p;
    static sem_t may_free, may_read;
    static void *frees(void *a) { sem_wait(&may_free); free(p); return a; }
    static void *reads(void *a) { sem_wait(&may_read); return (void *)(long)*p; }
    static void *posts(void *a) { sem_post(&may_read); return a; }
    static void *looks(void *a) { atomic_load_explicit(&z, memory_order_relaxed); return a; }
    int main(void) {
        pthread_t t, u, v, w;
        sem_init(&may_free, 0, 0), sem_init(&may_read, 0, 0);
        p = malloc(4), *p = 1;
        pthread_create(&t, NULL, frees, NULL);
        pthread_create(&u, NULL, reads, NULL);
        pthread_create(&w, NULL, posts, NULL);
        pthread_create(&v, NULL, looks, NULL);
        atomic_store_explicit(&z, 1, memory_order_relaxed);
        pthread_join(v, NULL);
        sem_post(&may_free);
        pthread_join(t, NULL), pthread_join(u, NULL), pthread_join(w, NULL);
        return 0;
    }
    """
    for result in of_text(ONE + text).values():
        assert result.outcomes
        assert "ended" not in result.verdicts


def test_a_step_on_a_stack_that_others_use_is_run_in_each_execution() -> None:
    text = """
    static atomic_int token, y;
    static void *harmless(void *a) {
        if (!atomic_exchange(&token, 1)) atomic_store_explicit(&y, 1, memory_order_relaxed);
        return a;
    }
    static void *harms(void *a) {
        if (atomic_exchange(&token, 1)) return a;
        ++*(int *)a;
        atomic_store_explicit(&y, 1, memory_order_relaxed);
        return a;
    }
    int main(void) {
        pthread_t t, u;
        int x = 0;
        pthread_create(&t, NULL, harms, &x);
        pthread_create(&u, NULL, harmless, NULL);
        if (atomic_load_explicit(&y, memory_order_relaxed)) x++;
        pthread_join(t, NULL), pthread_join(u, NULL);
        return x > 2;
    }
    """
    for result in of_text(ONE + text).values():
        assert result.verdicts == {"ended", "race"}


def test_a_thread_finds_what_its_creator_stored_and_a_join_what_it_stored() -> None:
    text = """
    static atomic_int x, y;
    static void *f(void *a) {
        if (atomic_load_explicit(&x, memory_order_relaxed) != 1) abort();
        atomic_store_explicit(&y, 1, memory_order_relaxed);
        return a;
    }
    int main(void) {
        pthread_t t;
        atomic_store_explicit(&x, 1, memory_order_relaxed);
        pthread_create(&t, NULL, f, NULL);
        pthread_join(t, NULL);
        return atomic_load_explicit(&y, memory_order_relaxed) != 1;
    }
    """
    for result in of_text(ONE + text).values():
        assert (result.executions, result.verdicts) == (1, {"ended"})


def test_a_loop_that_writes_around_a_free_is_not_taken_for_one_that_waits() -> None:
    text = """
    static volatile int x;
    static atomic_int ready;
    static void *f(void *a) { atomic_store(&ready, 1); return a; }
    int main(void) {
        pthread_t t;
        int turns = 0;
        pthread_create(&t, NULL, f, NULL);
        while (!atomic_load(&ready) && x != 5) { x = x; free(malloc(8)); x = 5; }
        turns = x;
        pthread_join(t, NULL);
        return turns != 0 && turns != 5;
    }
    """
    for result in of_text(ONE + text).values():
        assert result.blocked == 0
        assert result.executions > 1  # ready before the first look, and not


def test_create_and_join_add_no_executions() -> None:
    text = """
    static atomic_int x;
    static void *leaf(void *a) { atomic_fetch_add_explicit(&x, 1, memory_order_relaxed); return a; }
    static void *f(void *a) {
        pthread_t t, u;
        pthread_create(&t, NULL, leaf, a), pthread_create(&u, NULL, leaf, a);
        pthread_join(t, NULL), pthread_join(u, NULL);
        return a;
    }
    """
    for result in of_text(ONE + text + RUN % "x != 4").values():
        assert result.executions == 24  # the orders of four updates
        assert result.verdicts == {"ended"}


def test_seven_updates_have_their_orders() -> None:
    text = """
    static atomic_int x;
    static void *f(void *a) { atomic_fetch_add_explicit(&x, 1, memory_order_relaxed); return a; }
    int main(void) {
        pthread_t t[7];
        for (int i = 0; i < 7; i++) pthread_create(&t[i], NULL, f, NULL);
        for (int i = 0; i < 7; i++) pthread_join(t[i], NULL);
        return x != 7;
    }
    """
    for result in of_text(ONE + text).values():
        assert (result.executions, result.verdicts) == (5040, {"ended"})


def test_three_threads_on_a_mutex_and_a_condition_are_explored_whole() -> None:
    text = """
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    static int n;
    static void *f(void *a) {
        pthread_mutex_lock(&m);
        n++;
        pthread_cond_broadcast(&c);
        while (n < 3) pthread_cond_wait(&c, &m);
        pthread_mutex_unlock(&m);
        return a;
    }
    int main(void) {
        pthread_t t[3];
        for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, f, NULL);
        for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
        return 0;
    }
    """
    result = of_text(ONE + text, options=ExploreOptions(models=(Model.RC11,)))[Model.RC11]
    assert (result.exhaustive, result.verdicts) == (True, {"ended"})


@CXX
def test_destructors_of_static_variables_run_at_the_end() -> None:
    """A pool that is static joins its thread then; if nobody tells the thread, that never ends."""
    text = """
    #include <condition_variable>
    #include <cstdio>
    #include <mutex>
    #include <thread>
    class pool {
        std::mutex mutex;
        std::condition_variable changed;
        bool is_over = false;
        std::thread worker{[this] {
            std::unique_lock<std::mutex> held(mutex);
            changed.wait(held, [this] { return is_over; });
        }};
    public:
        ~pool() {
            { std::lock_guard<std::mutex> held(mutex); is_over = true; }
            %s
            worker.join();
            std::puts("joined");
        }
    };
    pool &shared() { static pool made; return made; }
    int main() { shared(); return 0; }
    """
    told = of_text(text % "changed.notify_all();", "-std=c++17", suffix=".cpp")
    for result in told.values():
        assert (result.verdicts, result.texts, result.exhaustive) == ({"ended"}, {"joined"}, True)
    assert verdicts(of_text(text % "", "-std=c++17", suffix=".cpp")) == "asleep asleep asleep"


@CXX
def test_what_is_static_ends_in_the_order_of_the_language() -> None:
    text = """
    #include <cstdio>
    #include <cstdlib>
    #include <thread>
    struct named {
        const char *name;
        explicit named(const char *of) : name(of) {}
        ~named() { std::printf("%%s ", name); }
    };
    static named early("early");
    static thread_local named local("local");
    static void bye() { std::printf("bye "); }
    static void of_thread() { static named made("thread's"); (void)made; }
    int main() {
        (void)local.name;
        static named first("first");
        std::atexit(bye);
        static named second("second");
        std::thread(of_thread).join();
        %s
    }
    """
    for end in ("return 0;", "std::exit(0);"):
        for result in of_text(text % end, "-std=c++17", suffix=".cpp").values():
            assert result.texts == {"local second bye first thread's early "}


@CXX
def test_a_call_that_throws_lets_the_next_one_try() -> None:
    text = """
    #include <cassert>
    #include <mutex>
    #include <thread>
    static std::once_flag flag;
    static int tries, done;
    static void work() {
        try { std::call_once(flag, [] { if (++tries == 1) throw 1; done++; }); } catch (int) {}
    }
    int main() {
        std::thread t(work);
        work();
        t.join();
        assert(tries == 2 && done == 1);
        return 0;
    }
    """
    for result in of_text(text, "-std=c++17", suffix=".cpp").values():
        assert (result.verdicts, result.exhaustive) == ({"ended"}, True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pthread_join(t, NULL); pthread_join(t, NULL);", "joins f, which was joined at"),
        ("pthread_detach(t); pthread_join(t, NULL);", "joins f, which was detached at"),
        ("pthread_join(t, NULL); pthread_detach(t);", "detaches f, which was joined at"),
        ("pthread_join((pthread_t)7, NULL);", "joins what is no thread"),
        ("pthread_rwlock_unlock(&lock);", "unlocks a read-write lock that nobody holds"),
        ("pthread_rwlock_rdlock(&lock); pthread_rwlock_unlock(&lock);"
         "pthread_rwlock_unlock(&lock);", "unlocks a read-write lock that nobody holds"),
    ],
)  # fmt: skip
def test_what_posix_leaves_undefined_is_a_defect(body: str, said: str) -> None:
    text = """
    static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    static void *f(void *a) { return a; }
    int main(void) { pthread_t t; pthread_create(&t, NULL, f, NULL); %s return !&lock; }
    """
    for result in of_text(ONE + text % body).values():
        (found,) = result.outcomes
        assert found.verdict == "crash"
        assert said in found.example[-1].text


@pytest.mark.parametrize(
    "body",
    [
        "pthread_create(&u, NULL, f, (void *)t); pthread_create(&v, NULL, g, (void *)t); a = 1;"
        "b = 1; pthread_join(u, NULL); pthread_join(v, NULL);",
        "pthread_create(&u, NULL, h, &v); while (!a) pthread_join(t, NULL);"
        "pthread_join(u, NULL);",
    ],
    ids=["by another thread", "in a loop"],
)  # fmt: skip
def test_a_second_join_is_found_by_steps_that_were_run_as_first_ones(body: str) -> None:
    text = """
    static atomic_int a, b;
    static void *e(void *t) { return t; }
    static void *f(void *t) { if (!a) pthread_join((pthread_t)t, NULL); return NULL; }
    static void *g(void *t) { if (!b) pthread_join((pthread_t)t, NULL); return NULL; }
    static void *h(void *t) { a = 1; return t; }
    int main(void) { pthread_t t, u, v; pthread_create(&t, NULL, e, NULL); %s return f == g; }
    """
    for result in of_text(ONE + text % body).values():
        assert "crash" in result.verdicts


@pytest.mark.parametrize(
    ("fence", "reorders"),
    [
        ('__asm__ volatile("mfence" ::: "memory")', False),
        ("_mm_mfence()", False),
        ('__asm__ volatile("lock; addl $0,0(%%rsp)" ::: "memory", "cc")', False),
        ('__asm__ volatile("lock; orl $0,(%%rsp)" ::: "memory", "cc")', False),
        ('__asm__ volatile("" ::: "memory")', True),
        ('__asm__ volatile("pause" ::: "memory")', True),
    ],
)
def test_a_fence_in_assembly_is_one(fence: str, reorders: bool) -> None:
    """As in code for kernels, which has volatile accesses and fences of its own."""
    text = """
    #include <emmintrin.h>
    #include <stdio.h>
    static volatile int x, y;
    static int a, b;
    static void *f(void *u) { x = 1; FENCE; a = y; return u; }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        y = 1;
        FENCE;
        b = x;
        pthread_join(t, NULL);
        printf("%d%d", a, b);
        return 0;
    }
    """.replace("FENCE", fence)
    results = of_text(ONE + text, volatile_is_relaxed=True)
    assert results[Model.SC].texts == {"01", "10", "11"}
    for model in (Model.TSO, Model.RC11):
        assert ("00" in results[model].texts) == reorders


def test_registers_survive_a_fence_in_assembly() -> None:
    text = """
    int main(int count, char **arguments) {
        double half = count / 2.0;
        long a = count, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13, g = a * 17;
        __asm__ volatile("mfence" ::: "memory");
        return half + a + b + c + d + e + f + g != 0.5 + 1 + 3 + 5 + 7 + 11 + 13 + 17;
    }
    """
    for result in of_text(ONE + text).values():
        assert result.verdicts == {"ended"}


def test_functions_may_be_called_like_instructions() -> None:
    text = """
    static int held;
    __attribute__((noinline)) void lock(void) { held++; }
    __attribute__((noinline)) void mfence(void) { held--; }
    __attribute__((noinline)) void syscall_now(void) { lock(); mfence(); }
    int main(void) { syscall_now(); lock(); mfence(); return held; }
    """
    for result in of_text(ONE + text).values():
        assert result.verdicts == {"ended"}


@CXX
def test_a_call_of_a_pure_virtual_function_is_a_crash() -> None:
    text = """
    struct base {
        base() { call(); }
        void call() { act(); }
        virtual void act() = 0;
        virtual ~base() = default;
    };
    struct derived : base { void act() override {} };
    int main() { derived made; return 0; }
    """
    for result in of_text(text, suffix=".cpp").values():
        (found,) = result.outcomes
        assert (found.verdict, found.example[-1].text) == ("crash", "calls a pure virtual function")


def test_the_time_limit_is_kept_if_each_step_takes_long() -> None:
    """A step of a graph of 600 steps takes long, and so does one estimate of their number."""
    text = (
        ONE
        + """static atomic_int n;
static void *f(void *a) { for (int at = 0; at < 300; at++) n += 1; return a; }"""
        + RUN % "0"
    )
    options = ExploreOptions(models=(Model.SC,), loop_bound=0, seconds=0.5)
    (result,) = of_text(text, options=options).values()
    assert result.stopped == "max_seconds"
    assert result.cpu_seconds < 6
