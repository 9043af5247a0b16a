# SPDX-License-Identifier: Apache-2.0
"""`wakeproof.aio.Channel` in every schedule."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from wakeproof import aio
from wakeproof.aio_channel import _PlainCore
from wakeproof.judge.schedules.explore import HOLDS, Options, explore


class PlainChannel(aio.Channel[Any]):
    """The channel without its part in C, which calls the lock itself."""

    _put = _PlainCore._put
    _get = _PlainCore._get


@pytest.mark.parametrize("cancels", [0, 1])
def test_nothing_is_left_once_a_receiver_was_told_so(cancels: int) -> None:
    async def main() -> None:
        channel = PlainChannel(1)

        def send() -> None:
            channel.send(1)
            channel.close()

        thread = threading.Thread(target=send)
        thread.start()
        receivers = [asyncio.create_task(channel.areceive()) for _ in range(2)]
        await asyncio.wait(receivers)
        thread.join()
        ended = [task for task in receivers if not task.cancelled()]
        received = [task.result() for task in ended if task.exception() is None]
        left = list(channel)
        assert [*received, *left] == [1]
        assert not left or len(received) == len(ended)

    found = explore(lambda: asyncio.run(main()), Options(cancels=cancels))
    assert (found.verdict, found.preemptions) == (HOLDS, None), found
