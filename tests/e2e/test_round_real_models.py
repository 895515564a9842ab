"""A round of real models on a real question bank, from one command, with a worker killed in the middle."""

import json
from collections.abc import Iterator

import pytest
from tests.e2e.conftest import bring_weights
from tests.e2e.round_command import BANK, RoundCommand, kill, wait_for

from agon.engines.catalogue import SMOLLM2, SMOLLM2_Q8

pytestmark = [pytest.mark.e2e, pytest.mark.models, pytest.mark.timeout(600)]

CONTESTANTS = {"alder": SMOLLM2, "birch": SMOLLM2_Q8, "cedar": SMOLLM2}
RUN = ("run", str(BANK), "--limit", "4", "--max-tokens", "24", "--scorer", "overlap", "--json")


@pytest.fixture
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoundCommand]:
    folder = tmp_path_factory.mktemp("real-rounds")
    bring_weights(folder / "data" / "models", SMOLLM2, SMOLLM2_Q8)
    lines = [f"[[contestants]]\nname = {name!r}\nweights = {weights!r}" for name, weights in CONTESTANTS.items()]
    rounds = RoundCommand(folder, "\n".join(["[engine]\nthreads = 1", "[rounds]\nlease_s = 3", *lines]))
    yield rounds
    rounds.close()


def test_a_bank_goes_in_and_a_board_comes_out(rounds: RoundCommand) -> None:
    begun = rounds.begin(*RUN, "--models", "alder,birch")
    wait_for(lambda: "questions, scored by" in rounds.err, "the round began")
    wait_for(lambda: len(rounds.made()) >= 2, "two answers")
    before = rounds.made()
    kill(rounds.part(begun, "worker"))
    assert rounds.end(begun) == 0
    page = json.loads(rounds.out)
    assert page["progress"] == {name: {"scored": 4} for name in ("alder", "birch")}
    assert [row["contestant"] for row in page["board"]["rows"] if row["score"]["value"] is not None]
    after = rounds.made()
    assert {key: after[key] for key in before} == before
    assert all(len(texts) == 2 and all(text.strip() for text in texts) for texts, _ in after.values())

    # A model more: only its answers are made.
    more = json.loads(rounds.do(*RUN, "--models", "alder,birch,cedar"))
    assert more["round"] == page["round"]
    assert more["progress"]["cedar"] == {"scored": 4}
    assert {key: one for key, one in rounds.made().items() if key[0] != "cedar"} == after
