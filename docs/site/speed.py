"""Writes docs/speed.md and its charts from the measured tables of docs: speed.py ROOT [--check | --plant].

The page is speed.md.in with figures in the place of {names} and tables in the place of lines "@name". Nothing is measured here. With --check, the
page and the charts are compared with what the tables give; --plant changes figures of the tables, which must change the page."""
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "bench/compare"))
import measured
import rows as row_table
import speed_charts as charts
import work
from drawing import both

PLAIN = {"Calls": "small calls", "Training steps with Flax and Optax": "steps with Flax and Optax", "Training steps in plain JAX": "steps in plain JAX",
         "Elementwise passes and copies": "elementwise passes", "Transforms and factorisations": "factorisations", "Array programs": "arrays and products", "Functions of 2 M elements": "elementwise functions",
         "Operations alone": "single operations", "Collectives, 4 devices": "exchanges between devices", "Whole arrays over a mesh": "sharded arrays",
         "Training": "training steps and first calls", "Processes": "exported models and starts"}
# The programs of the chart of bars: (section, row, what it is in plain words).
TASKS = [("Calls", "jit of one scalar op", "a compiled call on one number"), ("Array programs", "v * 3 + w, 16 M", "v * 3 + w on 16 million numbers"),
         ("Operations alone", "sort rows", "sorting rows of 2 million numbers"), ("Array programs", "matmul 1024", "a product of 1024 x 1024 matrices"),
         ("Training", "CNN, one device", "a training step of a CNN, 128 images"), ("Training", "CNN, 8 devices", "the same step on 8 virtual devices"),
         ("Training", "GPT, one device", "a training step of a small GPT"), ("Training", "GPT first call, one device", "its first step, which compiles it"),
         ("Processes", "peak memory, five GPT steps, one device", "memory of five such steps")]
# The rows of the chart of shares, by what limits them most.
SHARES = [("products of matrices", "Array programs", ["matmul 256", "matmul 512", "matmul 1024", "matmul 2048"]),
          ("other products and convolutions", "Operations alone",
           ["product bfloat16", "attention scores", "conv 3x3", "conv 1x1", "conv 3x3 strided", "conv depthwise", "cholesky"]),
          ("passes over memory", "Operations alone", ["sum rows", "sum columns", "where", "concatenate", "batch norm", "cumsum rows"]),
          ("training steps", "Training", ["MLP, one device", "CNN, one device", "GPT, one device"])]
LEVEL = 0.97  # a library that takes less of our time than this is faster; more is within what repeated measurements differ by


planted = {}  # texts that stand for those of documents, to test the check


def read(name):
    return planted.get(name) or (root / "docs" / name).read_text()


def torch_best(row):
    """The cell of the fastest form of PyTorch."""
    cells = [c for c in (row.get(n, "") for n in ("PyTorch, eager", "torch.compile", "PyTorch from C++")) if measured.amount(c)]
    return min(cells, key=measured.amount, default="")


def ratios(row):
    """{"JAX": ratio, "PyTorch": ratio} of a row, as far as it has them."""
    found = {p: measured.ratio(row.get(f"{p} / Tessera")) for p in ("JAX", "PyTorch")}
    return {p: r for p, r in found.items() if r}


def every_ratio(sections):
    return [(heading, row["row"], peer, r) for heading, rows in sections.items() for row in rows
            if "row" in row and not row["row"].startswith("peak memory") for peer, r in ratios(row).items()]


def row_of(sections, heading, title):
    return next((r for r in sections.get(heading, []) if r["row"] == title), None)


def of_tasks(sections):
    found = []
    for heading, title, plain in TASKS:
        if row := row_of(sections, heading, title):
            cells = [("Tessera", row["Tessera"]), ("JAX", row.get("JAX", "")), ("PyTorch", torch_best(row))]
            found.append((plain, [(side, measured.amount(c), measured.shown(c)) for side, c in cells if measured.amount(c)]))
    return found


def of_shares(sections, models):
    groups = []
    for title, heading, names in SHARES:
        rows = [(name, measured.reached(row["limit (reached)"])) for name in names if (row := row_of(sections, heading, name))]
        groups.append((title, [r for r in rows if r[1]]))
    return groups + [("whole models, batch 1", [(m["model"], measured.reached(m["limit (reached)"])) for m in models])]


def of_products(sections):
    """The products and convolutions whose work bench/compare/work.py counts, with the speed that the table gives."""
    titles = [("Array programs", ["matmul 256", "matmul 512", "matmul 1024", "matmul 2048"]),
              ("Operations alone", ["matrix vector", "few columns", "many small", "attention scores", "conv 3x3", "conv 1x1", "conv depthwise"])]
    points = []
    for heading, names in titles:
        by_title = {r.title: r.name for r in row_table.GROUPS[heading]}
        for name in names:
            row = row_of(sections, heading, name)
            if row:
                least = work.of(by_title[name])
                points.append((least.flops / (least.read + least.written), least.flops / measured.amount(row["Tessera"]) * 1e-9, "blue", False, name))
    return sorted(points)


