"""Tests scripts/device_check: how it reads outputs, ends steps and writes its tables, and some of its steps on our own plug-in.

    check_device_check.py ROOT [BUILD PLUGIN]

BUILD has the program device_check, and PLUGIN is libtessera_pjrt.so; without them only the parsing is tested."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / "bench/device"))

import examples  # noqa: E402
import packing  # noqa: E402
import report  # noqa: E402
import steps  # noqa: E402


def failure(f):
    try:
        f()
    except steps.Failed as e:
        return str(e)
    raise AssertionError("nothing failed")


# --- outputs of GoogleTest
GOOD = "[==========] 5 tests ran.\n[  PASSED  ] 4 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.B\n"
BAD = ("[  FAILED  ] Loops.Qr (3 ms)\n[==========] 3 tests ran.\n[  PASSED  ] 1 test.\n[  FAILED  ] 2 tests, listed below:\n"
       "[  FAILED  ] Loops.Qr\n[  FAILED  ] All/Loops.Svd/3, where GetParam() = (2, 3)\n\n 2 FAILED TESTS\n")
assert steps.counted(GOOD) == (4, 0, [], 1)
assert steps.counted(BAD) == (1, 2, ["Loops.Qr", "All/Loops.Svd/3"], 0), steps.counted(BAD)
assert failure(lambda: steps.counted("Segmentation fault")) == "the tests did not end: Segmentation fault"

# --- JSON among other lines
assert steps.last_json('W0000 a warning\n{"steady_us": 3}\nmore\n') == {"steady_us": 3}
assert failure(lambda: steps.last_json("{not json\n")) == "it printed no result: {not json"

# --- what examples print
same = examples.compared("loss 2.5000\ntook 3.1 s\n", "loss 2.5001\ntook 9.9 s\n")
assert same == examples.Difference(1, abs(2.5 - 2.5001) / 2.5001, 0), same
assert examples.compared("a 1\nb 2\n", "a 1\nc 2\n") == examples.Difference(1, 0.0, 1)
assert examples.compared("a 1\n", "a 1\na 2\n").lines == 1
assert examples.compared("W0000 00:00:1 a.cc:3] 7 things\nb 2\nc 3\n", "b 2\nx\nc 3\n") == examples.Difference(2, 0.0, 1)
assert examples.compared("loss 1.5  1445 img/s  ETA 0:31", "loss 1.5  20 img/s  ETA 9:31") == examples.Difference(1, 0.0, 0)
assert examples.compared("Devices: [PluginDevice(id=0)]\nx 1", "Devices: [CpuDevice(id=0)]\nx 1") == examples.Difference(1, 0.0, 0)
assert examples.compared("[[ 1.  2.]\n [-3e-4 4.]]", "[[ 1.  2.]\n [-3e-4 4.5]]") == examples.Difference(4, 0.5 / 4.5, 0)

# --- steps: one that fails, one that takes too long and one for which no time is left do not stop the others
shown = []


def show(text, flush):
    shown.append(text)


def slow(limit):
    steps.run([sys.executable, "-c", "import time; time.sleep(60)"], None, 1)


def fails(limit):
    raise steps.Failed("it ended with code 3")


def absent(limit):
    raise packing.Missing("test_nn is not built")


start = time.monotonic()
results = steps.perform([("a", 9, fails), ("b", 9, slow), ("c", 9, absent), ("d", 9, lambda limit: ("all of it", {"x": 1}))], steps.Clock(100),
                        show=show)
assert [(r.name, r.outcome, r.checked) for r in results] == [
    ("a", "failed", "it ended with code 3"), ("b", "failed", "it took more than 1 s"), ("c", "left out", "test_nn is not built"),
    ("d", "ran", "all of it")], results
assert len(shown) == 4 and time.monotonic() - start < 30
assert [r.outcome for r in steps.perform([("a", 9, fails)], steps.Clock(3), show=show)] == ["no time"]

# --- tables
side = {"steady_us": 1500.0, "queued_us": 900.0, "first_us": 2.5e6, "host_us": 12.0}
table = report.steps_table([steps.Result("step gpt_bf16", "ran", "", 1, {"tessera": side, "jax": {**side, "steady_us": 3000.0}})])
assert table[2].startswith("| gpt bf16 | 1.50 ms | 3.00 ms | 2.00 | 900 µs | 900 µs | 1.00 | 2.50 s |"), table
assert report.steps_table([steps.Result("step cnn", "failed", "no")]) == []
alone = report.steps_table([steps.Result("step cnn", "ran", "", 1, {"tessera": side, "jax_error": "no JAX"})])
assert alone[2].startswith("| cnn | 1.50 ms |  |  |"), alone
document = "a\n<!-- device_check gpu: begin -->\nold\n<!-- device_check gpu: end -->\nb\n"
assert report.written(document, "gpu", "new\n") == document.replace("old", "new")
assert "no markers" in failure(lambda: report.written(document, "rehearsal", "new\n"))
page = report.page([steps.Result("load", "ran", "cpu | 1 device", 0.4)], "About.")
assert page == "About.\n\n| step | outcome | seconds | what was checked |\n|---|---|---:|---|\n| load | ran | 0 | cpu / 1 device |\n", page
performance = (root / "docs/performance_gpu.md").read_text()
for kind in ("gpu", "rehearsal"):
    report.written(performance, kind, "")

# --- a run of some steps keeps the results of the others
with tempfile.TemporaryDirectory() as work:
    path = pathlib.Path(work, "check.json")
    report.save(path, [steps.Result("a", "ran", "old", 1), steps.Result("b", "failed", "old", 1)], "About.")
    both = report.joined(report.earlier(path), [steps.Result("b", "ran", "new", 2)], ["a", "b", "c"])
    assert [(r.name, r.outcome, r.checked) for r in both] == [("a", "ran", "old"), ("b", "ran", "new")], both
    assert report.earlier(pathlib.Path(work, "none.json")) == []
plan = [(name, 1, None) for name in ("load", "step cnn", "calls")]
assert [p[0] for p in steps.chosen(plan, None)] == ["load", "step cnn", "calls"]
assert [p[0] for p in steps.chosen(plan, ["^calls"])] == ["load", "calls"]

# --- some steps on our own plug-in, from a folder that was prepared
if len(sys.argv) > 3:
    build, plugin = (str(pathlib.Path(p).resolve()) for p in sys.argv[2:])
    with tempfile.TemporaryDirectory() as work:
        script, folder, out = str(root / "scripts/device_check"), f"{work}/folder", f"{work}/out"
        made = subprocess.run([sys.executable, script, "--prepare", folder, "--build", build], capture_output=True, text=True)
        assert made.returncode == 0, made.stdout + made.stderr
        done = subprocess.run([f"{folder}/run", "--platform", plugin, "--devices-option", "device_count", "--jax-platform", "none", "--small",
                               "--out", out, "--only", "^load$", "^calls$", "^training cnn$", "^losses gpt$", "^factorisations$"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        rows = {r["name"]: r for r in json.loads(pathlib.Path(out, "check.json").read_text())["steps"]}
        assert {r["outcome"] for r in rows.values()} == {"ran"} and len(rows) == 5, rows
        assert rows["load"]["values"]["devices"] == 8 and rows["load"]["values"]["plugin"] == plugin, rows["load"]
        assert rows["losses gpt"]["values"]["apart"] < 1e-4, rows["losses gpt"]
        assert rows["training cnn"]["values"]["last_loss"] < rows["training cnn"]["values"]["loss_after_10"]
        text = pathlib.Path(out, "check.md").read_text()
        assert "| `x + 1`, eager |" in text and "| `svd` |" in text, text
print("device_check: all checks hold")
