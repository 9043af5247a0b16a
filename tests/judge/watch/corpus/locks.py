# SPDX-License-Identifier: Apache-2.0
"""locks.py - two threads of Python take two locks, which have no owner, in opposite orders.

Class      value equal
Verdict    stuck
Fixed      waits
"""

import sys
import threading
import time

left, right, both = threading.Lock(), threading.Lock(), threading.Barrier(2)


def other() -> None:
    with right:
        both.wait()
        with left:
            pass


threading.Thread(target=other, daemon=True).start()
left.acquire()
both.wait()
if sys.argv[1:] == ["fixed"]:
    left.release()
with right:
    pass
time.sleep(1000)
