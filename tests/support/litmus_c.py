# SPDX-License-Identifier: Apache-2.0
"""Litmus programs as C11 with POSIX threads: one file, whose `main` runs the one it is told.

The language of the programs is in ``stress/explorer/data.c``.  A location is an atomic object of 8
bytes, or of 4 if it is a futex.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HEAD = """\
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t sleeps(void *word, uint32_t expected)
{
	errno = 0;
	if (syscall(SYS_futex, word, FUTEX_WAIT, expected, NULL, NULL, 0) == 0)
		return 0;
	return errno == EAGAIN ? 1 : 2;
}

static uint64_t wakes(void *word, uint32_t most)
{
	return (uint64_t)syscall(SYS_futex, word, FUTEX_WAKE, most, NULL, NULL, 0);
}

static uint64_t r_of[16][8];
"""
_ORDERS = {order: f"memory_order_{order}"
           for order in ("relaxed", "acquire", "release", "acq_rel", "seq_cst")}  # fmt: skip
_UPDATES = {"exchange": "atomic_exchange_explicit", "add": "atomic_fetch_add_explicit",
            "or": "atomic_fetch_or_explicit", "and": "atomic_fetch_and_explicit"}  # fmt: skip
UNKNOWN = re.compile(r"\b(assume|array|light|heavy|wait_until|for)\b|\w\[")
"""What C has no word for, or what other tests have: such a program stays text."""


def can_be_c(text: str) -> bool:
    """Return whether the program can be written in C."""
    return not UNKNOWN.search(re.sub(r"#.*", "", text))


def in_c(programs: Mapping[str, str]) -> str:
    """Return the C file of the programs, by name."""
    parts = [HEAD, *(_one(f"p{at}", text) for at, text in enumerate(programs.values()))]
    runs = "".join(
        f'\tif (!strcmp(argv[1], "{name}"))\n\t\treturn p{at}_main();\n'
        for at, name in enumerate(programs)
    )
    return "\n".join([*parts, f"int main(int argc, char **argv)\n{{\n{runs}\treturn 99;\n}}\n"])


def _one(prefix: str, text: str) -> str:
    lines = [re.sub(r"#.*", "", line).strip() for line in text.splitlines()]
    words = [line.split() for line in lines if line]
    return _Program(prefix, words).text()


class _Program:
    def __init__(self, prefix: str, lines: list[list[str]]) -> None:
        self._prefix, self._lines = prefix, lines
        self._locations: dict[str, int] = {}  # and their sizes in bytes
        self._initial: dict[str, str] = {}
        self._observed: list[str] = []
        self._threads: list[list[str]] = []
        for words in lines:
            for at, word in enumerate(words[:-1]):
                if word in ("wait", "wake"):
                    self._locations[words[at + 1]] = 4

    def text(self) -> str:
        for words in self._lines:
            self._line([self._number(word) for word in words])
        name = self._prefix
        places = "".join(
            f"_Atomic uint{8 * size}_t {name}_{place} = {self._initial.get(place, '0')};\n"
            for place, size in self._locations.items()
        )
        threads = "".join(
            f"static void *{name}_{at}(void *unused)\n{{\n"
            "\tuint64_t r0 = 0, r1 = 0, r2 = 0, r3 = 0, r4 = 0, r5 = 0, r6 = 0, r7 = 0;\n"
            f"\t(void)(r0 + r1 + r2 + r3 + r4 + r5 + r6 + r7);\n{''.join(body)}"
            f"end_of_thread: __attribute__((unused));\n{self._kept(at)}\treturn NULL;\n}}\n"
            for at, body in enumerate(self._threads)
        )
        count = len(self._threads)
        starts = "".join(f"\tpthread_create(&t[{at}], NULL, {name}_{at}, NULL);\n"
                         for at in range(count))  # fmt: skip
        values = ", ".join(self._value(what) for what in self._observed)
        shown = ",".join("%llu" for _ in self._observed)
        prints = f'\tprintf("{shown}\\n", {values});\n' if self._observed else ""
        return (
            f"{places}{threads}static int {name}_main(void)\n{{\n\tpthread_t t[{count}];\n\n"
            f"{starts}"
            f"\tfor (int i = 0; i < {count}; i++)\n\t\tpthread_join(t[i], NULL);\n{prints}"
            "\treturn 0;\n}\n"
        )

    def _kept(self, thread: int) -> str:
        names = dict.fromkeys(what.split(":")[1] for what in self._observed
                              if what.startswith(f"{thread}:"))  # fmt: skip
        return "".join(f"\tr_of[{thread}][{name[1]}] = {name};\n" for name in names)

    def _value(self, what: str) -> str:
        thread, colon, register = what.partition(":")
        value = f"r_of[{thread}][{register[1]}]" if colon else f"{self._prefix}_{what}"
        return f"(unsigned long long){value}"

    def _place(self, name: str) -> str:
        self._locations.setdefault(name, 8)
        return f"&{self._prefix}_{name}"

    def _plain(self, name: str) -> str:
        place = self._place(name)
        return f"*(uint{8 * self._locations[name]}_t *){place}"

    def _number(self, word: str) -> str:
        """Return a number as it is for a word of 4 bytes: the top bits of 8 are those of 4."""
        is_small = 4 in self._locations.values()
        return f"{int(word, 16) >> 32:#x}" if is_small and len(word) == 18 else word

    def _line(self, words: list[str]) -> None:
        match words:
            case ["program", _]:
                return
            case ["init", place, value]:
                self._place(place)
                self._initial[place] = value
            case ["thread"]:
                self._threads.append([])
            case ["observe", *what]:
                self._observed += what
                for place in what:
                    if ":" not in place:
                        self._place(place)
            case [label] if label.endswith(":"):
                self._add(f"{label[:-1]}_:;")
            case ["goto", label]:
                self._add(f"goto {label}_;")
            case ["if", one, how, other, "goto", label]:
                self._add(f"if ({one} {how} (uint64_t){other}) goto {label}_;")
            case ["assert", one, how, other]:
                self._add(f"assert({one} {how} (uint64_t){other});")
            case ["step"]:  # otherwise the compiler leaves out a store that another one follows
                self._add('__asm__ volatile("" ::: "memory");')
            case ["fence", order]:
                self._add(f"atomic_thread_fence({_ORDERS[order]});")
            case [into, "=", *rest] if re.fullmatch("r[0-7]", into):
                self._add(f"{into} = {self._expression(rest)};")
            case _:
                self._add(f"{self._expression(words)};")

    def _add(self, line: str) -> None:
        self._threads[-1].append(f"\t{line}\n")

    def _expression(self, words: list[str]) -> str:
        match words:
            case ["store", place, value, "plain"]:
                return f"{self._plain(place)} = {value}"
            case ["store", place, value, order]:
                return f"atomic_store_explicit({self._place(place)}, {value}, {_ORDERS[order]})"
            case ["load", place, "plain"]:
                return self._plain(place)
            case ["load", place, order]:
                return f"atomic_load_explicit({self._place(place)}, {_ORDERS[order]})"
            case [update, place, value, order] if update in _UPDATES:
                return f"{_UPDATES[update]}({self._place(place)}, {value}, {_ORDERS[order]})"
            case ["cas" | "cas_weak" as kind, place, expected, desired, order, fail]:
                how = "weak" if kind == "cas_weak" else "strong"
                took = "r7 = " if kind == "cas_weak" else ""
                size = 8 * self._locations.setdefault(place, 8)
                return (
                    f"({{ uint{size}_t e = {expected}; {took}"
                    f"atomic_compare_exchange_{how}_explicit({self._place(place)}, &e, {desired}, "
                    f"{_ORDERS[order]}, {_ORDERS[fail]}); e; }})"
                )
            case ["wait", place, value]:
                return f"sleeps({self._place(place)}, {value})"
            case ["wake", place, value]:
                return f"wakes({self._place(place)}, {value})"
            case [one]:
                return f"(uint64_t){one}"
            case [one, operator, other]:
                return f"(uint64_t){one} {operator} (uint64_t){other}"
        raise ValueError(" ".join(words))
