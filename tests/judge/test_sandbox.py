# SPDX-License-Identifier: Apache-2.0
"""`--sandbox`: what a judged program tries is stopped, and named; outside it succeeds."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cases import COMPILES

from wakeproof import locations
from wakeproof.cli import sandbox, seccomp
from wakeproof.errors import MissingToolError, UsageError

pytestmark = [
    *COMPILES,
    pytest.mark.skipif(
        shutil.which("bwrap") is None and os.environ.get("WAKEPROOF_CI") != "1",
        reason="not run: install bubblewrap",
    ),
]

HEAD = """
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static int says(const char *what) { perror(what); return 1; }
"""
CONNECTS = """
int main(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) ? says("connect") : 0;
}
"""
WRITES = 'int main(void) { return fopen(PLACE, "w") ? 0 : says("fopen"); }'
FORKS = """
int main(void)
{
	for (int child = 0; child < 700; child++) {
		pid_t made = fork();
		if (made == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
		}
		if (made < 0)
			return says("fork");
	}
	return 0;
}
"""
FILLS = """
int main(void)
{
	size_t much = 3 * ((size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4);
	void *at = mmap(NULL, much, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? says("mmap") : 0;
}
"""
ENVIRONMENT = 'int main(void) { return getenv("SECRET") ? 0 : (puts("no secret"), 1); }'
HAS_KEYS = """
int main(void)
{
	return syscall(SYS_add_key, "user", "wakeproof", "x", 1, -2) < 0 ? says("add_key") : 0;
}
"""
FAULTS = 'int main(void) { return syscall(SYS_userfaultfd, 1) < 0 ? says("userfaultfd") : 0; }'
REACHES_HOST = """
int main(void)
{
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	return fd < 0 && errno != EAFNOSUPPORT ? says("socket") : 0;
}
"""
NAMESPACE = """
int main(void)
{
	pid_t made = (pid_t)syscall(SYS_clone, 0x10000000 | SIGCHLD, 0, 0, 0, 0);
	if (made == 0)
		_exit(0);
	return made < 0 ? says("clone") : 0;
}
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that everybody can read; pytest's own is for its user alone."""
    made = Path(tempfile.mkdtemp(prefix="sandbox-test-", dir=locations.cache()))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def wakeproof(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wakeproof", *words], cwd=folder, capture_output=True, text=True,
        check=False, timeout=200, env={**os.environ, "SECRET": "1", "COLUMNS": "200"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CONNECTS, "connect: Connection refused"),
        (WRITES, "fopen: Read-only file system"),
        (WRITES.replace("PLACE", "HOME"), None),
        (FORKS, "fork: Resource temporarily unavailable"),
        (FILLS, "mmap: Cannot allocate memory"),
        (ENVIRONMENT, "no secret"),
        (HAS_KEYS, "add_key: Operation not permitted"),
        (FAULTS, "userfaultfd: Operation not permitted"),
        (NAMESPACE, "clone: Operation not permitted"),
        (REACHES_HOST, "socket: Operation not permitted"),
        (REACHES_HOST.replace("AF_VSOCK", "AF_ALG"), "socket: Operation not permitted"),
        (REACHES_HOST.replace("AF_VSOCK", "AF_APPLETALK"), "socket: Operation not permitted"),
    ],
    ids=[
        "connects",
        "writes here",
        "writes to home",
        "forks",
        "fills memory",
        "reads a secret",
        "makes a key",
        "takes faults",
        "makes a namespace",
        "reaches the host",
        "takes a cipher",
        "an old family",
    ],
)
def test_what_a_program_tries_succeeds_outside_only(
    text: str, said: str | None, folder: Path
) -> None:
    home = Path.home() / f".wakeproof-sandbox-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as server:
        port = server.getsockname()[1]
        head = f'{HEAD}#define PORT {port}\n#define PLACE "{folder}/it"\n#define HOME "{home}"\n'
        (folder / "tries.c").write_text(head + text, encoding="utf-8")
        command = ("stress", "tries.c", "--seconds", "0.1")
        inside = wakeproof(folder, *command, "--sandbox")
        left = [path for path in (folder / "it", home) if path.exists()]
        outside = wakeproof(folder, *command)
    if said is not None:  # else the program writes to a home folder of its own
        assert inside.returncode == 1, inside.stdout + inside.stderr
        assert said in inside.stdout
    assert left == []
    assert outside.returncode == 0, outside.stdout + outside.stderr
    written = [path for path in (folder / "it", home) if path.exists()]
    home.unlink(missing_ok=True)
    assert bool(written) == ("fopen" in text)
    assert [*locations.cache().glob("sandbox-[!t]*")] == []


def test_outputs_are_taken_out_and_nothing_built_inside_is_used_outside(folder: Path) -> None:
    (folder / "ok.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    before = {*(locations.cache() / "own").glob("*")}
    ended = wakeproof(
        folder, "explore", "ok.c", "--sandbox", "--html", "page.html", "--junit=j.xml"
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "<html" in (folder / "page.html").read_text(encoding="utf-8")
    assert "<testsuite" in (folder / "j.xml").read_text(encoding="utf-8")
    assert {*(locations.cache() / "own").glob("*")} == before


def test_an_output_that_is_a_link_stays_inside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "given" / "file").write_text("f", encoding="utf-8")
    sandbox._take_out(tmp_path / "given", tmp_path / "out")
    sandbox._take_out(tmp_path / "given" / "link", tmp_path / "alone")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]
    assert not (tmp_path / "alone").exists()


def test_what_lacks_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no network"):
        sandbox.run(["explore", "--sandbox", "--dask=local:2"])
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setattr(seccomp, "LIBRARY", "libnothing.so")
    with pytest.raises(MissingToolError, match="apt install libseccomp2"):
        seccomp.descriptor()
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(MissingToolError, match=r"No permissions.*user namespaces"):
        sandbox.run(["explore", "--sandbox"])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingToolError, match="apt install bubblewrap"):
        sandbox.run(["explore", "--sandbox"])


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_one_line_and_leaves_nothing(folder: Path, sent: signal.Signals) -> None:
    (folder / "stays.c").write_text("#include <unistd.h>\nint main(void) { return pause(); }\n")
    command = [sys.executable, "-m", "wakeproof", "stress", "stays.c", "--sandbox"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as run:
        try:
            inside = wait_for_program(run.pid, "repeated")
        finally:
            run.send_signal(sent)
        _, message = run.communicate(timeout=30)
    assert (run.returncode, message) == (130, "wakeproof: interrupted\n")
    deadline = time.monotonic() + 10  # the system ends what is in the sandbox, after bwrap's end
    while left := [pid for pid in inside if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    assert [*locations.cache().glob("sandbox-[!t]*")] == []


def wait_for_program(root: int, name: str) -> list[int]:
    """Return a process and all below it, once one of that name is there."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        time.sleep(0.05)
        found, names = [root], []
        for pid in found:
            try:
                names.append(Path(f"/proc/{pid}/comm").read_text().strip())
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    found += map(int, (thread / "children").read_text().split())
            except OSError:
                continue
        if name in names:
            return found
    raise AssertionError(f"no process {name}")


def test_flags_of_the_compiler_ask_for_nothing() -> None:
    assert sandbox.asked(["explore", "--sandbox"])
    assert not sandbox.asked(["explore", "--", "--sandbox"])
    assert not sandbox.asked(["run", "--sandbox"])
    assert not sandbox.asked([])
