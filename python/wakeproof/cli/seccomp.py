# SPDX-License-Identifier: Apache-2.0
"""The filter of system calls of ``--sandbox``, compiled by libseccomp.

It refuses what neither compilers, judges nor programs that they judge need, and what has given
attackers the kernel before: keys, BPF, io_uring, userfaultfd, mounts and namespaces, and sockets of
families that a network namespace does not hold, such as vsock, by which a virtual machine reaches
its host.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from typing import Any, Final

from wakeproof.errors import MissingToolError

LIBRARY: Final = "libseccomp.so.2"
REFUSED: Final = (
    "acct", "add_key", "bpf", "chroot", "delete_module", "finit_module", "fsconfig", "fsmount",
    "fsopen", "fspick", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup",
    "kcmp", "kexec_file_load", "kexec_load", "keyctl", "mount", "mount_setattr", "move_mount",
    "name_to_handle_at", "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root",
    "process_vm_readv", "process_vm_writev", "quotactl", "reboot", "request_key", "setns",
    "swapoff", "swapon", "syslog", "umount2", "unshare", "userfaultfd", "vhangup",
)  # fmt: skip
"""These fail with EPERM; all of another architecture end their process."""
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_EQUAL, _GREATER, _MASKED_EQUAL = 4, 6, 7
_NEW_USER: Final = 0x10000000
_FAMILIES: Final = tuple(map(int, (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6,
                                   socket.AF_NETLINK)))  # fmt: skip
"""The families of sockets that are allowed."""


class _Compare(ctypes.Structure):
    """A condition on an argument: ``struct scmp_arg_cmp``."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("mask", ctypes.c_uint64),
                ("value", ctypes.c_uint64))  # fmt: skip


def descriptor() -> int:
    """Return a descriptor of the filter, as ``bwrap --seccomp`` reads it; close it.

    Raises:
        MissingToolError: there is no libseccomp.
    """
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        raise MissingToolError(
            f"--sandbox needs {LIBRARY}: install libseccomp (Debian: apt install libseccomp2)"
        ) from None
    library.seccomp_init.restype = ctypes.c_void_p
    made = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_ALLOW)))
    try:
        for name in REFUSED:
            _refuse(library, made, name, errno.EPERM)
        # A user namespace gives its maker all rights in it. clone3 has its flags in memory, where
        # no filter sees them, and the C library takes clone if it is not there.
        new_user = (_Compare * 1)(_Compare(0, _MASKED_EQUAL, _NEW_USER, _NEW_USER))
        _refuse(library, made, "clone", errno.EPERM, new_user)
        _refuse(library, made, "clone3", errno.ENOSYS)
        for family in set(range(max(_FAMILIES))) - set(_FAMILIES):
            one = (_Compare * 1)(_Compare(0, _EQUAL, family, 0))
            _refuse(library, made, "socket", errno.EPERM, one)
        others = (_Compare * 1)(_Compare(0, _GREATER, max(_FAMILIES), 0))
        _refuse(library, made, "socket", errno.EPERM, others)
        found = os.memfd_create("seccomp", 0)
        _check(library.seccomp_export_bpf(made, found))
        os.lseek(found, 0, os.SEEK_SET)
        return found
    finally:
        library.seccomp_release(made)


def _refuse(library: Any, made: Any, name: str, code: int, conditions: Any = ()) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number >= 0:  # else this machine has no such call
        array = conditions or None
        _check(library.seccomp_rule_add_array(
            made, ctypes.c_uint32(_ERRNO | code), number, len(conditions), array
        ))  # fmt: skip


def _check(failed: int) -> None:
    if failed:
        raise OSError(-failed, f"libseccomp: {os.strerror(-failed)}")
