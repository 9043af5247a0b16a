# SPDX-License-Identifier: Apache-2.0
"""``--sandbox``: a command of a judge in bubblewrap, for code that one did not write.

The whole command runs there: compilers, judges and what they judge.  It sees the file system
read-only, without the home folder, in a network of its own that has no connection.  It has a build
folder of its own, which is deleted afterwards, so nothing that it has compiled is ever run outside.
docs/judging/sandbox.md says what that stops and what it does not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wakeproof import errors, locations
from wakeproof.cli import seccomp

OPTION = "--sandbox"
COMMANDS = ("explore", "stress", "linear", "museum")
NOBODY = 65534
MOST = {"nproc": 512, "cpu": 3600, "fsize": 1 << 30, "core": 0}
"""Limits of each process, by prlimit's names; ``as`` is half of the machine's memory."""
KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "COLUMNS", "CC", "CXX", "RUSTC", "NO_COLOR",
        "WAKEPROOF_FRESH", "WAKEPROOF_JAVA")  # fmt: skip
"""What passes of the environment, which often holds secrets."""
OUTPUTS = ("--html", "--junit", "--sarif", "--save")
"""Options whose file or folder is taken out of the sandbox after the command has ended."""


def asked(arguments: list[str]) -> bool:
    """Return whether a command line asks for the sandbox."""
    return arguments[:1] != [] and arguments[0] in COMMANDS and OPTION in _own(arguments)


def run(arguments: list[str]) -> int:
    """Run the command in the sandbox; return its exit code.

    Raises:
        MissingToolError: bubblewrap or libseccomp is not installed, or namespaces are forbidden.
    """
    if any(word.partition("=")[0] == "--dask" for word in _own(arguments)):
        raise errors.UsageError(f"{OPTION} has no network, which --dask needs: leave one out")
    for tool in ("bwrap", "prlimit", "choom", "setpriv"):
        if shutil.which(tool) is None:
            package = "bubblewrap" if tool == "bwrap" else "util-linux"
            raise errors.MissingToolError(
                f"{OPTION} needs {tool}: install {package} (Debian: apt install {package})"
            )
    _try_once()
    with _folder() as private, os.fdopen(seccomp.descriptor(), "rb") as refused:
        inner, outputs = _inside([word for word in _own(arguments) if word != OPTION], private)
        rest = arguments[len(_own(arguments)) :]
        limits = {**MOST, "as": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2}
        command = [
            *_bwrap(private, [word for word in arguments if not word.startswith("-")]),
            "--seccomp", str(refused.fileno()), *(_TO_NOBODY if _is_root() else ()),
            "choom", "-n", "1000", "--",
            "prlimit", *(f"--{name}={most}" for name, most in limits.items()), "--",
            sys.executable, "-m", "wakeproof", *inner, *rest,
        ]  # fmt: skip
        code = _call(command, refused.fileno())
        for source, target in outputs:
            _take_out(source, target)
    if code < 0:
        raise errors.JudgeError(f"the sandbox was killed by signal {-code}")
    return code


def _own(arguments: list[str]) -> list[str]:
    """Return the words before ``--``: those after it are for compilers."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _call(command: list[str], passed: int) -> int:
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(passed,)) as child:
        try:
            return child.wait()
        except BaseException:
            child.kill()  # and all that is in the sandbox ends with it
            raise


def _try_once() -> None:
    """Say what is the matter if the system forbids namespaces, as many containers do."""
    command = ["bwrap", *_namespaces(), "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    tried = subprocess.run(
        command, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if tried.returncode:
        said = " ".join(tried.stderr.split()) or f"exit code {tried.returncode}"
        raise errors.MissingToolError(
            f"{OPTION}: the system lets bubblewrap make no sandbox ({said}): allow user "
            "namespaces (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces or "
            "AppArmor's; in a container, its seccomp profile)"
        )


def _namespaces() -> list[str]:
    """Return the options for namespaces.

    Root needs none for users, and becomes nobody inside, for no limit on processes is for root.
    """
    users = [] if _is_root() else ["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    return ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
            "--unshare-cgroup-try", "--die-with-parent", "--new-session", *users]  # fmt: skip


def _is_root() -> bool:
    return os.geteuid() == 0


_TO_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
              "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--")  # fmt: skip


def _bwrap(private: Path, words: list[str]) -> list[str]:
    home, build = Path.home(), locations.cache().resolve()
    seen = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1], locations.sources()]
    rust = {"CARGO_HOME": home / ".cargo", "RUSTUP_HOME": home / ".rustup"}
    seen += [Path.cwd(), home / ".cargo" / "bin", home / ".cargo" / "registry", home / ".rustup"]
    named = [Path(word).resolve() for word in words if "/" in word or Path(word).exists()]
    named = [path if path.is_dir() else path.parent for path in named if path.exists()]
    visible = [path for path in (*seen, *named) if path.exists() and path != Path("/")]
    command = ["bwrap", *_namespaces(), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    hidden = [Path("/run"), Path("/tmp"), Path("/var/tmp"), *([home] if home != Path("/") else [])]  # noqa: S108
    for folder in filter(Path.is_dir, hidden):
        command += ["--perms", "1777", "--size", str(1 << 30), "--tmpfs", str(folder)]
    again = [path for path in visible if any(path.is_relative_to(one) for one in hidden)]
    for path in sorted(again):
        for above in reversed(path.parents):
            if any(above.is_relative_to(one) and above != one for one in hidden):
                command += ["--perms", "0755", "--dir", str(above)]
        command += ["--ro-bind", str(path), str(path)]
    command += ["--bind", str(private), str(build)]
    for path in sorted(path for path in visible if path != build and path.is_relative_to(build)):
        command += ["--ro-bind", str(path), str(path)]
    command += ["--chdir", str(Path.cwd()), "--clearenv"]
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    kept |= {name: str(folder) for name, folder in rust.items() if folder.is_dir()}
    kept |= {"HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}  # noqa: S108
    if not locations.is_checkout():
        kept["XDG_CACHE_HOME"] = str(build.parent)
    for name, value in kept.items():
        command += ["--setenv", name, value]
    return command


@contextmanager
def _folder() -> Iterator[Path]:
    """Make the build folder of the sandbox, and delete it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="sandbox-", dir=locations.cache()))
    try:
        if _is_root():
            os.chown(folder, NOBODY, NOBODY)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _inside(words: list[str], private: Path) -> tuple[list[str], list[tuple[Path, Path]]]:
    """Return the words with outputs in the build folder, and where each of these comes from."""
    inner, outputs = list(words), list[tuple[Path, Path]]()
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in OUTPUTS and (equals or at + 1 < len(words)):
            target = Path(value if equals else words[at + 1])
            name = f"output-{len(outputs)}{target.suffix}"
            inside = str(locations.cache().resolve() / name)
            inner[at if equals else at + 1] = f"{option}={inside}" if equals else inside
            outputs.append((private / name, target))
    return inner, outputs


def _take_out(source: Path, target: Path) -> None:
    """Copy an output, without a link that points elsewhere."""
    if source.is_symlink():
        return
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        for file in source.iterdir():
            if not file.is_dir():
                _take_out(file, target / file.name)
    elif source.is_file():
        locations.write_atomically(target, source.read_bytes())
