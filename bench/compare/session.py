"""The common part of all comparisons: options, the build, the check for a quiet machine, and the result files."""

import argparse
import json
import pathlib
import sys
import time

import limits
import machine
import sides
import table

WORK = sides.ROOT / "build/compare"


def parser(doc, rounds, python):
    """The options of all comparisons; `python` says what the interpreter of JAX needs to have."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=rounds)
    p.add_argument("--python", help=f"interpreter that has {python}; without it a virtual environment is made")
    p.add_argument("--build", type=pathlib.Path, default=sides.ROOT / "build/release", help="build folder of Tessera")
    p.add_argument("--no-build", action="store_true", help="take the programs of the build folder as they are")
    p.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return p


def add_timing(p):
    """The options of comparisons that time rows."""
    p.add_argument("--rows", default="", help="only rows whose name this regular expression finds")
    p.add_argument("--quick", action="store_true", help="two short rounds")
    p.add_argument("--seconds", type=float, default=0.3, help="of each side in each round")
    p.add_argument("--timeout", type=float, default=60, help="seconds after which a side counts as hung; three times that where it compiles")


def shorten(args):
    if args.quick:
        args.rounds, args.seconds = 2, 0.1


def version(python, *modules):
    """The version of each module in that interpreter."""
    code = f"import {', '.join(f'{m} as m{i}' for i, m in enumerate(modules))}; print({', '.join(f'm{i}.__version__' for i in range(len(modules)))})"
    return sides.run([python, "-c", code]).split()


class Session:
    """One run of a comparison, whose `result` becomes NAME.json and NAME.md. With --write it refuses a machine that other work keeps busy,
    before and after. Without `targets`, the comparison builds its own programs, and the machine's limits are not measured."""

    def __init__(self, name, args, targets, **result):
        self.name, self.write = name, args.write
        WORK.mkdir(parents=True, exist_ok=True)
        self.programs = sides.build_ours(args.build.resolve(), not args.no_build, targets) if targets else None
        self.environment = sides.clean_environment()
        self.before = machine.others_now()
        self.refuse_where_busy(self.before, "now")
        self.result = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "cpu": machine.cpu(), "rounds": args.rounds,
                       "versions": {}, **result}
        if targets:
            self.result["limits"] = limits.measured(self.programs, result.get("isa"))

    def refuse_where_busy(self, share, when):
        if self.write and share > machine.BUSY:
            sys.exit(f"error: --write wants a quiet machine, but other work took {100 * share:.0f} % of its cores {when}; end it, or leave --write out")

    def __enter__(self):
        self.log = open(WORK / f"{self.name}.log", "w", encoding="utf-8")
        self.start, self.others = time.monotonic(), machine.Others()
        return self

    def __exit__(self, *_):
        self.log.close()
        self.result["minutes"] = (time.monotonic() - self.start) / 60
        self.result["others"] = max(self.before, self.others.share())

    def finish(self, text, page, marker):
        """Writes the results, and with --write `text` between the markers of that name in a page of docs/."""
        (WORK / f"{self.name}.json").write_text(json.dumps(self.result, indent=1) + "\n")
        (WORK / f"{self.name}.md").write_text(text)
        print("\n" + text)
        self.refuse_where_busy(self.result["others"], "meanwhile")
        if self.write:
            table.write_into(sides.ROOT / "docs" / page, text, marker)
