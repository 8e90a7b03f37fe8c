"""Runs the benchmark programs and jax_rows.py in turn and prints a table of both.

    python compare.py --ours build/release/bench --python /path/to/python/with/jax [--rounds 2]

Each row keeps the better of its rounds on either side, which is what a machine shared with others can tell.
"""

import argparse
import json
import os
import pathlib
import subprocess

PROGRAMS = ("dispatch_bench", "seeds_bench", "training_bench")
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def ours(folder):
    rows = {}
    for program in PROGRAMS:
        out = subprocess.run([folder / program, "--benchmark_format=json", "--benchmark_min_time=0.5"],
                             check=True, capture_output=True, text=True).stdout
        for b in json.loads(out)["benchmarks"]:
            name = b["name"].removesuffix("/real_time").removesuffix("/iterations:1")
            rows[name] = b["real_time"] * MICROSECONDS[b["time_unit"]]
    return rows


def jax_rows(python):
    rows = {}
    script = pathlib.Path(__file__).with_name("jax_rows.py")
    for devices, part in ((4, ""), (8, "pmap/8"), (96, "pmap/96")):
        environment = dict(os.environ, XLA_FLAGS=f"--xla_force_host_platform_device_count={devices}")
        out = subprocess.run([python, script, part], check=True, capture_output=True, text=True, env=environment).stdout
        for line in out.splitlines():
            name, value, _ = line.split()
            rows.setdefault(name, float(value))
    return rows


def text(us):
    if us >= 1000:
        return f"{us / 1000:.3g} ms" if us < 1e6 else f"{us / 1000:.0f} ms"
    return f"{us:.3g} us"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", type=pathlib.Path, required=True, help="folder of the benchmark programs")
    parser.add_argument("--python", default="python3", help="interpreter that has JAX")
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    best = ({}, {})
    for _ in range(args.rounds):
        for rows, measured in zip(best, (ours(args.ours.resolve()), jax_rows(args.python))):
            for name, us in measured.items():
                rows[name] = min(us, rows.get(name, us))
    print("| row | Tessera | JAX | JAX / Tessera |\n|---|---:|---:|---:|")
    for name, us in best[0].items():
        other = best[1].get(name)
        print(f"| {name} | {text(us)} | {text(other) if other else '-'} | {f'{other / us:.2g}' if other else '-'} |")


if __name__ == "__main__":
    main()
