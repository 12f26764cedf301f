"""What a page refers to, and what it has inside that a strict policy forbids."""

from __future__ import annotations

from html.parser import HTMLParser


class Links(HTMLParser):
    """Collects where a page leads, and code inside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "action"):
                self.links.append(value or "")
            if name == "style" or name.startswith("on"):
                self.inline.append(name)
        if tag == "style" or (tag == "script" and "src" not in dict(attrs)):
            self.inline.append(tag)
