"""Pictures of a ranking as Vega-Lite specifications, and those as PNG or SVG, drawn here without a network."""

import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

from agon.core.errors import InvalidInput
from agon.core.text import printable
from agon.ranking.history import WINDOW_DAYS, RatingHistory, rating_history
from agon.ranking.leaderboard import Row
from agon.ranking.matrices import win_matrix
from agon.report.standings import Standings

Spec = dict[str, object]

MOST = 60
"""Models that a picture shows; the best of them, where there are more."""
MOST_LINES = 10
_SCALE = 2.0
_TICKS = 6
_INK, _FAINT, _ACCENT = "#1f2430", "#d9dce3", "#3257c4"


def require_pictures() -> None:
    """Raises `InvalidInput` if what draws is not installed."""
    if find_spec("vl_convert") is None:
        raise InvalidInput(
            "Pictures need the extra `pictures`: pip install 'agon-arena[pictures]'.", code="pictures_not_installed"
        )


def drawn(spec: Spec, kind: str) -> bytes:
    """The picture as `.svg` or `.png`."""
    import vl_convert

    draw: Any = vl_convert
    # A sign that XML has no place for would end the whole process in there.
    text = json.dumps(_printable(spec), allow_nan=False)
    if kind.lower() == ".svg":
        return cast("str", draw.vegalite_to_svg(text, allowed_base_urls=[])).encode()
    return bytes(draw.vegalite_to_png(text, scale=_SCALE, allowed_base_urls=[]))


def _printable(part: object) -> object:
    """The specification with every text in it as a terminal would show it."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, dict):
        return {printable(key): _printable(value) for key, value in cast("Spec", part).items()}
    if isinstance(part, list):
        return [_printable(item) for item in cast("list[object]", part)]
    return part


def ratings(standings: Standings) -> Spec:
    """A point and an interval a model, the best on top."""
    rows = [
        row for row in standings.board.rows if row.rating is not None or row.low is not None or row.high is not None
    ]
    shown = rows[:MOST]
    values = [_value(row) for row in shown]
    order = [row.model for row in shown]
    axis = {"field": "model", "type": "nominal", "sort": order, "title": None, "axis": {"labelLimit": 260}}
    scale = {"zero": False, "nice": True}
    tip = [{"field": name} for name in ("model", "rank", "rating", "low", "high", "battles")]
    return _spec(
        f"Ratings, 95 % intervals ({standings.errors})",
        {
            "width": 480,
            "height": {"step": 18},
            "data": {"values": values},
            "encoding": {"y": axis, "tooltip": tip},
            "layer": [
                {
                    "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
                    "mark": {"type": "rule", "strokeWidth": 2, "color": _ACCENT, "opacity": 0.55},
                    "encoding": {
                        "x": {
                            "field": "low",
                            "type": "quantitative",
                            "title": "rating",
                            "scale": scale,
                            "axis": {"format": "d"},
                        },
                        "x2": {"field": "high"},
                    },
                },
                _limit("low", "triangle-right"),
                _limit("high", "triangle-left"),
                {
                    "transform": [{"filter": "isValid(datum.rating)"}],
                    "mark": {"type": "point", "filled": True, "size": 46, "color": _ACCENT, "opacity": 1},
                    "encoding": {"x": {"field": "rating", "type": "quantitative", "scale": scale}},
                },
            ],
        },
        _cut(len(rows), MOST),
    )


def matrix(standings: Standings) -> Spec:
    """Observed win rates of pairs: blue where the row's model won more, orange where it lost more."""
    board = standings.board
    names = [row.model for row in board.rows if row.battles][:MOST]
    table = win_matrix(standings.counts, board.fit)
    place = {name: code for code, name in enumerate(table.models)}
    values = [
        {"a": a, "b": b, "rate": round(rate, 4), "battles": int(table.battles[place[a], place[b]])}
        for a in names
        for b in names
        if not math.isnan(rate := float(table.observed[place[a], place[b]]))
    ]
    few = len(names) <= 14
    cell = {
        "x": {
            "field": "b", "type": "nominal", "sort": names, "scale": {"domain": names}, "title": None,
            "axis": {"orient": "top", "labelAngle": -45 if few else -90, "labelLimit": 260},
        },
        "y": {
            "field": "a", "type": "nominal", "sort": names, "scale": {"domain": names}, "title": None,
            "axis": {"labelLimit": 260},
        },
        "tooltip": [{"field": name} for name in ("a", "b", "rate", "battles")],
    }  # fmt: skip
    colour = {
        "field": "rate", "type": "quantitative", "scale": {"scheme": "blueorange", "domain": [0, 1], "reverse": True},
        "legend": {"title": "win rate of the row", "format": "%"},
    }  # fmt: skip
    layers: list[Spec] = [{"mark": "rect", "encoding": {"color": colour}}]
    if few:
        text = {"field": "rate", "type": "quantitative", "format": ".0%"}
        ink = {"condition": {"test": "abs(datum.rate - 0.5) > 0.33", "value": "white"}, "value": _INK}
        layers.append({"mark": {"type": "text", "fontSize": 10}, "encoding": {"text": text, "color": ink}})
    return _spec(
        "Win rates of pairs, ties as half a win",
        {
            "width": {"step": 34 if few else 18},
            "height": {"step": 24 if few else 18},
            "data": {"values": values},
            "encoding": cell,
            "layer": layers,
        },
        _cut(sum(row.battles > 0 for row in board.rows), MOST),
    )


