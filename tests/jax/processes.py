"""Runs tests of one file in a process that is watched, and gives each test an outcome whatever happens to the process.

Outcomes: `passed`, `failed`, `skipped`; `crashed` (the process died in the test), `hung` (no news for the time limit), `swelled` (the
process took more memory than allowed) and `lost` (the test was asked for and never began)."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

CHILD = pathlib.Path(__file__).resolve().parent / "child.py"
DEATHS = 10  # so many deaths in succession without a test that passes end a piece

_running = set()
_lock = threading.Lock()


def end_all():
    """Ends the processes that are still running."""
    with _lock:
        for process in _running:
            _kill(process, signal.SIGKILL)


def _kill(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def _memory(process):
    try:
        with open(f"/proc/{process.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (OSError, ValueError, IndexError):
        return 0.0


def _tail(path, size=6000):
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - size))
        text = f.read().decode(errors="replace")
    return "\n".join(line for line in text.split("\n") if "/_pytest/" not in line and "/pluggy/" not in line)


class Piece:
    """Tests of one file, run one after another in as few processes as possible."""

    def __init__(self, python, root, name, environment, timeout, memory):
        self.python, self.root, self.name, self.environment = python, root, name, environment
        self.timeout, self.memory = timeout, memory
        self.results, self.notes, self.collected, self.all = {}, [], None, None

    def run(self, ids=None, pattern=None, every=1, most=None):
        """Fills `results` (by id), `notes`, and without `ids` also `collected`: all tests that match, of which the first `most` run."""
        request = {"pattern": pattern, "every": every, "most": most} if ids is None else {"ids": ids}
        deaths = 0
        while True:
            before = len(self.results)
            last, cause, log = self._process(request)
            if ids is None and self.collected is not None:
                ids = self.collected[:most]
            if ids is None:
                self.notes.append(f"{self.name}: no test was collected: {cause or 'see the log'}\n{log}")
                return self
            left = [name for name in ids if name not in self.results]
            if cause and last is not None:
                outcome, text = cause
                self.results[last] = {"outcome": outcome, "seconds": 0, "cpu": 0, "error": text, "text": log}
                left = [name for name in left if name != last]
            elif cause:
                self.notes.append(f"{self.name}: {cause[1]}, outside of a test\n{log}")
            passed = any(r["outcome"] in ("passed", "skipped") for r in list(self.results.values())[before:])
            deaths = 0 if passed else deaths + 1
            if left and (not cause or deaths >= DEATHS):
                for name in left:
                    self.results[name] = {"outcome": "lost", "seconds": 0, "cpu": 0, "error": "the test did not run", "text": log}
                left = []
            if not left:
                return self
            request = {"ids": left}

    def _process(self, request):
        """Runs one process: (the test in which it ended, or None; (outcome, text) or None; the end of its output)."""
        with tempfile.TemporaryDirectory(prefix="jax_tests_") as folder:
            place = pathlib.Path(folder)
            events, log = place / "events", place / "log"
            events.touch()
            (place / "tmp").mkdir()
            full = request | {"test_file": str(self.root / "tests" / f"{self.name}.py"), "root": str(self.root), "events": str(events)}
            (place / "request").write_text(json.dumps(full))
            environment = self.environment | {"TMPDIR": str(place / "tmp")}
            with open(log, "wb") as out, open(events) as news:
                process = subprocess.Popen([self.python, str(CHILD), str(place / "request")], cwd=place / "tmp", env=environment, stdout=out,
                                           stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
                with _lock:
                    _running.add(process)
                try:
                    last, cause, finished = self._watch(process, news)
                finally:
                    _kill(process, signal.SIGKILL)  # and what it has started
                    process.wait()
                    with _lock:
                        _running.discard(process)
            text = _tail(log)
        if cause is None and process.returncode < 0:
            cause = ("crashed", f"the process ended with {signal.Signals(-process.returncode).name}")
        elif cause is None and not finished:
            cause = ("crashed", f"the process exited with status {process.returncode}")
        if finished and cause:
            cause = (cause[0], cause[1] + " at exit")
        return last, cause, text

    def _watch(self, process, news):
        last, finished, pending, heard = None, False, "", time.monotonic()
        while True:
            ended = process.poll() is not None
            pending += news.read()
            *lines, pending = pending.split("\n")
            for line in lines:
                heard = time.monotonic()
                event = json.loads(line)
                kind = event["event"]
                if kind == "start":
                    last = event["id"]
                elif kind == "report":
                    self._report(event)
                elif kind == "end":
                    last = None
                    if event["id"] in self.results:
                        self.results[event["id"]]["cpu"] = event["cpu"]
                elif kind == "collected":
                    self.collected, self.all = event["ids"], event["all"]
                elif kind == "broken":
                    self.notes.append(f"{self.name}: {event['error']}")
                elif kind == "finished":
                    finished = True
            if ended:
                return last, None, finished
            if time.monotonic() - heard > self.timeout:
                _kill(process, signal.SIGABRT)  # Python then prints where its threads are
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    pass
                return last, ("hung", f"there was no result within {self.timeout:.0f} s"), finished
            if (used := _memory(process)) > self.memory:
                return last, ("swelled", f"the process took {used:.1f} GiB of memory"), finished
            time.sleep(0.1)

    def _report(self, event):
        result = self.results.setdefault(event["id"], {"outcome": "passed", "seconds": 0, "cpu": 0, "error": "", "text": ""})
        result["seconds"] = round(result["seconds"] + event["seconds"], 3)
        rank = {"passed": 0, "skipped": 1, "failed": 2}
        if rank[event["outcome"]] > rank[result["outcome"]]:
            result.update(outcome=event["outcome"], error=event["error"], text=event["text"])
