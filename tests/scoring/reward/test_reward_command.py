"""`agon reward` from end to end, on the real encoder and a few real pairs."""

import json
from pathlib import Path
from typing import Any

import onnxruntime as ort  # pyright: ignore[reportMissingTypeStubs]
import pytest
from tests.scoring.reward.support import DATA, FILES

from agon.bootstrap.reward import default_recipe, ensure_default
from agon.cli import main
from agon.core.scoring import Sample
from agon.engines.encoder.build import RECIPE_FILE
from agon.engines.encoder.session import load
from agon.engines.encoder.weights import ENCODER
from agon.scoring.drift import Precision
from agon.scoring.reward.features import EXPECTED_SIGNS, FEATURE_NAMES
from agon.scoring.reward.spec import load_spec

SOME = ["llmbar.jsonl", "mtbench.jsonl"]
CHEAP = ["--folds", "2", "--repeats", "1", "--threads", "1"]

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="session")
def data_dir(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reward-data")
    (folder / "models").symlink_to(encoder.parent)
    return folder


def agon(data_dir: Path, *words: str | Path) -> int:
    return main(["reward", *map(str, words), "--data-dir", str(data_dir)])


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="session")
def trained(data_dir: Path) -> Path:
    out = data_dir / "trained"
    assert agon(data_dir, "train", *(DATA / name for name in SOME), "--out", out, *CHEAP, "--format", "json") == 0
    return out


def test_a_trained_model_is_a_whole_folder(trained: Path) -> None:
    spec = load_spec(trained)
    assert {each.name for each in trained.iterdir()} == {"model.onnx", "vocab.txt", "reward.json", RECIPE_FILE}
    assert tuple(each.name for each in spec.features) == FEATURE_NAMES
    assert [file["name"] for file in spec.training["files"]] == SOME
    assert spec.training["measured"]["pairs"] > 50
    assert "CC BY 4.0" in str(spec.training["files"])
    session: Any = ort.InferenceSession(str(trained / "model.onnx"))
    assert [(each.name, each.type) for each in session.get_inputs()] == [
        ("input_ids", "tensor(int64)"),
        ("attention_mask", "tensor(int64)"),
        ("token_type_ids", "tensor(int64)"),
        ("features", "tensor(float)"),
    ]
    assert [each.name for each in session.get_outputs()] == ["score"]


def test_the_same_files_and_seed_make_the_same_bytes(trained: Path, data_dir: Path) -> None:
    again = data_dir / "again"
    assert agon(data_dir, "train", *(DATA / name for name in SOME), "--out", again, *CHEAP) == 0
    for name in ("model.onnx", "reward.json", RECIPE_FILE):
        assert (trained / name).read_bytes() == (again / name).read_bytes()


