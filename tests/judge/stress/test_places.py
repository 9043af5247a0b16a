# SPDX-License-Identifier: Apache-2.0
"""The places of actors (judge/stress/places.py), on machines that a fake sysfs describes."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.stress import places


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Describe two clusters of two cores with two threads each: CPUs 0-7, siblings 0+4, 1+5, ..."""
    for cpu in range(8):
        folder, core = tmp_path / f"cpu{cpu}", cpu % 4
        (folder / "topology").mkdir(parents=True)
        (folder / "topology" / "thread_siblings_list").write_text(f"{core},{core + 4}\n")
        (folder / "cache" / "index3").mkdir(parents=True)
        shared = "0-1,4-5" if core < 2 else "2-3,6-7"
        (folder / "cache" / "index3" / "shared_cpu_list").write_text(shared)
    monkeypatch.setattr(places, "_CPU_FOLDER", tmp_path)


@pytest.mark.usefixtures("machine")
def test_global_alternates_clusters_and_takes_whole_cores_first() -> None:
    (place,) = places.choose(("global",), tuple(range(8)))
    assert place.cpus == (0, 2, 1, 3, 4, 6, 5, 7)


@pytest.mark.usefixtures("machine")
def test_local_takes_siblings_then_a_shared_cache_then_any_two() -> None:
    (siblings,) = places.choose(("local",), tuple(range(8)))
    (cluster,) = places.choose(("local",), (1, 2, 3))
    (any_two,) = places.choose(("local",), (1, 3))
    assert (siblings.cpus, cluster.cpus, any_two.cpus) == ((0, 4), (2, 3), (1, 3))


def test_where_nothing_is_known_of_the_machine_all_cpus_are_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_CPU_FOLDER", tmp_path)
    none, spread = places.choose(("none", "global", "local"), (0, 1))
    assert (none.cpus, spread.cpus) == ((), (0, 1))


@pytest.mark.usefixtures("machine")
def test_pairs_are_all_pairs() -> None:
    assert len(places.choose(("pairs",), (0, 1, 2))) == 3


def test_an_unknown_affinity_is_refused() -> None:
    with pytest.raises(UsageError, match="'far'; allowed: none, global, local, pairs"):
        places.choose(("far",), (0,))
