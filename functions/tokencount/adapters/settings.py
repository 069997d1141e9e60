"""The environment, read once by a composition root; a variable that is missing or wrong is named."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

_HOST_SUFFIX = re.compile(r"[a-z0-9_.-]+")


class BadSetting(Exception):
    """A variable of the environment is missing or has a value that cannot be used."""


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """Whose a function's metrics are.

    Args:
        version: the function's.
        restored: its environments are restored from a snapshot.
    """

    namespace: str
    service: str
    version: str
    restored: bool

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Of Lambda's variables and Powertools' own. Raises BadSetting, naming the variable."""
        return cls(
            namespace=_text(env, "POWERTOOLS_METRICS_NAMESPACE"),
            service=_text(env, "POWERTOOLS_SERVICE_NAME"),
            version=env.get("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            restored=env.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start",
        )


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """What the edge function is told.

    Args:
        counters: the alias to invoke, by model id.
        record_queue_url: where records go that the table does not take.
        record_days: how long a request's record is kept.
        requests_per_minute: of a project, where its own settings say nothing else.
        requests_in_flight: likewise of an organization.
        dashboard_host: where the session cookie is accepted; `localhost` for one on this machine.
        recordings: the bucket, `s3://name`, or the folder where events are recorded; None: they are not.
    """

    credentials_table: str
    limits_table: str
    requests_table: str
    node_token_secret: str
    counters: Mapping[str, str]
    record_queue_url: str
    record_days: int
    requests_per_minute: int
    requests_in_flight: int
    dashboard_host: str
    recordings: str | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Raises BadSetting, naming the variable."""
        return cls(
            credentials_table=_text(env, "CREDENTIALS_TABLE"),
            limits_table=_text(env, "LIMITS_TABLE"),
            requests_table=_text(env, "REQUESTS_TABLE"),
            node_token_secret=_text(env, "NODE_TOKEN_SECRET"),
            counters=_mapping(env, "COUNTERS"),
            record_queue_url=_text(env, "RECORD_QUEUE_URL"),
            record_days=_positive(env, "RECORD_DAYS"),
            requests_per_minute=_positive(env, "REQUESTS_PER_MINUTE"),
            requests_in_flight=_positive(env, "REQUESTS_IN_FLIGHT"),
            dashboard_host=_text(env, "DASHBOARD_HOST"),
            recordings=env.get("RECORDINGS") or None,
        )


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """What the recorder function is told."""

    requests_table: str

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Raises BadSetting, naming the variable."""
        return cls(requests_table=_text(env, "REQUESTS_TABLE"))


@dataclass(frozen=True, slots=True)
class CounterSettings:
    """What a counter function is told.

    Args:
        model_dir: where the model's layer is mounted.
        node_token_secret: the secret to read again where a token names a key that `node_token_keys` lacks.
        endpoint_name: of the model's SageMaker endpoint; None where none is deployed.
        remote_image_bytes_per_minute: of a project, where its own settings say nothing else.
        image_hosts_allowed: suffixes of the hosts that images may be fetched from; empty for every public one.
        image_hosts_denied: suffixes of those that they may not be fetched from.
        fast_engine_after: how many answers come before the fast engine is loaded; None: it never is.
    """

    model_dir: Path
    node_token_secret: str
    node_token_keys: str = field(repr=False)
    endpoint_name: str | None
    limits_table: str
    remote_image_bytes_per_minute: int
    image_hosts_allowed: tuple[str, ...]
    image_hosts_denied: tuple[str, ...]
    fast_engine_after: int | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Raises BadSetting, naming the variable."""
        return cls(
            model_dir=Path(_text(env, "MODEL_DIR")),
            node_token_secret=_text(env, "NODE_TOKEN_SECRET"),
            node_token_keys=_text(env, "NODE_TOKEN_KEYS"),
            endpoint_name=env.get("ENDPOINT_NAME") or None,
            limits_table=_text(env, "LIMITS_TABLE"),
            remote_image_bytes_per_minute=_positive(env, "REMOTE_IMAGE_BYTES_PER_MINUTE"),
            image_hosts_allowed=_hosts(env, "IMAGE_HOSTS_ALLOWED"),
            image_hosts_denied=_hosts(env, "IMAGE_HOSTS_DENIED"),
            fast_engine_after=_fast_engine_after(env),
        )


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """What the endpoint's container is told.

    Args:
        model_dir: where the model's layer is.
        host: the address to bind, every one in a container.
        port: as SageMaker itself may choose it.
    """

    model_dir: Path
    host: str
    port: int

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Raises BadSetting, naming the variable."""
        return cls(
            model_dir=Path(_text(env, "MODEL_DIR")),
            host=env.get("BIND_HOST") or "0.0.0.0",  # noqa: S104 - a container of its own
            port=_positive({"SAGEMAKER_BIND_TO_PORT": "8080", **env}, "SAGEMAKER_BIND_TO_PORT"),
        )


def _text(env: Mapping[str, str], name: str) -> str:
    if not env.get(name):
        raise BadSetting(f"the environment variable {name} must be set")
    return env[name]


def _positive(env: Mapping[str, str], name: str) -> int:
    text = _text(env, name)
    if not text.isdecimal() or int(text) < 1:
        raise BadSetting(f"the environment variable {name} must be a whole number of at least 1, and is {text!r}")
    return int(text)


def _fast_engine_after(env: Mapping[str, str]) -> int | None:
    """At once where nobody waits for the start; else only where told, in a process that works between requests."""
    if env.get("AWS_LAMBDA_INITIALIZATION_TYPE") in ("snap-start", "provisioned-concurrency"):
        return 0
    return _positive(env, "FAST_ENGINE_AFTER") if env.get("FAST_ENGINE_AFTER") else None


def _hosts(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Host suffixes between commas; none where the variable is empty or missing."""
    hosts = tuple(host.strip().lower().strip(".") for host in env.get(name, "").split(",") if host.strip())
    for host in hosts:
        if not _HOST_SUFFIX.fullmatch(host):
            raise BadSetting(f"the environment variable {name} must hold host names between commas, and has {host!r}")
    return hosts


def _mapping(env: Mapping[str, str], name: str) -> Mapping[str, str]:
    try:
        value = json.loads(_text(env, name))
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise BadSetting(f"the environment variable {name} must be a JSON object of strings")
    return value
