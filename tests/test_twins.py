"""Twins: each defect in the sources is declared, and none is in the product."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests import (
    test_file,
    test_io,
    test_local,
    test_local_group,
    test_placed,
    test_placement,
    test_poller,
    test_pool,
    test_replacement,
    test_spare,
    test_strategy,
    test_timers,
)
from tools import twins as lint

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import twins
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.process import Children

ROOT = locations.sources()


def texts(*folders: str, pattern: str = "**/*.[ch]") -> str:
    files = [f for folder in folders for f in sorted((ROOT / folder).glob(pattern))]
    return "\n".join(f.read_text() for f in files if f.name not in ("twin.h", "stress.h"))


def test_every_defect_in_the_sources_is_declared_as_a_twin_and_every_twin_is_in_the_sources() -> (
    None
):
    used = set(re.findall(r"\bwp_twin\((\w+)\)", texts("stress/scenarios", "kernel")))
    used |= set(twins.read(ROOT))
    declared = set(re.findall(r"\bSTRESS_TWIN\((\w+),", texts("stress/scenarios")))
    # spare.c makes threads, and worker.c never ends: not explored.
    unexplored = {*test_spare.TWINS, *test_spare.TWINS_OF_ROLES, *test_poller.TWINS}
    unexplored |= {*test_file.TWINS, *test_io.TWINS, *test_strategy.TWINS, *test_placement.TWINS}
    unexplored |= {*test_placement.CLUSTERS, "placed_resumes_home"}
    unexplored |= {*test_local.TWINS, *test_placed.TWINS, *test_pool.TWINS, *test_replacement.TWINS}
    unexplored |= {*test_local_group.TWINS, *test_timers.TWINS}
    assert used == declared | unexplored


def test_the_product_is_built_without_any_twin() -> None:
    builds = [ROOT / "setup.py", ROOT / "Makefile", ROOT / "python/wakeproof/_native/build.py"]
    assert not [b.name for b in builds if "WP_TWIN_" in b.read_text()]


def test_a_twin_is_one_where_it_is_set_and_zero_elsewhere(tmp_path: Path) -> None:
    source = tmp_path / "t.c"
    source.write_text(
        '#include "twin.h"\n_Static_assert(wp_twin(a_b) == 1 && wp_twin(a_c) == 0, "twin");\n'
    )
    command = ["cc", "-std=c11", "-fsyntax-only", f"-I{ROOT / 'kernel'}", "-DWP_TWIN_a_b=1"]
    subprocess.run([*command, str(source)], check=True)


CODE = "#include <stdio.h>\nint f(void)\n{\n\treturn 1;\n}\nint g(void)\n{\n\treturn __LINE__;\n}\n"


def toy(root: Path, find: str, replace: str) -> twins.Twin:
    (root / "kernel/a").mkdir(parents=True)
    (root / "kernel/a/x.c").write_text(CODE)
    return twins.Twin("x_bad", root / "x.toml", (twins.Edit("a/x.c", "f", find, replace),))


def test_every_edit_of_the_tables_applies() -> None:
    assert all(twins.edited(twin, ROOT) for twin in twins.read(ROOT).values())


@pytest.mark.parametrize("replace", ["return 2;", "int two = 2;\n\n\treturn two;"])
def test_what_follows_an_edit_keeps_its_line(tmp_path: Path, replace: str) -> None:
    [text] = twins.edited(toy(tmp_path, "return 1;", replace), tmp_path).values()
    (tmp_path / "t.c").write_text(text + "int main(void) { return f() == 2 ? g() : 0; }\n")
    subprocess.run(["cc", str(tmp_path / "t.c"), "-o", str(tmp_path / "t")], check=True)
    line = CODE.split("__LINE__")[0].count("\n") + 1
    assert subprocess.run([str(tmp_path / "t")], check=False).returncode == line


@pytest.mark.parametrize(
    ("find", "times"), [("return 3;", "0 times"), ("return __LINE__;", "0 times"), ("t", "2 times")]
)
def test_an_edit_that_does_not_apply_once_is_an_error(
    tmp_path: Path, find: str, times: str
) -> None:
    with pytest.raises(UsageError, match=rf"twin x_bad: a/x\.c: .* is {times} in f, not once"):
        twins.edited(toy(tmp_path, find, ""), tmp_path)


def test_an_overlay_holds_the_changed_file_alone(tmp_path: Path) -> None:
    texts = twins.edited(toy(tmp_path, "return 1;", "return 2;"), tmp_path)
    folder = twins.overlay(texts, tmp_path, tmp_path / "o")
    assert [file for file in folder.rglob("*") if file.is_file()] == [folder / "a/x.c"]


@pytest.mark.parametrize("kind", ["stress", "explored"])
def test_a_twin_of_a_table_is_a_program_of_its_own_and_compiles_without_warnings(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("WAKEPROOF_CI", "1")  # a warning is an error
    scenario = ROOT / "stress/scenarios/wakeup/parker.c"
    names = [None, "parker_wake_forgotten", "parker_close_silent", "parker_lost_permit_on_timeout"]
    with Children() as children:
        builder = Builder(children)
        builds = [Build(twin=name, kind=kind) for name in names]
        assert len({builder.identity(scenario, build) for build in builds}) == len(names)
        assert len({builder.program(scenario, build) for build in builds}) == len(names)


@pytest.mark.parametrize("code", [CODE.replace("return 1", "return 2"), CODE.replace("f(", "h(")])
def test_lint_names_a_twin_whose_edit_no_longer_applies(tmp_path: Path, code: str) -> None:
    toy(tmp_path, "return 1;", "return 2;")
    (tmp_path / "stress/twins/a").mkdir(parents=True)
    row = '{file = "a/x.c", in = "f", find = "return 1;", replace = ""}'
    (tmp_path / "stress/twins/a/x.toml").write_text(f"[bad]\nedits = [{row}]\n")
    assert not lint.problems(tmp_path)
    (tmp_path / "kernel/a/x.c").write_text(code)
    [problem] = lint.problems(tmp_path)
    assert "x.toml: twin x_bad: a/x.c: " in problem
