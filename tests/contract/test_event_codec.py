"""Events come out of Redis as they went in."""

from hypothesis import given
from hypothesis import strategies as st

from agon.core.conversation import AnswerState, Side
from agon.core.events import Event, Fault, Packet, Settled, Usage, Void, Waiting
from agon.stores.redis.codec import decode_event, encode_event

numbers, words, sides = st.integers(0, 9999), st.text(max_size=8), st.sampled_from(Side)
logprobs = st.lists(st.dictionaries(words, st.floats(-9, 0) | words), min_size=1, max_size=3).map(tuple)
counts = st.none() | numbers
events = st.one_of(
    st.builds(Packet, numbers, sides, numbers, numbers, words, st.booleans(), numbers, st.none() | logprobs),
    st.builds(
        Settled,
        numbers,
        sides,
        numbers,
        st.sampled_from(AnswerState),
        numbers,
        st.none() | words,
        st.none() | st.builds(Usage, counts, counts, counts),
        st.none() | st.builds(Fault, words, words),
    ),
    st.builds(Waiting, numbers, sides, words),
    st.builds(Void, words),
)


@given(events)
def test_an_event_comes_out_as_it_went_in(event: Event) -> None:
    assert decode_event(encode_event(event)) == event
