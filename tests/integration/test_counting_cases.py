"""Public fault reports of systems that do this job, as small requests to the built Qwen3.5 layer."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.requests import assistant, count, image, picture, request, text, tool, user
from tokencount.domain.chat import to_chat
from tokencount.domain.counting import Counter
from tokencount.domain.errors import ContextLengthExceeded, InvalidRequest, UnsupportedImage

CALL = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "x"}}


def result(content: object, **rest: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **rest}


def prompt(counter: Counter, body: dict[str, object]) -> str:
    return counter.template.render(to_chat(body, counter.model.template))


def test_every_word_of_a_tool_result_adds_its_tokens(qwen: Counter) -> None:
    def loop(words: int) -> int:
        turn = request(user("go"), assistant(CALL), user(result("word " * words)), tools=[tool("search")])
        return count(qwen, turn)

    assert loop(2001) - loop(2000) == 1
    assert loop(2000) > 2000


def test_the_tool_preamble_appears_once_however_many_tools(qwen: Counter) -> None:
    def with_tools(*names: str) -> int:
        return count(qwen, request(user("hi"), tools=[tool(name) for name in names]))

    none, a, b, both = with_tools(), with_tools("alpha"), with_tools("beta"), with_tools("alpha", "beta")
    assert count(qwen, request(user("hi"))) == none
    # Each tool brings its own line; what stands around the list comes once.
    definition = (
        '{"type": "function", "function": {"name": "beta", "parameters": {"type": "object", "properties": {}}}}'
    )
    assert both - a == qwen.tokenizer.count("\n" + definition)
    assert a - none > both - b


def test_an_image_alone_costs_its_wrapper_and_its_own_tokens_and_nothing_more(qwen: Counter) -> None:
    framing = count(qwen, request(user("")))
    wrapper = qwen.tokenizer.count("<|vision_start|><|vision_end|>")
    assert count(qwen, request(user(image(picture(256, 256))))) == framing + wrapper + 64


@pytest.mark.parametrize(("size", "tokens"), [((2048, 16), 91), ((1040, 1040), 1024), ((2000, 10), 114), ((1, 1), 64)])
def test_sides_are_rounded_with_ties_to_even_as_the_processor_does(
    size: tuple[int, int], tokens: int, qwen: Counter
) -> None:
    blank = count(qwen, request(user(""))) + 2
    assert count(qwen, request(user(image(picture(*size))))) - blank == tokens


def test_the_same_pixels_cost_the_same_however_well_they_are_compressed(qwen: Counter) -> None:
    well, not_at_all = picture(256, 256, compress_level=9), picture(256, 256, compress_level=0)
    assert len(not_at_all) > 100 * len(well)
    assert count(qwen, request(user(image(well)))) == count(qwen, request(user(image(not_at_all))))


def test_an_image_too_long_for_its_width_is_refused_and_named(qwen: Counter) -> None:
    with pytest.raises(InvalidRequest, match="2001x10") as refusal:
        count(qwen, request(user(text("a"), image(picture(2001, 10)))))
    assert refusal.value.param == "messages.0.content.1"


def test_an_image_in_a_tool_result_that_is_not_what_it_is_declared_as_is_named_where_it_stands(qwen: Counter) -> None:
    jpeg = image(picture(9, 9, "JPEG"), "image/png")
    with pytest.raises(UnsupportedImage, match="declared image/png, and its bytes are image/jpeg") as refusal:
        count(qwen, request(user("go"), assistant(CALL), user(result([text("a"), jpeg]))))
    assert refusal.value.param == "messages.2.content.0.content.1.source.media_type"


def test_a_redacted_block_adds_nothing(qwen: Counter) -> None:
    redacted = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    with_block = request(user("a"), assistant(redacted, text("b")), user("c"))
    assert count(qwen, with_block) == count(qwen, request(user("a"), assistant(text("b")), user("c")))


@pytest.mark.parametrize("extra", [{"strict": False}, {"strict": True}, {"cache_control": {"type": "ephemeral"}}])
def test_strict_and_cache_control_of_a_tool_are_never_rendered(extra: dict[str, object], qwen: Counter) -> None:
    assert count(qwen, request(user("hi"), tools=[tool("a", **extra)])) == count(
        qwen, request(user("hi"), tools=[tool("a")])
    )


def test_a_call_s_input_reaches_the_template_as_an_object(qwen: Counter) -> None:
    call = CALL | {"input": {"city": "Paris", "n": 2, "ok": True, "none": None, "deep": {"b": 1, "a": [True, "é"]}}}
    rendered = prompt(qwen, request(user("a"), assistant(call), user(result("ok"))))
    for name, value in {"city": "Paris", "n": "2", "ok": "True", "none": "None"}.items():
        assert f"<parameter={name}>\n{value}\n</parameter>" in rendered
    assert '<parameter=deep>\n{"b": 1, "a": [true, "é"]}\n</parameter>' in rendered


def test_a_tool_is_rendered_raw_in_the_order_and_with_the_separators_it_was_sent_with(qwen: Counter) -> None:
    schema = {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}}
    described = {"name": "t", "description": "a<b & c's — 你好/x", "input_schema": schema}
    assert (
        '{"type": "function", "function": {"name": "t", "description": "a<b & c\'s — 你好/x", "parameters": '
        '{"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}}}}'
    ) in prompt(qwen, request(user("hi"), tools=[described]))


def test_the_thinking_of_a_finished_turn_adds_what_the_template_says(qwen: Counter) -> None:
    thought = {"type": "thinking", "thinking": "hm " * 200}
    finished = request(user("a"), assistant(thought, text("b")), user("c"))
    assert count(qwen, finished) == count(qwen, request(user("a"), assistant(text("b")), user("c")))


def test_the_thinking_of_the_turn_in_progress_is_in_the_prompt(qwen: Counter) -> None:
    def turn(thought: str) -> int:
        block = {"type": "thinking", "thinking": thought}
        return count(qwen, request(user("a"), assistant(block, CALL), user(result("ok"))))

    assert turn("one two three") > turn("one")


def test_a_control_marker_in_a_text_is_one_control_token_as_in_the_runtime(qwen: Counter) -> None:
    marked, plain = count(qwen, request(user("a<|im_end|>b"))), count(qwen, request(user("a b")))
    assert marked == plain + 1


def test_turning_thinking_on_passes_the_manifest_s_keyword_and_off_passes_none(qwen: Counter) -> None:
    off, disabled = request(user("hi")), request(user("hi"), thinking={"type": "disabled"})
    enabled = request(user("hi"), thinking={"type": "enabled", "budget_tokens": 1024})
    adaptive = request(user("hi"), thinking={"type": "adaptive"})
    assert count(qwen, off) == count(qwen, disabled) == 11
    # Qwen3.5 thinks by default: its template writes the same prompt with the keyword and without.
    assert count(qwen, enabled) == count(qwen, adaptive) == 11
    options = [to_chat(body, qwen.model.template).options for body in (off, disabled, enabled, adaptive)]
    assert options == [{}, {}, {"enable_thinking": True}, {"enable_thinking": True}]


def test_the_image_placeholder_in_a_text_is_refused_with_images_and_one_token_without(qwen: Counter) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        count(qwen, request(user(text("a"), text("see <|image_pad|>"), image(picture(8, 8)))))
    assert refusal.value.param == "messages.0.content.1.text"
    assert count(qwen, request(user("<|image_pad|>"))) == count(qwen, request(user("a")))


def test_what_the_template_refuses_is_the_client_s_error_with_the_template_s_words(qwen: Counter) -> None:
    with pytest.raises(InvalidRequest, match="No user query found in messages"):
        count(qwen, request(assistant("x"), assistant(CALL)))


def test_a_prompt_that_fits_no_window_is_refused_with_its_exact_count(qwen: Counter) -> None:
    body = request(user("a " * qwen.model.context_length))
    tokens = qwen.tokenizer.count(prompt(qwen, body))
    with pytest.raises(ContextLengthExceeded, match=f"has {tokens} tokens.*at most 262144"):
        count(qwen, body)


FORK = """
import os, sys, threading
from pathlib import Path
from tokencount.adapters.tokenizer import HuggingFaceTokenizer
tokenizer = HuggingFaceTokenizer(Path(sys.argv[1]))
tokenizer.count("one two " * 1000)
threads = [threading.Thread(target=tokenizer.count, args=("three",)) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
if pid := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
tokenizer.count("four")
"""


def test_a_fork_or_threads_after_a_count_bring_no_warning(qwen: Counter) -> None:
    layers = Path(__file__).parents[2] / ".build" / "layers"
    tokenizer = layers / "qwen3.5-9b" / "model" / "tokenizer.json"
    # Python itself warns of any fork in a process with threads; the tokenizer's warning is no DeprecationWarning.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(tokenizer)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
