"""What is kept in a table comes back as the JSON it was."""

import json
from typing import Any

import pytest
from boto3.dynamodb.types import DYNAMODB_CONTEXT, TypeDeserializer, TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from tokencount.adapters.dynamodb import from_item, to_item

PLAIN: dict[str, Any] = {
    "text": "",
    "yes": True,
    "whole": 2**63,
    "negative": -1,
    "fraction": 0.1,
    "small": 1e-7,
    "list": ["a", 1, None, {"deep": [False]}],
    "object": {"empty": {}, "nothing": None},
}


# The numbers that DynamoDB has.
NUMBERS = st.integers(-(10**37), 10**37) | st.floats(allow_nan=False, min_value=-1e15, max_value=1e15).filter(
    lambda number: number == 0 or abs(number) > 1e-100
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def by_boto3(value: Any) -> Any:
    """As boto3 writes it, which takes no float."""
    return TypeSerializer().serialize(json.loads(json.dumps(value), parse_float=DYNAMODB_CONTEXT.create_decimal))


@given(VALUES)
def test_an_attribute_is_written_and_read_as_by_boto3(value: Any) -> None:
    written = to_item({"attribute": [value]})["attribute"]
    assert TypeDeserializer().deserialize(written) == TypeDeserializer().deserialize(by_boto3([value]))
    assert from_item({"attribute": by_boto3([value])}) == {"attribute": [value]}


def test_json_types_come_back_from_a_table_as_they_were() -> None:
    assert from_item(to_item(PLAIN)) == PLAIN
    assert {key: type(value) for key, value in from_item(to_item(PLAIN)).items()} == {
        key: type(value) for key, value in PLAIN.items()
    }


def test_an_attribute_that_is_none_is_left_out_since_an_index_takes_no_null() -> None:
    assert to_item({"id": "a", "project": None}) == {"id": {"S": "a"}}


@pytest.mark.parametrize(("written", "number"), [("1E+2", 100), ("-0.50", -0.5), ("12", 12), ("3.0", 3)])
def test_numbers_are_read_however_dynamodb_writes_them(written: str, number: float) -> None:
    [read] = from_item({"n": {"N": written}}).values()
    assert (read, type(read)) == (number, type(number))


def test_what_is_no_json_is_put_in_no_table() -> None:
    with pytest.raises(TypeError, match="no set"):
        to_item({"scopes": {"infer:run"}})
