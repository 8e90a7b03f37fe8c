"""Checks that a file includes, directly or indirectly, the public headers of the names that it uses with `ts::` or `tessera::`.

Precompiled headers contain all of them, so a compiler does not notice that one is missing. `check_includes.py ROOT --plant` tests the
check with a file that lacks one."""
import functools
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
folders = ["tests", "examples", "bench", "tools", "src/nn", "src/optim", "src/data", "src/checkpoints"]
namespaces = {"v0", "detail", "literals"}


# Comments and strings, except the names of included files.
other = re.compile(r'(?<=include )"[^"]*"|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', re.S)


@functools.cache
def text_of(path):
    """The text without comments and strings. Line numbers do not change."""
    return other.sub(lambda m: m[0] if m[0].startswith('"') and m[0].endswith('.h"') else re.sub(r"[^\n]", " ", m[0]), path.read_text())


def included(path, text):
    """The files of the project that the text includes."""
    for quote, name in re.findall(r'#\s*include\s*([<"])([^>"]+)[>"]', text):
        places = [root / "include"] if quote == "<" else [path.parent, root / "src", root / "tests", root / "examples", root]
        yield from (place / name for place in places if (place / name).is_file())


@functools.cache
def words_of(header):
    """The words of a header and of all headers that it includes."""
    seen, left, words = set(), [header], set()
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        text = text_of(path)
        words |= set(re.findall(r"\w+", text))
        left += included(path, text)
    return words


def missing(path, text):
    words = set().union(*(words_of(header) for header in included(path, text)))
    aliased = r"|ts" if re.search(r"namespace ts = (?:::)?tessera", text) or "ts" in words else ""
    for m in re.finditer(rf"(?<!namespace )(?<![\w:])(?:::)?(?:tessera{aliased})::(\w+)", text):
        if m[1] not in words and m[1] not in namespaces:
            yield text.count("\n", 0, m.start()) + 1, m[1]


if "--plant" in sys.argv:
    path = root / "tests" / "api" / "jit_test.cc"
    planted = '#include <tessera/jit.h>\nnamespace ts = tessera;\nauto f = ts::jit([](ts::Array x) { return ts::sort(x); });\n'
    found = list(missing(path, planted))
    assert found == [(3, "sort")], found
    assert not list(missing(path, planted.replace("jit.h>", "jit.h>\n#include <tessera/manipulation.h>")))
    sys.exit()
bad, files = [], 0
for folder in folders:
    for path in sorted((root / folder).rglob("*.[hc]*")):
        if path.suffix not in (".h", ".cc"):
            continue
        files += 1
        bad += [f"{path.relative_to(root)}:{line} names {name}, which nothing that it includes declares" for line, name in missing(path, text_of(path))]
print("\n".join(bad) or f"{files} files include what they name")
sys.exit(1 if bad else 0)
