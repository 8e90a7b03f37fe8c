"""Runs a share of a suite's tests: share.py OF LEAST PROGRAM [ARGUMENT...]

Every OF-th test of the program, a GoogleTest, runs: which ones TESSERA_TURN says, which .ci/run counts up with the
commits, so that OF commits run all of them. With TESSERA_TEST_ALL=1 all tests run at once. It fails if fewer than
LEAST tests ran, as a filter that no longer matches would let it.
"""
import os
import re
import subprocess
import sys

of, least = map(int, sys.argv[1:3])
environment = dict(os.environ)
if int(os.environ.get("TESSERA_TEST_ALL") or 0) == 0:
    turn = int(os.environ.get("TESSERA_TURN") or 0)
    environment |= {"GTEST_TOTAL_SHARDS": str(of), "GTEST_SHARD_INDEX": str(turn % of)}
ran = 0
with subprocess.Popen(sys.argv[3:], env=environment, stdout=subprocess.PIPE, text=True, errors="replace") as program:
    for line in program.stdout:
        print(line, end="", flush=True)
        if count := re.match(r"\[=+\] (\d+) tests? from \d+ test suites? ran", line):
            ran = int(count[1])
if program.returncode == 0 and ran < least:
    sys.exit(f"{ran} tests ran, and a share of one in {of} has {least} at least")
sys.exit(program.returncode)
