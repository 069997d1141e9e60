"""An answer is compared with the stored one, masks and all."""

import pytest

from replay.expected import differences

REQUEST_ID = "req_01m8m1etcx4gsxe74m0vajf8wm"


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        ("{{REQUEST_ID}}", REQUEST_ID),
        ("/v1/requests/{{REQUEST_ID}}?x", f"/v1/requests/{REQUEST_ID}?x"),
        ("{{TIME}}", "2026-11-29T16:15:52.734+00:00"),
        ("edge;dur={{NUMBER}}, total;dur={{NUMBER}}", "edge;dur=0.1, total;dur=12"),
        ("{{NUMBER}}", 6.967),
        ("{{ID}}", "org_local"),
    ],
)
def test_equal_values_and_masked_ones_do_not_differ(expected: object, actual: object) -> None:
    assert list(differences(expected, actual)) == []


@pytest.mark.parametrize(
    ("expected", "actual", "told"),
    [
        ({"a": 1}, {"a": 2}, "a is 2, expected 1"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b.1 is 3, expected 2"),
        ({"a": [1]}, {"a": [1, 2]}, "a is [1, 2], expected [1]"),
        ({"a": 1}, {}, "a is missing"),
        ({}, {"a": {"b": 1}}, "a is not expected"),
        ({"a": True}, {"a": 1}, "a is 1, expected true"),
        ({"a": 1}, {"a": None}, "a is null, expected 1"),
        ({"a": "{{REQUEST_ID}}"}, {"a": "req_1"}, "a is req_1, expected {{REQUEST_ID}}"),
        ({"a": "{{NUMBER}}"}, {"a": None}, "a is null, expected {{NUMBER}}"),
    ],
)
def test_a_difference_is_told_with_its_place(expected: object, actual: object, told: str) -> None:
    assert list(differences(expected, actual)) == [told]