def of_models(svg, names):
    """The marks of the models' picture for one input: ours, and as rings those of the fastest other library. The picture has the models in
    the order of the table."""
    points, peak, memory = measured.marks(svg)
    keys = list(dict.fromkeys(model for *_, model in points))
    title = dict(zip(keys, names)) if len(keys) == len(names) else dict(zip(keys, keys))
    ours = [(i, s, "blue", False, title[model]) for i, s, side, batch, model in points if side == "tessera" and batch == 1]
    best = [(i, s, "orange", True, f"{title[model]}, the fastest other library") for i, s, side, batch, model in points if side == "best" and batch == 1]
    return best + sorted(ours), peak, memory


def losses(rows, texts):
    """A table of the rows in which another library takes less than LEVEL of our time."""
    lines = ["| program | faster library | its time, as a share of ours |", "|---|---|---:|"]
    lines += [f"| {texts(heading, row)} | {peer} | {100 * r:.0f} % |" for heading, row, peer, r in sorted(rows, key=lambda x: x[3]) if r < LEVEL]
    return lines if len(lines) > 2 else ["No row of this table."]


def summed(prefix, peer, text):
    """What the sentence below a table says of all of its rows."""
    m = re.search(rf"^{peer} takes ([\d.]+) times as long over (\d+) rows \(geometric mean\); less by more than 3 % in (\d+|none)", text, re.M)
    return {f"{prefix}_mean": m[1], f"{prefix}_rows": m[2], f"{prefix}_faster": "none" if m[3] == "0" else m[3]}


def strips(sections):
    groups = []
    for heading, rows in sections.items():
        of = {}
        for h, row, peer, r in every_ratio({heading: rows}):
            of.setdefault(peer, []).append((r, row))
        if of:
            groups.append((PLAIN.get(heading, heading), of))
    return groups


def contents():
    """{path below docs: text} of all that is written."""
    performance = measured.between(read("performance.md"), "compare")
    avx2_page = read("performance_avx2.md")
    model_page = read("models.md")
    models_text, jax_text = measured.between(model_page, "models"), measured.between(read("jax_speed.md"), "jax")
    avx2_text = measured.between(avx2_page, "compare")
    sections = measured.tables(performance)
    batches = measured.tables(models_text)
    one, eight = batches["Latency of batch 1"], batches["Time of batch 8"]
    plugin = measured.tables(jax_text, "##")
    machine, other, model_machine = measured.machine(performance), measured.machine(avx2_text), measured.machine(models_text)
    svg = read("images/models.svg")
    peers = sorted({p for m in one for p in measured.peers(m)}, key=lambda p: list(charts.COLOUR).index(p.split(",")[0]))
    model_points, model_peak, model_memory = of_models(svg, [named(one, k) for k in range(len(one))])
    plugin_ratios = [(h, r["row"], "JAX's own engine", x) for h, rows in plugin.items() for r in rows if (x := measured.ratio(r.get("jaxlib / Tessera")))]

    pictures = {
        "beside": both(charts.beside, strips(sections)), "tasks": both(charts.tasks, of_tasks(sections)),
        "models": both(charts.models, [(named(one, k), measured.peers(m)) for k, m in enumerate(one)], peers),
        "limits": both(charts.limits, of_shares(sections, [{**m, "model": named(one, k)} for k, m in enumerate(one)])),
        "roofline_products": both(charts.roofline, of_products(sections), machine.peak, machine.memory, "Products and convolutions under the roofline"),
        "roofline_models": both(charts.roofline, model_points, model_peak, model_memory, "Whole models under the roofline")}
    of_heading = {}
    for heading, row, _, r in plugin_ratios:
        of_heading.setdefault(heading, []).append((r, row))
    pictures["jax"] = both(charts.beside, [(PLAIN.get(h, h[0].lower() + h[1:]), {"JAX": points}) for h, points in of_heading.items()])

    all_ratios = every_ratio(sections)
    squares = [measured.reached(row["limit (reached)"]) for n in (1024, 2048) if (row := row_of(sections, "Array programs", f"matmul {n}"))]
    faster = [(batch, named(rows, k), p, r) for batch, rows in (("one input", one), ("eight inputs", eight)) for k, m in enumerate(rows) for p, r in measured.peers(m).items()]
    figures = {
        **summed("jax", "JAX", performance), **summed("torch", "PyTorch", performance),
        **summed("avx2_jax", "JAX", avx2_text), **summed("avx2_torch", "PyTorch", avx2_text),
        "processor": machine.processor, "cores": machine.cores, "date": machine.date, "peak": f"{machine.peak:.0f}", "memory": f"{machine.memory:.0f}",
        "model_peak": f"{model_peak:.0f}", "model_memory": f"{model_memory:.0f}", "model_date": model_machine.date,
        "corner": f"{machine.peak / machine.memory:.0f}", "squares": f"{100 * min(squares):.0f} to {100 * max(squares):.0f}",
        "avx2_date": other.date,
        "models": len(one), "plugin_mean": f"{measured.mean(r for *_, r in plugin_ratios):.2g}", "plugin_rows": len(plugin_ratios),
        "plugin_faster": sum(r < LEVEL for *_, r in plugin_ratios) or "none",
        "plugin_note": "The machine was shared with other work in that measurement, so single ratios may be off by a tenth." if "was shared with other work" in jax_text else ""}
    means = ["| library | its time, as a multiple of ours, one input | eight inputs | models in which it is faster, of both |", "|---|---:|---:|---:|"]
    stated = [dict(re.findall(r"(?:ratios: |\d, )([A-Za-z][\w., ]*?) ([\d.]+) over", line)) for line in re.findall(r"^Geometric means of the ratios: .*$", models_text, re.M)]
    for p in peers:
        of = [measured.peers(m)[p] for m in one + eight if p in measured.peers(m)]
        means.append(f"| {p.replace(', eager', '')} | {stated[0][p]} | {stated[1][p]} | {sum(r < LEVEL for r in of)} of {len(of)} |")
    tables = {
        "losses": losses(all_ratios, lambda heading, row: f"{row} ({PLAIN.get(heading, heading)})"),
        "model_means": means, "model_losses": losses(faster, lambda batch, model: f"{model}, {batch}"),
        "plugin_losses": losses(plugin_ratios, lambda heading, row: f"{row} ({PLAIN.get(heading, heading[0].lower() + heading[1:])})")}

    written = {f"images/speed/{name}{suffix}.svg": text for name, files in pictures.items() for suffix, text in files.items()}
    page = (pathlib.Path(__file__).with_name("speed.md.in")).read_text()
    page = reflowed(re.sub(r"\{(\w+)\}", lambda m: str(figures[m[1]]), page))
    written["speed.md"] = re.sub(r"^@(\w+)$", lambda m: "\n".join(tables[m[1]]), page, flags=re.M)
    return written


