"""A second attempt's text over what was sent before."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agon.core.splice import Splice, Stretch

# Two letters only, so that texts often agree for a while; one of them outside the basic plane.
texts = st.text(alphabet="a🌊", max_size=12)


@st.composite
def pieces(draw: st.DrawFn) -> list[str]:
    """A text cut anywhere, without empty parts."""
    text = draw(texts)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)))) | {0, len(text)})
    return [text[start:end] for start, end in pairwise(cuts)]


def replay(sent: str, parts: list[str]) -> tuple[str, list[Stretch]]:
    """What a client shows in the end, and what it was told on the way."""
    splice, shown, told = Splice(sent), sent, list[Stretch]()
    for stretch in [*(splice.feed(part) for part in parts), splice.close()]:
        if stretch is not None:
            assert stretch.offset <= len(shown), "there would be a hole"
            shown = shown[: stretch.offset] + stretch.text
            told.append(stretch)
    assert splice.text == "".join(parts)
    return shown, told


@given(texts, pieces())
def test_the_client_always_ends_with_the_new_text(sent: str, parts: list[str]) -> None:
    shown, _ = replay(sent, parts)
    assert shown == ("".join(parts) or sent)


@given(texts, pieces())
def test_no_more_is_sent_than_the_difference(sent: str, parts: list[str]) -> None:
    new = "".join(parts)
    common = next((i for i, (x, y) in enumerate(zip(sent, new, strict=False)) if x != y), min(len(sent), len(new)))
    _, told = replay(sent, parts)
    characters = sum(len(stretch.text) for stretch in told)
    assert all(stretch.text for stretch in told)
    if common < len(new):
        assert characters == len(new) - common
    else:
        assert characters == (1 if new and sent else 0), "a mere repetition costs its last character"


def test_an_engine_that_repeats_itself_goes_on_without_a_seam() -> None:
    splice = Splice("Hello wor")
    assert splice.feed("Hello") is None
    assert splice.feed(" world") == Stretch(9, "ld")
    assert splice.close() is None


def test_a_shorter_repetition_says_where_it_ended() -> None:
    splice = Splice("Hello world")
    assert splice.feed("Hello") is None
    assert splice.close() == Stretch(4, "o")
