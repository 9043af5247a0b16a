# SPDX-License-Identifier: Apache-2.0
"""`wakeproof run` runs a program as `python` does: the same output, exit code and traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each test starts Python

APP = """\
import atexit, signal, sys, threading, time
atexit.register(print, "exit")
print(sys.argv, __name__, sys.modules["__main__"].__dict__ is globals())
print(sys.path[0], signal.getsignal(signal.SIGTERM), threading.active_count())
def fails():
    raise KeyError(sys.argv[1])
threading.Thread(target=lambda: (time.sleep(0.1), print("late", len(sys.argv)))).start()
if sys.argv[1] == "fails":
    fails()
if sys.argv[1] == "interrupted":
    raise KeyboardInterrupt
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP)
    package = tmp_path / "package"
    package.mkdir()
    (package / "__main__.py").write_text(APP)
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("__main__.py", APP)
    return tmp_path


def ran(command: list[str], folder: Path) -> tuple[int, str, str]:
    ended = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout, ended.stderr


WITHOUT_EXTRA = """\
import sys
from wakeproof import cli
cli.has_judge = lambda: False
sys.argv[0] = "wakeproof"
cli.main()
"""
COMMANDS = {"judge": ["-m", "wakeproof"], "no extra": ["-c", WITHOUT_EXTRA]}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["app.py", "0", "-m", "--help"],
        ["app.py", "7"],
        ["app.py", "fails", "--threads", "x"],
        ["./app.py", "interrupted"],
        ["-m", "app", "fails", "-m"],
        ["-m", "package", "3", "--help"],
        ["-m", "nowhere.at.all"],
        ["package", "fails"],
        ["app.zip", "5"],
    ],
    ids=" ".join,
)
def test_it_does_what_python_does(app: Path, command: list[str], arguments: list[str]) -> None:
    assert ran([*command, "run", *arguments], app) == ran(arguments, app)


def test_blocking_calls_of_its_virtual_threads_park(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import time, wakeproof\n"
        "with wakeproof.CarrierGroup(1) as group:\n"
        "    begin = time.monotonic()\n"
        "    for one in [wakeproof.VirtualThread(time.sleep, 0.3, group=group).start()\n"
        "                for _ in range(4)]:\n"
        "        one.result()\n"
        "    print(time.monotonic() - begin < 1)\n"
    )
    assert ran(["-m", "wakeproof", "run", "app.py"], tmp_path) == (0, "True\n", "")
    assert ran(["app.py"], tmp_path) == (0, "False\n", "")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "run: no program is named; as in: wakeproof run app.py [ARGUMENTS]"),
        (["missing.py"], "run: there is no file missing.py; for a module: wakeproof run -m"),
        (["--threads", "green", "app.py"], "threads is 'green'; allowed: 'os', 'virtual'"),
    ],
    ids=["nothing", "no file", "threads"],
)
def test_a_wrong_request_is_one_line(
    app: Path, command: list[str], arguments: list[str], said: str
) -> None:
    assert ran([*command, "run", *arguments], app) == (2, "", f"wakeproof: {said}\n")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_help_has_its_options(tmp_path: Path, command: list[str]) -> None:
    code, out, _ = ran([*command, "run", "--help"], tmp_path)
    assert code == 0
    assert "--threads" in out
    assert "-m" in out


def test_ctrl_c_ends_it_by_the_signal_as_python(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "wakeproof", "run", "app.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ran:
        assert ran.stdout is not None
        assert ran.stdout.readline() == "begun\n"
        os.kill(ran.pid, signal.SIGINT)
        _, err = ran.communicate(timeout=60)
    assert ran.returncode == -signal.SIGINT
    # the signal may come before the sleep begins
    assert re.search(r'app\.py", line [23], in <module>$', err.splitlines()[1])
