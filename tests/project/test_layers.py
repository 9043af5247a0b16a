"""tools/layers.py: includes go down the layers, headers form no cycle, a stem names one concept."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import layers

from wakeproof import locations
from wakeproof.judge.source_texts import left_out

KERNEL = locations.sources() / "kernel"


def toy(folder: Path, **files: str) -> list[str]:
    for name, included in files.items():
        file = folder / name.replace("__", "/").replace("_h", ".h").replace("_c", ".c")
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f'#include "{other}"\n' for other in included.split())
        file.write_text(f"{lines}int x;\n")
    return list(layers.broken(folder))


def test_the_kernel_keeps_its_layers() -> None:
    assert list(layers.broken(KERNEL)) == []


def test_what_goes_down_or_stays_in_its_layer_is_allowed(tmp_path: Path) -> None:
    found = toy(tmp_path, base__a_h="", sync__b_h="base/a.h", sync__c_c="sync/b.h base/a.h",
                sync__c_h="")  # fmt: skip
    assert found == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"base__a_h": "sync/b.h", "sync__b_h": ""},
         'base/a.h: includes "sync/b.h": sync/ is above base/'),
        ({"base__a_h": "base/b.h", "base__b_h": "base/a.h"},
         "headers form a cycle: base/a.h -> base/b.h -> base/a.h"),
        ({"base__a_h": "", "base__b_c": "a.h"},
         'base/b.c: includes "a.h", which is not named from kernel/ on'),
        ({"base__a_h": "", "sync__a_c": ""},
         "sync/a.c: base/ has a file a as well: one stem, one concept"),
        ({"other__a_h": ""},
         f"other/a.h: other/ is no layer; there are {', '.join(layers.LAYERS)}"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_file_and_include(
    files: dict[str, str], said: str, tmp_path: Path
) -> None:
    assert toy(tmp_path, **files) == [said]


def test_each_file_that_the_explorer_leaves_out_is_there_and_has_its_reason() -> None:
    files = left_out(locations.sources() / "stress")
    assert [file for file, why in files.items() if not (KERNEL / file).is_file() or not why] == []
    assert len(files) > 20
