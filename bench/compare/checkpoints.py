"""Checkpoints of a state over 8 devices: Tessera's beside Orbax's, the fastest of its forms of files.

    python3 bench/compare/checkpoints.py --folder /mnt/disk          # 1 GiB in 16 arrays
    python3 bench/compare/checkpoints.py --mib 64 --python /path/to/python/with/jax/and/orbax

Both sides run whole programs in turn, five measurements of each kind in each; a time is the median over the programs of these medians.
Files are read from the page cache. Results go to build/compare/checkpoints.json and checkpoints.md; `--write` also puts them into
docs/performance.md, on a quiet machine only.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

import compare
import machine
import sides
import table

KINDS = {
    "save": "save",
    "save_async, to its return": "an asynchronous save stops the program for",
    "save_async, with a step": "... and is there, with a step of the program, after",
    "restore": "restore",
}


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--folder", type=pathlib.Path, help="where the files go; build/compare without it")
    p.add_argument("--mib", type=int, default=1024)
    p.add_argument("--arrays", type=int, default=16)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--python", help="interpreter that has JAX and Orbax; without it a virtual environment is made")
    p.add_argument("--build", type=pathlib.Path, default=sides.ROOT / "build/release", help="build folder of Tessera")
    p.add_argument("--no-build", action="store_true", help="take the programs of the build folder as they are")
    p.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    args = p.parse_args()
    if args.write and (args.mib, args.arrays) != (1024, 16) or args.write and args.rounds < 3:
        p.error("--write takes 1 GiB in 16 arrays, in at least three rounds")
    return args


def measured(command, environment, log):
    """{form: {kind: seconds}} of one run."""
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, check=True, timeout=1800)
    forms = {}
    for line in done.stdout.splitlines():
        match = re.match(r"(?:(.*): )?([a-z_, ]+?)\s+([0-9.]+) s\b", line)
        if match and match[2] in KINDS:
            forms.setdefault(match[1] or "", {})[match[2]] = float(match[3])
    return forms


def markdown(result):
    lines = table.heading(result)
    lines[0] = re.sub(r": \d+ rounds.*?, in", f": {result['rounds']} programs a side in turn, medians, in", lines[0])
    lines += ["", f"{result['mib']} MiB in {result['arrays']} arrays cut over 8 devices, one process; Orbax {result['versions']['Orbax']}.", ""]
    lines += ["| | Tessera | Orbax | its form | Orbax / Tessera |", "|---|---:|---:|---|---:|"]
    for kind, title in KINDS.items():
        ours = result["tessera"][""][kind]
        form = min(result["orbax"], key=lambda f: result["orbax"][f][kind])
        theirs = result["orbax"][form][kind]
        rate = "" if "async" in kind else f" ({result['mib'] / ours:.0f} MiB/s)"
        ratio = table.factor(theirs / ours)
        lines.append(f"| {title} | {table.amount(1e6 * ours, 'steady')}{rate} | {table.amount(1e6 * theirs, 'steady')} | {form} | "
                     f"{ratio if theirs >= ours else f'**{ratio}**'} |")
    stop = result["tessera"][""]["save_async, to its return"] / result["tessera"][""]["save"]
    lines += ["", f"The program is stopped for {100 * stop:.2g} % of the time of a save."]
    return "\n".join(lines) + "\n"


def main():
    args = parse()
    work = sides.ROOT / "build/compare"
    work.mkdir(parents=True, exist_ok=True)
    folder = (args.folder or work).resolve()
    programs = sides.build_ours(args.build.resolve(), not args.no_build, ("checkpoint_bench", "limits_bench"))
    python = str(sides.jax_python(args.python, work))
    if subprocess.run([python, "-c", "import orbax.checkpoint"], capture_output=True).returncode:
        sides.run([python, "-m", "pip", "install", "--quiet", "orbax-checkpoint"])
    before = machine.others_now()
    if args.write:
        compare.refuse_where_busy(before, "now")
    version = "import jax, orbax.checkpoint as o; print(jax.__version__, o.__version__)"
    jax, orbax = sides.run([python, "-c", version]).split()
    result = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "cpu": machine.cpu(), "rounds": args.rounds, "seconds": 5,
              "mib": args.mib, "arrays": args.arrays, "versions": {"JAX": jax, "Orbax": orbax}, "limits": compare.limits(programs)}
    environment = sides.clean_environment()
    size = [str(args.mib), str(args.arrays)]
    commands = {"tessera": [str(programs / "checkpoint_bench"), str(folder), *size],
                "orbax": [python, str(sides.HERE / "jax_checkpoints.py"), str(folder), *size]}
    runs = {side: [] for side in commands}
    start, others = time.monotonic(), machine.Others()
    with open(work / "checkpoints.log", "w", encoding="utf-8") as log:
        for _ in range(args.rounds):
            for side, command in commands.items():
                own = {**environment, "TESSERA_DEVICES": "8"} if side == "tessera" else environment
                runs[side].append(measured(command, own, log))
                print(side, json.dumps(runs[side][-1]), flush=True)
    result["minutes"] = (time.monotonic() - start) / 60
    result["others"] = max(before, others.share())
    for side, all_runs in runs.items():
        result[side] = {form: {kind: statistics.median(r[form][kind] for r in all_runs) for kind in KINDS} for form in all_runs[0]}
    text = markdown(result)
    (work / "checkpoints.json").write_text(json.dumps(result, indent=1) + "\n")
    (work / "checkpoints.md").write_text(text)
    print("\n" + text)
    if args.write:
        compare.refuse_where_busy(result["others"], "meanwhile")
        table.write_into(sides.ROOT / "docs/performance.md", text, "checkpoints")


if __name__ == "__main__":
    sys.exit(main())
