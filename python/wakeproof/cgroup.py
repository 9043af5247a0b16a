# SPDX-License-Identifier: Apache-2.0
"""Read how much CPU time the cgroups of this process grant, in versions 1 and 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def quota(root: Path = Path("/")) -> float | None:
    """Return the lowest CPU quota of this process's cgroups, in CPUs; None if there is no quota.

    Args:
        root: the folder that holds ``proc`` and ``sys``.

    Example:
        >>> limit = quota()
        >>> limit is None or limit > 0
        True
    """
    limits = []
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            limits += _limits(root / "sys/fs/cgroup", path, _quota_v2)
        elif "cpu" in controllers.split(","):
            limits += _limits(root / "sys/fs/cgroup" / controllers, path, _quota_v1)
            limits += _limits(root / "sys/fs/cgroup/cpu", path, _quota_v1)
    return min(limits, default=None)


def _limits(mount: Path, path: str, read: Callable[[Path], float | None]) -> list[float]:
    here = Path(path.lstrip("/"))
    found = [read(mount / folder) for folder in (here, *here.parents)]
    return [limit for limit in found if limit is not None]


def _quota_v2(folder: Path) -> float | None:
    try:
        allowed, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return None if allowed == "max" else int(allowed) / int(period)
    except (OSError, ValueError):
        return None


def _quota_v1(folder: Path) -> float | None:
    try:
        allowed = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        period = int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
        return None if allowed < 0 else allowed / period
    except (OSError, ValueError):
        return None
