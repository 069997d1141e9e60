"""The one error of a deployment that a user is meant to read."""


class DeployError(Exception):
    """The text is one sentence that says what is wrong and what to do."""
