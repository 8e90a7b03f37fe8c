"""Checks the rules for comments and documents that a program can check: check_prose.py SOURCE_DIR [--plant].

* A comment begins with a sentence, not with a clause that hangs on a word which is not there ("Of all inputs of ...").
* A comment line fits into 100 columns.
* A `///` comment stands directly above what it describes.
* A name in back-ticks is declared somewhere, and a path that a comment names exists.

With --plant, each rule is tested with a comment that breaks it, which it must find, and with one that keeps it."""
import functools
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
FOLDERS = ["include", "src", "plugins", "tools"]
# First words of fragments. A sentence may begin with "What" or "Where" too, if it has a verb of its own behind a comma or is a question.
FRAGMENT = re.compile(r"(Whoever|Those|That which|Such as)\b|Of\b(?! course)(?![^.:;]*, (?:\S+ ){2})")
FOREIGN = {"lagts"}  # names of other libraries
PATH = re.compile(r"(?<![\w/.<\"-])((?:docs|src|tests|include|base|processes|ir|ops|transform|stablehlo|platforms|spmd|codegen|explain|autosharding|runtime|api|nn|optim"
                  r"|data|checkpoints|tessera)/[\w/]+\.(?:h|cc|md|py))\b")


@functools.cache
def names():
    """Every identifier of the code, and words of settings, attributes and error texts."""
    found = set()
    for folder in FOLDERS + ["tests", "bench", "examples", "cmake", "scripts"]:
        for path in (root / folder).rglob("*"):
            if path.suffix in (".h", ".cc", ".inc", ".in", ".py", ".txt", ".cmake") or (folder == "scripts" and path.is_file()):
                text = path.read_text(errors="ignore")
                if path.suffix in (".h", ".cc", ".inc", ".in"):
                    text = re.sub(r"//[^\n]*", "", text)
                found.update(re.findall(r"[A-Za-z_]\w*", text))
    return found


def blocks(lines):
    """(number of the first line, marker, text, the line behind) of each comment that stands on lines of its own."""
    k = 0
    while k < len(lines):
        m = re.match(r"\s*(///?)(?: |$)", lines[k])
        if not m:
            k += 1
            continue
        begin, text = k, []
        while k < len(lines) and (n := re.match(r"\s*(///?)(?: (.*)|$)", lines[k])) and n[1] == m[1]:
            text.append(n[2] or "")
            k += 1
        yield begin + 1, m[1], text, lines[k] if k < len(lines) else ""


def problems(name, lines):
    bad = []
    for at, marker, text, behind in blocks(lines):
        first = next((t for t in text if t), "")
        if FRAGMENT.match(first):
            bad.append((at, f'begins with "{first.split()[0]}", which hangs on a noun that is not there'))
        if marker == "///" and not behind.strip():
            bad.append((at, "describes nothing: an empty line follows"))
        for k, line in enumerate(text):
            for path in PATH.findall(line):
                places = [root / path, root / "src" / path, root / "include" / path, root / "tests" / path]
                if not any(p.exists() for p in places):
                    bad.append((at + k, f"names {path}, which is not there"))
        prose = "\n".join(t for t in text if not t.startswith("  "))
        for quoted in re.findall(r"`([A-Za-z_]\w*)`", prose):
            if quoted not in names() | FOREIGN:
                bad.append((at, f"names `{quoted}`, which nothing declares"))
    for k, line in enumerate(lines):
        if "//" in line and len(line) > 100 and not re.search(r"https?://", line) and not line.lstrip().startswith('"'):
            bad.append((k + 1, f"has {len(line)} columns, of which 100 are read"))
    return [f"{name}:{at}: the comment {what}" for at, what in sorted(bad)]


if "--plant" in sys.argv[2:]:
    planted = {"/// Of all inputs.\nint f();": 1, "/// Returns one.\n\nint f();": 1, "// See spmd/nowhere.h.\nint f();": 1,
               "/// Adds `nothing_has" + "_this_name`.\nint f();": 1, "int f();  // " + "x" * 100: 1, "/// Of course it is.\nint f();": 0, "// Of the two, use the one that is farther away.\nint f();": 0,
               "/// Returns what `names` holds (tessera/array.h).\nint names();": 0}
    wrong = [text for text, count in planted.items() if len(problems("planted", text.split("\n"))) != count]
    print("\n".join(f"wrong about: {text}" for text in wrong) or "planted comments are found, the others not")
    sys.exit(bool(wrong))

bad, seen = [], 0
for folder in FOLDERS:
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in (".h", ".cc") and path.name != "erfc_table.h":
            lines = path.read_text().split("\n")
            seen += sum(1 for _ in blocks(lines))
            bad += problems(path.relative_to(root), lines)
print("\n".join(bad) or f"{seen} comments keep the rules")
sys.exit(bool(bad) or seen < 5000)
