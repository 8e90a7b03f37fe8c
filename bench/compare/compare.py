"""Runs the same workloads in Tessera, JAX and LibTorch, in alternation, and prints medians and ratios.

    python3 bench/compare/compare.py                      # everything; makes a virtual environment with JAX, builds what is needed
    python3 bench/compare/compare.py --rows 'cnn|gpt' --quick --python /path/to/python/with/jax

Every round of a row times all sides right after each other; a ratio is the median over the rounds of that round's ratio. A side that
hangs is killed and named in the table; the others go on. Results go to build/compare/results.json and table.md; `--write` also puts
them into docs/performance.md.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import sys
import time

import rows as row_table
import sides
import table


def limits(folder):
    """{"fma": {cores: GFLOP/s}, "triad": {cores: GB/s}}"""
    measured = {}
    for line in sides.run([folder / "limits_bench"]).splitlines():
        name, cores, value = line.split()
        measured.setdefault(name, {})[int(cores)] = float(value)
    return measured


def cpu():
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return {"model": "unknown", "cores": os.cpu_count(), "flags": []}
    model = re.search(r"^model name\s*: (.*)", info, re.M)
    flags = set((re.search(r"^flags\s*: (.*)", info, re.M) or [None, ""])[1].split())
    wanted = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")
    return {"model": model[1] if model else "unknown", "cores": os.cpu_count(), "flags": [f for f in wanted if f in flags]}


def measure(row, side, args, first_round):
    """A list of numbers, the row's own first: microseconds, or bytes."""
    if row.kind == "steady":
        return side.time(row, args.seconds, args.timeout * (2 if first_round else 1))
    call, seconds, peak = side.run_once(row, 2 * args.timeout)
    return {"first": (call,), "start": (seconds * 1e6,), "peak": (peak * 1024.0,)}[row.kind]


def run_row(row, active, args):
    """{side: {"rounds": [[...], ...]} or {"error": text}}"""
    result = {name: {"rounds": []} for name in active}
    names = list(active)
    rounds = {"steady": args.rounds, "peak": 1}.get(row.kind, max(1, args.rounds // 2))
    for i in range(rounds):
        for name in names[i % len(names):] + names[:i % len(names)]:
            if "error" in result[name]:
                continue
            try:
                result[name]["rounds"].append(measure(row, active[name], args, i == 0))
            except sides.Failed as e:
                result[name] = {"error": str(e)}
            time.sleep(0.05)  # until the spinning threads of the one before sleep
    for r in result.values():
        if r.get("rounds"):
            r["median"] = statistics.median(x[0] for x in r["rounds"])
    mine = result["tessera"].get("rounds", [])
    for name in names[1:]:
        theirs = result[name].get("rounds", [])
        if mine and theirs:
            result[name]["ratio"] = statistics.median(t[0] / m[0] for t, m in zip(theirs, mine))
            if row.kind == "steady":
                result[name]["cpu_ratio"] = statistics.median(t[1] / max(m[1], 1e-3) for t, m in zip(theirs, mine))
    return result


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", default="", help="only rows whose name this regular expression finds")
    p.add_argument("--quick", action="store_true", help="two short rounds")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.3, help="of each side in each round")
    p.add_argument("--timeout", type=float, default=60, help="seconds after which a side counts as hung; twice that where it compiles")
    p.add_argument("--python", help="interpreter that has JAX; without it a virtual environment is made")
    p.add_argument("--build", type=pathlib.Path, default=sides.ROOT / "build/release", help="build folder of Tessera")
    p.add_argument("--no-build", action="store_true", help="take the programs of the build folder as they are")
    p.add_argument("--only", default="jax,torch", help="peers to run, of jax and torch; empty for none")
    p.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    args = p.parse_args()
    if args.write and (args.rows or args.only != p.get_default("only")):
        p.error("--write takes the whole table: leave --rows and --only out")
    if args.quick:
        args.rounds, args.seconds = 2, 0.1
    return args


def main():
    args = parse()
    work = sides.ROOT / "build/compare"
    work.mkdir(parents=True, exist_ok=True)
    peers = [p for p in args.only.split(",") if p]
    programs = sides.build_ours(args.build.resolve(), not args.no_build)
    environment = sides.clean_environment()
    result = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "cpu": cpu(), "load_before": os.getloadavg()[0],
              "rounds": args.rounds, "seconds": args.seconds, "versions": {}, "rows": {}}
    result["limits"] = limits(programs)
    with open(work / "log.txt", "w", encoding="utf-8") as log:
        every = {"tessera": sides.Side([str(programs / "rows_bench")], environment, log)}
        if "jax" in peers:
            python = str(sides.jax_python(args.python, work))
            every["jax"] = sides.JaxSide([python, str(sides.HERE / "jax_rows.py")], environment, log)
            result["versions"]["JAX"] = sides.run([python, "-c", "import jax; print(jax.__version__)"]).strip()
        if "torch" in peers:
            built = sides.build_torch(work)
            if isinstance(built, str):
                print(f"LibTorch is left out: {built}", file=sys.stderr)
                result["no_torch"] = built
            else:
                every["torch"] = sides.Side(*built, log)
                result["versions"]["LibTorch"] = sides.run(built[0], env=built[1]).strip()
        start = time.monotonic()
        try:
            for row in (r for group in row_table.GROUPS.values() for r in group):
                if not re.search(args.rows, row.name):
                    continue
                active = {n: s for n, s in every.items() if n == "tessera" or (n == "jax" and row.jax) or (n == "torch" and row.torch)}
                result["rows"][row.name] = run_row(row, active, args)
                print(table.progress(row, result["rows"][row.name]), flush=True)
            if not args.rows:
                result["peak_bytes"] = {n: s.peak_kb() * 1024 for n, s in every.items()}
        finally:
            for side in every.values():
                side.stop()
    result["minutes"] = (time.monotonic() - start) / 60
    result["load_after"] = os.getloadavg()[0]
    text = table.markdown(result)
    (work / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    (work / "table.md").write_text(text)
    print("\n" + text)
    if args.write:
        table.write_into(sides.ROOT / "docs/performance.md", text)


if __name__ == "__main__":
    main()
