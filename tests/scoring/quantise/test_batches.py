"""Which sequences share a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.engines.encoder.batches import ALONE, Batching, padded, plan

lengths = st.lists(st.integers(1, 400), max_size=60)


@given(lengths, st.integers(1, 600), st.integers(1, 20), st.integers(1, 16))
def test_every_sequence_runs_once_within_bounds(all_lengths: list[int], tokens: int, samples: int, step: int) -> None:
    batching = Batching(tokens, samples, step)
    runs = plan(all_lengths, batching)
    assert sorted(place for run in runs for place in run.places) == list(range(len(all_lengths)))
    for run in runs:
        assert run.width >= max(all_lengths[place] for place in run.places)
        if len(run.places) > 1:
            assert len(run.places) <= samples
            assert len(run.places) * run.width <= tokens
            assert run.width % step == 0


@given(lengths)
def test_alone_means_no_padding(all_lengths: list[int]) -> None:
    runs = plan(all_lengths, ALONE)
    assert all(len(run.places) == 1 for run in runs)
    assert padded(runs, all_lengths) == 0


def test_similar_lengths_go_together_longest_first() -> None:
    runs = plan([5, 300, 6, 290, 7], Batching(run_tokens=620, run_samples=16, step=10))
    assert [sorted(run.places) for run in runs] == [[1, 3], [0, 2, 4]]
    assert [run.width for run in runs] == [300, 10]
    assert padded(runs, [5, 300, 6, 290, 7]) == pytest.approx(22 / 630)
