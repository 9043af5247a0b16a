# SPDX-License-Identifier: Apache-2.0
"""Each call of a running kernel to the system fails in turn: programs/across/every_call.c."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support import compiling, refusing
from tests.support.cases import COMPILES, Compiled
from tests.support.running import run
from tools import campaign

pytestmark = COMPILES
TWINS = {  # a case; a file, the old text and the new text; what is printed
    "a thread without attributes": (
        "pool", "pool_threads.c", "\tif (code != 0)\n\t\treturn code;\n\tif (pool->config.stack",
        "\tif (pool->config.stack", "(pthread_attr_init): crashed"),
    "a failed io that is given out": (
        "sockets", "descriptor_poller.c", "\twp__io_init(made, fd, is_tcp(fd), poller);\n",
        "\twp__io_init(made, fd, is_tcp(fd), poller);\n\t*io = made;\n", "(epoll_ctl add): "),
    "a failed io that is not freed": (
        "sockets", "descriptor_poller.c", "\t\tfree(made);\n", "", "(epoll_ctl add): lost"),
}  # fmt: skip


@pytest.mark.parametrize("case", refusing.CASES)
@pytest.mark.parametrize("build", refusing.BUILDS)
def test_whatever_fails_nothing_is_lost(
    build: str, case: str, compiled: Compiled, tmp_path: Path
) -> None:
    ended = run(compiled(refusing.NAME, build, *refusing.flags()), case, cwd=tmp_path)
    assert (ended.stdout, ended.returncode) == ("", 0), (
        ended
    )  # stderr may say that files are lacking


@pytest.mark.parametrize("twin", TWINS)
def test_what_a_failed_call_breaks_is_seen(twin: str, tmp_path: Path) -> None:
    case, file, old, new, said = TWINS[twin]
    target = compiling.broken(tmp_path, refusing.NAME, "plain", file, old, new, *refusing.flags())
    ended = run(target, case)
    assert ended.returncode == 1
    assert said in ended.stdout


@pytest.mark.parametrize(
    ("printed", "code", "status"),
    [("pool\tmmap\tsaid\n", 0, 0), ("pool\tmmap\tcrashed\nlost: pool, call 3\n", 1, 1), ("", 2, 1)],
)
def test_the_campaign_fails_if_a_process_does(
    printed: str, code: int, status: int, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    ended = subprocess.CompletedProcess([], code, printed, "")
    monkeypatch.setattr(compiling, "build", lambda *_: [])
    monkeypatch.setattr(campaign, "run", lambda *_, **__: ended)
    assert campaign.main() == status
    shown = capsys.readouterr().out
    assert ("lost: pool, call 3" in shown) == (code == 1)
    assert ("\nmmap " in shown) == bool(printed)
