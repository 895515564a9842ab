"""Scorers, and how good they are."""

from uuid import UUID

from fastapi import APIRouter

from agon.api.errors import documented
from agon.api.identity import Parts
from agon.api.scorer_schemas import AgreementOut, JudgeOut, ScorerOut, ScorersOut

router = APIRouter(prefix="/arena", tags=["rounds"])


@router.get("/scorers", responses=documented(503))
async def scorers(gateway: Parts) -> ScorersOut:
    """What can score answers, and how far each agrees with the arena's voters."""
    desk = gateway.scorers
    pages = await desk.reader.agreements()
    found = [
        ScorerOut(
            name=one.name,
            about=one.about,
            package=one.package,
            agreement=AgreementOut.of(pages[one.name]) if one.name in pages else None,
        )
        for one in desk.known(pages)
    ]
    return ScorersOut(scorers=found)


@router.get("/rounds/{round_id}/judge", responses=documented(404, 422, 503))
async def round_judge(round_id: UUID, gateway: Parts) -> JudgeOut:
    """Whether a round's judge goes by the order, favours itself, or gives no verdicts."""
    return JudgeOut.of(await gateway.scorers.reader.judge(round_id))
