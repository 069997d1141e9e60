"""A credential is recognised, refused without a look-up, and never prints itself."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokencount.adapters.credential_cache import CachedCredentials
from tokencount.domain.credentials import BASE32, Credential, Secret, checksum, new_secret, parse_secret
from tokencount.domain.errors import Forbidden, Unauthorized

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def credential(**rest: object) -> Credential:
    plain = {"id": "key_1", "kind": "api_key", "organization": "o", "project": "p", "scopes": ["infer:run"]}
    return Credential(**{**plain, "name": "n", "prefix": "b3os_sk_0000", "created_at": NOW, **rest})  # type: ignore[arg-type]


def test_a_new_key_has_the_form_of_the_contract_and_is_accepted() -> None:
    text = new_secret("sk").reveal()
    kind, random, check = text.rsplit("_", 2)
    assert kind == "b3os_sk"
    assert len(random) == 32
    assert set(random + check) <= set(BASE32)
    assert check == checksum(f"b3os_sk_{random}")
    assert parse_secret(text).digest == Secret(text).digest


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
