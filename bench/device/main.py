"""Checks and measures this library on a device, beside JAX, in at most eight minutes and without a network.

    scripts/device_check --prepare FOLDER           copies the programs with all that they need (build/release, build/test)
    FOLDER/run                                      on a machine with a GPU, and a Python that has JAX with its CUDA plug-in
    FOLDER/run --python PYTHON --out RESULTS        another Python; the folder for check.md, check.json and log.txt
    scripts/device_check --platform /path/plugin.so --devices-option cpu_device_count --jax-platform cpu --small    a rehearsal

The programs run on the plug-in that PYTHON has for CUDA unless --platform names another. Each step has a time limit, and a step that fails
or takes too long does not stop the others. The exit code is 0 if the platform could be loaded and no step failed.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import examples  # noqa: E402
import packing  # noqa: E402
import report  # noqa: E402
import steps  # noqa: E402

FOLDERS = ("", "bench", "tests", *(f"examples/{e}" for e in (
    "00_pmap_basics", "01_single_host_sharding", "02_pmap_intro", "03_data_parallel_cnn", "04_training_techniques", "10_pjit_and_sharding",
    "11_fsdp_transformer", "12_pipeline", "20_from_jax")))
FILES = [("bench/device", "device"), ("bench/compare/jax_training.py", "compare/jax_training.py"), ("bench/compare/jax_row.py", "compare/jax_row.py"),
         ("data", "data")]
# Where a Python keeps its CUDA plug-in and NVIDIA's libraries, and what it calls its devices.
ASK = """
import importlib.util, json, pathlib, site, sys
plugin, libraries = "", []
for name in ("xla_cuda13", "xla_cuda12"):
    try:
        spec = importlib.util.find_spec("jax_plugins." + name)
    except ImportError:
        spec = None
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = pathlib.Path(folder) / "xla_cuda_plugin.so"
        plugin = plugin or (str(path) if path.is_file() else "")
for folder in dict.fromkeys(sys.path):
    libraries += [str(p) for p in sorted(pathlib.Path(folder or ".").glob("nvidia/*/lib"))]
