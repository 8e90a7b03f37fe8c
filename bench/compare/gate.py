"""Says whether rows became slower: times rows_bench of the merge base and of the working tree in alternation.

    python3 bench/compare/gate.py 'jit_|pmap_'                       # builds both, release, the base in a worktree of its own
    python3 bench/compare/gate.py 'cnn|gpt' --base HEAD~3 --rounds 20
    python3 bench/compare/gate.py 'cnn' --programs OLD/rows_bench NEW/rows_bench

In each round both time a row right after each other, the first of them in turn, in fresh processes, since where a process finds its memory
may make a row one or two per cent faster or slower for as long as it runs. A round's ratio is the new time over the old one. Printed are
the median of the rounds' ratios and, in brackets, the values between which it lies in 95 of 100 drawings of as many rounds with repetition,
for wall time and for the processor time of all threads; and the ratio of the shortest wall times. Other work on the machine widens the
bracket of wall time first. A row is slower where the whole bracket of either time is above 1, faster where that of wall time is below 1 and
that of processor time is not above it, else level. The program ends with code 1 where a whole bracket is above 1 + --threshold.
"""

import argparse
import pathlib
import random
import re
import statistics
import sys

import machine
import sides

WORK = sides.ROOT / "build/gate"


def interval(ratios, drawings=2000):
    """(low, median, high): between low and high lies the median of 95 of 100 drawings with repetition."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(drawings))
    return medians[int(0.025 * drawings)], statistics.median(ratios), medians[int(0.975 * drawings) - 1]


def verdict(wall, cpu, threshold):
    """(verdict, whether the row fails) from the intervals of wall and processor time."""
    if wall[0] > 1 or cpu[0] > 1:
        fails = max(wall[0], cpu[0]) > 1 + threshold
        return "SLOWER" if fails else "slower", fails
    return "faster" if wall[2] < 1 else "level", False


def git(*arguments):
    return sides.run(["git", "-C", sides.ROOT, *arguments]).strip()


def merge_base():
    """The merge base of the working tree and main, the clone's own or its origin's."""
    branches = git("for-each-ref", "--format=%(refname)", "refs/heads/main", "refs/remotes/origin/main").split()
    if not branches:
        sys.exit("error: there is no branch main to compare with; name a commit by --base")
    return git("merge-base", "HEAD", branches[0])


def base_program(base):
    """rows_bench of a commit, built in a worktree that is kept for the next time."""
    source, commit = WORK / "source", git("rev-parse", base)
    if source.exists():
        sides.run(["git", "-C", source, "checkout", "--quiet", "--detach", commit])
    else:
        git("worktree", "add", "--quiet", "--detach", str(source), commit)
    return sides.build_ours(WORK / "base", True, ("rows_bench",), source) / "rows_bench"


def names(program, pattern):
    """The rows of the program that the pattern matches."""
    listed = sides.run([program, "--benchmark_list_tests"]).splitlines()
    every = [line.removesuffix("/real_time") for line in listed if line.endswith("/real_time")]
    return [name for name in every if re.search(pattern, name)]


def measure(workers, row, args):
    """For each round, (wall, CPU) of the old program and of the new one."""
    rounds = []
    for i in range(args.rounds):
        times = {}
        for which in (("old", "new") if i % 2 == 0 else ("new", "old")):
            times[which] = workers[which].ask(row, args.seconds, args.timeout)
            workers[which].stop()
        rounds.append((times["old"], times["new"]))
    return rounds


def line(row, rounds, threshold):
    """(a line of the table, whether the row fails)"""
    wall, cpu = (interval([new[k] / max(old[k], 1e-3) for old, new in rounds]) for k in (0, 1))
    shortest = min(new[0] for _, new in rounds) / min(old[0] for old, _ in rounds)
    word, fails = verdict(wall, cpu, threshold)
    cells = [f"{x[1]:6.3f} [{x[0]:.3f}, {x[2]:.3f}]" for x in (wall, cpu)]
    old = statistics.median(old[0] for old, _ in rounds)
    return f"{row:28s} {old:10.4g} us  {cells[0]}  {cells[1]}  {shortest:6.3f}  {word}", fails


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("rows", help="a regular expression that finds the rows' names")
    p.add_argument("--base", help="a commit; without it, where the working tree left main")
    p.add_argument("--programs", nargs=2, type=pathlib.Path, metavar=("OLD", "NEW"), help="take these and build nothing")
    p.add_argument("--build", type=pathlib.Path, default=sides.ROOT / "build/release", help="build folder of the working tree")
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--seconds", type=float, default=0.15, help="of each side in each round")
    p.add_argument("--threshold", type=float, default=0.03, help="how much slower is a failure")
    p.add_argument("--timeout", type=float, default=120)
    return p.parse_args()


def main():
    args = parse()
    WORK.mkdir(parents=True, exist_ok=True)
    if args.programs:
        old, new = args.programs
        title = f"{old} and {new}"
    else:
        base = args.base or merge_base()
        old, new = base_program(base), sides.build_ours(args.build.resolve(), True, ("rows_bench",)) / "rows_bench"
        title = f"{git('rev-parse', '--short', base)} and the working tree"
    rows = [row for row in names(new, args.rows) if row in set(names(old, args.rows))]
    if not rows:
        sys.exit(f"error: no row of both programs is found by '{args.rows}'")
    environment, failed = sides.clean_environment(), []
    print(f"{title}: {args.rounds} rounds of {args.seconds} s, {machine.cpu()['model']}, {machine.cpu()['cores']} cores")
    print(f"{'row':28s} {'old':>13s}  {'wall, new / old':23s} {'CPU, new / old':23s} {'least':>6s}")
    others = machine.Others()
    with open(WORK / "log.txt", "w", encoding="utf-8") as log:
        workers = {which: sides.Worker([str(program)], environment, log) for which, program in (("old", old), ("new", new))}
        try:
            for row in rows:
                try:
                    text, fails = line(row, measure(workers, row, args), args.threshold)
                except sides.Failed as e:
                    text, fails = f"{row:28s} FAILED: {e}", True
                failed += [row] * fails
                print(text, flush=True)
        finally:
            for worker in workers.values():
                worker.stop()
    print(f"other work took {100 * others.share():.0f} % of the cores; {len(failed)} of {len(rows)} rows fail"
          + (": " + ", ".join(failed) if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
