"""Tests examples/11_fsdp_transformer as users run it."""
import csv
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

program = sys.argv[1]
work = pathlib.Path(tempfile.mkdtemp())
small = ["--layers", "1", "--width", "64", "--context", "32"]


def run(*args, code=0):
    r = subprocess.run([program, *args], capture_output=True, text=True, timeout=600, cwd=work)
    assert r.returncode == code, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout, r.stderr


def losses(name):
    with open(work / name / "metrics.csv") as f:
        return {int(row["step"]): float(row["loss"]) for row in csv.DictReader(f)}


# Every form reports its exchanges, all forms agree, the loss falls, and a text is generated.
out, err = run("--steps", "40", "--compare", "3", "--characters", "30", "--out", "full")
assert not err, err
for form in ("one", "data", "fsdp", "tensor", "2d", "sequence", "auto"):
    assert f"\n== {form}: " in out, out
# 54 gradients, the small ones together.
assert "reduce_scatter over 'data'         19 times" in out, out
assert re.search(r"\n  found +[\d.]+ us +1 ", out), out
assert "</html>" in (work / "full" / "plan.html").read_text()
assert float(re.search(r"agree to ([\d.e-]+)", out).group(1)) <= 1e-4, out
full = losses("full")
assert sorted(full) == list(range(1, 41)) and full[40] < full[1] - 0.8, full
assert len(re.search(r'":\n(.*)\n---\n', out, re.S).group(1)) == 30, out
trace = json.loads((work / "full" / "trace.json").read_text())
names = {e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
assert {f"device {i}" for i in range(8)} <= names, names
assert (work / "full" / "loss.svg").read_text().startswith("<svg")

# Resuming from a checkpoint, which holds the seed, gives the bits of an uninterrupted run.
quiet = [*small, "--compare", "0", "--characters", "0"]
run(*quiet, "--steps", "6", "--seed", "5", "--out", "whole")
run(*quiet, "--steps", "4", "--seed", "5", "--out", "first")
state = str(work / "first" / "checkpoints")
out, _ = run(*quiet, "--steps", "6", "--resume", state, "--out", "second")
assert "steps 5 to 6" in out, out
whole = losses("whole")
assert losses("second") == {step: whole[step] for step in (5, 6)}, (whole, losses("second"))
arrays = [sorted((work / name / "checkpoints" / "6").glob("*.safetensors")) for name in ("second", "whole")]
assert arrays[0] and [p.name for p in arrays[0]] == [p.name for p in arrays[1]], arrays
assert [p.read_bytes() for p in arrays[0]] == [p.read_bytes() for p in arrays[1]]
run(*quiet, "--steps", "6", "--resume", state, "--form", "tensor", "--devices", "4", "--out", "other")
assert max(abs(loss - whole[step]) for step, loss in losses("other").items()) < 1e-5

# A run that is asked to end saves its state.
p = subprocess.Popen([program, *quiet, "--steps", "100000", "--out", "ended"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work)
for line in p.stdout:
    if "parameters and optimiser state" in line:
        break
p.send_signal(signal.SIGINT)
_, err = p.communicate(timeout=300)
assert p.returncode == 130 and "interrupted" in err, (p.returncode, err)

# A misuse prints one sentence to stderr, exits with code 2 and trains nothing.
(work / "a_file").write_text("mine")
hostile = [
    (["--form", "pipeline"], "--form"),
    (["--devices", "3"], "--devices"),
    (["--steps", "0"], "--steps"),
    (["--steps", "1e3"], "--steps"),
    (["--batch", "12"], "--batch is 12; a multiple of 8 is needed, for up to 8 devices: 8 or 16"),
    (["--width", "100"], "--width is 100; a multiple of 8 is needed"),
    (["--context", "4"], "--context"),
    (["--lr", "0"], "--lr is 0; a positive float32 is needed"),
    (["--temperature", "nan"], "--temperature is nan; a positive float32 is needed"),
    (["--resume", ""], "--resume is empty; name a folder"),
    (["--resume", "none"], "there is no checkpoint in none"),
    (["--resume", state, "--steps", "4", *small], "the checkpoint is of step 4; choose --steps beyond that"),
    (["--resume", state], "model/blocks/0/norm1/scale is float32(64,), and in the tree float32(128,)"),
    (["--data", "none.txt"], "the text none.txt cannot be read: No such file or directory; pass one with --data"),
    (["--data", "a_file"], "windows of 64 and one more do not fit"),
    (["--out", "a_file"], "a_file"),
    (["--no-such-option"], "--no-such-option"),
]
for args, part in hostile:
    out, err = run(*args, code=2)
    assert err.startswith("error: ") and part in err and "step " not in out.replace("steps", ""), (args, out, err)
out, _ = run("--help")
assert "--form" in out and "--resume" in out, out
print("all is well")
