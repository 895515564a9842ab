"""Engines are made once, found again, and made anew when anything that decides them has changed."""

import json
import logging
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.scoring.quantise.conftest import workshop
from tests.scoring.quantise.small import small_model, some_samples

from agon.core.errors import InvalidInput, NotFound, Unavailable
from agon.engines.encoder.artefact import (
    ENGINE_FILE,
    INT8_FOLDER,
    MODEL_FILE,
    TENSORRT_FOLDER,
    current,
    sha256_of,
    write_artefact,
)
from agon.engines.encoder.calibration import CALIBRATION_FILE, calibration_digest, draw, load
from agon.engines.encoder.choosing import Candidate, choose
from agon.engines.encoder.files import locked, replace_folder, replace_text
from agon.engines.encoder.making import Made
from agon.engines.encoder.processor import overflows
from agon.engines.encoder.quantise import Recipe
from agon.engines.encoder.session import int8_digest
from agon.engines.encoder.texts import PACKAGED, Texts, divide, read_texts
from agon.scoring.fidelity import Fidelity
from agon.scoring.reward.preferences import Preference


def _none(_: object) -> None:
    """Choose nothing."""


@pytest.fixture
def folder(made: tuple[Path, Made], tmp_path: Path) -> Path:
    """A copy of the model with its engine, to be written to."""
    return Path(shutil.copytree(made[0], tmp_path / "model"))


