"""Rows over devices of several processes: Tessera's, joined by a launcher, beside JAX's, joined by jax.distributed and Gloo, and beside
Tessera in one process with as many devices.

    python3 bench/compare/processes.py                    # two processes with two devices each
    python3 bench/compare/processes.py --rows psum --quick --python /path/to/python/with/jax

Every round of a row times all sides right after each other, a call as process 0 sees it, while all processes make as many. JAX's rows
have two forms (`jit` with arguments sharded by NamedSharding, and `shard_map`), each with processes that may run on all cores and with
processes that have cores of their own: the fastest counts. A start is from the launch to the first sum of 1 KB a device. Results go to
build/compare/processes.json and processes.md. `--write` also puts them into docs/performance.md, on a quiet machine only.
"""

import re
import shutil
from dataclasses import dataclass

import process_sides
import rounds
import session
import sides
import table


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    alone: float = 0.0  # the most that a call may take, as a multiple of one process with all devices; 0: no goal
    kind: str = "steady"
    goal: float = 1.0  # the goal for the ratio of JAX's time to ours

    def programs(self, side):
        """{form: the row as a side's program knows it}"""
        program = self.name.removeprefix("start:")
        if side != "jax":
            return {"": program}
        forms = ("jit", "shard_map") if self.kind == "steady" else ("shard_map",)
        return {form + cores: f"{program}@{form}{cores}" for form in forms for cores in ("", BOUND)}


BOUND = ", own cores"


def rows(devices):
    for collective in ("psum", "all_gather", "psum_scatter", "all_to_all", "ppermute"):
        for size, title in (("1KB", "1 KB"), ("1MB", "1 MB"), ("16MB", "16 MB")):
            name = "ppermute of x + 1" if collective == "ppermute" else collective
            yield Row(f"{collective}/{size}/{devices}", f"{name}, {title} a device", 2.0 if (collective, size) == ("psum", "16MB") else 0.0)
    yield Row(f"cnn/{devices}", "CNN, a step", 1.15)
    yield Row(f"gpt/{devices}", "GPT, a step", 1.15)
    yield Row(f"start:psum/1KB/{devices}", "start to the first sum", kind="start")


class Side:
    """What rounds.run_row times, by groups of processes of which one runs whatever names it at its end."""

    def __init__(self, groups):
        self.groups = groups

    def group(self, program):
        ending = next(e for e in sorted(self.groups, reverse=True) if program.endswith(e))
        return self.groups[ending], program.removesuffix(ending)

    def time(self, _, program, seconds, timeout):
        group, program = self.group(program)
        return group.ask(program, seconds, timeout)

    def run_once(self, _, program, timeout):
        group, program = self.group(program)
        group.stop()
        return *group.first(program, timeout), 0

    def stop(self):
        for group in self.groups.values():
            group.stop()


def over(result):
    """The ratio of our time to that of one process with all devices."""
    return 1 / result["alone"]["ratio"] if "ratio" in result["alone"] else None


def markdown(result, every):
    cpu = table.shared(result)
    place = f"{result['processes']} x {result['devices'] // result['processes']}"
    names = ["row", f"Tessera, {place}", f"over 1 x {result['devices']}", f"JAX, {place}", "JAX / Tessera"]
    names += ["CPU of process 0: JAX / Tessera"] * cpu
    lines = table.heading(result) + ["", "| " + " | ".join(names) + " |", "|---|" + "---:|" * (len(names) - 1)]
    for row in every:
        if row.name not in result["rows"]:
            continue
        of_row = result["rows"][row.name]
        ours, jax, factor = of_row["tessera"], of_row["jax"], over(of_row)
        text = table.factor(factor) if factor else ""
        if row.alone and factor and factor > row.alone:
            text = f"**{text}**"
        cells = [row.title, table.cell(row, ours), text, table.cell(row, jax), table.ratio(jax, row.goal)]
        cells += [table.factor(jax["cpu_ratio"]) if "cpu_ratio" in jax else ""] * cpu
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def parse():
    p = session.parser(__doc__, 5, "JAX")
    session.add_timing(p)
    p.add_argument("--processes", type=int, default=2)
    p.add_argument("--devices", type=int, default=4, choices=(4, 8), help="of all processes together")
    args = p.parse_args()
    if args.devices % args.processes:
        p.error(f"{args.processes} processes do not have equal shares of {args.devices} devices")
    if args.write and (args.rows or args.quick or args.rounds < 5 or (args.processes, args.devices) != (2, 4)):
        p.error("--write takes the whole table, of two processes with two devices each, in at least five rounds")
    if not shutil.which("mpirun"):
        p.error("mpirun is not installed (Debian: openmpi-bin, libopenmpi-dev)")
    session.shorten(args)
    return args


def all_sides(args, run, python):
    environment, log = run.environment, run.log
    ours = [str(run.programs / "rows_bench"), "--devices", str(args.devices)]
    jax = [python, str(sides.HERE / "jax_processes.py")]
    groups = {"": process_sides.JaxGroup(args.processes, args.devices, jax, environment, log)}
    if cores := process_sides.shares_of_cores(args.processes):
        groups[BOUND] = process_sides.JaxGroup(args.processes, args.devices, jax, environment, log, cores)
    return {"tessera": Side({"": process_sides.Launched(args.processes, ours, environment, log)}),
            "alone": Side({"": process_sides.Alone(ours, environment, log)}), "jax": Side(groups)}


def main():
    args = parse()
    python = sides.jax_python(args.python, session.WORK)
    run = session.Session("processes", args, ("rows_bench", "limits_bench", "tessera_mpi"), seconds=args.seconds,
                          processes=args.processes, devices=args.devices, rows={})
    run.result["versions"]["JAX"] = session.version(python, "jax")[0]
    every = [row for row in rows(args.devices) if re.search(args.rows, row.name)]
    with run:
        active = all_sides(args, run, python)
        try:
            for row in every:
                run.result["rows"][row.name] = of_row = rounds.run_row(row, active, args)
                print(table.progress(row, of_row), flush=True)
        finally:
            for side in active.values():
                side.stop()
    run.finish(markdown(run.result, every), "performance.md", "processes")


if __name__ == "__main__":
    main()