print(json.dumps({"plugin": plugin, "libraries": libraries, "jax": bool(importlib.util.find_spec("jax"))}))
"""


def parsed(words):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = p.add_argument
    add("--prepare", type=pathlib.Path, metavar="FOLDER", help="make this folder and run nothing")
    add("--build", type=pathlib.Path, action="append", help="a folder of programs (default: build/release and build/test)")
    add("--python", help="the interpreter that has JAX (default: the one that runs this)")
    add("--platform", help="the path of a plug-in (default: the CUDA plug-in of the interpreter)")
    add("--options", help="its options (default: preallocate=false on CUDA)")
    add("--devices-option", default="", metavar="NAME", help="the plug-in's option for the number of devices, if it has one")
    add("--jax-platform", default="cuda", help="where JAX runs (default: cuda)")
    add("--out", type=pathlib.Path, default=pathlib.Path("device_check"), help="the folder for the results")
    add("--limit", type=float, default=480, help="seconds for everything (default 480)")
    add("--patience", type=float, default=1, metavar="N", help="multiply the time limits of single steps, for machines that are slow or shared")
    add("--only", nargs="+", metavar="REGEX", help="only steps that one of these finds; results of other steps in the folder are kept")
    add("--small", action="store_true", help="shorter measurements and smaller shares of suites")
    add("--write", type=pathlib.Path, metavar="PAGE", help="put the tables between the page's markers")
    add("--kind", choices=("gpu", "rehearsal"), default="gpu", help="which markers")
    return p.parse_args(words)


def asked(python):
    done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout) if done.returncode == 0 else {"plugin": "", "libraries": [], "jax": False}


def machine():
    """What the machine says of its GPU, in one line."""
    if shutil.which("nvidia-smi"):
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=60)
        return " ".join(done.stdout.split("\n")).strip()
    return ""


def prepare(folder, root, builds):
    programs = packing.Programs([b / place for b in builds for place in FOLDERS])
    wanted = ["device_check", "test_platforms", "test_backends", *(f"test_{s}" for s in steps.SUITES),
              *dict.fromkeys(e.program for e in examples.EXAMPLES)]
    found = [programs.find(name) for name in wanted]
    missing = [name for name, path in zip(wanted, found) if path is None]
    if "device_check" in missing:
        raise packing.Missing("device_check is not built: ninja -C build/release device_check")
    names, size = packing.prepare(folder, root, [p for p in found if p], FILES)
    run = folder / "run"
    run.write_text('#!/bin/sh\nexec "${PYTHON:-python3}" "$(dirname "$0")/device/main.py" "$@"\n')
    run.chmod(0o755)
    print(f"{folder}: {len(names)} programs, {size / 2**20:.0f} MB" + (f"; not built: {', '.join(missing)}" if missing else ""))
    return 0


def main(words):
    options = parsed(words)
    prepared = HERE.parent if (HERE.parent / "programs.json").is_file() else None
    root = prepared or HERE.parent.parent
    builds = [b.resolve() for b in options.build or (root / "build/release", root / "build/test")]
    if options.prepare:
        try:
            return prepare(options.prepare.resolve(), root, builds)
        except packing.Missing as e:
            print(f"error: {e}", file=sys.stderr)
            return 2

    clock = steps.Clock(options.limit)
    options.python = options.python or sys.executable
    python = asked(options.python)
    options.python = options.python if python["jax"] else ""
    options.platform_path = options.platform or python["plugin"]
    if not options.platform_path:
        print("error: the interpreter has no CUDA plug-in (jax-cuda12-pjrt or jax-cuda13-pjrt), and --platform names no other", file=sys.stderr)
        return 2
    options.platform = options.platform_path = os.path.abspath(options.platform_path)
    if options.options is None:
        options.options = f"{options.devices_option}=8" if options.devices_option else "preallocate=false" if python["plugin"] else ""
    options.libraries = python["libraries"]
    options.data = root / "data"
    options.seconds = 1 if options.small else 4
    options.steps = 60 if options.small else 1000
    options.matrix = 64 if options.small else 512
    options.share = 40 if options.small else 10
    options.device_count = 1
    options.out.mkdir(parents=True, exist_ok=True)

    places = [prepared / "bin"] if prepared else [b / place for b in builds for place in FOLDERS]
    programs = packing.Programs(places, prepared)
    try:
        programs.choose()
    except packing.Missing as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    with open(options.out / "log.txt", "w") as log:
        all_steps = steps.Steps(options, programs, log)
        whole = steps.planned(options, all_steps, examples.EXAMPLES)
        plan = steps.chosen(whole, options.only)
        names = [p[0] for p in whole]
        before = report.earlier(options.out / "check.json") if options.only else []

        def about(results):
            what = next((r.checked for r in results if r.name == "load"), "")
            return f"Run on {time.strftime('%Y-%m-%d')}: {machine() or 'no GPU'}; {what}. Times are medians."

        def keep(results):
            """Written after each step, so that nothing is lost if the machine goes."""
            now = report.joined(before, results, names)
            (options.out / "check.md").write_text(report.page(now, about(now)))
            report.save(options.out / "check.json", now, about(now))
            return now

        first = steps.perform(plan[:1], clock, options.patience, keep=keep)
        loaded = first[0].outcome == "ran"
        if loaded:
            options.device_count = first[0].values["devices"]
        results = first + steps.perform(plan[1:], clock, options.patience, keep=lambda later: keep(first + later))
        results = keep(results)
    if options.write:
        options.write.write_text(report.written(options.write.read_text(), options.kind, report.page(results, about(results))))
    ran = sum(r.outcome == "ran" for r in results)
    print(f"{ran} of {len(results)} steps ran; the tables are in {options.out / 'check.md'}")
    return 0 if loaded and not any(r.outcome == "failed" for r in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
