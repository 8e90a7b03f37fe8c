"""Tests the Jupyter kernel of notebook/ and the notebooks of examples/notebooks: run.py ROOT INCLUDE LIBRARY COMPILER WORK [--write].

INCLUDE is the folder of the headers, LIBRARY the shared library, and WORK a folder for what is compiled once. The kernel is tested with
COMPILER; the notebooks run with clang 19 if it is installed, so that both are tested.

The interpreter is TESSERA_NOTEBOOK_PYTHON, else this one if it has the packages, else that of the virtual environment in build/notebooks
(scripts/notebooks makes it). Skipped (77) if none has them. With --write, the notebooks' outputs are stored instead of being compared."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
NEEDED = "import ipykernel, nbclient, nbformat, tree_sitter, tree_sitter_cpp"
# With the least number of tests.
TESTS = {"splitter_test": 21, "kernel_test": 42, "examples_test": 6}


def interpreters(root):
    if named := os.environ.get("TESSERA_NOTEBOOK_PYTHON"):
        yield named
        return
    yield sys.executable
    yield str(root / "build/notebooks/bin/python")


def usable(python):
    try:
        return subprocess.run([python, "-c", NEEDED], capture_output=True).returncode == 0
    except OSError:
        return False


def main():
    root, include, library, compiler, work = map(pathlib.Path, sys.argv[1:6])
    python = next((p for p in interpreters(root) if usable(p)), None)
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
        total, failed = 0, []
        for test, least in TESTS.items():
            if test != "splitter_test":
                install(quicker if test == "examples_test" else compiler)
            begin = time.monotonic()
            done = subprocess.run([python, here / f"{test}.py"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            count = int((re.findall(r"^Ran (\d+) tests? in ", done.stdout, re.M) or [0])[0])
            total += count
            print(f"{test}: {count} checked in {time.monotonic() - begin:.1f} s", flush=True)
            if done.returncode or count < least:
                failed.append(test)
                print(done.stdout)
                print(f"{test} ended with {done.returncode}, and should check at least {least}")
        print(f"{total} checked" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    return bool(failed)


sys.exit(main())
