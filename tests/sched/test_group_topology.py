# SPDX-License-Identifier: Apache-2.0
"""Carrier groups in a topology: pinned or not, their names, and the siblings that they help."""

from __future__ import annotations

import os
import platform
import threading
import time
import warnings
from pathlib import Path

import pytest
from tests.support.running import python
from tests.support.topologies import Halves, indices, nowhere
from tests.support.virtual import until

from wakeproof import CarrierGroup, LinuxTopology, Stealing, Topology, TopologyWarning

PATIENCE_S = 60
ALLOWED = sorted(os.sched_getaffinity(0))
CLUSTER = Stealing(scope="cluster")


def refuse_odd(carrier: int) -> int | None:
    if carrier % 2:
        raise PermissionError(f"carrier {carrier} may not sit")
    return carrier


def system_name() -> str:
    return Path("/proc/thread-self/comm").read_text().strip()


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def test_here_each_carrier_is_pinned_to_a_cpu_of_its_own() -> None:
    with CarrierGroup(len(ALLOWED), topology="linux") as group:
        assert sorted(carrier.cpu or 0 for carrier in group) == ALLOWED
        for carrier in group:
            assert carrier.submit(os.sched_getaffinity, 0).result(PATIENCE_S) == {carrier.cpu}
            place = f"cluster{carrier.cluster}-core{carrier.core}"
            assert carrier.name == f"carrier-{carrier.index}-{place}"
            short = f"c{carrier.index}-cl{carrier.cluster}-co{carrier.core}"
            assert carrier.submit(system_name).result(PATIENCE_S) == short
    assert sorted(os.sched_getaffinity(0)) == ALLOWED


def test_without_a_topology_carriers_float_in_one_cluster() -> None:
    with CarrierGroup(2, work_stealing=True, stealing=CLUSTER) as group:
        assert [carrier.name for carrier in group] == ["carrier-0", "carrier-1"]
        assert [(carrier.cluster, carrier.core, carrier.cpu) for carrier in group] == [
            (0, None, None)
        ] * 2
        assert indices(group) == ((0, 1),)
    with CarrierGroup(2) as group:
        assert group[1].submit(system_name).result(PATIENCE_S) == "carrier-1"


def test_more_carriers_than_cpus_float_with_one_warning() -> None:
    many = len(ALLOWED) + 1
    with pytest.warns(TopologyWarning) as told:
        group = CarrierGroup(many, topology="linux", work_stealing=True, stealing=CLUSTER)
    with group:
        assert str(told[0].message) == (
            f"{many} of {many} carriers are not pinned: {many} carriers, {len(ALLOWED)} CPUs"
        )
        assert len(told) == 1
        assert told[0].filename == __file__
        assert {carrier.cpu for carrier in group} == {None}
        assert group[0].name == "carrier-0-cluster0"
        assert indices(group) == (tuple(range(many)),)
        may_use = group[many - 1].submit(os.sched_getaffinity, 0).result(PATIENCE_S)
        assert sorted(may_use) == ALLOWED


def test_a_cpu_that_is_not_there_is_one_warning_and_the_carriers_float(tmp_path: Path) -> None:
    online = tmp_path / "sys/devices/system/cpu/online"
    online.parent.mkdir(parents=True)
    online.write_text("8000-8001\n")
    topology = LinuxTopology(2, root=tmp_path, allowed=[8000, 8001])
    told = r"^2 of 2 carriers are not pinned: pin to CPU 8000: Invalid argument$"
    with pytest.warns(TopologyWarning, match=told):
        group = CarrierGroup(2, topology=topology)
    with group:
        assert [carrier.cpu for carrier in group] == [None, None]
        assert [carrier.name for carrier in group] == ["carrier-0-cluster0", "carrier-1-cluster0"]
        assert group.submit(int, "4").result(PATIENCE_S) == 4


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="not run: x86-64 system call numbers")
def test_a_system_that_forbids_affinity_is_one_warning_and_the_carriers_float() -> None:
    script = """
import ctypes, os, struct
from wakeproof import CarrierGroup
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 203), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *rule) for rule in rules)  # sched_setaffinity: EPERM
room = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(room))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
with CarrierGroup(1, topology="linux") as group:
    print(group[0].cpu, group[0].core, group[0].cluster, group.submit(int, "4").result())
"""
    ended = python(script)
    assert ended.stdout == "None None 0 4\n", ended.stderr
    assert ended.stderr.count("TopologyWarning: 1 of 1 carriers are not pinned: pin to CPU") == 1
    assert "Operation not permitted" in ended.stderr


