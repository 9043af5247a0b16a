# SPDX-License-Identifier: Apache-2.0
"""Forbid membarrier by a seccomp filter, then use guards and a group; exit 77: impossible here."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

from wakeproof import CarrierGroup, RendezvousGuard, WakeupGuard

MEMBARRIER = {"x86_64": 324, "aarch64": 283}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # classic BPF
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | errno.EPERM


def forbid(number: int) -> bool:
    """Make the system call `number` fail with EPERM. False: this process may not filter."""
    program = (
        (LOAD_WORD, 0, 0, 0),  # the system call's number
        (JUMP_IF_EQUAL, 0, 1, number),
        (RETURN, 0, 0, FAIL),
        (RETURN, 0, 0, ALLOW),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    filters = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None)
    refused: int = libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    refused = refused or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filters, 0, 0)
    return refused == 0


def say(*words: object) -> None:
    """Write a line for the test that runs this."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def main() -> int:
    """Print the results of guards that were made before and after."""
    number = MEMBARRIER.get(platform.machine())
    early = WakeupGuard(lambda: None, fences="asymmetric")
    rendezvous = RendezvousGuard(fences="asymmetric")
    if number is None or early.fences != "asymmetric" or not forbid(number):
        say(f"no membarrier or no seccomp on this {platform.machine()}")
        return 77
    early.enter(lambda: True)
    say(early.fences, early.max_block_s, rendezvous.wait(lambda: True, timeout_s=30))
    late = WakeupGuard(lambda: None, fences="asymmetric")
    late.enter(lambda: True)
    say(late.fences, late.max_block_s)
    with CarrierGroup(2, work_stealing=True) as group:
        say(sum(future.result(30) for future in [group.submit(int, "1") for _ in range(100)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
