"""Counting without the service: what the commands that do so share."""

import math
from contextlib import nullcontext

from tokencount.adapters.egress import EgressGuard
from tokencount.adapters.images import Images
from tokencount.adapters.remote_images import RemoteImages, without_budget
from tokencount.adapters.validation import validate
from tokencount.domain.counting import Job
from tokencount.domain.ports import Caller

NOBODY = Caller("", "", (), "")


def guarded_images() -> Images:
    """Reads images as the service does, those by url through its guard and within no budget."""
    return Images(RemoteImages(EgressGuard(), without_budget).fetch)


def job_of(request: object) -> Job:
    """The job of a parsed body, for which there is all the time.

    Raises:
        InvalidRequest, UnsupportedParameter: it is no Messages request that can be counted.
    """
    return Job(validate(request), NOBODY, lambda _phase: nullcontext(), lambda: math.inf)
