# SPDX-License-Identifier: Apache-2.0
"""The commands by which pages of the guide start the HTTP examples, as they are typed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support import serving
from tests.support.cases import COMPILES
from tests.support.serving import HELLO

from wakeproof import locations

ROOT = locations.sources()

pytestmark = [*COMPILES, pytest.mark.rotates]


def commands(name: str) -> list[str]:
    """Return what a page of the guide types in a checkout."""
    page = Path(ROOT, "docs", "guide", f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return "".join(blocks).splitlines()


@pytest.mark.parametrize("name", ["http", "strategies"])
def test_the_servers_of_a_page_start_as_written_and_answer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    ports: dict[str, int] = {}  # of the page: the free ones that are taken instead
    answers = 0
    with ExitStack() as stack:
        for line in commands(name):
            command = re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda found: str(ports[found[0]]), line)
            words = shlex.split(command.removesuffix(" &"))
            if "--port" in words:
                port = words[words.index("--port") + 1]
                server = stack.enter_context(serving.running([*words, "--port", "0"]))
                ports[port] = server.port
                if "--backend" in words:
                    assert server.get() == (200, HELLO)
                    answers += 1
            elif shutil.which(words[0]):
                printed = subprocess.check_output(words, timeout=600)
                assert words[0] != "curl" or printed.startswith(HELLO)
    assert answers == sum("--backend" in line for line in commands(name)) > 0
