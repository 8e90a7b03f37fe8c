"""Checks that a room includes only itself and rooms above it, that libraries include only public headers, and public headers no internal
ones. A component, which programs link (cmake/TesseraComponents.cmake), includes only itself and the components that it needs.
A type is defined once in its namespace, because two types of one name would share functions that the compiler does not inline."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
rooms = ["base", "processes", "ir", "ops", "transform", "spmd", "codegen", "runtime", "api", "stablehlo", "platforms", "explain", "autosharding"]
# Inside a room, a folder includes only itself, files that are in no folder, and folders before it.
inner = {
    "ops": ["elementwise", "movement", "indexing", "contraction", "reduction", "linalg", "collective", "random", "control"],
    "stablehlo": ["text", "bytecode", "emit", "import", "functions"],
    "spmd": ["place", "region", "propagate", "reshard", "partition"],
    "codegen": ["kernel", "matrix", "ahead", "nest", "calls", "fuse", "tape"],
    "runtime": ["host", "cpu"],
    "api": ["array", "trace", "numpy", "linalg", "special", "random", "control", "devices", "transform", "interop"],
}
# Public headers that the rooms before api may include; api implements the others.
shared_headers = {"config", "dtype", "error", "shape", "axis_list", "inline_vector", "message", "warning", "detail/input_file", "detail/moved", "detail/replace_file", "detail/report", "detail/unfinished_files", "detail/visible"}
libraries = ["nn", "optim", "data", "checkpoints"]
# The plug-in is a shared library of its own, of which no room includes anything.
plug_in = "pjrt"
third_party_in_headers = re.compile(r'#include <(llvm/|dnnl|oneapi/|tbb/|nlohmann/|fmt/|cblas|sleef|gtest)')
bad = []
listed = (root / "cmake" / "TesseraComponents.cmake").read_text()


def names(variable):
    found = re.search(rf"^set\({variable} ([^)]*)\)", listed, re.M)
    return found[1].split() if found else []


# The core is made of the rooms up to api; each other component is the room of its name. It needs the core and what is listed for it.
core = names("TESSERA_ROOMS_core")
components = names("TESSERA_COMPONENTS")
needs = {component: {component, "core", *names(f"TESSERA_NEEDS_{component}")} if component != "core" else {"core"} for component in components}
if core != rooms[: rooms.index("api") + 1] or components != ["core", *rooms[rooms.index("api") + 1:], *libraries]:
    bad.append("cmake/TesseraComponents.cmake and tests/check_rooms.py list other rooms")
# The public headers of a component, by file or folder; the others are the core's.
headers = {
    "stablehlo": ["stablehlo"], "platforms": ["platform"], "explain": ["plan"], "autosharding": ["autoshard"], "nn": ["nn"], "optim": ["optim"], "data": ["data"],
    "checkpoints": ["checkpoint", "checkpoint_manager", "npy", "npz", "safetensors"],
}
component_of = {header: component for component, names_of_headers in headers.items() for header in names_of_headers}


def include_components(path, component):
    """Records the includes of a file that its component may not make."""
    text = path.read_text()
    included = [(f"{room}/", "core" if room in core else room) for room in re.findall(r'#include "([a-z_]+)/', text) if room in rooms + libraries]
    included += [(f"tessera/{name}.h", component_of.get(name.split("/")[0], "core")) for name in re.findall(r"#include <tessera/([^>]+)\.h>", text)]
    for what, of in included:
        # What jit.h declares of plans are results of the functions explain and plan, which the component defines.
        if of not in needs[component] and (path.name, what) != ("jit.h", "tessera/plan.h"):
            bad.append(f"{path.relative_to(root)} includes {what} of component {of}, which component {component} does not need")


for path in sorted((root / "src").rglob("*.[hc]*")):
    room = path.relative_to(root / "src").parts[0]
    if room not in [*rooms, *libraries, plug_in]:
        continue
    if room != plug_in:
        include_components(path, "core" if room in core else room)
    allowed = [*rooms[: rooms.index("explain") + 1], plug_in] if room == plug_in else rooms[: rooms.index(room) + 1] if room in rooms else [room]
    text = path.read_text()
    for included in re.findall(r'#include "([a-z_]+)/', text):
        if included not in allowed:
            bad.append(f"{path.relative_to(root)} includes {included}/, which room {room} may not")
    for included in re.findall(r"#include <tessera/([^>]+)\.h>", text):
        if room in rooms[: rooms.index("api")] and included not in shared_headers:
            bad.append(f"{path.relative_to(root)} includes tessera/{included}.h, which is for api to implement")
    folders = inner.get(room, [])
    if folders:
        folder = path.relative_to(root / "src" / room).parts[0]
        within = folders[: folders.index(folder) + 1] if folder in folders else []
        if folder not in folders and path.parent.name != room:
            bad.append(f"{path.relative_to(root)} lies in a folder that has no place in the order of {room}")
        for included in re.findall(rf'#include "{room}/([a-z_]+)/', text):
            if included not in within:
                bad.append(f"{path.relative_to(root)} includes {room}/{included}/, which {room}/{folder} may not")
    if path.suffix == ".h" and room != "codegen" and (m := third_party_in_headers.search(text)):
        bad.append(f"{path.relative_to(root)}: a header includes {m.group(0)}...")
for path in sorted((root / "include").rglob("*.h")):
    if path.name != "tessera.h":  # which includes all
        include_components(path, component_of.get(path.relative_to(root / "include" / "tessera").parts[0].removesuffix(".h"), "core"))
    for included in re.findall(r'#include [<"]([^>"]+)', path.read_text()):
        if "/" in included and not included.startswith("tessera/"):
            bad.append(f"{path.relative_to(root)}: a public header includes {included}")
defined = {}
for path in sorted(p for part in ("src", "include") for p in (root / part).rglob("*.[hc]*")):
    spaces = []  # clang-format does not indent namespaces, and comments their ends
    for line in path.read_text().splitlines():
        if m := re.match(r"namespace ?(.*?) ?\{$", line):
            spaces.append(m[1])
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif "" not in spaces and (m := re.match(r"(?:struct|class|enum class) (?:TESSERA_API )?(\w+)(?: final)?(?: :[^:].*)? \{", line)):
            first = defined.setdefault((*spaces, m[1]), path)
            if first != path:
                bad.append(f"{path.relative_to(root)} and {first.relative_to(root)} both define {m[1]}")
# Files of a room may be compiled together, and then share names in unnamed namespaces.
defined_at = re.compile(r"(?:(?:struct|class|enum class|enum) (\w+)\b(?!;)|(?:\[\[\w+\]\] )?(?:static |inline |constexpr |const |thread_local )*"
                        r"[A-Za-z][\w:<>,&* .()\[\]]*?[ &*](\w+)(?:\(| ?\[| =|;|\{))")


def parameters(line):
    """The types of the parameters on the first line of a function's definition."""
    listed = line[line.index("(") + 1 :].partition(")")[0].split(",")
    return tuple(re.sub(r"(?<=[ &*])\w+$", "", p.strip()).replace(" ", "") for p in listed)


hidden = {}
for path in sorted((root / "src").rglob("*.cc")):
    room = path.relative_to(root / "src").parts[0]
    spaces = []
    for line in path.read_text().splitlines():
        if m := re.match(r"namespace ?(.*?) ?\{$", line):
            spaces.append(m[1])
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif "" in spaces and line[:1].isalpha() and not line.startswith(("using", "template", "extern", "friend", "return", "namespace")):
            if m := defined_at.match(line):
                where = hidden.setdefault((room, tuple(spaces), m[1] or m[2]), {})
                where.setdefault(path, set()).add(parameters(line) if "(" in line else None)
for (room, _, name), where in sorted(hidden.items()):
    # Functions of the same name are allowed if they are overloads with different parameter types.
    types = [t for each in where.values() for t in each]
    if len(where) > 1 and (None in types or len(types) > len(set(types))):
        bad.append(f"{room}: {name} is in the unnamed namespaces of {', '.join(str(p.relative_to(root)) for p in where)}")
print("\n".join(bad) or "rooms are in order")
sys.exit(bool(bad))
