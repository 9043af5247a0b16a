# SPDX-License-Identifier: Apache-2.0
"""wakeproof.io.open: files of virtual threads.  Spec: specs/io/FileQueue.tla."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.support.ringed import needs_uring
from tests.support.running import run
from tests.support.talking import start
from tests.support.virtual import PATIENCE_S, parked

import wakeproof
from wakeproof import CarrierGroup, ThreadInterruptedError, io

LINES = 300


@pytest.fixture(params=["ring", "pool"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With io_uring, if it is there, and without, which gives no warning."""
    monkeypatch.setattr("wakeproof._runtime.file._warned", ["."])
    if request.param == "pool":
        monkeypatch.setenv("WAKEPROOF_NO_URING", "1")
    way: str = request.param
    return way


def use(path: Path) -> None:
    with io.open(path, "w", encoding="utf-8", newline="") as file:
        for number in range(LINES):
            file.write(f"line {number}\r\n")
        file.flush()
        io.fsync(file)
    assert path.read_bytes().count(b"\r\n") == LINES
    with io.open(path, encoding="utf-8") as file:
        assert (file.mode, file.name) == ("r", path)
        assert file.readlines() == [f"line {number}\n" for number in range(LINES)]
    with io.open(path, "r+b") as file:
        file.seek(5)
        file.write(b"X")
        file.seek(0)
        assert (file.read(7), file.tell()) == (b"line X\r", 7)
    with io.open(path, "ab", 0) as file:
        assert file.write(b"tail") == 4
        assert file.tell() == path.stat().st_size
    with io.open(path, "rb") as file:
        assert file.read().endswith(b"\r\ntail")
        assert file.read() == b""
    with io.open(path, "rb", 0) as file:
        assert bytes(file.readall()[-4:]) == b"tail"
    with pytest.raises(ValueError, match="closed file"):
        file.read()
    with io.open(path, "wb", 0) as file, pytest.raises(OSError, match="read"):
        file.read(1)


def test_files_of_many_threads(way: str, tmp_path: Path, either_group: CarrierGroup) -> None:
    threads = [start(either_group, use, tmp_path / f"{way}-{n}") for n in range(12)]
    for thread in threads:
        thread.result(PATIENCE_S)
    use(tmp_path / "of-an-os-thread")


def refused(path: Path) -> None:
    with pytest.raises(FileNotFoundError) as found:
        io.open(path / "none")
    assert found.value.filename == path / "none"
    with pytest.raises(IsADirectoryError):
        io.open(path)
    with pytest.raises(FileExistsError):
        io.open(path / "there", "x")
    for mode, more in (
        ("rbt", {}),
        ("q", {}),
        ("rb", {"encoding": "utf-8"}),
        ("r", {"buffering": 0}),
    ):
        with pytest.raises(ValueError, match=r"mode|unbuffered"):
            io.open(path / "there", mode, **more)


@pytest.mark.usefixtures("way")
def test_errors_are_the_builtins(tmp_path: Path, group: CarrierGroup) -> None:
    (tmp_path / "there").touch()
    start(group, refused, tmp_path).result(PATIENCE_S)
    refused(tmp_path)


def pinned(path: Path) -> None:
    with wakeproof.pinned():
        use(path)


async def in_a_coroutine(path: Path) -> None:
    use(path)


def test_who_cannot_park_blocks_its_carrier(tmp_path: Path, group: CarrierGroup) -> None:
    start(group, pinned, tmp_path / "pinned").result(PATIENCE_S)
    start(group, in_a_coroutine, tmp_path / "coroutine").result(PATIENCE_S)


def reads_fifo(path: Path, opened: list[int] | None = None) -> bytes:
    with io.open(path, "rb", 0) as file:
        if opened is not None:
            opened.append(1)
        data: bytes = file.read(1)
        return data


@needs_uring
def test_others_of_its_carrier_run_while_it_waits(tmp_path: Path, group: CarrierGroup) -> None:
    os.mkfifo(tmp_path / "fifo")
    reader = group[0].factory(pinned=True)(reads_fifo, tmp_path / "fifo")

    def writes() -> None:
        with io.open(tmp_path / "fifo", "wb", 0) as file:
            file.write(b"x")

    group[0].factory(pinned=True)(writes).result(PATIENCE_S)
    assert reader.result(PATIENCE_S) == b"x"


@needs_uring
def test_an_interrupt_cancels_what_would_take_for_ever(tmp_path: Path, group: CarrierGroup) -> None:
    os.mkfifo(tmp_path / "fifo")
    reader = start(group, reads_fifo, tmp_path / "fifo")
    parked(reader).interrupt()
    with pytest.raises(ThreadInterruptedError):
        reader.result(PATIENCE_S)


@needs_uring
def test_a_close_hands_back_who_reads(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    group = CarrierGroup(2)
    writer = os.open(tmp_path / "fifo", os.O_RDWR)
    opened: list[int] = []
    readers = [start(group, reads_fifo, tmp_path / "fifo", opened) for _ in range(4)]
    while len(opened) < 4:
        assert all(reader.is_alive() for reader in readers)
    for reader in readers:
        parked(reader)  # an open may park, too
    left = group.close(0)
    assert sorted(one.name for one in left) == sorted(reader.name for reader in readers)
    os.write(writer, b"x")
    assert os.read(writer, 1) == b"x"  # no other thread has read it
    os.close(writer)


WARNS = """
from wakeproof import CarrierGroup, VirtualThread, io
group = CarrierGroup(1)
for _ in range(3):
    VirtualThread(lambda: io.open("/dev/null").close(), group=group).start().result(60)
group.close(10)
"""


def test_without_io_uring_there_is_one_warning() -> None:
    ended = run([sys.executable, "-W", "always", "-c", WARNS], WAKEPROOF_NO_URING="1")
    assert ended.returncode == 0
    assert ended.stderr.count("NoFilesWarning: files of virtual threads go to") == 1, ended.stderr
