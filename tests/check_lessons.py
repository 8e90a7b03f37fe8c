"""Compares pages with their programs: check_lessons.py SOURCE_DIR PROGRAMS [--write] [--mpiexec PATH].

The pages are those of docs/lessons, docs/gallery.md, docs/how_it_works.md and README.md.

A program of examples/lessons or examples/gallery prints its output in parts, each of which begins with a line "== name", printed by the call
part("name"). A page says what each of its code blocks is, in a comment above it:

* `code: name` is the code from the call part("name") to the next one, or from a line "//: name" to the next such line, without its indentation;
* `output: name` is what the program prints in the part of that name;
* `file: name` is a whole file of the program's folder.

A program of the gallery has no parts: its output is `output: program/all`. A block that is not what its comment says is a mistake, and so is a
block without a comment and a part that no page shows. Numbers of outputs may differ in the fourth digit, because sums and elementary functions
depend on the processor. The program writes its pictures into the folder in which it runs; they must be those of docs/lessons/images. Those of
docs/how_it_works.md are drawn from what its program writes down. A lesson whose page shows an `mpirun` command gives the same output in two
processes, where --mpiexec names the launcher.

With --write, blocks and pictures are replaced by what the programs have. With --plant, mistakes are put into a page, which must be found."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("root", type=pathlib.Path)
parser.add_argument("programs", type=pathlib.Path)
parser.add_argument("--write", action="store_true")
parser.add_argument("--plant", action="store_true")
parser.add_argument("--mpiexec")
options = parser.parse_args()
root = options.root.resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "docs/site"))
import journey  # noqa: E402

BLOCK = re.compile(r"(^<!-- (code|output|file): ([^\n]*?) -->\n)?^(```+)(\w*)\n(.*?)^\4$", re.S | re.M)
NUMBER = re.compile(r"-?\b\d+\.\d*(?:e[-+]?\d+)?|-?\b\d+e[-+]?\d+")
LARGEST_PICTURE = 60_000


def dedented(lines):
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    depth = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    return "".join(x[depth:] + "\n" for x in lines)


def codes(source):
    """{name: code} of a program."""
    found, name, lines, inside = {}, None, [], False
    for line in source.splitlines() + ["}"]:
        begin = re.match(r'\s*part\("([^"]+)"\);$|//:(?: (.+))?$', line)
        if begin or (line == "}" and name and inside):
            if name:
                assert name not in found, f"two parts are called {name}"
                found[name] = dedented(lines)
            name, lines = (begin[1] or begin[2], []) if begin else (None, [])
            inside = bool(begin and begin[1])
        elif name:
            lines.append(line)
    return found


def run(program, folder, launcher=()):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                   "OMPI_MCA_hwloc_base_binding_policy": "none"}
    done = subprocess.run([*launcher, program.resolve()], cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{program.name} ends with {done.returncode}:\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def outputs(text):
    """{name: output} of a program."""
    pieces = re.split(r"^== (.*)\n", text, flags=re.M)
    if len(pieces) == 1:
        return {"all": text}
    return {name: dedented(body.splitlines()) for name, body in zip(pieces[1::2], pieces[2::2])}


def agree(shown, printed):
    """Whether two outputs are equal up to the fourth digits of their numbers."""
    # An array is aligned by the longest of its numbers.
    if "".join(NUMBER.sub("#", shown).split()) != "".join(NUMBER.sub("#", printed).split()):
        return False
    pairs = zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(printed)))
    return all(abs(a - b) <= 1e-3 * max(abs(a), abs(b)) + 1e-6 for a, b in pairs)


def alike(committed, written):
    """Whether two pictures are the same but for a few elements and rounded numbers."""
    a, b = (re.findall(r"[-\d.]+|[^-\d.]+", t) for t in (committed, written))
    if len(a) == len(b):
        def far(x, y):
            try:
                return abs(float(x) - float(y)) > 1
            except ValueError:
                return x != y
        return sum(far(x, y) for x, y in zip(a, b)) <= 0.05 * len(a)
    return abs(len(a) - len(b)) <= 0.05 * len(a)


def block(has, m):
    """What a block of a page should contain, or None."""
    return has.get((m[2], m[3])) if m[2] else None


def problems(name, text, has):
    bad, shown = [], set()
    for m in BLOCK.finditer(text):
        line = text.count("\n", 0, m.start()) + 1
        if not m[2]:
            if m[5] not in ("sh", "cmake", ""):
                bad.append(f"{name}:{line}: a block of {m[5]} has no comment that says what it is")
            continue
        shown.add((m[2], m[3]))
        wanted = block(has, m)
        if wanted is None:
            bad.append(f"{name}:{line}: the program has no {m[2]} {m[3]}")
        elif not (agree(m[6], wanted) if m[2] == "output" else m[6] == wanted):
            bad.append(f"{name}:{line}: the {m[2]} {m[3]} is not that of the program, which is\n{wanted}")
    for kind, part in sorted(set(has) - shown):
        if kind == "output" and has[kind, part].strip():
            bad.append(f"{name} does not show the {kind} {part}")
    return bad


def pages():
    """(page, [its programs' sources]) of all pages."""
    for page in sorted((root / "docs/lessons").glob("[0-9]*.md")):
        yield page, [root / f"examples/lessons/{page.stem}.cc"]
    yield root / "docs/gallery.md", sorted((root / "examples/gallery").glob("*.cc"))
    yield root / "docs/how_it_works.md", [root / "examples/lessons/how_it_works.cc"]
    yield root / "README.md", [root / "examples/lessons/readme.cc"]


def main():
    bad, count, planted = [], 0, 0
    for page, sources in pages():
        name, text, has = page.relative_to(root).as_posix(), page.read_text(), {}
        images = page.parent / {"gallery": "images/gallery", "how_it_works": "images/how_it_works"}.get(page.stem, "images")
        for source in sources:
            count += 1
            kind = source.parent.name
            program = options.programs / kind / f"{'lesson' if kind == 'lessons' else 'gallery'}_{source.stem}"
            prefix = "" if kind == "lessons" else f"{source.stem}/"
            with tempfile.TemporaryDirectory() as folder:
                printed = run(program, folder)
                parts = outputs(printed)
                if page.stem == "how_it_works":
                    journey.draw(pathlib.Path(folder), parts)
                has |= {("code", prefix + k): v for k, v in codes(source.read_text()).items()} | {("output", prefix + k): v for k, v in parts.items()}
                has |= {("file", f.name): f.read_text() for f in source.parent.glob(f"{source.stem}*") if f.suffix in (".cc", ".py")}
                # A drawing of a program has no rounded numbers.
                same = str.__eq__ if page.stem == "how_it_works" else alike
                for picture in sorted(pathlib.Path(folder).glob("*.svg")):
                    committed, written = images / picture.name, picture.read_text()
                    if options.write and (not committed.exists() or not same(committed.read_text(), written)):
                        committed.parent.mkdir(parents=True, exist_ok=True)
                        committed.write_text(written)
                    if not committed.exists():
                        bad.append(f"{committed.relative_to(root)} is not there")
                    elif not same(committed.read_text(), written):
                        bad.append(f"{committed.relative_to(root)} is not what {source.name} draws")
                    if len(written) > LARGEST_PICTURE:
                        bad.append(f"{picture.name} has {len(written)} bytes")
                    if f"/{picture.name})" not in text and not picture.stem.endswith("_narrow"):
                        bad.append(f"{name} does not show {picture.name}")
                if options.mpiexec and not options.plant and "mpirun -n 2" in text and kind == "lessons":
                    with tempfile.TemporaryDirectory() as other:
                        two = outputs(run(program, other, (options.mpiexec, "-n", "2")))
                        bad += [f"{name}: in two processes the output {k} is\n{two.get(k)}" for k in parts if two.get(k) != parts[k]]
        if options.write:
            text = BLOCK.sub(lambda m: m[0] if block(has, m) is None else f"{m[1]}{m[4]}{m[5]}\n{block(has, m)}{m[4]}", text)
            page.write_text(text)
        if not options.plant:
            bad += problems(name, text, has)
            continue
        for pattern, wrong in ((r"(-->\n```cpp\n)", r"\1int planted;\n"), (r"(-->\n```text\n)", r"\1planted\n"), (r"<!-- output: [^\n]*\n", "")):
            changed, hits = re.subn(pattern, wrong, text, count=1)
            planted += hits
            if hits and not problems(name, changed, has):
                bad.append(f"a planted mistake in {name} is not found: {pattern}")
        break
    print("\n".join(bad) or (f"{planted} planted mistakes are found" if options.plant else f"{count} programs print what their pages show"))
    sys.exit(bool(bad) or (options.plant and not planted))


main()
