"""What is understood of a request, and what is left as it came."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agon.relay.asks import Ask, read

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6) | st.just("model"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just("model"), inner, max_size=3)
    ),
    max_leaves=8,
)


def ask(*messages: tuple[str, Any], model: str = "m", **fields: Any) -> Ask:
    listed = [{"role": role, "content": content} for role, content in messages]
    return read(json.dumps({"model": model, "messages": listed, **fields}).encode(), "me")


@given(
    fields=st.dictionaries(st.text(max_size=6), PLAIN, max_size=4),
    content=PLAIN,
    ascii_only=st.booleans(),
    seed=st.none() | st.integers(0, 9),
)
def test_only_the_name_is_replaced(*, fields: dict[str, Any], content: Any, ascii_only: bool, seed: int | None) -> None:
    taken = {"model", "messages", "stream", "max_tokens", "max_completion_tokens", "seed"}
    fields = {name: value for name, value in fields.items() if name not in taken}
    body = {**fields, "messages": [{"role": "user", "content": content}], "model": "ours", "stream": True}
    raw = json.dumps(body, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    sent = json.loads(read(raw, "me").body_for(b'"theirs"', seed))
    assert sent == {**body, "model": "theirs"} | ({} if seed is None else {"seed": seed})


def test_a_name_under_an_escaped_key_is_the_one_that_counts() -> None:
    raw = b'{"mod\\u0065l": "ours", "messages": [{"role": "user", "x": {"model": "other"}}]}'
    sent = json.loads(read(raw, "me").body_for(b'"theirs"', None))
    assert sent == {"model": "theirs", "messages": [{"role": "user", "x": {"model": "other"}}]}


def test_a_seed_of_the_clients_own_stays() -> None:
    assert json.loads(ask(("user", "Hi"), seed=0).body_for(b'"x"', 7))["seed"] == 0
    assert json.loads(ask(("user", "Hi"), seed=None).body_for(b'"x"', 7))["seed"] == 7


def test_a_dialogue_is_known_by_its_beginning() -> None:
    first = ask(("system", "Be brief."), ("user", "Hello"))
    later = ask(("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi!"), ("user", "And now?"))
    assert first.prefix() == later.prefix()
    others = [
        ask(("user", "Hello")),
        ask(("system", "Be long."), ("user", "Hello")),
        ask(("system", "Be brief."), ("user", "Hello!")),
        ask(("system", "Be brief."), ("user", "Hello"), model="n"),
        ask(("system", "Be brief."), ("user", [{"type": "text", "text": "Hello"}])),
    ]
    assert len({first.prefix(), *(other.prefix() for other in others)}) == 6


def test_only_a_later_turn_counts_on_what_was_read() -> None:
    first = ask(("system", "Be brief."), ("user", "Hello"), max_tokens=50).cost()
    later = ask(
        ("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi!"), ("user", "Go on"), max_tokens=50
    ).cost()
    assert first.cached == 0
    assert 0 < later.cached < later.prompt
    assert first.output <= 50


def test_a_budget_under_either_name_bounds_the_cost() -> None:
    long = 4000 * "word "
    assert ask(("user", long)).cost().output > 100
    assert ask(("user", long), max_tokens=9).cost().output == 9
    assert ask(("user", long), max_completion_tokens=9, max_tokens=None).cost().output == 9
