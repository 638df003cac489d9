from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from kernelcontracts.engine import result as model
from kernelcontracts.engine.result import (
    SCHEMA,
    CheckResult,
    ClauseResult,
    ContractResult,
    Float,
    HarnessError,
    Margin,
    PlanSummary,
    Statistic,
    Status,
    Tensor,
    Witness,
)
from kernelcontracts.report.json import ResultError, read, render, schemas, write_schemas
from kernelcontracts.trace import schema as trace_model

DOCS = Path(__file__).parents[2] / "docs"

NUMBER = Float.of(0.1)
RESULT = CheckResult(
    schema=SCHEMA,
    tool="kernelcontracts 0.1.0",
    kernel="numpy:matmul",
    operator="matmul",
    verdict=Status.VIOLATE,
    claims_from="kc.claims.numpy",
    seed=24301,
    results=(
        ContractResult(
            contract="C-PRC-01-MATMUL",
            cls="C-PRC-01",
            version="1.0.0",
            hash="kc1:00",
            verdict=Status.VIOLATE,
            types={"A": "f32", "B": "f32", "C": "f32"},
            claims={"operand_rounding": "as_given", "accumulator": "f32"},
            clause="close",
            signature="accumulator_f16",
            message="accumulates in f16",
            margin=Margin(NUMBER, Float.of(float("inf"))),
            p=NUMBER,
            confidence=NUMBER,
            plan=PlanSummary("kc1:11", 912, 0, 0, ("gauss",), 24301),
            witness=Witness(
                stratum="gauss",
                shape={"L": [], "M": 1},
                case=1,
                seed="s2",
                inputs={"A": Tensor("f32", (1,), "0000803f", ("1.0",))},
                index=(0,),
                got=Float.of(float("nan")),
                expected=NUMBER,
                tolerance=NUMBER,
                note="",
                minimised=True,
                outcome="completed",
            ),
            clauses=(
                ClauseResult(
                    "spread",
                    Status.CONFORM,
                    None,
                    1,
                    0,
                    "",
                    Statistic("gauss", NUMBER, NUMBER, NUMBER, NUMBER),
                ),
            ),
            reason="",
            strongest={"accumulator": "f16"},
        ),
    ),
    errors=(HarnessError("worker", "died"),),
    environment={"zlib": "1", "numpy": "2"},
)


def structs(module):
    return [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct
    ]


def walk(value):
    yield value
    children = value.values() if isinstance(value, dict) else value
    if isinstance(value, (dict, list)):
        for child in children:
            yield from walk(child)


def test_a_result_reads_back_as_it_was_written():
    assert render(read(render(RESULT))) == render(RESULT)
    assert read(render(RESULT)).results[0].witness.inputs == RESULT.results[0].witness.inputs


def test_no_bare_float_stands_in_the_evidence():
    values = list(walk(json.loads(render(RESULT))))

    assert not any(isinstance(value, float) for value in values)
    assert {"dec": "inf", "hex": "inf"} in values
    assert {"dec": "nan", "hex": "nan"} in values
    assert {"dec": "0.1", "hex": "0x1.999999999999ap-4"} in values


def test_the_order_of_keys_is_that_of_the_model_and_of_the_user():
    found = json.loads(render(RESULT))

    assert list(found) == [field.encode_name for field in msgspec.structs.fields(CheckResult)]
    assert list(found["results"][0])[:2] == ["contract", "class"]
    assert list(found["results"][0]["claims"]) == ["operand_rounding", "accumulator"]


def test_the_text_ends_in_one_newline_and_is_indented():
    assert render(RESULT).startswith('{\n  "schema": "kernelcontracts/check/1",\n')
    assert render(RESULT).endswith("\n}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a result: input data was truncated"),
        ("{}", "not a result: object missing required field `schema`"),
        (render(RESULT).replace("check/1", "check/9"), "the schema is `kernelcontracts/check/9`"),
        (render(RESULT).replace('"violate"', '"wrong"'), r"invalid enum value 'wrong' - at `\$"),
    ],
)
def test_text_that_is_no_result_is_refused_with_the_place(text, message):
    with pytest.raises(ResultError, match=message):
        read(text)


@pytest.mark.parametrize("name", schemas())
def test_the_committed_schemas_are_current(name):
    committed = (DOCS / "schema" / name).read_text(encoding="utf-8")

    assert schemas()[name] == committed, "run the command in docs/json.md that writes them"


def test_schemas_are_written_where_asked(tmp_path):
    write_schemas(tmp_path)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == schemas()


@pytest.mark.parametrize("name", schemas())
def test_no_schema_allows_a_bare_float(name):
    values = list(walk(json.loads(schemas()[name])))

    assert "number" not in values


@pytest.mark.parametrize(
    "kind",
    structs(model) + structs(trace_model),
    ids=lambda kind: f"{kind.__module__}.{kind.__name__}",
)
def test_every_field_is_documented(kind):
    text = (DOCS / "json.md").read_text(encoding="utf-8")
    fields = {field.encode_name for field in msgspec.structs.fields(kind)}

    assert {field for field in fields if f"`{field}`" not in text} == set()


def test_every_verdict_is_documented():
    text = (DOCS / "verdicts.md").read_text(encoding="utf-8")

    assert [status for status in Status if f"`{status}`" not in text] == []
