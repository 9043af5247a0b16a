# SPDX-License-Identifier: Apache-2.0
"""Names of addresses: the functions and objects of the files that a process has mapped.

The stack is not unwound: that would need the registers of the thread, which only a debugger gets.
A word of the stack counts as a return address if it points behind a call instruction.
"""

from __future__ import annotations

import bisect
import ctypes
import functools
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from wakeproof.judge.watch.process import Process, Region

_ENTRY: Final = struct.Struct("<IBBHQQ")  # of a table of symbols
_NAMED: Final = (1, 2, 10)  # STT_OBJECT, STT_FUNC, STT_GNU_IFUNC
_LONGEST: Final = 7  # bytes of a call instruction


@dataclass(frozen=True)
class Place:
    """An address in a file: its offset from the file's first byte in memory, as the linker saw."""

    path: str
    build_id: str
    offset: int
    name: str  # of the function or object around it; ""

    @property
    def words(self) -> str:
        """Return it for people: ``main (server)``."""
        file = Path(self.path).name
        return f"{_demangled(self.name)} ({file})" if self.name else f"{file}+{self.offset:#x}"


@functools.cache
def _demangled(name: str) -> str:
    """Return a name of C++ or Rust as its author wrote it, without parameters and result."""
    if not name.startswith("_Z"):
        return name
    try:
        demangle = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
    except (OSError, AttributeError):
        return name
    demangle.restype = ctypes.c_void_p
    found = demangle(name.encode(), None, None, None)
    if not found:
        return name
    text = ctypes.string_at(found).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(found))
    text = text.replace("(anonymous namespace)::", "")
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text.partition("(")[0].rpartition(" ")[2]


class Image:
    """A file of the ELF format: its segments and symbols, read once."""

    def __init__(self, file: BinaryIO) -> None:
        elf = ELFFile(file)
        self.segments = [
            (one["p_offset"], one["p_filesz"], one["p_vaddr"])
            for one in elf.iter_segments("PT_LOAD")
        ]
        self.build_id = ""
        found: dict[int, tuple[int, str]] = {}
        for section in elf.iter_sections():
            if section["sh_type"] in ("SHT_SYMTAB", "SHT_DYNSYM"):
                names = elf.get_section(section["sh_link"]).data()
                for at, kind, _other, where, value, size in _ENTRY.iter_unpack(section.data()):
                    if kind & 15 in _NAMED and where and value and size:
                        end = names.index(b"\0", at)
                        found.setdefault(value, (size, names[at:end].decode(errors="replace")))
            elif isinstance(section, NoteSection) and section.name == ".note.gnu.build-id":
                for note in section.iter_notes():
                    self.build_id = note["n_desc"]
        self.starts = sorted(found)
        self.names = {name for _, name in found.values()}
        self._found = found

    def name(self, offset: int) -> str:
        """Return the function or object that holds an address, or ""."""
        at = bisect.bisect(self.starts, offset) - 1
        if at < 0:
            return ""
        size, name = self._found[self.starts[at]]
        return name if offset < self.starts[at] + size else ""

    def address(self, name: str) -> int | None:
        """Return the linker's address of a function or object."""
        return next((at for at, (_, its) in self._found.items() if its == name), None)

    def offset(self, in_file: int) -> int:
        """Return the linker's address of a byte of the file."""
        for begin, size, address in self.segments:
            if begin <= in_file < begin + size:
                return int(in_file - begin + address)
        return in_file


class Symbols:
    """The files of one process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._images: dict[tuple[int, str], Image | None] = {}
        self.renew()

    def renew(self) -> None:
        """Read the regions again: a library may have been loaded."""
        self.regions = self._process.maps()
        self._places: dict[int, Place | None] = {}
        self._begins = [one.begin for one in self.regions]

    def region(self, address: int) -> Region | None:
        """Return the region that holds an address."""
        at = bisect.bisect(self._begins, address) - 1
        if at < 0 or address >= self.regions[at].end:
            return None
        return self.regions[at]

    def image(self, region: Region) -> Image | None:
        """Return the file of a region, or None if it has none that can be read."""
        key = (region.inode, region.path)
        if key not in self._images:
            self._images[key] = self._open(region)
        return self._images[key]

    def file(self, region: Region) -> Path:
        """Return where a file of the process lies, also of one in a container."""
        return Path(f"/proc/{self._process.pid}/root") / region.path.lstrip("/")

    def place(self, address: int) -> Place | None:
        """Return an address as a place in a file, or None."""
        if address not in self._places:
            self._places[address] = self._find(address)
        return self._places[address]

    def _find(self, address: int) -> Place | None:
        region = self.region(address)
        if region is not None and not region.path:  # of zeros, which the file does not hold
            before = self.region(region.begin - 1)
            region = before if before is not None and before.path else region
        image = self.image(region) if region else None
        if region is None or image is None:
            return None
        offset = image.offset(region.offset) + address - region.begin
        return Place(region.path, image.build_id, offset, image.name(offset))

    def words(self, address: int) -> str:
        """Return an address for people: a name, or the kind of memory."""
        place = self.place(address)
        if place is not None:
            return place.words
        region = self.region(address)
        kind = region.path.strip("[]") if region and region.path else "memory"
        return f"{kind} {address:#x}"

    def returns(self, sp: int, words: int = 64) -> Iterator[tuple[int, Place]]:
        """Yield the return addresses above `sp`: the distance from `sp`, and the place."""
        for at, value in enumerate(self._process.stack(sp, words)):
            region = self.region(value)
            if region is None or "x" not in region.access or not self._is_behind_call(value):
                continue
            place = self.place(value)
            if place is not None:
                yield 8 * at, place

    def _is_behind_call(self, address: int) -> bool:
        code = self._process.read(address - _LONGEST, _LONGEST)
        if code is None:
            return False
        # e8: a relative call of 5 bytes.  ff /2: through a register or memory, 2 to 7 bytes.
        return code[2] == 0xE8 or any(
            code[-size] == 0xFF and code[1 - size] >> 3 & 7 == 2 for size in (2, 3, 4, 6, 7)
        )

    def _open(self, region: Region) -> Image | None:
        if not region.path.startswith("/"):
            return None
        try:
            with self.file(region).open("rb") as file:
                return Image(file)
        except (OSError, ELFError, ValueError, KeyError):
            return None
