"""Where events are recorded: a bucket, or a folder of this machine; each recording is one JSON file named by its id."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tokencount.adapters.aws import client
from tokencount.domain.ports import Recordings
from tokencount.domain.recordings import NotRecorded, Recording, RecordingsUnavailable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# The second attempt is for a connection that idled while the function was frozen.
_S3 = Config(connect_timeout=0.5, read_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})
_BUCKET = "s3://"


def recordings_at(place: str) -> Recordings:
    """The recordings of a bucket, `s3://name`, or of a folder."""
    if place.startswith(_BUCKET):
        return S3Recordings(client("s3", _S3), place.removeprefix(_BUCKET))
    return FolderRecordings(Path(place))


class S3Recordings:
    """The recordings of a bucket."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket
        # A client's timeouts are for each packet: the whole is waited for apart. One thread, so that no more than one
        # upload outlives its request.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recording")

    def put(self, recording: Recording, seconds: Callable[[], float]) -> None:
        """Keeps a recording, if its upload takes no longer.

        Raises:
            NotRecorded: it takes longer, or the bucket refuses it.
        """
        upload = self._thread.submit(
            self._client.put_object,
            Bucket=self._bucket,
            Key=_name(recording.id),
            Body=_text(recording).encode(),
            ContentType="application/json",
        )
        try:
            upload.result(seconds())
        except (BotoCoreError, ClientError, TimeoutError) as error:
            upload.cancel()
            raise NotRecorded(recording.id) from error

    def get(self, request_id: str) -> str | None:
        """The text of a recording, or None where there is none of that id.

        Raises:
            RecordingsUnavailable: the bucket is not there, or not for us.
        """
        try:
            found = self._client.get_object(Bucket=self._bucket, Key=_name(request_id))
            return found["Body"].read().decode()
        except (BotoCoreError, ClientError) as error:
            code = error.response["Error"]["Code"] if isinstance(error, ClientError) else None
            if code == "NoSuchKey":
                return None
            # So S3 answers for a missing key as well, to whom the bucket may not be listed.
            hint = "; it may be that there is no such recording" if code == "AccessDenied" else ""
            raise RecordingsUnavailable(f"the bucket {self._bucket} cannot be read: {error}{hint}") from error


class FolderRecordings:
    """The recordings of a folder, which only its owner may read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, recording: Recording, seconds: Callable[[], float]) -> None:  # noqa: ARG002  a disk is not waited for
        """Keeps a recording. Raises NotRecorded where it cannot be written."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._folder / _name(recording.id)
            draft = path.with_suffix(".draft")
            with open(draft, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(_text(recording))
            draft.replace(path)
        except OSError as error:
            raise NotRecorded(recording.id) from error

    def get(self, request_id: str) -> str | None:
        """The text of a recording, or None where there is none of that id. Raises RecordingsUnavailable."""
        try:
            return (self._folder / _name(request_id)).read_text()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RecordingsUnavailable(f"{error.filename} cannot be read: {error.strerror}") from error


def _name(request_id: str) -> str:
    return f"{request_id}.json"


def _text(recording: Recording) -> str:
    # In ASCII: half of a surrogate pair, which a body may hold, is no UTF-8.
    return json.dumps(recording.to_dict())
