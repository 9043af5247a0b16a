# SPDX-License-Identifier: Apache-2.0
"""Search on real cores: two carriers that run, a submitter.

The meaning of a site depends on the reason for which the thread is there, so each thread's events
are read along its program.  The spec pops in one step, [mpsc.6]: after it no check finds the front.
The code takes the tail back earlier, by [mpsc.7].  A run in which another thread reads the tail
between these two is not judged, but counted.  No thread pops a queue while another thread has the
queue's ticket.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

from wakeproof.judge.conform.maps.search import SEARCH, TWO_THREADS, WORDS
from wakeproof.judge.conform.maps.search_steps import CARRIER, TAIL
from wakeproof.judge.traces.concept import NOTHING, Cell, Step, TraceConcept
from wakeproof.judge.traces.events import Event, Round
from wakeproof.judge.traces.maps.own import of_carriers
from wakeproof.judge.traces.maps.search_walk import Walk, idle, token

SEARCHING = 4  # WP_SEARCHING


class _Thread(Walk):
    """A carrier or the submitter, as carrier.c and conform_search.c are written."""

    inbox_next = False

    def program(self) -> None:
        """Read the events of the thread's program."""
        if self.who[0] == "s":
            self.submitter()
        else:
            self.carrier()

    def carrier(self) -> None:
        """Read a carrier: it starts in a task or not, then polls, parks and runs."""
        start = self.take("Start")
        self.step(NOTHING, start, before={self.pc: "run" if start.result else "poll"})
        has_task = bool(start.result)
        while True:
            if has_task:
                self.step("End", self.take("End"))
            has_task = self.poll() or self.park()

    def submitter(self) -> None:
        """Read a submitter: it submits to either carrier, and wakes a carrier."""
        self.take("To")
        self.take("mpsc.1")
        reserve = self.take("mpsc.2")
        self.step("Submit", reserve, to=f"c{1 + reserve.place // CARRIER}")
        self.step("Publish", self.take("mpsc.3"))
        self.take("carrier.7")
        if self.wake_for(reserve.operand):
            return
        look = self.take("idle_set.3")
        self.step("IsIdle", look, before=idle(look.result))
        if look.result:
            self.search()

    def wake_for(self, node: int) -> bool:
        """Read wp_carrier: the carrier is woken, and takes this task first."""
        look = self.take("carrier.4")
        self.step("LoadWord", look, before=self.word(look, look.result))
        if WORDS[look.result] != "PARKED":
            return False
        first, last, front = self.front()
        alone = front == node
        if alone:
            last = self.take("mpsc.14")
            alone = last.result == node
        if alone:
            last = self.take("mpsc.10")
        where = "wake" if alone else "wake_and_tell"
        self.step("IsAlone", first, last, after={self.pc: where})
        claim = self.take("carrier.3")
        now = claim.operand if claim.happened else claim.result
        self.step("Wake", claim, before=self.word(claim, claim.result), after=self.word(claim, now))
        if claim.happened:
            self.take("futex_wake")
        return alone and claim.happened

    def poll(self) -> bool:
        """Read wp_carrier_poll; no thread submits to an inbox here."""
        inbox_first = self.inbox_next
        self.inbox_next = not inbox_first
        if inbox_first:
            self.empty_inbox()
        got = self.poll_queue()
        if not got and not inbox_first:
            self.empty_inbox()
        return got

    def empty_inbox(self) -> None:
        """Read wp_mpsc_pop of an empty queue."""
        self.take("mpsc.15")
        self.take("mpsc.4")

    def poll_queue(self) -> bool:
        """Read a pop under the ticket, unless the queue is empty."""
        first, last, front = self.front()
        if not front:
            self.step("PollNothing", first, last)
            return False
        ticket = self.take("biased_lock.1")
        turn = self.take("biased_lock.2")
        while turn.result != ticket.result:
            turn = self.take("biased_lock.2")
        self.enter(turn)
        end, got = self.pop()
        if got:
            self.step("PollQueue", turn)
            self.step("Pop", end, after={f"held.{self.who}": True})
        else:
            self.step("PollNothing", turn, end)
        self.leave()
        return got

    def park(self) -> bool:
        """Read a park: advertise, sleep and leave, with a task or without."""
        mark = self.take("carrier.1")
        self.step("Advertise", mark, after=self.word(mark, mark.operand))
        bit = self.take("idle_set.1")
        self.step("SetIdle", bit, before=idle(bit.result), after=idle(bit.result | bit.operand))
        self.take("carrier.6")
        first, last, front = self.front()
        self.step("LookOwn", first, last, after={self.pc: "clear" if front else "look"})
        is_hit = False
        if not front:
            self.front()  # the inbox
            is_hit = self.is_hit("look")
            if not is_hit:
                self.sleep()
        bit = self.take("idle_set.2")
        self.step("ClearIdle", bit, before=idle(bit.result), after=idle(bit.result & bit.operand))
        out = self.take("carrier.2")
        self.step(
            "Leave", out, before=self.word(out, out.result), after=self.word(out, out.operand)
        )
        if out.result >= SEARCHING:
            return self.serve()
        return self.steal() if is_hit and WORDS[out.result] == "PARKED" else False

    def sleep(self) -> None:
        """Read a sleep, which ends by a wake or spuriously."""
        while True:
            choice, look = self.take("Sleep"), self.take("Word")
            is_parked = WORDS[look.result] == "PARKED"
            if (choice.result == 0) != is_parked:
                name = "Rise" if is_parked else "Awake"
                self.step(name, look, before=self.word(look, look.result))
                return

    def serve(self) -> bool:
        """Read a service: take one task, give the token back, check again."""
        got = self.steal()
        self.step("Stop", self.take("search.6"), after=token(0))
        if self.recheck():
            self.search()
        return got

    def steal(self) -> bool:
        """Read wp_carrier_steal; the spec takes the ticket of an empty queue, too."""
        while True:
            first, last, front = self.front()
            if not front:
                self.step("TryAcquire", first, last)
                self.step("Pop", first, last, after={f"held.{self.who}": False})
                return False
            self.take("biased_lock.3")
            ticket = self.take("biased_lock.4")
            if ticket.happened:
                self.step("TryAcquire", ticket)
                self.enter(ticket)
                end, got = self.pop()
                self.step("Pop", end, after={f"held.{self.who}": got})
                self.leave()
                return got


