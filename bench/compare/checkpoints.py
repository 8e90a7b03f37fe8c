"""Checkpoints of a state over 8 devices: Tessera's beside Orbax's, the fastest of its forms of files.

    python3 bench/compare/checkpoints.py --folder /mnt/disk          # 1 GiB in 16 arrays; in one process, and in two
    python3 bench/compare/checkpoints.py --processes 2               # in two processes alone
    python3 bench/compare/checkpoints.py --mib 64 --python /path/to/python/with/jax/and/orbax

Both sides run whole programs in turn, five measurements of each kind in each; a time is the median over the programs of these medians.
Several processes share the devices, Tessera's joined by a launcher and JAX's by jax.distributed and Gloo; times are as process 0 sees them.
Files are read from the page cache. Results go to build/compare/checkpoints.json and checkpoints.md; `--write` also puts them into
docs/performance.md, on a quiet machine only.
"""

import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import process_sides
import session
import sides
import table

DEVICES = 8
KINDS = {
    "save": "save",
    "save_async, to its return": "an asynchronous save stops the program for",
    "save_async, with a step": "... and is there, with a step of the program, after",
    "restore": "restore",
}


def parse():
    p = session.parser(__doc__, 3, "JAX and Orbax")
    p.add_argument("--folder", type=pathlib.Path, help="where the files go; build/compare without it")
    p.add_argument("--mib", type=int, default=1024)
    p.add_argument("--arrays", type=int, default=16)
    p.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="numbers of processes, each of which is measured")
    args = p.parse_args()
    if args.write and ((args.mib, args.arrays, args.processes) != (1024, 16, [1, 2]) or args.rounds < 3):
        p.error("--write takes 1 GiB in 16 arrays, one process and two, in at least three rounds")
    if any(n < 1 or DEVICES % n for n in args.processes):
        p.error(f"{DEVICES} devices have no equal shares for {' and '.join(map(str, args.processes))} processes")
    if max(args.processes) > 1 and not shutil.which("mpirun"):
        p.error("mpirun is not installed (Debian: openmpi-bin, libopenmpi-dev); --processes 1 does without")
    return args


def measured(group, arguments):
    """{form: {kind: seconds}} of one run of a program."""
    group.launch(arguments)
    lines, last = [], time.monotonic() + 1800
    try:
        while line := group.read_line(last):
            lines.append(line.decode())
        code = group.process.wait(60)
    finally:
        group.stop()
    forms = {}
    for line in lines:
        match = re.match(r"(?:(.*): )?([a-z_, ]+?)\s+([0-9.]+) s\b", line)
        if match and match[2] in KINDS:
            forms.setdefault(match[1] or "", {})[match[2]] = float(match[3])
    if code or not forms or any(set(f) != set(KINDS) for f in forms.values()):
        sys.exit(f"error: {' '.join(group.command)} ended with code {code} (the log is build/compare/checkpoints.log):\n{''.join(lines)}")
    return forms


def groups(processes, programs, python, environment, log):
    """How a program of each side is started."""
    ours, jax = [str(programs / "checkpoint_bench")], [python, str(sides.HERE / "jax_checkpoints.py")]
    own = dict(environment, TESSERA_DEVICES=str(DEVICES))
    if processes == 1:
        return {"tessera": process_sides.Alone(ours, own, log), "orbax": process_sides.Alone(jax, environment, log)}
    return {"tessera": process_sides.Launched(processes, ours, own, log),
            "orbax": process_sides.JaxGroup(processes, DEVICES, [*jax, "--join"], environment, log)}


def markdown(result):
    lines = table.heading(result)
    lines[0] = re.sub(r": \d+ rounds.*?, in", f": {result['rounds']} programs a side in turn, medians, in", lines[0])
    lines += ["", f"{result['mib']} MiB in {result['arrays']} arrays cut over {DEVICES} devices; Orbax {result['versions']['Orbax']}.", ""]
    lines += ["| | processes | Tessera | Orbax | its form | Orbax / Tessera |", "|---|---:|---:|---:|---|---:|"]
    stops = []
    for processes, of_sides in result["processes"].items():
        ours = of_sides["tessera"][""]
        for kind, title in KINDS.items():
            form = min(of_sides["orbax"], key=lambda f: of_sides["orbax"][f][kind])
            theirs = of_sides["orbax"][form][kind]
            rate = "" if "async" in kind else f" ({result['mib'] / ours[kind]:.0f} MiB/s)"
            ratio = table.factor(theirs / ours[kind])
            cells = [title, processes, table.amount(1e6 * ours[kind], "steady") + rate, table.amount(1e6 * theirs, "steady"), form,
                     ratio if theirs >= ours[kind] else f"**{ratio}**"]
            lines.append("| " + " | ".join(cells) + " |")
        share = 100 * ours["save_async, to its return"] / ours["save"]
        stops.append(f"{share:.2g} % of the time of a save with {processes} process{'es' * (processes != '1')}")
    lines += ["", f"The program is stopped for {' and '.join(stops)}."]
    return "\n".join(lines) + "\n"


def main():
    args = parse()
    python = sides.jax_python(args.python, session.WORK)
    if subprocess.run([python, "-c", "import orbax.checkpoint"], capture_output=True).returncode:
        sides.run([python, "-m", "pip", "install", "--quiet", "orbax-checkpoint"])
    targets = ["checkpoint_bench", "limits_bench"] + ["tessera_mpi"] * (max(args.processes) > 1)
    run = session.Session("checkpoints", args, targets, seconds=5, mib=args.mib, arrays=args.arrays, processes={})
    run.result["versions"] = dict(zip(("JAX", "Orbax"), session.version(python, "jax", "orbax.checkpoint")))
    arguments = [str((args.folder or session.WORK).resolve()), str(args.mib), str(args.arrays)]
    with run:
        for processes in args.processes:
            runs = {}
            for _ in range(args.rounds):
                for side, group in groups(processes, run.programs, python, run.environment, run.log).items():
                    runs.setdefault(side, []).append(measured(group, arguments))
                    print(processes, side, json.dumps(runs[side][-1]), flush=True)
            run.result["processes"][str(processes)] = {
                side: {form: {kind: statistics.median(r[form][kind] for r in all_runs) for kind in KINDS} for form in all_runs[0]}
                for side, all_runs in runs.items()}
    run.finish(markdown(run.result), "performance.md", "checkpoints")


if __name__ == "__main__":
    main()
