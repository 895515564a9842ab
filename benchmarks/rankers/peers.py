"""The other ranking programs, each in a process of its own: `peers.py PEER TASK FILE [ROUNDS]`.

It runs in an environment that has them and not Agon, so it stands alone. The task `file` reads a Parquet log and prints
a table; the others take codes in memory and print the seconds spent and the ratings as JSON. `fastchat` is the method
that FastChat's leaderboard is published with, made anew from its description, with its settings: equal battles are
grouped, the likelihood climbed by L-BFGS-B from 0 to a gradient of 1e-6 in at most 100 steps, intervals taken from
rounds of multinomial counts spread over all processors; style control shrinks by ½ and centres the features.
"""

import json
import math
import multiprocessing
import sys
import time
from functools import partial

import numpy as np

POINTS = 400.0 / math.log(10.0)
WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
POINTS_OF_A = np.array([1.0, 0.0, 0.5, 0.5])
COLUMNS = ["model_a", "model_b", "winner"]
FEATURES = ["tokens", "headers", "lists", "bold"]
ROUNDS = 1000
LEADERBOARD_ROUNDS = 100
"""Bootstrap rounds behind the intervals of FastChat's leaderboard, unless asked for another number."""


def timed(function, times):
    """The fastest of some calls; of the first alone where it is the only one."""
    fastest, found = math.inf, None
    for _ in range(times):
        start = time.perf_counter()
        found = function()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest, found


def read_frame(path):
    import pandas as pd

    return pd.read_parquet(path, columns=COLUMNS)


def show(names, ratings, low=None, high=None):
    import pandas as pd

    columns = {"model": names, "rating": np.asarray(ratings)}
    if low is not None:
        columns |= {"low": np.asarray(low), "high": np.asarray(high)}
    sys.stdout.write(pd.DataFrame(columns).sort_values("rating", ascending=False).to_string(index=False) + "\n")


# arena-rank


def arena_rank_board(frame, outcomes):
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    data = PairDataset.from_pandas(frame, outcome_map=outcomes)
    found = BradleyTerry(len(data.competitors)).compute_ratings_and_cis(data)
    return data.competitors, *(np.asarray(found[name]) for name in ("ratings", "rating_lower", "rating_upper"))


def arena_rank_file(path, _):
    outcomes = dict(zip(WINNERS, POINTS_OF_A.tolist(), strict=True))
    show(*arena_rank_board(read_frame(path), outcomes.get))


def arena_rank_core(codes, _):
    import pandas as pd

    frame = pd.DataFrame(dict(zip(COLUMNS, (codes[name] for name in ("first", "second", "winners")), strict=True)))
    outcomes = dict(enumerate(POINTS_OF_A.tolist()))
    # The first call compiles.
    seconds, found = timed(lambda: arena_rank_board(frame, outcomes.get), 2)
    return seconds, found[1]


def arena_rank_style(codes, _):
    import pandas as pd
    from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
    from arena_rank.utils.data_utils import ContextualPairDataset

    frame = pd.DataFrame(dict(zip(COLUMNS, (codes[name] for name in ("first", "second", "winners")), strict=True)))
    differences = (codes["style_a"] - codes["style_b"]) / (codes["style_a"] + codes["style_b"])
    for place, feature in enumerate(FEATURES):
        frame[feature] = differences[:, place]

    def fit():
        outcomes = dict(enumerate(POINTS_OF_A.tolist()))
        # Neither weights nor shrinkage, so that the model is the same.
        data = ContextualPairDataset.from_pandas(frame, FEATURES, outcome_map=outcomes.get, reweighted=False)
        model = ContextualBradleyTerry(len(data.competitors), len(FEATURES), reg=0.0)
        return np.asarray(model.compute_ratings_and_cis(data)["ratings"])

    return timed(fit, 1)


# FastChat


class Grouped:
    """Equal battles together: two models, an outcome, and how often."""

    def __init__(self, first, second, points):
        rows = np.stack([first, second, (2 * points).astype(np.int32)], axis=1).astype(np.int32)
        groups, counts = np.unique(rows, axis=0, return_counts=True)
        self.pairs, self.points, self.counts = groups[:, :2], groups[:, 2] / 2.0, counts.astype(np.float64)
        self.models = int(self.pairs.max()) + 1
        self.battles = len(rows)

    def loss(self, ratings, weights):
        from scipy.special import expit

        scale = math.log(10.0)
        chance = expit(scale * (ratings[self.pairs[:, 0]] - ratings[self.pairs[:, 1]]))
        likelihood = self.points * np.log(chance) + (1.0 - self.points) * np.log(1.0 - chance)
        pull = scale * weights * (self.points - chance)
        gradient = np.zeros(self.models)
        np.add.at(gradient, self.pairs, np.stack([-pull, pull], axis=1))
        return -(weights * likelihood).sum(), gradient

    def fit(self, weights):
        return climbed(partial(self.loss, weights=weights), self.models) * 400.0

    def rounds(self, number):
        rng = np.random.default_rng(0)
        drawn = rng.multinomial(self.battles, self.counts / self.counts.sum(), size=number) / self.battles
        with multiprocessing.Pool() as pool:
            return np.array(list(pool.imap_unordered(self.fit, drawn)))


def climbed(loss, size):
    from scipy.optimize import minimize

    options = {"maxiter": 100, "gtol": 1e-6}
    return minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options=options)["x"]


def fastchat_file(path, rounds):
    import pandas as pd

    frame = read_frame(path)
    codes, names = pd.factorize(pd.concat([frame["model_a"], frame["model_b"]]))
    points = np.full(len(frame), 0.5)
    points[frame["winner"] == "model_a"] = 1.0
    points[frame["winner"] == "model_b"] = 0.0
    grouped = Grouped(codes[: len(frame)], codes[len(frame) :], points)
    ratings = grouped.fit(grouped.counts)
    low, high = np.quantile(grouped.rounds(rounds or LEADERBOARD_ROUNDS), (0.025, 0.975), axis=0)
    show(names, 1000.0 + ratings, 1000.0 + low, 1000.0 + high)


