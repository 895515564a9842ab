"""Reduced engines of the reward model, the scorer that runs them, and the guard that watches them."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from agon.bootstrap.addresses import ledger_url
from agon.bootstrap.reward import ensure_default
from agon.config import Settings
from agon.core.errors import Unavailable
from agon.engines.encoder.calibration import SAMPLES
from agon.engines.encoder.files import locked
from agon.engines.encoder.gpu import load_tensorrt
from agon.engines.encoder.making import Made, Workshop
from agon.engines.encoder.measuring import Report, report
from agon.engines.encoder.scorer import FullScores, RewardScorer
from agon.engines.encoder.session import Engines, ScoreEngine, load
from agon.engines.encoder.texts import PACKAGED, read_texts
from agon.scoring.drift import DriftLedger, DriftSettings, Evidence, Precision
from agon.scoring.drift_guard import DriftGuard
from agon.scoring.fidelity import Verdict
from agon.scoring.measures import DriftMeasures
from agon.scoring.reward.preferences import Fault
from agon.scoring.reward.spec import load_spec
from agon.stores.postgres.database import Database
from agon.stores.postgres.drift import PostgresDrift

log = logging.getLogger(__name__)

_NO_GPU = frozenset({"provider_missing", "no_gpu", "no_tensorrt"})

Tell = Callable[[str], None]


class Target(StrEnum):
    CPU = "cpu"
    TENSORRT = "tensorrt"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Quantised:
    folder: Path
    made: Mapping[Target, Made]
    faults: Sequence[Fault]
    """Rows of the samples that were left out."""
    report: Report | None
    on_gpu: str = ""
    """Whether TensorRT has built its engine here, or why not."""


def quantise(
    folder: Path,
    files: Sequence[Path],
    *,
    target: Target,
    tell: Tell,
    seed: int = 0,
    samples: int = SAMPLES,
    again: bool = False,
    reported: bool = False,
) -> Quantised:
    """Make the engines of a model folder that are not there yet; measure the CPU's if asked to. Blocks.

    Without files, texts that come with Agon are used.
    """
    texts, faults = read_texts(files or [PACKAGED])
    workshop = Workshop(folder, texts, seed=seed, samples=samples, tell=tell)
    made: dict[Target, Made] = {}
    with locked(folder):
        if reported or target is not Target.TENSORRT:
            made[Target.CPU] = workshop.int8(again=again)
        if target is not Target.CPU:
            # The calibration is new already if the first engine was made anew.
            made[Target.TENSORRT] = workshop.tensorrt(again=again and Target.CPU not in made)
    found = None
    if reported:
        tell("measuring beside the full engine")
        found = report(folder, workshop, texts)
    return Quantised(folder, made, faults, found, _built(folder, tell) if target is not Target.CPU else "")


def _built(folder: Path, tell: Tell) -> str:
    """Have TensorRT build its engine, if there is a GPU; say what came of it."""
    try:
        engine = load_tensorrt(folder)
    except Unavailable as error:
        if error.code not in _NO_GPU:
            raise
        return f"not built: {error.message}"
    try:
        tell("letting TensorRT build its engine")
        engine.warm_up()
    finally:
        engine.close()
    return "built"


def model_folder(named: Path | None, data_dir: Path) -> Path:
    """The folder that was named, or the default model's, which is built if it is not there."""
    return named if named is not None else ensure_default(data_dir)


async def restore(settings: Settings, folder: Path) -> int:
    """Put a model's engines that were rolled back in force again; returns how many."""
    async with drift_ledger(settings) as ledger:
        return await ledger.restore(load_spec(folder).revision)


@asynccontextmanager
async def drift_ledger(settings: Settings) -> AsyncGenerator[DriftLedger]:
    database = Database(ledger_url(settings), max_connections=1)
    await database.open()
    try:
        yield PostgresDrift(database)
    finally:
        await database.close()


# --- in a worker ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RewardParts:
    """The reward model as a worker runs it."""

    scorer: RewardScorer
    guard: DriftGuard
    full: FullScores

    async def look(self) -> Evidence | None:
        """Look at the drift if it is time to; change over at once if the engine was rolled back."""
        engine = self.scorer.configured
        if engine is None:
            return None
        evidence = await self.guard.check_if_due(engine)
        if evidence is None:
            return None
        if evidence.decision.verdict is Verdict.ROLL_BACK:
            await self.scorer.refresh()
        else:
            await self.full.release()
        return evidence


async def reward_parts(
    data_dir: Path,
    database: Database,
    measures: DriftMeasures,
    *,
    folder: Path | None = None,
    precision: Precision = Precision.INT8,
    gpu: bool = False,
    drift: DriftSettings | None = None,
) -> RewardParts:
    """The scorer and its guard; nothing is loaded before `warm_up`. The first call on a machine makes the engine.

    Where no reduced engine is faithful enough, the full one scores. With `gpu` TensorRT runs the reduced engine, and
    where it cannot, `warm_up` raises `Unavailable`: nothing runs elsewhere in its place.
    """
    place = await asyncio.to_thread(model_folder, folder, data_dir)
    if gpu:
        await asyncio.to_thread(quantise, place, (), target=Target.TENSORRT, tell=_logged)
    elif precision is Precision.INT8:
        precision = await asyncio.to_thread(_prepared, place)
    ledger, engines = PostgresDrift(database), Engines(_load_on_gpu if gpu else load)
    full = FullScores(engines, place)
    return RewardParts(
        RewardScorer(engines, place, precision, in_force=ledger.precision_in_force),
        DriftGuard(
            full=full,
            ledger=ledger,
            measures=measures,
            now=lambda: datetime.now(UTC),
            settings=drift or DriftSettings(),
        ),
        full,
    )


def _load_on_gpu(folder: Path, precision: Precision) -> ScoreEngine:
    """The full engine, with which the guard compares and to which it rolls back, is the processor's in any case."""
    return load_tensorrt(folder) if precision is Precision.INT8 else load(folder, precision)


def _logged(step: str) -> None:
    log.info("8-bit engine: %s", step)


def _prepared(folder: Path) -> Precision:
    """Make the reduced engine if it is not there; say which precision can be had."""
    try:
        quantise(folder, (), target=Target.CPU, tell=_logged)
    except Unavailable as error:
        log.warning("the reward model runs at full precision: %s", error.message)
        return Precision.FP32
    return Precision.INT8
