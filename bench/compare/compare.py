"""Runs the same workloads in Tessera, JAX and PyTorch, in alternation, and prints medians, ratios and the limits of the machine.

    python3 bench/compare/compare.py    # everything; makes virtual environments with JAX and with PyTorch, builds what is needed
    python3 bench/compare/compare.py --rows 'cnn|gpt' --quick --python /path/to/python/with/jax --python-torch /path/to/python/with/torch

Every round of a row times all sides right after each other; a ratio is the median over the rounds of that round's ratio. Where JAX
has several forms of a row, all are timed and the fastest counts. PyTorch is three sides: its operations as they are called, the whole row
in one function of torch.compile, and operations called from C++ in the rows that are about calls. A side that hangs is killed and named in
the table; the others go on. Results go to build/compare/results.json and table.md. `--write` also puts them into docs/performance.md, or
into docs/performance_avx2.md where the processor has no AVX-512; it takes at least five rounds, and refuses where other work keeps the
machine busy, before or meanwhile.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys
import time

import limits
import machine
import rows as row_table
import sides
import table


SHORT = 1000.0  # microseconds of a call, of which a third of the time tells as much


def measure(row, side, program, args, before):
    """A list of numbers, the row's own first: microseconds, or bytes. `before` is what the rounds before gave."""
    if row.kind == "steady":
        seconds = args.seconds / 3 if before and before[0][0] < SHORT else args.seconds
        return side.time(row, program, seconds, args.timeout * (1 if before else 3))
    call, seconds, peak = side.run_once(row, program, 2 * args.timeout)
    return {"first": (call,), "start": (seconds * 1e6,), "peak": (peak * 1024.0,)}[row.kind]


def median(rounds):
    return statistics.median(x[0] for x in rounds)


def best(forms):
    """The fastest form that ran, with its name; else what went wrong."""
    ran = {form: r for form, r in forms.items() if r.get("rounds")}
    if not ran:
        return next(iter(forms.values()))
    form = min(ran, key=lambda f: median(ran[f]["rounds"]))
    result = {"rounds": ran[form]["rounds"], "median": median(ran[form]["rounds"])}
    if len(forms) > 1:
        result |= {"form": form, "forms": {f: median(r["rounds"]) if r.get("rounds") else r["error"] for f, r in forms.items()}}
    return result


def run_row(row, active, args):
    """{side: {"rounds": [[...], ...], ...} or {"error": text}}"""
    result = {name: {form: {"rounds": []} for form in row.programs(name)} for name in active}
    names = list(active)
    rounds = {"steady": args.rounds, "peak": 1}.get(row.kind, max(1, args.rounds // 2))
    for i in range(rounds):
        for name in names[i % len(names):] + names[:i % len(names)]:
            for form, program in row.programs(name).items():
                side = result[name][form]
                if "error" in side:
                    continue
                try:
                    side["rounds"].append(measure(row, active[name], program, args, side["rounds"]))
                except sides.Failed as e:
                    result[name][form] = {"error": str(e)}
                time.sleep(0.05)  # until the spinning threads of the one before sleep
    result = {name: best(forms) for name, forms in result.items()}
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
    p.add_argument("--timeout", type=float, default=60, help="seconds after which a side counts as hung; three times that where it compiles")
    p.add_argument("--python", help="interpreter that has JAX and flatbuffers; without it a virtual environment is made")
    p.add_argument("--python-torch", help="interpreter that has PyTorch 2; without it a virtual environment is made")
    p.add_argument("--build", type=pathlib.Path, default=sides.ROOT / "build/release", help="build folder of Tessera")
    p.add_argument("--no-build", action="store_true", help="take the programs of the build folder as they are")
    p.add_argument("--only", default="jax,torch", help="peers to run, of jax and torch; empty for none")
    p.add_argument("--write", action="store_true", help="put the table into docs/performance.md, or docs/performance_avx2.md")
    args = p.parse_args()
    if args.write and (args.rows or args.quick or args.only != p.get_default("only")):
        p.error("--write takes the whole table: leave --rows, --quick and --only out")
    if args.write and args.rounds < 5:
        p.error("--write takes at least five rounds")
    if args.quick:
        args.rounds, args.seconds = 2, 0.1
    return args


def refuse_where_busy(share, when):
    if share > machine.BUSY:
        sys.exit(f"error: --write wants a quiet machine, but other work took {100 * share:.0f} % of its cores {when}; end it, or leave --write out")


def main():
    args = parse()
    work = sides.ROOT / "build/compare"
    work.mkdir(parents=True, exist_ok=True)
    peers = [p for p in args.only.split(",") if p]
    programs = sides.build_ours(args.build.resolve(), not args.no_build)
    environment = sides.clean_environment()
    before = machine.others_now()
    if args.write:
        refuse_where_busy(before, "now")
    result = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "cpu": machine.cpu(), "rounds": args.rounds,
              "seconds": args.seconds, "versions": {}, "rows": {}}
    result["limits"] = limits.measured(programs)
    with open(work / "log.txt", "w", encoding="utf-8") as log:
        ours = [str(programs / "rows_bench")]
        every = {"tessera": sides.Side(ours, environment, log),
                 "isolated": sides.Side(ours, dict(environment, TESSERA_ISOLATE="1"), log)}
        if "jax" in peers:
            python = sides.jax_python(args.python, work)
            every["jax"] = sides.JaxSide([python, str(sides.HERE / "jax_rows.py")], environment, log)
            result["versions"]["JAX"] = sides.run([python, "-c", "import jax; print(jax.__version__)"]).strip()
        if "torch" in peers:
            python = sides.torch_python(args.python_torch, work)
            program = [python, str(sides.HERE / "torch_rows.py")]
            cached = dict(environment, TORCHINDUCTOR_CACHE_DIR=str(work / "inductor"))
            every |= {side: sides.TorchSide(program, cached, log) for side in row_table.BOTH}
            result["versions"]["PyTorch"] = sides.run([python, "-c", "import torch; print(torch.__version__)"]).strip()
            command, why = sides.build_libtorch(python, work)
            if command:
                every["libtorch"] = sides.Side(command, environment, log)
            else:
                print(f"PyTorch from C++ is left out: {why}", file=sys.stderr)
        start, others = time.monotonic(), machine.Others()
        try:
            for row in (r for group in row_table.GROUPS.values() for r in group):
                if not re.search(args.rows, row.name):
                    continue
                takes = {"tessera": True, "isolated": row.shares, "jax": row.jax}
                active = {n: s for n, s in every.items() if takes.get(n, n in row.torch)}
                result["rows"][row.name] = run_row(row, active, args)
                print(table.progress(row, result["rows"][row.name]), flush=True)
            if not args.rows:
                result["peak_bytes"] = {n: s.peak_kb() * 1024 for n, s in every.items() if n != "isolated"}
        finally:
            for side in every.values():
                side.stop()
    result["minutes"] = (time.monotonic() - start) / 60
    result["others"] = max(before, others.share())
    text = table.markdown(result)
    (work / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    (work / "table.md").write_text(text)
    print("\n" + text)
    if args.write:
        refuse_where_busy(result["others"], "meanwhile")
        table.write_into(sides.ROOT / "docs" / table.page(result), text)


if __name__ == "__main__":
    main()
