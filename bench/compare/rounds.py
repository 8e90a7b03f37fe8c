"""Times the sides of a row in rounds, right after each other, and says which form of a side was the fastest."""

import statistics
import time

import sides

SHORT = 1000.0  # microseconds; rows whose calls take less need only a third of the time
LONG = 3e6  # microseconds; first calls that take longer are run in half of the rounds


def measure(row, side, program, args, before):
    """A list of numbers, the row's own first: microseconds, or bytes. `before` holds the results of earlier rounds."""
    if row.kind == "steady":
        seconds = args.seconds / 3 if before and before[0][0] < SHORT else args.seconds
        return side.time(row, program, seconds, args.timeout * (1 if before else 3))
    call, seconds, peak = side.run_once(row, program, 2 * args.timeout)
    return {"first": (call,), "start": (seconds * 1e6,), "peak": (peak * 1024.0,)}[row.kind]


def median(rounds):
    return statistics.median(x[0] for x in rounds)


def best(forms):
    """The fastest form that ran, with its name, or the error if none ran."""
    ran = {form: r for form, r in forms.items() if r.get("rounds")}
    if not ran:
        return next(iter(forms.values()))
    form = min(ran, key=lambda f: median(ran[f]["rounds"]))
    result = {"rounds": ran[form]["rounds"], "median": median(ran[form]["rounds"])}
    if len(forms) > 1:
        result |= {"form": form, "forms": {f: median(r["rounds"]) if r.get("rounds") else r["error"] for f, r in forms.items()}}
    return result


def enough(row, before, i, rounds):
    """Whether a first call that takes long needs no further round after `i` of them."""
    return row.kind != "steady" and bool(before) and before[0][0] > LONG and i >= rounds // 2


def run_row(row, active, args):
    """{side: {"rounds": [[...], ...], ...} or {"error": text}}"""
    result = {name: {form: {"rounds": []} for form in row.programs(name)} for name in active}
    names = list(active)
    for i in range(1 if row.kind == "peak" else args.rounds):
        for name in names[i % len(names):] + names[:i % len(names)]:
            for form, program in row.programs(name).items():
                side = result[name][form]
                if "error" in side or enough(row, side["rounds"], i, args.rounds):
                    continue
                try:
                    side["rounds"].append(measure(row, active[name], program, args, side["rounds"]))
                except sides.Failed as e:
                    result[name][form] = {"error": str(e)}
                time.sleep(0.05)  # until the spinning threads of the previous side sleep
    result = {name: best(forms) for name, forms in result.items()}
    mine = result["tessera"].get("rounds", [])
    for name in names[1:]:
        theirs = result[name].get("rounds", [])
        if mine and theirs:
            result[name]["ratio"] = statistics.median(t[0] / m[0] for t, m in zip(theirs, mine))
            if row.kind == "steady":
                result[name]["cpu_ratio"] = statistics.median(t[1] / max(m[1], 1e-3) for t, m in zip(theirs, mine))
    return result
