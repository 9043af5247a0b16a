"""tools/pairs.py: labels of code and specs hold together, and each kind of broken link is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.running import run

from wakeproof import locations

TOOL = locations.sources() / "tools" / "pairs.py"
GOOD = """\
/* [toy.1] release; pairs toy.2; upholds Toy!Seen: the data. */
wp_store_release(&toy->flag, 1);
/* [toy.2] acquire; pairs toy.1; upholds Toy!Seen. */
wp_load_acquire(&toy->flag);
"""
SPEC = "Seen == TRUE\nStep == TRUE \\* [toy.1] [toy.2] wp_toy_step\n"


def pairs(folder: Path, code: str, spec: str = SPEC) -> tuple[int, str]:
    (folder / "kernel").mkdir()
    (folder / "specs").mkdir()
    (folder / "kernel" / "toy.h").write_text(code)
    (folder / "specs" / "Toy.tla").write_text(spec)
    ended = run([sys.executable, TOOL, folder])
    return ended.returncode, ended.stdout + ended.stderr


def test_the_kernel_s_labels_pair_and_uphold_what_the_specs_claim() -> None:
    ended = run([sys.executable, TOOL])
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_file_whose_links_hold_passes(tmp_path: Path) -> None:
    assert pairs(tmp_path, GOOD) == (0, "2 atomic sites, 2 links, 0 broken\n")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("/* [toy.2] acquire; pairs toy.1; upholds Toy!Seen. */\n", "", "has no label of its own"),
        ("[toy.2] acquire", "[toy.2] release", "[toy.2] says release, the operation is acquire"),
        ("pairs toy.1;", "pairs toy.9;", "[toy.2] pairs toy.9: no such label"),
        ("pairs toy.1;", "pairs toy.2;", "[toy.1] pairs toy.2, which does not pair toy.1"),
        ("; pairs toy.1", "", "[toy.2] names no partner"),
        ("[toy.2] acquire", "[toy.1] acquire", "[toy.1] is also in toy.h"),
        ("toy.2", "game.2", "[game.2] does not begin with toy"),
        ("the data. */", "the data, as [game.4]. */", "toy.h: mentions [game.4]: no such label"),
        ("; upholds Toy!Seen.", ".", "[toy.2] upholds no claim"),
        ("upholds Toy!Seen.", "upholds Toy!Lost.", "upholds Toy!Lost: not in specs"),
        ("upholds Toy!Seen.", "upholds Joy!Seen.", "upholds Joy!Seen: not in specs"),
        ("wp_load_acquire", "wp_load_relaxed", "[toy.2] says acquire, the operation is relaxed"),
    ],
)
def test_a_broken_link_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    code, output = pairs(tmp_path, GOOD.replace(old, new))
    assert code == 1
    assert complaint in output


def test_a_relaxed_operation_says_why_that_is_enough(tmp_path: Path) -> None:
    code = GOOD.replace("acquire(", "relaxed(").replace("[toy.2] acquire", "[toy.2] relaxed")
    assert "is relaxed and does not say why" in pairs(tmp_path, code)[1]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("the data. */", "the data. kept: free on x86 and simple to see. */", None),
        ("the data. */", "the data. kept: */", "[toy.1] is kept: and does not say why"),
        ("the data. */", "the data. kept: just so. */", "[toy.1] is kept: and does not say why"),
    ],
)
def test_an_order_that_is_kept_says_why(
    tmp_path: Path, old: str, new: str, complaint: str | None
) -> None:
    code, output = pairs(tmp_path, GOOD.replace(old, new))
    assert code == (1 if complaint else 0)
    assert (complaint or "") in output


def test_a_relaxed_operation_has_nothing_to_keep(tmp_path: Path) -> None:
    code = GOOD.replace("acquire(", "relaxed(").replace("[toy.2] acquire", "[toy.2] relaxed")
    code = code.replace(
        "Toy!Seen. */", "Toy!Seen: stale costs a turn. kept: for good luck only. */"
    )
    assert "[toy.2] is kept: and relaxed: nothing is weaker" in pairs(tmp_path, code)[1]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("Seen == TRUE \\* [toy.1]\n", "[toy.2] stands in no spec"),
        (SPEC + "Old == TRUE \\* [toy.7]\n", "Toy.tla: [toy.7] is not in kernel/"),
    ],
)
def test_labels_of_code_and_spec_may_not_drift_apart(
    tmp_path: Path, spec: str, complaint: str
) -> None:
    code, output = pairs(tmp_path, GOOD, spec)
    assert code == 1
    assert complaint in output


def test_a_twin_s_line_is_no_site(tmp_path: Path) -> None:
    twin = "wp_store_relaxed(&toy->flag, 2); /* twin */\n"
    assert pairs(tmp_path, GOOD + twin + twin.replace("twin", "twin writes toy.1"))[0] == 0


def test_a_twin_stands_for_a_site_that_there_is(tmp_path: Path) -> None:
    code, output = pairs(tmp_path, GOOD + "wp_load_relaxed(&toy->flag); /* twin reads toy.7 */\n")
    assert code == 1
    assert "a twin stands for [toy.7]: no such label" in output


def test_a_folder_without_a_kernel_is_a_usage_error(tmp_path: Path) -> None:
    ended = run([sys.executable, TOOL, tmp_path])
    assert ended.returncode == 2
    assert "holds kernel/" in ended.stderr
