"""The main job as its users run it."""
import csv
import gzip
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

program, data = sys.argv[1], sys.argv[2]
work = pathlib.Path(tempfile.mkdtemp())


def run(*args, code=0):
    r = subprocess.run([program, *args], capture_output=True, text=True)
    assert r.returncode == code, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout, r.stderr


def losses(name, *args):
    run("--steps", "50", "--out", str(work / name), *args)
    with open(work / name / "metrics.csv") as f:
        return [float(row["loss"]) for row in csv.DictReader(f)]


def accuracy(text):
    return float(re.search(r"test accuracy ([\d.]+) %", text).group(1))


# Training reaches the accuracy of the network, and the saved model reproduces it.
out, _ = run("--out", str(work / "full"))
reached = accuracy(out)
assert reached >= 96, out
assert "epoch 12/12" in out and "\r" not in out, "plain lines when the output is no terminal"
again, _ = run("--evaluate", str(work / "full" / "model.safetensors"))
assert accuracy(again) == reached, (again, reached)
out, _ = run("--augment", "--out", str(work / "augmented"))
assert accuracy(out) >= 96.5, out

# The trace has a row a device, and every event lies in its bounds.
trace = json.loads((work / "full" / "trace.json").read_text())
names = {e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
assert {"device 0", "device 1", "device 2", "device 3"} <= names, names
assert all(e["dur"] >= 0 for e in trace["traceEvents"] if e["ph"] == "X")
assert (work / "full" / "loss.svg").read_text().startswith("<svg")

# The same seed gives the same bits. So do other numbers of devices, but for the mean of the losses: 64 losses near 2.3
# add up to 147, in another order, where a rounding is 7.6e-6, and 1.2e-7 of the mean.
assert losses("a") == losses("b")
for name, options in (("sgd", ("--optimizer", "sgd", "--lr", "0.05")), ("adam", ("--seed", "3"))):
    one = losses(name, "--devices", "1", *options)
    for devices in (2, 4, 8):
        other = losses(f"{name}{devices}", "--devices", str(devices), *options)
        assert len(other) == 50 and max(abs(x - y) for x, y in zip(one, other)) < 1e-6, (name, devices)

# Misuse: one sentence on stderr, exit code 2, nothing written.
magic = work / "magic"
magic.mkdir()
for f in pathlib.Path(data).glob("digits-*"):
    (magic / f.name).write_bytes(f.read_bytes())
(magic / "digits-labels-idx1-ubyte.gz").write_bytes(gzip.compress(struct.pack(">II", 0x00001234, 3) + b"abc"))
cut = work / "cut"
cut.mkdir()
for f in pathlib.Path(data).glob("digits-*"):
    (cut / f.name).write_bytes(f.read_bytes()[:-2000] if "images" in f.name else f.read_bytes())
for args, part in [
    (["--batch", "65"], "--batch 65 does not divide over 4 devices; use 64 or 68"),
    (["--devices", "0"], "--devices is 0; at least 1 is needed"),
    (["--data", str(work / "none")], "there is no data folder"),
    (["--data", str(magic)], "magic number is 00 00 12 34"),
    (["--data", str(cut)], "compression is damaged"),
    (["--evaluate", str(work / "none.safetensors")], "there is no such file"),
    (["--precision", "f8"], "it is f32 or bf16"),
    (["--what"], "--help"),
]:
    _, err = run(*args, "--out", str(work / "bad"), code=2)
    assert err.startswith("error: ") and part in err, (args, err)
    assert not (work / "bad").exists(), args
assert "--accumulate" in run("--help")[0]
print("main job:", reached, "%")
