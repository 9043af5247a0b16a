# SPDX-License-Identifier: Apache-2.0
"""The documentation site: it builds without warnings, has no dead links, and answers questions.

Sphinx warns of a link, an anchor or a C name without a target; a warning is an error.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.browsing import BROWSES, Browser, window
from tests.support.cases import COMPILES
from tests.support.replaced import methods_of_c
from tools.public_headers import KERNEL, Kernel

import wakeproof
from wakeproof import locations

ROOT = locations.sources()
DOCS = ROOT / "docs"

pytestmark = COMPILES


def built(pages: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """Build the site as `make docs` does, of these pages."""
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(DOCS),
         "-d", str(into / "doctrees"), str(pages), str(into / "site")],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    ended = built(DOCS, folder)
    assert ended.returncode == 0, f"make docs:\n{ended.stderr}"
    return folder / "site"


def test_the_site_builds_without_warnings_and_shows_each_public_name(site: Path) -> None:
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    named = {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}
    assert {f"wakeproof.{name}" for name in wakeproof.__all__} - named == set()
    public = {name for chunk in Kernel(KERNEL).kept if chunk.is_public for name in chunk.names}
    assert len(public) > 100
    assert public - named == set()


def test_the_reference_has_the_methods_that_c_replaces(site: Path) -> None:
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    named = {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}
    replaced = {f"wakeproof.{owner}.{name}" for _, owner, name in methods_of_c()}
    assert len(replaced) >= 4
    assert replaced - named == set()


def test_a_page_needs_nothing_from_elsewhere_and_names_no_machine(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'(?:src=|<link [^>]*href=)"https?://[^"]*"', text) == [], page.name
        assert str(ROOT) not in text, page.name


@pytest.mark.parametrize(
    ("page", "warning"),
    [
        ("# Page\n\n[there](there.md)\n", "there.md"),
        ("# Page\n\n[there](#there)\n", "there"),
        ("# Page\n\n[there](index.md#there)\n", "there"),
        ("# Page\n\n{c:func}`wp_nothing`\n", "wp_nothing"),
        ("# Page\n\n### Too deep\n", "H1 to H3"),
    ],
)
def test_a_page_that_leads_nowhere_fails(tmp_path: Path, page: str, warning: str) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text(page)
    ended = built(tmp_path / "pages", tmp_path)
    assert ended.returncode == 1
    assert warning in ended.stderr


def pages_named(text: str) -> set[str]:
    """Return the pages of docs/ that a text names by their path."""
    return set(re.findall(r"\bdocs/(?!results/|PAGE)[\w/-]+\.md\b", text))


def test_each_page_that_the_tree_names_is_there() -> None:
    folders = ("bench", "docs", "examples", "kernel", "python", "specs", "stress", "tests", "tools")
    files = [file for folder in folders for file in Path(ROOT, folder).rglob("*.*")]
    files += [ROOT / name for name in ("CONTRIBUTING.md", "Makefile", "README.md")]
    kinds = (".c", ".h", ".md", ".py", ".rst", ".tla", ".toml", "")
    texts = [file.read_text(encoding="utf-8") for file in files if file.suffix in kinds]
    named = set().union(*map(pages_named, texts))
    assert len(named) > 15
    assert {page for page in named if not (ROOT / page).exists()} == set()


def test_a_page_that_is_named_is_found() -> None:
    assert pages_named("`docs/guide/io.md`, docs/results/audit.md") == {"docs/" + "guide/io.md"}


QUESTIONS = {
    "my asyncio callback from a thread is slow": "guide/troubleshooting",
    "is my seqlock right on ARM": "judging/models",
    "why does my virtual thread block the others": "guide/blocking",
    "how do I add a claim": "contributing/claim",
    "what does exhaustive mean here": "judging/bounds",
}


@pytest.mark.parametrize(("question", "page"), QUESTIONS.items())
def test_the_search_answers(site: Path, question: str, page: str) -> None:
    found = search(site, question)
    assert page in found
    assert found[page] == max(found.values()), found


def search(site: Path, question: str) -> dict[str, int]:
    """Return the pages that have every word of a question, as the site's own search finds them.

    Each comes with the number of words in its titles.  A word that occurs nowhere is found within
    others.
    """
    from sphinx.search.en import SearchEnglish

    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    english = SearchEnglish({})
    words = [english.stem(word) for word in re.findall(r"\w+", question.lower())
             if word not in english.stopwords]  # fmt: skip

    def pages(kind: str, word: str) -> set[str]:
        known = index[kind]
        within = [word] if word in known else [term for term in known if word in term]
        numbers = [known[term] for term in within]
        several = [each if isinstance(each, list) else [each] for each in numbers]
        return {index["docnames"][number] for some in several for number in some}

    has_all = set.intersection(
        *(pages("terms", word) | pages("titleterms", word) for word in words)
    )
    return {page: sum(page in pages("titleterms", word) for word in words) for page in has_all}


SEEN = (
    "index",
    "start/race",
    "guide/concepts",
    "guide/io",
    "guide/placement",
    "judging/counterexample",
    "judging/audit",
    "inside/layers",
    "reference/python",
    "reference/c/sync",
)
"""The front page, and of each kind of page the one that is hardest to show on a phone."""
SHOWN_WIDTH = "return document.documentElement.scrollWidth"


@pytest.fixture(scope="module", params=[390, 1280])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
            ) -> Iterator[Browser]:  # fmt: skip
    """A window as wide as a phone's, and one as wide as a desktop's."""
    with window(request.param, 1_200, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@BROWSES
@pytest.mark.parametrize("page", SEEN)
def test_a_page_fits_its_window_and_is_whole_by_itself(
    site: Path, browser: Browser, page: str
) -> None:
    browser.open(site / f"{page}.html")
    picture = f"{page.replace('/', '-')}-{browser.width}.png"
    browser.photograph(locations.cache() / "screens" / picture)
    assert browser.run(SHOWN_WIDTH) == browser.width
    top, bottom = browser.run(
        "const box = document.querySelector('h1').getBoundingClientRect();"
        "return [box.top, box.bottom]"
    )
    assert 0 <= top < bottom < 400, "the heading is not seen"
    assert browser.errors() == []
    assert [url for url in browser.requests() if url.startswith(("http", "ws"))] == []


@BROWSES
def test_a_page_that_does_not_fit_or_asks_for_something_is_seen(
    browser: Browser, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<meta name="viewport" content="width=device-width"><div style="width: 3000px">wide</div>'
        '<script src="http://127.0.0.1:9/none.js"></script>'
    )
    browser.open(page)
    assert browser.run(SHOWN_WIDTH) >= 3000 > browser.width
    assert any("ERR_" in error for error in browser.errors())
    assert "http://127.0.0.1:9/none.js" in browser.requests()
