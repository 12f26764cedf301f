"""A queue configuration in the form that all of them should have, with its comments.

The library that keeps comments is imported here only, when a text is formatted: the scheduler and
all other commands do without it. Whatever it does, a text comes out only if it means the same and
has the same comments.
"""

from __future__ import annotations

import io
import re
from itertools import pairwise
from typing import Final

import yaml

from remuda.base.errors import ConfigError, Problem
from remuda.config.load import load_configuration

# Formatting a formatted text changes nothing; some comments need a second time for that.
_TIMES: Final = 4

# A longer text would take minutes; the longest one that people wrote has a hundredth of that.
LETTERS_LIMIT: Final = 1_000_000

_RULE: Final = "EXT-117"
_COMMENT: Final = re.compile(r"#.*")
_WIDTH: Final = 1 << 30


def formatted(text: str, source: str) -> str:
    """Return a configuration as it should be written; formatting that again changes nothing.

    Mappings and lists are indented by two spaces, lists below their key; texts keep their quotes,
    lists and mappings in brackets their brackets. A text without a document stays as it is.

    Raises: ConfigError, with the file and line, if it is no configuration, or if it cannot be
    formatted without another meaning or the loss of a comment.

    Implements: EXT-117.
    """
    if len(text) > LETTERS_LIMIT:
        why = f"this has {len(text):,} letters; formatting takes at most {LETTERS_LIMIT:,}"
        raise _refused(source, 1, why)
    before = load_configuration(text, source)
    if yaml.safe_load(text) is None:
        return text
    found = text
    for _ in range(_TIMES):
        last, found = found, _written(found, source)
        if found == last:
            break
    else:
        raise _refused(source, 1, "this cannot be brought into a form that stays as it is")
    after = load_configuration(found, source)
    if after.partitions != before.partitions:
        raise _refused(source, 1, "this cannot be formatted without another meaning")
    kept = [comment for _, comment in _comments(found)]
    for number, (line, comment) in enumerate(_comments(text)):
        if kept[number : number + 1] != [comment]:
            raise _refused(source, line, f"the comment {comment!r:.60} would be lost or moved")
    return found


def _written(text: str, source: str) -> str:
    """Return a text as the library writes it. Raises: ConfigError."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only here, see above
    from ruamel.yaml.emitter import RoundTripEmitter  # noqa: PLC0415
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    class Emitter(RoundTripEmitter):
        def write_indent(self) -> None:
            """Begin a line; the library keeps a mark that leaves out a line break too long."""
            super().write_indent()
            self.no_newline = False

    library = YAML()
    library.Emitter = Emitter
    library.preserve_quotes = True
    library.width = _WIDTH
    library.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    try:
        library.dump(library.load(text), out)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise _refused(source, line, f"this cannot be formatted: {error.problem}") from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise _refused(source, 1, f"this cannot be formatted: {error}") from None
    return out.getvalue()


def _comments(text: str) -> list[tuple[int, str]]:
    """Return the comments of a text in their order, each with its line: what no token has."""
    found: list[tuple[int, str]] = []
    for before, token in pairwise(yaml.scan(text)):
        between = text[before.end_mark.index : token.start_mark.index]
        for number, line in enumerate(between.splitlines()):
            comment = _COMMENT.search(line)
            if comment is not None:
                found.append((before.end_mark.line + number + 1, comment[0].rstrip()))
    return found


def _refused(source: str, line: int, why: str) -> ConfigError:
    hint = "write this part in another way, or leave the file as it is"
    problem = Problem("", _RULE, " ".join(why.split()), line, 1, hint)
    return ConfigError([problem], source)
