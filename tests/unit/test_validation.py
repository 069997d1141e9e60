"""Every fault of a body has its code, its place and words that a person understands."""

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.requests import EXAMPLE, assistant, image, picture, request, text, tool, user
from tokencount.adapters.validation import schema_path, validate
from tokencount.domain.checks import model_id
from tokencount.domain.errors import CountError, InvalidRequest, UnsupportedParameter

PNG = image(picture(1, 1))
CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t"}
EVERYTHING = request(
    user("a", ),
    user(text("b") | {"cache_control": {"type": "ephemeral", "ttl": "5m", "x": 1}, "citations": [{"x": 1}]}, PNG),
    assistant(
        {"type": "thinking", "thinking": "t", "signature": None},
        {"type": "redacted_thinking", "data": "x"},
        text("c") | {"cache_control": None, "citations": None},
        CALL,
    ),
    user(RESULT | {"content": [text("d"), PNG], "is_error": True}, RESULT | {"content": None}),
    system=[text("s")],
    tools=[tool("f", type="custom", description=None, strict=None), tool("g", type=None, cache_control=None)],
    tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": None},
    thinking={"type": "enabled", "budget_tokens": 1024, "display": "omitted"},
)  # fmt: skip


def refusal(body: Any) -> CountError:
    with pytest.raises(CountError) as caught:
        validate(body)
    return caught.value


@pytest.mark.parametrize("body", [EXAMPLE, EVERYTHING, EXAMPLE | {"system": None, "tools": None, "tool_choice": None}])
def test_what_the_reference_lists_is_accepted_as_it_is(body: dict[str, Any]) -> None:
    before = copy.deepcopy(body)
    assert validate(body) == before


@pytest.mark.parametrize("choice", [{"type": "auto"}, {"type": "any"}, {"type": "none"}])
def test_every_tool_choice_is_accepted(choice: dict[str, Any]) -> None:
    validate(request(user("a"), tools=[tool("f")], tool_choice=choice))


def test_an_integral_number_is_an_integer_however_it_is_written() -> None:
    validate(request(user("a"), thinking={"type": "enabled", "budget_tokens": 2048.0}))


INVALID: list[tuple[dict[str, Any], str, str]] = [
    ({"messages": []}, "messages", "must not be empty"),
    ({"messages": None}, "messages", "must be an array; null was sent"),
    ({"messages": ["a"]}, "messages.0", 'must be an object; "a" was sent'),
    ({"messages": [user("a"), {"role": "system", "content": "x"}]}, "messages.1.role", "user, assistant"),
    ({"messages": [{"content": "x"}]}, "messages.0.role", "is required: one of user, assistant"),
    ({"messages": [{"role": "user"}]}, "messages.0.content", "is required"),
    ({"messages": [user() | {"content": 5}]}, "messages.0.content", "must be a string or an array; 5 was sent"),
    ({"messages": [user(text("x") | {"text": None})]}, "messages.0.content.0.text", "must be a string; null"),
    ({"messages": [user({"type": "text"})]}, "messages.0.content.0.text", "is required"),
    ({"messages": [user({"text": "x"})]}, "messages.0.content.0.type", "is required"),
    ({"messages": [user(CALL)]}, "messages.0.content.0.type", "must be one of text, image, tool_result"),
    ({"messages": [assistant(PNG)]}, "messages.0.content.0.type", "must be one of text, tool_use, thinking"),
    ({"messages": [assistant(CALL | {"id": ""})]}, "messages.0.content.0.id", "must not be empty"),
    ({"messages": [assistant(CALL | {"input": [1]})]}, "messages.0.content.0.input", "must be an object; an array"),
    ({"messages": [user(image(b"x", "image/jpg"))]}, "messages.0.content.0.source.media_type",
     'image/png, image/jpeg, image/webp, image/gif; "image/jpg" was sent'),
    ({"messages": [user(image(b"x", "image/svg+xml"))]}, "messages.0.content.0.source.media_type", "image/svg"),
    ({"messages": [user({"type": "image", "source": {"type": "url", "url": "http://x"}})]},
     "messages.0.content.0.source.url", "^https://"),
    ({"messages": [user(RESULT | {"content": [RESULT]})]}, "messages.0.content.0.content.0.type", "text, image"),
    ({"messages": [user(RESULT | {"is_error": "no"})]}, "messages.0.content.0.is_error", "true or false"),
    ({"system": 5}, "system", "must be a string or an array"),
    ({"system": [PNG]}, "system.0.type", "must be one of text"),
    ({"tools": {}}, "tools", "must be an array; an object was sent"),
    ({"tools": [tool("a b")]}, "tools.0.name", "must match"),
    ({"tools": [tool("f"), tool("g"), tool("f")]}, "tools.2.name", "f is also the name of tools.0"),
    ({"tools": [{"name": "f"}]}, "tools.0.input_schema", "is required"),
    ({"tools": [tool("f") | {"input_schema": {"a": "x" * 65_536}}]}, "tools.0.input_schema", "at most 65536"),
    ({"tool_choice": {"type": "tool"}}, "tool_choice.name", "is required"),
    ({"tool_choice": {"type": "some"}}, "tool_choice.type", "auto, any, tool, none"),
    ({"tool_choice": {"type": "any"}}, "tool_choice.type", "needs tools"),
    ({"tool_choice": {"type": "tool", "name": "g"}, "tools": [tool("f")]}, "tool_choice.name", "one of tools; g"),
    ({"thinking": {"type": "on"}}, "thinking.type", "enabled, adaptive, disabled"),
    ({"thinking": {"type": "enabled"}}, "thinking.budget_tokens", "is required"),
    ({"thinking": {"type": "enabled", "budget_tokens": 1023}}, "thinking.budget_tokens", "at least 1024; 1023"),
    ({"thinking": {"type": "enabled", "budget_tokens": True}}, "thinking.budget_tokens", "an integer; true"),
    ({"thinking": {"type": "enabled", "budget_tokens": 1024.5}}, "thinking.budget_tokens", "an integer; 1024.5"),
    ({"thinking": {"type": "adaptive", "display": "all"}}, "thinking.display", "summarized, omitted, updates"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "param", "words"), INVALID, ids=[f"{case[1]} {case[2]}" for case in INVALID])
