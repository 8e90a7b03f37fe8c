"""Tests the command `tessera` as users run it: COMMAND.py TESSERA CHECKPOINT_CHILD."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

program = sys.argv[1]
work = pathlib.Path(tempfile.mkdtemp())
source = pathlib.Path(__file__).parent.parent


def run(*args, code=0):
    r = subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=300, cwd=work)
    assert r.returncode == code, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout, r.stderr


def run_raw(*args):
    r = subprocess.run([program, *args], capture_output=True, timeout=300, cwd=work)
    return r.returncode, r.stdout, r.stderr


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


out, _ = run("--help")
assert out.startswith("usage: tessera COMMAND"), out
assert run("check", "--help")[0] == out
version = ".".join(re.findall(r"#define TESSERA_VERSION_[A-Z]+ (\d+)", (source / "include" / "tessera" / "config.h").read_text()))
assert run("--version")[0] == f"tessera {version}\n"
_, err = run(code=2)
assert err.startswith("usage: tessera COMMAND"), err
_, err = run("fly", code=2)
assert err == "tessera: there is no command 'fly'; there are check, run, print, bench, explain, checkpoint and new\ntry: tessera --help\n", err

# The project that `tessera new` writes is built by the test `package`; here are its files, and what is refused.
out, _ = run("new", "work/two-spirals/")
assert out == """Made work/two-spirals. To build it, run it and test it:

    cd work/two-spirals
    cmake -B build
    cmake --build build
    ./build/two-spirals
    ctest --test-dir build
