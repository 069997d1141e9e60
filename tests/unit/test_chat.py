"""Each row of the counting contract's table, as the messages a template is given."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.requests import assistant, image, picture, request, text, tool, user
from tokencount.domain.chat import images_of, to_chat
from tokencount.domain.model import TemplateRules

PARTS = TemplateRules("parts", "reasoning_content", {"enable_thinking": True}, None)
STRINGS = replace(PARTS, content="strings", thinking={}, missing_description="")
PNG = image(picture(1, 1))
CALL = {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": 2}}


def messages(*sent: dict[str, Any], rules: TemplateRules = PARTS, **rest: Any) -> list[dict[str, Any]]:
    return to_chat(request(*sent, **rest), rules).messages


def result(**rest: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t1", **rest}


@pytest.mark.parametrize("system", [None, "", [], [text("")]])
def test_an_empty_system_prompt_is_no_message(system: Any) -> None:
    assert messages(user("a"), system=system) == [{"role": "user", "content": "a"}]


def test_system_blocks_are_joined_by_a_blank_line() -> None:
    system = [text("a"), text("b") | {"cache_control": {"type": "ephemeral"}}]
    assert messages(user("c"), system=system)[0] == {"role": "system", "content": "a\n\nb"}


def test_one_text_block_is_the_plain_string() -> None:
    assert messages(user(text("a"))) == messages(user("a"))


def test_several_blocks_are_parts_in_order() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert messages(user(text("a"), PNG, text("b"))) == [{"role": "user", "content": parts}]


def test_a_template_of_strings_gets_texts_joined_by_a_line_feed() -> None:
    assert messages(user(text("a"), text("b")), rules=STRINGS) == [{"role": "user", "content": "a\nb"}]


def test_tool_results_come_first_next_to_their_calls_and_then_the_rest_as_one_message() -> None:
    sent = user(text("x"), result(content="1"), PNG, result(content="2") | {"tool_use_id": "t2"})
    assert messages(sent) == [
        {"role": "tool", "tool_call_id": "t1", "content": "1"},
        {"role": "tool", "tool_call_id": "t2", "content": "2"},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image"}]},
    ]


@pytest.mark.parametrize(
    ("block", "content"),
    [
        ({}, ""),
        ({"content": None}, ""),
        ({"content": []}, ""),
        ({"content": "a"}, "a"),
        ({"content": [text("a")]}, "a"),
        ({"content": [PNG]}, [{"type": "image"}]),
        ({"content": "a", "is_error": True}, "Error: a"),
        ({"content": "a", "is_error": False}, "a"),
        ({"content": [text("a"), PNG], "is_error": True}, [{"type": "text", "text": "Error: a"}, {"type": "image"}]),
        ({"content": [PNG], "is_error": True}, [{"type": "text", "text": "Error:"}, {"type": "image"}]),
        ({"content": [], "is_error": True}, "Error:"),
        ({"content": None, "is_error": True}, "Error:"),
        ({"content": "", "is_error": True}, "Error:"),
        ({"is_error": True}, "Error:"),
    ],
)
def test_a_tool_result_s_content_follows_the_same_rule(block: dict[str, Any], content: Any) -> None:
    assert messages(user(result(**block))) == [{"role": "tool", "tool_call_id": "t1", "content": content}]


def test_a_user_message_without_blocks_is_no_message_and_an_assistant_s_is_empty() -> None:
    assert messages(user(), assistant(), user("a")) == [
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "a"},
    ]


def test_thinking_is_joined_with_nothing_between_under_the_template_s_key_and_absent_without() -> None:
    thoughts = [{"type": "thinking", "thinking": word, "signature": "s"} for word in ("a", "b")]
    sent = assistant(*thoughts, text("c"))
    assert messages(user("x"), sent)[1] == {"role": "assistant", "content": "c", "reasoning_content": "ab"}
    rules = replace(PARTS, reasoning_key="thinking")
    assert messages(user("x"), sent, rules=rules)[1] == {"role": "assistant", "content": "c", "thinking": "ab"}
    assert "reasoning_content" not in messages(user("x"), assistant(text("c")))[1]


def test_a_call_keeps_its_input_as_an_object_in_its_own_order() -> None:
    (call,) = messages(assistant(text("a"), CALL))[0]["tool_calls"]
    assert call == {"id": "t1", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": 2}}}
    assert list(call["function"]["arguments"]) == ["b", "a"]


def test_a_tool_without_a_description_has_none_or_the_template_s_own_stand_in() -> None:
    for described in (tool("f"), tool("f", description=None)):
        (plain,) = to_chat(request(user("a"), tools=[described]), PARTS).tools or []
        assert list(plain["function"]) == ["name", "parameters"]
        (stand_in,) = to_chat(request(user("a"), tools=[described]), STRINGS).tools or []
        assert list(stand_in["function"].items())[1] == ("description", "")


def test_no_tools_are_none() -> None:
    assert to_chat(request(user("a"), tools=[]), PARTS).tools is None


@pytest.mark.parametrize(
    ("last", "continues"),
    [
        (assistant("a"), True),
        (assistant(text("a")), True),
        (assistant({"type": "thinking", "thinking": "t"}, text("a")), True),
        (assistant(""), False),
        (assistant(), False),
        (assistant(text("a"), CALL), False),
        (assistant({"type": "thinking", "thinking": "t"}), False),
        (user("a"), False),
    ],
)
def test_a_last_assistant_message_with_text_and_no_call_is_the_start_of_the_answer(
    last: dict[str, Any], continues: bool
) -> None:
    assert to_chat(request(user("x"), last), PARTS).continues is continues


def test_the_keyword_for_thinking_is_passed_only_where_thinking_is_on() -> None:
    for thinking, options in (
        (None, {}),
        ({"type": "disabled"}, {}),
        ({"type": "adaptive"}, {"enable_thinking": True}),
        ({"type": "enabled", "budget_tokens": 1024}, {"enable_thinking": True}),
    ):
        assert to_chat(request(user("a"), thinking=thinking), PARTS).options == options


def test_a_template_without_a_switch_for_thinking_gets_no_keyword() -> None:
    assert to_chat(request(user("a"), thinking={"type": "adaptive"}), STRINGS).options == {}


def test_images_are_found_in_the_order_of_the_prompt_with_their_paths() -> None:
    sent = request(user("a"), user(PNG, result(content=[text("x"), PNG])))
    assert [found.param for found in images_of(sent)] == ["messages.1.content.1.content.1", "messages.1.content.0"]
