"""Tests the Jupyter kernel of notebook/ and the notebooks of examples/notebooks: run.py ROOT INCLUDE LIBRARY COMPILER WORK [--write].

INCLUDE is the folder of the headers, LIBRARY the shared library, and WORK a folder for what is compiled once. The kernel is tested with
COMPILER; the notebooks run with clang 19 if it is installed, so that both are tested.

The interpreter is TESSERA_NOTEBOOK_PYTHON, else this one if it has the packages, else that of the virtual environment in build/notebooks
(scripts/notebooks makes it). Skipped (77) if none has them. With --write, the notebooks' outputs are stored instead of being compared."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))

import python_suite  # noqa: E402

NEEDED = "ipykernel, nbclient, nbformat, tree_sitter, tree_sitter_cpp"
# With the least number of tests.
TESTS = {"splitter_test": 21, "kernel_test": 42, "examples_test": 6}


def main():
    root, include, library, compiler, work = map(pathlib.Path, sys.argv[1:6])
    python = python_suite.interpreter("TESSERA_NOTEBOOK_PYTHON", NEEDED, [root / "build/notebooks/bin/python"])
    if python is None:
        print("skipped, 0 checked: no interpreter has Jupyter; scripts/notebooks installs it from PyPI into build/notebooks")
        return 77
    with tempfile.TemporaryDirectory() as data:
        env = {**os.environ, "PYTHONPATH": str(root / "notebook"), "JUPYTER_DATA_DIR": data, "JUPYTER_PLATFORM_DIRS": "1", "XDG_CACHE_HOME": str(work.resolve()),
               "PYTHONDONTWRITEBYTECODE": "1"}

        def install(cxx):
            parts = ["install", "--user", "--include", include, "--library", library, "--compiler", cxx]
            subprocess.run([python, "-m", "tessera_kernel", *map(str, parts)], check=True, env=env)

        quicker = shutil.which("clang++-19") or compiler
        if "--write" in sys.argv[6:]:
            install(quicker)
            return subprocess.run([python, here / "examples_test.py", "--write"], env=env).returncode

        def environment(test):
            if test != "splitter_test":
                install(quicker if test == "examples_test" else compiler)
            return env

        return not python_suite.run(python, here, TESTS, environment)


sys.exit(main())
