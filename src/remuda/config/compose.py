"""Turns a YAML text into nodes, within bounds.

The text may come from anyone who can reach the scheduler, so nothing is built from it before it
is bounded: its length, how deep it nests and how many nodes it has once aliases are expanded.
The parser's events are consumed one by one, so a hostile text is refused as soon as it crosses
a bound. The C parser is used where it is installed; it is about twenty times faster, and takes
some tabs that the other one refuses.
"""

from __future__ import annotations

from typing import Final, NoReturn, Protocol, TypeAlias

import yaml

from remuda.base.errors import ConfigError, Problem
from remuda.config.findings import one_line
from remuda.config.tree import ListNode, MapNode, Node, ScalarNode

TEXT_BYTES_LIMIT: Final = 10_000_000
# More than 48 levels of queues need, with all parts of the last one.
DEPTH_LIMIT: Final = 110
NODES_LIMIT: Final = 80_000
ANCHORS_LIMIT: Final = 10_000
# The C parser compares each tag directive with all before it.
TAG_DIRECTIVES_LIMIT: Final = 16

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# The place of an event: line and column, from 1.
_Place: TypeAlias = tuple[int, int]

_NOWHERE: Final = (0, 0)

# The target of an alias: the node, its number of nodes when expanded, and its depth.
_Anchored: TypeAlias = tuple[Node, int, int]

_TAG_HINT: Final = "remove it; quotes make any value a text"

_TEXT_TAGS: Final = ("!", "tag:yaml.org,2002:str")
_COLLECTION_TAGS: Final = {
    yaml.MappingStartEvent: (None, "!", "tag:yaml.org,2002:map"),
    yaml.SequenceStartEvent: (None, "!", "tag:yaml.org,2002:seq"),
}


def compose(text: str, source: str) -> Node | None:
    """Return the first YAML document of a text as nodes, None if there is none.

    Raises: ConfigError if the text is not YAML, crosses a bound or uses a tag of its own.
    Implements: CFG-10, CFG-11. Rules: CFG-5, CFG-17.
    """
    _check_bounds(text, source)
    composer = _Composer(source)
    try:
        loader = _LOADER(text)
        try:
            return composer.first_document(loader)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = f"not YAML: {error.problem or error.context}"
        _refuse(source, problem, _place_of(mark), _syntax_hint(text, error))
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        _refuse(source, f"not YAML: {error.reason}", (line, 1), "remove the character")
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        _refuse(source, f"not YAML: {error}", _NOWHERE, "correct the text")


def _check_bounds(text: str, source: str) -> None:
    try:
        size = len(text.encode()) if len(text) <= TEXT_BYTES_LIMIT else len(text)
    except UnicodeEncodeError:
        what = "not YAML: the text has characters that are not Unicode"
        _refuse(source, what, _NOWHERE, "write the text as UTF-8")
    if size > TEXT_BYTES_LIMIT:
        what = f"the text has {size} bytes, at most {TEXT_BYTES_LIMIT} are read"
        _refuse(source, what, _NOWHERE, "shorten it")
    if text.count("%TAG") > TAG_DIRECTIVES_LIMIT:
        _refuse(
            source, f"more than {TAG_DIRECTIVES_LIMIT} %TAG directives", _NOWHERE, "remove them"
        )


class _Mark(Protocol):
    """A place in the text, from 0; the two parsers have different classes for it."""

    line: int
    column: int


def _place_of(mark: _Mark | None) -> _Place:
    """Return the place of a mark."""
    return _NOWHERE if mark is None else (mark.line + 1, mark.column + 1)


def _syntax_hint(text: str, error: yaml.MarkedYAMLError) -> str:
    """Return what to do about a text that is not YAML."""
    mark = error.problem_mark
    at = text[mark.index : mark.index + 1] if mark is not None else ""
    if "alias" in (error.context or ""):
        return 'if everybody is meant, write "*" in quotes'
    if at == "\t":
        return "write blanks instead of tabs"
    if at and at in "@`%":
        return f"put a text that begins with {at} in quotes"
    if at == ":":
        return "put a text that has a colon and a blank in it in quotes, or begin a new line"
    return "close brackets and quotes, and indent alike what belongs together"


