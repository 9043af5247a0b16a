# SPDX-License-Identifier: Apache-2.0
"""The CPU time that cgroups grant: `wakeproof doctor` shows it, and groups are sized by it."""

from __future__ import annotations

from pathlib import Path

from wakeproof import cgroup


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_tightest_quota_above_the_process_counts_in_cgroup_2(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "0::/a/b\n")
    write(tmp_path / "sys/fs/cgroup/a/cpu.max", "150000 100000\n")
    write(tmp_path / "sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
    assert cgroup.quota(tmp_path) == 1.5


def test_a_quota_is_read_in_cgroup_1(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "4:cpu,cpuacct:/a\n3:memory:/a\n")
    for name, value in (("quota", "50000"), ("period", "100000")):
        write(tmp_path / f"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_{name}_us", value)
    assert cgroup.quota(tmp_path) == 0.5


def test_no_limit_and_no_cgroups_are_no_quota(tmp_path: Path) -> None:
    assert cgroup.quota(tmp_path) is None
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    write(tmp_path / "sys/fs/cgroup/cpu.max", "max 100000\n")
    assert cgroup.quota(tmp_path) is None
