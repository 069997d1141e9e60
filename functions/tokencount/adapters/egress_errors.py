"""Why something was not fetched: what is wrong with what was asked for, and never what was found there."""


class NotFetched(Exception):
    """Base of both. Its text completes "The image is not fetched: "."""


class Denied(NotFetched):
    """A rule of the egress guard forbids it."""


class Failed(NotFetched):
    """It is allowed, and could not be had."""