def _refuse(source: str, what: str, place: _Place, hint: str) -> NoReturn:
    """Raise ConfigError for a fault that ends reading."""
    raise ConfigError([Problem("", "CFG-5", one_line(what), *place, hint)], source) from None


class _Open:
    """A list or mapping that is being read.

    ``nodes_before``: the expanded count when it began. ``height``: of what it holds so far.
    ``key``: of a mapping, the key whose value is not read yet.
    """

    __slots__ = ("anchor", "height", "key", "node", "nodes_before")

    def __init__(self, node: ListNode | MapNode, anchor: str | None, nodes_before: int) -> None:
        self.node = node
        self.anchor = anchor
        self.nodes_before = nodes_before
        self.height = 0
        self.key: Node | None = None


class _Composer:
    """Builds nodes from parser events and counts them as if every alias were written out."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._nodes = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._root: Node | None = None

    def first_document(self, loader: yaml.SafeLoader) -> Node | None:
        """Read events up to the end of the first document."""
        while True:
            event = loader.get_event()  # type: ignore[no-untyped-call]
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._begin(event)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._end()
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentEndEvent or kind is yaml.StreamEndEvent:
                return self._root

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        # Most of the time goes here: no call that can be avoided.
        mark = event.start_mark
        assert mark is not None
        tag = event.tag
        if tag is not None and tag not in _TEXT_TAGS:
            _refuse(self._source, f"the tag {tag} is not supported", _place_of(mark), _TAG_HINT)
        plain = tag is None and event.implicit[0]
        node = ScalarNode(event.value, plain, mark.line + 1, mark.column + 1)
        self._nodes += 1
        if self._nodes > NODES_LIMIT:
            self._count(0, 0, _place_of(mark))
        if event.anchor is not None:
            self._name(event.anchor, (node, 1, 0))
        self._place(node, 0)

    def _begin(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        place = _place_of(event.start_mark)
        if event.tag not in _COLLECTION_TAGS[type(event)]:
            _refuse(self._source, f"the tag {event.tag} is not supported", place, _TAG_HINT)
        kind = MapNode if isinstance(event, yaml.MappingStartEvent) else ListNode
        node = kind(*place)
        before = self._nodes
        self._count(1, 1, place)
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._open.append(_Open(node, event.anchor, before))

    def _end(self) -> None:
        done = self._open.pop()
        height = done.height + 1
        if done.anchor is not None:
            self._name(done.anchor, (done.node, self._nodes - done.nodes_before, height))
        self._place(done.node, height)

    def _name(self, anchor: str, target: _Anchored) -> None:
        """Remember what an anchor names; the same one again replaces it."""
        self._anchors[anchor] = target
        if len(self._anchors) > ANCHORS_LIMIT:
            place = (target[0].line, target[0].column)
            _refuse(self._source, f"more than {ANCHORS_LIMIT} anchors", place, "remove some")

    def _alias(self, event: yaml.AliasEvent) -> None:
        target = self._anchors.get(event.anchor or "")
        place = _place_of(event.start_mark)
        if target is None:
            what = f"the alias *{event.anchor} has no finished anchor"
            hint = "write its anchor, & and the word, further up, or the text in quotes"
            _refuse(self._source, what, place, hint)
        node, nodes, height = target
        self._count(nodes, height, place)
        self._place(node, height)

    def _count(self, nodes: int, height: int, place: _Place) -> None:
        """Charge nodes that are about to be placed against the bounds."""
        self._nodes += nodes
        if self._nodes > NODES_LIMIT:
            what = f"more than {NODES_LIMIT} values, aliases expanded"
            _refuse(self._source, what, place, "let placement rules make queues, limit groups")
        if len(self._open) + height > DEPTH_LIMIT:
            what = f"nested more than {DEPTH_LIMIT} levels deep"
            _refuse(self._source, what, place, "put it further up")

    def _place(self, node: Node, height: int) -> None:
        """Put a finished node where it belongs: document, list, key or value."""
        if not self._open:
            self._root = node
            return
        parent = self._open[-1]
        if height > parent.height:
            parent.height = height
        if isinstance(parent.node, ListNode):
            parent.node.items.append(node)
        elif parent.key is None:
            parent.key = node
        else:
            parent.node.entries.append((parent.key, node))
            parent.key = None
