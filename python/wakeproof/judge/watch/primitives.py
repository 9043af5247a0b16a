# SPDX-License-Identifier: Apache-2.0
"""What one thread waits for: the primitive, its object, its owner, and whether it says "go on"."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from typing import Final

from wakeproof.judge.watch.calibration import FUTEX, Calibration
from wakeproof.judge.watch.process import Process, Sleep
from wakeproof.judge.watch.symbols import Place, Symbols

_FUTEX_WAITV, _FUTEX_WAIT2 = 449, 455
_WAIT, _LOCK_PI, _WAIT_BITSET, _REQUEUE_PI, _LOCK_PI2 = 0, 6, 9, 11, 13
_OWNER: Final = 0x3FFFFFFF  # of a word with the number of its owner
_EPOLL: Final = {232: 3, 281: 3, 441: 3}  # epoll_wait, _pwait, _pwait2: where the timeout is
_ENDLESS: Final = 0xFFFFFFFF  # a timeout of -1 ms
_READS: Final = {0: "read", 45: "recvfrom", 47: "recvmsg", 43: "accept", 288: "accept4",
                 19: "readv", 17: "pread64"}  # fmt: skip
_TIMED: Final = {35: "nanosleep", 230: "clock_nanosleep"}
_OTHERS: Final = {1: "write", 20: "writev", 44: "sendto", 46: "sendmsg", 61: "wait4", 247: "waitid",
                  34: "pause", 128: "rt_sigtimedwait", 130: "rt_sigsuspend", 72: "fcntl",
                  73: "flock", 219: "restart_syscall", 426: "io_uring_enter", 23: "select",
                  270: "pselect6", 42: "connect", 24: "sched_yield", 74: "fsync"}  # fmt: skip
_POLLS: Final = {7: "poll", 271: "ppoll"}
_MOST_FDS: Final = 256
_RETURNS: Final = 16  # return addresses in which a name is looked for

NAMES: Final = {
    "cond": "condition variable", "sem": "semaphore", "mutex": "mutex", "rwlock": "read-write lock",
    "barrier": "barrier", "once": "pthread_once", "join": "join", "pi": "mutex (PI)",
}  # fmt: skip
"""The kinds of calls of the C library, for people."""
_BY_NAME: Final = (
    ("cond", r"(__)?(pthread_cond|cnd)_(wait|timedwait|clockwait)"),
    ("sem", r"(__new_)?sem_(wait|timedwait|clockwait)"),
    ("join", r"(__)?pthread_(join|timedjoin_np|clockjoin_np)|__pthread_clockjoin_ex"),
    ("rwlock", r"(__)?pthread_rwlock_\w+lock"),
    ("mutex", r"(__)?(pthread_mutex_(lock|timedlock|clocklock)|mtx_lock)"),
    ("barrier", r"(__)?pthread_barrier_wait"),
    ("once", r"(__)?(pthread_once|call_once)"),
)
_NAMED: Final = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _BY_NAME))
_MUTEX: Final = struct.Struct("<IIiI")  # __lock, __count, __owner, __nusers
_CURRENT_WRITER: Final = 24  # in a pthread_rwlock_t
_WAITV: Final = struct.Struct("<QQII")
_POLLFD: Final = struct.Struct("<ihh")
_IN, _ONESHOT, _EDGE, _EXCLUSIVE = 1, 1 << 30, 1 << 31, 1 << 28


@dataclass(frozen=True)
class Sign:
    """That the sleeper could go on.

    `strength` is ``go``: by what the primitive means it must be woken; ``changed``: the value on
    which it sleeps is gone, and what that means is not known; ``note``: something to know.
    """

    strength: str
    why: str


@dataclass(frozen=True)
class Wait:
    """One look at one sleeping thread."""

    tid: int
    sleep: Sleep
    primitive: str  # "mutex", "futex", "epoll", "read"
    kind: str = ""  # the key of NAMES; "futex", "" for other calls
    is_known: bool = False  # by calibration: what its word means is known
    address: int | None = None
    object: str = ""
    caller: str = ""
    is_timed: bool = False
    is_inside: bool = False  # only a thread of this process can end it, but for a signal
    owner: int | None = None  # the thread for which it waits
    is_owner_needed: bool = False  # the owner alone can end the wait
    sign: Sign | None = None


class Primitives:
    """Tells what the threads of one process wait for."""

    def __init__(self, process: Process, calibration: Calibration) -> None:
        self._process = process
        self._calibration = calibration
        self.symbols = Symbols(process)
        self._numbers: dict[int, int] = {}
        self._shared: dict[str, bool] = {}
        self.renew()

    def renew(self) -> None:
        """Read again what rarely changes: libraries, the threads' own numbers, shared pipes."""
        self.symbols.renew()
        self._numbers = self._process.own_numbers()
        self._shared.clear()

    def look(self, tid: int) -> Wait | None:
        """Return what a thread waits for; None: it runs, or went on during the look."""
        sleep = self._process.sleep(tid)
        if sleep is None:
            return None
        if self.symbols.region(sleep.pc) is None:
            self.renew()  # it sleeps in a library that was loaded since
        wait = self._wait(tid, sleep)
        return wait if self._process.sleep(tid) == sleep else None

    def _wait(self, tid: int, sleep: Sleep) -> Wait:
        number, (first, second, third, fourth, *_) = sleep.number, sleep.arguments
        if number == FUTEX:
            operation = second & 0x7F
            return self._futex(Wait(tid, sleep, "futex", is_timed=bool(fourth), address=first),
                               operation, third, is_private=bool(second & 128))  # fmt: skip
        if number == _FUTEX_WAIT2:
            wait = Wait(tid, sleep, "futex", is_timed=bool(sleep.arguments[4]), address=first)
            return self._futex(wait, _WAIT, second, is_private=bool(fourth & 128))
        if number == _FUTEX_WAITV:
            return self._waitv(Wait(tid, sleep, f"futex_waitv of {second}", is_timed=bool(fourth)))
        wait = self._called(Wait(tid, sleep, _name(number)))
        if number in _EPOLL:
            limit = sleep.arguments[_EPOLL[number]]
            timed = bool(limit) if number == 441 else limit & _ENDLESS != _ENDLESS
            return self._epoll(replace(wait, is_timed=timed), first)
        if number in _READS:
            return self._reads(wait, first)
        if number in _POLLS:
            timed = bool(third) if number == 271 else third & _ENDLESS != _ENDLESS
            return self._polls(replace(wait, is_timed=timed), first, second)
        timed = number in _TIMED or (number == 128 and bool(third)) or (
            number in (23, 270) and bool(sleep.arguments[4]))  # fmt: skip
        return replace(wait, is_timed=timed)

    def _called(self, wait: Wait) -> Wait:
        """Add what has called the system call: the first function outside the C library."""
        for _, place in self.symbols.returns(wait.sleep.sp):
            if not _is_libc(place):
                return replace(wait, caller=place.words)
        return wait

    def _futex(self, wait: Wait, operation: int, expected: int, *, is_private: bool) -> Wait:
        address = wait.address
        assert address is not None
        word = self._process.word(address)
        # A futex in memory that only this process has is private, whatever the call says.
        region = self.symbols.region(address)
        is_private = is_private or (region is not None and region.access.endswith("p"))
        named = replace(self._name_futex(wait), object=self.symbols.words(address),
                        is_inside=is_private)  # fmt: skip
        if word is None:
            return replace(named, sign=Sign("note", "its word is not mapped any more"))
        if operation in (_LOCK_PI, _LOCK_PI2):
            return self._owned(replace(named, primitive=NAMES["pi"], kind="pi"), word & _OWNER)
        if operation not in (_WAIT, _WAIT_BITSET):
            # FUTEX_WAIT_REQUEUE_PI may sleep at its second word by now: this one says nothing.
            return named
        named = self._with_owner(named, word)
        if word == expected & 0xFFFFFFFF:
            return named
        return replace(named, sign=self._sign(named, word, expected & 0xFFFFFFFF, is_private))

    def _name_futex(self, wait: Wait) -> Wait:
        found = self._calibration.find(self.symbols, wait.sleep)
        if found is not None:
            call, caller = found
            wait = replace(wait, primitive=NAMES[call.kind], kind=call.kind, is_known=True)
            if caller is not None and _is_libc(caller):
                return self._called(wait)
            return replace(wait, caller=caller.words if caller else "")
        wait = replace(wait, kind="futex")
        for at, (_, place) in enumerate(self.symbols.returns(wait.sleep.sp)):
            if at == _RETURNS:
                break
            named = _NAMED.fullmatch(place.name)
            if named is not None and named.lastgroup is not None:
                kind = next(one for one, _ in _BY_NAME if named[one] is not None)
                wait = replace(wait, primitive=NAMES[kind], kind=kind)
            elif not _is_libc(place):
                return replace(wait, caller=place.words)
        return wait

    def _with_owner(self, wait: Wait, word: int) -> Wait:
        """Add the owner, where the object of that kind has one."""
        address = wait.address
        assert address is not None
        if wait.kind == "join":
            return self._owned(wait, word)
        if wait.kind == "mutex":
            if word & _OWNER > 2:  # a robust one: the number of the owner is in the word
                return self._owned(wait, word & _OWNER)
            lock = self._process.read(address, _MUTEX.size)
            if word and lock is not None:
                return self._owned(wait, _MUTEX.unpack(lock)[2])
        if wait.kind == "rwlock":
            # The word is the second or the third of the lock, which lies at a multiple of 8.
            begin = address - (12 if address % 8 else 8)
            return self._owned(wait, self._process.word(begin + _CURRENT_WRITER) or 0)
        return wait

    def _owned(self, wait: Wait, number: int) -> Wait:
        """Add an owner by the number that the process has for it."""
        if number <= 0:
            return wait
        return replace(wait, owner=self._numbers.get(number, number), is_owner_needed=True)

    def _sign(self, wait: Wait, word: int, expected: int, is_private: bool) -> Sign:
        """Return what it means that the word is not the one on which the thread fell asleep."""
        changed = Sign("changed", f"its word is {word:#x}, and it fell asleep on {expected:#x}")
        if not wait.is_known or not is_private:
            return changed
        if wait.kind == "cond" and self._calibration.has_conditions:
            return Sign("go", f"{word >> 1} signals of its group are not taken" if word > 1 else
                        "its group of waiters is closed")  # fmt: skip
        if wait.kind == "sem":
            return Sign("go", f"the semaphore counts {word}")
        if wait.kind == "mutex" and word == 0:
            return Sign("go", "the mutex is free")
        if wait.kind == "join":
            return Sign("go", "that thread has ended")
        if wait.kind == "once":
            return Sign("go", "the initialization is over")
        return changed

    def _waitv(self, wait: Wait) -> Wait:
        many = min(wait.sleep.arguments[1], 128)
        got = self._process.read(wait.sleep.arguments[0], _WAITV.size * many) or b""
        inside = True
        for expected, address, flags, _ in _WAITV.iter_unpack(got):
            inside &= bool(flags & 128)
            word = self._process.word(address)
            if word is not None and flags & 3 == 2 and word != expected & 0xFFFFFFFF:
                sign = Sign("changed", f"a word is {word:#x}, and it fell asleep on {expected:#x}")
                wait = replace(wait, sign=sign, address=address)
        return self._called(replace(wait, is_inside=inside, kind="futex"))

    def _epoll(self, wait: Wait, epoll: int) -> Wait:
        _, told = self._process.descriptor(epoll)
        watched = re.findall(r"tfd:\s*(\d+) events:\s*(\w+)", told)[:_MOST_FDS]
        inside, sign = bool(watched), wait.sign
        for number, mask in watched:
            fd, events = int(number), int(mask, 16)
            what, its = self._process.descriptor(fd)
            inside &= self._is_own(what, its)
            if not self._process.is_readable(fd):
                continue
            named = f"fd {fd}, {what}"
            if not events & _IN:
                if events & ~(_ONESHOT | _EDGE) == 0:
                    sign = sign or Sign("note", f"readable, one-shot and not armed again: {named}")
            elif events & _EDGE:
                sign = sign or Sign("note", f"readable, edge-triggered, perhaps never to be read: "
                                    f"{named}")  # fmt: skip
            elif not events & (_ONESHOT | _EXCLUSIVE):
                sign = Sign("changed", f"readable, and watched for it: {named}")
        return replace(wait, primitive="epoll", kind="epoll", object=f"{len(watched)} descriptors",
                       is_inside=inside, sign=sign)  # fmt: skip

    def _reads(self, wait: Wait, fd: int) -> Wait:
        what, told = self._process.descriptor(fd)
        sign = None
        if self._process.is_readable(fd):
            sign = Sign("changed", "it is readable")
        return replace(wait, kind="read", object=f"fd {fd}, {what}{_count(told)}", sign=sign,
                       is_inside=self._is_own(what, told))  # fmt: skip

    def _polls(self, wait: Wait, array: int, many: int) -> Wait:
        got = self._process.read(array, _POLLFD.size * min(many, _MOST_FDS)) or b""
        fds = [fd for fd, events, _ in _POLLFD.iter_unpack(got) if fd >= 0 and events & _IN]
        sign = None
        if any(self._process.is_readable(fd) for fd in fds):
            sign = Sign("changed", "one of its descriptors is readable")
        kinds = ", ".join(self._process.descriptor(fd)[0] for fd in fds[:3])
        inside = bool(fds) and all(self._is_own(*self._process.descriptor(fd)) for fd in fds)
        return replace(wait, kind="poll", object=kinds, sign=sign, is_inside=inside)

    def _is_own(self, what: str, told: str) -> bool:
        """Return whether a descriptor becomes ready only by what this process does."""
        if "eventfd" in what:
            mark = re.search(r"^eventfd-id:.*$", told, re.MULTILINE)
            key = mark[0] if mark else ""
            if not key:
                return False
            # The kernel signals an eventfd when an io_uring of the process has finished something.
            return not self._is_shared(what, key) and not self._is_shared("io_uring", "")
        if what.startswith("pipe:"):
            return not self._is_shared(what, "")
        return False

    def _is_shared(self, what: str, mark: str) -> bool:
        key = f"{what} {mark}"
        if key not in self._shared:
            if what == "io_uring":
                found = any("io_uring" in kind for _, kind in self._process.descriptors())
            else:
                found = self._process.others_hold(what, mark)
            self._shared[key] = found
        return self._shared[key]


def _name(number: int) -> str:
    for names in (_READS, _TIMED, _OTHERS, _POLLS):
        if number in names:
            return names[number]
    return "epoll" if number in _EPOLL else f"system call {number}"


def _is_libc(place: Place) -> bool:
    """Return whether a place is in the C library, or in the recorder that stands before it."""
    return re.search(r"/(libc[.-]|ld-(musl|linux)|wakeproof-record-)", place.path) is not None


def _count(told: str) -> str:
    count = re.search(r"eventfd-count:\s*(\w+)", told)
    return f" with count {int(count[1], 16)}" if count else ""
