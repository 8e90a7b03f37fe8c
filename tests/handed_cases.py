"""Runs programs that once failed and are kept outside the project: handed_cases.py LAUNCHER PROGRAM...

Each program runs in an empty folder. The expected output is given here as regular expressions that match the whole text or, if it is
long, parts of it. Without any program the test is skipped with exit code 77."""
import pathlib
import re
import subprocess
import sys
import tempfile

launcher, programs = sys.argv[1], {pathlib.Path(p).name.removeprefix("handed_"): p for p in sys.argv[2:]}
failures = []


def run(name, *, processes=1):
    start = [launcher, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(processes)] if processes > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        # Line-buffered, so that output from before an exception is not lost.
        r = subprocess.run([*start, "stdbuf", "-oL", str(pathlib.Path(programs[name]).resolve())], capture_output=True, text=True, cwd=folder, timeout=200)
    return r.returncode, r.stdout, r.stderr


def expect(name, ok, seen):
    if not ok:
        failures.append(f"{name}:\n{seen}")


def moved_manager():
    code, out, err = run("moved_manager")
    # The program catches nothing and ends with the exception, whose text explains the failure.
    expect("moved_manager", code == -6 and "CheckpointManager::save: it is used after it was moved away" in err, (code, out, err))


def restore_args_differ():
    code, out, err = run("restore_args_differ", processes=2)
    lines = [re.fullmatch(r"\[(\d)\] ([^:]*): (.*)", line) for line in out.splitlines()]
    said = {}
    for m in lines:
        if m:
            said.setdefault(m[2], {})[int(m[1])] = m[3]
    for what in ("step 1 + rank", "newest, or step 1", "step 1 + 8 * rank (not there)", "only", "dir differs", "like differs"):
        texts = said.get(what, {})
        expect(f"restore_args_differ: {what}", sorted(texts) == [0, 1] and all("restore: " in t for t in texts.values()), (code, out, err))
    # These two functions are not collective, so each process may call them alone.
    expect("restore_args_differ: info", said.get("info differs") == {0: "1", 1: "2"}, (code, out, err))
    expect("restore_args_differ: latest", said.get("latest") == {0: "2", 1: "2"}, (code, out, err))
    expect("restore_args_differ: end", code == 0, (code, out, err))


def symlink_dir():
    code, out, err = run("symlink_dir")
    expect("symlink_dir", (code, out) == (0, "scratch_sl/run saved\nscratch_sl/run/ saved\n"), (code, out, err))


def trim_foreign():
    code, out, err = run("trim_foreign")
    expect("trim_foreign", (code, out) == (0, "kept\n"), (code, out, err))


def trim_newest():
    code, out, err = run("trim_newest")
    first = "".join(f"save {i} -> 1\n" for i in range(1, 6))
    match = re.fullmatch(re.escape(first) + r"1\. left: (20241126 5|5 20241126) \n\[5\. 5\. 5\.\]\n", out)
    # The second half resumes from step 100 although steps 110 and 120 exist. This is refused, and it catches nothing.
    expect("trim_newest", match and code == -6 and "110, 120" in err and "discard_later_steps" in err, (code, out, err))


def vjp_varying():
    code, out, err = run("vjp_varying")
    expect("vjp_varying", code == 0 and out.startswith("refused: ") and "pvary" in out, (code, out, err))


known = {f.__name__: f for f in (moved_manager, restore_args_differ, symlink_dir, trim_foreign, trim_newest, vjp_varying)}
unknown = sorted(programs.keys() - known.keys())
expect("programs that this test does not know", not unknown, unknown)
run_now = [name for name in known if name in programs and (name != "restore_args_differ" or launcher != "none")]
for name in run_now:
    known[name]()
print(f"{len(run_now)} of {len(known)} programs were run")
print("\n\n".join(failures))
sys.exit(1 if failures else 0 if run_now else 77)
