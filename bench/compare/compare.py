"""Runs the same workloads in Tessera, JAX and PyTorch, in alternation, and prints medians, ratios and the limits of the machine.

    python3 bench/compare/compare.py    # everything; makes virtual environments with JAX and with PyTorch, builds what is needed
    python3 bench/compare/compare.py --rows 'cnn|gpt' --quick --python /path/to/python/with/jax --python-torch /path/to/python/with/torch

Every round of a row times all sides right after each other; a ratio is the median over the rounds of that round's ratio. Where JAX
has several forms of a row, all are timed and the fastest counts. PyTorch is three sides: its operations as they are called, the whole row
in one function of torch.compile, and operations called from C++ in the rows that are about calls. A side that hangs is killed and named in
the table; the others go on. Results go to build/compare/results.json and results.md. `--write` also puts them into docs/performance.md, or
into docs/performance_avx2.md where the processor has no AVX-512 or `--isa avx2` keeps all sides from it; it takes at least five rounds, and
refuses where other work keeps the machine busy, before or meanwhile.
"""

import re
import sys

import rounds
import rows as row_table
import session
import sides
import table


def parse():
    p = session.parser(__doc__, 5, "JAX and flatbuffers")
    session.add_timing(p)
    p.add_argument("--python-torch", help="interpreter that has PyTorch 2; without it a virtual environment is made")
    p.add_argument("--only", default="jax,torch", help="peers to run, of jax and torch; empty for none")
    p.add_argument("--isa", choices=("avx2",), help="the newest instructions that sides may use")
    args = p.parse_args()
    if args.write and (args.rows or args.quick or args.only != p.get_default("only")):
        p.error("--write takes the whole table: leave --rows, --quick and --only out")
    if args.write and args.rounds < 5:
        p.error("--write takes at least five rounds")
    session.shorten(args)
    return args


def all_sides(run, args):
    """{side: how it is run}, of the peers that were asked for; adds their versions to the result."""
    peers, log = args.only.split(","), run.log
    environment = {side: run.environment | (kept if args.isa else {}) for side, kept in sides.AVX2.items()}
    ours, versions = [str(run.programs / "rows_bench")], run.result["versions"]
    isolated = dict(environment["tessera"], TESSERA_ISOLATE="1")
    every = {"tessera": sides.Side(ours, environment["tessera"], log), "isolated": sides.Side(ours, isolated, log)}
    if "jax" in peers:
        python = sides.jax_python(args.python, session.WORK)
        every["jax"] = sides.JaxSide([python, str(sides.HERE / "jax_rows.py")], environment["jax"], log)
        versions["JAX"] = session.version(python, "jax")[0]
    if "torch" in peers:
        python = sides.torch_python(args.python_torch, session.WORK)
        program = [python, str(sides.HERE / "torch_rows.py")]
        cached = dict(environment["torch"], TORCHINDUCTOR_CACHE_DIR=str(session.WORK / "inductor"))
        every |= {side: sides.TorchSide(program, cached, log) for side in row_table.BOTH}
        versions["PyTorch"] = session.version(python, "torch")[0]
        command, why = sides.build_libtorch(python, session.WORK)
        if command:
            every["libtorch"] = sides.Side(command, environment["torch"], log)
        else:
            print(f"PyTorch from C++ is left out: {why}", file=sys.stderr)
    return every


def main():
    args = parse()
    run = session.Session("results" + (f"_{args.isa}" if args.isa else ""), args, ("rows_bench", "limits_bench"),
                          seconds=args.seconds, rows={}, isa=args.isa)
    with run:
        every = all_sides(run, args)
        try:
            for row in (r for group in row_table.GROUPS.values() for r in group):
                if not re.search(args.rows, row.name):
                    continue
                takes = {"tessera": True, "isolated": row.shares, "jax": row.jax}
                active = {n: s for n, s in every.items() if takes.get(n, n in row.torch)}
                run.result["rows"][row.name] = rounds.run_row(row, active, args)
                print(table.progress(row, run.result["rows"][row.name]), flush=True)
            if not args.rows:
                run.result["peak_bytes"] = {n: s.peak_kb() * 1024 for n, s in every.items() if n != "isolated"}
        finally:
            for side in every.values():
                side.stop()
    run.finish(table.markdown(run.result), table.page(run.result), "compare")


if __name__ == "__main__":
    main()
