"""What is kept in a table comes back as the JSON it was."""

from typing import Any

import pytest

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
    with pytest.raises(TypeError, match="set"):
        to_item({"scopes": {"infer:run"}})
