"""The wheel, installed where there is no checkout, runs an arena with its page."""

import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import httpx
import pytest
from tests.e2e.arena import Arena, bare_environment
from tests.e2e.engines import ScriptedProcess

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]


def run(*words: str | Path, at: Path) -> str:
    done = subprocess.run(words, check=False, cwd=at, env=bare_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, at=ROOT)
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a new environment with the wheel in it; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", folder / "venv", at=folder)
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel, at=folder)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", at=folder).strip()
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python.parent


def test_the_wheel_holds_the_page_and_nothing_of_the_workshop(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "agon/page/index.html" in names
    page = zipfile.ZipFile(wheel).read("agon/page/index.html").decode()
    for asset in re.findall(r'(?:src|href)="\./([^"]+)"', page):
        assert f"agon/page/{asset}" in names
    assert any(re.fullmatch(r"agon/stores/postgres/migrations/\d+_\w+\.sql", name) for name in names)
    strays = [name for name in names if not re.match(r"agon/|agon_arena-[\d.]+\.dist-info/", name)]
    assert strays == []
    assert not any("node_modules" in name or "__pycache__" in name or name.endswith(".ts") for name in names)


def test_the_installed_command_tells_its_version(scripts: Path, tmp_path: Path) -> None:
    assert re.fullmatch(r"agon \d+\.\d+\.\d+\n", run(scripts / "agon", "--version", at=tmp_path))
    home = run(scripts / "python", "-P", "-c", "import agon; print(agon.__file__)", at=tmp_path)
    assert home.startswith(str(scripts.parent))


def test_the_installed_arena_serves_its_page(scripts: Path, tmp_path: Path, scripted_process: ScriptedProcess) -> None:
    contestant = f"[[contestants]]\nname = 'Heron'\nurl = {scripted_process.url!r}\nmodel = 'heron'\n"
    arena = Arena(tmp_path, contestant, agon=[str(scripts / "agon")])
    try:
        with arena.client() as person:
            page = person.get("/").raise_for_status().text
            [script] = re.findall(r'src="\./(assets/[^"]+\.js)"', page)
            assert person.get(f"/{script}").raise_for_status().headers["content-type"].startswith("text/javascript")
            answer = person.post("/chat", json={"prompt": "Are you installed?"}).raise_for_status().json()
            assert answer["text"]
    finally:
        arena.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(arena.url)
