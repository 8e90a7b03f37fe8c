"""Writes the measurements of the models as text: a line a row while they run, and the tables of docs/models.md."""

import statistics
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "compare"))

import limits as peaks  # noqa: E402
import table  # noqa: E402
import work  # noqa: E402

SIDES = {"tessera": "Tessera", "jax": "JAX", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "eager": "PyTorch, eager",
         "compiled": "torch.compile", "iree": "IREE"}
LIBRARIES = {"jax": "JAX", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "torch": "PyTorch", "iree": "IREE"}
# How errors begin that this comparison states itself.
OUR_REASONS = ("values differ", "hung", "no ")
KINDS = {"{}/1": ("Latency of batch 1", "steady"), "{}/8": ("Time of batch 8", "steady"),
         "first:{}": ("First call in a fresh process, batch 1", "first"), "peak:{}": ("Peak memory of five calls, batch 1", "peak")}


def cell(side, kind):
    """The time of a side, and how many times as long as ours it is."""
    if side is None:
        return ""
    if "median" not in side:
        # A library's own error is for the log: models.py prints it while it measures.
        text = side.get("error", "").partition(":")[0]
        return text if text.startswith(OUR_REASONS) else "fails"
    text = table.amount(side["median"], kind)
    return f"{text} ({table.ratio(side, table.LEVEL)})" if "ratio" in side else text


def progress(row, result):
    return f"{row.name:20s} " + "; ".join(f"{n} {side.get('error') or cell(side, row.kind)}" for n, side in result.items())


def least(facts, limits):
    """The microseconds that the machine needs at least: for the arithmetic at its peak, or for the bytes at memory's speed."""
    return peaks.microseconds(work.Work(facts["flops"], facts["read"], facts["written"], facts["unit"]), limits)


def limit(facts, limits, side):
    time = least(facts, limits)
    return table.amount(time, "steady") + (f" ({100 * time / side['median']:.0f} %)" if "median" in side else "")


def markdown(result):
    lines = table.heading(result)
    if result["isa"]:
        lines += ["", table.kept_to(result)]
    shown = [s for s in SIDES if any(s in r for r in result["rows"].values())]
    for name, (title, kind) in KINDS.items():
        rows = [(m, result["rows"][name.format(m)]) for m in result["models"] if name.format(m) in result["rows"]]
        if rows:
            limited = ["limit (reached)"] if kind == "steady" else []
            lines += ["", f"### {title}", "", "| model | " + " | ".join([SIDES[s] for s in shown] + limited) + " |",
                      "|---|" + "---:|" * (len(shown) + len(limited))]
            for model, row in rows:
                facts = result["models"][model]
                cells = [facts["title"]] + [cell(row.get(s), kind) for s in shown]
                cells += [limit(facts[int(name[-1])], result["limits"], row["tessera"])] if limited else []
                lines.append("| " + " | ".join(cells) + " |")
            lines += means([row for _, row in rows], shown)
    return "\n".join(lines) + "\n"


def means(rows, shown):
    """The geometric mean of each peer's ratios, over the rows that it ran."""
    texts = []
    for side in shown[1:]:
        ratios = [r[side]["ratio"] for r in rows if "ratio" in r.get(side, {})]
        if ratios:
            texts.append(f"{SIDES[side]} {table.factor(statistics.geometric_mean(ratios))} over {len(ratios)}")
    return ["", "Geometric means of the ratios: " + ", ".join(texts) + "."] if texts else []
