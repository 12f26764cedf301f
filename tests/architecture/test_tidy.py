"""Each check of the house rules sees its offence and nothing else; `make check` runs them here."""

from __future__ import annotations

import pytest

from tools import glossary, tidy
from tools.glossary import Retired
from tools.tidy import Module

CORE = "src/remuda/core/cycle/sample.py"
EDGE = "src/remuda/edges/sample.py"


def faults(source: str, name: str = EDGE) -> list[str]:
    module = Module(name, source)
    return [fault for check in tidy.CHECKS for fault in check(module)]


def test_a_plain_module_is_fine() -> None:
    assert faults('"""Why."""\n\n\ndef go() -> None:\n    """Go."""\n') == []


def test_a_module_may_have_600_lines_and_no_more() -> None:
    head = '"""Why,\n\nin three lines."""\n'
    assert faults(head + "x = 1\n" * 597) == []
    assert faults(head + "x = 1\n" * 598) == [f"{EDGE}: 601 lines, at most 600: split it"]


def test_a_function_may_have_70_lines_besides_its_docstring() -> None:
    head = '"""Why."""\n\n\ndef go() -> None:\n    """Go.\n\n    On and on.\n    """\n'
    assert faults(head + "    x = 1\n" * 70) == []
    assert faults(head + "    x = 1\n" * 71) == [f"{EDGE}:4: go has 71 lines, at most 70"]


def test_a_class_with_21_methods_is_too_many() -> None:
    methods = "".join(f"    def m{n}(self): ...\n" for n in range(21))
    fault = f"{EDGE}:2: A has 21 methods, at most 20"
    assert faults(f'"""Why."""\nclass A:\n{methods.replace("m20", "__enter__")}') == []
    assert faults(f'"""Why."""\nclass A:\n{methods}') == [fault]


def test_a_module_needs_a_docstring_and_a_large_one_three_lines() -> None:
    assert faults("x = 1\n") == [f"{EDGE}: has no docstring"]
    long = '"""Why."""\n' + "x = 1\n" * 250
    assert faults(long) == [f"{EDGE}: 1 docstring lines, wanted 3 to 25: say why it exists"]


def test_a_package_file_imports_nothing() -> None:
    name = "src/remuda/core/__init__.py"
    text = '"""The core."""\nfrom __future__ import annotations\n'
    assert faults(text, name) == []
    fault = f"{name}:3: a package file imports nothing"
    assert faults(text + "from remuda.core import scheduler\n", name) == [fault]


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME"])
def test_what_is_left_to_do_stands_elsewhere(word: str) -> None:
    assert faults(f'"""Why."""\n# {word} later\n') == [f"{EDGE}:2: {word}"]


@pytest.mark.parametrize("name", ["print", "hash", "id", "open"])
def test_some_calls_are_banned_in_the_core_only(name: str) -> None:
    text = f'"""Why."""\n{name}(1)\n'
    assert faults(text, CORE) == [f"{CORE}:2: {name}() is banned in the core"]
    assert faults(text, EDGE) == []


@pytest.mark.parametrize(
    "code", ["for x in {1, 2}: ...", "[x for x in set(y)]", "for x in frozenset(y): ..."]
)
def test_the_core_never_iterates_over_a_set(code: str) -> None:
    fault = f"{CORE}:2: iterates over a set, whose order is not ours"
    assert faults(f'"""Why."""\n{code}\n', CORE) == [fault]
    ordered = code.replace("{1, 2}", "(1, 2)").replace("frozenset", "list").replace("set", "list")
    assert faults(f'"""Why."""\n{ordered}\n', CORE) == []


def test_sorted_values_need_a_key_in_the_core() -> None:
    fault = f"{CORE}:2: sorting values needs a key that ends in an ID"
    assert faults('"""Why."""\nsorted(d.values())\n', CORE) == [fault]
    assert faults('"""Why."""\nsorted(d.values(), key=f)\n', CORE) == []


def test_the_core_compares_no_floats_for_equality() -> None:
    assert faults('"""Why."""\nx == 0.5\n', CORE) == [f"{CORE}:2: compares floats for equality"]
    assert faults('"""Why."""\nx < 0.5\n', CORE) == []


@pytest.mark.parametrize(
    "code",
    [
        "first_lane = 1",
        "LaneKey = 1",
        "x = 1  # the next lane",
        'x = "all lanes"',
        "self._lanes = 1",
        "PARKED = 1",
    ],
)
def test_a_retired_word_is_found_in_names_comments_and_texts(code: str) -> None:
    for name in (CORE, EDGE, "tests/unit/sample.py", "tools/sample.py"):
        (found,) = faults(f'"""Why."""\n{code}\n', name)
        assert found.startswith(f"{name}:2: '")
        assert "is retired, say '" in found


@pytest.mark.parametrize("code", ["plane = 1", "airplanes = 1", "x = 1  # spark, Parker"])
def test_a_word_that_only_contains_a_retired_one_is_fine(code: str) -> None:
    assert faults(f'"""Why."""\n{code}\n', CORE) == []


