"""Tests scripts/jax_tests without JAX and pytest: check_jax_tests.py ROOT FOLDER, where FOLDER is for what the test writes."""
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
root, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
sys.path.insert(0, str(root / "tests/jax"))

import files  # noqa: E402
import page  # noqa: E402
import processes  # noqa: E402
import reasons  # noqa: E402
import results  # noqa: E402

# As much of pytest as child.py uses: runs the functions of a file, and calls the hooks as pytest does.
PYTEST = '''
import runpy, sys, types


class Skip(Exception):
    pass


def report(name, outcome, error):
    crash = types.SimpleNamespace(message=error) if outcome == "failed" else None
    longrepr = types.SimpleNamespace(reprcrash=crash) if crash else ("file", 1, error) if error else None
    return types.SimpleNamespace(nodeid=name, outcome=outcome, failed=outcome == "failed", skipped=outcome == "skipped", duration=0.25,
                                 longrepr=longrepr, longreprtext="text of " + error)


def main(options, plugins):
    watch, = plugins
    try:
        found = runpy.run_path(options[-1])
    except ImportError as error:
        watch.pytest_collectreport(types.SimpleNamespace(failed=True, longrepr=str(error)))
        return 2
    items = [types.SimpleNamespace(nodeid="tests/x.py::" + n, call=f) for n, f in found.items() if n.startswith("test_")]
    watch.pytest_collection_modifyitems(None, items)
    for item in items:
        watch.pytest_runtest_logstart(item.nodeid)
        outcome, error = "passed", ""
        try:
            item.call()
        except AssertionError as e:
            outcome, error = "failed", f"AssertionError: {e}"
        except RuntimeError as e:
            outcome, error = "skipped", f"Skipped: {e}"
        watch.pytest_runtest_logreport(report(item.nodeid, outcome, error))
        watch.pytest_runtest_logfinish(item.nodeid)
    return 0
'''

TESTS = '''
import atexit, os, signal, sys, time


def test_passes(): pass
def test_fails(): raise AssertionError("one is two")
def test_crashes(): os.kill(os.getpid(), signal.SIGSEGV)
def test_after_crash(): pass
def test_hangs(): time.sleep(60)
def test_leaves(): os._exit(0)
def test_skips(): raise RuntimeError("no device")
def test_swells(): sys.kept = bytearray(b"x" * (1 << 27)); time.sleep(60)
def test_forks():
    if os.fork() == 0:
        os._exit(3)
    os.wait()
def test_exit(): atexit.register(os.abort)
'''


def expect(got, want, what):
    if got != want:
        sys.exit(f"{what}: got\n{got!r}, expected\n{want!r}")


def check_processes():
    """Each test has its outcome, whatever happens to its process, and a later test runs after it."""
    (folder / "stub").mkdir()
    (folder / "stub/pytest.py").write_text(PYTEST)
    (folder / "jax/tests").mkdir(parents=True)
    (folder / "jax/tests/some_test.py").write_text(TESTS)
    (folder / "jax/tests/broken_test.py").write_text("raise ImportError('no module')\n")

    def piece(name):
        return processes.Piece(sys.executable, folder / "jax", name, {"PYTHONPATH": str(folder / "stub")}, timeout=8, memory=0.1)

    # Each name is also the only one that its process runs, or one behind others.
    some = piece("some_test").run(most=9)
    names = ["passes", "fails", "crashes", "after_crash", "hangs", "leaves", "skips", "swells", "forks", "exit"]
    expect(some.collected, [f"test_{n}" for n in names], "the tests of a file")
    expect(some.all, 10, "how many tests a file has")
    got = {name.removeprefix("test_"): (r["outcome"], r["error"]) for name, r in some.results.items()}
    swelled = got.pop("swells")
    expect((swelled[0], swelled[1].startswith("the process took 0.")), ("swelled", True), "a test that takes memory")
    expect(got, {"passes": ("passed", ""), "fails": ("failed", "AssertionError: one is two"),
                 "crashes": ("crashed", "the process ended with SIGSEGV"), "after_crash": ("passed", ""),
                 "hangs": ("hung", "there was no result within 8 s"), "leaves": ("crashed", "the process exited with status 0"),
                 "skips": ("skipped", "Skipped: no device"), "forks": ("passed", "")}, "outcomes")
    expect(some.results["test_fails"]["text"], "text of AssertionError: one is two", "the text of a failure")
    expect(some.notes, [], "notes")

    last = piece("some_test").run(["test_exit", "test_unknown", "test_passes"])
    expect({n: r["outcome"] for n, r in last.results.items()}, {"test_exit": "passed", "test_unknown": "lost", "test_passes": "passed"},
           "tests that are asked for")
    expect([n.split("\n")[0] for n in last.notes], ["some_test: the process ended with SIGABRT at exit, outside of a test"], "a crash at exit")

    chosen = piece("some_test").run(pattern="passes|after|forks", every=2)
    expect(list(chosen.results), ["test_passes", "test_forks"], "every second test of a pattern")
    broken = piece("broken_test").run()
    expect((broken.results, broken.notes[0]), ({}, "broken_test: no module"), "a file that cannot be imported")


def result(outcome, error="", cpu=1.0):
    return {"outcome": outcome, "error": error, "text": "", "seconds": 9.0, "cpu": cpu}


