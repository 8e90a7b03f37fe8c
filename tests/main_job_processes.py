"""Tests the main job in two processes, as the README describes it: main_job_processes.py SOURCE PROGRAM LAUNCHER PROBE.

The script is the real one. It runs in a copy of the files that it needs, in which everything that it would install or build exists.
"""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

source, program, launcher, probe = map(pathlib.Path, sys.argv[1:5])
work = pathlib.Path(tempfile.mkdtemp())
clone, tools = work / "clone", work / "tools"
(clone / "scripts").mkdir(parents=True)
tools.mkdir()
shutil.copy(source / "quickstart", clone)
shutil.copy(source / "scripts" / "packages", clone / "scripts")


def script(path, *lines):
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


script(clone / "scripts" / "install_packages", f'echo "$@" >> {work}/installed')
# The programs of the build are placed where the script looks for them.
example = clone / "build" / "quickstart" / "examples" / program.parent.name
script(tools / "cmake", f'echo "$@" >> {work}/built', f"mkdir -p {example}", f"ln -sf {program} {example}/{program.name}")
(tools / "mpirun").symlink_to(launcher)
environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}


def run(*command, code=0):
    r = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, env=environment)
    assert r.returncode == code, (command, r.returncode, r.stdout, r.stderr)
    return r.stdout, r.stderr


as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
if subprocess.run([launcher, "-n", "2", probe], capture_output=True, env=environment | as_root).returncode:
    print(launcher, "does not work here: 0 checked")
    sys.exit(77)


def quickstart(*args, code=0):
    return run(clone / "quickstart", *args, code=code)


# Results are equal to the last bit, except for times, and only one process reports.
def trained(name):
    with open(work / name / "metrics.csv") as f:
        losses = [row["loss"] for row in csv.DictReader(f)]
    return (work / name / "model.safetensors").read_bytes(), losses


one, _ = run(program, "--out", work / "one")
two, _ = quickstart("--processes", "2", "--out", work / "two")
accuracy = float(re.search(r"test accuracy ([\d.]+) %", two)[1])
assert accuracy >= 96, two
assert two.count("test accuracy") == 1 and two.count("wrote model.safetensors") == 1 and "epoch 12/12" in two, two
assert trained("two") == trained("one") and len(trained("one")[1]) == 744
assert f"test accuracy {accuracy:g} %" in one, (one, accuracy)
assert (work / "two" / "loss.svg").read_text().startswith("<svg")

# It installed MPI's packages and built the plug-in, neither of which one process needs.
assert "openmpi-bin" in (work / "installed").read_text()
assert "--target data_parallel_cnn tessera_mpi" in (work / "built").read_text()

# The trace has the devices of both processes, two of each.
events = json.loads((work / "two" / "trace.json").read_text())["traceEvents"]
devices = sorted({(e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name" and e["args"]["name"].startswith("device ")})
assert [name for _, name in devices] == ["device 0", "device 1", "device 2", "device 3"], devices
assert len({p for p, _ in devices[:2]} & {p for p, _ in devices[2:]}) == 0, devices

# Options go to the example, and the saved model is evaluated by both.
out, _ = quickstart("--processes", "2", "--evaluate", work / "two" / "model.safetensors")
assert out.count(f"test accuracy {accuracy:g} %") == 1, out
for args in (("--devices", "8", "--augment"), ("--precision", "bf16", "--optimizer", "sgd", "--lr", "0.05")):
    run(program, "--steps", "20", "--out", work / "a", *args)
    quickstart("--processes", "4", "--steps", "20", "--out", work / "b", *args)
    assert trained("a") == trained("b"), args

# A misuse prints a sentence of the script or of the example, exits with code 2 and writes nothing.
for args in ((), ("0",), ("two",), ("-1",)):
    _, err = quickstart("--processes", *args, code=2)
    assert err == "usage: ./quickstart --processes N [options of the example]\n", (args, err)
_, err = quickstart("--processes", "2", "--batch", "65", "--out", work / "bad", code=2)
assert "error: --batch 65 does not divide over 4 devices; use 64 or 68" in err and not (work / "bad").exists(), err
shutil.rmtree(work)
print(f"main job in two processes: {accuracy:g} %, the bits of one")
