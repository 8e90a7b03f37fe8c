"""Runs the suite of models in Tessera, JAX, PyTorch, ONNX Runtime, OpenVINO and IREE, in alternation, and prints medians and ratios.

    python3 bench/models/models.py --python PATH    # an interpreter that has JAX, and of the peers those that are there
    python3 bench/models/models.py --tiny --sides tessera    # do all models load, run and give JAX's values? some seconds
    python3 bench/models/models.py --rows 'bert|gpt2' --quick --sides tessera,onnxruntime

Modules, weights and results are written below build/models once. A side whose values differ from JAX's is reported and not timed. Every
round of a row times all sides right after each other; a ratio is the median over the rounds of that round's ratio. `--write` puts the tables
and the picture into docs/models.md; it takes at least five rounds, and refuses where other work keeps the machine busy. `--isa avx2` keeps
those sides that can be kept from it from using AVX-512, and writes a table of its own.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "compare"))

import picture  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402
import session  # noqa: E402
import sides  # noqa: E402

FOLDER = sides.ROOT / "build/models"
NEEDED = {"jax": "jax", "onnxruntime": "onnxruntime", "openvino": "openvino", "eager": "torch", "compiled": "torch", "iree": "iree.compiler"}
THREADS = 2
# How each side is kept to AVX2; ONNX Runtime and IREE choose instructions in other ways, or not at all.
AVX2 = {"tessera": sides.AVX2["tessera"], "jax": sides.AVX2["jax"], "openvino": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
        "eager": sides.AVX2["torch"], "compiled": sides.AVX2["torch"]}


@dataclass(frozen=True)
class Row:
    """A model at a batch, as rounds.py wants it: "steady" calls, the "first" of a process, or the "peak" of its memory."""

    model: str
    batch: int
    kind: str = "steady"

    @property
    def name(self):
        return f"{self.model}/{self.batch}" if self.kind == "steady" else f"{self.kind}:{self.model}"

    def programs(self, _):
        return {"": f"{self.model}/{self.batch}"}


def parse():
    p = session.parser(__doc__, 5, "JAX, and the other libraries as far as they are wanted")
    session.add_timing(p)
    p.set_defaults(seconds=0.5, timeout=300)
    p.add_argument("--sides", default="tessera," + ",".join(NEEDED), help="sides to run")
    p.add_argument("--tiny", action="store_true", help="small sizes, which are only compared and not timed for long")
    p.add_argument("--isa", choices=("avx2",), help="the newest instructions that sides may use")
    args = p.parse_args()
    if args.write and (args.rows or args.quick or args.tiny or args.rounds < 5 or args.sides != p.get_default("sides")):
        p.error("--write takes all rows and sides in at least five rounds")
    if args.tiny:
        args.rounds, args.seconds = 1, 0.01
    session.shorten(args)
    return args


def in_folder(python, code):
    """What a Python program of this folder prints."""
    return sides.run([python, "-c", code], env=dict(os.environ, PYTHONPATH=str(HERE), JAX_PLATFORMS="cpu"))


def missing(python):
    """Why a side cannot run, for those whose package the interpreter lacks."""
    found = {m: not subprocess.run([python, "-c", f"import {m}"], capture_output=True).returncode for m in set(NEEDED.values()) | {"onnxscript"}}
    needs = {side: [m] for side, m in NEEDED.items()}
    for side in ("onnxruntime", "openvino"):
        needs[side] += ["torch", "onnxscript"]
    return {side: " and ".join(m for m in modules if not found[m]) for side, modules in needs.items() if not all(found[m] for m in modules)}


def all_sides(run, args, root, python):
    asked, result = sorted(args.sides.split(","), key=lambda side: side != "tessera"), {}
    lacking = missing(python)
    for side in asked:
        environment = dict(run.environment)
        if args.isa and side not in AVX2:
            print(f"{side} is left out: it cannot be kept to {args.isa}", file=sys.stderr)
        elif side in lacking:
            print(f"{side} is left out: the interpreter has no {lacking[side]}", file=sys.stderr)
        else:
            environment |= AVX2[side] if args.isa else {}
            command = [str(run.programs / "models_bench"), str(root)] if side == "tessera" else [python, str(HERE / "peers.py"), side, str(root)]
            result[side] = (sides.TorchSide if side == "compiled" else sides.Side)(command, environment, run.log)
            if side != "tessera":
                module = NEEDED[side].partition(".")[0]
                package = {"iree": "iree-base-compiler"}.get(module, module)
                run.result["versions"][report.LIBRARIES[module]] = sides.run(
                    [python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))"]).strip()
    return result


def prepare(args, root, python, names, files):
    """Exports what is missing; ONNX files by a program that has PyTorch, as only this one is needed for the modules."""
    in_folder(python, f"import pathlib, suite, export\nfor m in {names}:\n  for b in suite.BATCHES:\n"
              f"    export.write(pathlib.Path({str(root)!r}), suite.MODELS[m], b, {args.tiny})")
    for name in names if files else ():
        for batch in (1, 8):
            subprocess.run([python, HERE / "peers.py", "eager", root, "--prepare", f"{name}/{batch}"], capture_output=True, check=False)


def main():
    args = parse()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    python, root = str(args.python or sys.executable), FOLDER / ("tiny" if args.tiny else "full")
    titles = json.loads(in_folder(python, "import json, suite; print(json.dumps({n: m.title for n, m in suite.MODELS.items()}))"))
    names = [n for n in titles if re.search(args.rows, n)]
    run = session.Session("models" + (f"_{args.isa}" if args.isa else ""), args, ("models_bench", "limits_bench"),
                          seconds=args.seconds, rows={}, isa=args.isa, models={})
    with run:
        active = all_sides(run, args, root, python)
        prepare(args, root, python, names, {"onnxruntime", "openvino"} & set(active))
        try:
            for model in names:
                run.result["models"][model] = {"title": titles[model]} | {b: facts(root, model, b) for b in (1, 8)}
                kinds = [Row(model, 1), Row(model, 8)] + ([] if args.tiny or args.quick else [Row(model, 1, "first"), Row(model, 1, "peak")])
                for row in kinds:
                    run.result["rows"][row.name] = rounds.run_row(row, active, args)
                    print(report.progress(row, run.result["rows"][row.name]), flush=True)
                for side in active.values():
                    side.stop()  # so that no side holds the memory of a model that is over
        finally:
            for side in active.values():
                side.stop()
    if args.write:
        (sides.ROOT / "docs/images/models.svg").write_text(picture.roofline(run.result))
    run.finish(report.markdown(run.result), "models.md", "models" + (f" {args.isa}" if args.isa else ""))
    if any("median" not in r["tessera"] for r in run.result["rows"].values() if "tessera" in r):
        sys.exit("error: Tessera did not run every row")


def facts(root, model, batch):
    """The work of a call: flops, bytes read and written, weights."""
    all_facts = json.loads((root / model / str(batch) / "facts.json").read_text())
    return {k: v for k, v in all_facts.items() if k != "specs"}


if __name__ == "__main__":
    main()
