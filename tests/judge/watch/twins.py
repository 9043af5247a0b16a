# SPDX-License-Identifier: Apache-2.0
"""Broken kernels that hang by themselves, and what `wakeproof watch` says of each.

    python -m tests.judge.watch.twins [NAME...]      all twins of TWINS, or those named

A twin is a defect of the kernel (stress/twins/).  It is built natively with twin_work.c, runs until
its threads sleep for ever, and is then watched from outside.  The recorder is in it: the verdict
does not use what it has seen, and the hint does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support import watching

from wakeproof import locations
from wakeproof._native import build as _build
from wakeproof.judge.source_texts import Sources
from wakeproof.judge.twins import edits
from wakeproof.judge.watch.process import GoneError, Process
from wakeproof.judge.watch.verdicts import BAD, Report, Verdict

ROOT = locations.sources()
WORK = Path(__file__).with_name("twin_work.c")
RUN_S = 8
"""A twin that has not hung by then is left out."""
HAS_URING = _build.has_uring(*_build.compiler())
"""Without it virtual threads have no files, and twins of their ring go on."""
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", "-pthread", "-w",
         f"-I{ROOT / 'stress'}", "-DWP_STRESS_DELAYED",
         '-DWP_INSTRUMENT="harness/engine/instrument.h"',
         *(_build.URING_COMPILED if HAS_URING else ())]  # fmt: skip
"""Before an atomic operation there may be a delay, which twin_work.c makes."""
LINKED = _build.URING_LINKED if HAS_URING else ()
PARTS = {
    "parker": "parker_wake_forgotten parker_store_unpark parker_split_exit",
    "parker_close": "parker_close_silent",
    "guard": "guard_no_fence guard_no_poller_fence guard_no_producer_fence "
             "guard_signal_outside_lock guard_signal_silent",
    "guard_asymmetric": "guard_light_light guard_heavy_after_recheck guard_heavy_before_announce",
    "lock": "guard_release_silent guard_lock_alone",
    "single_alone": "carrier_no_recheck",
    "submit": "carrier_wake_forgotten mpsc_plain_clear mpsc_split_reserve mpsc_clears_first",
    "poll": "poller_wakeup_forgotten carrier_wrong_place",
    "many": "carrier_tasks_private_unpolled",
    "many_bounded": "local_queue_overflow_forgets local_queue_sleeps_on_slot",
    "conserve": "search_silent_internal search_silent_reenqueue",
    "conserve_bounded": "local_queue_carrier_park_no_ring local_queue_carrier_recheck_no_ring "
                        "local_queue_asks_tail_first local_queue_carrier_overflow_silent",
    "conserve_out": "search_wake_and_leave search_no_recheck_park search_no_recheck_release "
                    "search_shipped search_unserved search_pinned_leaves search_late_alone "
                    "search_hit_inbox_late search_no_submit_fence search_no_release_fence "
                    "idle_set_plain_set idle_set_plain_clear carrier_split_exit",
    "conserve_out_bounded": "local_queue_carrier_park_no_queue local_queue_carrier_loot_silent",
    "vthread": "vthread_park_split vthread_timer_swallows",
    "task": "task_park_split task_notified_kept",
    "pinned": "vthread_pinned_unwoken",
    "timer_given": "carrier_tasks_arms_silent timer_nudge_silent",
    "mutex": "mutex_first_untold mutex_line_forgotten mutex_woken_kept mutex_leaves_silent "
             "wait_queue_number_kept",
    "semaphore": "semaphore_serves_one",
    "semaphore_leaves": "semaphore_leaves_silent",
    "condition": "condition_wakes_one condition_unlocks_first condition_moved_is_deaf",
    "channel": "channel_senders_forgotten",
    "channel_close": "channel_close_forgets",
    "latch": "latch_wakes_one",
    "io": "descriptor_edge_unseen descriptor_edge_late descriptor_looks_late "
          "descriptor_poller_silent poller_slot_forgotten poller_parks_full poller_own_unseen "
          "poller_unpark_forgotten",
    "io_pass": "descriptor_kept",
    "io_end": "descriptor_kept_at_end",
    "io_close": "descriptor_close_silent",
    "io_group_close": "descriptor_ends_silent descriptor_adds_late poller_close_unseen "
                      "poller_leaves_silent",
    "pool": "pool_chooses_silently pool_rests_first pool_one_wake",
    "pool_idle": "pool_leaves_chosen pool_permit_kept",
    "pool_close": "pool_close_silent pool_leaves_silently",
    "pool_reserve": "reserve_dismisses_silently reserve_stop_unseen",
    "scope": "scope_leaves_silent scope_grants_none scope_cancel_silent scope_lines_unlooked "
             "scope_wakes_first scope_walk_lost",
    "close": "carrier_tasks_finish_silent",
    "lent": "spare_thread_keeps spare_thread_unasked spare_thread_lends_nothing "
            "spare_thread_counted_late",
    "lent_conserve": "spare_thread_gives_silent",
    "lent_close": "spare_thread_exits_first",
    "placed": "group_placement_left_there group_placement_own_first group_placement_takes_silent "
              "group_placement_wakes_nobody placement_choose_unchecked placement_drain_silent "
              "placement_look_idles placement_mark_keeps",
    "placed_bounded": "group_placement_ring_left",
    "replaced": "spare_carrier_unwoken",
    "watched": "spare_carrier_group_watched_silent group_placement_suspect_keeps",
    "files": "file_queue_unnudged file_queue_unseen file_queue_forgets_rest "
             "file_queue_submits_here file_queue_begins_cancelled file_queue_cancel_ignored",
    "back": "wait_queue_leave_stays wait_queue_leave_holds",
    "back_permit": "wait_queue_leave_keeps",
    "back_signal": "wait_queue_leave_signal_kept",
    "group_free": "wait_queue_leave_exit_silent",
    "close_twice": "group_close_leaves_silent",
    "close_again": "group_close_stops_forgotten",
    "close_parks": "group_close_parks_silently",
    "close_deadline": "group_close_waits_for_ever",
}  # fmt: skip
"""The parts of twin_work.c, each with the twins that may lose a wakeup there."""
MONITORED = ("watched",)
"""Parts in which the monitor wakes again and again; the first thread waits for each round."""
TWINS = {name: part for part, names in PARTS.items() for name in names.split()}
GOAL = 0.9
"""So many of the hangs must be found."""


@dataclass(frozen=True)
class Seen:
    """A twin, and what was said of it; None: it did not hang in time."""

    name: str
    mode: str
    report: Report | None

    @property
    def is_found(self) -> bool:
        return self.report is not None and self.report.verdict in BAD

    @property
    def is_hinted(self) -> bool:
        return self.report is not None and any(
            one.kind in ("after", "nobody") for one in self.report.hints
        )

    @property
    def why(self) -> str:
        """What the first thread with the worst verdict says; else the first hint."""
        if self.report is None:
            return ""
        if self.is_hinted and not self.is_found:
            return f"hint: {self.report.hints[0].why}"
        return self.report.threads[0].why


class Kernels:
    """Builds twin_work.c with the kernel, or with a twin of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources = Sources(ROOT)
        self._twins = edits.of_code(ROOT)
        self._files = [*locations.kernel_files("cS"), WORK]
        with ThreadPoolExecutor(2) as pool:
            self._objects = dict(zip(self._files, pool.map(self._object, self._files), strict=True))

    def program(self, name: str = "") -> Path:
        """Return the program with a twin in it; "": with the kernel as it is.

        The kernel is a library, so that the recorder can stand before it.
        """
        objects = dict(self._objects)
        if name:
            changed = edits.edited(self._twins[name], ROOT)
            overlay = edits.overlay(
                {str(path): text for path, text in changed.items()}, ROOT, self._folder / "overlays"
            )
            for file in self._files:
                if file.suffix == ".c" and edits.needed(changed, self._sources.closure(file)):
                    source = (
                        overlay / file.relative_to(ROOT / "kernel") if file in changed else file
                    )
                    objects[file] = self._object(source, overlay, name)
        target = self._folder / (name or "kernel")
        library = target.with_suffix(".so")
        work = objects.pop(WORK)
        _run(["cc", "-shared", "-pthread", *map(str, objects.values()), *LINKED,
              "-o", str(library)])  # fmt: skip
        _run(["cc", "-rdynamic", "-pthread", str(work), str(library), f"-Wl,-rpath,{self._folder}",
              "-o", str(target)])  # fmt: skip
        return target

    def _object(self, file: Path, overlay: Path | None = None, name: str = "") -> Path:
        target = self._folder / f"{name}-{file.parent.name}-{file.stem}.o"
        first = [f"-I{overlay}"] if overlay else []
        _run(["cc", *FLAGS, *first, f"-I{ROOT / 'kernel'}", "-c", str(file), "-o", str(target)])
        return target


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")


