# SPDX-License-Identifier: Apache-2.0
"""Programs in Rust: the standard library is seen as well, and what is not modelled is refused."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.own import OPTIONS, RUST, of_text, verdicts

from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.explore.explorer import run_program
from wakeproof.judge.explore.options import Model
from wakeproof.judge.own import run
from wakeproof.judge.own.build import Builder
from wakeproof.judge.own.program import Program
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.process import Children

Command = Callable[..., "subprocess.CompletedProcess[str]"]
pytestmark = RUST
USE = "use std::sync::*; use std::sync::atomic::*; use std::thread; use std::time::Duration;\n"
ALLOW = "#![allow(unused_imports, static_mut_refs)]\n"
REFUSED = {
    "the network": (
        'fn main() { let _ = std::net::TcpStream::connect("127.0.0.1:1"); }',
        "calls socket, which the explorer does not model, at ",
    ),
    "a file": (
        'fn main() { let _ = std::fs::read("/etc/hostname"); }',
        "which the explorer does not model, at ",
    ),
    "another process": (
        'fn main() { let _ = std::process::Command::new("true").status(); }',
        "which the explorer does not model, at ",
    ),
    "inline assembly": (
        "static mut N: u32 = 0;\nfn main() { unsafe { "
        'std::arch::asm!("lock inc dword ptr [{}]", in(reg) std::ptr::addr_of_mut!(N)) }; }',
        "has the instruction `lock incl",
    ),
    "a plain flag": (
        "static mut STOP: bool = false;\n"
        "fn main() { thread::spawn(|| unsafe { STOP = true }); while !unsafe { STOP } {} }",
        "loops for ever",
    ),
    "twenty threads": (
        "fn main() { let all: Vec<_> = (0..20).map(|_| thread::spawn(|| ())).collect();\n"
        "for one in all { one.join().unwrap(); } }",
        "more than 16 threads",
    ),
    "a mistake": ("fn main() { let x: u32 = true; }", "does not compile"),
    "no program": ("fn other() {}", "does not compile"),
}


def _of(text: str) -> str:
    return ALLOW + USE + text


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_modelled_is_refused(name: str) -> None:
    text, said = REFUSED[name]
    with pytest.raises(UsageError, match=re.escape(said)):
        of_text(_of(text), suffix=".rs")


def test_no_compiler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUSTC", "no-such-rustc")
    with pytest.raises(MissingToolError, match="no Rust compiler no-such-rustc"):
        of_text("fn main() {}", suffix=".rs")


def test_a_panic_of_main_is_named() -> None:
    for result in of_text(_of('fn main() { panic!("boom"); }'), suffix=".rs").values():
        (found,) = result.outcomes
        assert found.verdict == "assertion"
        said = found.example[-1].text
        assert said.startswith("main returns 101: thread 'main' (1) panicked at ")
        assert ".rs:3:13: boom" in said


def test_a_panic_that_main_passes_on_is_named_where_it_began() -> None:
    text = _of('fn main() { thread::spawn(|| panic!("boom")).join().unwrap(); }')
    for result in of_text(text, suffix=".rs").values():
        assert result.verdicts == {"assertion"}
        assert all("boom" in found.example[-1].text for found in result.outcomes)


def test_a_panic_that_main_handles_is_no_violation() -> None:
    text = _of('fn main() { assert!(thread::spawn(|| panic!("boom")).join().is_err()); }')
    for result in of_text(text, suffix=".rs").values():
        assert result.verdicts == {"ended"}
        assert all("boom" in found.text for found in result.outcomes)


def test_a_race_inside_the_standard_library_is_seen() -> None:
    text = _of("""static mut TEXT: String = String::new();
fn main() {
    let other = thread::spawn(|| unsafe { TEXT.push_str("a") });
    unsafe { TEXT.push_str("b") };
    other.join().unwrap();
}""")
    assert verdicts(of_text(text, suffix=".rs")) == "race race race"


def test_a_hash_map_has_the_same_order_in_each_execution() -> None:
    text = _of("""fn main() {
    let map: std::collections::HashMap<_, _> = (0..9).map(|at| (at, at)).collect();
    println!("{:?}", map.keys().collect::<Vec<_>>());
}""")
    results = of_text(text, suffix=".rs")
    texts = {found.text for result in results.values() for found in result.outcomes}
    assert len(texts) == 1


def test_the_number_of_cpus_may_be_asked_for() -> None:
    text = _of("fn main() { assert!(thread::available_parallelism().unwrap().get() > 0); }")
    assert verdicts(of_text(text, suffix=".rs")) == "ended ended ended"


def test_destructors_of_thread_locals_run_before_a_join() -> None:
    text = _of("""struct Ends;
