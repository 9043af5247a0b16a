# SPDX-License-Identifier: Apache-2.0
"""executor.py - an event loop gives work to an executor each 20 ms.

Class      healthy
"""

import asyncio
import time


async def main() -> None:
    while True:
        await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.02)


asyncio.run(main())