def test_evaluate_measures_and_compares(trained: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = [DATA / name for name in ("llmbar.jsonl", "pandalm.jsonl")]
    assert agon(data_dir, "evaluate", *measured, "--model", trained, "--format", "json") == 0
    found = printed(capsys)
    assert found["pairs"] + found["ties"] == sum(len(file.read_bytes().splitlines()) for file in measured)
    assert found["low"] <= found["accuracy"] <= found["high"]
    assert set(found["by_file"]) == {file.name for file in measured}
    assert "princeton-nlp/LLMBar" in found["by_source"]
    assert set(found["baselines"]) == {"random", "longer_answer", "tfidf"}
    assert found["seen_in_training"]["pairs"] + found["unseen"]["pairs"] == found["pairs"]
    assert found["unseen"]["pairs"] == found["by_file"]["pandalm.jsonl"]["pairs"]
    assert sum(part["pairs"] for part in found["by_source"].values()) == found["pairs"]
    assert set(found["padding"]) == {"said_twice", "filler", "blank_lines"}


def test_the_table_is_for_people(trained: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert agon(data_dir, "evaluate", DATA / "mtbench.jsonl", "--model", trained) == 0
    out = capsys.readouterr().out
    for words in ("mtbench.jsonl", "longer answer", "TF-IDF", "seen in training", "expected calibration error"):
        assert words in out


def test_broken_lines_are_counted_and_strictness_refuses(
    trained: Path, data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.jsonl"
    good = (DATA / "mtbench.jsonl").read_bytes().splitlines(keepends=True)[:4]
    broken.write_bytes(b"{]\n" + b"".join(good) + b'{"prompt": 1}\n')
    assert agon(data_dir, "evaluate", broken, "--model", trained, "--format", "json") == 0
    found = printed(capsys)
    assert found["left_out"] == 2
    assert found["faults"][0] == {"file": "broken.jsonl", "line": 1, "reason": "not JSON"}
    assert agon(data_dir, "evaluate", broken, "--model", trained, "--strict") == 2
    assert "broken.jsonl:1: not JSON" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "nonsense\n"])
def test_nothing_to_measure_is_said(
    content: str, trained: Path, data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text(content)
    assert agon(data_dir, "evaluate", file, "--model", trained) == 2
    said = capsys.readouterr().err
    assert "There are 0 decided pairs" in said
    assert ("f.jsonl:1: not JSON" in said) == bool(content)


def test_a_file_or_a_model_that_is_not_there_is_named(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert agon(data_dir, "evaluate", tmp_path / "none.jsonl") == 2
    assert "There is no file" in capsys.readouterr().err
    assert agon(data_dir, "evaluate", DATA / "mtbench.jsonl", "--model", tmp_path) == 2
    assert "There is no reward model" in capsys.readouterr().err


def test_too_few_pairs_train_nothing(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "few.jsonl"
    file.write_bytes(b"\n".join((DATA / "mtbench.jsonl").read_bytes().splitlines()[:5]))
    assert agon(data_dir, "train", file, "--out", tmp_path / "out") == 2
    assert "at least 20 are needed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert agon(data_dir, "train", "--out", tmp_path / "out") == 2
    assert "say --arena" in capsys.readouterr().err


def test_the_default_model_is_built_once(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert agon(data_dir, "build") == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder == data_dir / "reward" / default_recipe().revision
    stamp = (folder / "model.onnx").stat().st_mtime_ns
    assert ensure_default(data_dir) == folder
    assert (folder / "model.onnx").stat().st_mtime_ns == stamp


def test_half_a_folder_is_built_anew(data_dir: Path) -> None:
    folder = ensure_default(data_dir)
    (folder / "reward.json").write_text("{")
    assert load_spec(ensure_default(data_dir)).revision == default_recipe().revision


PROMPT = "Name three birds that live in Europe, and say in a sentence what each eats."
GOOD = "1. Robin: it eats worms and insects.\n2. Barn owl: it eats mice.\n3. Goldfinch: it eats seeds of thistles."
WORSE = {
    "nothing": "",
    "a loop": "Robin eats worms. " * 30,
    "leaked markers": "Robin.</s>\nUser: what else?\nAssistant: Robin",
    "the prompt": PROMPT,
    "something else": "The stock market closed higher on Friday, as investors hoped for lower rates.",
    "the same twice": f"{GOOD}\n\n{GOOD}",
    "a refusal": "I'm sorry, but as an AI language model I cannot help with that.",
    "half of it": GOOD[:70],
    "another language": "知更鸟吃虫子。",
    "no words of any language": "asdf qwer zxcv poiu lkjh mnbv " * 5,
}


def test_what_is_plainly_worse_scores_less(data_dir: Path) -> None:
    engine = load(ensure_default(data_dir), Precision.FP32)
    try:
        good, *worse = engine.scores([Sample(PROMPT, answer) for answer in (GOOD, *WORSE.values())]).tolist()
    finally:
        engine.close()
    assert [name for name, score in zip(WORSE, worse, strict=True) if score >= good] == []


def test_the_weights_that_ship_agree_with_common_sense() -> None:
    head = default_recipe().head
    weights = zip((scale.name for scale in head.scales), head.feature_weights.tolist(), strict=True)
    assert all(weight * EXPECTED_SIGNS[name] > 0 for name, weight in weights if name in EXPECTED_SIGNS)


def test_what_ships_is_small_and_says_how_good_it_is() -> None:
    recipe = default_recipe()
    assert recipe.encoder == ENCODER.sha256
    training = recipe.training
    assert training is not None
    measured = training["measured"]
    assert measured["low"] < measured["accuracy"] < measured["high"]
    assert measured["accuracy"] > max(
        measured["baselines"][name]["accuracy"] for name in ("random", "longer_answer", "tfidf")
    )
    assert {file["name"] for file in training["files"]} >= {file.name for file in FILES}
    assert all(file["licences"] for file in training["files"])
