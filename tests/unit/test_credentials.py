"""A credential is recognised, refused without a look-up, and never prints itself."""

import hashlib
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.authentication import Authentication
from edge.request import EdgeRequest
from tests.support.edge import event
from tokencount.adapters.credential_cache import CachedCredentials
from tokencount.domain.credentials import BASE32, Credential, Secret, SecretKind, checksum, new_secret, parse_secret
from tokencount.domain.errors import Forbidden, Unauthorized

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def credential(**rest: object) -> Credential:
    plain = {"id": "key_1", "kind": "api_key", "organization": "o", "project": "p", "scopes": ["infer:run"]}
    return Credential(**{**plain, "name": "n", "prefix": "b3os_sk_0000", "created_at": NOW, **rest})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["sk", "pat", "ses"])
def test_a_new_credential_has_the_form_of_the_contract_and_is_accepted(kind: SecretKind) -> None:
    text = new_secret(kind).reveal()
    start, random, check = text.rsplit("_", 2)
    assert start == f"b3os_{kind}"
    assert (len(random), len(check)) == (32, 7)
    assert set(random + check) <= set(BASE32)
    assert check == checksum(f"{start}_{random}")
    assert parse_secret(text).digest == hashlib.sha256(text.encode()).hexdigest()
    assert parse_secret(text).kind == kind


@pytest.mark.parametrize("kind", ["SK", "session", "key", "pa", "", "sk_sk"])
def test_a_kind_of_no_credential_is_refused(kind: str) -> None:
    body = f"b3os_{kind}_" + "0" * 32
    with pytest.raises(Unauthorized):
        parse_secret(f"{body}_{checksum(body)}")


def test_two_new_keys_differ() -> None:
    assert new_secret("sk").reveal() != new_secret("sk").reveal()


@given(st.integers(0, 48), st.sampled_from(BASE32))
def test_any_one_character_changed_is_refused_with_the_reference_s_message(place: int, character: str) -> None:
    text = "b3os_sk_0123456789abcdefghjkmnpqrstvwxyz_" + checksum("b3os_sk_0123456789abcdefghjkmnpqrstvwxyz")
    changed = text[:place] + character + text[place + 1 :]
    if changed == text or not changed.startswith("b3os_"):
        return
    with pytest.raises(Unauthorized, match="API key checksum does not match; check that the whole key was copied"):
        parse_secret(changed)


@pytest.mark.parametrize("text", ["sk-ant-api03-x", "", "b3os", "Bearer x", "é" * 40])
def test_what_is_no_credential_of_this_service_is_told_what_one_looks_like(text: str) -> None:
    with pytest.raises(Unauthorized, match="b3os_sk_"):
        parse_secret(text)


def test_a_secret_prints_nothing_of_itself() -> None:
    secret = new_secret("sk")
    shown = f"{secret} {secret!r} {secret!s} {[secret]} {vars(type(secret)).get('__dict__')}"
    assert secret.reveal()[8:] not in shown
    assert secret.reveal().split("_")[2] not in shown
    assert secret.reveal().startswith(secret.prefix)
    assert len(secret.prefix) == len("b3os_sk_") + 4


def test_a_revoked_and_an_expired_credential_are_refused() -> None:
    credential(expires_at=NOW + timedelta(seconds=1)).require_valid(NOW)
    with pytest.raises(Unauthorized, match="expired at 2026-07-01T00:00:00"):
        credential(expires_at=NOW).require_valid(NOW)
    with pytest.raises(Unauthorized, match="revoked"):
        credential(revoked_at=NOW).require_valid(NOW)


def test_what_is_refused_is_called_what_it_is() -> None:
    for kind, noun in (("api_key", "API key"), ("pat", "token"), ("session", "session")):
        with pytest.raises(Unauthorized, match=f"This {noun} has been revoked"):
            credential(kind=kind, revoked_at=NOW).require_valid(NOW)