def fastchat_bootstrap(codes, rounds):
    points = POINTS_OF_A[codes["winners"]]
    grouping, grouped = timed(lambda: Grouped(codes["first"], codes["second"], points), 1)
    some, ratings = timed(lambda: grouped.rounds(rounds), 1)
    # Rounds that were not run would have taken as long as those that were.
    return grouping + some * ROUNDS / rounds, ratings.mean(axis=0)


def fastchat_style(codes, _):
    from scipy.special import expit

    def fit():
        points = POINTS_OF_A[codes["winners"]]
        pairs = np.stack([codes["first"], codes["second"]], axis=1)
        x = (codes["style_a"] - codes["style_b"]) / (codes["style_a"] + codes["style_b"] + 1.0)
        x = (x - x.mean(axis=0)) / x.std(axis=0)
        models, scale, shrinkage = int(pairs.max()) + 1, math.log(10.0), 0.5

        def loss(values):
            gap = values[pairs[:, 0]] - values[pairs[:, 1]]
            chance = expit(scale * gap + x @ values[models:])
            likelihood = points * np.log(chance) + (1.0 - points) * np.log(1.0 - chance)
            error = points - chance
            gradient = shrinkage * values
            np.add.at(gradient[:models], pairs, np.stack([-scale * error, scale * error], axis=1))
            gradient[models:] -= x.T @ error
            return -likelihood.sum() + 0.5 * shrinkage * values @ values, gradient

        return 400.0 * climbed(loss, models + x.shape[1])[:models]

    return timed(fit, 1)


# evalica and choix, which give no intervals


def evalica_words():
    from evalica import Winner

    return [Winner.X, Winner.Y, Winner.Draw, Winner.Draw]


def evalica_file(path, _):
    import evalica

    frame = read_frame(path)
    words = dict(zip(WINNERS, evalica_words(), strict=True))
    columns = [frame[name].tolist() for name in COLUMNS[:2]]
    found = evalica.bradley_terry(*columns, frame["winner"].map(words).tolist()).scores
    show(found.index, 1000.0 + POINTS * np.log(found))


def evalica_lists(codes):
    words = evalica_words()
    first, second = codes["first"].tolist(), codes["second"].tolist()
    return first, second, [words[code] for code in codes["winners"].tolist()], [1.0] * len(first)


def evalica_core(codes, _):
    from evalica import _brzo

    first, second, winners, weights = evalica_lists(codes)
    fit = partial(
        _brzo.bradley_terry, first, second, winners, weights, max(first) + 1,
        win_weight=1.0, tie_weight=0.5, tolerance=1e-6, limit=100,
    )  # fmt: skip
    seconds, (scores, _) = timed(fit, 2)
    return seconds, POINTS * np.log(scores)


def evalica_elo(codes, _):
    """The core, in Rust, on lists of places."""
    from evalica import _brzo

    first, second, winners, weights = evalica_lists(codes)
    play = partial(
        _brzo.elo, first, second, winners, weights, max(first) + 1,
        initial=1000.0, base=10.0, scale=400.0, k=4.0, win_weight=1.0, tie_weight=0.5,
    )  # fmt: skip
    return timed(play, 3)


def evalica_elo_call(codes, _):
    """The call that its users make, on lists of names."""
    import evalica

    first, second, winners, _ = evalica_lists(codes)
    names = [f"model-{place:03d}-chat" for place in range(max(first) + 1)]
    seconds, found = timed(lambda: evalica.elo([names[a] for a in first], [names[b] for b in second], winners), 1)
    return seconds, found.scores.reindex(names)


def choix_ratings(first, second, points):
    import choix

    size = int(max(first.max(), second.max())) + 1
    table = np.zeros((size, size))
    np.add.at(table, (first, second), points)
    np.add.at(table, (second, first), 1.0 - points)
    return POINTS * choix.ilsr_pairwise_dense(table)


def choix_file(path, _):
    import pandas as pd

    frame = read_frame(path)
    codes, names = pd.factorize(pd.concat([frame["model_a"], frame["model_b"]]))
    points = frame["winner"].map(dict(zip(WINNERS, POINTS_OF_A.tolist(), strict=True))).to_numpy()
    show(names, 1000.0 + choix_ratings(codes[: len(frame)], codes[len(frame) :], points))


def choix_core(codes, _):
    points = POINTS_OF_A[codes["winners"]]
    return timed(lambda: choix_ratings(codes["first"], codes["second"], points), 2)


FILES = {"arena-rank": arena_rank_file, "fastchat": fastchat_file, "evalica": evalica_file, "choix": choix_file}
CORES = {
    ("arena-rank", "board"): arena_rank_core,
    ("arena-rank", "style"): arena_rank_style,
    ("fastchat", "bootstrap"): fastchat_bootstrap,
    ("fastchat", "style"): fastchat_style,
    ("evalica", "board"): evalica_core,
    ("evalica", "elo"): evalica_elo,
    ("evalica", "elo_call"): evalica_elo_call,
    ("choix", "board"): choix_core,
}


def main(peer, task, path, rounds="0"):
    if task == "file":
        FILES[peer](path, int(rounds))
        return
    with np.load(path) as file:
        codes = {name: file[name] for name in file.files}
    seconds, ratings = CORES[peer, task](codes, int(rounds))
    sys.stdout.write(json.dumps({"seconds": seconds, "ratings": np.asarray(ratings).tolist()}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
