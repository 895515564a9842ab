import hashlib
import http.server
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agon.core.errors import AgonError, InvalidInput, NotAllowed, NotFound, Unavailable
from agon.engines.catalogue import BUILT_INS, SMOLLM2, SMOLLM2_Q8, built_in, default_contestants
from agon.engines.progress import Progress, Stage
from agon.engines.sources import (
    HubSource,
    PathSource,
    PypiSource,
    RequantisedSource,
    Weights,
    WheelMember,
    parse_source,
)
from agon.engines.weights import WeightStore

CONTENT = bytes(range(256)) * 8192


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_wheel(folder: Path, name: str, member: str, data: bytes) -> None:
    """A wheel that pip takes for one, with a file inside."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(member, data)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: nowhere\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where pip finds packages, and the only place where it looks."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    write_wheel(folder, "agon_part_a", "data/a.bin", CONTENT[:1_000_000])
    write_wheel(folder, "agon_part_b", "data/b.bin", CONTENT[1_000_000:])
    return folder


@pytest.fixture
def two_parts() -> Weights:
    parts = (WheelMember("agon-part-a", "1.0", "data/a.bin"), WheelMember("agon-part-b", "1.0", "data/b.bin"))
    return Weights("joined", PypiSource(parts), sha(CONTENT), len(CONTENT))


class Hub(http.server.BaseHTTPRequestHandler):
    """A model hub with one file; it knows ranges, and can break off."""

    requests: list[tuple[str, str | None]]
    break_after: int | None
    delay_s: float

    def do_GET(self) -> None:
        self.requests.append((self.path, self.headers.get("Range")))
        time.sleep(self.delay_s)
        if "secret" in self.path:
            self.send_error(401)
            return
        if not self.path.endswith("/owner/repo/resolve/main/a%20model.gguf"):
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if asked and start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start : self.break_after])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
        pass


@pytest.fixture
def hub() -> Iterator[tuple[str, type[Hub]]]:
    handler = type("OneHub", (Hub,), {"requests": [], "break_after": None, "delay_s": 0.0})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", handler
        server.shutdown()
        thread.join()


HUB_WEIGHTS = Weights("from-hub", HubSource("owner/repo", "a model.gguf"), sha(CONTENT))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith((".lock", ".sha256"))}


def test_files_are_taken_out_of_wheels_and_joined(tmp_path: Path, wheels: Path, two_parts: Weights) -> None:
    store, told = WeightStore(tmp_path / "models"), list[Progress]()
    path = store.ensure(two_parts, told.append)
    assert path.read_bytes() == CONTENT
    assert names(path.parent) == {"joined.gguf"}
    assert [step.stage for step in told][-2:] == [Stage.CHECKING, Stage.READY]
    downloaded = sum(wheel.stat().st_size for wheel in wheels.glob("*.whl"))
    assert max(step.done_bytes for step in told) == downloaded
    for wheel in wheels.glob("*.whl"):
        wheel.unlink()
    assert store.ensure(two_parts) == path


def test_a_file_that_was_changed_is_fetched_again(tmp_path: Path, wheels: Path, two_parts: Weights) -> None:
    store = WeightStore(tmp_path / "models")
    path = store.ensure(two_parts)
    path.write_bytes(b"x" * len(CONTENT))
    assert not store.has(two_parts)
    assert store.ensure(two_parts).read_bytes() == CONTENT


def test_another_file_than_promised_is_refused(tmp_path: Path, wheels: Path, two_parts: Weights) -> None:
    store = WeightStore(tmp_path / "models")
    with pytest.raises(Unavailable) as caught:
        store.ensure(replace(two_parts, sha256="0" * 64))
    assert caught.value.code == "weights_digest"
    assert sha(CONTENT) in caught.value.message
    assert "0" * 64 in caught.value.message
    assert names(tmp_path / "models") == set()


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (WheelMember("agon-part-z", "1.0", "data/a.bin"), "weights_unavailable"),
        (WheelMember("agon-part-a", "1.0", "data/z.bin"), "weights_bad_package"),
    ],
)
def test_a_package_that_does_not_hold_the_file(tmp_path: Path, wheels: Path, part: WheelMember, code: str) -> None:
    with pytest.raises(Unavailable) as caught:
        WeightStore(tmp_path / "models").ensure(Weights("m", PypiSource((part,))))
    assert caught.value.code == code
    assert names(tmp_path / "models") == set()


@pytest.mark.slow
def test_an_index_that_does_not_answer(tmp_path: Path, two_parts: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(Unavailable) as caught:
        WeightStore(tmp_path).ensure(two_parts)
    assert caught.value.code == "weights_offline"


def test_a_disk_that_is_too_small_is_seen_before_the_download(tmp_path: Path, two_parts: Weights) -> None:
    with pytest.raises(Unavailable) as caught:
        WeightStore(tmp_path).ensure(replace(two_parts, size_bytes=1 << 60))
    assert caught.value.code == "disk_full"


def test_a_folder_that_cannot_be_made(tmp_path: Path, two_parts: Weights) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable) as caught:
        WeightStore(tmp_path / "file" / "models").ensure(two_parts)
    assert caught.value.code == "weights_storage"


def test_a_hub_file_comes_whole(tmp_path: Path, hub: tuple[str, type[Hub]]) -> None:
    told = list[Progress]()
    path = WeightStore(tmp_path, hub=hub[0]).ensure(HUB_WEIGHTS, told.append)
    assert path.read_bytes() == CONTENT
    assert (told[-3].done_bytes, told[-3].total_bytes) == (len(CONTENT), len(CONTENT))


def test_a_broken_hub_download_goes_on_where_it_stopped(tmp_path: Path, hub: tuple[str, type[Hub]]) -> None:
    url, handler = hub
    store = WeightStore(tmp_path, hub=url)
    handler.break_after = 700_000
    with pytest.raises(Unavailable) as caught:
        store.ensure(HUB_WEIGHTS)
    assert caught.value.code == "weights_offline"
    handler.break_after = None
    assert store.ensure(HUB_WEIGHTS).read_bytes() == CONTENT
    assert [asked for _, asked in handler.requests] == [None, "bytes=700000-"]


def test_a_download_that_was_whole_already_is_used(tmp_path: Path, hub: tuple[str, type[Hub]]) -> None:
    url, handler = hub
    store = WeightStore(tmp_path, hub=url)
    handler.break_after = 10
    with pytest.raises(Unavailable):
        store.ensure(HUB_WEIGHTS)
    next(tmp_path.glob("*.partial")).write_bytes(CONTENT)
    assert store.ensure(HUB_WEIGHTS).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (HubSource("owner/repo", "other.gguf"), Unavailable),
        (HubSource("owner/secret", "a model.gguf"), NotAllowed),
    ],
)
def test_what_a_hub_does_not_give(
    tmp_path: Path, hub: tuple[str, type[Hub]], source: HubSource, error: type[AgonError]
) -> None:
    with pytest.raises(error):
        WeightStore(tmp_path, hub=hub[0]).ensure(replace(HUB_WEIGHTS, source=source))


def test_a_hub_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        WeightStore(tmp_path, hub="http://127.0.0.1:9").ensure(HUB_WEIGHTS)
    assert caught.value.code == "weights_offline"


def test_two_who_want_the_same_file_fetch_it_once(tmp_path: Path, hub: tuple[str, type[Hub]]) -> None:
    url, handler = hub
    handler.delay_s = 0.4
    told = list[Progress]()
    with ThreadPoolExecutor() as pool:
        stores = [WeightStore(tmp_path, hub=url) for _ in range(3)]
        paths = [
            future.result() for future in [pool.submit(store.ensure, HUB_WEIGHTS, told.append) for store in stores]
        ]
    assert len(handler.requests) == 1
    assert all(path.read_bytes() == CONTENT for path in paths)
    assert Stage.WAITING in {step.stage for step in told}


def test_the_lock_holds_between_processes_and_dies_with_its_owner(tmp_path: Path, hub: tuple[str, type[Hub]]) -> None:
    url, handler = hub
    handler.delay_s = 30.0
    program = f"""
