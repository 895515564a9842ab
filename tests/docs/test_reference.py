"""The reference pages know every endpoint, setting, command and error code, and no others."""

import argparse
import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args

import pytest
from prometheus_client import CollectorRegistry
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from agon.api.app import create_app
from agon.api.errors import status_of
from agon.cli import COMMANDS, CommandModule
from agon.config import VARIABLES, Settings
from agon.core.errors import AgonError, Busy
from agon.telemetry import Metrics

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "agon"
REFERENCE = ROOT / "docs" / "reference"
CODE_NAMES = {"code", "default_code"}


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text("utf-8")


def endpoints() -> list[str]:
    paths = create_app(Settings(), Metrics(CollectorRegistry())).openapi()["paths"]
    return [f"{method.upper()} {path}" for path, operations in paths.items() for method in operations]


def shortened(endpoint: str) -> str:
    """With parameters as the page names them."""
    return re.sub(r"\{(?:battle_|round_)?(\w+)\}", r"{\1}", endpoint)


@pytest.mark.parametrize("endpoint", endpoints())
def test_every_endpoint_is_described(endpoint: str) -> None:
    known = {
        re.sub(r"\?.*", "", found) for found in re.findall(r"`((?:GET|POST|PATCH|DELETE|PUT) [^` ]+)", page("api"))
    }
    assert shortened(endpoint) in known


def test_no_endpoint_is_described_that_is_not_there() -> None:
    ours = {shortened(endpoint) for endpoint in endpoints()}
    found = set(re.findall(r"^\| `((?:GET|POST|PATCH|DELETE|PUT) [^` ?]+)", page("api"), re.MULTILINE))
    assert found <= ours


def fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every setting by its dotted name, with its default."""
    for name, field in model.model_fields.items():
        annotation: object = field.annotation
        inner = [annotation, *get_args(annotation)]
        section = next((one for one in inner if isinstance(one, type) and issubclass(one, BaseModel)), None)
        if section is None:
            yield f"{prefix}{name}", field.default
        else:
            yield from fields(section, f"{name}.")


def rows() -> dict[str, list[str]]:
    """The cells of each setting's row, by its name."""
    found: dict[str, list[str]] = {}
    for line in page("settings").splitlines():
        if re.match(r"\| `[\w.]+` \|", line):
            name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            found[name.strip("` ")] = cells
    return found


def written(default: object) -> str:
    if default is None:
        return "none"
    if default is PydanticUndefined:
        return "required"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f'`"{default}"`' if isinstance(default, str | Path) else f"`{default}`"


def test_every_setting_is_described_with_its_default() -> None:
    ours, described = dict(fields(Settings)), rows()
    assert set(described) == set(ours)
    for name, default in ours.items():
        if name != "contestants.model":
            assert described[name][1] == written(default), name


def test_every_variable_is_described_beside_its_setting() -> None:
    described = rows()
    ours = {".".join(keys): f"`{variable}`" for variable, keys in VARIABLES.items()}
    assert {name: cells[0] for name, cells in described.items() if cells[0]} == ours
    assert "`AGON_CONFIG`" in page("settings")


def options(name: str) -> set[str]:
    """The long options and actions of a command."""
    parser = argparse.ArgumentParser(add_help=False)
    cast("CommandModule", importlib.import_module(COMMANDS[name].module)).configure(parser)
    return set(_words(parser))


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        yield from (option for option in action.option_strings if option.startswith("--") and option != "--help")
        if isinstance(action.choices, dict):
            for word, inner in cast("dict[str, argparse.ArgumentParser]", action.choices).items():
                yield word
                yield from _words(inner)
        elif action.choices and not action.option_strings:
            yield from cast("list[str]", action.choices)


def sections() -> dict[str, str]:
    parts = re.split(r"^## `agon ([\w-]+)`$", page("commands"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_has_its_section() -> None:
    assert set(sections()) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_described(name: str) -> None:
    section = sections()[name]
    assert {word for word in options(name) if f"`{word}" not in section} == set()
    assert set(re.findall(r"--[a-z][\w-]*", section)) <= options(name)


def codes() -> set[str]:
    """Every error code in the sources: by keyword, as a class's default, or as a constant named for it."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            found.update(_codes_at(node))
    return found


def _codes_at(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.keyword(arg="code", value=value):
            yield from _texts(value)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in CODE_NAMES or name.endswith("_CODE"):
            yield from _texts(value)
        case ast.Assign(targets=[ast.Name(id="_HTTP_CODES")], value=ast.Dict(values=values)):
            for value in values:
                yield from _texts(value)
        case ast.Assign(targets=[ast.Name(id="_REFUSALS")], value=ast.Dict(keys=keys)):
            for key in keys:
                yield from () if key is None else _texts(key)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "code":
                    yield from _texts(value)
        case _:
            pass


def _texts(value: ast.AST) -> Iterator[str]:
    """The texts that an expression may become."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from _texts(body)
            yield from _texts(orelse)
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
            yield from _texts(default)
        case _:
            pass


def described_codes() -> set[str]:
    text = page("errors")
    general = re.search(r"^Some kinds of error have a general code.*$", text, re.MULTILINE)
    assert general is not None
    return set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) | set(re.findall(r"`(\w+)`", general[0]))


def test_every_error_code_is_described() -> None:
    assert codes() - described_codes() == set(), "describe them in docs/reference/errors.md"


def test_no_error_code_is_described_that_nothing_raises() -> None:
    assert described_codes() - codes() == set()


def kinds(kind: type[AgonError] = AgonError) -> Iterator[type[AgonError]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from kinds(narrower)


def test_codes_have_the_status_that_the_page_says() -> None:
    by_code = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", page("errors"), re.MULTILINE))
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                name = node.func.id
                kind = next((one for one in kinds() if one.__name__ == name), None)
                for keyword in node.keywords:
                    code = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                    if kind is not None and keyword.arg == "code" and code in by_code:
                        busy = Busy("", code=str(code), retry_after_s=1)
                        error = busy if issubclass(kind, Busy) else kind("", code=str(code))
                        assert status_of(error) == int(by_code[str(code)]), code
