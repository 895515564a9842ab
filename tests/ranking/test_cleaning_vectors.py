"""The cleaning vectors: what is kept, what is rejected and why."""

from typing import Any

import pytest
from tests.ranking.support import Vector, by_name, vector_id, vectors

from agon.ranking.arrays import IntArray
from agon.ranking.bradley_terry import fit_bradley_terry
from agon.ranking.cleaning import Cleaned, CleaningRules, RawBattles, clean
from agon.ranking.columns import CodedText
from agon.ranking.moments import read_moments, utc_days


def cleaned(battles: list[dict[str, Any]], **rules: Any) -> Cleaned:
    def column(name: str) -> list[Any] | None:
        return [battle.get(name) for battle in battles] if any(name in battle for battle in battles) else None

    raw = RawBattles(
        model_a=column("model_a") or [],
        model_b=column("model_b") or [],
        winner=column("winner") or [],
        vote_id=column("id"),
        timestamp=column("timestamp"),
        voter=column("voter"),
        anonymous=column("anonymous"),
    )
    return clean(raw, CleaningRules(**rules))


@pytest.mark.parametrize("vector", vectors("cleaning"), ids=vector_id)
def test_cleaning(vector: Vector) -> None:
    options, expected = vector["options"], vector["expected"]
    rules = {name: options[name] for name in ("aliases", "anonymous_only") if name in options}
    found = cleaned(vector["battles"], **rules)
    assert found.report.kept == expected["accepted"]
    assert dict(found.report.rejected) == expected["rejected"]
    assert found.report.rows == len(vector["battles"])
    assert found.report.complete
    for first, second, won, tied, lost in expected["counts"]:
        i, j = found.counts.codes([first, second])
        draws = found.counts.draws()
        assert (found.counts.wins[i, j], draws[i, j], found.counts.wins[j, i]) == (won, tied, lost)
    assert list(found.counts.models) == expected.get(
        "models", sorted({name for row in expected["counts"] for name in row[:2]})
    )
    assert found.battles is not None
    assert found.battles.vote_ids is not None
    if "accepted_ids" in expected:
        assert list(CodedText(found.battles.vote_ids)) == expected["accepted_ids"]
    if "reason_by_id" in expected:
        ids = [battle["id"] for battle in vector["battles"]]
        assert {ids[row.row]: row.reason for row in found.report.listed} == expected["reason_by_id"]
    if "ratings" in expected:
        fit = fit_bradley_terry(found.counts)
        assert by_name(fit.models, fit.ratings) == pytest.approx(
            expected["ratings"], abs=vector["tolerance"]["ratings"]
        )


def dates(days: IntArray) -> list[str]:
    return [str(day) for day in days.astype("datetime64[D]")]


@pytest.mark.parametrize("vector", vectors("day_boundary"), ids=vector_id)
def test_days_are_utc_days(vector: Vector) -> None:
    moments = read_moments([battle["timestamp"] for battle in vector["battles"]])
    ids = [battle["id"] for battle in vector["battles"]]
    assert dict(zip(ids, dates(utc_days(moments.seconds)), strict=True)) == vector["expected"]["day"]
    battles = cleaned(vector["battles"]).battles
    assert battles is not None
    days = dates(battles.days())
    assert {day: days.count(day) for day in days} == vector["expected"]["battles_per_day"]