def _read(thread: int, events: Sequence[Event]) -> Walk:
    walk = _Thread(TWO_THREADS[thread], events)
    walk.run()
    return walk


def explain(thread: int, events: Sequence[Event]) -> list[Cell]:
    """Return the steps of the spec that may explain a thread's events."""
    return _read(thread, events).found


def judged(one: Round) -> bool:
    """Return whether no other thread reads a tail between its take-back and the end of the pop."""
    for thread, events in enumerate(one.threads):
        others = [e for k, theirs in enumerate(one.threads) if k != thread for e in theirs]
        for queue, begin, end in _read(thread, events).unlinks:
            tail = queue * CARRIER + TAIL
            if any(e.place == tail and e.begin < end and e.end > begin for e in others):
                return False
    return True


def wrong(one: Round) -> str:
    """Return where two threads have the ticket of one queue at the same time, or ""."""
    held = [
        (TWO_THREADS[thread], hold)
        for thread, events in enumerate(one.threads)
        for hold in _read(thread, events).holds
    ]
    for (who, (queue, begin, end)), (other, (its, start, stop)) in combinations(held, 2):
        if who != other and queue == its and begin < stop and start < end:
            return f"no step: {who} and {other} have the ticket of c{queue + 1} at once"
    return ""


def at_end(thread: int) -> tuple[Step, ...]:
    """Return the end of the submitter; carriers never end."""
    return (Step(NOTHING, (), {"at.s1.pc": "done"} if thread == 2 else {}),)


SEARCH_TRACES = TraceConcept(
    concept=SEARCH,
    explain=explain,
    at_end=at_end,
    disagrees=partial(of_carriers, busy=2),
    wrong=wrong,
    judged=judged,
    limit=120,
    twins=("search_no_recheck_release", "biased_lock_reads_next", "carrier_wrong_ticket"),
)
