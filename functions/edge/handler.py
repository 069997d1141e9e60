"""The edge function."""

import gc

# What is made during a start is kept: to look through it for garbage would be a sixth of the time.
gc.disable()

import os
import time
from functools import cache

from aws_lambda_powertools import Logger
from botocore.config import Config

from edge.app import Edge
from edge.authentication import Authentication
from edge.infer import Infer
from edge.keys import Keys
from edge.models import Models
from edge.recording import EventRecording
from edge.requests import Requests
from edge.session import Session
from tokencount.adapters.aws import client
from tokencount.adapters.credential_cache import CachedCredentials
from tokencount.adapters.credentials import CredentialStore
from tokencount.adapters.leases import DynamoLeases
from tokencount.adapters.limit_settings import TableLimitSettings, ignored_settings
from tokencount.adapters.limits import DynamoWindows, LimitsTable
from tokencount.adapters.metrics import Metrics
from tokencount.adapters.node_tokens import NodeTokens, utc_now
from tokencount.adapters.nodes import LambdaNodes
from tokencount.adapters.record_queue import QueuedRequestLog, RecordQueue
from tokencount.adapters.request_log import DynamoRequestLog
from tokencount.adapters.secrets import NodeKeySecret
from tokencount.adapters.settings import EdgeSettings, MetricsSettings
from tokencount.domain.limiter import Limiter

# Below the edge's own 28 seconds and above the counter's 26; what a request has left is less, and is waited for apart.
_INVOKE = Config(read_timeout=27, connect_timeout=0.5, tcp_keepalive=True, retries={"total_max_attempts": 1})
# A table that does not answer in time is not waited for: the request goes on without it.
_DYNAMODB = Config(read_timeout=1, connect_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})
_SQS = Config(read_timeout=1, connect_timeout=1, retries={"total_max_attempts": 1})


def build(settings: EdgeSettings, measured: MetricsSettings) -> Edge:
    """The edge of a deployment."""

    dynamodb = client("dynamodb", _DYNAMODB)
    keys = NodeKeySecret(settings.node_token_secret)
    tokens = NodeTokens(keys.read(), keys.read)
    nodes = LambdaNodes(client("lambda", _INVOKE), settings.counters, tokens)
    store = CredentialStore(dynamodb, settings.credentials_table)
    # By the wall's clock: another may stand still while the function is frozen.
    credentials = CachedCredentials(store, time.time)
    logger = Logger()
    metrics = Metrics(measured, logger)
    table = DynamoRequestLog(dynamodb, settings.requests_table, utc_now)
    queue = RecordQueue(cache(lambda: client("sqs", _SQS)), settings.record_queue_url)
    log = QueuedRequestLog(table, queue, logger, metrics)
    return Edge(
        Infer(Models.read(), nodes, _limiter(settings, logger, metrics)).routes
        | Requests(log).routes
        | Keys(store, credentials.forget, utc_now).routes
        | Session().routes,
        authentication=Authentication(credentials, settings.dashboard_host, utc_now),
        log=log,
        record_days=settings.record_days,
        recording=_recording(settings.recordings, metrics),
        logger=logger,
        metrics=metrics,
        now=utc_now,
    )


def _limiter(settings: EdgeSettings, logger: Logger, metrics: Metrics) -> Limiter:
    table = LimitsTable.named(settings.limits_table)
    limit_settings = TableLimitSettings(
        table,
        requests_per_minute=settings.requests_per_minute,
        requests_in_flight=settings.requests_in_flight,
        clock=time.time,
        ignored=ignored_settings(logger),
    )
    unavailable = metrics.limiter_unavailable
    return Limiter(DynamoWindows(table), DynamoLeases(table), limit_settings, now=utc_now, unavailable=unavailable)


def _recording(place: str | None, metrics: Metrics) -> EventRecording | None:
    if place is None:
        return None
    # Only where it is on, and then in the snapshot as well: S3's client is dear at the start.
    from tokencount.adapters.recordings import recordings_at  # noqa: PLC0415

    return EventRecording(recordings_at(place), metrics.event_not_recorded)


handler = build(EdgeSettings.from_env(os.environ), MetricsSettings.from_env(os.environ))
gc.freeze()
gc.enable()
