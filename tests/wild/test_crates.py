# SPDX-License-Identifier: Apache-2.0
"""A package of ours gets the crates that its wild.toml declares, and no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.wild import crates, fetch
from tests.wild.declared import Crate, Release
from tests.wild.fetch import NoAnswerError, WrongHashError

HASH = "a" * 64
MANIFEST = '[dependencies]\ntoy = "={toy}"\n'
ENTRY = '[[package]]\nname = "toy"\nversion = "%s"\nsource = "registry"\nchecksum = "%s"\n'
RELEASE = Release(crates=(Crate(name="toy", version="1.2.3", sha256=HASH),))
YANKED = Release(crates=(Crate(name="toy", version="1.2.3", sha256=HASH, yanked=True),))
GENERATES = f"cat > $lock <<'E'\n{ENTRY % ('1.2.3', HASH)}E\n"
"""The lock that cargo makes."""
GENERATES_NEWER = GENERATES.replace("1.2.3", "1.2.9").replace("a" * 64, "b" * 64)
ADDS_THE_HASH = f"""grep -q checksum $lock || echo 'checksum = "{HASH}"' >> $lock"""


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Prepare a package with a cargo that is a program in sh."""

    def prepared(release: Release, generates: str, fetches: str = "exit 0") -> Path:
        cargo, package = tmp_path / "cargo", tmp_path / "package"
        cargo.write_text(
            "#!/bin/sh\nlock=$(dirname $4)/Cargo.lock\ncp $4 $4.$1\ncase $1 in\n"
            f"generate-lockfile) {generates}\n;;\nfetch) {fetches}\n;;\nesac\n", "utf-8",
        )  # fmt: skip
        cargo.chmod(0o755)
        monkeypatch.setenv("CARGO", str(cargo))
        monkeypatch.setattr(fetch, "folder", lambda: tmp_path / "wild")
        package.mkdir(exist_ok=True)
        (package / "Cargo.toml").write_text(MANIFEST, "utf-8")
        return crates.prepared(package, release, "toy")

    return prepared


def test_a_package_asks_for_the_version_that_is_declared(prepared: Callable[..., Path]) -> None:
    given = prepared(RELEASE, GENERATES)
    assert given.read_text("utf-8") == MANIFEST.replace("{toy}", "1.2.3")
    assert prepared(RELEASE, "exit 1", "exit 1") == given  # it is there: nothing is asked


def test_a_version_that_was_withdrawn_is_taken_from_the_lock(prepared: Callable[..., Path]) -> None:
    given = prepared(YANKED, GENERATES_NEWER, ADDS_THE_HASH)
    assert '"^1.2"' in given.with_name("Cargo.toml.generate-lockfile").read_text("utf-8")
    assert '"=1.2.3"' in given.with_name("Cargo.toml.fetch").read_text("utf-8")
    assert given.with_name("Cargo.lock").read_text("utf-8") == ENTRY % ("1.2.3", HASH)


def test_another_hash_of_a_crate_is_a_failure(prepared: Callable[..., Path]) -> None:
    with pytest.raises(WrongHashError, match=r"toy: toy 1\.2\.3 is bbbb"):
        prepared(RELEASE, GENERATES.replace("a" * 64, "b" * 64))


def test_a_crate_that_was_not_declared_is_a_failure(prepared: Callable[..., Path]) -> None:
    other = GENERATES.replace("cat >", "cat >>").replace("1.2.3", "9.0.0")
    with pytest.raises(WrongHashError, match=r"toy 9\.0\.0 is a+, declared: none"):
        prepared(RELEASE, GENERATES + other)


def test_crates_that_do_not_answer_are_named(prepared: Callable[..., Path]) -> None:
    with pytest.raises(NoAnswerError, match="crates: does not answer"):
        prepared(RELEASE, "echo 'error: failed to download from x' >&2; exit 101")


def test_a_machine_without_cargo_is_named(
    prepared: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(NoAnswerError, match="crates: there is no"):
        prepared(RELEASE, GENERATES)
