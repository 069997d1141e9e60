"""Composes what fetches images by url; imported when the first request has one, for botocore takes its time."""

import time

from aws_lambda_powertools import Logger

from tokencount.adapters.egress import EgressGuard
from tokencount.adapters.limit_settings import TableImageLimits, ignored_settings
from tokencount.adapters.limits import DynamoWindows, LimitsTable
from tokencount.adapters.metrics import Metrics
from tokencount.adapters.node_tokens import utc_now
from tokencount.adapters.remote_images import RemoteImages
from tokencount.adapters.settings import CounterSettings
from tokencount.domain.image_budget import ImageBudget


def build(settings: CounterSettings, logger: Logger, metrics: Metrics) -> RemoteImages:
    """The remote images of a counter function."""
    table = LimitsTable.named(settings.limits_table)
    limits = TableImageLimits(
        table,
        remote_image_bytes_per_minute=settings.remote_image_bytes_per_minute,
        clock=time.time,
        ignored=ignored_settings(logger),
    )
    budget = ImageBudget(DynamoWindows(table), limits, now=utc_now, unavailable=metrics.limiter_unavailable)
    guard = EgressGuard(allowed=settings.image_hosts_allowed, denied=settings.image_hosts_denied)
    return RemoteImages(guard, budget.hold)
