# SPDX-License-Identifier: Apache-2.0
"""Builds other schedulers' programs, where their tools are.  Source: ``bench/peers``."""

from __future__ import annotations

import shutil
from pathlib import Path

from wakeproof import paths
from wakeproof.bench import program
from wakeproof.errors import JudgeError
from wakeproof.judge.process import Children

OPERATIONS = {
    "peers_near": 50_000, "peers_far": 300, "peers_tasks": 1_000_000, "peers_wake": 65_536,
    "vthread_yield": 1_000_000, "vthread_turns": 300_000, "vthread_join": 300_000,
    "vthread_many": 1_000_000, "vthread_wake": 65_536,
    "peers_timers": 1_000_000,
}  # fmt: skip
"""By row: what a peer does per sample."""

GO, GO_PATH = "Go", "/usr/local/go/bin/go"  # where its own installer puts it
TOKIO = "cargo"


def build(children: Children) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the programs by side, and for each side that is missing why."""
    here, made = program.folder() / "peers", paths.cache() / "bench"
    built: dict[str, Path] = {}
    missing: dict[str, str] = {}
    go = shutil.which("go") or shutil.which(GO_PATH)
    source = here / "peers.go"
    if go is None:
        missing["go"] = f"not run: install {GO}"
    else:
        target = made / f"go-{program.digest([go], [source])}"
        _try(children, "go", target, [go, "build", "-o", str(target), str(source)], built, missing)
    cargo = shutil.which("cargo")
    crate = here / "tokio"
    if cargo is None:
        missing["tokio"] = f"not run: install {TOKIO}"
    else:
        files = [crate / "Cargo.toml", crate / "Cargo.lock", crate / "src" / "main.rs"]
        folder = made / f"tokio-{program.digest([cargo], files)}"
        command = [cargo, "build", "--release", "--locked", "--quiet", "--manifest-path",
                   str(files[0]), "--target-dir", str(folder)]  # fmt: skip
        _try(children, "tokio", folder / "release" / "peers", command, built, missing)
    return built, missing


def _try(
    children: Children, side: str, target: Path, command: list[str],
    built: dict[str, Path], missing: dict[str, str],
) -> None:  # fmt: skip
    if not target.exists():
        try:
            ended = children.run(command, timeout_s=program.COMPILE_TIMEOUT_S)
        except JudgeError as error:
            missing[side] = f"not run: {error}"
            return
        if ended.code != 0 or not target.exists():
            missing[side] = f"not run: {Path(command[0]).name} cannot build bench/peers"
            return
    built[side] = target
