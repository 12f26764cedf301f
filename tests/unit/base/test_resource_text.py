"""Resources as texts: RES-10 and RES-12."""

from __future__ import annotations

import pytest

from remuda.base.resource_text import ResourceTextError, parse_tag, printable


@pytest.mark.remuda_rule("RES-12", "EVT-14")
def test_printable_form() -> None:
    assert printable({"vcore": 2000, "memory": 10}) == "map[memory:10 vcore:2000]"
    assert printable({"m": -1}) == "map[m:-1]"
    assert printable({}) == "map[]"
    assert printable(None) == "nil resource"


@pytest.mark.remuda_rule("RES-10")
@pytest.mark.parametrize(
    "text, expected",
    [
        (
            '{"resources":{"memory":{"value":1000},"vcore":{"value":2000}}}',
            {"memory": 1000, "vcore": 2000},
        ),
        ("null", {}),
        ("{}", {}),
        ('{"resources":null}', {}),
        ('{"resources":{}}', {}),
        ('{"resources":{"memory":{"value":-5}}}', {"memory": -5}),
        ('{"resources":{"memory":{}}}', {"memory": 0}),
        ('{"resources":{"memory":null}}', {"memory": 0}),
        ('{"resources":{"memory":{"value":null}}}', {"memory": 0}),
        ('{"unit":"x","resources":{"m":{"value":1,"text":"1"}}}', {"m": 1}),
        (' {"resources":{"m":{"value":9223372036854775807}}} ', {"m": 9223372036854775807}),
    ],
)
def test_a_tag_value_is_the_json_form_of_the_wire_message(
    text: str, expected: dict[str, int]
) -> None:
    assert parse_tag(text) == expected


@pytest.mark.remuda_rule("RES-10")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "memory=5",
        '{"resources":{"memory":{"value":5}}} x',
        "[]",
        "5",
        '{"resources":[]}',
        '{"resources":{"memory":5}}',
        '{"resources":{"memory":{"value":"5"}}}',
        '{"resources":{"memory":{"value":1.5}}}',
        '{"resources":{"memory":{"value":true}}}',
        '{"resources":{"memory":{"value":NaN}}}',
        '{"resources":{"memory":{"value":9223372036854775808}}}',
        '{"resources":{"memory":{"value":-9223372036854775809}}}',
        '{"resources":{"memory":{"value":' + "9" * 5000 + "}}}",
        "[" * 200_000,
        '{"resources":{"\\ud800":{"value":5}}}',
        '{"resources":{"a\\udfff":{"value":5}}}',
    ],
)
def test_anything_else_in_a_tag_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ResourceTextError) as refused:
        parse_tag(text)
    assert str(refused.value)
    assert "\n" not in str(refused.value)
