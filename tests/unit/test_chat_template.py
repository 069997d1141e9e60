"""A template is rendered as transformers does it, and what it cannot render is the client's error."""

from dataclasses import replace
from datetime import datetime

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tokencount.adapters.chat_template import JinjaChatTemplate
from tokencount.domain.chat import Chat
from tokencount.domain.errors import InvalidRequest

CHATML = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}<answer>{% endif %}"
)


def chat(*contents: object, continues: bool = False, **options: object) -> Chat:
    roles = ["user", "assistant"] * len(contents)
    messages = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]
    return Chat(messages, None, options, continues)


def render(source: str, *contents: object, continues: bool = False, **options: object) -> str:
    return JinjaChatTemplate(source).render(chat(*contents, continues=continues, **options))


def test_a_request_to_answer_ends_with_the_generation_prompt() -> None:
    assert render(CHATML, "a", "b", "c") == "<user>a</><assistant>b</><user>c</><answer>"


@pytest.mark.parametrize("start", ["b", "b  ", "b\n\n", "  b"])
def test_the_start_of_an_answer_ends_the_prompt_with_its_own_spacing(start: str) -> None:
    assert render(CHATML, "a", start, continues=True) == f"<user>a</><assistant>{start}"


def test_a_template_that_trims_the_start_of_an_answer_ends_it_trimmed() -> None:
    trimming = CHATML.replace("m.content", "m.content | trim")
    assert render(trimming, "a", "b  ", continues=True) == "<user>a</><assistant>b"


def test_a_template_that_drops_the_start_of_an_answer_is_refused() -> None:
    dropping = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"
    with pytest.raises(InvalidRequest, match="leaves out the last message"):
        render(dropping, "a", "b", continues=True)


def test_of_parts_the_last_text_is_continued() -> None:
    parts = (
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endif %}{% endfor %}"
    )
    texts = [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]
    assert render(parts, "a", texts, continues=True) == "a[b][c"


def test_the_template_s_own_refusal_is_passed_on_in_its_words() -> None:
    with pytest.raises(InvalidRequest, match="refuses the request: roles must alternate"):
        render("{{ raise_exception('roles must alternate') }}", "a")


@pytest.mark.parametrize("source", ["{{ messages[9].x.y }}", "{{ 1 / 0 }}", "{{ messages + 1 }}", "{{ 'a'.x.y }}"])
def test_what_a_template_cannot_render_is_the_client_s_error(source: str) -> None:
    with pytest.raises(InvalidRequest):
        render(source, "a")


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{% macro m() %}{% endmacro %}{{ m.name }}{{ m._func }}{{ m._func.__globals__ }}",
        "{% for x in [1] %}{{ loop.first }}{{ loop.__init__.__globals__ }}{% endfor %}",
    ],
)
def test_a_template_cannot_reach_the_interpreter(source: str) -> None:
    with pytest.raises(InvalidRequest):
        render(source, "a")


@pytest.mark.parametrize(
    "source",
    [
        "{% macro m(a, b='d') %}{{ a }}{{ b }}{{ caller() if caller }}{% endmacro %}"
        "{{ m('x') }}{{ m(b='y', a=1) }}{% call m('z') %}inside{% endcall %}",
        "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}",
        "{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}"
        "{% for n in [1, 2] %}{% set y = n %}{{ m(y) }}{% endfor %}",
        "{% set ns = namespace(n=0, s='a', e=none) %}{% for x in 'abc' %}{% set ns.n = ns.n + loop.index0 %}"
        "{{ loop.first }}{{ loop.last }}{{ ns.n }}{{ ns.s }}{{ ns.e }}{{ ns.missing is defined }}{% endfor %}",
        "{{ 'a b'.split().index('b') }}{{ 'a'.upper() }}{{ ' {} '.format('x') }}{{ 'a'.missing is defined }}",
        "{% set m = 'abc'.startswith %}{{ m('a') }}{{ m('b') }}",
        "{{ '[{0.__class__}]'.format(1) }}{{ range.__self__ }}",
        # Asked twice: the second time it is remembered what may be asked.
        "{% for s in ['[{0}]', '[{0.__class__}]'] %}{{ s.format(1) }}{% endfor %}",
        "{% set ns = namespace(f=1) %}{{ ns.f }}{% set ns.f = '[{0.__class__}]'.format %}{{ ns.f(1) }}",
    ],
)
def test_macros_loops_and_methods_are_those_of_jinja_s_own_sandbox(source: str) -> None:
    ours = render(source, "a")
    assert ours == ImmutableSandboxedEnvironment().from_string(source).render()
    assert "class" not in ours


