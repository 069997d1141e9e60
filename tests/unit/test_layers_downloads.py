"""The cache of downloads holds verified files only, and files appear in it whole."""

from pathlib import Path

import pytest

from layers.downloads import Downloads, write_atomically
from layers.errors import DigestError
from tests.support.layers import digest


def test_a_kept_file_is_given_again(tmp_path: Path) -> None:
    Downloads(tmp_path).put(b"data", digest(b"data"), file="f", source="s")
    assert Downloads(tmp_path).get(digest(b"data")) == b"data"


def test_a_file_that_is_not_kept_is_none(tmp_path: Path) -> None:
    assert Downloads(tmp_path / "nowhere").get(digest(b"data")) is None


def test_a_damaged_file_is_noticed_and_thrown_away(tmp_path: Path) -> None:
    (tmp_path / digest(b"data")).write_bytes(b"dat")
    assert Downloads(tmp_path).get(digest(b"data")) is None
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_digest_is_refused_with_its_name_and_both_digests_and_never_kept(tmp_path: Path) -> None:
    with pytest.raises(DigestError) as caught:
        Downloads(tmp_path).put(b"other", digest(b"data"), file="vocab.json", source="PyPI")
    assert str(caught.value) == (
        f"vocab.json from PyPI is not the pinned file: expected SHA-256 {digest(b'data')}, got {digest(b'other')}"
    )
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_atomically(tmp_path / "file", b"old")

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(tmp_path / "file", b"new")
    assert caught.value.filename == str(tmp_path / "file")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_the_cache_is_where_the_user_keeps_caches(tmp_path: Path) -> None:
    assert Downloads.from_env({"XDG_CACHE_HOME": "/c"}).folder == Path("/c/tokencount/downloads")
    assert Downloads.from_env({}).folder == Path.home() / ".cache/tokencount/downloads"