static ENDED: AtomicBool = AtomicBool::new(false);
impl Drop for Ends { fn drop(&mut self) { ENDED.store(true, Ordering::Relaxed); } }
thread_local! { static HERE: Ends = Ends; }
fn main() {
    thread::spawn(|| HERE.with(|_| ())).join().unwrap();
    assert!(ENDED.load(Ordering::Relaxed));
}""")
    assert verdicts(of_text(text, suffix=".rs")) == "ended ended ended"


@pytest.mark.slow
@pytest.mark.parametrize("wait", [
    "thread::park_timeout(Duration::from_secs(1)); println!(\"{}\", F.load(Ordering::Relaxed))",
    "let m = Mutex::new(()); let c = Condvar::new(); let (_g, end) = "
    "c.wait_timeout(m.lock().unwrap(), Duration::from_secs(1)).unwrap(); "
    "println!(\"{}\", end.timed_out())",
    "let (s, r) = mpsc::channel(); let t = thread::spawn(move || { let _ = s.send(1); }); "
    "println!(\"{}\", r.recv_timeout(Duration::from_secs(1)).is_ok()); t.join().unwrap()",
])  # fmt: skip
def test_a_wait_with_a_limit_ends_both_ways(wait: str) -> None:
    text = _of(f"""static F: AtomicBool = AtomicBool::new(false);
fn main() {{
    let me = thread::current();
    let other = thread::spawn(move || {{ F.store(true, Ordering::Relaxed); me.unpark(); }});
    {wait};
    other.join().unwrap();
}}""")
    expected = {"true"} if "Condvar" in wait else {"true", "false"}
    for result in of_text(text, suffix=".rs").values():
        assert result.verdicts == {"ended"}
        assert {found.text for found in result.outcomes} == expected


LOCKS = _of("""static M: Mutex<u32> = Mutex::new(0);
fn main() {
    let other = thread::spawn(|| { let mut held = M.lock().unwrap(); *held = *held * 2 + 1; });
    { let mut held = M.lock().unwrap(); *held = *held * 2 + 2; }
    other.join().unwrap();
    println!("{}", *M.lock().unwrap());
}""")


def _built(children: Children, text: str, folder: Path) -> Path:
    file = folder / "program.rs"
    file.write_text(text, "utf-8")
    return Builder(children, Runtime(children), folder).program(Program((file,)))


def test_a_mutex_as_one_step_has_the_outcomes_of_the_real_one(tmp_path: Path) -> None:
    """The explorer takes a lock of the standard library as one step; without its list of calls it
    runs the library's own code, with its word, its loop and its futex."""
    with Children() as children:
        built = _built(children, LOCKS, tmp_path)
        calls = built.with_name(f"{built.name}.calls")
        listed = calls.read_text("utf-8").splitlines(keepends=True)
        results = []
        for without in ((), ("lock", "unlock")):
            calls.write_text(
                "".join(line for line in listed if line.split()[0] not in without), "utf-8"
            )
            command = [str(built), "--test", "program"]
            results.append(run_program(children, command, built, OPTIONS, ["--"], None))
    for short, real in zip(*results, strict=True):
        assert short.exhaustive
        assert real.exhaustive
        assert real.executions > short.executions
        assert {f.text for f in short.outcomes} == {f.text for f in real.outcomes} == {"4", "5"}


def test_a_call_of_the_library_is_of_one_kind(tmp_path: Path) -> None:
    """The lock of a mutex stays one where it was inlined into a channel."""
    text = _of("""fn main() {
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv().unwrap(), 1);
    other.join().unwrap();
}""")
    with Children() as children:
        built = _built(children, text, tmp_path)
    calls = built.with_name(f"{built.name}.calls").read_text("utf-8").splitlines()
    kinds = {line.split()[0] for line in calls}
    assert kinds == {"lock", "unlock", "await", "spin"}
    assert len({line.split()[1] for line in calls}) == len(calls)


def test_nothing_of_a_program_is_without_hooks(tmp_path: Path) -> None:
    """Of the code that is linked, only arithmetic of the compiler comes without hooks."""
    with Children() as children:
        built = _built(children, LOCKS, tmp_path)
    listed = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(built)], check=True, capture_output=True,
        text=True,
    ).stdout  # fmt: skip
    assert not re.search(r"\block\b|\bxchg\w*\s+.*\(|\b[ms]fence\b", listed)
    contended = re.search(r"lock_contended>:\n(.*?)\n\n", listed, re.DOTALL)
    assert contended
    assert "__tsan_atomic32_compare_exchange_val" in contended[1]
    functions = re.findall(r"^[0-9a-f]+ <(_R\S+)>:\n(.*?)\n\n", listed, re.DOTALL | re.MULTILINE)
    hooked = [name for name, text in functions if "__tsan_func_entry" in text]
    assert len(hooked) > 500


