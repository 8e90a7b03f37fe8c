"""The interpreter of a test that needs packages of PyPI."""
import importlib.util
import os
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent


def candidates():
    named = os.environ.get("TESSERA_JAX_PYTHON")
    if named:
        yield named
    else:
        yield from sorted(map(str, root.glob("build/jax/*/bin/python")))


def need(*modules):
    """Goes on if this interpreter has the modules. Else runs the program in one that has them: that of TESSERA_JAX_PYTHON, or of a virtual
    environment in build/jax. Without one, says so and ends with 77, which ctest takes for skipped."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if not missing:
        return
    for python in candidates():
        if pathlib.Path(python).absolute() == pathlib.Path(sys.executable).absolute():
            continue
        if subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0:
            os.execv(python, [python, *sys.argv])
    print(f"skipped, 0 checked: {sys.executable} has no {' and no '.join(missing)}, and TESSERA_JAX_PYTHON names no interpreter that has")
    sys.exit(77)
