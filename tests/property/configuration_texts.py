"""Random queue configurations as texts: right by construction, then perhaps broken.

What is built obeys every rule of chapter 10, section 6, by small means: amounts halve from level
to level, limits get smaller downwards, rules lead to queues that are there or may be made. One
seed always gives the same text.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

Content: TypeAlias = dict[str, Any]

MAXIMUM: Final = 1_000_000
TYPES: Final = ("memory", "vcore", "gpu", "example.com/disk")
USERS: Final = ("ann", "bob", "system:serviceaccount:ns:sa", "c.d@x.org", "host$")
GROUPS: Final = ("dev", "ops", "my.group", "g:1")
SAFE_ACLS: Final = ("*", "", " ", "ann", "ann,bob dev", " dev,ops", "bob ", "* dev", "x *")
PATTERNS: Final = ("^dev.*$", "a|b", "(?i)team", "test*", "[a-f]+")
PROPERTIES: Final = (
    ("application.sort.policy", "fair"),
    ("application.sort.policy", "random"),
    ("priority.offset", "7"),
    ("priority.polic", "fence"),
    ("preemption.delay", "1m30s"),
    ("x.y", "true"),
)


@dataclass(frozen=True)
class Sample:
    """A text, and whether nothing was broken in it."""

    text: str
    intact: bool


def sample(seed: int) -> Sample:
    """Return one configuration; about two of five are left as they were built."""
    draw = random.Random(seed)
    content = _Builder(draw).document()
    intact = draw.random() < 0.4
    if not intact and draw.random() < 0.7:
        for _ in range(draw.choice((1, 1, 2, 5))):
            draw.choice(BREAKS)(draw, content)
        return Sample(_written(draw, content), intact)
    text = _written(draw, content)
    if not intact:
        for _ in range(draw.choice((1, 1, 3))):
            text = _scratched(draw, text)
    return Sample(text, intact)


def _written(draw: random.Random, content: Content) -> str:
    """Return the text in block, flow or JSON style."""
    style = draw.randrange(3)
    if style == 0:
        return json.dumps(content)
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(content, Dumper=dumper, sort_keys=False, default_flow_style=style == 1)
    return text


class _Builder:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.names = 0

    def often(self, chance: float = 0.5) -> bool:
        return self.draw.random() < chance

    def document(self) -> Content:
        count = self.draw.choice((1, 1, 1, 2, 0))
        return {"partitions": [self.partition(f"p{number}") for number in range(count)]}

    def partition(self, name: str) -> Content:
        root = self.queue(0, 0, {})
        found: Content = {"name": name, "queues": [root]}
        if self.often(0.3):
            found["queues"] = root.pop("queues", [])
            leaves = [f"root.{queue['name'].lower()}" for queue in found["queues"]]
            leaves = leaves if len(leaves) > 1 else []
            root = {"queues": found["queues"]}
        if self.often(0.3) and "limits" not in root and "maxapplications" not in root:
            found["limits"] = [{"users": ["zoe"], "maxapplications": 100}]
        found["placementrules"] = self.rules(root)
        if self.often(0.3):
            weights = {"vcore": self.draw.choice((0, 1, 2.5)), "gpu": 1}
            found["nodesortpolicy"] = {"type": "binpacking", "resourceweights": weights}
        if self.often(0.2):
            found["preemption"] = {"enabled": self.often(), "quotapreemptionenabled": True}
        if self.often(0.2):
            found["usergroupresolver"] = {"type": self.draw.choice(("", "os", "ldap", "test"))}
        return found

    # ---------------------------------------------------------------------------------- queues

    def queue(self, level: int, most: int, above: Content) -> Content:
        """Return a queue; ``most``: applications of the parent, 0 for any number."""
        found: Content = {"name": "root" if level == 0 else self.name()}
        applications = self.draw.randint(100, 1000) if level == 0 and self.often(0.3) else 0
        if level and (most or self.often(0.2)):
            applications = self.draw.randint(5, most or 50) if not most or most > 5 else most
        if applications:
            found["maxapplications"] = applications
        if self.often(0.4):
            found["limits"] = self.limits(level)
        self.decorate(found, level)
        widths = ((0, 1, 2, 4), (0, 0, 1, 2, 3), (0, 0, 1, 2), (0, 0, 0, 1), (0,))
        width = self.draw.choice(widths[level])
        if width:
            found["queues"] = [self.queue(level + 1, applications, found) for _ in range(width)]
        if level:
            self.amounts(found, level)
        return found

    def name(self) -> str:
        self.names += 1
        return self.draw.choice(("q{}", "Queue_{}", "a-{}", "ns:{}#x", "{}")).format(self.names)

    def decorate(self, queue: Content, level: int) -> None:
        if self.often(0.4):
            queue["submitacl"] = self.draw.choice(SAFE_ACLS)
        if self.often(0.2):
            queue["adminacl"] = self.draw.choice(SAFE_ACLS)
        if self.often(0.3):
            queue["properties"] = dict(self.draw.sample(PROPERTIES, 2))
        if level and self.often(0.2):
            queue["parent"] = True
        if self.often(0.2):
            template = {"max": {self.draw.choice(TYPES): "5"}}
            queue["childtemplate"] = {"maxapplications": 3, "resources": template}

    def amounts(self, queue: Content, level: int) -> None:
        """Give amounts that fit: a max that halves per level, and a guaranteed above the sum."""
        resources: Content = {}
        if self.often():
            chosen = self.draw.sample(TYPES, self.draw.randint(1, 3))
            resources["max"] = {name: self.quantity(MAXIMUM >> level, name) for name in chosen}
        if self.often():
            needed = 4 ** (5 - level)
            resources["guaranteed"] = {
                name: self.quantity(2 * needed, name) for name in TYPES if self.often(0.7)
            }
        if resources:
            queue["resources"] = resources

    def quantity(self, value: int, name: str) -> str:
        """Write a number in one of several ways; vcore in milli-units."""
        if name == "vcore":
            return f"{value}m"
        return self.draw.choice((f"{value}", f" {value} ", f"0{value}"))

    def limits(self, level: int) -> list[Content]:
        """Return limits that get smaller downwards, wildcards last."""
        users = self.draw.sample(USERS, self.draw.randint(1, 3))
        groups = self.draw.sample(GROUPS, self.draw.randint(0, 2))
        bounds = {"maxresources": {"memory": str(1000 >> level)}, "maxapplications": 5 - level}
        found: list[Content] = [{"limit": f"level {level}", "users": users, **bounds}]
        if groups:
            found.append({"groups": groups, **bounds})
        if self.often(0.3):
            found.append({"users": ["*"], **bounds})
        if groups and self.often(0.3):
            found.append({"groups": ["*"], **bounds})
        return found

    # ----------------------------------------------------------------------------------- rules

    def rules(self, root: Content) -> list[Content]:
        leaves, parents = _paths(root)
        return [self.rule(leaves, parents) for _ in range(self.draw.choice((0, 1, 2, 3)))]

    def rule(self, leaves: list[str], parents: list[str]) -> Content:
        kind = self.draw.choice(("provided", "user", "tag", "fixed", "Fixed", "USER"))
        found: Content = {"name": kind, "create": self.often()}
        if kind == "tag":
            found["value"] = "namespace"
        elif kind.lower() == "fixed":
            existing = bool(leaves) and self.often()
            above = self.draw.choice(parents)
            found["value"] = self.draw.choice(leaves) if existing else f"{above}.new"
            found["create"] = found["create"] or not existing
        elif self.often(0.4):
            found["parent"] = {"name": "fixed", "value": self.draw.choice(parents)}
        if self.often(0.3):
            found["filter"] = self.filter()
        return found

    def filter(self) -> Content:
        found: Content = {"type": self.draw.choice(("", "allow", "Deny"))}
        if self.often():
            found["users"] = self.draw.sample(USERS, self.draw.randint(1, 3))
        if self.often():
            found["groups"] = [self.draw.choice(PATTERNS)]
        return found


def _paths(root: Content) -> tuple[list[str], list[str]]:
    """Return the paths of the leaves and of the parents of a tree."""
    leaves: list[str] = []
    parents = ["root"]
    waiting = [("root", queue) for queue in root.get("queues", [])]
    while waiting:
        above, queue = waiting.pop()
        path = f"{above}.{queue['name']}"
        below = queue.get("queues", [])
        (parents if below or queue.get("parent") else leaves).append(path)
        waiting += [(path, child) for child in below]
    return leaves, parents


# --------------------------------------------------------------------------- taking texts apart

ODD_VALUES: Final[tuple[Any, ...]] = (
    *("", " ", "a b", "root", "*", "10x", "-5", "0", "9" * 30, "é", "\x00", "a.b", "yes", "~"),
    *(None, True, 5.5, -1, 2**64, float("nan"), [], {}, ["a", "a"], {"a": "b"}, "[", "(?=x)"),
)


def _places(content: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """Return every place in a tree as (holder, key or index)."""
    found = [] if found is None else found
    keys: Any = list(content) if isinstance(content, dict) else range(len(content))
    for key in keys:
        found.append((content, key))
        if isinstance(content[key], dict | list):
            _places(content[key], found)
    return found


def _replace(draw: random.Random, content: Content) -> None:
    holder, key = draw.choice(_places(content))
    holder[key] = copy.deepcopy(draw.choice(ODD_VALUES))


def _drop(draw: random.Random, content: Content) -> None:
    holder, key = draw.choice(_places(content))
    del holder[key]
    if not content:
        content["partitions"] = []


def _repeat(draw: random.Random, content: Content) -> None:
    """Give an item of a list twice."""
    places = [(holder, key) for holder, key in _places(content) if isinstance(holder, list)]
    if places:
        holder, key = draw.choice(places)
        holder.append(holder[key])


def _rename(draw: random.Random, content: Content) -> None:
    places = [(holder, key) for holder, key in _places(content) if isinstance(holder, dict)]
    holder, key = draw.choice(places)
    others = (str(key).upper(), "queues", "limits", "users", "name", "x", "max", "value")
    holder[draw.choice(others)] = holder.pop(key)
    if "partitions" not in content:
        content.setdefault("partitions", [])


def _move(draw: random.Random, content: Content) -> None:
    """Put what stands in one place into another, too."""
    places = _places(content)
    holder, key = draw.choice(places)
    target, where = draw.choice(places)
    target[where] = json.loads(json.dumps(holder[key]))


def _enlarge(draw: random.Random, content: Content) -> None:
    """Make one number or amount ten times what it was."""
    places = []
    for holder, key in _places(content):
        value = holder[key]
        whole = isinstance(value, int) and not isinstance(value, bool)
        if whole or (isinstance(value, str) and value.strip("m ").isdigit()):
            places.append((holder, key))
    if places:
        holder, key = draw.choice(places)
        value = holder[key]
        holder[key] = value * 10 if isinstance(value, int) else value.strip().replace("0", "000")


BREAKS: Final[tuple[Callable[[random.Random, Content], None], ...]] = (
    _replace,
    _replace,
    _drop,
    _repeat,
    _rename,
    _move,
    _enlarge,
    _enlarge,
)

SCRATCHES: Final = (
    ":",
    "-",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "\n",
    "  ",
    "&a ",
    "*a",
    "#",
    "\t",
    "!x ",
)


def _scratched(draw: random.Random, text: str) -> str:
    """Return a text with a piece taken out, put in or repeated."""
    start = draw.randrange(len(text) + 1)
    end = min(len(text), start + draw.choice((1, 1, 5, 40)))
    kind = draw.randrange(3)
    if kind == 0:
        return text[:start] + text[end:]
    if kind == 1:
        return text[:start] + draw.choice(SCRATCHES) + text[start:]
    return text[:end] + text[start:end] + text[end:]
