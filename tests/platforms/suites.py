"""Runs suites that are about behaviour on another platform than the CPU backend: suites.py FOLDER [option ...], where FOLDER has the
programs of the tests.

--plugin PATH    the plug-in (default: TESSERA_TEST_PLUGIN, else XLA's for CPUs of the package lammps-jax-pjrt-cpu, where an interpreter
                 has it: this one, or one in build/jax, where `scripts/jax_python --with lammps-jax-pjrt-cpu` puts it)
--options TEXT   those of the plug-in (default: cpu_device_count=8)
--all            every test of every suite, instead of the share that ctest runs; of those that compile a program for each combination of
                 types of numbers, which takes a plug-in's compiler hours, every nth (SUITES)
--every N        every Nth of these instead
--suite NAME     this suite alone; may be repeated
--filter TEXT    these tests of it, as GoogleTest spells them
--minutes N      how long a suite may take (default: 15)
--log FOLDER     keeps there what each suite prints
--write          puts the counts of the suites that ran whole into docs/platforms.md

A program that crashes is started again behind the test that crashed, which counts as failed. Skipped (77) without a plug-in."""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import time
import typing

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
REASON = "needs the CPU backend: "


class Suite(typing.NamedTuple):
    least: int  # tests that must pass in a run of everything
    share: str  # the tests that ctest runs, as GoogleTest spells them; empty if it runs none
    least_of_share: int
    # Tests that take long, because each compiles a program for each combination of types of numbers, and which of them run: every nth.
    long: str = ""
    every: int = 1
    env: dict = {}


SUITES = {
    "api": Suite(150, "Collectives.*:Follow.Rows*:Jit.*:NestedPmap.*", 25),
    "devices": Suite(1, "", 0, env={"TESSERA_RANDOM_PROGRAMS": "2"}),
    "nn": Suite(29, "Losses.*:Masks.*", 11),
    "numpy": Suite(100, "Differences.*", 26, "IntegerLimits*:Functions*", 16, {"TESSERA_RANDOM_PROGRAMS": "1"}),
    "optim": Suite(25, "Optim.*", 20),
    "seeds": Suite(13, "*", 13),
    "spmd": Suite(1, "", 0),
    "transform": Suite(86, "Scan*", 11),
}


def found_plugin():
    if named := os.environ.get("TESSERA_TEST_PLUGIN"):
        return named
    code = "import importlib.util as u; print(u.find_spec('lammps_jax_pjrt_cpu').submodule_search_locations[0])"
    for python in [sys.executable, *sorted(map(str, root.glob("build/jax/*/bin/python")))]:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
        library = pathlib.Path(done.stdout.strip()) / "pjrt_c_api_cpu_plugin.so"
        if done.returncode == 0 and library.exists():
            return str(library)
    return None


def listed(program, chosen):
    """The tests of a program: "Suite.Name"."""
    done = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={chosen}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True)
    tests, suite = [], ""
    for line in done.stdout.splitlines():
        if re.match(r"\S+\.( |$)", line):
            suite = line.split()[0]
        elif suite and line.startswith("  "):
            tests.append(suite + line.split()[0])
    return [t for t in tests if "DISABLED_" not in t]


def chosen(program, suite, asked):
    """The tests of a program that run, and how many are left out."""
    if asked.filter or not asked.all:
        return listed(program, asked.filter or suite.share), 0
    if not suite.long:
        return listed(program, "*"), 0
    long = listed(program, suite.long)
    some = long[::asked.every or suite.every]
    return listed(program, "*-" + suite.long) + some, len(long) - len(some)


