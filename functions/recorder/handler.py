"""The recorder function."""

import os
from datetime import UTC, datetime
from functools import partial

from aws_lambda_powertools import Logger
from botocore.config import Config

from recorder.app import Recorder
from tokencount.adapters.aws import client
from tokencount.adapters.metrics import Metrics
from tokencount.adapters.request_log import DynamoRequestLog
from tokencount.adapters.settings import MetricsSettings, RecorderSettings

# Ten messages of a table that does not answer end within the function's 30 seconds; the queue tries again.
_DYNAMODB = Config(read_timeout=1, connect_timeout=1, retries={"total_max_attempts": 1})


def build(settings: RecorderSettings, measured: MetricsSettings) -> Recorder:
    """The recorder of a deployment."""
    dynamodb = client("dynamodb", _DYNAMODB)
    now = partial(datetime.now, UTC)
    logger = Logger()
    table = DynamoRequestLog(dynamodb, settings.requests_table, now)
    return Recorder(table, logger, Metrics(measured, logger), now)


handler = build(RecorderSettings.from_env(os.environ), MetricsSettings.from_env(os.environ))
