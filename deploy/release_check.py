"""Check what a release would publish: `make release-check`.

Builds the sdist, and the wheel from it, into dist/. Then uses the wheel as a user would: in an empty environment of
each supported Python, from an empty folder, without this repository.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LARGEST = 10


def main() -> None:
    """Exit with the output of the first step that fails."""
    wheel = build()
    pythons = find_pythons()
    for version, python in pythons.items():
        if python is None:
            print(f"python{version}: SKIPPED, it is not on PATH")
            continue
        with tempfile.TemporaryDirectory() as folder:
            check(wheel, version, python, Path(folder))
    if not any(pythons.values()):
        raise SystemExit("no supported Python is on PATH")


def build() -> Path:
    """Return the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], quiet=True)
    run([sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(DIST.iterdir()))])
    (wheel,) = DIST.glob("*.whl")
    return wheel


def find_pythons() -> Mapping[str, str | None]:
    """Return the program of each version that the classifiers name; None if it is not on PATH."""
    versions = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PROJECT["classifiers"])
    return {version[1]: find_python(version[1]) for version in versions if version}


def find_python(version: str) -> str | None:
    """Return the program if it starts: pyenv has one on PATH for each version that it knows, in use or not."""
    program = shutil.which(f"python{version}")
    starts = program and subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0
    return program if starts else None


def check(wheel: Path, version: str, python: str, folder: Path) -> None:
    """Install *wheel* below *folder* and use it there."""
    environment, home, empty = (folder / name for name in ("environment", "home", "empty"))
    home.mkdir()
    empty.mkdir()
    run([python, "-m", "venv", "--without-pip", str(environment)])
    programs = environment / "bin"
    user = user_environment(programs, home)

    install(programs, str(wheel))
    (site_packages,) = environment.glob("lib/python*/site-packages")
    print_sizes(version, distributions(path=[str(site_packages)]))
    run(["memgraph", "--version"], cwd=empty, env=user)
    run(["python", str(ROOT / "docs/hooks/licences_page.py")], cwd=empty, env=user)

    install(programs, f"{wheel}[agents]", "pytest")  # what the README asks for, and what a new project is tested with
    for number, block in enumerate(python_blocks((ROOT / "README.md").read_text(encoding="utf-8")), start=1):
        print(f"python{version}: README, block {number}", flush=True)
        run(["python", "-W", "error", "-c", block], cwd=empty, env=user, quiet=True)
    run(["memgraph", "new", "demo"], cwd=empty, env=user)
    run(["python", "-m", "pytest", "--quiet"], cwd=empty / "demo", env=user)
    print(f"python{version}: PASSED", flush=True)


def user_environment(programs: Path, home: Path) -> dict[str, str]:
    """Return the variables of a user who has just installed memgraph: no settings, no key, an empty home."""
    ours = re.compile(r"MEMGRAPH_|PYTHON|VIRTUAL_ENV|XDG_|LANGSMITH_|\w+_API_KEY")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    return kept | {"HOME": str(home), "PATH": os.pathsep.join([str(programs), kept["PATH"]])}


def install(programs: Path, *requirements: str) -> None:
    """Install with our pip and our constraints, so that the environment has only what was asked for."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(programs / "python")]
    run([*pip, "install", "--constraint", str(ROOT / "constraints.txt"), *requirements], quiet=True)


def print_sizes(version: str, packages: Iterable[Distribution]) -> None:
    """Print the size of all files in MB, and the largest packages."""
    sizes = sorted(((measure(package), package.name) for package in packages), reverse=True)
    largest = ", ".join(f"{name} {size / 1e6:.1f}" for size, name in sizes[:LARGEST])
    total = sum(size for size, _ in sizes) / 1e6
    print(f"python{version}: {total:.0f} MB in {len(sizes)} packages: {largest}", flush=True)


def measure(package: Distribution) -> int:
    """Return the bytes of a package's installed files, with what pip compiled."""
    paths = (Path(str(package.locate_file(file))) for file in package.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file())


def python_blocks(page: str) -> list[str]:
    """Return the Python blocks of a Markdown page that stand by themselves."""
    return re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def run(command: list[str], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None, quiet: bool = False) -> None:
    """Run a program that must succeed; with *quiet*, its output appears only if it fails."""
    program = shutil.which(command[0], path=(env or os.environ)["PATH"]) or command[0]
    finished = subprocess.run([program, *command[1:]], cwd=cwd, env=env, capture_output=quiet, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"{command[:4]} failed: {finished.stdout or ''}{finished.stderr or ''}")


if __name__ == "__main__":
    main()
