from pathlib import Path

import numpy as np
import pytest
from tests.engines.gguf_files import TEMPLATE, model_metadata, q4_1_rows, write_gguf

from agon.core.errors import EngineRejected
from agon.engines.gguf_header import read_header
from agon.engines.memory import available_bytes, give_back_memory, needed_bytes
from agon.engines.requantise import requantise


def test_a_header_is_read_past_its_vocabulary(tmp_path: Path) -> None:
    metadata = model_metadata(**{"llama.rope.freq_base": 0.5, "tokenizer.ggml.add_bos_token": True})
    path = write_gguf(tmp_path / "m.gguf", metadata, {"w": ((32, 2), 0, b"\1" * 256), "v": ((8,), 0, b"\2" * 32)})
    header = read_header(path)
    assert header.metadata == {key: value for key, value in metadata.items() if not isinstance(value, list)}
    assert header.chat_template == TEMPLATE
    assert header.number("block_count") == 10
    assert header.number("not.there", 7) == 7
    assert [(t.name, t.shape, t.type, t.elements) for t in header.tensors] == [("w", (32, 2), 0, 64), ("v", (8,), 0, 8)]
    data = path.read_bytes()[header.data_start :]
    assert data[header.tensors[1].offset :] == b"\2" * 32
    assert header.file_bytes == path.stat().st_size


@pytest.mark.parametrize("keep", [0, 3, 20, 200, 0.6, 0.95])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, keep: float) -> None:
    path = write_gguf(tmp_path / "m.gguf", model_metadata(), {"a": ((512,), 0, bytes(2048)), "w": ((9,), 0, bytes(36))})
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if keep < 1 else int(keep)])
    with pytest.raises(EngineRejected, match="fetch it again"):
        read_header(path)


@pytest.mark.parametrize("content", [b"not a model at all" * 10, b"GGUF" + b"\xff" * 100])
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(EngineRejected) as caught:
        read_header(path)
    assert caught.value.code == "engine_bad_weights"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineRejected):
        read_header(tmp_path / "none.gguf")


def test_needed_memory_counts_file_cache_and_work(tmp_path: Path) -> None:
    embedding = {"token_embd.weight": ((64, 1000), 0, bytes(256_000))}
    header = read_header(write_gguf(tmp_path / "m.gguf", model_metadata(), embedding))
    base = needed_bytes(header, ctx=0, batch=0)
    assert base >= header.file_bytes
    # Ten layers, each with keys and values of two heads of 16, at two bytes.
    assert needed_bytes(header, ctx=1000, batch=0) - base == 1000 * 10 * 2 * 32 * 2
    assert needed_bytes(header, ctx=0, batch=10) - base >= 10 * 1000 * 4


def test_a_container_limit_bounds_what_is_available(tmp_path: Path) -> None:
    free = available_bytes(cgroup_root=tmp_path)
    assert free > 0
    for folder, current in ((tmp_path, "memory.current"), (tmp_path / "memory", "memory.usage_in_bytes")):
        folder.mkdir(exist_ok=True)
        limit = "memory.max" if current == "memory.current" else "memory.limit_in_bytes"
        (folder / limit).write_text("5000\n")
        (folder / current).write_text("4500\n")
        (folder / "memory.stat").write_text("anon 1\ninactive_file 300\n")
    assert available_bytes(cgroup_root=tmp_path) == 800
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        (tmp_path / name).write_text("max\n")
    assert available_bytes(cgroup_root=tmp_path) > 800
    give_back_memory()


def test_requantising_keeps_the_values_and_is_repeatable(tmp_path: Path) -> None:
    from gguf import GGMLQuantizationType, GGUFReader
    from gguf.quants import dequantize

    plain = np.linspace(-1, 1, 24, dtype="<f4").tobytes()
    tensors = {
        "w": ((96, 5), 3, q4_1_rows(5, 96, seed=1)),
        "n": ((24,), 0, plain),
        "u": ((32, 3), 3, q4_1_rows(3, 32, seed=2)),
    }
    source = write_gguf(tmp_path / "q4.gguf", model_metadata(), tensors)
    told: list[tuple[int, int]] = []
    requantise(source, tmp_path / "a.gguf", on_progress=lambda done, total: told.append((done, total)))
    requantise(source, tmp_path / "b.gguf", on_progress=lambda _done, _total: None)
    assert (tmp_path / "a.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()
    assert len(told) == 3
    # Read with the format's own library, not with ours.
    before, after = GGUFReader(source), GGUFReader(tmp_path / "a.gguf")
    kinds = [tensor.tensor_type for tensor in after.tensors]
    assert kinds == [GGMLQuantizationType.Q8_0, GGMLQuantizationType.F32, GGMLQuantizationType.Q8_0]
    for old, new in zip(before.tensors, after.tensors, strict=True):
        assert old.name == new.name
        a, b = (dequantize(tensor.data, tensor.tensor_type) for tensor in (old, new))
        # Half a step of eight bits, and the rounding of the scale to half precision.
        np.testing.assert_allclose(a, b, atol=float(np.abs(a).max()) / 127 * 0.51 + 1e-3)
    fields = {name: after.fields[name].contents() for name in ("general.file_type", "llama.block_count")}
    assert fields == {"general.file_type": 7, "llama.block_count": 10}
    assert after.fields["tokenizer.ggml.tokens"].contents()[:3] == ["a", "桥", "👩‍🚀"]
