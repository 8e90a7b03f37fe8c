"""Installs a wheel of jax-tessera into empty virtual environments, where pip brings JAX along, and tests it there: wheel_test.py WHEEL
[PYTHON ...]. Without interpreters, those of Python 3.11 to 3.14 that are there; with none, it fails.

In each environment the tests of this folder run (run.py), and programs are started with Tessera and with jaxlib's own client, in turns,
to compare how long that takes."""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
ROUNDS = 9
PROGRAMS = {"import jax; jax.devices()": "import jax; jax.devices()",
            "the same with a first jit": "import jax, numpy; print(jax.jit(lambda x: x * 2 + 1)(numpy.ones(8, numpy.float32)))"}


def clean(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_FLAGS", "TESSERA_", "PYTHON"))}
    return {**env, **more}


def seconds(python, program, **environment):
    begin = time.monotonic()
    subprocess.run([python, "-c", program], check=True, env=clean(**environment), stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def start_times(python):
    for what, program in PROGRAMS.items():
        sides = {"Tessera, beside jaxlib's client": {}, "Tessera alone": {"JAX_PLATFORMS": "tessera"}, "jaxlib's client": {"JAX_PLATFORMS": "cpu"}}
        times = {side: [] for side in sides}
        for _ in range(ROUNDS + 1):
            for side, environment in sides.items():
                times[side].append(seconds(python, program, **environment))
        print(what)
        for side, measured in times.items():
            print(f"  {statistics.median(measured[1:]):.3f} s  {side}")  # the first one warms caches


def check(wheel, interpreter, folder):
    python = folder / "bin/python"
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", wheel], check=True)
    subprocess.run([*pip, "check"], check=True, stdout=subprocess.DEVNULL)
    # Nothing of the build or of the system's libraries may be found in place of what the wheel has.
    maps = subprocess.run([python, "-c", "import jax; jax.numpy.ones(3) + 1; print(open('/proc/self/maps').read())"], check=True,
                          capture_output=True, text=True, env=clean()).stdout
    loaded = sorted({line.split()[-1] for line in maps.splitlines() if ".so" in line})
    for name in ("libtessera_pjrt", "libdnnl", "libopenblas", "libtbb", "libsleef", "libfmt"):
        paths = [p for p in loaded if pathlib.Path(p).name.startswith(name) and "/numpy.libs/" not in p and "/scipy.libs/" not in p]
        if not paths or not all(p.startswith(str(folder.resolve())) for p in paths):
            sys.exit(f"{name} is not the one of the wheel: {paths}")
    if any("libLLVM" in p for p in loaded):
        sys.exit("a shared library of LLVM is loaded")
    return subprocess.run([sys.executable, here / "run.py"], env=clean(TESSERA_JAX_PYTHON=str(python))).returncode


def main():
    wheel = pathlib.Path(sys.argv[1]).resolve()
    interpreters = sys.argv[2:] or [p for p in (shutil.which(f"python3.{minor}") for minor in range(11, 15)) if p]
    tried, failed = 0, []
    for interpreter in interpreters:
        # A command of this name may be a place-holder of a version manager.
        if subprocess.run([interpreter, "-c", "import venv, ensurepip"], capture_output=True).returncode:
            continue
        tried += 1
        with tempfile.TemporaryDirectory() as folder:
            print(f"== {interpreter}", flush=True)
            if check(wheel, interpreter, pathlib.Path(folder).resolve()):
                failed.append(interpreter)
            else:
                start_times(pathlib.Path(folder) / "bin/python")
    print(f"{tried - len(failed)} of {tried} interpreters passed" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    return not tried or bool(failed)


sys.exit(main())
