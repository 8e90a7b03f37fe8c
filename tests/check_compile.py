#!/usr/bin/env python3
"""Checks that wrong programs are refused with their message, and that each public header compiles alone.

usage: check_compile.py misuse|headers COMPILER INCLUDE_DIR TESTS_DIR

The first line of a program in tests/compile is `// expect: TEXT`, a regular expression where TEXT has a `|` or a dot
that matters. The compiler has to refuse the program and to print it among the first lines of its output. With
`// expect 3: TEXT` three of the program's lines are refused with that text each. A program that begins with
`// expect nothing` has to compile.
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile


FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-DTESSERA_STATIC"]
# The folder of precompiled headers, in which g++ looks before it reads the headers themselves.
precompiled = []


def compiles(compiler, include, path):
    run = subprocess.run([compiler, *FLAGS, "-fsyntax-only", *precompiled, f"-I{include}", str(path)],
                         capture_output=True, text=True)
    return run.returncode == 0, run.stderr


def precompile(compiler, include, folder):
    """Precompiles the headers that all programs include, which saves two thirds of the time."""
    if "clang" in compiler:
        return
    out = pathlib.Path(folder, "tessera", "tessera.h.gch")
    out.parent.mkdir()
    header = include / "tessera" / "tessera.h"
    # The compiler warns of "pragma once in main file".
    flags = [flag for flag in FLAGS if flag != "-Werror"]
    run = subprocess.run([compiler, *flags, f"-I{include}", "-x", "c++-header", str(header), "-o", str(out)],
                         capture_output=True)
    if run.returncode == 0:
        precompiled.append(f"-I{folder}")


# One screen of output, since users read no further.
FIRST_LINES = 24


def check_misuse(compiler, include, path):
    first = path.read_text().splitlines()[0]
    ok, output = compiles(compiler, include, path)
    if first.startswith("// expect nothing"):
        return None if ok else f"{path.name}: does not compile\n{output[:3000]}"
    if ok:
        return f"{path.name}: compiles, and must not"
    if times := re.match(r"// expect (\d+): (.*)", first):
        errors = len({line.split(":")[1] for line in output.splitlines() if " error: " in line and times[2] in line})
        return None if errors == int(times[1]) else f"{path.name}: refused in {errors} lines\n{output[:6000]}"
    expected = first.removeprefix("// expect: ")
    output = "\n".join(output.splitlines()[:FIRST_LINES])
    if expected not in output and not ("|" in expected and re.search(expected, output)):
        return f"{path.name}: the compiler does not say, at once: {expected}\n{output[:3000]}"
    return None


def check_header(compiler, include, path):
    name = path.relative_to(include)
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
        source.write(f"#include <{name}>\n#include <{name}>\n")
        source.flush()
        ok, output = compiles(compiler, include, pathlib.Path(source.name))
    return None if ok else f"{name} does not compile alone\n{output[:3000]}"


def main():
    mode, compiler, include, tests = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    if mode == "misuse":
        check, paths = check_misuse, sorted((tests / "compile").glob("*.cc"))
    else:
        check, paths = check_header, sorted((include / "tessera").rglob("*.h"))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        if mode == "misuse":
            precompile(compiler, include, folder)
        failures = [f for f in pool.map(lambda p: check(compiler, include, p), paths) if f]
    if mode == "headers":
        everything = (include / "tessera/tessera.h").read_text()
        for p in sorted((include / "tessera").glob("*.h")):
            if p.name != "tessera.h" and f"<tessera/{p.name}>" not in everything:
                failures.append(f"tessera.h does not include {p.name}")
    print("\n".join(failures) or f"{len(paths)} checked")
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
