"""The description of a key of the queue file, the kinds of values, and the names of sections.

The keys themselves are in ``keys``.
"""

from __future__ import annotations

from typing import Final

from remuda.base.message import message

# What a value is. Texts keep what was written, so numbers and words are texts, too (CFG-17).
TEXT: Final = "text"
BOOLEAN: Final = "boolean"
COUNT: Final = "whole number"
TEXTS: Final = "list of texts"
QUANTITIES: Final = "map: resource to quantity"
WEIGHTS: Final = "map: resource to number"
PROPERTIES: Final = "map: property to text"
SECTION: Final = "section"
SECTIONS: Final = "list of sections"

# Names of the sections, as problems name them.
DOCUMENT: Final = "document"
PARTITION: Final = "partition"
QUEUE: Final = "queue"
RESOURCES: Final = "resources"
TEMPLATE: Final = "childtemplate"
LIMIT: Final = "limit"
RULE: Final = "placement rule"
FILTER: Final = "filter"
PREEMPTION: Final = "preemption"
NODE_SORT: Final = "nodesortpolicy"
RESOLVER: Final = "usergroupresolver"


@message
class Key:
    """One key of a section.

    ``section``: of a SECTION or SECTIONS, whose keys the value has. ``default``: what it is
    without the key, in words. ``choices``: the only texts allowed; ``any_case``: in any case;
    ``others``: any other is legal, too, and means the default. ``example``: the key with a
    value, as YAML.
    """

    name: str
    kind: str
    default: str
    meaning: str
    rules: tuple[str, ...]
    example: str
    section: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    any_case: bool = False
    others: bool = False
