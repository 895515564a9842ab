"""A session runs where it was asked to run, or not at all."""

from collections.abc import Mapping

import pytest
from tests.scoring.quantise.small import small_graph

from agon.core.errors import Unavailable
from agon.engines.encoder.providers import FOREIGN, Placement, Provider, available, check_provider, open_session

GPU = Placement(Provider.TENSORRT, least_share=0.9)
TRT, CUDA, CPU = Provider.TENSORRT.value, Provider.CUDA.value, Provider.CPU.value


def test_the_processor_is_there_and_has_all_nodes() -> None:
    session = open_session(small_graph().SerializeToString(), Placement())
    assert session.providers[0] == CPU
    assert session.assigned is not None
    assert set(session.assigned) == {CPU}
    assert session.assigned[CPU] > 20


def test_a_missing_provider_is_no_reason_to_take_another() -> None:
    if TRT in available():
        pytest.skip("this runtime knows TensorRT")
    with pytest.raises(Unavailable) as raised:
        open_session(small_graph().SerializeToString(), GPU)
    assert raised.value.code == "provider_missing"


@pytest.mark.parametrize(
    ("providers", "assigned"),
    [
        ([CPU], None),
        ([], None),
        ([CUDA, CPU], {CUDA: 100}),
        ([TRT, CUDA, CPU], {CPU: 100}),
        ([TRT, CUDA, CPU], {TRT: 89, CPU: 11}),
        ([TRT, CUDA, CPU], {}),
    ],
)
def test_a_silent_fall_back_is_an_error(providers: list[str], assigned: Mapping[str, int] | None) -> None:
    with pytest.raises(Unavailable) as raised:
        check_provider(providers, assigned, GPU)
    assert raised.value.code == "provider_fell_back"
    assert TRT in raised.value.message


@pytest.mark.parametrize("assigned", [None, {TRT: 100}, {TRT: 90, CPU: 10}])
def test_where_it_should_be_is_fine(assigned: Mapping[str, int] | None) -> None:
    check_provider([TRT, CUDA, CPU], assigned, GPU)


def test_all_errors_of_the_runtime_are_known() -> None:
    names = {error.__name__ for error in FOREIGN}
    assert {"Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile", "RuntimeException"} <= names


@pytest.mark.parametrize("content", [b"", b"nothing", b"\x08\x0a"])
def test_a_broken_graph_is_ours_to_tell(content: bytes) -> None:
    with pytest.raises(Unavailable) as raised:
        open_session(content, Placement())
    assert raised.value.code == "encoder_unusable"
