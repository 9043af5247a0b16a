# SPDX-License-Identifier: Apache-2.0
"""wakeproof.topology: fake machines under a root of their own."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.topologies import Machine, build, listed, write

from wakeproof import LinuxTopology
from wakeproof.errors import UsageError
from wakeproof.topology import Place, default_carriers, read_places

MACHINES = {
    1: Machine(),
    8: Machine(cores=2, threads=4),
    16: Machine(clusters=2, cores=4, threads=2),
    96: Machine(sockets=2, clusters=3, cores=8, threads=2),
}


@pytest.fixture(scope="session")
def trees() -> Iterator[dict[int, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        yield {n: build(Path(folder) / f"{n}", machine) for n, machine in MACHINES.items()}


@pytest.mark.parametrize("size", MACHINES)
def test_cores_come_before_their_siblings_and_clusters_stay_together(
    size: int, trees: dict[int, Path]
) -> None:
    machine = MACHINES[size]
    places = read_places(trees[size], machine.cpus)
    assert places == [
        Place(cpu, cpu % machine.all_cores, cpu // machine.all_cores, machine.package(cpu),
              machine.cluster(cpu))
        for cpu in machine.cpus
    ]  # fmt: skip


def test_siblings_that_are_numbered_side_by_side_come_after_all_cores(tmp_path: Path) -> None:
    write(tmp_path, "online", "0-5\n")
    for cpu in range(6):
        pair = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}\n"
        write(tmp_path, f"cpu{cpu}/topology/thread_siblings_list", pair)
    places = read_places(tmp_path, range(6))
    assert [place.cpu for place in places] == [0, 2, 4, 1, 3, 5]
    assert [place.core for place in places] == [0, 2, 4] * 2
    assert [place.smt for place in places] == [0] * 3 + [1] * 3


def test_clusters_of_one_socket_have_neighbouring_numbers(tmp_path: Path) -> None:
    # Sockets that alternate in the numbering of CPUs, two clusters each.
    write(tmp_path, "online", "0-7\n")
    for cpu in range(8):
        write(tmp_path, f"cpu{cpu}/topology/physical_package_id", 7000 + cpu % 2)
        write(tmp_path, f"cpu{cpu}/cache/index0/level", 3)
        write(tmp_path, f"cpu{cpu}/cache/index0/shared_cpu_list", f"{cpu % 4},{cpu % 4 + 4}\n")
    places = read_places(tmp_path, range(8))
    assert [place.cpu for place in places] == [0, 4, 2, 6, 1, 5, 3, 7]
    assert [place.cluster for place in places] == [0, 0, 1, 1, 2, 2, 3, 3]


@settings(max_examples=60, deadline=None)
@given(st.data())
@pytest.mark.slow
def test_each_carrier_gets_a_cpu_of_its_own_and_cores_are_used_up_first(
    trees: dict[int, Path], data: st.DataObject
) -> None:
    size = data.draw(st.sampled_from([16, 96]))
    machine = MACHINES[size]
    allowed = data.draw(st.sets(st.sampled_from(machine.cpus), min_size=1))
    carriers = data.draw(st.integers(1, len(allowed)))
    topology = LinuxTopology(carriers, root=trees[size], allowed=allowed)
    mine = [place.cpu for place in topology.places[:carriers]]
    assert len(set(mine)) == carriers
    assert set(mine) <= allowed
    cores = {cpu % machine.all_cores for cpu in allowed}
    assert len({topology.core(n) for n in range(carriers)}) == min(carriers, len(cores))
    numbers = {machine.cluster(cpu) for cpu in allowed}
    of_cluster = dict(zip(sorted(numbers), range(len(numbers)), strict=True))
    for n, cpu in enumerate(mine):
        assert topology.cluster(n) == of_cluster[machine.cluster(cpu)]


@given(st.sets(st.integers(0, 8191), min_size=1), st.sets(st.integers(0, 8191)))
@settings(max_examples=60, deadline=None)
@pytest.mark.slow
def test_what_is_offline_or_not_allowed_is_left_out(online: set[int], other: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), "online", listed(online))
        allowed = other | {min(online)}
        places = read_places(Path(folder), allowed)
    assert [place.cpu for place in places] == sorted(online & allowed)


def test_without_caches_and_topology_every_cpu_is_a_core_of_cluster_0(tmp_path: Path) -> None:
    write(tmp_path, "online", "0,3-4\n")
    assert read_places(tmp_path, range(9)) == [Place(n, n, 0, 0, 0) for n in (0, 3, 4)]


def test_cpus_without_caches_share_cluster_0_beside_others(tmp_path: Path) -> None:
    build(tmp_path, MACHINES[16])
    for cpu in (2, 5):
        shutil.rmtree(tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cache")
    clusters = {place.cpu: place.cluster for place in read_places(tmp_path, range(8))}
    assert clusters == {2: 0, 5: 0, 0: 1, 1: 1, 3: 1, 4: 2, 6: 2, 7: 2}


def test_a_package_that_is_not_known_is_package_0(tmp_path: Path) -> None:
    write(tmp_path, "online", "0\n")
    write(tmp_path, "cpu0/topology/physical_package_id", -1)
    assert read_places(tmp_path, [0]) == [Place(0, 0, 0, 0, 0)]


def test_this_machine_is_read() -> None:
    places = read_places()
    assert {place.cpu for place in places} == os.sched_getaffinity(0)
    assert min(place.cluster for place in places) == 0
    assert all(place.core <= place.cpu for place in places)


def test_more_carriers_than_cpus_float_in_cluster_0(trees: dict[int, Path]) -> None:
    topology = LinuxTopology(17, root=trees[16], allowed=range(16))
    assert topology.floats
    assert {topology.cluster(n) for n in range(17)} == {0}
    assert {topology.core(n) for n in range(17)} == {None}
    assert LinuxTopology(16, root=trees[16], allowed=range(16)).cluster(4) == 1


@pytest.mark.parametrize("carrier", [-1, 2])
def test_a_carrier_beyond_the_topology_is_refused(carrier: int, trees: dict[int, Path]) -> None:
    topology = LinuxTopology(2, root=trees[16], allowed=range(16))
    with pytest.raises(UsageError, match=re.escape(f"carrier is {carrier}; ") + "allowed: 0 to 1"):
        topology.core(carrier)


@pytest.mark.parametrize(
    ("quota", "cpus", "carriers"),
    [(None, 3, 3), ("150000", 3, 2), ("20000", 3, 1), ("900000", 3, 3), (None, 5000, 1024)],
)
def test_the_default_is_the_smaller_of_cpus_and_quota(
    quota: str | None, cpus: int, carriers: int, tmp_path: Path
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/a\n")
    (tmp_path / "sys/fs/cgroup/a").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/a/cpu.max").write_text(f"{quota or 'max'} 100000\n")
    assert default_carriers(tmp_path, range(cpus)) == carriers


def test_the_default_here_is_no_more_than_the_allowed_cpus() -> None:
    assert 1 <= default_carriers() <= len(os.sched_getaffinity(0))