@pytest.mark.parametrize(
    "code,instead",
    [
        ("class Shape: ...", "ask class"),
        ("account_of = 1", "limit set"),
        ("claims = 1", "reservation class"),
        ("stage = HOME", "stage"),
        ("class Hearing: ...", "victim answers"),
        ("class Park: ...", "blocked"),
        ("class Wait: ...", "decision"),
        ("standing = 1", "sort key"),
        ("class Tally: ...", "leaf counts"),
        ("ripens = 1", "preemption age"),
        ("starved_classes = 1", "waiting classes"),
    ],
)
def test_words_that_the_core_gave_up(code: str, instead: str) -> None:
    fault = f"is retired, say '{instead}' (glossary of 00-overview.md)"
    assert [each.endswith(fault) for each in faults(f'"""Why."""\n{code}\n', CORE)] == [True]


@pytest.mark.parametrize("code", ["shape = 1", "claims = 1", "standing = 1", "class Wait: ..."])
def test_elsewhere_a_benchmark_has_shapes_and_a_user_an_account(code: str) -> None:
    assert faults(f'"""Why."""\n{code}\n', EDGE) == []


def test_in_the_core_people_may_wait_and_a_partition_may_be_at_home() -> None:
    code = "def wait() -> None:\n    ...  # Wait, hold or pause: looking for a home.\n"
    assert faults(f'"""Why."""\n{code}', "tests/unit/core/sample.py") == []


@pytest.mark.parametrize("name", ["asks/looking.py", "lanes.py", "rousing/turns.py"])
def test_a_module_has_no_retired_name(name: str) -> None:
    name = f"src/remuda/core/{name}"
    (found,) = faults('"""Why."""\n', name)
    assert found.startswith(f"{name}: '")


def test_a_page_has_no_retired_word_but_may_link_to_history() -> None:
    page = "docs/explanation/sample.md"
    assert [*glossary.retired_words(page, "see [gangs](../adr/0016-gangs-are-lanes.md)")] == []
    (found,) = glossary.retired_words(page, "one\n\na lane of asks")
    assert found.startswith(f"{page}:3: 'lane'")


def test_what_is_said_instead_is_in_the_glossary() -> None:
    assert {"ask class", "limit set", "rm", "leaf"} <= glossary.terms()
    missing = (Retired(("lane",), "conveyor"),)
    (found,) = glossary.unknown_replacements(missing)
    assert found == "'conveyor', said for 'lane', is not in 00-overview.md"


def test_a_public_function_of_the_core_cites_a_rule_that_exists() -> None:
    rules = {"QUE-33": "50.md"}
    text = '"""Why."""\ndef first():\n    """Rules: {}."""\ndef _own(): ...\n'
    assert tidy.uncited(Module(CORE, text.format("QUE-33")), rules) == []
    assert tidy.uncited(Module(CORE, text.format("QUE-34")), rules) == [f"{CORE}:first"]
    assert tidy.uncited(Module(EDGE, text.format("QUE-34")), rules) == []


def test_a_class_may_cite_for_its_methods() -> None:
    rules = {"QUE-33": "50.md"}
    text = '"""Why."""\nclass Order:\n    """{}"""\n    def put(self): ...\n'
    assert tidy.uncited(Module(CORE, text.format("Implements: QUE-33.")), rules) == []
    assert tidy.uncited(Module(CORE, text.format("Order.")), rules) == [f"{CORE}:Order.put"]


@pytest.mark.parametrize(
    "docstring,cites",
    [
        ("Return it. Implements: QUE-33.", True),
        ("Return it.\n\n    Implements: QUE-7.\n    Rules: QUE-8, QUE-33 (Ours).\n", True),
        ("Return it, as QUE-33 says.", False),
        ("Return it (QUE-33).", False),
        ("Return it. Rules: chapter 50.", False),
    ],
)
def test_a_function_cites_in_a_sentence_that_says_what_it_does_for_the_rule(
    docstring: str, cites: bool
) -> None:
    source = f'"""Why."""\ndef first():\n    """{docstring}"""\n'
    found = tidy.uncited(Module(CORE, source), {"QUE-33": "50.md"})
    assert found == ([] if cites else [f"{CORE}:first"])


def test_the_list_of_uncited_functions_may_only_shrink() -> None:
    assert list(tidy.ratchet(["a:f"], ["a:f"])) == []
    assert [line.split()[0] for line in tidy.ratchet(["a:f", "a:g"], ["a:f"])] == ["a:g"]
    assert [line.split()[0] for line in tidy.ratchet([], ["a:f"])] == ["a:f"]


def test_shrinking_takes_off_what_is_fine_and_adds_nothing() -> None:
    files = [Module(CORE, '"""Why."""\ndef first(): ...\ndef second(): ...\n')]
    allowed = [f"{CORE}:first", f"{CORE}:gone"]
    assert tidy.shrink(files, allowed) == [f"{CORE}:first"]