""", out
template = source / "tools" / "project"
names = sorted(str(f.relative_to(template)) for f in template.rglob("*") if f.is_file())
assert names == [".clangd", ".gitignore", ".vscode/settings.json", "CMakeLists.txt", "README.md", "main.cc", "model.h", "model_test.cc"], names
for name in names:
    assert (work / "work/two-spirals" / name).read_text() == (template / name).read_text().replace("@project@", "two-spirals"), name
(work / "file").write_text("somebody's")
refused = {
    "work/two-spirals": "'work/two-spirals' exists already; nothing was written",
    "file": "'file' exists already; nothing was written",
    "file/inside": "the folder 'file/inside' cannot be made: Not a directory",
    "test": "'test' is the name of another CMake target",
    "2d": "a project's name begins with a letter and consists of letters, digits, '_' and '-', and '2d' does not",
    "a b": "a project's name begins with a letter and consists of letters, digits, '_' and '-', and 'a b' does not",
    "": "a project's name begins with a letter and consists of letters, digits, '_' and '-', and '' does not",
}
for folder, problem in refused.items():
    _, err = run("new", folder, code=2)
    assert err == f"tessera: {problem}\ntry: tessera --help\n", err
# A folder in which this user may write nothing. Root may write everywhere, and is another user for this.
(work / "closed").mkdir(mode=0o555)
work.chmod(0o755)
shutil.copy(program, work / "command")
nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
try:
    r = subprocess.run([work / "command", "new", "closed/mine"], capture_output=True, text=True, timeout=300, cwd=work, **nobody)
    assert (r.returncode, r.stderr) == (2, "tessera: the folder 'closed/mine' cannot be made: Permission denied\ntry: tessera --help\n"), r
except PermissionError:
    print("a folder without rights is not tried, because this process cannot be another user")
assert (work / "file").read_text() == "somebody's" and not (work / "test").exists()
_, err = run("new", code=2)
assert err == "tessera: new takes the folder of the project, and gets 0 arguments\ntry: tessera --help\n", err
_, err = run("--cmake-dir", code=2)
assert err == "tessera: there is no CMake package beside this program, which is not an installed one\ntry: tessera --help\n", err

_, err = run("check", code=2)
assert err == "tessera: check takes files\ntry: tessera --help\n", err
_, err = run("run", "f.mlir", "--arg", code=2)
assert err == "tessera: --arg takes a value\ntry: tessera --help\n", err

(work / "scale.mlir").write_text("""module @scale {
  func.func public @main(%x: tensor<3xf32>, %k: tensor<f32>) -> (tensor<3xf32> {jax.result_info = "['y']"}) {
    %0 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %1 = stablehlo.multiply %x, %0 : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
""")
(work / "x.npy").write_bytes(npy("<f4", "(3,)", struct.pack("<3f", 1, 2, 4)))
(work / "k.npy").write_bytes(npy("<f4", "()", struct.pack("<f", 0.5)))
for options in ([], ["--evaluate"]):
    out, _ = run("run", "scale.mlir", "--arg", "x.npy", "--arg", "k.npy", *options)
    assert out.startswith("['y']: float32(3,)\n") and "0.5" in out and "2" in out, out
run("run", "scale.mlir", "--arg", "x.npy", "--arg", "k.npy", "--out", "results")
assert (work / "results" / "0.npy").read_bytes() == npy("<f4", "(3,)", struct.pack("<3f", 0.5, 1, 2))
(work / "taken").write_text("somebody's")
for out, problem in {"taken": "--out takes a folder, and 'taken' is none", "taken/more": "the folder 'taken/more' cannot be made: Not a directory"}.items():
    _, err = run("run", "scale.mlir", "--arg", "x.npy", "--arg", "k.npy", "--out", out, code=2)
    assert err == f"tessera: {problem}\ntry: tessera --help\n", err
assert (work / "taken").read_text() == "somebody's"
_, err = run("run", "scale.mlir", "--arg", "x.npy", code=2)
assert "@main: it takes 2 arguments, and gets 1" in err, err
_, err = run("run", "scale.mlir", "--function", "other", code=2)
assert "there is no function @other" in err, err
out, _ = run("print", "scale.mlir")
assert "broadcast_in_dim" in out and "mul" in out, out
out, _ = run("bench", "scale.mlir", "--calls", "7")
assert [line.split()[0] for line in out.splitlines()] == ["load", "first", "median", "quartiles", "extremes", "work"] and " of 7 calls\n" in out, out
assert out.splitlines()[-1].startswith("work        3e-09 GFLOP, "), out
_, err = run("bench", "scale.mlir", "--calls", "none", code=2)
assert err == "tessera: --calls takes a number of 1 or more, and gets 'none'\ntry: tessera --help\n", err
_, err = run("bench", "scale.mlir", "--out", "x", code=2)
assert err == "tessera: bench has no option --out\ntry: tessera --help\n", err
out, _ = run("explain", "scale.mlir")
assert out.endswith("\nscale.html\n") and "mul" in (work / "scale.html").read_text(), out
out, _ = run("explain", "scale.mlir", "--arg", "x.npy", "--arg", "k.npy", "--out", "page.html")
assert (work / "page.html").read_text().startswith("<!doctype html>"), (work / "page.html").read_text()[:80]
out, _ = run("explain", "scale.mlir", "--trace", "trace.json")
assert out.endswith("\nscale.html\ntrace.json\n") and "of the predicted time is work" in out, out
assert {"work"} == {e["cat"] for e in json.loads((work / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"}, out
_, err = run("explain", "scale.mlir", "--out", "same", "--trace", "same", code=2)
assert err == "tessera: --out and --trace name one file\ntry: tessera --help\n" and not (work / "same").exists(), err
_, err = run("print", "nothing.mlir", code=2)
assert "nothing.mlir" in err, err

(work / "sums_float32.mlir").write_text("""func.func @main() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  check.expect_eq_const %1, dense<[2.0, 4.0]> : tensor<2xf32>
  return
}
// -----
func.func @close() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_almost_eq_const %0, dense<[1.0, 2.0009]> : tensor<2xf32>
  return
}
""")
(work / "wrong_int32_3.mlir").write_text("""func.func @main() {
  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  check.expect_eq_const %0, dense<[1, 7, 3]> : tensor<3xi32>
  return
}
// -----
func.func @main() {
  %0 = "other.op"() : () -> tensor<3xi32>
  return
}
""")
(work / "open.mlir").write_text("""func.func @main(%x: tensor<?x3xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %2 = stablehlo.constant dense<2> : tensor<i32>
  %more = stablehlo.compare GE, %n, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%more, %n) {error_message = "there are {0} rows", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [1] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
""")
for rows in (2, 5):
    (work / "rows.npy").write_bytes(npy("<f4", f"({rows}, 3)", struct.pack(f"<{3 * rows}f", *range(3 * rows))))
    run("run", "open.mlir", "--arg", "rows.npy", "--out", "results")
    assert (work / "results" / "0.npy").read_bytes() == npy("<f4", f"({rows},)", struct.pack(f"<{rows}f", *(9 * r + 3 for r in range(rows))))
    assert run("run", "open.mlir", "--arg", "rows.npy")[0].startswith(f"result0: float32({rows},)\n")
assert "(a:f32[4,3])" in run("print", "open.mlir", "--size", "4")[0].replace(" ", ""), run("print", "open.mlir", "--size", "4")[0]
_, err = run("print", "open.mlir", code=2)
assert err.startswith("stablehlo_program: there are 1 rows\n"), err
_, err = run("print", "scale.mlir", "--size", "0", code=2)
assert err == "tessera: --size takes a number of 1 or more, and gets '0'\ntry: tessera --help\n", err
_, err = run("bench", "open.mlir", "--calls", "1", code=2)
assert "@main: there are 1 rows\n" in err, err
run("bench", "open.mlir", "--calls", "1", "--size", "4")
for options in ([], ["--evaluate"]):
    out, _ = run("check", "sums_float32.mlir", *options)
    assert out.splitlines()[-1].split() == ["all", "2", "0", "0"] and "sums " in out, out
    out, _ = run("check", "sums_float32.mlir", "wrong_int32_3.mlir", *options, code=1)
    assert "FAILED wrong_int32_3.mlir, line 3, column 3: 1 of 3 elements differ, most at 1: 2 where 7 is expected\n" in out, out
    assert "refused wrong_int32_3.mlir, line 8, column 8: 'other.op' is not supported\n" in out, out
    assert out.splitlines()[-1].split() == ["all", "2", "1", "1"], out

# The folder that a run of three steps leaves.
subprocess.run([sys.argv[2], "train", work / "steps", "3"], check=True, capture_output=True)
out, _ = run("checkpoint", "ls", "steps")
rows = [line.split() for line in out.splitlines()]
assert rows[0] == ["step", "saved", "(UTC)", "processes", "arrays", "files", "bytes"], out
assert [(r[0], *r[3:]) for r in rows[1:]] == [(str(i), "1", "4", "1", "2.0", "MiB") for i in (1, 2, 3)], out
out, _ = run("checkpoint", "show", "steps", "--step", "2")
assert re.fullmatch(r"""step 2, saved [-0-9]+ [:0-9]+ UTC by 1 process: 4 arrays, 2\.0 MiB
file shards-0-of-1\.safetensors: 2\.0 MiB
rows     uint32\(512, 512\)  P\('i'\) on i=8
columns  uint32\(512, 512\)  P\(none, 'i'\) on i=8
key      uint32\(2,\)  P\(\) on i=8
step     int64\(\)  P\(\) on i=8
""", out), out
assert run("checkpoint", "verify", "steps")[0] == "step 1: intact\nstep 2: intact\nstep 3: intact\n"
out, _ = run("checkpoint", "diff", "steps", code=1)
assert re.fullmatch(r"""columns: 262144 of 262144 elements differ, by [0-9.e+]+ at most
rows: 262144 of 262144 elements differ, by [0-9.e+]+ at most
step: 1 of 1 elements differ, by 1 at most
steps 2 and 3 differ
""", out), out
assert run("checkpoint", "diff", "steps", "steps")[0] == "steps 3 and 3 are equal to the bit\n"
shard = work / "steps" / "2" / "shards-0-of-1.safetensors"
data = bytearray(shard.read_bytes())
data[-1] ^= 1
shard.write_bytes(data)
out, _ = run("checkpoint", "verify", "steps", code=1)
assert re.fullmatch(r"""step 1: intact
step 2: DAMAGED
  shards-0-of-1\.safetensors: (rows|columns|key|step): bytes [0-9]+ to [0-9]+ are not what was written
step 3: intact
""", out), out
(work / "steps" / "2" / "manifest.json").write_text("{}")
out, _ = run("checkpoint", "ls", "steps", code=1)
assert "\n           2  DAMAGED: its manifest cannot be read\n" in out, out
# A folder that was not made by a save is not a step, whatever its name is.
(work / "steps" / "20241126").mkdir()
assert "20241126" not in run("checkpoint", "ls", "steps", code=1)[0]
for words, problem in {(): "checkpoint takes ls, show, verify or diff", ("fly", "x"): "there is no checkpoint fly; there are ls, show, verify and diff",
                       ("ls",): "checkpoint ls takes a folder", ("ls", "nowhere"): "there is no checkpoint in nowhere",
                       ("ls", "a", "b"): "checkpoint ls takes one folder, and 'b' is one more", ("show", "a", "--step"): "--step takes a value",
                       ("show", "a", "--step", "-1"): "'-1' is no step", ("verify", "a", "--deep"): "checkpoint verify has no option --deep",
                       ("diff", "a", "b", "c"): "checkpoint diff takes two folders, and 'c' is one more"}.items():
    _, err = run("checkpoint", *words, code=2)
    assert err == f"tessera: {problem}\ntry: tessera --help\n", err
_, err = run("checkpoint", "show", "steps", "--step", "9", code=2)
assert err.startswith("checkpoint::info: there is no step 9 in steps\n"), err

# Names from files cannot control a terminal.
subprocess.run([sys.argv[2], "names", work / "odd"], check=True, capture_output=True)
for words in ("ls", "show", "verify", "diff"):
    out, err = run("checkpoint", words, "odd")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out + err), (words, out, err)
out, _ = run("checkpoint", "show", "odd", "--step", "1")
for name in (r"bell\x07", r"red\x1b[31m\x0d", r"metadata who\x0a: \x1b[2J"):
    assert name in out, (name, out)

# Every command fails, and gives the reason, if its output cannot be written.
commands = [["--help"], ["--version"], ["check", "sums_float32.mlir"], ["run", "scale.mlir", "--arg", "x.npy", "--arg", "k.npy"],
            ["run", "scale.mlir", "--arg", "x.npy", "--arg", "k.npy", "--out", "results"], ["print", "scale.mlir"],
            ["bench", "scale.mlir", "--calls", "1"], ["explain", "scale.mlir"], ["checkpoint", "ls", "steps"],
            ["checkpoint", "show", "steps", "--step", "3"], ["checkpoint", "verify", "steps", "--step", "3"], ["checkpoint", "diff", "steps", "steps"]]
for words in commands:
    with open("/dev/full", "w") as full:
        r = subprocess.run([program, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, cwd=work)
    assert (r.returncode, r.stderr) == (2, "tessera: the output could not be written: No space left on device\n"), (words, r)
    reader, writer = os.pipe()
    os.close(reader)
    r = subprocess.run([program, *words], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300, cwd=work)
    os.close(writer)
    assert (r.returncode, r.stderr) == (2, "tessera: the output could not be written: Broken pipe\n"), (words, r)
r = subprocess.run(["sh", "-c", '"$0" "$@" >&-', program, "run", "scale.mlir", "--arg", "x.npy", "--arg", "k.npy", "--out", "results"],
                   stderr=subprocess.PIPE, text=True, timeout=300, cwd=work)
assert (r.returncode, r.stderr) == (2, "tessera: there is no standard output\n"), r

# In programs, results, errors and reports on checkpoints, names from files have no control characters.
escape = "\x1b[31m"
(work / "named.mlir").write_text("""func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32> {jax.result_info = "y\\1B[31m\\07"}) {
  return %x : tensor<3xf32>
}
""")
code, out, err = run_raw("run", "named.mlir", "--arg", "x.npy")
assert (code, err) == (0, b"") and out.startswith(b"y\\x1b[31m\\x07: float32(3,)\n"), (code, out, err)
for words in (["run", "named.mlir", "--function", "other" + escape], ["run", "no" + escape + ".mlir"], ["fly" + escape],
              [b"print", b"bad\xff.mlir"], ["checkpoint", "ls", "none" + escape], ["run", "named.mlir"]):
    code, out, err = run_raw(*words)
    assert code == 2 and b"\x1b" not in out + err and b"\xff" not in out + err, (words, out, err)
    if words != ["run", "named.mlir"]:
        assert b"\\x1b[31m" in err or b"\\xff" in err, (words, err)

# The man page has every command and option of --help, and renders without a warning.
page = source / "docs" / "tessera.1"
plain = page.read_text().replace("\\-", "-")
for word in re.findall(r"(?<=tessera )[a-z]+|--[a-z]+", run("--help")[0]):
    assert word in plain, word
if shutil.which("groff"):
    r = subprocess.run(["groff", "-man", "-Tascii", "-ww", page], capture_output=True, text=True)
    assert r.returncode == 0 and not r.stderr, r.stderr
print("the command does what it says")
