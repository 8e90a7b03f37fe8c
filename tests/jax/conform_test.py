"""Runs the checks of plug-ins that the package pypjrt has on a libtessera_pjrt.so: conform_test.py LIBRARY. Skipped without pypjrt (77).

XLA's own plug-in for CPUs passes 52 of them, and none may fail."""
import json
import subprocess
import sys
import tempfile

import interpreter

interpreter.need("pypjrt")

LEAST = 52


def main():
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        done = subprocess.run([sys.executable, "-m", "pypjrt.conform", "--json", report.name, "-v", sys.argv[1]], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        print(done.stdout)
        # A library that ends the process has written none.
        text = report.read()
    if not text:
        print(f"no report; the process ended with {done.returncode}")
        return 1
    results = [check["result"] for check in json.loads(text)["checks"]]
    counts = {result: results.count(result) for result in ("pass", "fail")}
    print(f"{counts['pass']} checks pass and {counts['fail']} fail")
    if counts["pass"] < LEAST:
        print(f"there should be at least {LEAST} that pass")
    return bool(done.returncode or counts["fail"] or counts["pass"] < LEAST)


if __name__ == "__main__":
    sys.exit(main())