@pytest.mark.rotates
def test_a_counterexample_is_found_again(wakeproof: Command, tmp_path: Path) -> None:
    """Another process explores one model alone, and finds the same steps at the same addresses."""
    file = tmp_path / "parked.rs"
    file.write_text(
        _of("""static WORK: AtomicBool = AtomicBool::new(false);
fn main() {
    let waiter = thread::spawn(|| while !WORK.load(Ordering::Acquire) { thread::park(); });
    waiter.thread().unpark();
    WORK.store(true, Ordering::Release);
    waiter.join().unwrap();
}"""),
        "utf-8",
    )
    assert wakeproof("explore", str(file), "--save", str(tmp_path / "saved")).returncode == 1
    saved = sorted((tmp_path / "saved").glob("*.json"))
    assert len(saved) == 3
    for token in saved:
        assert wakeproof("replay", str(token)).returncode == 0


def test_each_model_is_judged() -> None:
    text = _of("""static X: AtomicBool = AtomicBool::new(false);
static Y: AtomicBool = AtomicBool::new(false);
fn main() {
    let other = thread::spawn(|| { X.store(true, Ordering::Relaxed); Y.load(Ordering::Relaxed) });
    Y.store(true, Ordering::Relaxed);
    let mine = X.load(Ordering::Relaxed);
    assert!(mine || other.join().unwrap());
}""")
    results = of_text(text, suffix=".rs")
    assert verdicts(results) == "ended assertion assertion"
    assert set(results) == {Model.SC, Model.TSO, Model.RC11}


LIBRARY = """use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
pub static N: AtomicU32 = AtomicU32::new(0);
pub fn add() { N.fetch_add(1, SeqCst); }
pub fn lose() { N.store(N.load(SeqCst) + 1, SeqCst); }
"""
TESTS = """use counts::{add, lose, N};
use std::sync::atomic::Ordering::SeqCst;
fn twice(run: fn()) -> u32 {
    let other = std::thread::spawn(run);
    run();
    other.join().unwrap();
    N.load(SeqCst)
}
#[test]
fn adds() { assert_eq!(twice(add), 2); }
#[test]
fn loses() { assert_eq!(twice(lose), 2); }
#[test]
fn returns() -> Result<(), String> { (twice(lose) == 2).then_some(()).ok_or("lost".into()) }
#[test]
#[should_panic]
fn other() { panic!("on purpose"); }
#[test]
fn script_runs() { assert!(cfg!(is_built)); }
"""
SCRIPT = """fn main() {
    println!("cargo:rustc-check-cfg=cfg(is_built)\\ncargo:rustc-cfg=is_built");
}
"""
MANIFEST = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a package with tests of a library that is a dependency of it."""
    root = tmp_path_factory.mktemp("cargo")
    for name, code in (("counts", LIBRARY), ("uses", f"#[cfg(test)] mod tests {{ {TESTS} }}")):
        (root / name / "src").mkdir(parents=True)
        (root / name / "src" / "lib.rs").write_text(code, "utf-8")
        (root / name / "Cargo.toml").write_text(MANIFEST.format(name), "utf-8")
    (root / "uses" / "build.rs").write_text(SCRIPT, "utf-8")
    with (root / "uses" / "Cargo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('[dev-dependencies]\ncounts = { path = "../counts" }\n')
    return root / "uses"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "status", "said"), [
    ("uses::tests::adds", "held", ""),
    ("script_runs", "held", ""),
    ("loses", "violated", "assertion `left == right` failed"),
    ("returns", "violated", 'exits with 1: Error: "lost"'),
])  # fmt: skip
def test_a_test_of_a_package_is_explored(package: Path, name: str, status: str, said: str) -> None:
    (found,) = run.report([Program((package / "Cargo.toml",), test=name)]).scenarios
    assert found.status == status
    for judged in found.judged:
        assert judged.result.exhaustive
        assert all(said in message for message in judged.messages)
        assert bool(judged.messages) == bool(said)


def test_a_test_that_is_not_there_is_named(package: Path) -> None:
    with pytest.raises(UsageError, match="has no test nope; there is uses::tests::adds, uses::"):
        run.report([Program((package / "Cargo.toml",), test="nope")])
