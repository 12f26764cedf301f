"""The documentation as a site (`make docs`): its menu, its links and its anchors."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from tests.docs.test_links import anchors
from tools import site

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_the_menu_has_every_page_once(tmp_path: Path) -> None:
    site.write_source(DOCS, tmp_path)
    menu = yaml.unsafe_load((tmp_path / "mkdocs.yml").read_text())["nav"]
    listed = re.findall(r"[\w/-]+\.md", yaml.safe_dump(menu))
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    pages += [page.relative_to(DOCS).as_posix()[:-5] + "md" for page in DOCS.rglob("*.ipynb")]
    assert sorted(listed) == sorted(pages)


def test_headings_have_the_anchors_of_the_repository() -> None:
    page = DOCS / "reference" / "commands.md"
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    assert {site.anchor(title) for title in titles} == anchors(page)


@pytest.mark.parametrize(
    "markdown,shown",
    [
        ("see [policy](../../SECURITY.md).", "see policy (`SECURITY.md`)."),
        ("[`test_serve.py`](../../tests/e2e/test_serve.py)", "`tests/e2e/test_serve.py`"),
        ("[gate](../../CONTRIBUTING.md#when)", "gate (`CONTRIBUTING.md`)"),
        ("[install](install.md#pip)", "[install](install.md#pip)"),
        ("[a](../reference/commands.md)", "[a](../reference/commands.md)"),
        ("[n](../tutorials/n.ipynb)", "[n](../tutorials/n.md)"),
        ("![x](../images/ui-nodes.png)", "![x](../images/ui-nodes.png)"),
        ("[web](https://example.com/x)", "[web](https://example.com/x)"),
        ("`[policy](../../SECURITY.md)`", "`[policy](../../SECURITY.md)`"),
        ("```\n[p](../../SECURITY.md)\n```\n", "```\n[p](../../SECURITY.md)\n```\n"),
    ],
)
def test_links_out_of_the_documentation_become_names(markdown: str, shown: str) -> None:
    assert site.outside_as_names(markdown, "how-to/page.md") == shown


@pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None, reason="what builds the site: make docs"
)
def test_the_site_asks_nobody_else_and_a_broken_link_ends_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for folder in site.FOLDERS:
        (docs / folder).mkdir()
    (docs / "README.md").write_text("# Start\n\nSee [how](how-to/go.md#first-steps).\n")
    for name in site.MEASURED:
        (docs / name).write_text(f"# About {name}\n")
    page = docs / "how-to" / "go.md"
    page.write_text("# Go\n\n## First: steps\n\n[here](#first-steps)\n")
    target = tmp_path / "work"
    site.write_source(docs, target)
    assert site.build(target) == ""
    html = (target / "site" / "how-to" / "go.html").read_text()
    assert 'id="first-steps"' in html
    loaded = re.findall(r'(?:src|<link[^>]* href)="?(https?:[^" >]+)', html)
    assert loaded == []
    page.write_text("# Go\n\n## First: steps\n\n[there](#second-steps)\n")
    site.write_source(docs, target)
    assert "anchor does not exist" in site.build(target)