def test_tojson_keeps_order_and_characters_and_separates_as_json_dumps() -> None:
    value = {"z": "a<b & c's 你好", "a": [1, True, None]}
    assert render("{{ v | tojson }}", "a", v=value) == '{"z": "a<b & c\'s 你好", "a": [1, true, null]}'
    assert render("{{ v | tojson(indent=1) }}", "a", v={"a": 1}) == '{\n "a": 1\n}'


def test_generation_marks_change_nothing() -> None:
    assert render("a{% generation %}b{% endgeneration %}c{% for x in [1, 2] %}{% break %}{% endfor %}", "a") == "abc"


def test_the_clock_of_a_template_comes_from_one_place() -> None:
    source = "{{ strftime_now('%d %b %Y %H:%M') }}"
    late = JinjaChatTemplate(source, now=lambda: datetime(2026, 7, 26, 23, 59))
    assert late.render(chat("hi")) == "26 Jul 2026 23:59"


def test_a_fixed_date_in_a_template_does_not_follow_the_clock() -> None:
    source = "{% if not date_string is defined %}{% set date_string = '26 Jul 2024' %}{% endif %}{{ date_string }}"
    clocks = [datetime(2026, 1, 1, 23, 59), datetime(2026, 1, 2, 0, 1)]
    rendered = [JinjaChatTemplate(source, now=iter([at]).__next__).render(chat("hi")) for at in clocks]
    assert rendered == ["26 Jul 2024", "26 Jul 2024"]


def test_special_tokens_reach_the_template_so_that_it_writes_its_one_bos() -> None:
    assert render("{{ bos_token }}" + CHATML, "hi", bos_token="<bos>") == "<bos><user>hi</><answer>"


def test_jinja_s_own_words_are_not_passed_on() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        render("{{ messages[0].content.nothing.more }}", "a")
    assert refusal.value.message == "The model's chat template cannot render this request"


def test_a_prompt_of_more_than_20_million_characters_is_refused_before_it_is_written_out() -> None:
    repeating = "{% for m in messages %}{{ m.content }}{% endfor %}"
    assert len(render(repeating, *["a" * 1_000_000] * 20)) == 20_000_000
    with pytest.raises(InvalidRequest, match="over 20,000,000 characters"):
        render(repeating, *["a" * 1_000_000] * 21)


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(9) %}{{ a }}{% endfor %}",
        "{% macro long() %}{% for a in range(9) %}{{ a }}{{ again() }}{% endfor %}{% endmacro %}"
        "{% macro again() %}x{% endmacro %}{{ long() }}",
    ],
)
def test_a_template_that_works_for_more_than_8_seconds_is_given_up_even_within_a_macro(source: str) -> None:
    wall, processor = iter(range(0, 10_000, 100)), iter(range(100))
    template = JinjaChatTemplate(source, wall=wall.__next__, processor=processor.__next__)
    with pytest.raises(InvalidRequest, match="for more than 8 seconds"):
        template.render(chat("a"))
    assert next(processor) == 10


def test_a_template_is_not_given_up_for_time_that_others_had_the_processor() -> None:
    template = JinjaChatTemplate("{{ range(9)|list }}", wall=iter(range(0, 1000, 20)).__next__, processor=lambda: 5.0)
    assert template.render(chat("a")) == "[0, 1, 2, 3, 4, 5, 6, 7, 8]"


def test_a_key_is_asked_for_as_in_the_sandbox_whatever_a_dict_has_itself() -> None:
    tool = {"items": "mine", "__class__": "mine", "a": None, "b": "set"}
    asked = "{{ t.items is string }} {{ t.__class__ }} {{ t.a }} {{ t.b }} {{ t.c is defined }} {{ t.c }}"
    ours = JinjaChatTemplate("{% set t = tools[0] %}" + asked).render(replace(chat("a"), tools=[tool]))
    theirs = ImmutableSandboxedEnvironment().from_string("{% set t = tools[0] %}" + asked).render(tools=[tool])
    assert ours == theirs == "False  None set False "
