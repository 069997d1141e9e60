"""The one error of the local stack that a user is meant to read."""


class StackError(Exception):
    """The stack cannot start or go on; the text is one sentence that says why and, where it can, what to do."""
