#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lint the links between atomic sites, their partners, the claims they uphold and the specs.

Every atomic operation in kernel/ has a comment of its own right before it:

    /* [guard.2] seq_cst fence; pairs guard.4; upholds Guard!NoLostWakeup: promise before work. */

Checked: the label is unique and begins with its file's stem; the order is the one in the
operation's name; pairs are mutual; the claim is an operator in specs/; a relaxed operation says why
that is enough ("ordered by", "atomicity is enough", "stale costs"); the labels that specs mention
exist in kernel/, and so do the labels of other files that a file of kernel/ mentions; some spec
mentions each label of kernel/. A line of a twin has the comment `/* twin */` and is not a site. If
it replaces a site, the comment names the site: `/* twin of mpsc.7 */`, or `/* twin reads mpsc.7 */`
and `/* twin writes mpsc.7 */`.

An order that no scenario needs (wakeproof orders: one step weaker, nothing breaks) is weakened, or
its comment ends with "kept:" and the reason:

    /* [carrier.3] release; pairs carrier.2; upholds Carrier!WakeReachesSleeper. kept: why it is
    not relaxed. */

Checked: a reason follows, and the operation is not relaxed, because then there is no order to keep.

Usage: tools/pairs.py [--json] [ROOT]     exit 0 all links hold, 1 a link is broken, 2 usage
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

OPERATION = re.compile(
    r"\bwp_(?:(?:load|store|exchange|cas|fetch_add|fetch_or|fetch_and)_"
    r"(relaxed|acquire|release|acq_rel)|fence_(seq_cst|light|heavy))\("
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
LABEL = re.compile(r"\[([a-z]\w*\.\d+)\]\s+(relaxed|acquire|release|acq_rel|seq_cst|light|heavy)\b")
PAIRS = re.compile(r"\bpairs ([a-z]\w*\.\d+(?:,\s+[a-z]\w*\.\d+)*)")
UPHOLDS = re.compile(r"\bupholds\s+(\w+)!(\w+)")
WHY_RELAXED = re.compile(r"ordered by|atomicity is enough|stale costs")
KEPT = re.compile(r"\bkept:\s*(.*?)[\s*/]*$")
LEAST_WORDS = 4  # of a reason
TWIN = re.compile(r"/\* twin(?: (?:of|reads|writes) ([a-z]\w*\.\d+))? \*/")
SPEC_LABEL = re.compile(r"\[([a-z]\w*\.\d+)\]")
VOCABULARY = {"order.h"}


@dataclass(frozen=True)
class Site:
    """One atomic operation: where it is, and what its comment says about it."""

    label: str
    file: str
    line: int
    order: str
    pairs: tuple[str, ...]
    upholds: str
    kept: str


@dataclass
class Links:
    """All sites by label, and one line per broken link."""

    sites: dict[str, Site] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    twins: list[tuple[str, str]] = field(default_factory=list)  # file, site that a line stands for
    others: list[tuple[str, str]] = field(default_factory=list)  # file, label of another file


def blank_comments(text: str) -> str:
    """Turn comments and the lines of twins to spaces; offsets stay."""
    lines = [
        " " * (len(line) - 1) + "\n" if TWIN.search(line) else line
        for line in text.splitlines(keepends=True)
    ]
    return COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), "".join(lines))


def read_file(path: Path, name: str, links: Links) -> None:
    """Enter the sites of one kernel file; `name` is its path from kernel/."""
    text = path.read_text()
    code = blank_comments(text)
    comments = [(m.end(), re.sub(r"\s+\*?\s*", " ", m.group())) for m in COMMENT.finditer(text)]
    previous = 0
    links.twins += [(name, label) for label in TWIN.findall(text) if label]
    mentioned = {label for _, comment in comments for label in SPEC_LABEL.findall(comment)}
    stem = Path(name).stem
    links.others += [(name, label) for label in sorted(mentioned) if label.split(".")[0] != stem]
    for operation in OPERATION.finditer(code):
        where = f"{name}:{text.count(chr(10), 0, operation.start()) + 1}"
        near = [
            c for end, c in comments if previous <= end <= operation.start() and LABEL.search(c)
        ]
        previous = operation.end()
        if not near:
            links.errors.append(f"{where}: {operation.group()[:-1]} has no label of its own")
            continue
        add_site(where, operation, near[-1], links)


