# SPDX-License-Identifier: Apache-2.0
"""What a `with` block of a lock calls, in one piece for signals.  Source: ``locks.c``."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from wakeproof.vthread import VirtualThread

class MutexCore:
    _address: int
    _holder: VirtualThread | int | None
    def _take(self, deadline_ns: int, /) -> bool: ...
    def _has(self, code: int, /) -> bool: ...
    def _note(self, holds: bool, /) -> None: ...
    def _free(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

class ConditionCore:
    _address: int
    def _wait_as_os(self, deadline_ns: int, /) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

class SemaphoreCore:
    _address: int
    def _give(self, permits: int, /) -> bool: ...
    def _take(self, permits: int, deadline_ns: int, /) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

def bind(here: object, /, *functions: int) -> None: ...
