# SPDX-License-Identifier: Apache-2.0
"""The recorder's hints: a process that deserves one gets it, and its twin does not."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support import watching
from tests.support.running import run

from wakeproof.judge.watch import recorded
from wakeproof.judge.watch.process import Process
from wakeproof.judge.watch.symbols import Symbols

pytestmark = pytest.mark.slow
WATCH = (sys.executable, "-m", "wakeproof", "watch")
CASES = {one.name: one for one in watching.cases()}
HINTED = [
    ("cond_early", "nobody", "cond (cond_early) was signalled to nobody by signaller (cond_early)"),
    ("futex_early", "nobody", "word (futex_early) was woken to nobody by "),
    ("cond_stolen", "taken", "cond (cond_stolen) was last signalled by main (cond_stolen)"),
    ("sem_short", "taken", "items (sem_short) was last posted by main (sem_short)"),
    ("eventfd_short", "taken", "eventfd 3 was last written by main (eventfd_short)"),
]


@pytest.mark.parametrize(("name", "kind", "why"), HINTED, ids=[one[0] for one in HINTED])
def test_a_wait_after_its_wake_gets_a_hint_and_the_program_that_goes_on_does_not(
    name: str, kind: str, why: str
) -> None:
    found = watching.judged(CASES[name], is_recorded=True)
    assert found.verdict == CASES[name].verdict  # as without the recorder
    assert any(one.kind == kind and one.why.startswith(why) for one in found.hints), found.hints
    assert watching.judged(CASES[name], is_fixed=True, is_recorded=True).hints == ()
    assert watching.judged(CASES[name]).hints == ()


def test_the_futexes_of_the_python_extension_are_recorded() -> None:
    """It calls them by syscall(), so the recorder sees them although the kernel is a part of it."""
    script = """if True:
        import threading, time, wakeproof
        parker = wakeproof.Parker()
        def wake():
            for _ in range(3):
                time.sleep(0.2)
                parker.unpark()
        threading.Thread(target=wake).start()
        while True:
            parker.park()
        """
    deadline, wakes = time.monotonic() + 30, 0
    with watching.running([sys.executable, "-c", script], is_recorded=True) as pid:
        while wakes < 3 and time.monotonic() < deadline:
            time.sleep(0.5)
            with Process(pid) as process:
                symbols = Symbols(process)
                symbols.renew()
                seen = recorded.Recording(process, symbols).events
                by = [symbols.place(one.who) for one in seen if one.kind == recorded._WAKE]
            wakes = [place.words for place in by if place].count("wp_futex_wake (kernel.abi3.so)")
    assert wakes == 3
    assert recorded._WAIT in {one.kind for one in seen if one.of == recorded._FUTEX}


def test_what_was_never_written_gets_no_hint() -> None:
    assert watching.judged(CASES["pipe_short"], is_recorded=True).hints == ()


def test_a_ring_that_has_wrapped_is_no_proof_that_nobody_waited(tmp_path: Path) -> None:
    """The waiter of the signal is not in the rings any more."""
    program = _compiled(tmp_path, """
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
        static sem_t turns;
        int main(int count, char **words)
        {
            pthread_cond_signal(&cond);
            for (int turn = 0; count > 1 && turn < 2000; turn++)
                sem_post(&turns);
            pthread_mutex_lock(&lock);
            pthread_cond_wait(&cond, &lock);
        }""")  # fmt: skip
    for words, kinds in (([], ["nobody"]), (["wrap"], [])):
        with watching.running([program, *words], is_recorded=True) as pid:
            assert [one.kind for one in watching.looked(pid).hints] == kinds


def test_a_forked_child_is_recorded_by_its_own_number(tmp_path: Path) -> None:
    program = _compiled(tmp_path, """
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
        int main(void)
        {
            pthread_cond_signal(&cond);
            if (fork() != 0)
                rest();
            pthread_cond_signal(&cond);
            pthread_mutex_lock(&lock);
            pthread_cond_wait(&cond, &lock);
        }""")  # fmt: skip
    with watching.running([program], is_recorded=True) as parent:
        watching.looked(parent, seconds=0)
        (child,) = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        found, of_parent = watching.looked(int(child)), watching.looked(parent)
    assert [(one.kind, one.tid) for one in found.hints] == [("nobody", int(child))]
    assert of_parent.hints == ()


def test_record_becomes_the_command_and_a_look_shows_the_hint() -> None:
    program = watching.built(CASES["cond_early"], watching.folder(), is_fixed=False)
    recorded.library()  # so that it is not compiled before the program begins
    with watching.running([*WATCH, "--record", "--", *program]) as pid:
        watching.begun(pid, program[0])
        watching.looked(pid, seconds=0)
        said = run(WATCH, str(pid), "--json")
        shown = run(WATCH, str(pid))
    (hint,) = json.loads(said.stdout)["hints"]
    assert (hint["kind"], hint["tid"]) == ("nobody", pid)
    assert f"hint: {pid} (cond_early): cond (cond_early) was signalled to nobody" in shown.stdout


@pytest.mark.parametrize(("words", "why"), [
    (["--record", "/no/such/program"], "there is no program /no/such/program"),
    (["1", "2"], "watch takes the number of one process, not '1 2'"),
])  # fmt: skip
def test_what_cannot_be_run_or_watched_is_refused(words: list[str], why: str) -> None:
    said = run(WATCH, *words)
    assert (said.returncode, why in said.stderr) == (2, True)


def _compiled(folder: Path, text: str) -> str:
    source, program = folder / "program.c", folder / "program"
    source.write_text(f'#include "hang.h"\n{text}')
    subprocess.run(["cc", "-g", "-pthread", f"-I{watching.CORPUS}", source, "-o", program],
                   check=True)  # fmt: skip
    return str(program)
