"""The package as its users get it: what it holds, who imports whom, and a wheel in a clean environment."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

import pytest

import ale_semantic

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {"ale_semantic": "ale_semantic", "app": "ale_semantic.app", "embeddings": "ale_semantic.embeddings"}

# Who may import whom: a module imports from its own layer and from those above it in this table, never from
# those below. Patterns are relative to `ale_semantic`; the most specific one counts.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("", "types", "plans", "errors", "settings", "once", "kept"),
    ("machine", "products", "beside", "quick_import", "leftovers"),
    ("fields", "vocabulary*", "cards", "texts", "arrays"),
    ("sources*", "card_store", "card_gatherer", "catalogue"),
    ("analysis", "filters*", "facet*", "card_words", "lexical", "fusion", "languages", "glossary", "names"),
    ("embeddings*", "skill*", "bands", "evidence"),
    (
        "reranking",
        "variants",
        "spelling",
        "understanding*",
        "components",
        "ranking",
        "large",
        "pools",
        "sketch",
        "candidates",
        "multilingual",
        "query_vectors",
        "requests",
        "question",
        "explain",
        "answers",
        "opening",
        "engine",
    ),
    ("curriculum*", "evaluation*", "export", "render", "serialise"),
    ("service*", "app*"),
    ("cli*",),
)

# Libraries that one room alone may know.
ROOM_OF_LIBRARY = {
    "fastapi": "service",
    "gradio": "app",
    "faiss": "embeddings",
    "onnxruntime": "embeddings",
    "sentence_transformers": "embeddings",
    "torch": "embeddings",
}

HEAVY = ("faiss", "fastapi", "gradio", "pandas", "pyarrow", "sentence_transformers", "torch", "transformers")


def python_files() -> dict[str, Path]:
    """Return the file of each module of the library by its import name."""
    files = {}
    for folder, package in ROOMS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            files[".".join((package, *parts)).removesuffix(".__init__")] = path
    return files


MODULES = python_files()


def packages_on_disk() -> set[str]:
    return {name for name, path in MODULES.items() if path.name == "__init__.py"}


@cache
def imported_names(module: str) -> frozenset[str]:
    """Return the full name of whatever `module` imports, at any depth of its code; relative names resolved."""
    return frozenset(_imported_names(module))


def _imported_names(module: str) -> Iterator[str]:
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if module == "ale_semantic":  # names its exports to type checkers alone and imports each when first used
        tree.body = [node for node in tree.body if not _is_type_checking(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported_modules(module: str) -> set[str]:
    """Return the modules of the library that `module` imports: of `from a import b` either `a.b` or `a`."""
    found = set()
    for name in imported_names(module):
        if name in MODULES:
            found.add(name)
        elif name.rpartition(".")[0] in MODULES:
            found.add(name.rpartition(".")[0])
    return found - {module}


def local_name(module: str) -> str:
    return module.removeprefix("ale_semantic").removeprefix(".")


def layer_of(module: str) -> int | None:
    """Return the row of `LAYERS` that holds `module`, by its longest matching pattern."""
    name = local_name(module)
    matches = [(len(p), row) for row, patterns in enumerate(LAYERS) for p in patterns if fnmatchcase(name, p)]
    return max(matches)[1] if matches else None


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command that must succeed and return what it printed."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} exited {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tree_files() -> list[str]:
    """Return the files of a clean tree: tracked, or new and not ignored."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("the clean tree is told by git, and this isn't a git checkout")
    names = run("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=ROOT).split("\0")
    return sorted(name for name in set(names) if name and (ROOT / name).is_file())


def test_each_folder_with_code_is_a_package() -> None:
    folders = {path.parent for path in MODULES.values()}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_packages_list_equals_the_folders() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["setuptools"]["packages"] == sorted(packages_on_disk())


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == ale_semantic.__version__ == version("ale-semantic")


def test_each_dependency_has_a_tested_version_and_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = chain(project["dependencies"], *project["optional-dependencies"].values(), ["torch"])
    wanted = {requirement_name(line) for line in lines}
    pinned = {requirement_name(line) for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()}
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()
    assert wanted - pinned == set()
    assert {name for name in wanted if f"| {name} |" not in explained.replace("_", "-")} == set()


def requirement_name(line: str) -> str:
    """Return the normalised name of a requirement such as `PyYAML>=6.0`."""
    for mark in "=<>!~;[ ":
        line = line.partition(mark)[0]
    return line.strip().lower().replace("_", "-")


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_follow_the_layers(module: str) -> None:
    own = layer_of(module)
    assert own is not None, f"{module} has no layer yet: say in LAYERS who may import it"
    below = {name for name in imported_modules(module) if (layer_of(name) or 0) > own}
    assert below == set(), f"{module} imports from a layer that is built on top of it"


def test_imports_have_no_cycle() -> None:
    try:
        TopologicalSorter({module: imported_modules(module) for module in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize(("library", "room"), sorted(ROOM_OF_LIBRARY.items()))
def test_a_library_is_known_to_its_room_alone(library: str, room: str) -> None:
    users = {m for m in MODULES for name in imported_names(m) if name.partition(".")[0] == library}
    assert {m for m in users if local_name(m).split(".")[0] != room} == set()


def test_mapped_folders_are_never_imported_by_their_folder_name() -> None:
    second_copies = {m for m in MODULES for name in imported_names(m) if name.split(".")[0] in {"app", "embeddings"}}
    assert second_copies == set()


def test_import_brings_nothing_heavy(tmp_path: Path) -> None:
    loaded = run(sys.executable, "-c", "import ale_semantic, sys; print(*sys.modules)", cwd=tmp_path).split()
    assert "ale_semantic" in loaded
    assert set(HEAVY) & set(loaded) == set()


def test_no_module_brings_anything_heavy_until_used(tmp_path: Path) -> None:
    light = [m for m in sorted(MODULES) if local_name(m).split(".")[0] not in {"app", "service"}]
    script = f"import sys\nfor name in {light!r}:\n    __import__(name)\nprint(*sys.modules)"
    loaded = run(sys.executable, "-c", script, cwd=tmp_path).split()
    assert set(light) <= set(loaded)
    assert set(HEAVY) & set(loaded) == set()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel from a copy of the clean tree, so that nothing ignored or left over gets in."""
    tree = tmp_path_factory.mktemp("tree")
    for name in tree_files():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, tree, cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def clean_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin folder of a new environment with the wheel, and the dependencies seen through a .pth file.

    A .pth file adds the folder alone and doesn't read the .pth files in it, so an editable install of the
    library that is tested here stays out of sight.
    """
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", scripts / "python", "--disable-pip-version-check")
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    purelib = run(scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(purelib.strip()) / "dependencies.pth").write_text("\n".join(sorted(dependencies)), encoding="utf-8")
    return scripts


def test_wheel_holds_each_file_of_the_rooms(wheel: Path) -> None:
    held = set(ZipFile(wheel).namelist())
    for name in tree_files():
        room, _, rest = name.partition("/")
        if room in ROOMS and rest:
            assert f"{ROOMS[room].replace('.', '/')}/{rest}" in held, f"{name} is missing: name it in package-data"


def test_wheel_holds_the_library_alone(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ale_semantic"}
    assert any(name.endswith("licenses/LICENSE") for name in ZipFile(wheel).namelist())


def test_wheel_works_in_a_clean_environment(clean_environment: Path, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    script = (
        "import ale_semantic, ale_semantic.app, ale_semantic.embeddings\n"
        "from importlib.resources import files\n"
        "demo = files('ale_semantic') / 'data' / 'demo'\n"
        "count = lambda at: sum(count(x) if x.is_dir() else x.name == 'task_card.json' for x in at.iterdir())\n"
        "print(ale_semantic.__file__, ale_semantic.app.__file__, ale_semantic.embeddings.__file__, sep='\\n')\n"
        "print(count(demo))"
    )
    *places, cards = run(clean_environment / "python", "-c", script, cwd=tmp_path, env=env).split("\n")[:4]
    assert {Path(place).is_relative_to(clean_environment.parent) for place in places} == {True}
    assert int(cards) >= 60
    assert "build" in run(clean_environment / "ale-semantic", "--help", cwd=tmp_path, env=env)
