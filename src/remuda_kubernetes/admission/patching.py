"""JSON patches (RFC 6902) that set some texts of an object, and make what has to be there first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from remuda_kubernetes.admission.reviews import Json, Operation

# From the root of an object to one of its texts.
Path = tuple[str, ...]


def setting(content: Json, wanted: Mapping[Path, str]) -> tuple[Operation, ...]:
    """Return the patch that sets texts of an object; there is nothing in it if all are set."""
    return tuple(_operations(content, wanted))


def _operations(content: Json, wanted: Mapping[Path, str]) -> Iterator[Operation]:
    made: set[Path] = set()
    for path, text in wanted.items():
        holder: object = content
        for depth in range(1, len(path)):
            part = path[:depth]
            holder = holder.get(path[depth - 1]) if isinstance(holder, dict) else None
            # What is null is made, too: a patch cannot add to it.
            if holder is None and part not in made:
                made.add(part)
                yield Operation("add", pointer(part), {})
        if not isinstance(holder, dict) or holder.get(path[-1]) != text:
            yield Operation("add", pointer(path), text)


def pointer(path: Path) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