def add_site(where: str, operation: re.Match[str], comment: str, links: Links) -> None:
    """Check one site by itself and enter it."""
    found = LABEL.search(comment)
    assert found is not None
    label, said = found.groups()
    order = operation.group(1) or operation.group(2)
    pairs, upholds = PAIRS.search(comment), UPHOLDS.search(comment)
    kept = KEPT.search(comment)
    if said != order:
        links.errors.append(f"{where}: [{label}] says {said}, the operation is {order}")
    if order == "relaxed" and not WHY_RELAXED.search(comment):
        links.errors.append(f"{where}: [{label}] is relaxed and does not say why that is enough")
    if kept and len(kept.group(1).split()) < LEAST_WORDS:
        links.errors.append(f"{where}: [{label}] is kept: and does not say why")
    if kept and order == "relaxed":
        links.errors.append(f"{where}: [{label}] is kept: and relaxed: nothing is weaker")
    if not upholds:
        links.errors.append(f"{where}: [{label}] upholds no claim")
    if not pairs:
        links.errors.append(f"{where}: [{label}] names no partner")
    stem = Path(where.rsplit(":", 1)[0]).stem
    if label.rpartition(".")[0] != stem:
        links.errors.append(f"{where}: [{label}] does not begin with {stem}")
    if label in links.sites:
        links.errors.append(f"{where}: [{label}] is also in {links.sites[label].file}")
    links.sites[label] = Site(
        label=label,
        file=where.rsplit(":", 1)[0],
        line=int(where.rsplit(":", 1)[1]),
        order=order,
        pairs=tuple(re.split(r",\s+", pairs.group(1))) if pairs else (),
        upholds="!".join(upholds.groups()) if upholds else "",
        kept=kept.group(1) if kept else "",
    )


def check_partners(links: Links) -> None:
    """Check that pairs are mutual, and that each twin and each mention has an existing site."""
    for said, places in (("a twin stands for", links.twins), ("mentions", links.others)):
        links.errors += [
            f"{file}: {said} [{label}]: no such label"
            for file, label in places
            if label not in links.sites
        ]
    for site in links.sites.values():
        for partner in site.pairs:
            other = links.sites.get(partner)
            if other is None:
                links.errors.append(f"{site.file}: [{site.label}] pairs {partner}: no such label")
            elif site.label not in other.pairs:
                links.errors.append(
                    f"{site.file}: [{site.label}] pairs {partner}, which does not pair {site.label}"
                )


def check_specs(specs: Path, links: Links) -> None:
    """Check that claims are operators of their module, and that spec and kernel share labels."""
    texts = {p.stem: p.read_text() for p in sorted(specs.rglob("*.tla"))}
    for site in links.sites.values():
        module, _, name = site.upholds.partition("!")
        if module and not re.search(rf"^{name}\b[^\n]*==", texts.get(module, ""), re.MULTILINE):
            links.errors.append(f"{site.file}: [{site.label}] upholds {site.upholds}: not in specs")
    mentioned: dict[str, str] = {}
    for stem, text in texts.items():
        for comment in re.findall(r"\\\*.*", text):
            mentioned.update(dict.fromkeys(SPEC_LABEL.findall(comment), stem))
    links.errors += [
        f"{stem}.tla: [{label}] is not in kernel/"
        for label, stem in sorted(mentioned.items())
        if label not in links.sites
    ]
    links.errors += [
        f"{site.file}:{site.line}: [{site.label}] stands in no spec"
        for site in links.sites.values()
        if site.label not in mentioned
    ]


def read_links(root: Path) -> Links:
    """Return all sites of root/kernel, checked against one another and against root/specs."""
    links = Links()
    for path in sorted((root / "kernel").rglob("*.[ch]")):
        if path.name not in VOCABULARY:
            read_file(path, path.relative_to(root / "kernel").as_posix(), links)
    check_partners(links)
    check_specs(root / "specs", links)
    return links


def main(arguments: list[str]) -> int:
    """Print the sites, or the broken links."""
    as_json = "--json" in arguments
    rest = [a for a in arguments if a != "--json"]
    root = Path(rest[0]) if rest else Path(__file__).resolve().parent.parent
    if len(rest) > 1 or not (root / "kernel").is_dir():
        print(f"pairs.py: {rest}: want at most one folder that holds kernel/", file=sys.stderr)
        return 2
    links = read_links(root)
    if as_json:
        print(json.dumps([asdict(s) for s in links.sites.values()], indent=1))
    for error in links.errors:
        print(f"pairs.py: {error}", file=sys.stderr)
    if not as_json:
        edges = sum(len(s.pairs) for s in links.sites.values())
        print(f"{len(links.sites)} atomic sites, {edges} links, {len(links.errors)} broken")
    return 1 if links.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
