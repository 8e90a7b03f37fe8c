#!/usr/bin/env python3
"""How long a user's file takes to compile: seconds of processor time, the least of a few runs, so that other work on the
machine counts little.

usage: compile.py [--compiler g++] [--flags="-O1"] [--runs 5]
"""
import argparse
import pathlib
import resource
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="-O1")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        header = pathlib.Path(folder) / "header.cc"
        header.write_text("#include <tessera/tessera.h>\n")
        for name, source in (("the header alone", header), ("one pmapped training step", HERE / "step.cc")):
            command = [args.compiler, "-std=c++20", *args.flags.split(), f"-I{INCLUDE}", "-c", str(source), "-o", f"{folder}/out.o"]
            print(f"{name}: {min(seconds(command) for _ in range(args.runs)):.2f} s ({args.compiler} {args.flags})")


if __name__ == "__main__":
    main()
