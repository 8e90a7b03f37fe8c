"""Runs the tests of this folder: run.py [FOLDER ...]. Each FOLDER is searched for modules, as PYTHONPATH: the python/ of a build, whose
package jax_tessera is then tested; without one, that of the interpreter. Skipped (77) if no interpreter has JAX.

The interpreter is TESSERA_JAX_PYTHON, else this one if it can import JAX, else that of a virtual environment in build/jax
(scripts/jax_python makes one)."""
import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))

import python_suite  # noqa: E402

# With the number of virtual devices, and the least number of comparisons or tests.
TESTS = {"values_test": (1, 640), "devices_test": (8, 700), "errors_test": (1, 15), "callbacks_test": (1, 26), "profile_test": (1, 30),
         "documents_test": (1, 0), "robust_test": (1, 45), "start_test": (1, 70)}


def main():
    environments = sorted(here.parent.parent.glob("build/jax/*/bin/python"))
    python = python_suite.interpreter("TESSERA_JAX_PYTHON", "jax, jaxlib", environments)
    if python is None:
        print("skipped, 0 checked: no interpreter has JAX; scripts/jax_python installs it from PyPI into build/jax")
        return 77
    env = {k: v for k, v in os.environ.items() if k == "JAX_TESSERA_LIBRARY" or not k.startswith(("JAX_", "XLA_FLAGS", "TESSERA_DEVICES"))}
    if sys.argv[1:]:
        env["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.argv[1:]))
    versions = subprocess.run([python, "-c", "import sys, jax; print('Python', sys.version.split()[0], 'JAX', jax.__version__)"],
                              capture_output=True, text=True, env=env).stdout.strip()
    print(f"{versions} ({python})")

    def environment(test):
        devices = TESTS[test][0]
        return {**env, "JAX_TESSERA_DEVICES": str(devices)} if devices > 1 else env

    return not python_suite.run(python, here, {test: least for test, (_, least) in TESTS.items()}, environment)


sys.exit(main())
