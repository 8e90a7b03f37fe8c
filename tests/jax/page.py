"""Writes docs/jax_tests.md, and the list of tests that must pass."""
import collections
import re

import files
import reasons
import results

INTRODUCTION = """# JAX's own tests

This page compares two runs of JAX's own tests: on jaxlib's CPU client (*there*), and on our PJRT plug-in (*here*).
`scripts/jax_tests FOLDER` runs the tests of a checkout of JAX's repository on both sides and writes this page.

* Files for one device run with one device on both sides, the others with eight. `tests/jax/files.py` has their names.
* JAX draws cases of its parameterised tests at random. Here one case is drawn for each test; `--cases` asks for more.
* A test counts if it passes there. *Share* is the part of these tests that also passes here.
* Seconds are the processor time of all threads in the tests that pass on both sides, without starting Python and importing
  JAX. It includes the time that JAX itself takes to trace programs and that NumPy takes to check results.
* Each test that passes only there has a reason: a sentence of `tests/jax/reasons.toml`, or else the error's own first line.

`scripts/jax_tests FOLDER --list tests/jax/must_pass.txt` runs a list of tests of some minutes, all of which must pass.
"""


def percent(part, whole):
    if not whole:
        return ""
    text = f"{100 * part / whole:.1f} %"
    return "99.9 %" if text == "100.0 %" and part < whole else text.replace("100.0 %", "100 %")


def counts(store, name):
    """(passed there, of these passed here, processor seconds there, and here, tests run on both sides, tests of the file), or None if a side
    has not run."""
    pairs = results.compare(store, name)
    if not pairs:
        return None
    passed = [(t, h) for _, t, h in pairs if t["outcome"] == "passed"]
    both = [(t, h) for t, h in passed if h["outcome"] == "passed"]
    every = max(len(pairs), store.load("there", name)["all"], store.load("here", name)["all"])
    return len(passed), len(both), sum(t["cpu"] for t, _ in both), sum(h["cpu"] for _, h in both), len(pairs), every


HEADER = [" | tests | run | passed there | passed here | share | seconds there | seconds here |", "|---|---|---|---|---|---|---|---|"]


def line(title, n):
    return f"| {title} | {n[5]} | {n[4]} | {n[0]} | {n[1]} | {percent(n[1], n[0])} | {n[2]:.0f} | {n[3]:.0f} |"


def sampled(rows):
    """A sentence for files of which some tests were left out; empty if there are none."""
    part = [n for n in rows if n[4] < n[5]]
    if not part:
        return []
    steps = [round(n[5] / n[4]) for n in part]
    between = f"N between {min(steps)} and {max(steps)}" if min(steps) < max(steps) else f"N = {steps[0]}"
    return [f"{len(part)} of the {len(rows)} files are samples: about every N-th test of such a file ran on both sides, with {between}. "
            "*Tests* is how many tests a file has, and *run* is how many of them ran.", ""]


def only_here(store, names):
    """A sentence for tests that did not run on jaxlib's side; empty if there are none."""
    outcomes = collections.Counter()
    for name in names:
        there = store.load("there", name)["tests"]
        outcomes.update(test["outcome"] for id, test in store.load("here", name)["tests"].items() if id not in there)
    if not outcomes:
        return []
    parts = [f"{outcomes.pop(outcome, 0)} {outcome}" for outcome in ("passed", "skipped")] + [f"{n} {o}" for o, n in sorted(outcomes.items())]
    return [f"Further tests ran only here: {', '.join(parts)}.", ""]


def table(store, names):
    rows = {name: n for name in names if (n := counts(store, name))}
    if not rows:
        return [], None
    total = tuple(sum(n[k] for n in rows.values()) for k in range(6))
    lines = ["| file" + HEADER[0], HEADER[1]]
    return lines + [line(name, n) for name, n in rows.items()] + [line("all", total)], total


def grouped(store, names, entries):
    """{(reason, whether it is in reasons.toml): [(file, id)]}, the largest groups first."""
    groups = {}
    for name in names:
        for test, here in results.only_there(store, name):
            groups.setdefault(reasons.of(entries, name, test, here), []).append((name, test))
    return dict(sorted(groups.items(), key=lambda g: (-len(g[1]), not g[0][1], g[0])))


def version_section(title, store, entries):
    kinds = [("One device", files.ONE_DEVICE), ("Eight devices", files.SEVERAL_DEVICES), ("Further files", files.MORE)]
    out, summary, names = [f"## JAX {title}", ""], [], []
    tables = []
    for heading, members in kinds:
        lines, total = table(store, sorted(members))
        if lines:
            names += sorted(members)
            summary.append(line(heading.lower(), total))
            tables += [f"### {heading}", "", *lines, ""]
    if not summary:
        return []
    out += ["| files" + HEADER[0], HEADER[1], *summary, ""]
    out += sampled([n for name in names if (n := counts(store, name))])
    out += only_here(store, names)
    out += tables
    groups = grouped(store, names, entries)
    out += ["### What passes only there", ""]
    out += [] if groups else ["All tests that pass there pass here."]
    for (reason, by_hand), tests in groups.items():
        reason = reason if by_hand else f"`{reason.replace('`', chr(39))}`" if reason != reasons.WRONG else reason
        out.append(f"* {reason.rstrip('.')} ({len(tests)}):")
        for name in dict.fromkeys(n for n, _ in tests):
            shown = ", ".join(f"`{test.replace('::', '.')}`" for n, test in tests if n == name)
            out.append(f"  {name}: {shown}")
    notes = [(name, n.split("\n")[0]) for name in names for n in store.load("here", name)["notes"]]
    if notes:
        out += ["", "Processes that ended badly here, outside of a test:", ""]
        out += [f"* {first}" for _, first in notes]
    return out + [""]


def written(old, sections):
    """The page with `sections` ({version: lines}); sections of other versions stay as `old` has them."""
    kept = {m[1]: m[0].rstrip("\n").split("\n") + [""] for m in re.finditer(r"^## JAX (\S+)\n.*?(?=^## |\Z)", old, re.M | re.S)}
    kept.update({version: lines for version, lines in sections.items() if lines})
    order = sorted(kept, key=lambda v: [int(n) for n in re.findall(r"\d+", v)], reverse=True)
    return INTRODUCTION + "\n" + "\n".join("\n".join(kept[v]) for v in order)


def must_pass(stores, seconds, start=6.0, longest=4.0):
    """Tests that pass on both sides in all `stores`, of about `seconds` on one core: from each file equally long, one of each function first.

    `start` is the time that a process takes to import JAX and to collect a file."""
    passing = {}
    for name in files.TABLE:
        of_each = []
        for store in stores:
            ok = {t: h["cpu"] for t, there, h in results.compare(store, name) if there["outcome"] == h["outcome"] == "passed"}
            if results.compare(store, name):
                of_each.append(ok)
        common = set.intersection(*map(set, of_each)) if of_each else set()
        if common:
            passing[name] = {t: max(ok[t] for ok in of_each) for t in common}
    share = max(0.0, seconds - start * len(passing)) / max(1, len(passing))
    chosen = []
    for name, tests in passing.items():
        seen = {}
        rank = {}
        for test in sorted(tests):
            function = re.sub(r"\d+$", "", test)
            rank[test] = seen[function] = seen.get(function, -1) + 1
        left = share
        for test in sorted(tests, key=lambda t: (rank[t], tests[t], t)):
            cost = max(tests[test], 0.01)
            if cost <= min(left, longest):
                left -= cost
                chosen.append(f"{name}.py::{test}")
    return sorted(chosen)
