"""Runs test programs that are written in Python, for tests/jax and tests/notebooks: finds an interpreter that has the packages they need,
runs each program in a process of its own, and counts what it checked."""
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

# The last line of a program: of values that it compared, or of unittest.
COUNTS = re.compile(r"^(\d+) comparisons in |^Ran (\d+) tests? in ", re.M)


def interpreter(variable: str, modules: str, environments: Iterable[Path]) -> str | None:
    """The interpreter that the environment variable names, else the first that can import `modules`, of this one and `environments`."""
    if named := os.environ.get(variable):
        candidates = [named]
    else:
        candidates = [sys.executable, *map(str, environments)]
    return next((python for python in candidates if imports(python, modules)), None)


def imports(python: str, modules: str) -> bool:
    try:
        return subprocess.run([python, "-c", f"import {modules}"], capture_output=True).returncode == 0
    except OSError:
        return False


def run(python: str, folder: Path, tests: dict[str, int], environment: Callable[[str], dict[str, str]]) -> bool:
    """Runs `folder`/NAME.py for each name in `tests`, in `environment(NAME)`. A program fails if its exit code is not zero or if it
    checked fewer than `tests[NAME]` values or tests; then all that it wrote is printed. Returns whether all passed."""
    total, failed = 0, []
    for test, least in tests.items():
        env = environment(test)
        begin = time.monotonic()
        done = subprocess.run([python, folder / f"{test}.py"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        count = max((int(compared or ran) for compared, ran in COUNTS.findall(done.stdout)), default=0)
        total += count
        print(f"{test}: {count} checked in {time.monotonic() - begin:.1f} s", flush=True)
        if done.returncode or count < least:
            failed.append(test)
            print(done.stdout)
            print(f"{test} ended with {done.returncode}, and should check at least {least}")
    print(f"{total} checked" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    return not failed
