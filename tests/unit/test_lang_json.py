"""The JSON form: what it looks like, and errors that say where."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kernelcontracts.lang.expr import Binary, Name, Number
from kernelcontracts.lang.json import to_json, to_json_text
from kernelcontracts.lang.json_read import JsonError, from_json
from kernelcontracts.lang.library import Library


def test_a_tree_is_tagged_and_its_numbers_are_exact():
    tree = Binary("+", Name("a"), Number(Fraction(1, 400), "0.0025"))

    assert to_json(tree) == {
        "kind": "binary",
        "op": "+",
        "left": {"kind": "name", "id": "a"},
        "right": {"kind": "number", "value": "1/400", "text": "0.0025"},
    }


@pytest.mark.parametrize("pair", Library.shipped().files, ids=lambda pair: pair[0].module)
def test_the_shipped_library_survives_json(pair):
    file, _ = pair

    assert from_json(to_json_text(file)) == file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "$: not JSON: input data was truncated"),
        ("[]", "$: expected a node, an object with the key `kind`, not a list"),
        ("{}", "$.kind: there is no node of kind `None`"),
        ('{"kind": "nam"}', "$.kind: there is no node of kind `nam`"),
        ('{"kind": "name"}', "$: a node of kind `name` needs the field `id`"),
        ('{"kind": "name", "id": "a", "x": 1}', "$.x: a node of kind `name` has no such field"),
        ('{"kind": "name", "id": 1}', "$.id: expected a text, not the number `1`"),
        ('{"kind": "name", "id": "and"}', "$: `id` must be a name, not `and`"),
        ('{"kind": "name", "id": "a b"}', "$: `id` must be a name, not `a b`"),
        (
            '{"kind": "number", "value": 0.5}',
            '$.value: expected an exact number such as `"3"` or `"1/400"`, not the number `0.5`',
        ),
        ('{"kind": "number", "value": "1/3"}', "$.value: no literal has the value 1/3; write it as a quotient"),
        (
            '{"kind": "set_literal", "items": [{"kind": "name", "id": "a"}, 3]}',
            "$.items[1]: expected a node, an object with the key `kind`, not the number `3`",
        ),
        (
            '{"kind": "set_literal", "items": [{"kind": "file", "edition": "0.1", "module": "m"}]}',
            "$.items[0]: a node of kind `file` does not belong here",
        ),
        ('{"kind": "compare", "operands": [], "ops": []}', "$: 0 comparisons need 1 operands, not 0"),
        (
            '{"kind": "unary", "op": "-", "operand": {"kind": "star", "name": "l"}}',
            "$: this tree has no text: what it would be written as means something else",
        ),
        (
            '{"kind": "unary", "op": "-", "operand": ' * 2000 + '{"kind": "name", "id": "a"}' + "}" * 2000,
            "$: not JSON: nested too deeply",
        ),
    ],
)  # fmt: skip
def test_json_that_is_no_tree_is_an_error_with_its_place(text, message):
    with pytest.raises(JsonError) as caught:
        from_json(text)

    assert str(caught.value) == message


def test_trees_deeper_than_the_language_allows_are_refused():
    data = {"kind": "name", "id": "a"}
    for _ in range(150):
        data = {"kind": "unary", "op": "-", "operand": data}

    with pytest.raises(JsonError, match="nested deeper than 100 levels"):
        from_json(data)
