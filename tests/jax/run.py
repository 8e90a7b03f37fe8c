"""Runs the tests of this folder: run.py [FOLDER ...]. Each FOLDER is searched for modules, as PYTHONPATH: the python/ of a build, whose
package jax_tessera is then tested; without one, that of the interpreter. Skipped (77) if no interpreter has JAX.

The interpreter is TESSERA_JAX_PYTHON, else this one if it can import JAX, else that of a virtual environment in build/jax
(scripts/jax_python makes one)."""
import os
import pathlib
import re
import subprocess
import sys
import time

here = pathlib.Path(__file__).resolve().parent
# With the number of virtual devices, and the least number of comparisons or tests.
TESTS = {"values_test": (1, 640), "devices_test": (8, 700), "errors_test": (1, 15), "callbacks_test": (1, 26), "profile_test": (1, 30),
         "documents_test": (1, 0), "robust_test": (1, 45), "start_test": (1, 70)}


def has_jax(python):
    return subprocess.run([python, "-c", "import jax, jaxlib"], capture_output=True).returncode == 0


def interpreters():
    named = os.environ.get("TESSERA_JAX_PYTHON")
    if named:
        yield named
        return
    yield sys.executable
    yield from sorted(map(str, here.parent.parent.glob("build/jax/*/bin/python")))


def main():
    python = next((p for p in interpreters() if has_jax(p)), None)
    if python is None:
        print("skipped, 0 checked: no interpreter has JAX; scripts/jax_python installs it from PyPI into build/jax")
        return 77
    env = {k: v for k, v in os.environ.items() if k == "JAX_TESSERA_LIBRARY" or not k.startswith(("JAX_", "XLA_FLAGS", "TESSERA_DEVICES"))}
    if sys.argv[1:]:
        env["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.argv[1:]))
    versions = subprocess.run([python, "-c", "import sys, jax; print('Python', sys.version.split()[0], 'JAX', jax.__version__)"],
                              capture_output=True, text=True, env=env).stdout.strip()
    print(f"{versions} ({python})")
    total, failed = 0, []
    for test, (devices, least) in TESTS.items():
        more = {"JAX_TESSERA_DEVICES": str(devices)} if devices > 1 else {}
        begin = time.monotonic()
        done = subprocess.run([python, here / f"{test}.py"], env={**env, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        counts = re.findall(r"^(\d+) comparisons in |^Ran (\d+) tests? in ", done.stdout, re.M)
        count = max((int(a or b) for a, b in counts), default=0)
        total += count
        print(f"{test}: {count} checked in {time.monotonic() - begin:.1f} s", flush=True)
        if done.returncode or count < least:
            failed.append(test)
            print(done.stdout)
            print(f"{test} ended with {done.returncode}, and should check at least {least}")
    print(f"{total} checked" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    return bool(failed)


sys.exit(main())
