"""What is refused before anything starts, and what it says."""

import argparse
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agon.core.errors import Conflict, InvalidInput, NotAllowed
from agon.supervisor import checks
from agon.supervisor.options import Options, add_flags, free_port, read_options
from agon.supervisor.preflight import check_port, locked

HOLDER = """
import pathlib, sys, time
from agon.supervisor.preflight import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def options(words: list[str], environ: Mapping[str, str]) -> Options:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return read_options(parser.parse_args(words), environ)


def test_flags_stand_over_variables(tmp_path: Path) -> None:
    environ = {"AGON_PORT": "8001", "AGON_DATA_DIR": str(tmp_path), "AGON_REDIS_URL": "redis://elsewhere"}
    read = options(["--port", "8002", "--host", "0.0.0.0"], environ)
    assert (read.port, read.url, read.data_dir) == (8002, "http://127.0.0.1:8002", tmp_path)
    assert (read.database_url, read.redis_url) == (None, "redis://elsewhere")


def test_port_zero_becomes_a_free_port(tmp_path: Path) -> None:
    read = options(["--port", "0"], {"AGON_DATA_DIR": str(tmp_path)})
    assert read.port > 0
    check_port(read)


def test_a_port_that_is_none_is_a_bad_configuration() -> None:
    with pytest.raises(InvalidInput, match="AGON_PORT") as caught:
        options([], {"AGON_PORT": "eighty"})
    assert caught.value.code == "bad_configuration"


def test_children_read_where_the_stores_are(tmp_path: Path) -> None:
    read = options(["--config", str(write(tmp_path / "agon.toml", ""))], {"AGON_DATA_DIR": str(tmp_path)})
    environment = read.environment({"HOME": "/home"}, database_url="d", redis_url="r")
    assert environment["AGON_CONFIG"] == str(tmp_path / "agon.toml")
    assert (environment["AGON_DATABASE_URL"], environment["AGON_REDIS_URL"], environment["HOME"]) == ("d", "r", "/home")


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_taken_port_names_a_free_one(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        read = options(["--port", str(port)], {"AGON_DATA_DIR": str(tmp_path)})
        with pytest.raises(Conflict, match=rf"Port {port} on 127\.0\.0\.1 is taken .* AGON_PORT=\d+"):
            check_port(read, patience_s=0.2)


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    read = options(["--host", "192.0.2.1"], {"AGON_DATA_DIR": str(tmp_path)})
    with pytest.raises(NotAllowed, match=r"192\.0\.2\.1"):
        check_port(read)


def test_a_second_arena_on_the_same_data_is_refused_and_names_the_first(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        assert checks.is_running(tmp_path)
        with pytest.raises(Conflict, match=rf"process {first.pid}"), locked(tmp_path):
            pass
        first.kill()
    assert not checks.is_running(tmp_path)
    with locked(tmp_path):
        assert checks.is_running(tmp_path)


def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="AGON_DATA_DIR"), locked(write(tmp_path / "file", "")):
        pass


def test_the_doctor_finds_this_machine_fit_and_a_taken_port_not(tmp_path: Path) -> None:
    found = {f.name: f for f in checks.findings(options(["--port", "0"], {"AGON_DATA_DIR": str(tmp_path)}))}
    assert all(found[name].is_good for name in ("Python", "Machine", "Engine", "PostgreSQL", "Valkey", "Address"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = options(["--port", str(server.getsockname()[1])], {"AGON_DATA_DIR": str(tmp_path)})
        assert not checks.check_serving(taken).is_good


def test_free_ports_are_free() -> None:
    with socket.create_server(("127.0.0.1", free_port("127.0.0.1"))):
        pass
