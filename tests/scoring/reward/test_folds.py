from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.scoring.reward.support import FILES, pair, reading

from agon.scoring.reward.folds import grouped_folds, groups_of

LONG = "A long answer that nobody would give to another question by chance."


def test_one_prompt_in_two_files_is_one_group() -> None:
    pairs = [pair("What is it?", file="one"), pair("  what IS\nit?", file="two"), pair("What is that?", file="two")]
    assert groups_of(pairs).tolist() == [0, 0, 1]


def test_prompts_that_share_a_long_answer_are_one_group() -> None:
    pairs = [pair("one", LONG), pair("two", "x", LONG), pair("three", "x"), pair("four", "x")]
    assert groups_of(pairs).tolist() == [0, 0, 1, 2]


def test_groups_join_over_a_third() -> None:
    pairs = [pair("one", LONG), pair("two", LONG + "!", LONG), pair("three", LONG + "!")]
    assert len(set(groups_of(pairs).tolist())) == 1


@given(st.lists(st.integers(0, 12), min_size=30, max_size=120), st.integers(2, 5), st.integers(0, 99))
def test_no_group_is_in_two_folds(members: list[int], count: int, seed: int) -> None:
    _, groups = np.unique(members, return_inverse=True)
    files = ["a" if member % 2 else "b" for member in members]
    folds = grouped_folds(groups.astype(np.int64), files, count, np.random.default_rng(seed))
    assert all(len(set(folds[groups == group].tolist())) == 1 for group in set(groups.tolist()))
    assert set(folds.tolist()) <= set(range(count))


def test_each_file_is_spread_over_the_folds() -> None:
    pairs = [each for file in FILES for each in reading(file).pairs]
    files = [each.file for each in pairs]
    folds = grouped_folds(groups_of(pairs), files, 3, np.random.default_rng(0))
    for file in ("pandalm.jsonl", "arenabench.jsonl", "llmbar.jsonl"):
        inside: list[int] = folds[np.array(files) == file].tolist()
        sizes = Counter(inside)
        assert len(sizes) == 3
        assert max(sizes.values()) - min(sizes.values()) <= 4


def test_chance_draws_other_folds_and_a_seed_the_same() -> None:
    pairs = [pair(f"prompt {number}") for number in range(60)]
    groups, files = groups_of(pairs), ["f"] * 60
    drawn = [grouped_folds(groups, files, 5, np.random.default_rng(seed)).tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
