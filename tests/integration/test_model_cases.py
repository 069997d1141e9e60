"""What differs from model to model, as small requests to the built layers."""

from datetime import datetime
from typing import Any

import pytest

from tests.conftest import LAYERS, NOW, Counters
from tests.support.requests import assistant, count, image, job, picture, request, text, tool, user
from tests.support.served import of_model
from tokencount.adapters.image_headers import read_image
from tokencount.adapters.model_files import load_counter
from tokencount.domain.chat import to_chat
from tokencount.domain.counting import Counter
from tokencount.domain.errors import InvalidRequest

GEMMA, GPT_OSS, LLAMA = "gemma-3-12b-it", "gpt-oss-20b", "llama-3.1-8b-instruct"
THINKING = {"type": "enabled", "budget_tokens": 1024}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "x"}}


def prompt(counter: Counter, body: dict[str, Any]) -> str:
    return counter.template.render(to_chat(body, counter.model.template))


def loaded_at(name: str, now: datetime, counters: Counters) -> Counter:
    """A counter of its own with another clock."""
    counters(name)
    return load_counter(LAYERS / name / "model", lambda images, _: [read_image(each) for each in images], lambda: now)


@pytest.mark.parametrize("name", [of_model(GEMMA), of_model(GPT_OSS), of_model(LLAMA)])
def test_thinking_changes_nothing_where_the_template_has_no_such_switch(name: str, counters: Counters) -> None:
    hello = request(user("hi"))
    assert count(counters(name), hello | {"thinking": THINKING}) == count(counters(name), hello)


@pytest.mark.parametrize(("name", "bos"), [of_model(GEMMA, "<bos>"), of_model(LLAMA, "<|begin_of_text|>")])
def test_a_prompt_has_exactly_one_bos_token_which_the_template_writes(name: str, bos: str, counters: Counters) -> None:
    counter = counters(name)
    rendered = prompt(counter, request(user("hi")))
    assert rendered.startswith(bos)
    assert rendered.count(bos) == 1
    assert count(counter, request(user("hi"))) == 1 + counter.tokenizer.count(rendered.removeprefix(bos))


def test_llama_writes_a_fixed_date_so_midnight_changes_nothing(counters: Counters) -> None:
    before, after = (
        loaded_at(LLAMA, moment, counters) for moment in (datetime(2027, 1, 31, 23, 59), datetime(2027, 2, 1, 0, 1))
    )
    hello = request(user("hi"))
    assert "Today Date: 26 Jul 2024" in prompt(before, hello)
    assert prompt(before, hello) == prompt(after, hello)
    assert count(before, hello) == count(after, hello)


def test_the_date_that_gpt_oss_writes_is_the_given_clocks(counters: Counters) -> None:
    hello = request(user("hi"))
    assert f"Current date: {NOW:%Y-%m-%d}\n" in prompt(counters(GPT_OSS), hello)
    other = loaded_at(GPT_OSS, datetime(2031, 12, 1), counters)
    assert "Current date: 2031-12-01\n" in prompt(other, hello)
    assert count(other, hello) == count(counters(GPT_OSS), hello)


@pytest.mark.parametrize("size", [(1, 1), (896, 896), (30, 4000)])
def test_an_image_is_256_soft_tokens_and_its_frame_on_gemma_whatever_its_size(
    size: tuple[int, int], counters: Counters
) -> None:
    gemma = counters(GEMMA)
    body = request(user(image(picture(*size)), text("What is this?")))
    written = prompt(gemma, body).replace(
        "<start_of_image>", f"\n\n<start_of_image>{'<image_soft_token>' * 256}<end_of_image>\n\n"
    )
    assert count(gemma, body) == gemma.tokenizer.count(written)


@pytest.mark.parametrize("name", [of_model(GPT_OSS), of_model(LLAMA)])
def test_an_image_is_refused_by_name_of_its_block_where_the_model_takes_text_only(
    name: str, counters: Counters
) -> None:
    body = request(user(text("look"), image(picture(8, 8))))
    with pytest.raises(InvalidRequest, match="takes text only") as refusal:
        counters(name).count(job(body))
    assert refusal.value.param == "messages.0.content.1"


@pytest.mark.parametrize("name", [of_model(GPT_OSS), of_model(LLAMA)])
def test_blocks_of_text_are_lines_of_one_string_for_a_template_of_strings(name: str, counters: Counters) -> None:
    parts, whole = request(user(text("one"), text("two"))), request(user("one\ntwo"))
    assert prompt(counters(name), parts) == prompt(counters(name), whole)


def test_a_tool_without_a_description_has_an_empty_one_for_gpt_oss(counters: Counters) -> None:
    bare, empty = (request(user("hi"), tools=[tool("search", **rest)]) for rest in ({}, {"description": ""}))
    assert prompt(counters(GPT_OSS), bare) == prompt(counters(GPT_OSS), empty)


def test_thinking_before_a_call_is_in_the_prompt_of_gpt_oss(counters: Counters) -> None:
    turn = [user("go"), assistant({"type": "thinking", "thinking": "first I look"}, CALL)]
    result = user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"})
    rendered = prompt(counters(GPT_OSS), request(*turn, result, tools=[tool("search", description="d")]))
    assert "<|channel|>analysis<|message|>first I look<|end|>" in rendered


@pytest.mark.parametrize("marker", ["<|eom_id|>", "<|python_tag|>", "<|finetune_right_pad_id|>"])
def test_the_markers_that_came_with_llama_3_1_are_one_token_each(marker: str, counters: Counters) -> None:
    assert counters(LLAMA).tokenizer.count(marker) == 1


@pytest.mark.parametrize("name", [of_model(GEMMA), of_model(GPT_OSS), of_model(LLAMA)])
def test_a_started_answer_is_continued(name: str, counters: Counters) -> None:
    counter = counters(name)
    rendered = prompt(counter, request(user("hi"), assistant("Sure, here")))
    assert rendered.endswith("Sure, here")
    assert count(counter, request(user("hi"), assistant("Sure, here"))) == counter.tokenizer.count(rendered)
