"""Downloads a file from a model hub, going on where an earlier try stopped."""

import hashlib
import os
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Protocol, cast

from agon.core.errors import NotAllowed, Unavailable
from agon.engines.sources import HubSource

DEFAULT_HUB = "https://huggingface.co"
"""`HF_ENDPOINT` names another one, `HF_TOKEN` a key to it."""

_TIMEOUT_S = 30
_CHUNK_BYTES = 1 << 20


class OnBytes(Protocol):
    def __call__(self, done: int, total: int | None, /) -> None: ...


def fetch_hub(source: HubSource, target: Path, *, on_bytes: OnBytes, hub: str | None = None) -> str:
    """Write the file to `target` and return its SHA-256. Raises `Unavailable`, `NotAllowed`.

    What `target` already holds is taken for the start of the same file, which the digest proves or refutes later.
    """
    have = target.stat().st_size if target.exists() else 0
    try:
        with _open(_url(source, hub), have) as response:
            resumed = response.status == 206
            done = have if resumed else 0
            length = response.headers.get("Content-Length")
            total = done + int(length) if length else None
            with target.open("ab" if resumed else "wb") as out:
                while chunk := response.read(_CHUNK_BYTES):
                    out.write(chunk)
                    done += len(chunk)
                    on_bytes(done, total)
        if total is not None and done < total:
            raise _broken(source, f"{done} of {total} bytes came")
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # all of it was there, or it is another file by now
            return digest_of(target)
        raise _refused(source, error.code) from None
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
        raise _broken(source, str(getattr(error, "reason", error) or type(error).__name__)) from None
    return digest_of(target)


def _url(source: HubSource, hub: str | None) -> str:
    base = (hub or os.environ.get("HF_ENDPOINT") or DEFAULT_HUB).rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise Unavailable(f"HF_ENDPOINT is no address of a model hub: {base}", code="weights_unavailable")
    return f"{base}/{source.repo}/resolve/{urllib.parse.quote(source.revision)}/{urllib.parse.quote(source.file)}"


def _open(url: str, have: int) -> HTTPResponse:
    request = urllib.request.Request(url, headers={"User-Agent": "agon"})  # noqa: S310  `_url` lets only http(s) pass
    if have:
        request.add_header("Range", f"bytes={have}-")
    if token := os.environ.get("HF_TOKEN"):
        # Hubs redirect to other hosts for the bytes: the key stays with the hub.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    return cast("HTTPResponse", urllib.request.urlopen(request, timeout=_TIMEOUT_S))  # noqa: S310


def digest_of(path: Path) -> str:
    """The file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refused(source: HubSource, status: int) -> Unavailable | NotAllowed:
    if status in {401, 403}:
        return NotAllowed(f"The model hub does not let you have {source}: set HF_TOKEN to a key that may read it.")
    return Unavailable(f"The model hub has no {source} to give ({status}).", code="weights_unavailable")


def _broken(source: HubSource, reason: str) -> Unavailable:
    return Unavailable(
        f"{source} cannot be downloaded ({reason}). Check the network and try again: it goes on where it stopped.",
        code="weights_offline",
    )
