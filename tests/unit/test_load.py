"""Load is an open loop: what a server does changes no request's time, and all of it shows in the latencies."""

import asyncio
import json
import random
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from itertools import islice, pairwise

import pytest

from bench.arrivals import Request, Sent, Target, percentile, poisson, send
from bench.load import measured
from bench.load_report import Step, minute_rows, others, per_second, section
from bench.memory import Series, Watch
from bench.mix import SHARES, Mix, Model
from tests.support.http_server import http_server


def requests() -> Iterator[Request]:
    number = 0
    while True:
        number += 1
        yield Request("any", str(number).encode())


def answering(answers: Mapping[str, tuple[int, object]], arrived: threading.Barrier | None = None) -> type:
    """A handler with an answer for each body, which it holds back until enough requests are there."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            if arrived:
                arrived.wait(20)
            if body not in answers:
                self.close_connection = True
                return
            status, told = answers[body]
            text = told.encode() if isinstance(told, str) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    return Answering


def test_a_server_that_stalls_is_sent_every_request_and_the_stall_is_in_the_latency_of_all_that_were_due() -> None:
    schedule = [0.02 * number for number in range(20)]
    counted = {str(number): (200, {"input_tokens": number}) for number in range(1, 21)}
    # Whoever waited for an answer before sending the next request would wait for ever.
    with http_server(answering(counted, threading.Barrier(len(schedule)))) as url:
        sent = asyncio.run(send(Target(url, "key"), schedule, requests()))
    assert [(each.due, each.outcome) for each in sent] == [(due, "200") for due in schedule]
    assert all(each.latency >= schedule[-1] - each.due for each in sent)
    assert all(0 <= each.late <= each.latency for each in sent)
    assert [each.tokens for each in sent] == list(range(1, 21))


def test_what_is_no_count_is_told_by_its_status_and_code_or_by_why_there_is_none() -> None:
    answers = {
        "1": (429, {"type": "error", "error": {"type": "rate_limit_error"}, "b3os": {"code": "rate_limited"}}),
        "2": (401, {"error": {"code": "unauthorized"}}),
        "3": (502, "<html>"),
    }
    with http_server(answering(answers)) as url:
        sent = asyncio.run(send(Target(url, "key"), [0.0] * 4, requests()))
    told = ["429 rate_limited", "401 unauthorized", "502 without JSON", "RemoteProtocolError"]
    assert [each.outcome for each in sent] == told
    assert others(sent) == ", ".join(f"1 × {each}" for each in told)


def test_a_percentile_is_the_least_value_that_so_many_percent_do_not_exceed() -> None:
    values = [float(number) for number in range(1, 101)]
    random.Random(0).shuffle(values)
    assert [percentile(values, percent) for percent in (1, 50, 90, 99, 100)] == [1, 50, 90, 99, 100]
    assert [percentile([7.0, 3.0, 5.0], percent) for percent in (0, 33, 34, 50, 67, 99)] == [3, 3, 5, 5, 7, 7]
    assert percentile([4.0], 99) == 4.0


def test_arrivals_are_random_and_independent_at_their_rate_and_the_same_for_a_seed() -> None:
    times = poisson(50, 1000, random.Random(1))
    assert times == sorted(times) == poisson(50, 1000, random.Random(1))
    assert 0 < times[0] < times[-1] < 1000
    assert len(times) == pytest.approx(50_000, rel=0.02)
    # Of a Poisson process, as many as e⁻¹ of the gaps are longer than the mean one.
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert sum(gap > 1 / 50 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.01)


def sent(due: float, latency: float, outcome: str = "200") -> Sent:
    return Sent("any", 1, due, 0.0, latency, outcome, 1)


def test_what_was_answered_a_second_is_over_the_time_until_the_last_answer() -> None:
    behind = Step(2, 10, [sent(0, 1), sent(9, 11), sent(1, 1, "503 overloaded")], 0, 20)
    assert per_second(behind) == 2 / 20
    assert per_second(Step(2, 10, [sent(0, 1), sent(1, 1)], 0, 10)) == 2 / 10


def test_a_request_counts_for_the_minute_in_which_it_was_due_whenever_it_was_answered() -> None:
    rows = minute_rows([sent(1, 0.5), sent(59, 70), sent(61, 0.25, "503 overloaded")])
    assert [row[:6] for row in rows] == [["1", "2", "500", "70000", "70000", "70000"], ["2", "1", *["250"] * 4]]
    assert [row[6] for row in rows] == ["none", "1 × 503 overloaded"]


def test_a_rate_is_kept_up_with_where_all_are_answered_and_99_of_a_hundred_within_a_second() -> None:
    good = [sent(0, 0.1)] * 99
    assert Step(2, 10, [*good, sent(0, 5)], 0, 10).kept_up
    assert not Step(2, 10, [*good[1:], sent(0, 5), sent(0, 5)], 0, 10).kept_up
    assert not Step(2, 10, [*good, sent(0, 0.1, "503 overloaded")], 0, 10).kept_up


@pytest.mark.parametrize(
    ("slow", "rate", "of"),
    [
        ({40.0}, "10", "half of the highest rate of which 99 in a hundred were answered within a second;"),
        (
            {40.0, 20.0, 10.0},
            "5",
            "half of the lowest rate, for of none all were answered with 200 and 99 in a hundred",
        ),
    ],
)
def test_the_soak_is_at_half_of_the_highest_rate_that_is_kept_up_with_or_else_of_the_lowest_and_says_which(
    slow: set[float], rate: str, of: str
) -> None:
    watch = Watch(dict)
    steps = list(measured(lambda rate, _: [sent(0, 5 if rate in slow else 0.1)], watch, [40.0, 20.0, 10.0], 30, 600))
    text = " ".join(section(steps, watch, soaked=True).split())
    assert f"Then 10 minutes at {rate} requests a second, {of}" in text


def test_memory_grows_by_its_slope_and_only_what_was_there_all_the_time_is_judged() -> None:
    seconds = [5.0 * number for number in range(121)]
    growing = Series("edge", seconds, [100 + at / 100 for at in seconds])
    steady = Series("edge", seconds, [100 + number % 2 for number in range(121)])
    assert growing.slope(200, 600) == pytest.approx(36)
    assert steady.slope(200, 600) == pytest.approx(0, abs=0.5)
    assert Series("edge", seconds[60:], growing.held[60:]).slope(200, 600) is None
    assert Series("edge", seconds[:90], growing.held[:90]).slope(200, 600) is None
    assert growing.at(300) == 103
    assert growing.at(700) is None


def test_the_mix_has_its_shares_new_text_and_images_for_none_but_models_that_see() -> None:
    seeing, blind, shares = Model("m/seeing", True), Model("m/blind", False), {"short": 60, "images": 40}
    some = list(islice(Mix([seeing, blind], random.Random(0), shares), 500))
    short = [each.body for each in some if each.kind == "short"]
    assert len(short) / len(some) == pytest.approx(0.6, abs=0.07)
    assert len(set(short)) > 0.9 * len(short)
    assert {json.loads(each.body)["model"] for each in some if each.kind == "images"} == {seeing.id}
    assert {each.kind for each in islice(Mix([blind], random.Random(0), shares), 50)} == {"short"}


def test_the_mix_can_make_every_kind_that_it_has_a_share_for() -> None:
    mix = Mix([Model("m/seeing", True)], random.Random(0))
    assert [mix.one(kind).kind for kind in SHARES] == list(SHARES)
