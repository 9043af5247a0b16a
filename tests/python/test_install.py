# SPDX-License-Identifier: Apache-2.0
"""`install` and `uninstall`: once, undoable, whole or not at all."""

from __future__ import annotations

import time
import types
from collections.abc import Iterator
from typing import Any

import pytest

from wakeproof import (
    CarrierGroup,
    PartlyInstalledWarning,
    StateError,
    UsageError,
    VirtualThread,
    install,
    is_installed,
    standard,
    uninstall,
)
from wakeproof._runtime.stdlib import replacement, sleep
from wakeproof._runtime.stdlib.replacement import Attribute, Function, Replacement

PATIENCE_S = 60


@pytest.fixture(autouse=True)
def uninstalled() -> Iterator[None]:
    assert not is_installed()
    yield
    uninstall()


def slept_together() -> bool:
    begin = time.monotonic()
    with CarrierGroup(1) as group:
        for thread in [VirtualThread(time.sleep, 0.2, group=group).start() for _ in range(3)]:
            thread.result(PATIENCE_S)
    return time.monotonic() - begin < 0.5


def test_sleeps_overlap_while_it_is_installed_and_not_before_or_after() -> None:
    assert not slept_together()
    install()
    assert slept_together()
    uninstall()
    assert not slept_together()


def test_a_second_install_does_nothing_and_one_uninstall_undoes_both() -> None:
    install()
    done = [*standard._done]
    install()
    assert standard._done == done
    assert is_installed()
    uninstall()
    uninstall()
    assert not is_installed()
    assert standard._done == []


def test_threads_are_os_or_virtual_and_do_not_change_while_it_is_installed() -> None:
    with pytest.raises(UsageError, match=r"threads is 'green'; allowed: 'os', 'virtual'"):
        install(threads="green")  # type: ignore[arg-type]
    assert not is_installed()
    install()
    with pytest.raises(StateError, match=r"threads is 'virtual', but it is installed with 'os'"):
        install(threads="virtual")


owner = types.SimpleNamespace(__name__="owner", word=lambda: "old")


def replaced(*each: Replacement) -> Any:
    return lambda: iter(each)


def loud(old: Any) -> Any:
    return lambda: old().upper()


def test_a_function_changes_for_virtual_threads_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sleep, "replacements", replaced(Function(owner, "word", loud)))
    install()
    assert owner.word() == "old"
    with CarrierGroup(1) as group:
        thread = VirtualThread(lambda: owner.word(), group=group).start()
        assert thread.result(PATIENCE_S) == "OLD"
        assert group.submit(lambda: owner.word()).result(PATIENCE_S) == "old"


def test_an_attribute_changes_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sleep, "replacements", replaced(Attribute(owner, "word", loud)))
    install()
    assert owner.word() == "OLD"
    uninstall()
    assert owner.word() == "old"


def test_an_attribute_that_was_inherited_is_inherited_again() -> None:
    base = type("Base", (), {"word": "old"})
    heir: Any = type("Heir", (base,), {})
    one = Attribute(heir, "word", str.upper)
    one.install()
    assert heir.word == "OLD"
    one.uninstall()
    assert "word" not in vars(heir)


def test_what_cannot_be_replaced_is_named_and_the_rest_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    each = Attribute(int, "real", str), Function(owner, "word", loud)
    monkeypatch.setattr(sleep, "replacements", replaced(*each))
    with pytest.warns(PartlyInstalledWarning, match=r"these still block: int\.real;") as said:
        install()
    assert said[0].filename == __file__
    assert each[1] in standard._done


def test_an_install_that_fails_undoes_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Iterator[Replacement]:
        yield Attribute(owner, "word", loud)
        raise KeyError("as it was meant to")

    monkeypatch.setattr(sleep, "replacements", fails)
    with pytest.raises(KeyError):
        install()
    assert owner.word() == "old"
    assert not is_installed()


def test_without_the_exchange_a_function_in_c_is_replaced_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replacement, "exchange", None)
    original = time.sleep
    with pytest.warns(PartlyInstalledWarning, match=r"FileIO\.read"):  # no attribute can be set
        install()
    assert time.sleep is not original
    assert slept_together()
    uninstall()
    assert time.sleep is original