from pathlib import Path
from tests.engines.test_weights import HUB_WEIGHTS
from agon.engines.weights import WeightStore
WeightStore(Path({str(tmp_path)!r}), hub={url!r}).ensure(HUB_WEIGHTS)
"""
    with subprocess.Popen([sys.executable, "-c", program]) as other:
        while not handler.requests:
            assert other.poll() is None
            time.sleep(0.02)
        handler.delay_s = 0.0
        told = list[Progress]()

        def watch(step: Progress) -> None:
            told.append(step)
            if step.stage is Stage.WAITING:
                other.kill()

        assert WeightStore(tmp_path, hub=url).ensure(HUB_WEIGHTS, watch).read_bytes() == CONTENT
    assert told[0].stage is Stage.WAITING


def test_a_file_of_ones_own_is_used_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(CONTENT)
    store, weights = WeightStore(tmp_path / "models"), Weights("mine", PathSource(path))
    assert store.ensure(weights) == path
    assert store.ensure(replace(weights, sha256=sha(CONTENT))) == path
    with pytest.raises(Unavailable):
        store.ensure(replace(weights, sha256="0" * 64))
    with pytest.raises(NotFound):
        store.ensure(Weights("mine", PathSource(tmp_path / "none.gguf")))


@pytest.mark.parametrize(
    ("words", "source"),
    [
        ("pypi:a-b==1.0.2!c/d e.gguf", PypiSource((WheelMember("a-b", "1.0.2", "c/d e.gguf"),))),
        ("pypi:a==1!x+b==2!y", PypiSource((WheelMember("a", "1", "x"), WheelMember("b", "2", "y")))),
        ("hf:owner/repo/sub/file.gguf", HubSource("owner/repo", "sub/file.gguf")),
        ("hf:owner/repo/file.gguf@v1", HubSource("owner/repo", "file.gguf", "v1")),
        ("/models/m.gguf", PathSource(Path("/models/m.gguf"))),
    ],
)
def test_a_source_in_words(words: str, source: object) -> None:
    parsed = parse_source(words)
    assert parsed == source
    assert parse_source(str(parsed)) == source


@pytest.mark.parametrize(
    "words", ["pypi:a", "pypi:a==1", "pypi:a==1!x+", "pypi:-e==1!x", "hf:owner/file", "hf:a/b/../c", " "]
)
def test_words_that_name_no_source(words: str) -> None:
    with pytest.raises(InvalidInput):
        parse_source(words)


def test_the_catalogue_holds_together() -> None:
    for model in BUILT_INS:
        assert built_in(model.name) is model
        assert model.weights.sha256 is not None
        if isinstance(model.weights.source, RequantisedSource):
            assert built_in(model.weights.source.base)
        else:
            assert parse_source(str(model.weights.source)) == model.weights.source
    for contestant in default_contestants():
        assert built_in(contestant.name)
        assert contestant.fallback is None or built_in(contestant.fallback)
    with pytest.raises(NotFound, match=SMOLLM2):
        built_in("gpt-9")


@pytest.mark.models
def test_the_second_precision_is_made_from_the_first(smollm2: Path, tmp_path: Path) -> None:
    (tmp_path / smollm2.name).symlink_to(smollm2)
    told = list[Progress]()
    path = WeightStore(tmp_path).ensure(built_in(SMOLLM2_Q8).weights, told.append)
    assert path.stat().st_size == built_in(SMOLLM2_Q8).weights.size_bytes
    assert Stage.CONVERTING in {step.stage for step in told}
