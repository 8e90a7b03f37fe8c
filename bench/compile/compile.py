#!/usr/bin/env python3
"""How long a user's files take to compile, in processor time: `tessera.h` alone, a program of sixty lines, and files of two examples,
as they are and with `tessera.h` precompiled. Prints a table in Markdown, and the headers that cost most.

usage: compile.py [--compiler g++ --compiler clang++-19] [--levels O0,O2] [--runs 5] [--headers 12] [--include DIR]

Without --compiler it takes those of g++ and clang++-19 that are installed. A time is the median over the runs; the runs of
all files alternate, so that other work on the machine meets all of them. --include measures other headers, such as an older version's."""
import argparse
import collections
import json
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = {
    "`bench/compile/step.cc`": HERE / "step.cc",
    "`examples/00_pmap_basics/basics.cc`": ROOT / "examples/00_pmap_basics/basics.cc",
    "`examples/04_training_techniques/techniques.cc`": ROOT / "examples/04_training_techniques/techniques.cc",
}


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def precompile(compiler, flags, include, folder):
    """Returns the flags with which a program finds the precompiled header."""
    folder.mkdir()
    wrapper = folder / "precompiled.h"
    wrapper.write_text("#include <tessera/tessera.h>\n")
    kind = "pch" if "clang" in compiler else "gch"
    out = folder / f"precompiled.h.{kind}"
    subprocess.run([compiler, *flags, f"-I{include}", "-x", "c++-header", str(wrapper), "-o", str(out)], check=True)
    return ["-include-pch", str(out)] if kind == "pch" else ["-include", str(wrapper)]


def measure(compiler, level, include, runs, folder):
    """Returns {program: (median, median with tessera.h precompiled)}."""
    flags = ["-std=c++20", f"-{level}", "-DTESSERA_STATIC"]
    header = folder / "header.cc"
    header.write_text("#include <tessera/tessera.h>\n")
    found = precompile(compiler, flags, include, folder / f"{compiler}_{level}")
    programs = {"`tessera.h` alone": header, **PROGRAMS}
    times = collections.defaultdict(list)
    for _ in range(runs):
        for name, source in programs.items():
            command = [compiler, *flags, f"-I{include}", f"-I{ROOT / 'examples'}", "-c", str(source), "-o", str(folder / "out.o")]
            times[name, False].append(seconds(command))
            times[name, True].append(seconds([*command, *found]))
    return {name: tuple(statistics.median(times[name, pre]) for pre in (False, True)) for name in programs}


def own_lines(compiler, include, folder):
    """Returns the number of lines of each header behind tessera.h that are left after preprocessing."""
    text = subprocess.run([compiler, "-std=c++20", f"-I{include}", "-E", str(folder / "header.cc")], check=True, capture_output=True,
                          text=True).stdout
    lines, at = collections.Counter(), ""
    for line in text.splitlines():
        if marker := re.match(r'# \d+ "([^"]+)"', line):
            at = marker[1]
        elif line.strip():
            lines[at] += 1
    return lines


def traced(compiler, include, folder):
    """Returns clang's milliseconds for each header, including the headers that it is the first to include."""
    out = folder / "header.o"
    subprocess.run([compiler, "-std=c++20", f"-I{include}", "-ftime-trace", "-ftime-trace-granularity=200", "-c", str(folder / "header.cc"),
                    "-o", str(out)], check=True)
    events = json.loads(out.with_suffix(".json").read_text())["traceEvents"]
    # A header that is parsed within another one is an event of its own.
    return {event["args"]["detail"]: event["dur"] / 1000 for event in events if event["name"] == "Source" and event["ph"] == "X"}


def show_headers(compilers, include, count, folder):
    lines = own_lines(compilers[0], include, folder)
    print(f"\n`tessera.h` is {sum(lines.values()):,} lines for {compilers[0]}; most of them are in")
    for name, n in lines.most_common(count):
        print(f"  {n:6} {name}")
    for compiler in [c for c in compilers if "clang" in c][:1]:
        print(f"\nheaders that cost {compiler} most, in ms, each with all that it is the first to include")
        for name, ms in sorted(traced(compiler, include, folder).items(), key=lambda kv: -kv[1])[:count]:
            print(f"  {ms:6.1f} {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", action="append")
    parser.add_argument("--levels", default="O0,O2")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--headers", type=int, default=12)
    parser.add_argument("--include", default=str(ROOT / "include"))
    args = parser.parse_args()
    compilers = args.compiler or [c for c in ("g++", "clang++-19") if shutil.which(c)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        columns = [(c, level) for c in compilers for level in args.levels.split(",")]
        results = [measure(c, level, args.include, args.runs, folder) for c, level in columns]
        print("| file | " + " | ".join(f"{c} -{level}" for c, level in columns) + " |")
        print("|---|" + "---:|" * len(columns))
        for program in results[0]:
            for pre in (0, 1):
                cells = " | ".join(f"{result[program][pre]:.2f} s" for result in results)
                print(f"| {program}{', precompiled' if pre else ''} | {cells} |")
        if args.headers:
            show_headers(compilers, args.include, args.headers, folder)


if __name__ == "__main__":
    main()
