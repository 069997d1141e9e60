"""Metrics in CloudWatch's embedded metric format: a line of JSON in the function's log."""

from aws_lambda_powertools.metrics import MetricUnit, single_metric

from tokencount.adapters.faults import describe
from tokencount.domain.limits import LimitsUnavailable
from tokencount.domain.ports import Caller
from tokencount.domain.recordings import NotRecorded

NAMESPACE = "Tokencount"


def limiter_unavailable(caller: Caller, error: LimitsUnavailable) -> None:
    """Counts a request whose limits could not be reached; the line also says which request, and where it failed."""
    with single_metric(name="LimiterUnavailable", unit=MetricUnit.Count, value=1, namespace=NAMESPACE) as metric:
        metric.add_metadata("request_id", caller.request_id)
        metric.add_metadata("fault", describe(error))


def event_not_recorded(request_id: str, error: NotRecorded) -> None:
    """Counts a request whose event could not be recorded; the line also says which request, and where it failed."""
    with single_metric(name="EventNotRecorded", unit=MetricUnit.Count, value=1, namespace=NAMESPACE) as metric:
        metric.add_metadata("request_id", request_id)
        metric.add_metadata("fault", describe(error))
