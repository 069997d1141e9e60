"""Windows, what is said of them, and that limits out of reach stop nothing: on doubles, without a table."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.edge import EdgeUnderTest
from tests.support.logs import ReadableLogger
from tokencount.adapters.limit_settings import MAX_LIMIT, TableLimitSettings, ignored_settings
from tokencount.domain.errors import ConcurrencyLimited, NodeUnavailable, RateLimited
from tokencount.domain.limiter import Limiter
from tokencount.domain.limits import Allowance, LimitsUnavailable, Usage, Window
from tokencount.domain.ports import Caller, NodeAnswer

COUNT = "/v1/infer/v1/messages/count_tokens"
BODY = {"model": "b3os/tiny", "messages": []}
NOW = datetime(2026, 7, 26, 12, 0, 51, 200_000, tzinfo=UTC)
CALLER = Caller("org_1", "proj_1", ("infer:run",), "req_1")
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@given(MOMENTS)
def test_a_window_is_the_minute_of_the_clock_that_holds_the_moment(now: datetime) -> None:
    window = Window.at(now)
    assert (window.start % 60, window.end - window.start) == (0, 60)
    assert window.start <= now.timestamp() < window.end


@given(MOMENTS)
def test_after_the_seconds_that_are_left_the_next_window_has_begun_and_not_a_second_too_late(now: datetime) -> None:
    window, left = Window.at(now), Window.at(now).seconds_left(now)
    assert 1 <= left <= 60
    assert Window.at(now + timedelta(seconds=left)) == Window(window.end)
    assert left == 1 or Window.at(now + timedelta(seconds=left - 1)) == window


@pytest.mark.parametrize(
    ("limit", "reset", "message"),
    [
        (600, 9, "600 requests per minute allowed for this project; retry in 9 seconds"),
        (1, 1, "1 request per minute allowed for this project; retry in 1 second"),
    ],
)
def test_a_refusal_says_how_much_is_allowed_and_when_to_come_back(limit: int, reset: int, message: str) -> None:
    Allowance(granted=True, limit=limit, remaining=0, reset=reset).require()
    with pytest.raises(RateLimited) as refusal:
        Allowance(granted=False, limit=limit, remaining=0, reset=reset).require()
    assert (refusal.value.message, refusal.value.retry_after) == (message, reset)


class Memory:
    """Windows, leases and settings that know one answer each; what is asked of them is kept."""

    def __init__(self, *, granted: bool = True, used: int = 1, held: bool = True) -> None:
        self.usage, self.held, self.limit = Usage(granted, used), held, 10
        self.broken: set[str] = set()
        self.asked: list[str] = []

    def reserve(self, key: str, window: Window, units: int, limit: int) -> Usage:
        self._ask("reserve", f"{key} {window.start} {units} of {limit}")
        return self.usage

    def settle(self, key: str, window: Window, unused: int) -> None:
        raise AssertionError("a request is never given back")

    def acquire(self, organization: str, request_id: str, limit: int, now: datetime) -> bool:
        self._ask("acquire", f"{organization} {request_id} {limit} {now.isoformat()}")
        return self.held

    def release(self, organization: str, request_id: str) -> None:
        self._ask("release", f"{organization} {request_id}")

    def requests_per_minute(self, project: str) -> int:
        self._ask("requests_per_minute", project)
        return self.limit

    requests_in_flight = requests_per_minute

    def _ask(self, what: str, detail: str) -> None:
        self.asked.append(f"{what} {detail}")
        if what in self.broken:
            raise LimitsUnavailable(what)


def limiter(memory: Memory, unavailable: Callable[[Caller, LimitsUnavailable], None] = lambda *_: None) -> Limiter:
    return Limiter(memory, memory, memory, now=lambda: NOW, unavailable=unavailable)


def test_a_request_is_one_unit_of_its_project_s_minute() -> None:
    memory = Memory(used=4)
    assert limiter(memory).take_request(CALLER) == Allowance(granted=True, limit=10, remaining=6, reset=9)
    start = int(datetime(2026, 7, 26, 12, tzinfo=UTC).timestamp())
    assert memory.asked[1:] == [f"reserve requests#proj_1 {start} 1 of 10"]


def test_nothing_is_left_where_a_limit_was_lowered_below_what_is_used() -> None:
    taken = limiter(Memory(granted=False, used=25)).take_request(CALLER)
    assert taken == Allowance(granted=False, limit=10, remaining=0, reset=9)


def test_a_place_is_given_back_when_the_request_is_answered_and_when_it_fails() -> None:
    memory = Memory()
    with limiter(memory).in_flight(CALLER):
        assert memory.asked[-1] == f"acquire org_1 req_1 10 {NOW.isoformat()}"
    assert memory.asked.pop() == "release org_1 req_1"
    with pytest.raises(NodeUnavailable), limiter(memory).in_flight(CALLER):
        raise NodeUnavailable("gone")
    assert memory.asked[-1] == "release org_1 req_1"


def test_a_request_beyond_the_places_is_refused_and_gives_none_back() -> None:
    memory = Memory(held=False)
    with pytest.raises(ConcurrencyLimited) as refusal, limiter(memory).in_flight(CALLER):
        raise AssertionError("it is not answered")
    assert refusal.value.message == "10 requests in flight allowed for this organization; retry in 1 second"
    assert refusal.value.retry_after == 1
    assert memory.asked[-1].startswith("acquire")


@pytest.mark.parametrize("broken", ["requests_per_minute", "reserve", "acquire", "release"])
def test_limits_that_cannot_be_reached_are_told_of_and_stop_nothing(broken: str) -> None:
    memory, told = Memory(), []
    memory.broken.add(broken)
    edge = EdgeUnderTest(limiter(memory, lambda caller, error: told.append((caller.request_id, str(error)))))
    answer = edge.send("POST", COUNT, BODY)
    assert (answer["statusCode"], answer["body"]) == (200, {"input_tokens": 27})
    assert told == [(answer["headers"]["request-id"], broken)]
    assert ("RateLimit-Limit" in answer["headers"]) == (broken in {"acquire", "release"})


def headers_of(answer: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in answer["headers"].items() if name.startswith(("RateLimit", "Retry"))}


def test_every_answer_after_the_limiter_ran_tells_what_is_left_of_the_minute() -> None:
    edge = EdgeUnderTest(limiter(Memory(used=4)))
    told = {"RateLimit-Limit": "10", "RateLimit-Remaining": "6", "RateLimit-Reset": "9"}
    assert headers_of(edge.send("POST", COUNT, BODY)) == told
    edge.node.answer = NodeAnswer(400, "{}", {})
    assert headers_of(edge.send("POST", COUNT, BODY)) == told


def test_a_request_beyond_its_minute_is_429_in_the_anthropic_shape_and_nobody_counts_it() -> None:
    edge = EdgeUnderTest(limiter(Memory(granted=False, used=10)))
    answer = edge.send("POST", COUNT, BODY)
    assert answer["statusCode"] == 429
    assert answer["body"]["error"] == {
        "type": "rate_limit_error",
        "message": "10 requests per minute allowed for this project; retry in 9 seconds",
    }
    assert answer["body"]["b3os"] == {"code": "rate_limited"}
    told = {"RateLimit-Limit": "10", "RateLimit-Remaining": "0", "RateLimit-Reset": "9", "Retry-After": "9"}
    assert headers_of(answer) == told
    assert edge.log[answer["headers"]["request-id"]].status == 429
    assert not edge.node.asked


def test_a_request_beyond_the_places_in_flight_is_429_in_the_anthropic_shape_and_nobody_counts_it() -> None:
    edge = EdgeUnderTest(limiter(Memory(held=False)))
    answer = edge.send("POST", COUNT, BODY)
    assert (answer["statusCode"], answer["body"]["error"]["type"]) == (429, "rate_limit_error")
    assert answer["body"]["b3os"] == {"code": "concurrency_limited"}
    told = {"RateLimit-Limit": "10", "RateLimit-Remaining": "9", "RateLimit-Reset": "9", "Retry-After": "1"}
    assert headers_of(answer) == told
    assert not edge.node.asked


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/infer/models", None),
        ("GET", "/v1/requests/req_00000000000000000000000000", None),
        ("GET", COUNT, None),
        ("POST", COUNT, "{"),
        ("POST", COUNT, {"model": "b3os/none"}),
        ("POST", COUNT, '{"model": "b3os/tiny"}' + " " * 1000),
    ],
)
def test_other_routes_and_requests_that_fail_the_checks_before_use_nothing(method: str, path: str, body: Any) -> None:
    memory = Memory()
    assert headers_of(EdgeUnderTest(limiter(memory)).send(method, path, body)) == {}
    assert memory.asked == []


class Rows(dict[str, dict[str, Any]]):
    """A limits table of settings alone."""

    reads = 0

    def get(self, key: str) -> dict[str, Any]:  # type: ignore[override]
        self.reads += 1
        return super().get(key, {})


def settings(rows: Rows, clock: Callable[[], float] = lambda: 0.0) -> tuple[TableLimitSettings, list[tuple[str, str]]]:
    ignored: list[tuple[str, str]] = []
    read = TableLimitSettings(
        rows,  # type: ignore[arg-type]
        requests_per_minute=600,
        requests_in_flight=64,
        clock=clock,
        ignored=lambda row, attribute: ignored.append((row, attribute)),
    )
    return read, ignored


def test_rows_of_a_project_and_of_an_organization_stand_over_the_defaults() -> None:
    rows = Rows(
        {"settings#project#p": {"requests_per_minute": 5}, "settings#organization#o": {"requests_in_flight": 0}}
    )
    read, ignored = settings(rows)
    assert [read.requests_per_minute("p"), read.requests_per_minute("o")] == [5, 600]
    assert [read.requests_in_flight("o"), read.requests_in_flight("p")] == [0, 64]
    assert ignored == []


@pytest.mark.parametrize("wrong", ["5", -1, 1.5, True, [], {}, {5}, b"5", MAX_LIMIT + 1, 10**100])
def test_a_wrong_value_is_told_of_and_the_default_holds(wrong: Any) -> None:
    read, ignored = settings(Rows({"settings#project#p": {"requests_per_minute": wrong}}))
    assert read.requests_per_minute("p") == 600
    assert ignored == [("settings#project#p", "requests_per_minute")]


def test_the_log_names_the_row_and_the_attribute_of_a_wrong_value() -> None:
    logger = ReadableLogger()
    ignored_settings(logger)("settings#project#p", "requests_per_minute")
    [line] = logger.lines
    assert (line["level"], line["row"], line["attribute"]) == ("WARNING", "settings#project#p", "requests_per_minute")


def test_a_row_and_its_absence_are_remembered_for_a_minute_at_most() -> None:
    now, rows = [0.0], Rows()
    read, _ = settings(rows, lambda: now[0])
    assert read.requests_per_minute("p") == 600
    rows["settings#project#p"] = {"requests_per_minute": 5}
    now[0] = 59.9
    assert read.requests_per_minute("p") == 600
    now[0] = 60.0
    assert read.requests_per_minute("p") == 5
    del rows["settings#project#p"]
    assert (read.requests_per_minute("p"), rows.reads) == (5, 2)
