# SPDX-License-Identifier: Apache-2.0
"""A lock for a few attributes: a signal handler does not run while it is taken without a call.

Python runs signal handlers when a call returns.  Until 3.13 the entry of a `with` block was no
call, so ``threading.Lock`` serves.  From 3.14 on it is one, and a handler could run with the lock
taken, and wait for it for ever; there the read of an attribute takes it.  Without
``_native/locks.c`` that remains (`ARE_WHOLE` of ``_runtime/locks.py`` is False).

Source: ``_native/locks.c``.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from typing import TYPE_CHECKING

HAS_GIL = not sysconfig.get_config_var("Py_GIL_DISABLED")
"""Whether this Python was built with it: a thread reads and writes an attribute in one step."""

if TYPE_CHECKING or sys.version_info < (3, 14):
    BriefLock = threading.Lock
else:
    try:
        from wakeproof._native.locks import BriefCore, entered
    except ImportError:
        BriefLock = threading.Lock
    else:

        class BriefLock(BriefCore):
            """Taken at the entry of a `with` block, and freed at its end."""

            __slots__ = ()

            def __enter__(self):
                entered[self]  # this takes it
