"""Runs an example: run.py PROGRAM EXPECTED.txt [--update]

What it prints must be the text kept in EXPECTED.txt, but for the line numbers of its own sources; it must print nothing
to stderr, explain itself with --help, and refuse an unknown option with exit code 2. --update writes the text instead.
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

program, expected = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*options):
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([str(pathlib.Path(program).resolve()), *options], capture_output=True, text=True, cwd=folder, timeout=280)


def without_lines(text):
    return re.sub(r"\b(\w+\.(?:cc|h)):\d+", r"\1:LINE", text)


plain = run()
if "--update" in sys.argv:
    expected.write_text(plain.stdout)
    sys.exit(0)

failures = []
got, want = without_lines(plain.stdout).splitlines(), without_lines(expected.read_text()).splitlines()
if got != want:
    failures.append("\n".join(difflib.unified_diff(want, got, expected.name, "printed", lineterm="")))
if plain.returncode != 0 or plain.stderr:
    failures.append(f"exit code {plain.returncode}, stderr:\n{plain.stderr}")
help_ = run("--help")
if help_.returncode != 0 or "--help" not in help_.stdout or help_.stderr:
    failures.append(f"--help: exit code {help_.returncode}\n{help_.stdout}{help_.stderr}")
refused = run("--no-such-option")
if refused.returncode != 2 or refused.stdout or "--no-such-option" not in refused.stderr:
    failures.append(f"--no-such-option: exit code {refused.returncode}\n{refused.stdout}{refused.stderr}")
print("\n\n".join(failures))
sys.exit(bool(failures))
