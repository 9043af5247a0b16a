# SPDX-License-Identifier: Apache-2.0
"""The installed C library: its exports, its headers in C and C++, and how it is found."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import running
from tests.support.cases import COMPILES
from tests.support.installed import ROOT
from tools import public_headers

KERNEL = ROOT / "kernel"
HELLO = ROOT / "examples" / "hello"
SAID = "hello from the virtual thread first\n"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
COMPILERS = (
    "gcc -x c -std=c11",
    "clang -x c -std=c11",
    "g++ -x c++ -std=c++17",
    "clang++ -x c++ -std=c++17",
)

pytestmark = COMPILES


def run(*command: str | Path, cwd: Path | None = None, text: str = "", **variables: str) -> str:
    ended = running.run(command, cwd=cwd, text=text, **variables)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
    return ended.stdout


def needs(tool: str) -> None:
    if shutil.which(tool) is None and os.environ.get("WAKEPROOF_CI") != "1":
        pytest.skip(f"not run: install {tool}")


def exported(library: Path) -> set[str]:
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1] for line in lines}


def declared(folder: Path) -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.h")]
    return {name for text in texts for name in re.findall(r"^WP_API [^(]*?\b(\w+)\(", text, re.M)}


@pytest.mark.rotates
def test_the_shared_library_exports_what_the_headers_declare_and_nothing_else(prefix: Path) -> None:
    names = exported(prefix / "lib" / "libwakeproof.so")
    assert names == declared(prefix / "include" / "wakeproof")
    assert [name for name in names if not re.match(r"wp_[a-z]", name)] == []
    assert {
        "wp_guard_signal",
        "wp_mutex_lock",
        "wp_scope_fork",
    } <= names  # an inline one, two others


def test_no_public_declaration_changes_unseen(prefix: Path) -> None:
    """A change here may break programs of others: docs/guide/versions.md says which ones may."""
    listed = (ROOT / "tools" / "library" / "interface.txt").read_text(encoding="utf-8")
    assert listed == public_headers.interface(public_headers.Kernel(KERNEL)), "make interface"
    functions = re.findall(r"^  (?!typedef|#)[^({]*?\b(\w+)\(", listed, re.M)
    assert set(functions) == exported(prefix / "lib" / "libwakeproof.so")


def test_the_library_has_the_name_that_programs_ask_for(prefix: Path) -> None:
    said = run("readelf", "-d", prefix / "lib" / "libwakeproof.so", LC_ALL="C")
    assert "Library soname: [libwakeproof.so.0.2]" in said
    assert (prefix / "lib" / "libwakeproof.so").resolve().name == "libwakeproof.so.0.2"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_header_compiles_alone_and_no_internal_name_is_in_it(
    compiler: str, prefix: Path
) -> None:
    needs(compiler.split()[0])
    headers = sorted((prefix / "include" / "wakeproof").glob("*.h"))
    for header in headers:
        run(*compiler.split(), *STRICT, f"-I{prefix}/include", "-fsyntax-only", "-",
            text=f"#include <wakeproof/{header.name}>\nextern int some;\n")  # fmt: skip
        assert "wp__" not in header.read_text(encoding="utf-8"), header.name
    assert len(headers) > 20


def test_a_type_has_one_layout_in_the_kernel_in_c_and_in_cpp(prefix: Path, tmp_path: Path) -> None:
    needs("g++")
    whole = {chunk.tag: chunk.text for chunk in public_headers.Kernel(KERNEL).kept if chunk.tag}
    assert {"wp_mutex", "wp_mpsc", "wp_strategy", "wp_scope"} <= set(whole)
    rows = "".join(
        f'printf("{tag} %zu %zu\\n", sizeof(struct {tag}), AT(struct {tag}));'
        for tag in sorted(whole)
    )
    body = f"int main(void) {{ {rows} return 0; }}\n"
    public = "#include <stdio.h>\n#include <wakeproof/wakeproof.h>\n"
    headers = "".join(f'#include "{path.relative_to(KERNEL)}"\n'
                      for path in sorted(KERNEL.rglob("*.h")))  # fmt: skip
    at = "#define AT(type) alignof(type)\n"
    said = []
    for name, compiler, text in (
        (
            "kernel",
            "gcc -x c -std=c11",
            f"#include <stdalign.h>\n#include <stdio.h>\n{headers}{at}",
        ),
        ("c", "gcc -x c -std=c11", f"#include <stdalign.h>\n{public}{at}"),
        ("cpp", "g++ -x c++ -std=c++17", f"{public}{at}"),
    ):
        run(*compiler.split(), f"-I{prefix}/include", f"-I{KERNEL}", "-w", "-",
            "-o", tmp_path / name, text=text + body)  # fmt: skip
        said.append(run(tmp_path / name))
    assert said[0] == said[1] == said[2]
    assert said[0].count("\n") == len(whole)


def test_the_version_is_the_package_s(prefix: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    numbers = "WP_VERSION_MAJOR.WP_VERSION_MINOR.WP_VERSION_PATCH"
    text = f"#include <wakeproof/version.h>\nWP_VERSION {numbers}\n"
    said = run("gcc", "-E", "-P", f"-I{prefix}/include", "-", text=text).split(maxsplit=1)
    assert said[0] == f'"{project["version"]}"'
    assert said[1].replace(" ", "").strip() == project["version"]


def flags(prefix: Path, *asked: str) -> list[str]:
    return run("pkg-config", *asked, "wakeproof", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig").split()


def test_the_example_runs_against_what_pkg_config_says(prefix: Path, tmp_path: Path) -> None:
    needs("pkg-config")
    run("gcc", "-std=c11", *STRICT, HELLO / "hello.c", *flags(prefix, "--cflags", "--libs"),
        "-o", tmp_path / "shared")  # fmt: skip
    assert run(tmp_path / "shared", LD_LIBRARY_PATH=f"{prefix}/lib") == SAID
    static = flags(prefix, "--cflags", "--libs", "--static")
    static[static.index("-lwakeproof")] = f"{prefix}/lib/libwakeproof.a"
    run("gcc", "-std=c11", HELLO / "hello.c", *static, "-o", tmp_path / "static")
    assert run(tmp_path / "static") == SAID


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_static_program_is_linked_without_a_word(
    compiler: str, prefix: Path, tmp_path: Path
) -> None:
    needs(compiler)
    library = flags(prefix, "--cflags", "--libs", "--static")
    library[library.index("-lwakeproof")] = f"{prefix}/lib/libwakeproof.a"
    ended = running.run(
        [compiler, "-std=c11", HELLO / "hello.c", *library, "-o", tmp_path / "hello"]
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert run(tmp_path / "hello") == SAID


def test_what_reads_a_variable_of_the_os_thread_is_not_optimized_with_the_rest(
    prefix: Path,
) -> None:
    sections = run("objdump", "-h", prefix / "lib" / "libwakeproof.a", LC_ALL="C")
    members = re.split(r"^(\S+)\.o: +file format .*$", sections, flags=re.M)[1:]
    found = dict(zip(members[::2], members[1::2], strict=True))
    files = {path.name: path.read_text(encoding="utf-8") for path in KERNEL.rglob("*.[cS]")}
    assert found.keys() == files.keys() | {"inlines"}
    whole = {name for name, of in found.items() if ".gnu.lto_" in of}
    assert whole == {name for name, text in files.items()
                     if name.endswith(".c") and "_Thread_local" not in text}  # fmt: skip
    assert {"channel.c", "worker.c", "vthread_start.c"} - whole == {"worker.c", "vthread_start.c"}


def test_cpp_calls_the_library(prefix: Path, tmp_path: Path) -> None:
    needs("g++")
    needs("pkg-config")
    text = """
        #include <wakeproof/wakeproof.h>
        int main() {
            wp_mutex mutex;
            wp_mutex_init(&mutex);
            if (!wp_mutex_try_lock(&mutex) || wp_mutex_try_lock(&mutex)) return 1;
            return wp_mutex_unlock(&mutex) == WP_OK && wp_mutex_lock(&mutex) == WP_OK ? 0 : 2;
        }"""
    run("g++", "-std=c++17", *STRICT, "-x", "c++", "-", *flags(prefix, "--cflags", "--libs"),
        "-o", tmp_path / "program", text=text)  # fmt: skip
    run(tmp_path / "program", LD_LIBRARY_PATH=f"{prefix}/lib")


def test_the_example_runs_against_what_cmake_finds(prefix: Path, tmp_path: Path) -> None:
    needs("cmake")
    cmake: Callable[..., str] = lambda *more: run("cmake", *more)  # noqa: E731
    cmake("-S", HELLO, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    cmake("--build", tmp_path)
    assert run(tmp_path / "hello") == SAID
    too_new = HELLO.joinpath("CMakeLists.txt").read_text(encoding="utf-8").replace("0.2", "0.3")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "CMakeLists.txt").write_text(too_new, encoding="utf-8")
    with pytest.raises(AssertionError, match="0\\.3"):
        cmake(
            "-S", tmp_path / "new", "-B", tmp_path / "new" / "out", f"-DCMAKE_PREFIX_PATH={prefix}"
        )


ZEROED = """
#include <stdio.h>
#include <string.h>
#include "inspect/dump.h"
#include "pool/pool.h"
#include "sched/worker.h"
#include "scope/scope.h"

