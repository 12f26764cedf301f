"""Records of ``message``: one function shows them all, as dataclasses show themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

from remuda.base.message import message


@message
class Pair:
    left: object
    right: int = field(default=2, repr=False)
    more: tuple[str, ...] = ()


@message
class Named:
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


def test_a_record_shows_its_fields_as_a_dataclass_does() -> None:
    @dataclass
    class Plain:
        left: object
        right: int = field(default=2, repr=False)
        more: tuple[str, ...] = ()

    plain = repr(Plain("a'b", 3, ("c",)))
    assert repr(Pair("a'b", 3, ("c",))) == plain.rpartition("Plain")[2].join(["Pair", ""])


def test_a_record_that_holds_itself_has_an_end() -> None:
    among: list[object] = []
    pair = Pair(among)
    among.append(pair)
    assert repr(pair) == "Pair(left=[...], more=())"


def test_a_record_may_show_itself_otherwise() -> None:
    assert repr(Named("x")) == "<x>"
