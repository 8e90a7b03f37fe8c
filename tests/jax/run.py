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
TESTS = ("values_test", "devices_test", "errors_test", "start_test")
LEAST = 1000


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
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_FLAGS", "TESSERA_DEVICES"))}
    for name in ("JAX_TESSERA_LIBRARY",):
        if name in os.environ:
            env[name] = os.environ[name]
    if sys.argv[1:]:
        env["PYTHONPATH"] = os.pathsep.join(sys.argv[1:])
    versions = subprocess.run([python, "-c", "import sys, jax; print('Python', sys.version.split()[0], 'JAX', jax.__version__)"],
                              capture_output=True, text=True, env=env).stdout.strip()
    print(f"{versions} ({python})")
    total, failed = 0, []
    for test in TESTS:
        more = {"JAX_TESSERA_DEVICES": "8"} if test == "devices_test" else {}
        begin = time.monotonic()
        done = subprocess.run([python, here / f"{test}.py"], env={**env, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        count = re.search(r"^(\d+) comparisons in .*$", done.stdout, re.M)
        total += int(count[1]) if count else 0
        print(f"{test}: {count[0] if count else 'did not finish'}, {time.monotonic() - begin:.1f} s")
        if done.returncode:
            failed.append(test)
            print(done.stdout)
    print(f"{total} comparisons" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    if total < LEAST and not failed:
        print(f"there should be at least {LEAST}")
        return 1
    return bool(failed)


sys.exit(main())