def test_a_fault_is_named_with_its_place_and_what_is_accepted(change: dict[str, Any], param: str, words: str) -> None:
    error = refusal(EXAMPLE | change)
    assert (type(error), error.param) == (InvalidRequest, param)
    assert words in error.message


UNSUPPORTED: list[tuple[dict[str, Any], str, str]] = [
    ({"max_tokens": 5}, "max_tokens", "max_tokens"),
    ({"messages": [user("a") | {"name": "x"}]}, "messages.0.name", "name"),
    ({"messages": [user(text("a") | {"x": 1})]}, "messages.0.content.0.x", "x"),
    ({"messages": [user({"type": "document"})]}, "messages.0.content.0.type", '"document" is not served'),
    ({"messages": [assistant({"type": "server_tool_use"})]}, "messages.0.content.0.type", "server_tool_use"),
    ({"messages": [user({"type": "image", "source": {"type": "file"}})]}, "messages.0.content.0.source.type", "file"),
    (
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        "tools.0.type",
        "web_search_20250305 is a tool",
    ),
    ({"tools": [tool("f") | {"examples": []}]}, "tools.0.examples", "examples"),
    ({"thinking": {"type": "disabled", "display": None}}, "thinking.display", "display"),
    ({"tool_choice": {"type": "none", "disable_parallel_tool_use": True}}, "tool_choice.disable_parallel_tool_use", ""),
]


@pytest.mark.parametrize(("change", "param", "words"), UNSUPPORTED, ids=[case[1] for case in UNSUPPORTED])
def test_what_is_not_served_is_named_and_never_counted_as_nothing(
    change: dict[str, Any], param: str, words: str
) -> None:
    error = refusal(EXAMPLE | change)
    assert (type(error), error.param) == (UnsupportedParameter, param)
    assert words in error.message


def test_the_first_fault_is_said_and_how_many_more_there_are() -> None:
    assert refusal({"model": 1}).message == "model must be a string; 1 was sent (and 1 more fault)"
    assert refusal(EXAMPLE | {"a": 1, "b": 2, "c": 3}).message.endswith("(and 2 more faults)")


def test_faults_are_counted_in_every_item_of_every_list() -> None:
    wrong = [{"role": "user"}, 5, user(text("a"), 7, {"type": "text"}), {"role": "x"}]
    error = refusal(EXAMPLE | {"messages": wrong, "zz": 1})
    assert (error.param, error.message) == ("messages.0.content", "messages.0.content is required (and 5 more faults)")
    assert refusal(EXAMPLE | {"messages": [*EXAMPLE["messages"], *wrong[1:]]}).param == "messages.1"