static int yes(void *arg) { return arg != NULL; }

int main(void)
{
	wp_group_config group_config = {0};
	wp_scope_config scope_config = {0};
	wp_pool_config pool_config = {0};
	wp_group *group;
	wp_scope scope;
	wp_subtask one;
	wp_pool *pool;
	wp_pool_counts counts;
	int codes[8], at = 0;

	codes[at++] = wp_group_new(&group, &group_config);
	codes[at++] = wp_scope_open(&scope, group, &scope_config);
	codes[at++] = wp_scope_fork(&scope, &one, yes, NULL);
	codes[at++] = wp_scope_join(&scope, NULL);
	codes[at++] = wp_scope_close(&scope);
	printf("group %u, scope %d\\n", group->config.yield_us, scope.timer != NULL);
	codes[at++] = wp_group_close(group, WP_FOREVER, false, NULL, NULL);
	codes[at++] = wp_pool_new(&pool_config, &pool);
	wp_pool_counts_read(pool, &counts);
	printf("pool %u %u %lld %u %u\\n", pool->config.min, pool->config.max,
		(long long)pool->config.idle_ns, pool->config.evictions, pool->config.low);
	codes[at++] = counts.threads >= 8 ? WP_OK : WP_FAILED;
	for (int each = 0; each < at; each++)
		printf("%d ", codes[each]);
	return 0;
}
"""


def test_a_zeroed_configuration_means_the_defaults(prefix: Path, tmp_path: Path) -> None:
    library = flags(prefix, "--libs", "--static")
    library[library.index("-lwakeproof")] = f"{prefix}/lib/libwakeproof.a"
    run("gcc", "-std=c11", *STRICT, f"-I{KERNEL}", "-x", "c", "-", "-x", "none", *library,
        "-o", tmp_path / "program", text=ZEROED)  # fmt: skip
    said = "group 50, scope 0\npool 8 200 60000000000 1 1\n" + "0 " * 8
    assert run(tmp_path / "program") == said  # the numbers of group.h and pool.h


HEADER = """/* toy.h - a toy. */
typedef struct wp_toy {
	wp_atomic(uint32_t) word;
	wp_part part; /* whole, for it is inside */
	wp_other *other;
	const wp_hooks *hooks; /* whole, for a user fills it in */
} wp_toy;
typedef struct wp_hooks { int x; } wp_hooks;
typedef struct wp_part { int x; } wp_part;
typedef struct wp_other { int x; } wp_other;
enum { WP_TOY_MOST = 3, WP_TOY_UNUSED };
enum wp_color { WP_RED };
#define WP_TOY_ROOM 8
WP_INLINE int wp__toy_hidden(wp_toy *toy)
{
	return 1;
}
/* At most WP_TOY_ROOM. [any thread] */
WP_API_INLINE int wp_toy_take(wp_toy *toy, enum wp_color color)
{
	return wp__toy_hidden(toy) + WP_TOY_MOST;
}
WP_API int wp_heap_new(wp_heap **heap);
typedef struct wp_heap { int x; } wp_heap;
"""


def test_a_public_header_has_what_its_functions_need_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "toy.h").write_text(HEADER, encoding="utf-8")
    text = public_headers.Kernel(tmp_path).public()["toy"]
    assert "WP_API int wp_toy_take(wp_toy *toy, enum wp_color color);" in text
    assert "wp_part part;" in text
    assert "typedef struct wp_part { int x; }" in text
    assert "typedef struct wp_other wp_other;" in text
    assert "wp_other {" not in text
    assert "typedef struct wp_hooks { int x; }" in text
    assert "typedef struct wp_heap wp_heap;" in text
    assert "wp_heap {" not in text
    assert "WP_TOY_ROOM 8" in text
    assert "WP_RED" in text
    assert "hidden" not in text
    assert "WP_TOY_MOST" not in text
