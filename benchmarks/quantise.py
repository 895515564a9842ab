"""The reward model in 8 bits beside full precision: size, latency, and what each means is worth on mixed texts."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.report import ROOT, console, publish
from benchmarks.harness.statistics import Claim, Fact, compare

from agon.bootstrap.reward import ensure_default
from agon.engines.encoder.files import locked
from agon.engines.encoder.making import Workshop
from agon.engines.encoder.measuring import BUCKETING, FUSION, INT8, LONGEST, PLAIN, Mixed, Report, report
from agon.engines.encoder.texts import read_texts

DATA_DIR = ROOT / "build" / "quantise"
PREFERENCES = ROOT / "tests" / "scoring" / "data" / "preferences"
REPEATS = 5
MIXED = 128


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quantise", description=__doc__)
    parser.add_argument("model", nargs="?", type=Path, help="a reward model's folder; the default one by default")
    parser.add_argument("--samples", nargs="+", type=Path, default=sorted(PREFERENCES.glob("*.jsonl")))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--mixed", type=int, default=MIXED, help="texts of mixed length")
    args = parser.parse_args()
    folder: Path = args.model or ensure_default(DATA_DIR)
    texts, _ = read_texts(args.samples)
    workshop = Workshop(folder, texts, tell=console.print)
    with locked(folder):
        made = workshop.int8()
    found = report(folder, workshop, texts, mixed=args.mixed, repeats=args.repeats)
    facts = [Fact(f"candidate {each.recipe.name}, s", each.seconds, "s") for each in made.candidates]
    publish("quantise", [*mixed_claims(found.mixed), *latency_claims(found)], [*facts, *figures(found)])


def mixed_claims(mixed: Mixed) -> Sequence[Claim]:
    steps = (
        ("plain + fusion over plain", FUSION, PLAIN),
        ("plain padded to each batch's longest over plain", LONGEST, PLAIN),
        ("+ runs of similar length over the step before", BUCKETING, FUSION),
        ("+ 8 bits over the step before", INT8, BUCKETING),
        ("all together over plain", INT8, PLAIN),
        ("all together over plain padded to each batch's longest", INT8, LONGEST),
    )
    return [
        compare(f"mixed texts, {unit}: {name}", spent[way], spent[over])
        for unit, spent in (("s", mixed.seconds), ("s of processor", mixed.processor_s))
        for name, way, over in steps
    ]


def latency_claims(found: Report) -> Sequence[Claim]:
    return [
        compare(f"batch of {each.batch} at 128 tokens, ms: 8 bits over {name}", each.int8_ms, other)
        for each in found.latencies
        for name, other in (("the full engine", each.full_ms), ("the exported graph", each.plain_ms))
    ]


def figures(found: Report) -> Sequence[Fact]:
    quality, fidelity, mixed = found.quality, found.quality.fidelity, found.mixed
    return [
        Fact("size, full", found.full.size / 2**20, "MiB"),
        Fact("size, 8 bits", found.int8.size / 2**20, "MiB"),
        Fact("size, 8 bits over full", 100 * found.size_ratio, "%"),
        Fact("load until warm, full", 1000 * found.full.load_s, "ms"),
        Fact("load until warm, 8 bits", 1000 * found.int8.load_s, "ms"),
        Fact("tokens of a mixed text, mean", mixed.tokens_mean, "tokens"),
        Fact("reading a mixed text: tokens and features", 1000 * mixed.read_s / mixed.samples, "ms"),
        Fact("padding of the plain path", 100 * mixed.padding, "%"),
        Fact("held-out pairs", fidelity.pairs, "pairs"),
        Fact("pairs right, full", 100 * quality.accuracy_full, "%"),
        Fact("pairs right, 8 bits", 100 * quality.accuracy_int8, "%"),
        Fact("top-1 agreement on pairs", 100 * fidelity.top1, "%"),
        Fact("score error, mean", 1000 * fidelity.error_mean, "thousandths"),
        Fact("score error, p99", 1000 * fidelity.error_p99, "thousandths"),
        Fact("KL, mean", 1e6 * fidelity.kl_mean, "millionths of a nat"),
        Fact("KL, p99", 1e6 * fidelity.kl_p99, "millionths of a nat"),
        Fact("Kendall's tau", 1000 * fidelity.kendall, "thousandths"),
        Fact("Spearman's rho", 1000 * fidelity.spearman, "thousandths"),
    ]


if __name__ == "__main__":
    main()
