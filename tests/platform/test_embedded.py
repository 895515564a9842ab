"""The launchers with the real servers: what they keep, refuse and leave behind."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import psutil
import pytest
import redis

from agon.core.errors import Unavailable
from agon.embedded.postgres import PostgresServer
from agon.embedded.process import wait_until
from agon.embedded.sockets import LONGEST_SOCKET_NAME, MAX_SOCKET_PATH_BYTES, socket_dir
from agon.embedded.valkey import ValkeyServer

pytestmark = pytest.mark.slow


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[PostgresServer]:
    server = PostgresServer(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[ValkeyServer]:
    server = ValkeyServer(tmp_path)
    yield server
    server.stop()


async def fetch(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


def ask_valkey(url: str) -> "redis.Redis":
    return redis.Redis.from_url(url, decode_responses=True)  # pyright: ignore[reportUnknownMemberType]


async def test_postgres_keeps_its_rows_over_a_restart(postgres: PostgresServer) -> None:
    await fetch(postgres.start(), "create table kept as select 42 as n")
    postgres.stop()
    assert not postgres.is_alive()
    assert await fetch(postgres.start(), "select n from kept") == 42


@pytest.mark.crash
async def test_postgres_killed_keeps_what_it_acknowledged(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.start()
    for round_number in range(3):
        await fetch(url, f"create table kept_{round_number} as select {round_number} as n")
        assert postgres.child is not None
        postgres.child.kill()
        url = postgres.start()
        assert await fetch(url, f"select n from kept_{round_number}") == round_number
    assert PostgresServer(tmp_path).url == url


async def test_postgres_opens_no_port_and_only_its_owner_may_enter(postgres: PostgresServer) -> None:
    url = postgres.start()
    assert await fetch(url, "select current_setting('listen_addresses')") == ""
    assert await fetch(url, "select current_setting('fsync')") == "on"
    assert await fetch(url, "show server_encoding") == "UTF8"
    folder = Path(parse_qs(urlsplit(url).query)["host"][0])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert postgres.pid is not None
    assert [c for c in psutil.Process(postgres.pid).net_connections("inet") if c.status == psutil.CONN_LISTEN] == []


async def test_a_start_waits_for_the_former_server_to_shut_down(postgres: PostgresServer, tmp_path: Path) -> None:
    await fetch(postgres.start(), "create table kept as select 1 as n")
    second = PostgresServer(tmp_path)
    try:
        assert await fetch(second.start(), "select n from kept") == 1
        assert not postgres.is_alive()
    finally:
        second.stop()


def test_a_pid_that_belongs_to_another_program_now_is_no_obstacle(postgres: PostgresServer, tmp_path: Path) -> None:
    postgres.start()
    postgres.stop()
    (tmp_path / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n{tmp_path / 'postgres'}\n0\n5432\n\n\n")
    postgres.start()
    assert postgres.is_ready()


def test_a_server_that_cannot_start_says_why_in_its_own_words(postgres: PostgresServer, tmp_path: Path) -> None:
    postgres.start()
    postgres.stop()
    (tmp_path / "postgres" / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(Unavailable, match=r"initialized by PostgreSQL version 9\.6"):
        postgres.start()


def test_a_half_made_cluster_is_made_again(postgres: PostgresServer, tmp_path: Path) -> None:
    draft = tmp_path / "postgres.new"
    draft.mkdir()
    (draft / "half").write_text("an initdb that was killed")
    postgres.start()
    assert postgres.is_ready()
    assert not draft.exists()


async def test_a_folder_too_deep_for_sockets_and_with_odd_characters_works(tmp_path: Path) -> None:
    for name in ("d" * MAX_SOCKET_PATH_BYTES, 'a "b", c'):
        server = PostgresServer(tmp_path / name)
        try:
            assert await fetch(server.start(), "select 1") == 1
        finally:
            server.stop()


def test_socket_folders_differ_by_data_folder_and_fit(tmp_path: Path) -> None:
    deep = [tmp_path / letter / ("d" * MAX_SOCKET_PATH_BYTES) for letter in "ab"]
    folders = [socket_dir(path, "postgres") for path in deep]
    try:
        assert folders[0] != folders[1]
        assert all(len(os.fsencode(f / LONGEST_SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES for f in folders)
    finally:
        for folder in folders:
            folder.rmdir()


def test_valkey_keeps_its_keys_over_a_restart(valkey: ValkeyServer) -> None:
    with ask_valkey(valkey.start()) as client:
        client.set("kept", "1")
    valkey.stop()
    with ask_valkey(valkey.start()) as client:
        assert client.get("kept") == "1"
        found = client.info("server") | client.info("memory")  # pyright: ignore[reportUnknownMemberType]
        assert (found["tcp_port"], found["maxmemory_policy"]) == (0, "noeviction")


def test_a_second_valkey_ends_the_first_before_it_reads_its_files(valkey: ValkeyServer, tmp_path: Path) -> None:
    with ask_valkey(valkey.start()) as client:
        client.set("kept", "1")
    second = ValkeyServer(tmp_path)
    try:
        with ask_valkey(second.start()) as client:
            assert client.get("kept") == "1"
        assert not valkey.is_alive()
    finally:
        second.stop()


PARENT = """
import pathlib, sys, time
from agon.embedded.postgres import PostgresServer
from agon.embedded.valkey import ValkeyServer
postgres, valkey = PostgresServer(pathlib.Path(sys.argv[1])), ValkeyServer(pathlib.Path(sys.argv[1]))
postgres.start(); valkey.start()
print(postgres.pid, valkey.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.crash
def test_killing_the_parent_leaves_no_orphan(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        stores = [psutil.Process(int(word)) for word in parent.stdout.readline().split()]
        family = stores + [child for store in stores for child in store.children(recursive=True)]
        assert len(family) > len(stores) == 2
        parent.send_signal(signal.SIGKILL)
    assert wait_until(lambda: not any(is_running(process) for process in family), 5)


def is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