def history(standings: Standings) -> Spec:
    """Ratings of the best models over a rolling window. Raises `InvalidInput` if not all battles have a time."""
    found = history_of(standings)
    place = {name: code for code, name in enumerate(found.models)}
    names = [row.model for row in standings.board.rows if row.rating is not None][:MOST_LINES]
    values = [
        {"day": day.isoformat(), "model": name, "rating": round(rating, 3)}
        for name in names
        for day, rating in zip(found.days, found.ratings[:, place[name]].tolist(), strict=True)
        if not math.isnan(rating)
    ]
    return _spec(
        f"Ratings over the last {found.window_days} days, by day",
        {
            "width": 560,
            "height": 320,
            "data": {"values": values},
            "mark": {"type": "line", "point": {"size": 18}, "strokeWidth": 1.8},
            "encoding": {
                "x": {
                    "field": "day", "type": "temporal", "title": None, "scale": {"type": "utc"},
                    "axis": {"format": "%-d %b %Y", "values": _some(found.days), "labelOverlap": True},
                },
                "y": {
                    "field": "rating", "type": "quantitative", "title": "rating", "scale": {"zero": False},
                    "axis": {"format": "d"},
                },
                "color": {
                    "field": "model", "type": "nominal", "sort": names, "scale": {"domain": names},
                    "legend": {"title": None, "labelLimit": 260},
                },
            },
        },
        _cut(sum(row.rating is not None for row in standings.board.rows), MOST_LINES),
    )  # fmt: skip


def history_of(standings: Standings) -> RatingHistory:
    """Ratings by day. Raises `InvalidInput` if not all battles have a time."""
    battles = standings.battles
    if battles is None or not len(battles):
        raise InvalidInput("There is no battle whose time could be drawn.", code="missing_timestamp")
    days = battles.days()
    # Some hundred points are as many as a picture can show.
    every = max(1, int(np.ptp(days)) // 200)
    return rating_history(
        battles.models,
        battles.first,
        battles.second,
        battles.winners,
        days,
        window_days=WINDOW_DAYS,
        every=every,
        anchor=standings.options.anchor,
    )


def _some(days: Sequence[date]) -> list[int]:
    """A few of the days, evenly spaced, as milliseconds since the epoch."""
    step = max(1, len(days) // _TICKS)
    return [int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000 for day in days[::step]]


def _value(row: Row) -> dict[str, object]:
    numbers = (("rating", row.rating), ("low", row.low), ("high", row.high))
    return {
        "model": row.model,
        "rank": row.rank,
        "battles": row.battles,
        **{name: None if value is None else round(value, 2) for name, value in numbers},
    }


def _limit(name: str, shape: str) -> Spec:
    """A limit on one side alone."""
    other = "high" if name == "low" else "low"
    return {
        "transform": [{"filter": f"isValid(datum.{name}) && !isValid(datum.{other})"}],
        "mark": {"type": "point", "shape": shape, "size": 60, "color": _ACCENT, "filled": False},
        "encoding": {"x": {"field": name, "type": "quantitative", "scale": {"zero": False, "nice": True}}},
    }


def _cut(there: int, shown: int) -> str:
    return f"the best {shown} of {there} models" if there > shown else ""


def _spec(title: str, body: Spec, subtitle: str) -> Spec:
    font = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
    axis = {"labelFontSize": 12, "titleFontSize": 12, "gridColor": _FAINT, "domainColor": _FAINT, "tickColor": _FAINT}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {"text": title, "subtitle": subtitle, "anchor": "start", "fontSize": 14, "color": _INK},
        "background": "white",
        "padding": 12,
        **body,
        "config": {"font": font, "axis": axis, "view": {"stroke": None}},
    }