def reflowed(page):
    """Paragraphs broken again, since figures are longer or shorter than their names."""
    pieces = []
    for piece in re.split(r"(\n\n|\n(?=\* ))", page):
        if re.match(r"[A-Z{\[*]", piece):
            piece = textwrap.fill(" ".join(piece.split()), 130, subsequent_indent="  " if piece.startswith("* ") else "", break_on_hyphens=False, break_long_words=False)
        pieces.append(piece)
    return "".join(pieces)


def named(rows, k):
    """The name of a model; "... in bfloat16" follows the model above it."""
    name = rows[k]["model"]
    if not name.startswith("..."):
        return name
    return f"{named(rows, k - 1).split(', float32')[0].split(', in ')[0].split(', with ')[0]}, {name.removeprefix('... ')}"


written = contents()
if "--plant" in sys.argv:
    missed = []
    for name, pattern, wrong in (("performance.md", r"(\n\| matmul 1024 \| )[\d.]+", r"\g<1>9999"), ("performance_avx2.md", r"(\nPyTorch takes )[\d.]+", r"\g<1>99"),
                                 ("models.md", r"(\n\| ResNet-50[^\n]*?\()[\d.]+", r"\g<1>99"), ("jax_speed.md", r"(\n\| jit scalar [^\n]*?)[\d.]+ \|\n", r"\g<1>99 |\n"),
                                 ("images/models.svg", r"(batch 1: )[\d.]+", r"\g<1>1")):
        planted[name], hits = re.subn(pattern, wrong, read(name), count=1)
        if not hits or contents() == written:
            missed.append(f"another figure in docs/{name} changes nothing")
        planted.clear()
    print("\n".join(missed) or "another figure in each of the tables is found")
    sys.exit(bool(missed))
if "--check" in sys.argv:
    wrong = [name for name, text in written.items() if not (root / "docs" / name).exists() or (root / "docs" / name).read_text() != text]
    there = {f"images/speed/{p.name}" for p in (root / "docs/images/speed").glob("*")}
    wrong += sorted(there - set(written))
    print("\n".join(f"docs/{name} is not what the measured tables give: run scripts/speed" for name in wrong)
          or f"docs/speed.md and {len(written) - 1} charts are what the measured tables give")
    sys.exit(bool(wrong))
for name, text in written.items():
    target = root / "docs" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
