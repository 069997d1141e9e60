"""What may be said in a log about an exception: where it was raised, and nothing of what it holds."""

import traceback


def describe(error: BaseException) -> str:
    """The exception's type and its innermost frames; its message is left out, since it may quote a request."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = " > ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in frames)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{type(error).__name__} at {places}" + (f", from {describe(cause)}" if cause else "")
