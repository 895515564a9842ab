import subprocess
import sys
from types import FunctionType

import pytest

import agon.ranking


@pytest.mark.parametrize("name", agon.ranking.__all__)
def test_every_public_name_is_there(name: str) -> None:
    found = getattr(agon.ranking, name)
    assert isinstance(found, type | FunctionType) or name.isupper()
    assert name in dir(agon.ranking)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        _ = agon.ranking.nobody  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def test_a_part_is_imported_by_those_who_ask_for_it() -> None:
    code = (
        "import sys, agon.ranking, agon.report.standings, agon.battlelogs.collect; "
        "unused = {'agon.ranking.diagnostics', 'agon.ranking.ties', 'numpy.random', 'pandas', 'pyarrow', 'rich'}; "
        "sys.exit(str(unused & set(sys.modules)) if unused & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr == ""
