"""Runs an example: run.py PROGRAM EXPECTED.txt [--update]

What it prints must be the text kept in EXPECTED.txt. Not compared are the line numbers of its own sources, times, the
fastest of several, the version, and memory that depends on the number of workers. Other processors have other vector
units and libraries, so numbers with a point may differ by rounding, and lines by their spaces. Under TESSERA_ISOLATE=1
the process holds the replicated weights once for each device. It must print nothing to stderr, explain itself
with --help, and refuse wrong options with a sentence and exit code 2 before anything else. --update writes the text instead.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

program, expected = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*options):
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([str(pathlib.Path(program).resolve()), *options], capture_output=True, text=True, cwd=folder, timeout=280)


NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
UNCOMPARED = re.compile(r"\btime: |Speedup: |version: |^(?:physical, shared|temporaries) ")


def lines(text):
    """The lines that are compared, without the parts that may differ."""
    text = re.sub(r"\b(\w+\.(?:cc|h)):\d+", r"\1:LINE", text)
    for line in re.sub(r"(?m)^(Best strategy): \w+$", r"\1: NAME", text).splitlines():
        yield NUMBER.sub("#", line) if UNCOMPARED.search(line) else line


def of_this_mode(line):
    """A line of EXPECTED.txt as isolated devices print it. The file has the lines of devices that share replicated values."""
    if os.environ.get("TESSERA_ISOLATE") != "1":
        return line
    return re.sub(r"^(replicated weights +\d+ +(\d+) +)\d+$", r"\1\2", line)


def close(a, b):
    """Whether two numbers agree within a unit in the last printed place, or 1e-5 of the value."""
    if "." not in a or "." not in b:
        return a == b
    places = min(len(x.split("e")[0].split(".")[1]) for x in (a, b))
    unit = 0 if "e" in a + b else 1.01 * 10.0**-places
    return a == b or abs(float(a) - float(b)) <= max(1e-5 * abs(float(b)), unit if places > 3 else 0)


def same(a, b):
    without = [re.sub(r"\s", "", NUMBER.sub("#", x)) for x in (a, b)]
    return without[0] == without[1] and all(map(close, NUMBER.findall(a), NUMBER.findall(b)))


plain = run()
if "--update" in sys.argv:
    expected.write_text(plain.stdout)
    sys.exit(0)

failures = []
got, want = list(lines(plain.stdout)), list(map(of_this_mode, lines(expected.read_text())))
if len(got) != len(want) or not all(map(same, got, want)):
    failures.append("\n".join(difflib.unified_diff(want, got, expected.name, "printed", lineterm="")))
if plain.returncode != 0 or plain.stderr:
    failures.append(f"exit code {plain.returncode}, stderr:\n{plain.stderr}")
help_ = run("--help")
if help_.returncode != 0 or "--help" not in help_.stdout or help_.stderr:
    failures.append(f"--help: exit code {help_.returncode}\n{help_.stdout}{help_.stderr}")
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "trace.json").mkdir()
    hostile = {("--no-such-option",): "--no-such-option", ("more",): "more"}
    if "--devices" in help_.stdout:
        hostile |= {("--devices", n): "--devices" for n in ("0", "-4", "257", "x", "4x", "1.5", "", "9" * 30)}
    if "--steps" in help_.stdout:
        hostile |= {("--steps", n): "--steps" for n in ("0", "-1", "100001", "inf")} | {("--devices", "3"): "--devices 3"}
    if "--out" in help_.stdout:
        hostile |= {("--out", out): "--out" for out in ("", "/dev/null", "/proc/none", __file__, folder)}
    for options, part in hostile.items():
        refused = run(*options)
        if refused.returncode != 2 or refused.stdout or part not in refused.stderr or not refused.stderr.startswith("error: "):
            failures.append(f"{options}: exit code {refused.returncode}\n{refused.stdout}{refused.stderr}")
print("\n\n".join(failures))
sys.exit(bool(failures))
