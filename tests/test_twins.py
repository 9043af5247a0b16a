"""Twins: each defect in the sources is declared, and none is in the product."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

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

from wakeproof import locations

ROOT = locations.sources()


def texts(*folders: str, pattern: str = "**/*.[ch]") -> str:
    files = [f for folder in folders for f in sorted((ROOT / folder).glob(pattern))]
    return "\n".join(f.read_text() for f in files if f.name not in ("twin.h", "stress.h"))


def test_every_defect_in_the_sources_is_declared_as_a_twin_and_every_twin_is_in_the_sources() -> (
    None
):
    used = set(re.findall(r"\bwp_twin\((\w+)\)", texts("stress/scenarios", "kernel")))
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
