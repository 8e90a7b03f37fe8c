"""Runs JAX's own Python on Tessera's plug-in and on jaxlib's CPU client, both in one process, and prints medians and ratios.

    python3 bench/compare/plugin.py    # everything, some forty minutes; makes a virtual environment with JAX, Flax and Optax
    python3 bench/compare/plugin.py --rows 'cnn|gpt' --quick --python /path/to/python/with/jax

In each round a row is timed on both platforms right after each other, the first of them in turn. A time is the median over the rounds, and
a ratio is the median of the rounds' ratios. A first call is what is left of one when JAX has traced and lowered the program, which is the
same work on both: compiling it and one step, in a fresh process. Tessera does that with an empty folder of compiled kernels and again
with what the former process left there. Results go to build/compare/plugin.json and plugin.md; `--write` also puts them into docs/jax.md
and docs/jax_speed.md, and refuses where other work keeps the machine busy.
"""

import dataclasses
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import rounds
import session
import sides
import table

PACKAGES = {"jax": ["jax==0.12.0.1"], "flax": ["flax"], "optax": ["optax"]}
DEVICES = 8
LEVEL = 0.97  # from this ratio of jaxlib's time to ours on, they count as equal

# The groups of rows: a title, what finds the names of its rows, and the goal for the ratio. A row is in the first group that finds it.
GROUPS = [
    ("Calls", r"jit_(scalar|tree|of)|eager_(?!energy)|grad_eager|device_|pmap_(plus|psum|chained)|sharded_plus", 1.0),
    ("Training steps with Flax and Optax", r"linen_|nnx_", 2.0),
    ("Training steps in plain JAX", r"mlp|cnn|gpt", 2.0),
    ("Loops", r"loop/|rnn|op/scan", 1.0),
    ("Collectives", r"(psum|all_gather|psum_scatter|all_to_all|ppermute)(/|@|_)|reshard", 1.0),
    ("Products over a mesh", r"(sharded_)?matmul_", 1.0),
    ("Products and convolutions", r"matmul/|op/(product|conv|matrix_v|vector_m|few_|many_|attention|outer|einsum|one_hot|gradients_of)", 1.0),
    ("Sorts, gathers and scatters", r"op/(sort|argsort|top_k|median|search|unique|bincount|take|set_|add_(at|rows)|segment|permutation)", 1.0),
    ("Transforms and factorisations", r"op/(r?fft|ifft|solve|cholesky|triangular|inverse|det|qr|svd|eig|expm_)", 1.0),
    ("Reductions and scans", r"op/(sum|max_(rows|columns)|arg|std|norm$|logsumexp|cum|assoc|softmax|layer|batch|cross|global|max_pool|avg)|sum", 1.0),
    ("Elementwise passes and copies", r"", 1.0),
]
# Rows that other rows show as well, or that need more devices than there are.
LEFT_OUT = r"/96|/1KB/4|/1MB/4|/16MB/|_energy/10000?@|mlp_480|cnn_96|rnn_grad_flushed|psum@|all_gather@|psum_scatter@|all_to_all@|ppermute@"
FIRST = ["jit_scalar", "linen_mlp/one", "linen_cnn/one", "linen_resnet/one", "linen_gpt/one", "nnx_gpt/one", "linen_gpt/8", "gpt_tensor/8@jit",
         "gpt_deep/one", "loop/lstm_200_gradient", "op/eigh_256"]


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    kind: str = "steady"

    def programs(self, side):
        return {"": f"{self.name}@{PLATFORMS[side]}"}


PLATFORMS = {"tessera": "tessera", "cached": "tessera", "jax": "cpu"}


class PluginSide(sides.Side):
    """One platform. Both have the same worker, whose process runs both."""

    def __init__(self, command, environment, log, workers):
        super().__init__(command, environment, log)
        self.workers = workers

    def run_once(self, row, program, timeout, **settings):
        """(wall, CPU) microseconds from the lowered program to the result, in a fresh process."""
        try:
            done = subprocess.run([*self.command, "--compile", program], env=dict(self.environment, **settings), stdout=subprocess.PIPE,
                                  stderr=self.log, timeout=timeout, text=True)
        except subprocess.TimeoutExpired:
            raise sides.Failed(f"hung (over {timeout:.0f} s)") from None
        word, _, rest = done.stdout.partition(" ")
        if word != "ok":
            raise sides.Failed(f"ended with code {done.returncode}")
        wall, cpu = rest.split()
        return float(wall), float(cpu), 0.0


