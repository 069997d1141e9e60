"""Files of a Hugging Face repository, by the real client, which honours the user's HF_ENDPOINT, HF_TOKEN and proxies.

The client is patient by nature: it waits for a name for as long as the resolver likes and starts a cut download again
for as long as anything arrives. Here the hub has a few seconds to answer, and a download a few attempts.
"""

import errno
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from layers.errors import MissingFileError, SourceError, first_line
from layers.manifest import HubSource

T = TypeVar("T")
ANSWER_SECONDS = 10
ATTEMPTS = 5

# Read by the client when it is imported. Xet would fetch by a second protocol; plain HTTP is the one that is tested.
_CLIENT_SETTINGS = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_VERBOSITY": "critical",
}


def fetch_from_hub(source: HubSource, file: str) -> bytes:
    """One file of the pinned commit, not yet verified; raises SourceError in a sentence."""
    with _asking(source.repo, source.revision, file) as client:
        _metadata(client, source.repo, source.revision, file)
        with tempfile.TemporaryDirectory(prefix="tokencount-hub-") as cache:
            got = client.hf_hub_download(source.repo, file, revision=source.revision, cache_dir=cache)
            return Path(got).read_bytes()


def newest_commit(repo: str) -> str:
    """The commit that a repository's main branch stands at; raises SourceError in a sentence."""
    file = "tokenizer.json"
    with _asking(repo, "main", file) as client:
        commit: str | None = _metadata(client, repo, "main", file).commit_hash
    if commit is None:
        raise SourceError(f"the hub does not say at which commit {repo} is")
    return commit


@contextmanager
def _asking(repo: str, revision: str, file: str) -> Iterator[Any]:
    """The client, its session set up for one file; what goes wrong becomes a sentence."""
    os.environ.update(_CLIENT_SETTINGS)
    import httpx2  # noqa: PLC0415  (with the client 0.4 s, which a build from other sources need not wait for)
    import huggingface_hub  # noqa: PLC0415

    try:
        huggingface_hub.close_session()
        session = huggingface_hub.get_session()
        session.event_hooks = {**session.event_hooks, "request": [*session.event_hooks["request"], _attempts(file)]}
        yield huggingface_hub
    except (httpx2.HTTPError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        missing = isinstance(error, huggingface_hub.errors.RemoteEntryNotFoundError)
        raise (MissingFileError if missing else SourceError)(_sentence(error, repo, revision, file)) from error


def _metadata(client: Any, repo: str, revision: str, file: str) -> Any:
    url = client.hf_hub_url(repo, file, revision=revision)
    return _within(ANSWER_SECONDS, lambda: client.get_hf_file_metadata(url, timeout=ANSWER_SECONDS / 2))


def _within(seconds: float, call: Callable[[], T]) -> T:
    """What the call gives, made in a thread that is left behind when it takes longer; raises what the call raises."""
    outcome: Future[T] = Future()

    def attempt() -> None:
        try:
            outcome.set_result(call())
        except Exception as error:
            outcome.set_exception(error)

    threading.Thread(target=attempt, daemon=True).start()
    try:
        return outcome.result(timeout=seconds)
    except TimeoutError:
        if outcome.done():
            raise
        raise SourceError(f"the hub gave no answer within {seconds} seconds") from None


def _attempts(file: str) -> Callable[[object], None]:
    """A hook of the client's session: it refuses to ask for one URL again and again."""
    asked: Counter[str] = Counter()

    def count(request: object) -> None:
        key = f"{getattr(request, 'method', '')} {getattr(request, 'url', '')}"
        asked[key] += 1
        if asked[key] > ATTEMPTS:
            raise SourceError(f"the download of {file} broke off {ATTEMPTS} times")

    return count


def _sentence(error: Exception, repo: str, revision: str, file: str) -> str:
    import httpx2  # noqa: PLC0415
    from huggingface_hub import constants, errors  # noqa: PLC0415

    status = getattr(getattr(error, "response", None), "status_code", None)
    place = f"{repo} at {revision[:7]}"
    if isinstance(error, errors.GatedRepoError):
        return f"{repo} is gated: accept its terms on the hub and set HF_TOKEN"
    if status in (401, 403):
        return f"the hub refuses {repo} (HTTP {status}): it is missing, or private and HF_TOKEN does not open it"
    if status == 404:
        return f"the hub has no {file} in {place} (HTTP 404)"
    if status is not None:
        return f"the hub answers HTTP {status} for {file} in {place}"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "the hub is switched off by HF_HUB_OFFLINE"
    reason = first_line(error.__cause__ or error)
    if isinstance(error, httpx2.ConnectError | httpx2.TimeoutException):
        return f"the hub at {constants.ENDPOINT} cannot be reached: {reason}"
    return f"{file} cannot be had from the hub at {constants.ENDPOINT}: {reason}"
