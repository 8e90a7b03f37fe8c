"""The table and the file of a run of scripts/device_check."""

import json
import pathlib

import steps as steps_module

START, END = "<!-- device_check {kind}: begin -->", "<!-- device_check {kind}: end -->"


def shown(microseconds):
    if microseconds is None:
        return ""
    if microseconds < 1000:
        return f"{microseconds:.1f} µs" if microseconds < 100 else f"{microseconds:.0f} µs"
    return f"{microseconds / 1e3:.2f} ms" if microseconds < 1e5 else f"{microseconds / 1e6:.2f} s"


def ratio(theirs, ours):
    return f"{theirs / ours:.2f}" if theirs and ours else ""


def steps_table(results):
    rows = []
    for r in results:
        if not r.name.startswith("step ") or "tessera" not in r.values:
            continue
        ours, theirs = r.values["tessera"], r.values.get("jax", {})
        cells = [r.name.removeprefix("step ").replace("_", " ")]
        for key in ("steady_us", "queued_us", "first_us", "host_us"):
            cells += [shown(ours[key]), shown(theirs.get(key)), ratio(theirs.get(key), ours[key])]
        rows.append("| " + " | ".join(cells) + " |")
    if not rows:
        return []
    head = ["step"] + [f"{what}{side}" for what in ("", "queued", "first call", "host a call")
                       for side in (", Tessera", ", JAX", ", JAX / Tessera")]
    head[1:4] = ["Tessera", "JAX", "JAX / Tessera"]
    return ["| " + " | ".join(head) + " |", "|---" + "|---:" * 12 + "|", *rows, ""]


def calls_table(results):
    lines = []
    for r in results:
        if r.name != "calls" or "tessera" not in r.values:
            continue
        ours, theirs = r.values["tessera"], r.values.get("jax", {})
        lines += ["| call | Tessera, host | JAX, host | JAX / Tessera |", "|---|---:|---:|---:|"]
        for key, title in (("scalar", "`x + 1` of a scalar, jit"), ("tree_100", "the same of 100 arrays, jit"), ("eager", "`x + 1`, eager")):
            a, b = ours[f"{key}_host_us"], theirs.get(f"{key}_host_us")
            lines.append(f"| {title} | {shown(a)} | {shown(b)} | {ratio(b, a)} |")
        lines.append("")
    return lines


def factors_table(results):
    lines = []
    for r in results:
        if r.name != "factorisations" or "loops" not in r.values:
            continue
        lines += ["| factorisation | residual, eps n | on the platform | first call | on the host | residual there |", "|---|---:|---:|---:|---:|---:|"]
        for name, a in r.values["loops"].items():
            if isinstance(a, dict):
                b = r.values["host"][name]
                lines.append(f"| `{name}` | {a['residual']:.2g} | {shown(a['steady_us'])} | {shown(a['first_us'])} | {shown(b['steady_us'])} | "
                             f"{b['residual']:.2g} |")
        lines.append("")
    return lines


def partitioners_table(results):
    lines = []
    for r in results:
        if r.name != "partitioners" or not r.values:
            continue
        lines += ["| step over 4 devices | our partitioner | first call | the platform's | first call |", "|---|---:|---:|---:|---:|"]
        for name, v in r.values.items():
            cells = [shown(v[who][what]) for who in ("tessera", "platform") for what in ("steady_us", "first_us")]
            lines.append(f"| {name.removesuffix('/4').replace('_', ' ')} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def page(results, about):
    """The text between the markers."""
    lines = [about, ""]
    lines += steps_table(results) + calls_table(results) + factors_table(results) + partitioners_table(results)
    lines += ["| step | outcome | seconds | what was checked |", "|---|---|---:|---|"]
    lines += [f"| {r.name} | {r.outcome} | {r.seconds:.0f} | {r.checked.replace('|', '/')} |" for r in results]
    return "\n".join(lines) + "\n"


def written(document, kind, text):
    """The document with the text between the markers of this kind of run."""
    start, end = START.format(kind=kind), END.format(kind=kind)
    if start not in document or end not in document:
        raise steps_module.Failed(f"the page has no markers '{start}' and '{end}'")
    before, rest = document.split(start, 1)
    return before + start + "\n" + text + end + rest.split(end, 1)[1]


def earlier(path):
    """The results that a run wrote."""
    if not pathlib.Path(path).is_file():
        return []
    return [steps_module.Result(row["name"], row["outcome"], row["checked"], row["seconds"], row["values"])
            for row in json.loads(pathlib.Path(path).read_text())["steps"]]


def joined(before, results, names):
    """The results of an earlier run, with these instead of those of the same names, in the order of `names`."""
    both = {r.name: r for r in (*before, *results)}
    return [both[name] for name in names if name in both]


def save(path, results, about):
    rows = [{"name": r.name, "outcome": r.outcome, "checked": r.checked, "seconds": round(r.seconds, 2), "values": r.values} for r in results]
    pathlib.Path(path).write_text(json.dumps({"about": about, "steps": rows}, indent=1) + "\n")