class TestEngine:
    def test_it_is_small_faithful_and_says_what_it_is(self, made: tuple[Path, Made]) -> None:
        folder, first = made
        size = (folder / INT8_FOLDER / MODEL_FILE).stat().st_size
        assert size < 0.3 * (folder / "model.onnx").stat().st_size
        said = json.loads((folder / INT8_FOLDER / ENGINE_FILE).read_text("utf-8"))
        assert said["digest"] == sha256_of(folder / INT8_FOLDER / MODEL_FILE) == first.artefact.digest
        assert said["source"] == sha256_of(folder / "model.onnx")
        assert said["options"]["name"] in {candidate.recipe.name for candidate in first.candidates}
        assert said["fidelity"]["kl_mean"] < 0.01
        assert len(first.candidates) == 3

    def test_it_is_found_again(self, folder: Path, texts: Texts) -> None:
        before = (folder / INT8_FOLDER / MODEL_FILE).stat()
        told: list[str] = []
        again = workshop(folder, texts, told).int8()
        assert again.reused
        assert told == ["the int8 engine is there"]
        assert (folder / INT8_FOLDER / MODEL_FILE).stat().st_mtime_ns == before.st_mtime_ns

    def test_a_lost_engine_is_made_from_the_kept_calibration(self, folder: Path, texts: Texts) -> None:
        shutil.rmtree(folder / INT8_FOLDER)
        told: list[str] = []
        again = workshop(folder, texts, told).int8()
        assert (again.reused, again.calibration_reused) == (False, True)
        assert "reusing the calibration on 40 samples" in told

    @pytest.mark.parametrize("harm", ["graph", "half", "no graph", "half a note", "other options"])
    def test_a_broken_or_stale_engine_is_made_anew(
        self, folder: Path, texts: Texts, harm: str, made: tuple[Path, Made]
    ) -> None:
        graph, note = folder / INT8_FOLDER / MODEL_FILE, folder / INT8_FOLDER / ENGINE_FILE
        content = graph.read_bytes()
        if harm == "graph":
            graph.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        elif harm == "half":
            graph.write_bytes(content[: len(content) // 2])
        elif harm == "no graph":
            graph.unlink()
        elif harm == "half a note":
            note.write_text(note.read_text("utf-8")[:50], encoding="utf-8")
        else:
            said = json.loads(note.read_text("utf-8"))
            note.write_text(json.dumps({**said, "options": {**said["options"], "made_by": 0}}), encoding="utf-8")
        if harm != "other options":
            with pytest.raises(Unavailable) as raised:
                int8_digest(folder)
            assert raised.value.code == "int8_missing"
        again = workshop(folder, texts).int8()
        assert not again.reused
        assert int8_digest(folder) == again.artefact.digest
        if again.artefact.options["name"] == made[1].artefact.options["name"]:
            assert again.artefact.digest == made[1].artefact.digest

    def test_another_model_makes_another_engine(self, folder: Path, texts: Texts, made: tuple[Path, Made]) -> None:
        small_model(folder, seed=1)
        with pytest.raises(Unavailable):
            int8_digest(folder)
        again = workshop(folder, texts).int8()
        assert (again.reused, again.calibration_reused) == (False, False)
        assert again.artefact.digest != made[1].artefact.digest

    def test_other_samples_make_another_calibration(self, folder: Path, texts: Texts) -> None:
        fewer = Texts(texts.calibration[:20], texts.held)
        assert not workshop(folder, fewer).int8().calibration_reused

    def test_both_engines_share_the_calibration(self, folder: Path, texts: Texts) -> None:
        found = workshop(folder, texts).tensorrt()
        assert found.calibration_reused
        assert current(folder / TENSORRT_FOLDER, sha256_of(folder / "model.onnx")) == found.artefact
        assert workshop(folder, texts).tensorrt().reused


class TestCalibration:
    def test_a_draw_has_every_length_and_its_seed_decides(self) -> None:
        samples = some_samples(500)
        lengths = [len(sample.answer) for sample in samples]
        first, same, other = (draw(samples, lengths, 50, seed) for seed in (1, 1, 2))
        assert first == same
        assert first != other
        assert len(first) == len(set(map(id, first))) == 50
        deciles = np.quantile(lengths, [0.25, 0.5, 0.75])
        drawn = np.quantile([len(sample.answer) for sample in first], [0.25, 0.5, 0.75])
        assert np.abs(drawn - deciles).max() < 0.15 * np.ptp(lengths)
        assert draw(samples, lengths, 500, 1) == samples

    def test_a_digest_knows_model_and_texts(self) -> None:
        samples = some_samples(3)
        assert calibration_digest("a", samples) == calibration_digest("a", samples)
        others = [calibration_digest("b", samples), calibration_digest("a", samples[:2])]
        assert calibration_digest("a", samples) not in others

    def test_a_kept_calibration_is_the_one_that_was_made(self, folder: Path, texts: Texts) -> None:
        bench = workshop(folder, texts)
        new, reused = bench.calibration(again=True)
        kept, found = bench.calibration()
        assert (reused, found) == (False, True)
        assert new.ranges.keys() == kept.ranges.keys()
        for name, each in new.ranges.items():
            assert (each.low, each.high) == (kept.ranges[name].low, kept.ranges[name].high)
            assert np.array_equal(each.channels, kept.ranges[name].channels)

    def test_a_broken_file_is_none(self, folder: Path) -> None:
        path = folder / CALIBRATION_FILE
        text = path.read_text("utf-8")
        digest = json.loads(text)["digest"]
        kept = load(folder, digest)
        assert kept is not None
        assert all(each.low < each.high for each in kept.ranges.values())
        assert load(folder, "0" * 64) is None
        for broken in (text[: len(text) // 2], "[]", json.dumps({"format": 1, "digest": digest}), ""):
            path.write_text(broken, encoding="utf-8")
            assert load(folder, digest) is None


class TestTexts:
    def test_prompts_are_on_one_side_only(self) -> None:
        pairs = [Preference(f"prompt {n % 40}", f"a{n}", f"b{n}", 1.0, "f", "s") for n in range(120)]
        texts = divide(pairs)
        held = {pair.prompt for pair in texts.held}
        assert 0 < len(held) < 40
        assert not held & {sample.prompt for sample in texts.calibration}
        assert len(texts.held) * 2 + len(texts.calibration) == 240

    def test_what_comes_with_agon_is_enough(self) -> None:
        texts, faults = read_texts([PACKAGED])
        assert not faults
        assert len(texts.calibration) >= 300
        assert len(texts.held) >= 80

    def test_bad_lines_are_named_and_left_out(self, tmp_path: Path, pairs_file: Path) -> None:
        path = tmp_path / "bad.jsonl"
        path.write_bytes(b'{"prompt": 1}\n' + pairs_file.read_bytes() + b"\xff\n")
        _, faults = read_texts([path])
        assert [fault.line for fault in faults] == [1, 82]

    def test_too_few_and_missing_files_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "few.jsonl"
        path.write_text("", encoding="utf-8")
        with pytest.raises(InvalidInput) as raised:
            read_texts([path])
        assert raised.value.code == "too_few_samples"
        with pytest.raises(NotFound):
            read_texts([tmp_path / "none.jsonl"])


class TestChoice:
    fidelity = Fidelity(100, 50, 0.01, 0.02, 0.001, 0.01, 0.99, 0.98, 0.99)

    def candidate(self, name: str, seconds: float, **lost: float) -> Candidate:
        return Candidate(Recipe(name), replace(self.fidelity, **lost), seconds, 1)

    def test_the_faithful_one_of_the_fast(self) -> None:
        fast = self.candidate("fast", 1.0, kl_mean=0.002)
        close = self.candidate("close", 1.1, kl_mean=0.0005)
        slow = self.candidate("slow", 1.5, kl_mean=0.0001)
        assert choose([fast, close, slow]) == close

    def test_speed_does_not_pay_for_faith(self) -> None:
        wrong = self.candidate("wrong", 0.1, top1=0.94)
        right = self.candidate("right", 1.0)
        assert choose([wrong, right]) == right
        assert choose([wrong]) is None

    def test_nothing_is_written_where_all_lose_too_much(
        self, tmp_path: Path, texts: Texts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = small_model(tmp_path / "model")
        monkeypatch.setattr("agon.engines.encoder.making.choose", _none)
        with pytest.raises(Unavailable) as raised:
            workshop(folder, texts).int8()
        assert raised.value.code == "int8_unfaithful"
        assert not (folder / INT8_FOLDER).exists()


class TestFiles:
    def test_a_folder_comes_as_a_whole(self, tmp_path: Path) -> None:
        place = tmp_path / "engine"
        replace_folder(place, {"a": b"1", "b": b"2"})
        replace_folder(place, {"a": b"3"})
        assert {path.name: path.read_bytes() for path in place.iterdir()} == {"a": b"3"}
        assert [path.name for path in tmp_path.iterdir()] == ["engine"]

    def test_what_cannot_be_written_is_said_and_leaves_no_traces(self, made: tuple[Path, Made], tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        for attempt in (
            lambda: replace_text(tmp_path / "file" / "x", "text"),
            lambda: write_artefact(tmp_path / "file" / "int8", b"", made[1].artefact),
        ):
            with pytest.raises(Unavailable) as raised:
                attempt()
            assert raised.value.code == "encoder_storage"
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def test_one_makes_while_others_wait(self, tmp_path: Path) -> None:
        order: list[str] = []
        inside = threading.Event()

        def second() -> None:
            inside.wait(5)
            with locked(tmp_path):
                order.append("second")

        thread = threading.Thread(target=second)
        thread.start()
        with locked(tmp_path):
            inside.set()
            thread.join(0.3)
            order.append("first")
        thread.join(5)
        assert order == ["first", "second"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("fpu avx avx2 fma", True), ("avx2 avx512_vnni", False), ("avx2 avx_vnni", False), ("neon asimd", False)],
)
def test_processors_without_vnni_overflow(tmp_path: Path, flags: str, expected: bool) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(f"flags : {flags}\n", encoding="utf-8")
    assert overflows(info) is expected
    assert overflows(tmp_path / "nothing") is True


def test_an_engine_for_another_processor_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if overflows():
        pytest.skip("this processor's engine runs anywhere")
    monkeypatch.setattr("agon.engines.encoder.session.overflows", lambda: True)
    with pytest.raises(Unavailable) as raised:
        int8_digest(folder)
    assert raised.value.code == "int8_missing"


def test_making_an_engine_leaves_the_log_to_those_who_have_something_to_say(
    folder: Path, texts: Texts, caplog: pytest.LogCaptureFixture
) -> None:
    """The runtime's quantiser tells the root logger of every tensor."""
    with caplog.at_level(logging.INFO):
        workshop(folder, texts).int8(again=True)
    assert not [record for record in caplog.records if record.name == "root"]