def run(program, tests, env, minutes):
    """For each test: "passed", "failed", "crashed", "late" or the text with which it was skipped; and what was printed."""
    results, text = {}, ""
    until = time.monotonic() + 60 * minutes
    while rest := [t for t in tests if t not in results]:
        process = subprocess.Popen([program, f"--gtest_filter={':'.join(rest)}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", env=env)
        try:
            out, _ = process.communicate(timeout=max(1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        text += out
        begun, lines = None, []
        for line in out.splitlines():
            if m := re.match(r"\[ RUN      \] (\S+)", line):
                begun, lines = m[1], []
            elif m := re.match(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+)", line):
                name = m[2].rstrip(",")
                if name != begun:
                    continue  # the summary at the end
                said = " ".join(l for l in lines if l.startswith(REASON))
                results[name] = {"OK": "passed", "FAILED": "failed"}.get(m[1], said or "skipped: " + " ".join(lines[-1:]))
                begun = None
            else:
                lines.append(line)
        if time.monotonic() >= until:
            results.update({t: "late" for t in tests if t not in results})
        elif begun:
            results[begun] = "crashed"
        elif not any(t in results for t in rest):
            sys.exit(f"{program} ended with {process.returncode}:\n{out[-4000:]}")
    return results, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--plugin")
    parser.add_argument("--options", default="cpu_device_count=8")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--every", type=int)
    parser.add_argument("--suite", action="append")
    parser.add_argument("--filter")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    plugin = asked.plugin or found_plugin()
    if not plugin:
        print("skipped, 0 checked: no interpreter has XLA's plug-in for CPUs; scripts/jax_python --with lammps-jax-pjrt-cpu installs it")
        return 77
    # Settings of googletest could leave out the lines that are counted.
    env = {k: v for k, v in os.environ.items() if not k.startswith("GTEST_")}
    env |= {"TESSERA_PLATFORM": plugin, "TESSERA_PLATFORM_OPTIONS": asked.options, "TF_CPP_MIN_LOG_LEVEL": "2"}
    rows, reasons, wrong = [], collections.Counter(), []
    for suite in asked.suite or SUITES:
        s = SUITES[suite]
        if not (asked.all or asked.filter or s.share):
            continue
        program = asked.folder / f"test_{suite}"
        if not program.exists():
            continue
        tests, left_out = chosen(program, s, asked)
        begin = time.monotonic()
        results, text = run(program, tests, env | s.env, asked.minutes)
        counts = collections.Counter("skipped" if r.startswith((REASON, "skipped")) else r for r in results.values())
        reasons.update(r.removeprefix(REASON) for r in results.values() if r.startswith(REASON))
        if asked.log:
            (asked.log / f"{suite}.log").write_text(text)
        bad = [f"{t} ({r})" for t, r in results.items() if r in ("failed", "crashed", "late")]
        print(f"{suite}: {counts['passed']} passed, {counts['skipped']} skipped, {len(bad)} failed in {time.monotonic() - begin:.0f} s", flush=True)
        if bad:
            print(text[-12000:] if not asked.all else "", *bad, sep="\n  ", flush=True)
        least = s.least if asked.all else s.least_of_share
        if not asked.filter and counts["passed"] < least:
            bad.append(f"fewer than {least} passed")
        if bad:
            wrong.append(suite)
        rows.append((suite, counts["passed"], counts["skipped"], left_out))
    for reason, count in reasons.most_common():
        print(f"{count:4} skipped: {reason}")
    print(f"{sum(row[1] for row in rows)} checked" + (f"; FAILED: {', '.join(wrong)}" if wrong else ""))
    if asked.write and asked.all:
        write([row for row in rows if row[0] not in wrong], reasons)
    return bool(wrong)


def write(rows, reasons):
    """Puts the rows of the suites that ran into the tables between the marks in docs/platforms.md; other rows stay."""
    page = root / "docs/platforms.md"
    text = page.read_text()
    tables = re.search(r"<!-- suites -->\n(.*?)<!-- end of suites -->", text, flags=re.S)
    if not tables:
        sys.exit("docs/platforms.md lacks the marks of the tables")
    known = dict(re.findall(r"^\| ([a-z]+) \| (\d+ \| \d+ \| \d+) \|$", tables[1], flags=re.M))
    known |= {suite: f"{passed} | {skipped} | {left_out}" for suite, passed, skipped, left_out in rows}
    properties = re.findall(r"^\| (.*\.) \|$", tables[1], flags=re.M)
    properties += [p for reason in reasons if (p := reason[0].upper() + reason[1:] + ".") not in properties]
    lines = ["| suite | passed | skipped | left out |", "|---|---:|---:|---:|", *(f"| {suite} | {known[suite]} |" for suite in sorted(known)), "",
             "| property that only the CPU backend has |", "|---|", *(f"| {p} |" for p in properties)]
    page.write_text(text[: tables.start(1)] + "\n".join(lines) + "\n" + text[tables.end(1) :])


sys.exit(main())
