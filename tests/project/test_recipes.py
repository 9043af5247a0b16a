# SPDX-License-Identifier: Apache-2.0
"""docs/contributing: a copy changed as a page says works, and a forgotten step is named.

A page names the file of a block of code in a line before the block. A block of `diff` changes a
text that occurs once in that file; any other block is a new file.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.judge import test_twins
from tests.python import test_config, test_imports
from tests.support import compiling
from tests.support.cases import COMPILES
from tests.support.running import run
from tools import ffi_stub

from wakeproof import locations

ROOT = locations.sources()
PAGES = ROOT / "docs" / "contributing"
BLOCK = re.compile(r"^`([^`\n]+)`:\n\n```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMPILED = ("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wswitch-enum", "-pthread")

pytestmark = COMPILES


def copied(root: Path, *folders: str) -> Path:
    """Copy these folders of the tree."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in folders:
        shutil.copytree(ROOT / folder, root / folder, ignore=unwanted)
    return root


def follow(page: str, root: Path, *, without: str = "", only: str = "") -> None:
    """Change the copy as the page says, without the forgotten file; or change only that file."""
    blocks = BLOCK.findall((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    assert blocks, f"{page}.md changes nothing"
    assert not without or without in [name for name, _, _ in blocks]
    for name, kind, text in blocks:
        if name == without or (only and name != only):
            continue
        file = root / name
        if kind != "diff":
            assert not file.exists(), f"{page}.md: {name} is there"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            continue
        for hunk in text.split("@@\n"):
            change(file, *(of_hunk(hunk, sign) for sign in "-+"))


def of_hunk(hunk: str, sign: str) -> str:
    """Return its text before ("-") or after ("+")."""
    return "".join(line[1:] for line in hunk.splitlines(True) if line[0] in (" ", sign))


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
    file.write_text(text.replace(old, new))


def ran(
    *command: str | Path, cwd: Path | None = None, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command, which must end with that exit code."""
    ended = run([str(word) for word in command], timeout_s=600, cwd=cwd, **environment)
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended


def test_contributing_links_each_recipe() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    linked = re.findall(r"\(docs/contributing/([\w-]+)\.md\)", text)
    recipes = {page.stem for page in PAGES.glob("*.md") if BLOCK.search(page.read_text())}
    assert recipes == {*linked} - {"judge", "reading"}


@pytest.mark.parametrize("found", [0, 2])
def test_a_page_that_the_tree_has_left_behind_is_an_error(tmp_path: Path, found: int) -> None:
    file = tmp_path / "x.h"
    file.write_text("int x;\n" * found)
    with pytest.raises(AssertionError, match=f"is {found} times in"):
        change(file, "int x;\n", "")


POLICY = "kernel/sched/placement/policy"
CHOOSES = """
#include <stdio.h>
#include "sched/placement/placement.h"

static wp_placement_slot slots[4];

int main(void)
{
	wp_placement placement;
	uint32_t policy = 0, chosen[4] = {0};
	uint64_t random = 1;

	while (wp_placement_policy_name(policy) != NULL)
		printf("%s ", wp_placement_policy_name(policy++));
	wp_placement_init(&placement, slots, 4, (enum wp_placement_policy)(policy - 1), false);
	for (int load = 0; load < 9; load++)
		wp_placement_submitted(&placement, 2);
	for (int task = 0; task < 4000; task++)
		chosen[wp_placement_choose(&placement, 0, &random)]++;
	for (int carrier = 0; carrier < 4; carrier++)
		if (chosen[carrier] < 800 || chosen[carrier] > 1200)
			printf("carrier %d: %u of 4000 ", carrier, (unsigned)chosen[carrier]);
	return 0;
}
"""


def names_of_policies(root: Path) -> list[str]:
    """Let the last policy choose among four carriers, one loaded; return names and complaints."""
    program = root / "chooses.c"
    program.write_text(CHOOSES)
    sources = [POLICY + ".c", "kernel/sched/placement/placement.c"]
    ran(*COMPILED, "-Ikernel", program, *sources, "-o", "chooses", cwd=root)
    return ran(root / "chooses").stdout.split()


def test_a_policy_is_one_file_a_constant_and_an_entry_and_draws_each_carrier(
    tmp_path: Path,
) -> None:
    root = copied(tmp_path, "kernel", "python/wakeproof")
    before = names_of_policies(root)
    follow("placement-policy", root)
    assert names_of_policies(root) == ["home", *before[1:4], "random"]
    ran(sys.executable, ROOT / "tools" / "layers.py", root)


def test_a_policy_without_an_entry_does_not_compile_and_the_compiler_names_the_table(
    tmp_path: Path,
) -> None:
    root = copied(tmp_path, "kernel", "python/wakeproof")
    follow("placement-policy", root, without=f"{POLICY}.c")
    command = (*COMPILED, "-Ikernel", "-fsyntax-only", f"{POLICY}.c")
    assert "each policy has an entry in this table" in ran(*command, cwd=root, code=1).stderr


USES = """
from wakeproof import CarrierGroup, Placement
from wakeproof.bench import ROWS

with CarrierGroup(2, placement=Placement(policy="random")) as group:
    print(sorted({group.submit(group.running).result(60).index for _ in range(64)}))
print("random" in {row.ours for row in ROWS if row.program == "placement_group_on"})
"""


@pytest.mark.rotates
def test_a_policy_is_in_groups_rows_of_the_bench_and_tests_which_list_none(tmp_path: Path) -> None:
    root = copied(tmp_path, "kernel", "tests/programs", "python/wakeproof")
    follow("placement-policy", root)
    where = {"PYTHONPATH": str(root / "python"), "WAKEPROOF_LIBRARY": str(root)}
    make = "from pathlib import Path; from wakeproof._native import build"
    ran(sys.executable, "-c", f"{make}; build.build_library(Path())", cwd=root, **where)
    assert ran(sys.executable, "-c", USES, cwd=root, **where).stdout == "[0, 1]\nTrue\n"
    program = "tests/programs/sched/placement/placement.c"
    ran(*COMPILED, "-Ikernel", program, "libwakeproof.so", "-o", "placement", cwd=root)
    for case in (("ties",), ("marked",), ("cycles", "4", "1", "3", "1000", "1")):
        assert ran(root / "placement", *case, LD_LIBRARY_PATH=str(root)).stdout == "", case


def test_a_policy_is_a_literal_of_the_stub_which_is_made_in_each_build(tmp_path: Path) -> None:
    root = copied(tmp_path, "kernel", "python/wakeproof")
    follow("placement-policy", root)
    declared = "from wakeproof._native import build; print(build.declarations())"
    where = {"PYTHONPATH": str(root / "python")}
    text = ffi_stub.stub(ran(sys.executable, "-c", declared, **where).stdout)
    assert re.search(r"^PlacementPolicy = Literal\[[^]]*, 'random'", text, re.MULTILINE)


def test_a_policy_that_has_another_name_than_its_constant_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    otherwise = {name.replace("two_choices", "both"): n for name, n in test_config.POLICIES.items()}
    monkeypatch.setattr(test_config, "POLICIES", otherwise)
    with pytest.raises(AssertionError, match="both"):
        test_config.test_a_policy_has_the_name_of_its_constant_which_is_its_literal_in_the_stub()


COMMAND = "python/wakeproof/judge/lines/command.py"
WITHOUT_EXTRAS = """
import sys
from wakeproof import cli
cli.has_judge = lambda: False
try:
    cli.main()
finally:
    print(sorted(sys.modules.keys() & {"typer", "rich", "wakeproof.judge"}))
"""


def wakeproof(
    root: Path, *arguments: str, code: int = 0, how: tuple[str, ...] = ("-m", "wakeproof")
) -> subprocess.CompletedProcess[str]:
    """Run the command of the copy."""
    where = {"PYTHONPATH": str(root / "python"), "COLUMNS": "100", "NO_COLOR": "1"}
    return ran(sys.executable, *how, *arguments, cwd=root, code=code, **where)


def test_a_command_is_one_file_and_is_found(tmp_path: Path) -> None:
    root = copied(tmp_path, "kernel", "python/wakeproof")
    assert "No such command 'lines'" in wakeproof(root, "lines", code=2).stderr
    follow("command", root)
    assert "wakeproof lines --json   for a script" in wakeproof(root, "lines", "--help").stdout
    found = json.loads(wakeproof(root, "lines", "--json").stdout)["lines"]
    assert found["base/api.h"] == (ROOT / "kernel/base/api.h").read_text().count("\n")


def test_without_extras_a_command_says_what_it_needs_and_loads_no_judge(tmp_path: Path) -> None:
    root = copied(tmp_path, "kernel", "python/wakeproof")
    follow("command", root)
    how = ("-c", WITHOUT_EXTRAS)
    needed = wakeproof(root, "lines", code=2, how=how)
    assert needed.stderr == (
        "wakeproof: lines needs the extra judge: pip install 'wakeproof[judge]'\n"
    )
    assert needed.stdout == "[]\n"
    shown = wakeproof(root, "--help", how=how).stdout
    assert re.search(r"^  lines +Count the lines of each file of the kernel\.", shown, re.M)
    assert shown.endswith("[]\n")


def test_a_command_whose_function_is_called_otherwise_is_named(tmp_path: Path) -> None:
    root = copied(tmp_path, "kernel", "python/wakeproof")
    follow("command", root)
    change(root / COMMAND, "def lines(", "def count(")
    said = wakeproof(root, "lines", code=1).stderr
    assert "module 'wakeproof.judge.lines.command' has no attribute 'lines'" in said


def test_the_runtime_that_imports_the_new_command_is_named(tmp_path: Path) -> None:
    root = copied(tmp_path, "python/wakeproof")
    follow("command", root)
    assert test_imports.broken(root / "python/wakeproof") == []
    line = "from wakeproof.judge.lines import command\n"
    (root / "python/wakeproof/toy.py").write_text(line)
    found = test_imports.broken(root / "python/wakeproof")
    assert found == ["toy.py imports wakeproof.judge.lines.command"]


UNDECLARED = (
    "test_every_defect_in_the_sources_is_declared_as_a_twin_and_every_twin_is_in_the_sources"
)


def judged(tmp_path: Path, page: str, *, without: str = "") -> Path:
    """Copy the files that judges read, and follow the page."""
    root = copied(tmp_path, "kernel", "specs", "stress", "examples", "tools", "python/wakeproof")
    (root / "build/cache").mkdir(parents=True)
    (root / "build/cache/tla").symlink_to(locations.cache() / "cache/tla")  # TLC
    follow(page, root, without=without)
    return root


def tool(root: Path, name: str, code: int = 0) -> str:
    """Run a script of tools/ on the copy, and return its output."""
    environment = {"PYTHONPATH": str(root / "python")}
    run = ran(sys.executable, f"tools/{name}.py", cwd=root, code=code, **environment)
    return run.stdout + run.stderr


def checked(root: Path, pattern: str) -> list[dict[str, object]]:
    """Have TLC judge the configurations of that name, and return the results."""
    found = json.loads(wakeproof(root, "check", "-t", pattern, "--json").stdout)
    return list(found["results"])


def explored(root: Path, scenario: str) -> str:
    """Return the explorer's results for a scenario and its twins, without all other files."""
    for file in (root / "stress/scenarios").rglob("*.c"):
        if f"STRESS_TEST({scenario}," not in file.read_text():
            file.unlink()
    return wakeproof(root, "explore", "-t", f"^{scenario}$", "--model", "sc").stdout


def undeclared(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test that compares twins with their declarations, on the copy."""
    monkeypatch.setattr(test_twins, "ROOT", root)
    getattr(test_twins, UNDECLARED)()


CLAIM = {
    "spec": "specs/queue/BiasedLock.tla",
    "table": "specs/queue/biased_lock.models.toml",
    "twin": "stress/twins/queue/biased_lock.toml",
    "scenario": "stress/scenarios/queue/biased_lock.c",
}


@pytest.mark.rotates
def test_a_claim_is_in_spec_table_and_scenario_and_its_twin_breaks_it(tmp_path: Path) -> None:
    root = judged(tmp_path, "claim")
    assert "0 broken" in tool(root, "pairs")
    tool(root, "twins")
    [whole] = checked(root, "MCBiasedLock$")
    assert "BiasedLock!ServingStaysBehind" in str(whole["claims"])
    [twin] = checked(root, "MCBiasedLock_serves_two$")
    assert (twin["violated"], twin["holds"]) == (["ServingStaysBehind"], True)
    listed = json.loads(wakeproof(root, "audit", "--claims", "--json").stdout)["claims"]
    [claim] = [one for one in listed if one["name"] == "BiasedLock!ServingStaysBehind"]
    assert claim["sentence"] == "No turn is served that nobody has drawn."
    assert claim["scenarios"] == ["biased_lock_behind"]
    said = explored(root, "biased_lock_behind")
    assert "1 scenarios and programs, 1 twins" in said
    assert "2 held, 0 violated, 0 not judged" in said


@pytest.mark.parametrize(
    ("forgotten", "said"),
    [
        (
            "table",
            "twin serves_two: .*biased_lock.models.toml has no row serves_two in .twins.",
        ),
        ("twin", "biased_lock.models.toml: twin serves_two: has no edit: .* no .serves_two. with"),
    ],
)
def test_a_twin_without_its_table_or_its_edit_is_named_by_lint(
    tmp_path: Path, forgotten: str, said: str
) -> None:
    root = judged(tmp_path, "claim", without=CLAIM[forgotten])
    assert re.search(said, tool(root, "twins", code=1))


def test_a_claim_that_is_not_said_in_words_is_named(tmp_path: Path) -> None:
    root = judged(tmp_path, "claim")
    change(root / CLAIM["spec"], "\\* No turn is served that nobody has drawn.\n", "")
    said = wakeproof(root, "audit", "--claims", code=2).stderr
    assert "queue/BiasedLock.tla: ServingStaysBehind: no comment above it says in a sen" in said


def test_a_claim_that_no_spec_states_is_named(tmp_path: Path) -> None:
    root = judged(tmp_path, "claim", without=CLAIM["spec"])
    said = wakeproof(root, "check", "-t", "MCBiasedLock$", code=2).stderr
    assert "BiasedLock.tla does not define ServingStaysBehind" in said


def test_a_twin_whose_scenario_is_nowhere_is_named_by_lint(tmp_path: Path) -> None:
    root = judged(tmp_path, "claim", without=CLAIM["scenario"])
    said = tool(root, "twins", code=1)
    assert "twin biased_lock_serves_two: no scenario is called biased_lock_behind" in said


def test_a_twin_that_names_no_scenario_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = judged(copied(tmp_path, "tests"), "claim")
    undeclared(root, monkeypatch)
    table = root / CLAIM["twin"]
    own = 'scenario = "biased_lock_behind"\nshows = "*,*"\n'
    change(table, own, "")
    with pytest.raises(AssertionError, match="biased_lock_serves_two"):
        undeclared(root, monkeypatch)


LOCK = "kernel/sync/rwlock.h"


@pytest.mark.rotates
def test_a_primitive_is_in_its_own_files_and_judges_and_public_headers_find_it(
    tmp_path: Path,
) -> None:
    root = judged(tmp_path, "primitive")
    assert "0 broken" in tool(root, "pairs")
    tool(root, "layers")
    tool(root, "twins")
    found = {str(one["config"]): one for one in checked(root, "RwLock")}
    assert found["MCRwLock.cfg"]["states"] == 11  # free, a writer of three, or some of three read
    assert found["MCRwLock_readers_ignored.cfg"]["violated"] == ["Exclusive"]
    assert "2 held, 0 violated, 0 not judged" in explored(root, "rwlock")
    assert compiled_for_users(root) == ""


def test_a_function_that_is_not_marked_as_public_is_missing_for_users(tmp_path: Path) -> None:
    root = judged(tmp_path, "primitive")
    file = root / LOCK
    file.write_text(file.read_text().replace("WP_API_INLINE", "WP_INLINE"))
    assert "wakeproof/rwlock.h" in compiled_for_users(root, code=1)


def compiled_for_users(root: Path, code: int = 0) -> str:
    """Compile a program with the public headers; return the compiler's messages."""
    shutil.copy(ROOT / "pyproject.toml", root)
    ran(sys.executable, "tools/public_headers.py", "out/wakeproof", cwd=root)
    program = root / "user.c"
    program.write_text(
        "#include <wakeproof/rwlock.h>\n"
        "int main(void) { wp_rwlock lock = {0}; return !wp_rwlock_try_read(&lock); }\n"
    )
    return ran(*COMPILED, "-Iout", "-fsyntax-only", program, cwd=root, code=code).stderr


@pytest.mark.parametrize(
    ("old", "new", "name", "said"),
    [
        ('#include "base/order.h"', '#include "base/order.h"\n#include "pool/pool.h"',
         "layers", 'sync/rwlock.h: includes "pool/pool.h": pool/ is above sync/'),
        ("pairs rwlock.1, rwlock.3, rwlock.5", "pairs rwlock.1, rwlock.5", "pairs", "rwlock.3"),
        ("upholds RwLock!Exclusive: the read", "upholds RwLock!Alone: the read", "pairs",
         "RwLock!Alone"),
    ],
)  # fmt: skip
def test_a_wrong_layer_a_missing_partner_and_an_unknown_claim_are_named(
    tmp_path: Path, old: str, new: str, name: str, said: str
) -> None:
    root = judged(tmp_path, "primitive")
    change(root / LOCK, old, new)
    assert said in tool(root, name, code=1)


DRIVER = "kernel/io/driver_poll.c"
DRIVERS = "kernel/io/descriptor_poller.h"


def with_driver(root: Path, without: str = "") -> Path:
    """Copy the files that the driver needs, and follow the page."""
    copied(root, "kernel", "stress", "tests/programs")
    follow("poller-driver", root, without=without)
    return root


def driven(root: Path, patience_s: int, code: int = 0) -> str:
    """Run the program of the page with io/ of the copy; return what is lost."""
    files = [*sorted((root / "kernel/io").glob("*.c")), root / "tests/programs/io/driver_poll.c"]
    flags = (f"-I{root}/kernel", f"-DPATIENCE_S={patience_s}", "-Wl,--wrap=epoll_create1")
    return ran(compiling.link(root, "drives", "plain", files, *flags), code=code).stdout


def test_a_driver_is_one_file_and_an_entry_and_wakes_its_carrier_and_who_waits(
    tmp_path: Path,
) -> None:
    root = with_driver(tmp_path)
    assert driven(root, 60) == ""
    ran(sys.executable, ROOT / "tools" / "layers.py", root)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("\twaits->fds[0] = wakeup;", "\twaits->fds[0] = -1 + 0 * wakeup;",
         "(work for a carrier in its poller|who talks|a read|an answer)"),
        ("poll(each, MOST, until_ms(until_ns))", "poll(each, MOST, until_ms(until_ns) ? -1 : 0)",
         "a timer"),
        ("reads = io == NULL || is_awaited(&io->ready[WP_IO_READ])", "reads = io == NULL",
         "(who talks|a read|an answer)"),
    ],
)  # fmt: skip
def test_a_driver_without_wakeup_time_or_events_is_seen_by_its_own_test(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    root = with_driver(tmp_path)
    change(root / DRIVER, old, new)
    assert re.fullmatch(f"(lost {said}\n)+", driven(root, 2, code=1))


@pytest.mark.parametrize("name", ["open", "close", "add", "remove", "wait"])
def test_a_function_that_a_driver_lacks_does_not_compile(tmp_path: Path, name: str) -> None:
    root = with_driver(tmp_path)
    text = (root / DRIVER).read_text()
    (root / DRIVER).write_text(re.sub(rf"\bdriver_{name}\(", f"{name}_it(", text))
    command = (*COMPILED, "-Ikernel", "-fsyntax-only", DRIVER)
    assert f"driver_{name}" in ran(*command, cwd=root, code=1).stderr


def test_a_driver_without_an_entry_does_not_compile(tmp_path: Path) -> None:
    root = with_driver(tmp_path, without=DRIVERS)
    command = (*COMPILED, "-Ikernel", "-fsyntax-only", DRIVER)
    assert "WP__DRIVER_poll_is_listed" in ran(*command, cwd=root, code=1).stderr


def test_an_entry_without_a_driver_does_not_link(tmp_path: Path) -> None:
    root = with_driver(tmp_path, without=DRIVER)
    with pytest.raises(AssertionError, match=r"undefined reference to .wp__driver_poll"):
        driven(root, 2)


def test_no_file_but_its_own_and_the_list_names_a_driver() -> None:
    for name in ("epoll", "uring"):
        naming = re.compile(rf"\bwp_+{name}|\b(?:struct )?{name} \*|driver_{name}")
        named = [
            file.name for file in locations.kernel_files()
            if file.stem != f"driver_{name}" and naming.search(file.read_text())
        ]  # fmt: skip
        assert named == []


def test_a_driver_that_a_lower_layer_includes_is_named(tmp_path: Path) -> None:
    root = with_driver(tmp_path)
    line = '#include "sched/poller.h"\n'
    added = f'{line}#include "io/descriptor_poller.h"\n'
    change(root / "kernel/sched/poller.c", line, added)
    said = ran(sys.executable, ROOT / "tools" / "layers.py", root, code=1).stderr
    assert 'sched/poller.c: includes "io/descriptor_poller.h": io/ is above sched/' in said
