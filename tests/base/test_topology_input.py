# SPDX-License-Identifier: Apache-2.0
"""wakeproof.topology: malformed, impossible and missing input is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.topologies import Machine, build, write

from wakeproof.errors import SystemCallError, UsageError
from wakeproof.topology import read_places

MALFORMED = [
    "", "\n", "-", "1-", "-1", "3-1", "2-2", "1,", ",1", "1,,2", "1 ", " 1", "0x1", "1\n\n", "1,1",
    "4,2", "0-3,2", "8192", "0-8192", "4294967296", "18446744073709551616", "1:2", "1-2-3", "a",
    "1\0",
]  # fmt: skip
FILES = ["online", "cpu1/topology/thread_siblings_list", "cpu1/cache/index1/shared_cpu_list"]
NUMBERS = ["cpu1/topology/physical_package_id", "cpu1/cache/index0/level"]


@pytest.mark.parametrize("text", MALFORMED)
@pytest.mark.parametrize("name", FILES)
def test_a_malformed_list_is_named(name: str, text: str, tmp_path: Path) -> None:
    build(tmp_path, Machine(cores=2))
    write(tmp_path, name, text)
    with pytest.raises(SystemCallError, match=rf"{tmp_path}/sys.*/{name}: malformed"):
        read_places(tmp_path, [0, 1])


@pytest.mark.parametrize("text", ["", "x", "1 2", "1,2", "1-2", "-2", "99999999999", "+1"])
@pytest.mark.parametrize("name", NUMBERS)
def test_a_malformed_number_is_named(name: str, text: str, tmp_path: Path) -> None:
    build(tmp_path, Machine(cores=2))
    write(tmp_path, name, text)
    with pytest.raises(SystemCallError, match=rf"/{name}: malformed"):
        read_places(tmp_path, [0, 1])


def test_a_tree_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    online = rf"topology: {tmp_path}/sys/devices/system/cpu/online: "
    with pytest.raises(SystemCallError, match=online + "No such file"):
        read_places(tmp_path, [0])
    (tmp_path / "sys/devices/system/cpu/online").mkdir(parents=True)
    with pytest.raises(SystemCallError, match=online + "Is a directory"):
        read_places(tmp_path, [0])
    with pytest.raises(SystemCallError, match="File name too long"):
        read_places(Path("/" + "x/" * 2048), [0])


@pytest.mark.parametrize("allowed", [[1, 8191], []])
def test_a_machine_without_an_allowed_cpu_is_named(allowed: list[int], tmp_path: Path) -> None:
    write(tmp_path, "online", "0\n")
    with pytest.raises(SystemCallError, match="online: none of the allowed CPUs"):
        read_places(tmp_path, allowed)


@pytest.mark.parametrize("cpu", [-1, 8192])
def test_an_impossible_cpu_is_refused(cpu: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"allowed is \[0, {cpu}\]|\[{cpu}, 0\]; .* 0 to 8,191"):
        read_places(tmp_path, [0, cpu])


def test_a_file_that_never_ends_is_malformed(tmp_path: Path) -> None:
    write(tmp_path, "online", "0" * 70_000)  # a long way to write CPU 0
    with pytest.raises(SystemCallError, match="online: malformed"):
        read_places(tmp_path, [0])
