# SPDX-License-Identifier: Apache-2.0
"""Finds the step of Search.tla that corresponds to an access of the compiled search.

The meaning of a site depends on the reason for which the thread is there.  The reason follows from
the thread's own last steps, which a ghost remembers.
"""

from __future__ import annotations

from wakeproof.judge.conform.code import At, Step, wakes_next
from wakeproof.judge.conform.concept import DROPPED, HIDDEN, WAIT

CARRIER = 8 * 128  # bytes; the places below are offsets in a carrier
TAIL, FIRST, HEAD, SERVING = 128, 256, 264, 641
INBOX = 2 * 128  # added to a place in the queue: the same place in the inbox
TICKETS = 4  # a ghost keeps two bits of a number
WHY = {
    "carrier.4": "alone", "search.5": "snapshot", "search.6": "stop", "search.7": "recheck",
    "carrier.6": "own", "carrier.2": "left", "Reenqueue": "alone", "LookOwn": "look",
    "Snapshot": "recruit",
}  # fmt: skip
"""The reason that a thread has after a step at a site, or with a label."""


def queue_of(step: Step) -> int:
    """Return the carrier with the stealable queue that the place is in, -1 if there is none."""
    carrier, place = divmod(step.what.offset, CARRIER)
    return carrier if place in (FIRST, HEAD, TAIL) and carrier < 2 else -1


def front(at: At, carrier: int, which: int = 0) -> int:
    """Return the published front of the queue (`which`: INBOX), 0 if there is none."""
    base = carrier * CARRIER + which
    return at.word(base + HEAD) or at.word(base + FIRST)


def pinned_as(threads: tuple[str, ...], step: Step, *, alone: bool) -> str:
    """Return the spec's step where tasks are pinned; `alone`: only pinned tasks are submitted.

    A carrier polls its two queues one after the other, which is one step of the spec.  So one of
    the two must always be empty: the stealable queue if pinned tasks are `alone`, else the inbox
    of a carrier that polls.  The check of the other queue shows whether the poll found nothing.
    """
    thread = threads[step.thread]
    own = int(thread[1]) - 1 if thread[0] == "c" else -1
    why = step.memory[step.thread]
    carrier, place = divmod(step.what.offset, CARRIER)
    match step.site:
        case "Pin":
            to = next(c for c in (0, 1) if step.pre.word(c * CARRIER + INBOX + TAIL)
                      != step.post.word(c * CARRIER + INBOX + TAIL))  # fmt: skip
            return f"SubmitPinned {thread} c{to + 1}"
        case "mpsc.9" if why == "look" and carrier == own and place == INBOX + FIRST:
            return f"LookInbox {thread}"
        case "mpsc.10" if place == TAIL:
            return f"IsQuiescent {thread}"
        case "mpsc.10" if place == INBOX + TAIL:
            return f"LoadInbox {thread}"
        case "mpsc.15" if alone and place == INBOX + HEAD:
            took = front(step.pre, own, INBOX) != front(step.post, own, INBOX)
            return f"{'PollInbox' if took else 'PollNothing'} {thread}"
    label = label_as(threads, step)
    return HIDDEN if alone and label.startswith("PollNothing") else label


def label_as(threads: tuple[str, ...], step: Step) -> str:
    """Return the step of the spec."""
    thread = threads[step.thread]
    own = int(thread[1]) - 1 if thread[0] == "c" else -1
    why = step.memory[step.thread]
    match step.site:
        case "To":
            to = next(c for c in (0, 1) if step.pre.word(c * CARRIER + TAIL)
                      != step.post.word(c * CARRIER + TAIL))  # fmt: skip
            return f"Submit {thread} c{to + 1}"
        case "mpsc.9":
            return _front(step, thread, own, why)
        case "idle_set.3":
            name = {"snapshot": "Snapshot", "recheck": "Recheck"}.get(why, "IsIdle")
            return HIDDEN if why.startswith("scan") else f"{name} {thread}"
        case "biased_lock.2":
            if step.post.pending(step.thread).site == "biased_lock.2":
                return WAIT
            return f"PollQueue {thread}" if front(step.pre, own) else f"PollNothing {thread}"
        case "mpsc.15":
            carrier, place = divmod(step.what.offset, CARRIER)
            is_own = carrier == own
            if place != HEAD:
                return HIDDEN  # the inbox
            if not _gives_back(step, carrier):
                return f"Keep the ticket {thread}"
            took = front(step.pre, carrier) != front(step.post, carrier)
            return f"Pop {thread}" if took or (is_own and why != "nothing") else HIDDEN
        case "search.5" if step.post.pending(step.thread).site == "search.5":
            return HIDDEN  # it has read how many tokens are taken, and tries to take one more
        case "carrier.3" | "search.2":
            return f"{SITES[step.site]} {thread}{'' if _is_told(step) else ' silently'}"
        case "Spawn" | "Yield" if step.post.pending(step.thread).site == "mpsc.3":
            return f"{'SubmitInternal' if step.site == 'Spawn' else 'Reenqueue'} {thread}"
        case "Spawn" | "Yield":
            return f"End {thread}"
        case "Sleep":
            if step.post.pending(step.thread).site == "Sleep":  # it sleeps on
                return WAIT if step.moves else DROPPED
            return f"{'Rise' if step.pre.word(own * CARRIER) == 1 else 'Awake'} {thread}"
        case "biased_lock.4":
            return HIDDEN if step.post.pending(step.thread).site == "mpsc.15" else WAIT
        case "biased_lock.3":
            return WAIT
    name = SITES[step.site]
    return f"{name} {thread}" if name else HIDDEN


