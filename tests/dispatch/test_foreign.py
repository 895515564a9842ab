"""What others have outstanding at a server is judged by what our own turns have."""

from agon.dispatch.foreign import foreign_tokens


def test_requests_of_others_are_taken_to_be_like_ours() -> None:
    assert foreign_tokens(3, tokens=800, turns=4) == 600
    assert foreign_tokens(3, tokens=0, turns=0) == 450
    assert foreign_tokens(0, tokens=800, turns=4) == 0
    assert foreign_tokens(2, tokens=1_000_000, turns=1) == 3000
    assert foreign_tokens(2, tokens=0, turns=5) == 2
