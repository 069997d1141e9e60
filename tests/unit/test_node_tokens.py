"""Node tokens: whom they speak for and how long, and keys that rotate while requests flow."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from tokencount.adapters.node_protocol import NODE_TOKEN_HEADER
from tokencount.adapters.node_tokens import KEYS_AGE, READ_PAUSE, KeysUnavailable, NodeKeys, NodeTokens
from tokencount.adapters.nodes import LambdaNodes
from tokencount.domain.errors import Unauthorized
from tokencount.domain.ports import Caller

START = datetime(2026, 7, 26, 12, tzinfo=UTC)
CALLER = Caller("org_1", "prj_1", ("infer:run",), "req_1")
FIRST, SECOND = "f" * 64, "s" * 64
OLD = NodeKeys("first", {"first": FIRST})
BOTH = NodeKeys("first", {"first": FIRST, "second": SECOND})
SWITCHED = NodeKeys("second", {"first": FIRST, "second": SECOND})
NEW = NodeKeys("second", {"second": SECOND})


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Vault:
    """The secret with the keys, and how often it was read; it fails while there are none."""

    def __init__(self, keys: NodeKeys | None = OLD) -> None:
        self.keys = keys
        self.reads = 0

    def read(self) -> NodeKeys:
        self.reads += 1
        if self.keys is None:
            raise KeysUnavailable("no answer")
        return self.keys


@pytest.fixture
def clock() -> Clock:
    return Clock()


def signer(token: str) -> str:
    return str(jwt.get_unverified_header(token)["kid"])


def test_a_token_speaks_for_its_caller_for_less_than_sixty_seconds(clock: Clock) -> None:
    tokens = NodeTokens(OLD, Vault().read, clock)
    token = tokens.sign(CALLER)
    assert tokens.verify(token, "req_1") == CALLER
    clock.pass_by(59.9)
    assert tokens.verify(token, "req_1") == CALLER
    clock.pass_by(0.1)
    with pytest.raises(Unauthorized, match="expired"):
        tokens.verify(token, "req_1")


@pytest.mark.parametrize("request_id", ["req_2", "", "req_1 "])
def test_a_token_is_good_for_its_own_request_alone(request_id: str, clock: Clock) -> None:
    tokens = NodeTokens(OLD, Vault().read, clock)
    with pytest.raises(Unauthorized, match="made for another request"):
        tokens.verify(tokens.sign(CALLER), request_id)


@pytest.mark.parametrize("claim", ["exp", "organization", "project", "scopes", "request_id"])
def test_a_token_without_one_of_its_claims_is_refused(claim: str, clock: Clock) -> None:
    tokens = NodeTokens(OLD, Vault().read, clock)
    claims = jwt.decode(tokens.sign(CALLER), options={"verify_signature": False})
    del claims[claim]
    token = jwt.encode(claims, FIRST, "HS256", headers={"kid": "first"})
    with pytest.raises(Unauthorized):
        tokens.verify(token, "req_1")


@pytest.mark.parametrize("algorithm", ["none", "HS384", "HS512"])
def test_a_token_of_another_algorithm_is_refused(algorithm: str, clock: Clock) -> None:
    tokens = NodeTokens(OLD, Vault().read, clock)
    claims = jwt.decode(tokens.sign(CALLER), options={"verify_signature": False})
    key = "" if algorithm == "none" else FIRST * 2
    with pytest.raises(Unauthorized):
        tokens.verify(jwt.encode(claims, key, algorithm, headers={"kid": "first"}), "req_1")


def test_an_unknown_key_id_makes_the_keys_be_read_again(clock: Clock) -> None:
    vault = Vault(SWITCHED)
    stale = NodeTokens(OLD, vault.read, clock)
    assert stale.verify(NodeTokens(SWITCHED, vault.read, clock).sign(CALLER), "req_1") == CALLER
    assert stale.verify(NodeTokens(OLD, vault.read, clock).sign(CALLER), "req_1") == CALLER
    assert vault.reads == 1


def test_however_many_tokens_name_an_unknown_key_the_keys_are_read_once_in_five_seconds(clock: Clock) -> None:
    vault = Vault()
    tokens = NodeTokens(OLD, vault.read, clock)
    forged = NodeTokens(NodeKeys("x", {"x": SECOND}), vault.read, clock)
    for _ in range(20):
        with pytest.raises(Unauthorized):
            tokens.verify(forged.sign(CALLER), "req_1")
        clock.pass_by(READ_PAUSE.total_seconds() / 5)
    assert vault.reads == 4


def test_a_signer_uses_a_new_current_key_within_a_minute_of_its_last_reading(clock: Clock) -> None:
    vault = Vault(SWITCHED)
    tokens = NodeTokens(OLD, vault.read, clock)
    clock.pass_by(KEYS_AGE.total_seconds() - 1)
    assert signer(tokens.sign(CALLER)) == "first"
    clock.pass_by(1)
    assert signer(tokens.sign(CALLER)) == "second"
    assert (vault.reads, KEYS_AGE) == (1, timedelta(seconds=60))


def test_keys_that_a_snapshot_held_for_days_are_read_again_before_the_first_signature(clock: Clock) -> None:
    tokens = NodeTokens(OLD, Vault(NEW).read, clock)
    clock.pass_by(3 * 86_400)
    assert signer(tokens.sign(CALLER)) == "second"


def test_while_the_secret_cannot_be_read_the_known_keys_stay_good_and_it_is_asked_once_in_five_seconds(
    clock: Clock,
) -> None:
    vault = Vault(None)
    tokens = NodeTokens(OLD, vault.read, clock)
    clock.pass_by(60)
    for _ in range(10):
        assert signer(tokens.sign(CALLER)) == "first"
        clock.pass_by(1)
    assert vault.reads == 2
    vault.keys = SWITCHED
    assert signer(tokens.sign(CALLER)) == "second"


def test_a_clock_that_is_set_back_makes_the_keys_be_read_again(clock: Clock) -> None:
    tokens = NodeTokens(OLD, Vault(SWITCHED).read, clock)
    clock.pass_by(-3600)
    assert signer(tokens.sign(CALLER)) == "second"


class Fleet:
    """Edges that ask counters, each with keys of its own age; what a counter gets is checked as the counter does."""

    def __init__(self, clock: Clock, vault: Vault) -> None:
        self.clock = clock
        self.vault = vault
        self.counters: list[NodeTokens] = []
        self.edges: list[LambdaNodes] = []

    def start_counter(self, keys: NodeKeys) -> None:
        self.counters.append(NodeTokens(keys, self.vault.read, self.clock))

    def start_edge(self) -> None:
        tokens = NodeTokens(self.vault.read(), self.vault.read, self.clock)
        self.edges.append(LambdaNodes(self, {str(n): str(n) for n in range(9)}, tokens))  # type: ignore[arg-type]

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        headers = json.loads(Payload)["headers"]
        try:
            self.counters[int(FunctionName)].verify(headers[NODE_TOKEN_HEADER], headers["x-request-id"])
        except Unauthorized:
            return {"Payload": io.BytesIO(b'{"statusCode": 401}')}
        return {"Payload": io.BytesIO(b'{"statusCode": 200, "body": "{}"}')}

    def ask_all(self) -> None:
        """Every edge asks every counter; one that gets no answer raises NodeUnavailable."""
        for edge in self.edges:
            for counter in range(len(self.counters)):
                assert edge.count(str(counter), "{}", CALLER, 26).status == 200


def rotate_as_documented(vault: Vault) -> dict[int, Callable[[], None]]:
    """What an operator does, by the second: each step waits until the one before is known everywhere."""
    steps = {30: BOTH, 35: SWITCHED, 35 + 120: NEW}
    return {second: lambda keys=keys: setattr(vault, "keys", keys) for second, keys in steps.items()}  # type: ignore[misc]


def test_two_keys_rotate_without_a_failed_request(clock: Clock) -> None:
    vault = Vault(OLD)
    fleet, steps = Fleet(clock, vault), rotate_as_documented(vault)
    fleet.start_counter(OLD)
    fleet.start_edge()
    for second in range(300):
        steps.get(second, lambda: None)()
        if second % 40 == 20:
            fleet.start_edge()
        if second in (32, 100):
            fleet.start_counter(OLD)  # a snapshot of before
        fleet.ask_all()
        clock.pass_by(1)
    assert vault.keys == NEW
    fleet.start_counter(NEW)
    fleet.ask_all()


def test_even_a_key_that_is_replaced_at_once_fails_no_request(clock: Clock) -> None:
    vault = Vault(OLD)
    fleet = Fleet(clock, vault)
    fleet.start_edge()
    clock.pass_by(7)
    fleet.start_edge()
    fleet.start_counter(OLD)
    fleet.start_counter(NEW)
    vault.keys = NEW
    for _ in range(100):
        fleet.ask_all()
        clock.pass_by(1)


def test_nor_does_one_that_is_replaced_a_second_after_an_edge_has_read_the_keys(clock: Clock) -> None:
    vault = Vault(OLD)
    fleet = Fleet(clock, vault)
    fleet.start_edge()
    fleet.start_counter(OLD)
    clock.pass_by(KEYS_AGE.total_seconds())
    fleet.ask_all()
    assert vault.reads == 2
    clock.pass_by(1)
    vault.keys = NEW
    fleet.start_counter(NEW)
    for _ in range(100):
        fleet.ask_all()
        clock.pass_by(1)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"current": "a"}', f'{{"a": "{FIRST}"}}', f'{{"current": "a", "a": ["{FIRST}"]}}', FIRST]
)
def test_a_secret_that_is_not_of_the_form_is_refused_without_being_told(text: str) -> None:
    with pytest.raises(KeysUnavailable) as refusal:
        NodeKeys.parse(text)
    assert FIRST not in repr(refusal.value)
    assert refusal.value.__cause__ is None


def test_keys_print_nothing_of_themselves(clock: Clock) -> None:
    tokens = NodeTokens(OLD, Vault().read, clock)
    assert FIRST not in f"{OLD} {OLD!r} {tokens} {tokens!r}"