def _gives_back(step: Step, carrier: int) -> bool:
    """Return whether the pop, which ends with [biased_lock.5], gave back one ticket only."""
    at = carrier * CARRIER + SERVING
    return (step.post.word(at) - step.pre.word(at)) % TICKETS == 1


def _is_told(step: Step) -> bool:
    """Return whether the next step is the system call that wakes the thread of the changed word."""
    word = step.what.offset
    return step.pre.word(word) == step.post.word(word) or wakes_next(step, word)


SITES = {
    "mpsc.3": "Publish", "carrier.4": "LoadWord", "carrier.3": "Wake", "search.5": "Start",
    "search.6": "Stop", "search.2": "Recruit", "search.4": "LoadParked", "mpsc.12": "LoadTail",
    "run_queues.1": "LoadWaking", "carrier.1": "Advertise", "idle_set.1": "SetIdle",
    "idle_set.2": "ClearIdle", "carrier.2": "Leave", "End": "End", "carrier.7": "", "carrier.6": "",
    "search.7": "", "mpsc.10": "", "mpsc.4": "", "mpsc.11": "", "futex_wake": "",
    "biased_lock.5": "Release",
}  # fmt: skip
"""[biased_lock.5] is part of a pop; a release of its own is no step of the spec."""


def _front(step: Step, thread: str, own: int, why: str) -> str:
    """Return the step that reads a queue's front, by the reason for it."""
    carrier = queue_of(step)
    if why == "alone":
        return f"IsAlone {thread}"
    if carrier < 0:
        return HIDDEN  # an inbox: no thread submits there
    if why == "own" and carrier == own:
        return f"LookOwn {thread}"
    if why.startswith("scan"):
        return f"IsHit {thread}"
    if why == "look" and carrier != own:
        return f"IsHit {thread}"
    if carrier != own:
        return WAIT  # a steal, until it has the ticket
    then = step.post.pending(step.thread)
    if then.site == "mpsc.15" and then.offset == own * CARRIER + HEAD:
        return f"PollQueue {thread}"
    return HIDDEN if then.site == "biased_lock.2" else f"PollNothing {thread}"


def after(memory: tuple[str, ...], step: Step, label: str) -> tuple[str, ...]:
    """Remember the last step of each thread."""
    name = label.partition(" ")[0]
    before = memory[step.thread]
    now = WHY.get(name) or WHY.get(step.site)
    if name in ("IsAlone", "PollQueue", "PollNothing", "Recruit", "Awake", "Rise"):
        now = "nothing" if name == "PollNothing" and step.site == "biased_lock.2" else ""
    elif name == "Recheck":
        now = f"scan {step.value} 0" if step.value else ""
    elif now is None and before.startswith("scan"):
        now = _scan(before, step)
    if now is None:
        return memory
    return (*memory[: step.thread], now, *memory[step.thread + 1 :])


def _scan(before: str, step: Step) -> str | None:
    """Follow a re-check: bits with words that are not yet read, then queues not yet checked."""
    bits, seen = map(int, before.split()[1:])
    if step.site == "search.4":
        bit = bits & -bits
        bits -= bit
        seen |= bit if step.value in (1, 2) else 0
        if bits:
            return f"scan {bits} {seen}"
        # An idle carrier is not sent to itself; -1 marks that the queues come now.
        return f"scan -1 {3 if seen == 3 else 3 - seen}" if seen else ""
    is_miss = (step.site == "mpsc.9" and not step.value) or (
        step.site == "run_queues.1" and step.value == 3
    )
    if bits < 0 and is_miss:
        seen &= seen - 1
        return f"scan -1 {seen}" if seen else ""
    return None