def test_faults_of_meaning_are_counted_too() -> None:
    twice = {"tools": [tool("f"), tool("f"), tool("f")], "tool_choice": {"type": "tool", "name": "g"}}
    assert refusal(EXAMPLE | twice).message.endswith("(and 2 more faults)")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": [1] * 2_000_000}, "messages.0"),
        ({"messages": [{}] * 500_000}, "messages.0.role"),
        ({"messages": [user(*[1] * 1000)] * 1000}, "messages.0.content.0"),
        ({f"key {number}": 1 for number in range(300_000)}, "key 0"),
        ({"messages": [user(text("a") | {f"key {number}": 1 for number in range(300)})]}, "messages.0.content.0.key 0"),
    ],
)
def test_faults_by_the_million_are_one_sentence_that_says_there_are_many(body: dict[str, Any], param: str) -> None:
    error = refusal(EXAMPLE | body)
    assert error.param == param
    assert re.search(r"\(and at least \d{3} more faults\)$", error.message)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"<text>": 1}, "<text>"),
        ({"": 1}, '""'),
        ({"messages": [user(text("a") | {"<x": 1})]}, "messages.0.content.0.<x"),
        ({"messages": [user(text("a") | {"<text>": 1})]}, "messages.0.content.0.<text>"),
    ],
)
def test_an_unknown_key_is_named_whatever_it_looks_like(body: dict[str, Any], param: str) -> None:
    error = refusal(EXAMPLE | body)
    assert (type(error), error.param) == (UnsupportedParameter, param)
    assert error.message == f"{param} is not a parameter of this request"


def test_an_empty_string_is_shown_as_one() -> None:
    assert '; "" was sent' in refusal(EXAMPLE | {"thinking": {"type": ""}}).message
    assert refusal(EXAMPLE | {"tools": [{"type": "", "name": "f"}]}).message.startswith('"" is a tool')
    with pytest.raises(InvalidRequest, match='; "" was sent'):
        model_id({"model": ""})


def test_a_message_quotes_no_more_than_200_characters_of_what_was_sent() -> None:
    long = "x" * 10_000
    for change in ({long: 1}, {"thinking": {"type": long}}, {"tools": [tool(long)]}, {"messages": [{"role": long}]}):
        error = refusal(EXAMPLE | change)
        assert len(error.message) < 500
        assert len(error.param or "") < 250


def test_a_schema_may_be_32_levels_deep_and_no_deeper() -> None:
    schema: dict[str, Any] = {}
    for _ in range(31):
        schema = {"a": schema}
    validate(request(user("a"), tools=[tool("f") | {"input_schema": schema}]))
    assert "33 levels deep" in refusal(request(user("a"), tools=[tool("f") | {"input_schema": {"a": schema}}])).message


@pytest.mark.parametrize(
    ("param", "kept"),
    [
        (None, None),
        ("messages.0.content.1.source.data", "messages.0.content.1.source.data"),
        ("messages.0.secret", "messages.0"),
        ("secret", None),
        ("tools.0.input_schema.properties.5.type", "tools.0.input_schema"),
        ("messages.0.5551234", "messages.0"),
    ],
)
def test_of_a_path_only_the_schema_s_own_names_are_recorded(param: str | None, kept: str | None) -> None:
    assert schema_path(param) == kept


@pytest.mark.parametrize("body", [[], None, {}, {"model": None}, {"model": ""}, {"model": "x" * 257}])
def test_a_body_that_names_no_model_is_refused_before_anything_else(body: Any) -> None:
    with pytest.raises(InvalidRequest, match="object|model must be a string of 1 to 256 characters"):
        model_id(body)


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False)
junk = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@given(st.data())
def test_whatever_stands_anywhere_in_a_request_it_is_accepted_or_refused_in_our_own_words(data: st.DataObject) -> None:
    body = copy.deepcopy(EVERYTHING)
    place: Any = body
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(junk)
    try:
        validate(body)
    except (InvalidRequest, UnsupportedParameter) as error:
        assert not re.search(
            r"<|pydantic|Traceback|dict|None|True|Input should", error.message.replace(repr(place[key]), "")
        )
        assert len(error.message) < 700