def group_of(name):
    return next(title for title, finds, _ in GROUPS if re.match(finds, name))


def title(name):
    """The name as the table shows it."""
    name, _, form = name.partition("@")
    what, _, devices = name.removeprefix("op/").removeprefix("loop/").rpartition("/")
    if what and devices.isdigit() and group_of(name) not in ("Products and convolutions", "Elementwise passes and copies"):
        what += f", {devices} devices"
    elif what and devices == "one":
        pass
    else:
        what = f"{what} {devices}".strip()
    return what.replace("_", " ").replace("/", " ") + (f", {form}" if form else "")


def parse():
    p = session.parser(__doc__, 5, "JAX, Flax and Optax")
    session.add_timing(p)
    p.add_argument("--no-first", action="store_true", help="leave first calls and the start out")
    args = p.parse_args()
    session.shorten(args)
    return args


def first_calls(name, active, args, log):
    """Microseconds of first calls: {side: {"rounds": ...}}, the side `cached` after `tessera` with its folder of kernels."""
    result = {side: {"rounds": []} for side in active}
    for i in range(max(1, args.rounds // 2)):
        with tempfile.TemporaryDirectory() as cache:
            here = {"TESSERA_CACHE": "on", "TESSERA_CACHE_DIR": cache}
            order = ["tessera", "cached", "jax"] if i % 2 == 0 else ["jax", "tessera", "cached"]
            for side in order:
                if "error" in result[side]:
                    continue
                try:
                    row = Row(name, "first")
                    result[side]["rounds"].append(active[side].run_once(row, row.programs(side)[""], 3 * args.timeout, **here)[:2])
                except sides.Failed as e:
                    result[side] = {"error": str(e)}
    return finish(result)


def starts(python, environment, args):
    """Microseconds of a process that imports JAX and asks for its devices, on either platform."""
    result = {side: {"rounds": []} for side in ("tessera", "jax")}
    for i in range(4 * args.rounds):
        for side in (("tessera", "jax") if i % 2 == 0 else ("jax", "tessera")):
            here = dict(environment, JAX_PLATFORMS="tessera,cpu" if side == "tessera" else "cpu")
            start = time.perf_counter()
            subprocess.run([python, "-c", "import jax; jax.devices()"], env=here, check=True)
            result[side]["rounds"].append(((time.perf_counter() - start) * 1e6,))
    return finish(result)


def finish(result):
    """Adds medians and, to every side but ours, the median ratio of the rounds."""
    for side in result.values():
        if side.get("rounds"):
            side["median"] = rounds.median(side["rounds"])
    mine = result["tessera"].get("rounds", [])
    for name, side in result.items():
        if name != "tessera" and mine and side.get("rounds"):
            side["ratio"] = statistics.median(t[0] / m[0] for t, m in zip(side["rounds"], mine))
            if len(mine[0]) > 1:
                side["cpu_ratio"] = statistics.median(t[1] / max(m[1], 1e-3) for t, m in zip(side["rounds"], mine))
    return result


def environment_of(build):
    """Without a disk cache of kernels, and with our package as the build has it."""
    here = sides.clean_environment()
    path = [str(build / "python"), *filter(None, [here.get("PYTHONPATH")])]
    return dict(here, JAX_PLATFORMS="tessera,cpu", JAX_NUM_CPU_DEVICES=str(DEVICES), PYTHONPATH=":".join(path))


# --- the text
def lines_of(names, results):
    lines = ["| row | Tessera | jaxlib | jaxlib / Tessera |", "|---|---:|---:|---:|"]
    for name in names:
        ours, theirs = results[name]["tessera"], results[name]["jax"]
        cells = [table.cell(Row(name), side) for side in (ours, theirs)]
        lines.append(f"| {title(name)} | {' | '.join(cells)} | {table.ratio(theirs, LEVEL)} |")
    return lines


def members(results):
    """{title of a group: names of its rows}"""
    groups = {title: [] for title, _, _ in GROUPS}
    for name in results:
        groups[group_of(name)].append(name)
    return {title: names for title, names in groups.items() if names}


def heading(result):
    cpu = result["cpu"]
    lines = [f"Measured on {result['date']} with {', '.join(f'{k} {v}' for k, v in result['versions'].items())}: {result['rounds']} rounds of "
             f"{result['seconds']} s a platform and row, medians. The machine: {cpu['cores']} cores, {cpu['model']} "
             f"({', '.join(cpu['flags'])}); other work took {100 * result['others']:.0f} % of them.", ""]
    if result["others"] > 0.1:
        lines[:0] = ["**The machine was shared with other work**, so times say little and single ratios may be off by a tenth.", ""]
    return lines


def summary(result):
    """The table of docs/jax.md: each group in a line, and the rows behind."""
    results = result["rows"]
    lines = heading(result) + ["| programs | rows | jaxlib / Tessera, geometric mean | least | rows behind |", "|---|---:|---:|---:|---|"]
    for group, names in members(results).items():
        ratios = {n: results[n]["jax"]["ratio"] for n in names if "ratio" in results[n]["jax"]}
        if not ratios:
            continue
        behind = sorted((n for n in ratios if ratios[n] < LEVEL), key=ratios.get)
        lines.append(f"| {group} | {len(ratios)} | {table.factor(statistics.geometric_mean(ratios.values()))} | {table.factor(min(ratios.values()))} | "
                     + ", ".join(f"{title(n)} ({table.factor(ratios[n])})" for n in behind) + " |")
    if result["first"]:
        lines += ["", "| first call, without tracing | Tessera | Tessera, kernels on disk | jaxlib | jaxlib / Tessera | jaxlib / Tessera, kernels on disk |",
                  "|---|---:|---:|---:|---:|---:|"]
        for name, row in result["first"].items():
            again = ""
            if "median" in row["jax"] and "median" in row["cached"]:
                again = table.factor(statistics.median(j[0] / c[0] for j, c in zip(row["jax"]["rounds"], row["cached"]["rounds"])))
            cells = [table.cell(Row(name, "first"), row[side]) for side in ("tessera", "cached", "jax")]
            lines.append(f"| {title(name)} | {' | '.join(cells)} | {table.ratio(row['jax'])} | {again} |")
    if result["start"]:
        ours, theirs = (table.cell(Row("start", "start"), result["start"][side]) for side in ("tessera", "jax"))
        lines += ["", f"A process that imports JAX and asks for its devices takes {ours} with Tessera and {theirs} with jaxlib's client alone."]
    return "\n".join(lines) + "\n"


def everything(result):
    lines = heading(result)
    for group, names in members(result["rows"]).items():
        lines += [f"## {group}", "", *lines_of(names, result["rows"]), ""]
    return "\n".join(lines)


def main():
    args = parse()
    build = args.build.resolve()
    if not args.no_build:
        sides.build_ours(build, True, ("tessera_pjrt",))
    python = sides.python_with(PACKAGES, args.python, session.WORK / "venv_plugin")
    run = session.Session("plugin", args, None, seconds=args.seconds, rows={}, first={}, start={})
    with run:
        environment = environment_of(build)
        command, workers = [python, str(sides.HERE / "plugin_rows.py")], {}
        every = {side: PluginSide(command, environment, run.log, workers) for side in PLATFORMS}
        run.result["versions"] = {m: session.version(python, m)[0] for m in PACKAGES}
        names = subprocess.run([*command, "--list"], env=environment, capture_output=True, text=True, check=True).stdout.split()
        try:
            for name in names:
                if re.search(args.rows, name) and not re.search(LEFT_OUT, name):
                    row = Row(name)
                    run.result["rows"][name] = rounds.run_row(row, {side: every[side] for side in ("tessera", "jax")}, args)
                    print(table.progress(row, run.result["rows"][name]), flush=True)
        finally:
            for side in every.values():
                side.stop()
        if not args.no_first:
            for name in FIRST:
                if re.search(args.rows, name):
                    run.result["first"][name] = first_calls(name, every, args, run.log)
                    print("first call of", table.progress(Row(name, "first"), run.result["first"][name]), flush=True)
            if not args.rows:
                run.result["start"] = starts(python, environment, args)
    text = summary(run.result)
    run.finish(text, "jax.md", "jax")
    if args.write:
        table.write_into(sides.ROOT / "docs/jax_speed.md", everything(run.result), "jax")
    (session.WORK / "plugin_rows.md").write_text(everything(run.result))


if __name__ == "__main__":
    main()
