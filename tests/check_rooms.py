"""A room includes only itself and rooms above it; libraries include public headers only; public headers no internal ones.
A type is defined once in its namespace: two of one name in two files would share what the compiler does not inline."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
rooms = ["base", "ir", "ops", "transform", "spmd", "codegen", "runtime", "api"]
libraries = ["nn", "optim", "data", "checkpoint"]
third_party_in_headers = re.compile(r'#include <(llvm/|dnnl|oneapi/|tbb/|nlohmann/|fmt/|cblas|sleef|gtest)')
bad = []
for path in sorted((root / "src").rglob("*.[hc]*")):
    room = path.relative_to(root / "src").parts[0]
    if room not in rooms + libraries:
        continue
    allowed = rooms[: rooms.index(room) + 1] if room in rooms else [room]
    text = path.read_text()
    for included in re.findall(r'#include "([a-z_]+)/', text):
        if included not in allowed:
            bad.append(f"{path.relative_to(root)} includes {included}/, which room {room} may not")
    if path.suffix == ".h" and room != "codegen" and (m := third_party_in_headers.search(text)):
        bad.append(f"{path.relative_to(root)}: a header includes {m.group(0)}...")
for path in sorted((root / "include").rglob("*.h")):
    for included in re.findall(r'#include [<"]([^>"]+)', path.read_text()):
        if "/" in included and not included.startswith("tessera/"):
            bad.append(f"{path.relative_to(root)}: a public header includes {included}")
defined = {}
for path in sorted(p for part in ("src", "include") for p in (root / part).rglob("*.[hc]*")):
    spaces = []  # clang-format puts no indentation into namespaces and writes their ends
    for line in path.read_text().splitlines():
        if m := re.match(r"namespace ?(.*?) ?\{$", line):
            spaces.append(m[1])
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif "" not in spaces and (m := re.match(r"(?:struct|class|enum class) (?:TESSERA_API )?(\w+)(?: final)?(?: :[^:].*)? \{", line)):
            first = defined.setdefault((*spaces, m[1]), path)
            if first != path:
                bad.append(f"{path.relative_to(root)} and {first.relative_to(root)} both define {m[1]}")
print("\n".join(bad) or "rooms are in order")
sys.exit(bool(bad))
