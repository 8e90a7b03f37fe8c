"""Runs tests of one file of JAX under pytest and appends an event of one line to a file for each step: child.py REQUEST.

REQUEST is a file of JSON: `test_file`, `root` (JAX's checkout), `events`, and which tests: `ids`, or all that match `pattern` with only
every `every`-th of them, of which the first `most` are run. This file is run by the interpreter that has JAX and pytest; everything else
of scripts/jax_tests runs without them. Events are written at once, so that a process that dies or hangs leaves the name of its test."""
import json
import os
import re
import sys
import time


class Watch:
    def __init__(self, request):
        self.request = request
        self.file = os.open(request["events"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        self.process = os.getpid()

    def write(self, **event):
        if os.getpid() == self.process:  # a test may fork
            os.write(self.file, (json.dumps(event) + "\n").encode())

    def pytest_collection_modifyitems(self, config, items):
        by_id = {item.nodeid.split("::", 1)[-1]: item for item in items}
        ids = self.request.get("ids")
        if ids is None:
            pattern = re.compile(self.request.get("pattern") or "")
            matching = [name for name in by_id if pattern.search(name)][::self.request.get("every", 1)]
            self.write(event="collected", ids=matching, all=len(by_id))
            ids = matching[:self.request.get("most")]
        items[:] = [by_id[name] for name in ids if name in by_id]

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(event="broken", error=str(report.longrepr)[-4000:])

    def pytest_runtest_logstart(self, nodeid):
        self.began = time.process_time()
        self.write(event="start", id=nodeid.split("::", 1)[-1])

    def pytest_runtest_logreport(self, report):
        crash = getattr(report.longrepr, "reprcrash", None)
        if report.skipped:
            error = "expected to fail" if hasattr(report, "wasxfail") else str(report.longrepr[2] if report.longrepr else "")
        else:
            error = crash.message if crash else str(report.longrepr or "")
        text = report.longreprtext if report.failed else ""
        self.write(event="report", id=report.nodeid.split("::", 1)[-1], outcome=report.outcome, seconds=round(report.duration, 3),
                   error=error[:4000], text=text[-20000:])

    def pytest_runtest_logfinish(self, nodeid):
        self.write(event="end", id=nodeid.split("::", 1)[-1], cpu=round(time.process_time() - self.began, 3))


def main():
    with open(sys.argv[1]) as f:
        request = json.load(f)
    # JAX's tests read flags of the command line, and modules beside this file must not hide any of theirs.
    sys.argv = ["pytest"]
    sys.path.pop(0)
    import pytest
    watch = Watch(request)
    options = ["--rootdir", request["root"], "-c", os.devnull, "--noconftest", "--import-mode=importlib", "--assert=plain", "-q",
               "-p", "no:cacheprovider", "--tb=short"]
    status = pytest.main([*options, request["test_file"]], plugins=[watch])
    watch.write(event="finished", status=int(status))
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
