# SPDX-License-Identifier: Apache-2.0
"""Where the members of our runtime's structures lie, in the build that a process runs.

The debug information of the file that holds the runtime says so.  Reading it takes most of the time
of a look, so what was read is kept by the build id of that file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from wakeproof import locations
from wakeproof.judge import schema
from wakeproof.judge.source_texts import digest

_UNITS: Final = (
    "sched/worker.c", "wakeup/parker.c", "thread/wait_queue.c", "sched/carrier.c", "sync/mutex.c",
    "sync/semaphore.c", "sync/channel.c", "wakeup/guard.c", "pool/pool.c", "scope/scope.c",
    "io/descriptor_poller.c", "sched/vthread_start.c", "sched/placement/group_placement.c",
    "io/file.c",
)  # fmt: skip
"""The compilation units in which the structures are looked for, the largest first."""
_THROUGH: Final = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type",
                   "DW_TAG_atomic_type")  # fmt: skip

_USED: Final = (
    ("wp_carrier", "word"), ("wp_carrier", "domain"), ("wp_carrier", "index"),
    ("wp_carrier", "inbox.first"), ("wp_carrier", "inbox.head"), ("wp_carrier", "queue.first"),
    ("wp_carrier", "queue.head"), ("wp_carrier", "private_fifo.first"), ("wp_carrier", "bounded"),
    ("wp_domain", "carriers"), ("wp_domain", "count"), ("wp_domain", "searching"),
    ("wp_worker", "home.carrier"), ("wp_worker", "home"), ("wp_worker", "group"),
    ("wp_worker", "thread"), ("wp_worker", "poller.registered"), ("wp_group", "workers"),
    ("wp_group", "config.carriers"), ("wp_carrier_tasks", "carrier"),
    ("wp_carrier_tasks", "tasks"), ("wp_carrier_tasks", "ended.signals"),
    ("wp_carrier_tasks", "is_shut"), ("wp_carrier_tasks", "count"),
    ("wp_carrier_tasks", "timers.earliest_ns"),
    ("wp_task", "word"), ("wp_task", "next"), ("wp_task", "name"), ("wp_task", "is_virtual"),
    ("wp_task", "home"), ("wp_vthread", "scheduler"), ("wp_local_queue", "head"),
    ("wp_local_queue", "tail"), ("wp_local_queue", "next"), ("wp_vthread", "waits"),
    ("wp_waiter", "state"), ("wp_waiter", "line"), ("wp_waiter", "why"), ("wp_waiter", "amount"),
    ("wp_waiter", "object"), ("wp_waiter", "leave"), ("wp_rendezvous", "cond.signals"),
    ("wp_rendezvous", "guard.asleep"),
    ("wp_mutex", "word"), ("wp_mutex", "line"), ("wp_semaphore", "word"),
    ("wp_semaphore", "line"), ("wp_channel", "count"), ("wp_channel", "capacity"),
    ("wp_channel", "is_closed"), ("wp_channel", "senders"), ("wp_channel", "receivers"),
    ("wp_scope_children", "line"), ("wp_scope_children", "members"),
    ("wp_scope_children", "is_cancelled"), ("wp_scope", "children"), ("wp_scope", "state"),
    ("wp_ready", "line"), ("wp_ready", "is_shut"), ("wp_io", "ready"), ("wp_io", "fd"),
    ("wp_io", "poller"), ("wp_io_poller", "is_over"),
    ("wp_worker", "has_stop"), ("wp_worker", "io"),
    ("wp_pool_thread", "parker"), ("wp_pool_thread", "pool"), ("wp_pool_thread", "older"),
    ("wp_pool_thread", "state"), ("wp_pool", "newest"), ("wp_pool", "is_closed"),
    ("wp_pool", "queued"), ("wp_pool", "gone"), ("wp_pool", "left.signals"),
    ("wp_pool", "threads"), ("wp_pool", "waiting"), ("wp_pool", "reserve.stopping"),
    ("wp_pool_thread", "system"), ("wp_body", "run"), ("wp_body", "step"),
    ("wp_pool", "config.max"), ("wp_pool", "refused"),
    ("wp_worker", "role"), ("wp_worker", "exited"), ("wp_worker", "has_thread"),
    ("wp_worker", "index"), ("wp_worker", "mounted"), ("wp_role", "freed.signals"),
    ("wp_role", "is_free"), ("wp_role", "lent"), ("wp_roles", "some.signals"),
    ("wp_roles", "offered"), ("wp_roles", "is_over"), ("wp_group", "spares.roles"),
    ("wp_group", "spares.started"), ("wp_group", "spares.most"), ("wp_group", "placed"),
    ("wp_group", "closing.left.signals"), ("wp_group", "closing.is_inside"),
    ("wp_group", "closing.is_stopping"), ("wp_group", "closing.is_closed"),
    ("wp_group_placement", "placement.slots"), ("wp_group_placement", "moved.first"),
    ("wp_group_placement", "over.signals"), ("wp_group_placement", "group"),
    ("wp_group_placement", "replaced.carriers"), ("wp_group_placement", "replaced.is_over"),
    ("wp_group_placement", "replaced.counts.most"), ("wp_placement_slot", "word"),
    ("wp_group_placement", "replaced.counts.active"),
    ("wp_group_placement", "replaced.counts.refused"),
    ("wp_waiter", "thread"), ("wp_mutex", "holder"),
    ("wp_io_poller", "files"), ("wp_file_queue", "first"), ("wp_file_op", "done"),
    ("wp_file_op", "fd"), ("wp_file_op", "is_listed"), ("wp_file_op", "is_begun"),
    ("wp_file_op", "is_cancelled"), ("wp_file_op", "has_ended"),
)  # fmt: skip
"""Each member that is used, or member of a member: ``home.carrier``."""


@dataclass(frozen=True)
class Layout:
    """The structures that one build has: their sizes, and the offsets of their members."""

    sizes: dict[str, int]
    offsets: dict[str, int]  # "wp_carrier.word"

    def has(self, structure: str) -> bool:
        """Return whether a structure is known."""
        return structure in self.sizes

    def size(self, structure: str) -> int:
        """Return its size in bytes."""
        return self.sizes[structure]

    def offset(self, structure: str, path: str) -> int:
        """Return the offset of a member, or of a member of a member: ``home.carrier.word``."""
        return self.offsets[f"{structure}.{path}"]


def read(file: Path, build_id: str) -> Layout | None:
    """Return the layout of our runtime in a file; None: it has no debug information of it."""
    folder = locations.cache() / "watch"
    folder.mkdir(exist_ok=True)
    kept = folder / f"layout-{digest(Path(__file__).read_text(encoding='utf-8'), build_id)}.json"
    try:
        return schema.from_json(Layout, kept.read_bytes()) if build_id else _learn(file)
    except (FileNotFoundError, schema.SchemaError):
        pass
    found = _learn(file)
    if found is not None:
        locations.write_atomically(kept, schema.of(Layout).dump_json(found).decode())
    return found


def _learn(file: Path) -> Layout | None:
    try:
        with file.open("rb") as opened:
            elf = ELFFile(opened)
            if not elf.has_dwarf_info():
                return None
            units: dict[str, DIE] = {}
            for unit in elf.get_dwarf_info().iter_CUs():
                top = unit.get_top_DIE()
                name = top.attributes["DW_AT_name"].value.decode(errors="replace")
                units.update((end, top) for end in _UNITS if name.endswith(end))
            found = _structures([units[end] for end in _UNITS if end in units])
            if "wp_carrier" not in found:
                return None
            return Layout(
                {name: int(die.attributes["DW_AT_byte_size"].value) for name, die in found.items()},
                {f"{name}.{path}": _offset(found[name], path) for name, path in _USED
                 if name in found},
            )  # fmt: skip
    except (OSError, ELFError, DWARFError, KeyError, StopIteration):
        return None


def _structures(units: list[DIE]) -> dict[str, DIE]:
    """Return the structures that are used, by name."""
    wanted = {name for name, _ in _USED}
    found: dict[str, DIE] = {}
    for unit in units:
        for die in unit.iter_children():
            name = die.attributes.get("DW_AT_name")
            if (die.tag == "DW_TAG_structure_type" and name and name.value.decode() in wanted
                    and "DW_AT_byte_size" in die.attributes):  # fmt: skip
                found.setdefault(name.value.decode(), die)
    return found


def _offset(die: DIE, path: str) -> int:
    found = 0
    for name in path.split("."):
        member = next(one for one in die.iter_children()
                      if one.attributes["DW_AT_name"].value == name.encode())  # fmt: skip
        found += member.attributes["DW_AT_data_member_location"].value
        die = member.get_DIE_from_attribute("DW_AT_type")
        while die.tag in _THROUGH:
            die = die.get_DIE_from_attribute("DW_AT_type")
    return found
