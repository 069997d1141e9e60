"""A variable that is missing or wrong is named."""

from pathlib import Path

import pytest

from tokencount.adapters.settings import BadSetting, CounterSettings, EdgeSettings, RecorderSettings

EDGE = {
    "CREDENTIALS_TABLE": "c",
    "LIMITS_TABLE": "l",
    "REQUESTS_TABLE": "r",
    "NODE_TOKEN_SECRET": "s",
    "COUNTERS": '{"m": "f:live"}',
    "RECORD_QUEUE_URL": "q",
    "RECORD_DAYS": "30",
    "REQUESTS_PER_MINUTE": "600",
    "REQUESTS_IN_FLIGHT": "64",
    "DASHBOARD_HOST": "d",
}
COUNTER = {
    "MODEL_DIR": "/opt/model",
    "NODE_TOKEN_SECRET": "s",
    "NODE_TOKEN_KEYS": "k",
    "LIMITS_TABLE": "l",
    "REMOTE_IMAGE_BYTES_PER_MINUTE": "9",
}


def test_good_environments_become_settings() -> None:
    assert EdgeSettings.from_env(EDGE) == EdgeSettings("c", "l", "r", "s", {"m": "f:live"}, "q", 30, 600, 64, "d")
    assert EdgeSettings.from_env(EDGE | {"RECORDINGS": "s3://b"}).recordings == "s3://b"
    assert RecorderSettings.from_env(EDGE) == RecorderSettings("r")
    assert CounterSettings.from_env(COUNTER) == CounterSettings(Path("/opt/model"), "s", "k", None, "l", 9, (), ())
    assert CounterSettings.from_env(COUNTER | {"ENDPOINT_NAME": "e"}).endpoint_name == "e"


@pytest.mark.parametrize("name", EDGE)
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_variable_of_the_edge_is_named(name: str, value: str | None) -> None:
    env = {key: text for key, text in {**EDGE, name: value}.items() if text is not None}
    with pytest.raises(BadSetting, match=name):
        EdgeSettings.from_env(env)


@pytest.mark.parametrize("name", COUNTER)
def test_a_missing_variable_of_a_counter_is_named(name: str) -> None:
    with pytest.raises(BadSetting, match=name):
        CounterSettings.from_env(COUNTER | {name: ""})


@pytest.mark.parametrize("change", [{"RECORD_DAYS": "0"}, {"RECORD_DAYS": "x"}, {"COUNTERS": "[]"}, {"COUNTERS": "{"}])
def test_a_wrong_value_is_named(change: dict[str, str]) -> None:
    with pytest.raises(BadSetting, match=next(iter(change))):
        EdgeSettings.from_env(EDGE | change)


def test_the_fast_engine_is_loaded_at_once_only_where_nobody_waits_for_the_start() -> None:
    def after(**env: str) -> int | None:
        return CounterSettings.from_env(COUNTER | env).fast_engine_after

    assert after(AWS_LAMBDA_INITIALIZATION_TYPE="snap-start") == 0
    assert after(AWS_LAMBDA_INITIALIZATION_TYPE="provisioned-concurrency") == 0
    assert after(AWS_LAMBDA_INITIALIZATION_TYPE="on-demand") is None
    assert after() is None
    assert after(FAST_ENGINE_AFTER="20") == 20
    with pytest.raises(BadSetting, match="FAST_ENGINE_AFTER"):
        after(FAST_ENGINE_AFTER="soon")


def test_host_suffixes_stand_between_commas_and_a_list_may_be_empty() -> None:
    hosts = {"IMAGE_HOSTS_ALLOWED": "images.example, .CDN.example.,", "IMAGE_HOSTS_DENIED": ""}
    settings = CounterSettings.from_env(COUNTER | hosts)
    assert settings.image_hosts_allowed == ("images.example", "cdn.example")
    assert settings.image_hosts_denied == ()


@pytest.mark.parametrize("hosts", ["https://a.example", "a.example/x", "a b", "*.example"])
def test_what_is_no_host_suffix_is_named(hosts: str) -> None:
    with pytest.raises(BadSetting, match="IMAGE_HOSTS_DENIED"):
        CounterSettings.from_env(COUNTER | {"IMAGE_HOSTS_DENIED": hosts})


def test_the_signing_keys_are_not_shown() -> None:
    assert "k" * 40 not in repr(CounterSettings.from_env(COUNTER | {"NODE_TOKEN_KEYS": "k" * 40}))
