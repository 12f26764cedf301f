"""`make docs`: the documentation as a site with search, in build/site.

The pages are written to be read in the repository. For the site they are copied; links to files
outside of ``docs`` become the names of those files, and notebooks become pages. The menu has the
folders in the order of FOLDERS, and headings have the anchors that they have in the repository. A
link that leads nowhere ends the build. The site asks nobody else for anything, so it can be served
or opened anywhere.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from tools.notebooks import as_markdown

ROOT: Final = Path(__file__).resolve().parent.parent
SETTINGS: Final = ROOT / "tools" / "site.yml"
WORK: Final = ROOT / "build" / "site-source"
SITE: Final = ROOT / "build" / "site"

# Folder of docs -> its title in the menu, in this order.
FOLDERS: Final = {
    "tutorials": "Tutorials",
    "how-to": "How-to guides",
    "reference": "Reference",
    "explanation": "Explanation",
    "spec": "Specification",
    "adr": "Decisions",
}
# Pages beside the folders, at the end of the menu.
MEASURED: Final = ("benchmarks.md", "reliability.md")
FIRST: Final = "README.md"

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)
# Code, which stays as it is, or else a link: picture mark, text, target, anchor.
_PARTS: Final = re.compile(
    r"^```.*?^```$"
    r"|(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s#]+)(?:#[^)\s]*)?\)"
    r"|`[^`\n]*`",
    re.MULTILINE | re.DOTALL,
)


def main() -> int:
    """Build the site; 0 on success."""
    write_source(ROOT / "docs", WORK)
    problem = build(WORK)
    if problem:
        print(f"docs: the site was not built:\n{problem}")
        return 1
    shutil.rmtree(SITE, ignore_errors=True)
    (WORK / "site").rename(SITE)
    print(f"docs: the site is in {SITE.relative_to(ROOT)}; it begins with index.html")
    return 0


def build(source: Path) -> str:
    """Build what ``write_source`` wrote into its folder ``site``; return what is wrong, or ""."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    # The settings name ``anchor`` of this file.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    if not done.returncode:
        return ""
    return _COLOUR.sub("", done.stdout + done.stderr).partition("Traceback")[0].rstrip()


def write_source(docs: Path, target: Path) -> None:
    """Write the pages as the site has them, and the settings with the menu."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(docs, target / "docs")
    for notebook in (target / "docs").rglob("*.ipynb"):
        notebook.with_suffix(".md").write_text(as_markdown(json.loads(notebook.read_text())))
        notebook.unlink()
    for page in sorted((target / "docs").rglob("*.md")):
        name = page.relative_to(target / "docs").as_posix()
        page.write_text(outside_as_names(page.read_text(), name))
    settings = yaml.safe_load(SETTINGS.read_text())
    settings["nav"] = menu(target / "docs")
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    # Plain YAML cannot name a function.
    text = text.replace("slugify: ANCHOR", "slugify: !!python/name:tools.site.anchor")
    (target / "mkdocs.yml").write_text(text)


def menu(docs: Path) -> list[dict[str, Any]]:
    """Return the menu: title -> page, or title -> such a list."""
    found: list[dict[str, Any]] = [{"Home": FIRST}]
    for folder, title in FOLDERS.items():
        pages = sorted((docs / folder).glob("*.md"), key=lambda page: (page.name != FIRST, page))
        found.append({title: [{title_of(page): f"{folder}/{page.name}"} for page in pages]})
    found.append({"Measurements": [{title_of(docs / name): name} for name in MEASURED]})
    return found


def title_of(page: Path) -> str:
    """Return the title that a page begins with."""
    title = _TITLE.search(page.read_text())
    assert title is not None, f"{page} has no title"
    return title[1].replace("`", "")


def anchor(title: str, separator: str = "-") -> str:
    """Return the anchor of a heading, as the hosts of repositories make it."""
    return re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", separator)


def outside_as_names(markdown: str, page: str) -> str:
    """Return the text of a page with links that leave ``docs`` replaced by text and file name.

    ``page``: its path below ``docs``. Code is left as it is.
    """

    def replaced(part: re.Match[str]) -> str:
        picture, text, target = part.groups()
        if target is None or picture or "://" in target:
            return part[0]
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
        if path == "docs" or path.startswith("docs/"):
            return part[0].replace(".ipynb)", ".md)")
        name = f"`{path}`"
        return name if text.strip("`") in path else f"{text} ({name})"

    return _PARTS.sub(replaced, markdown)


if __name__ == "__main__":
    sys.exit(main())