def test_a_topology_of_ones_own_is_asked_on_each_carriers_thread() -> None:
    seen: dict[int, int] = {}

    def note(carrier: int) -> None:
        seen[carrier] = threading.get_native_id()

    with CarrierGroup(4, topology=Halves(bind=note)) as group:
        assert sorted(seen) == [0, 1, 2, 3]
        for carrier in group:
            native = carrier.submit(threading.get_native_id).result(PATIENCE_S)
            assert native == seen[carrier.index]
        names = [carrier.name for carrier in group]
    assert names[:2] == ["carrier-0-cluster7-core100", "carrier-1-cluster8-core101"]
    assert names[3] == "carrier-3-cluster8"
    assert isinstance(Halves(), Topology)


def test_a_carrier_that_is_refused_floats_and_keeps_its_cluster() -> None:
    told = r"^2 of 4 carriers are not pinned: carrier 1 may not sit$"
    with pytest.warns(TopologyWarning, match=told) as all_told:
        group = CarrierGroup(4, topology=Halves(bind=refuse_odd))
    with group:
        assert [carrier.cpu for carrier in group] == [0, None, 2, None]
        assert [carrier.core for carrier in group] == [100, None, 102, None]
        assert [carrier.cluster for carrier in group] == [7, 8, 7, 8]
    assert len(all_told) == 1


def test_a_warning_that_is_an_error_leaves_no_carriers_behind() -> None:
    before = threads()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TopologyWarning):
            CarrierGroup(2, topology=Halves(bind=refuse_odd))
    until(lambda: threads() <= before)  # a joined thread is listed a little longer


@pytest.mark.parametrize("names", [(1, "c0-cl7-co100"), (4, "c3-cl8")])
def test_the_system_sees_the_name_in_15_characters(names: tuple[int, str]) -> None:
    carriers, short = names
    with CarrierGroup(carriers, topology=Halves(bind=nowhere)) as group:
        assert group[-1].submit(system_name).result(PATIENCE_S) == short


def test_a_name_that_is_too_long_for_the_system_is_never_cut() -> None:
    class Far(Halves):
        def core(self, carrier: int) -> int | None:
            return 10_000_000 + carrier

    with CarrierGroup(1, topology=Far(bind=nowhere)) as group:
        assert group[0].name == "carrier-0-cluster7-core10000000"
        assert group[0].submit(system_name).result(PATIENCE_S) == "carrier-0"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*carriers are not pinned:wakeproof.errors.TopologyWarning")
def test_idle_carriers_use_no_cpu_when_they_exceed_the_cpus() -> None:
    many = 4 * len(ALLOWED)
    with CarrierGroup(many, topology="linux", work_stealing=True) as group:
        futures = [carrier.submit(int) for carrier in group for _ in range(50)]
        assert all(future.result(PATIENCE_S) == 0 for future in futures)
        until = time.thread_time() + 0.1
        while time.thread_time() < until:  # they go to sleep meanwhile
            pass
        parks = [carrier.counts.parks for carrier in group]
        others = time.process_time() - time.thread_time()
        until = time.thread_time() + 0.3
        while time.thread_time() < until:
            pass
        assert time.process_time() - time.thread_time() - others < 0.03
        assert [carrier.counts.parks for carrier in group] == parks
