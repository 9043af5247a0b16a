# SPDX-License-Identifier: Apache-2.0
"""The calibration of `watch`: nothing is learnt from a helper that was stopped or killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from wakeproof.errors import JudgeError
from wakeproof.judge.builds import compiler
from wakeproof.judge.watch import calibration
from wakeproof.judge.watch.process import Process

pytestmark = pytest.mark.slow  # it compiles


def test_a_helper_that_was_stopped_teaches_nothing(tmp_path: Path) -> None:
    with sleeping(tmp_path) as process:
        usual = calibration._read(process, "2.36")
        assert usual is not None
        assert {"cond.timed", "mutex.lock"} <= {call.name for call in usual.calls}
        os.kill(process.pid, signal.SIGSTOP)
        Timer(1, os.kill, [process.pid, signal.SIGCONT]).start()
        assert calibration._read(process, "2.36") is None
        assert {thread.state for thread in process.threads()} == {"S"}  # it was read after SIGCONT


@contextmanager
def sleeping(folder: Path) -> Iterator[Process]:
    program = folder / "calibrate"
    source = str(calibration.SOURCE)
    subprocess.run([*compiler(), "-O2", "-pthread", source, "-o", str(program)], check=True)
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with Process(child.pid) as process:
            try:
                yield process
            finally:
                child.kill()


def test_a_helper_that_was_killed_teaches_nothing(tmp_path: Path) -> None:
    compiles = tmp_path / "cc"
    compiles.write_text(
        '#!/bin/sh\nfor last; do :; done\nprintf "#!/bin/sh\\nkill -KILL \\$\\$\\n" > "$last"\n'
        'chmod +x "$last"\n'
    )
    compiles.chmod(0o755)
    with pytest.raises(JudgeError, match="helper of the calibration was killed"):
        calibration._learn([str(compiles)], tmp_path / "calibrate")
