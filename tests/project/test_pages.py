# SPDX-License-Identifier: Apache-2.0
"""Every block of code in README, Start, Guide and Judging runs as written.

It runs in an empty folder, with the installed package.

A block with `title="NAME"` is that file. In a `console` block each line after `$ ` is a command,
and the lines below it are its output: a line `...` stands for any lines, `...` within a line for
any text. A `text` block shows the output of some command of the page. A `sh` block holds commands
for a developer in a checkout: its targets and extras must exist.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cases import COMPILES
from tests.support.installed import ROOT, Installed

FOLDERS = ("start", "guide", "judging")
PAGES = [
    str(page.relative_to(ROOT))
    for folder in FOLDERS
    for page in sorted(Path(ROOT, "docs", folder).glob("*.md"))
]
RULES = [ROOT / "Makefile", *ROOT.glob("*/rules.mk"), *ROOT.glob("*/*/rules.mk")]
MOST_WORDS = 1_200

pytestmark = COMPILES


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield language, title and text of each fenced block."""
    fence = r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$'
    found = list(re.finditer(fence, page, re.M | re.S))
    assert page.count("```") == 2 * len(found), "a fence is not read"
    for block in found:
        yield block[1], block[2] or "", block[3]


def is_printed(shown: str, printed: str) -> bool:
    """Return true if the lines that a page shows are those that a command printed."""

    def pattern(line: str) -> str:
        return r"\s*" + ".*".join(map(re.escape, " ".join(line.split()).split("..."))) + r"\s*"

    lines = (r"(?:.*\n)*" if line.strip() == "..." else pattern(line) + r"\n" for line in
             shown.splitlines())  # fmt: skip
    squeezed = "".join(f"{' '.join(line.split())}\n" for line in printed.splitlines())
    return re.fullmatch("".join(lines).replace(r"\ ", " "), squeezed) is not None


class Reader:
    """Types the commands of a page, in an empty folder."""

    def __init__(self, folder: Path, installed: Installed, prefix: Path) -> None:
        self.folder = folder
        self.printed = ""
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "COLUMNS": "200",
            "LD_LIBRARY_PATH": f"{prefix}/lib",
            "PATH": f"{installed.python.parent}:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig",
            "XDG_CACHE_HOME": installed.caches,
        }

    def types(self, command: str) -> str:
        ended = subprocess.run(
            ["/bin/sh", "-c", command.replace("wakeproof ", "python -m wakeproof ", 1)
             if command.startswith("wakeproof ") else command],
            env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False,
            timeout=300,
        )  # fmt: skip
        assert ended.returncode in (0, 1), ended.stderr
        assert "Traceback" not in ended.stderr, ended.stderr
        self.printed += ended.stdout
        return ended.stdout

    def reads(self, language: str, title: str, text: str) -> None:
        if title:
            (self.folder / title).write_text(text, encoding="utf-8")
        elif language == "console":
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                printed = self.types(command)
                assert is_printed(shown, printed), f"{command}\n{printed}"
        elif language == "sh":
            targets = re.findall(r"^make ([\w-]+)", text, re.M)
            rules = "".join(path.read_text(encoding="utf-8") for path in RULES)
            assert [name for name in targets if f"\n{name}:" not in rules] == []
            installs = re.findall(r"^pip install (\S+)", text, re.M)
            assert {*installs} <= {".", "'.[judge]'", "'.[bench]'"}
            programs = re.findall(r"\bexamples/\w+\.py\b", text)
            assert [name for name in programs if not (ROOT / name).exists()] == []
            assert targets or installs or programs
        else:
            assert language == "text", f"a block of {language!r} is not run"


def run_each_block(name: str, reader: Reader) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    for block in blocks(page):
        reader.reads(*block)
    pictures = [text for language, title, text in blocks(page) if (language, title) == ("text", "")]
    for picture in pictures:
        assert is_printed(f"...\n{picture}...\n", reader.printed), picture


def test_every_block_of_readme_runs_as_written(
    tmp_path: Path, judging: Installed, prefix: Path
) -> None:
    run_each_block("README.md", Reader(tmp_path, judging, prefix))


@pytest.mark.parametrize("name", PAGES)
def test_every_block_of_a_page_runs_as_written(
    name: str, tmp_path: Path, judging: Installed, prefix: Path
) -> None:
    run_each_block(name, Reader(tmp_path, judging, prefix))


@pytest.mark.parametrize(
    ("shown", "printed", "is_so"),
    [
        ("a  1\n", "a 1  \n", True),
        ("a 1\n", "a 2\n", False),
        ("...\nb\n", "a\nb\n", True),
        ("...\nb\n", "a\nb\nc\n", False),
        ("a ... c\n", "a b c\n", True),
        ("a.c\n", "abc\n", False),
        ("", "a\n", False),
    ],
)
def test_a_page_that_shows_something_else_fails(shown: str, printed: str, is_so: bool) -> None:
    assert is_printed(shown, printed) is is_so


def test_readme_is_one_that_is_read() -> None:
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert len(words) < MOST_WORDS