def watch(program: Path, mode: str, run_s: int = RUN_S) -> Report | None:
    """Run a twin until its threads sleep, and watch it; None: it still runs after that time."""
    with watching.running([str(program), mode, str(run_s + 60)], is_recorded=True) as pid:
        try:
            with Process(pid) as process:
                if not _hangs(process, run_s, is_monitored=mode in MONITORED):
                    return None
            return watching.looked(pid)
        except GoneError:
            return None


def _hangs(process: Process, run_s: int, *, is_monitored: bool) -> bool:
    deadline = time.monotonic() + run_s
    before: dict[int, tuple[str, ...]] = {}
    quiet = 0
    while time.monotonic() < deadline:
        threads = process.threads()
        now = {one.tid: process.cpu(one.tid) for one in threads
               if one.tid == process.pid or not is_monitored}  # fmt: skip
        sleeps = all(one.state == "S" for one in threads)
        quiet = quiet + 1 if sleeps and now == before else 0
        if quiet == 10:
            return True
        before = now
        time.sleep(0.1)
    return False


def main(names: list[str]) -> int:
    """Print a line for each twin, and the sum.

    It fails if less than nine of ten hangs are found from outside, or with the hints.
    """
    load = os.getloadavg()[0]
    kernels = Kernels(watching.folder())
    healthy = kernels.program()
    for mode in [] if names else PARTS:
        seen = watch(healthy, mode, 2)
        assert seen is None, f"{mode}: the kernel without a defect hangs: {seen}"
    every = []
    for name, mode in TWINS.items():
        if names and name not in names:
            continue
        seen = Seen(name, mode, watch(kernels.program(name), mode))
        every.append(seen)
        verdict = seen.report.verdict if seen.report else "goes on"
        hint = "hint" if seen.is_hinted else ""
        print(f"{name:32} {mode:16} {verdict:9} {hint:5} {seen.why}", flush=True)
    hung = [one for one in every if one.report]
    found = sum(one.is_found for one in hung)
    hinted = sum(one.is_found or one.is_hinted for one in hung)
    stuck = sum(one.report is not None and one.report.verdict is Verdict.STUCK for one in hung)
    print(f"\n{len(every)} twins, {len(hung)} hang: {found} found from outside "
          f"({_percent(found, hung)}), {stuck} stuck; with the recorder {hinted} "
          f"({_percent(hinted, hung)})")  # fmt: skip
    print(f"The machine had a load of {load:.0f} at the beginning and {os.getloadavg()[0]:.0f} at "
          f"the end, and {len(os.sched_getaffinity(0))} CPUs.")  # fmt: skip
    short = [name for name, some in (("from outside", found), ("with the recorder", hinted))
             if some < GOAL * len(hung)]  # fmt: skip
    if short:
        print(f"short of the goal of {100 * GOAL:.0f} %: {', '.join(short)}")
    return 1 if short else 0


def _percent(some: int, every: list[Seen]) -> str:
    return f"{100 * some / max(1, len(every)):.0f} %"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
