# SPDX-License-Identifier: Apache-2.0
"""Reads pages of HTML."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """The tags of a page, and the texts of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, text: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(text)

    def of(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.tags if attribute in attributes]


def check_loads_nothing(text: str) -> None:
    """Check that no element asks for anything, and that the policy forbids it."""
    page = Page(text)
    assert page.of("src") == page.of("srcset") == page.of("action") == []
    assert all(link.startswith("#") for link in page.of("href"))
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")  # a name, in the script
    assert "url(" not in text.replace("url(#head)", "")
    assert "@import" not in text
    policy = page.of("content")[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
