# SPDX-License-Identifier: Apache-2.0
"""Tests an installed wheel in a minute: `python smoke.py` with any Python that has wakeproof.

Needs nothing but the wheel: cibuildwheel runs it in its containers, `make wheels` here. With the
extra `judge` and a C compiler an explored program is part of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

LIMIT_S = 300  # an emulated machine is slow
RACE = """
#include "stress.h"

struct state { wp_atomic(uint32_t) count; };

STRESS_ACTOR(adds)
{
	uint32_t seen = wp_load_relaxed(&state->count);

	wp_store_relaxed(&state->count, seen + 1);
}

STRESS_ACTOR(total)
{
	result->r[0] = wp_load_relaxed(&state->count);
}

STRESS_TEST(counter, .claim = "Two additions give two.", .state_size = sizeof(struct state),
	.actors = {adds, adds}, .arbiter = total, .results = 1, .outcomes = {
		{"2", ACCEPTABLE, "both count"},
		{"*", FORBIDDEN, "lost update"},
	});
"""


def runtime() -> str:
    """Run virtual threads, a pool and a file; return what was used."""
    import wakeproof

    with wakeproof.CarrierGroup(2) as group:
        threads = [wakeproof.VirtualThread(lambda n=n: n * n, group=group).start()
                   for n in range(100)]  # fmt: skip
        assert sum(thread.result(LIMIT_S) for thread in threads) == 328_350
    with wakeproof.VirtualThreadPool() as pool:
        assert list(pool.map(abs, range(-50, 50))) == [*map(abs, range(-50, 50))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(b"wakeproof")

        def read() -> bytes:
            with wakeproof.io.open(path, "rb") as file:
                return bytes(file.read())

        assert wakeproof.VirtualThread(read).start().result(LIMIT_S) == b"wakeproof"
    package = Path(wakeproof.__file__).parent
    assert "site-packages" in package.parts, f"{package} is no installed package"
    carried = [path.name for path in package.parent.glob("wakeproof.libs/liburing*")]
    assert len(carried) == 1, "the wheel does not carry liburing"
    return f"wakeproof {wakeproof.__version__} with {carried[0]}"


def explored() -> str:
    """Let the judges of this wheel find a lost update; return what was found."""
    if not find_spec("typer"):
        return "judges: not installed"
    if not shutil.which("cc") and not os.environ.get("CC"):
        return "judges: no C compiler"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "counter.c").write_text(RACE, encoding="utf-8")
        ended = subprocess.run(
            [sys.executable, "-m", "wakeproof", "explore", "counter.c"], cwd=folder,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "lost update" in ended.stdout or "violated" in ended.stdout, ended.stdout
    return "judges: the lost update was found"


if __name__ == "__main__":
    print(f"{runtime()}; {explored()}")