def check_reasons():
    expect([reasons.automatic(result(*r)) for r in (
        ("failed", "AssertionError: \nNot equal to tolerance rtol=1e-06\nMismatched elements: 1 / 2"),
        ("failed", "jax.errors.JaxRuntimeError: UNIMPLEMENTED: sort: 'f' of f32[3,4] has 5 operands. Use fewer."),
        ("failed", "ValueError: \n  x has 3 axes"), ("crashed", "the process ended with SIGSEGV"), ("skipped", "Skipped: no device 3"))],
        ["A value is wrong", "UNIMPLEMENTED: sort: '…' of fN[…] has N operands. Use fewer.", "ValueError:",
         "The process ended with SIGSEGV", "Skipped: no device N"], "automatic classes")
    path = folder / "reasons.toml"
    path.write_text('[[reason]]\ntests = ["fft_test.py::*::test_a*"]\nerror = "tiles"\nwhy = "There are no tiles."\n')
    entries = reasons.load(path)
    expect(reasons.of(entries, "fft_test", "T::test_a1", result("failed", "X: no tiles")), ("There are no tiles.", True), "a reason")
    expect(reasons.of(entries, "fft_test", "T::test_a1", result("failed", "X: other")), ("X: other", False), "another error")
    expect(reasons.of(entries, "fft_test", "T::test_b", result("failed", "X: tiles")), ("X: tiles", False), "another test")
    return entries


def check_page(entries):
    store = results.Store(results.version_folder(folder / "out", "0.11.1"))
    expect(results.version_folder(folder, "1.0", 10, True).name, "1.0-cases10-x64", "the folder of a version")

    def add(side, name, devices, outcomes, **more):
        store.add(side, name, {t: result(*r) for t, r in outcomes.items()}, [], devices=devices, **more)

    add("there", "fft_test", 1, {"T::test_a1": ("passed",), "T::test_b": ("failed",), "T::test_c0": ("passed",), "T::test_c1": ("passed",)})
    add("here", "fft_test", 1, {"T::test_a1": ("failed", "X: no tiles"), "T::test_b": ("passed",), "T::test_c0": ("passed", "", 0.25),
                                "T::test_c1": ("passed", "", 0.5), "T::test_new": ("passed",)})
    add("there", "pjit_test", 8, {"T::test_d": ("passed",), "T::test_e": ("passed",), "T::test_f": ("passed",)}, all_tests=6)
    add("here", "pjit_test", 8, {"T::test_d": ("passed", "", 0.5), "T::test_e": ("crashed", "the process ended with SIGSEGV")})
    want = """## JAX 0.11.1

| files | tests | run | passed there | passed here | share | seconds there | seconds here |
|---|---|---|---|---|---|---|---|
| one device | 4 | 4 | 3 | 2 | 66.7 % | 2 | 1 |
| eight devices | 6 | 2 | 2 | 1 | 50.0 % | 1 | 0 |

1 of the 2 files are samples: about every N-th test of such a file ran on both sides, with N = 3. *Tests* is how many tests a file has, and *run* is how many of them ran.

Further tests ran only here: 1 passed, 0 skipped.

### One device

| file | tests | run | passed there | passed here | share | seconds there | seconds here |
|---|---|---|---|---|---|---|---|
| fft_test | 4 | 4 | 3 | 2 | 66.7 % | 2 | 1 |
| all | 4 | 4 | 3 | 2 | 66.7 % | 2 | 1 |

### Eight devices

| file | tests | run | passed there | passed here | share | seconds there | seconds here |
|---|---|---|---|---|---|---|---|
| pjit_test | 6 | 2 | 2 | 1 | 50.0 % | 1 | 0 |
| all | 6 | 2 | 2 | 1 | 50.0 % | 1 | 0 |

### What passes only there

* There are no tiles (1):
  fft_test: `T.test_a1`
* `The process ended with SIGSEGV` (1):
  pjit_test: `T.test_e`
"""
    lines = page.version_section("0.11.1", store, entries)
    expect("\n".join(lines), want, "a section")
    old = page.INTRODUCTION + "\n## JAX 0.9.0\n\nold\n\n## JAX 0.11.1\n\nreplaced\n\n## JAX 0.12.0.1\n\nnew\n"
    expect(page.written(old, {"0.11.1": lines}), page.INTRODUCTION + "\n## JAX 0.12.0.1\n\nnew\n\n" + want + "\n## JAX 0.9.0\n\nold\n", "a page")
    expect([page.percent(*p) for p in ((1, 2), (2, 2), (9999, 10000), (0, 0))], ["50.0 %", "100 %", "99.9 %", ""], "shares")
    # Two files share 2 seconds beside their starts; the cheapest case of each function comes first.
    expect(page.must_pass([store], 14.0), ["fft_test.py::T::test_c0", "fft_test.py::T::test_c1", "pjit_test.py::T::test_d"], "a list")
    expect(page.must_pass([store], 12.6), ["fft_test.py::T::test_c0"], "a shorter list")

    store.add("there", "fft_test", {"T::test_z": result("passed")}, ["note"], devices=1, all_tests=1, start=True, complete=True)
    found = store.load("there", "fft_test")
    expect((list(found["tests"]), found["complete"], found["all"], found["notes"]), (["T::test_z"], True, 1, ["note"]), "results of a new run")


def check_files():
    every = files.TABLE + files.MORE
    expect(sorted(set(every)), sorted(every), "names that are listed twice")
    expect(files.chosen(["pjit", "tests/lax_test.py"]), ["pjit_test", "lax_test"], "files that are asked for")


check_files()
check_processes()
check_page(check_reasons())