def test_a_csrf_token_is_the_sessions_own_and_tells_nothing_of_it() -> None:
    session, other = new_secret("ses"), new_secret("ses")
    assert session.csrf_token == Secret(session.reveal()).csrf_token
    assert session.csrf_token not in (other.csrf_token, session.digest)
    assert re.fullmatch("[0-9a-f]{64}", session.csrf_token)


def test_a_missing_scope_is_named() -> None:
    credential().require_scope("infer:run")
    with pytest.raises(Forbidden, match="lacks the scope keys:manage"):
        credential().require_scope("keys:manage")


class Store:
    """Credentials in memory that count how often they are asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.found: Credential | None = credential()

    def find(self, secret: Secret) -> Credential | None:
        self.asked += 1
        return self.found


def test_a_credential_is_remembered_for_less_than_a_minute() -> None:
    store, clock, secret = Store(), [0.0], new_secret("sk")
    cached = CachedCredentials(store, lambda: clock[0])
    assert cached.find(secret) == cached.find(secret) == credential()
    assert store.asked == 1
    store.found = None
    clock[0] = 59.9
    assert cached.find(secret)
    clock[0] = 60.0
    assert cached.find(secret) is None
    assert cached.find(secret) is None
    assert store.asked == 3


def test_a_credential_revoked_here_is_asked_for_again_at_once_and_no_other() -> None:
    store, secret, other = Store(), new_secret("sk"), new_secret("sk")
    cached = CachedCredentials(store, lambda: 0.0)
    cached.find(secret)
    store.found = credential(id="key_2")
    cached.find(other)
    cached.forget("key_1")
    store.found = credential(revoked_at=NOW)
    assert cached.find(secret) == credential(revoked_at=NOW)
    assert cached.find(other) == credential(id="key_2")


def test_a_clock_that_is_set_back_makes_it_ask_again() -> None:
    store, clock, secret = Store(), [1000.0], new_secret("sk")
    cached = CachedCredentials(store, lambda: clock[0])
    cached.find(secret)
    clock[0] = 900.0
    cached.find(secret)
    assert store.asked == 2


def test_of_many_credentials_the_last_four_thousand_are_remembered() -> None:
    store = Store()
    cached = CachedCredentials(store, lambda: 0.0)
    secrets = [new_secret("sk") for _ in range(4097)]
    for secret in secrets:
        cached.find(secret)
    cached.find(secrets[-1])
    cached.find(secrets[1])
    assert store.asked == 4097
    cached.find(secrets[0])
    assert store.asked == 4098


@pytest.mark.parametrize("change", [{"revoked_at": NOW}, {"expires_at": NOW + timedelta(seconds=1)}])
def test_a_revoked_or_expired_credential_is_refused_within_sixty_seconds(change: dict[str, datetime]) -> None:
    store, passed, secret = Store(), [0.0], new_secret("sk")
    cached = CachedCredentials(store, lambda: passed[0])
    authentication = Authentication(cached, "localhost", lambda: NOW + timedelta(seconds=passed[0]))
    request = EdgeRequest(event("GET", "/", headers={"x-api-key": secret.reveal()}))
    assert authentication.find(request) == credential()
    store.found = credential(**change)
    passed[0] = 60.0
    with pytest.raises(Unauthorized):
        authentication.find(request)


@pytest.mark.parametrize("place", ["authorization", "x-api-key", "cookie"])
def test_a_wrong_checksum_is_refused_without_a_look_up(place: str) -> None:
    store = Store()
    authentication = Authentication(store, "localhost", lambda: NOW)
    text = new_secret("ses" if place == "cookie" else "sk").reveal()
    broken = text[:-1] + ("0" if text[-1] != "0" else "1")
    sent = {"authorization": f"Bearer {broken}", "cookie": f"__Host-b3os_session={broken}"}.get(place, broken)
    with pytest.raises(Unauthorized, match="API key checksum does not match; check that the whole key was copied"):
        authentication.find(EdgeRequest(event("GET", "/", headers={place: sent, "host": "localhost"})))
    assert store.asked == 0
