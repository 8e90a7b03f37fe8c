"""Checks that code decides by the properties and rules of an op (src/ir/op.h), not by its name, outside the op's folder in src/ops.

It searches the sources for comparisons of an op's name, lookups by it, tables keyed by names and comparisons with an op that was looked
up. Making an equation by an op's name (`emit1("add", ...)`, `Registry::get().at("gather")`) is allowed, and so is printing the name.
Attributes that several rooms read have typed views, and only the files of these views may contain their names.
`check_names.py ROOT --plant` tests the rules with lines that break them and with lines that do not."""
import pathlib
import re
import sys

rooms = ["base", "processes", "ir", "ops", "transform", "spmd", "codegen", "runtime", "api", "stablehlo", "platforms", "explain", "autosharding", "nn", "optim", "data", "checkpoints"]
# In stablehlo, only the folder that writes our ops, because the others work with the names of StableHLO's operations. The tables of
# how our ops are written are kept complete by tests/stablehlo/emit_table_test.cc.
tables_of_names = {"src/stablehlo/emit/table.cc", "src/stablehlo/emit/by_elements.cc", "src/stablehlo/emit/target.cc"}
folders = ["elementwise", "movement", "indexing", "contraction", "reduction", "linalg", "collective", "random", "control"]
# The planner's own ops, which occur only in its programs, and the op of another equation.
same_op = r"(?!(?:block|assemble|through_views)_op\(\)|[\w.>-]*\bop\b)"

name = r"\bop\w*(?:->|\.)name\b"  # eqn.op->name, a.op.name
text = r"(?:const )?(?:std::string|std::string_view|auto)\s*[&*]?"
compared = [
    (rf"{name}\s*(?:==|!=|<=>|\.(?:starts_with|ends_with|find|rfind|substr|compare|contains|front|back)\b|\[)", "compares an op's name"),
    (rf"(?:==|!=)\s*[\w.()>-]*?{name}", "compares an op's name"),
    (rf"(?:\.|->)(?:find|count|contains|at)\(\s*[\w.()>-]*?{name}\s*\)|\[\s*[\w.()>-]*?{name}\s*\]", "looks something up by an op's name"),
    (rf"\bstr\w*cmp\([^;]*?{name}", "compares an op's name"),
    (rf"{text}\s*\w+\s*(?:=\s*|\{{\s*|\(\s*)[\w.()>-]*?{name}\s*[;)}}]", "keeps an op's name"),
    (rf"(?<!Message)(?<!need_countable)\(\s*[\w.()>-]*?{name}\s*,|,\s*[\w.()>-]*?{name}\s*[,)]", "hands an op's name on"),
    (rf"\bop\w*\s*(?:==|!=)\s*&{same_op}|&Registry::get\(\)\.at\([^)]*\)\s*(?:==|!=)", "compares with an op that is looked up"),
    (r"(?:==|!=)\s*&?Registry::get\(\)|Registry::get\(\)\.find\(\s*\"", "compares with an op that is looked up"),
]


# The attributes that are read through a view, with its file. Names that mean other things elsewhere are left out, but for the axes of
# collectives, which are told from those of reductions by their type. The readers of StableHLO have attributes of their own.
views = {
    "src/ir/collective_attrs.h": [r'"groups"', r'(?:Strings|std::vector<std::string>)>\("axes"\)', r'find\("axes"\)', r'"axes", (?:std::move\()?(?:axes|Strings)'],
    "src/ir/region_attrs.h": [r'"(?:manual|in_specs|out_specs)"', r'MeshRef>\("mesh"\)'],
    "src/ops/control/cond_rules.h": [r'"branches"'],
    "src/ops/control/while_rules.h": [r'"(?:cond_consts|body_consts)"'],
}
# Reductions have axes too, which are numbers of dimensions, and constraints a mesh.
others = {
    "src/codegen/kernel/reduce_shape.cc": "axes", "src/ops/reduction/reduce_rules.cc": "axes", "src/ops/reduction/general_reduce.cc": "axes",
    "src/ops/elementwise/sharding_constraint.cc": "mesh",
}
foreign_attributes = ("src/stablehlo/text/", "src/stablehlo/bytecode/", "src/stablehlo/import/")


def unviewed(path, code):
    """(position, text) of each place where a file reads an attribute by its name although there is a view of it."""
    if path.startswith(foreign_attributes):
        return []
    found = []
    for view, patterns in views.items():
        for pattern in patterns if path != view else []:
            if path not in others or others[path] not in pattern:
                found += [(m.start(), f"names an attribute that {view} has a view of") for m in re.finditer(pattern, code)]
    return found


def stripped(source):
    """The text without comments. Line numbers do not change."""
    part = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', re.S)
    return part.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0], source)


def tables(code, ops):
    """The positions of braces that hold two or more op names, as elements or as the first element of inner braces."""
    open_at, names, all_names = [], {}, {}
    for m in re.finditer(r'"((?:\\.|[^"\\\n])*)"|[{}]', code):
        if m[0] == "{":
            open_at.append(m.start())
        elif m[0] == "}":
            if open_at:
                open_at.pop()
        elif open_at:
            all_names[open_at[-1]] = all_names.get(open_at[-1], 0) + 1
            if m[1] not in ops:
                continue
            before = code[: m.start()].rstrip()[-1:]
            if before == "{" and len(open_at) > 1 and code[m.end():].lstrip()[:1] == ",":
                names.setdefault(open_at[-2], []).append(m.start())
            if before in "{,":
                names.setdefault(open_at[-1], []).append(m.start())
    # A call within the braces holds its arguments itself; of names of other things, some are those of ops too.
    return [
        places[0] for start, places in names.items()
        if len(places) > 1 and 2 * len(places) >= all_names.get(start, 0) and "(" not in code[start:places[-1]]
    ]


def problems(code, ops, theirs=frozenset()):
    """(position, text) of each violation in a file that may compare the names of `theirs`."""
    found = []
    literal = "|".join(sorted(map(re.escape, ops - theirs), key=len, reverse=True))
    beside = re.compile(
        rf'(?:==|!=)\s*(?:std::string(?:_view)?\(?)?"({literal})"(?!\s*\+)|"({literal})"\s*(?:sv?\s*)?(?:==|!=)'
        rf'|\.(?:starts_with|ends_with|find|count|contains|compare)\(\s*"({literal})_?"\s*\)')
    # The value of an attribute, or a method that the user chose, may be spelt like an op.
    attribute = re.compile(r'(?:\.str\("\w+"\)|\bif \(method)\s*$')
    found += [
        (m.start(), f"compares with the name of the op {m[1] or m[2] or m[3]}")
        for m in beside.finditer(code) if not attribute.search(code[: m.start()])
    ]
    if not theirs:
        for pattern, what in compared:
            found += [(m.start(), what) for m in re.finditer(pattern, code)]
        found += [(at, "has a table of op names") for at in tables(code, ops)]
    return found


def planted(ops):
    """Tests the rules with lines that must be found, and with lines that must not."""
    bad = [
        'if (eqn.op->name == "psum") return;', 'if ("psum" == eqn.op->name) return;', "if (e.op->name != other) return;",
        'if (eqn.op->name.starts_with("reduce_")) return;', "const std::string& name = eqn.op->name;", "auto name = e.op->name;",
        'if (name == "while") return;', 'return op == "dot_general" || op == "convolution";', "if (kinds.count(e.op->name)) return;",
        "auto kind = kinds[e.op->name];", "combine(eqn.op->name, eqn.attrs, x);", 'if (name.starts_with("scatter")) return;',
        'static const std::set<std::string_view> exact{"neg", "abs"};', 'static const std::map<std::string, int> kinds = {{"psum", 1}, {"pmax", 2}};',
        'if (e.op == &Registry::get().at("add")) return;', "if (e.op == &gather) return;", 'const Op* add = Registry::get().find("add");',
        'std::string_view name{eqn.op->name};', "if (!std::strcmp(eqn.op->name.c_str(), kName)) return;",
        "return std::find(names.begin(), names.end(), e.op->name) != names.end();", 'if (std::string_view(o.name) == "psum") return;', 'if (\n    e.op->name ==\n    kName) return;',
    ]
    good = [
        'b.emit1("add", {x, y});', 'made.op = &Registry::get().at("slice");', 'Message(eqn.op->name).problem("no");',
        'throw InternalError("op \'" + eqn.op->name + "\' has no evaluator");', "step.name = eqn.op->name;", "if (e.op == eqn.op) return;",
        'if (name == "axes") return;', 'Attrs attrs{{"axis", axis}, {"dtype", dtype}};', '// if (eqn.op->name == "psum")', 'const char* s = "a == \\"psum\\"";',
        "if (eqn.op == &block_op()) return;", 'const auto& axes = eqn.attrs.get<Strings>("axes");', 'use.op = eqn.op->name;',
        'if (spec.name == other.name) return;', 'return attrs.str("select") == "ge";', "if (entry.op == &a.op) return;", 'const char* kinds[] = {"kernel", "copy", "scan", "while", "collective"};', '{"reverse", f.reverse}', 'if (method == "svd") return;',
    ]
    missed = [line for line in bad if not problems(stripped(line), ops)]
    wrong = [line for line in good if problems(stripped(line), ops)]
    by_name = ['const auto& axes = eqn.attrs.get<Strings>("axes");', 'if (const AttrValue* g = e.attrs.find("groups")) return;', 'a.attrs.get<Programs>("branches")']
    missed += [line for line in by_name if not unviewed("src/codegen/tape/lower.cc", line)]
    wrong += [line for line in by_name[1:] if unviewed("src/stablehlo/import/reading.cc", line)]
    wrong += [line for line in ['e.attrs.ints("axes")', 'CollectiveAttrs(e.attrs).axes'] if unviewed("src/codegen/fuse/traits.cc", line)]
    return [f"not found: {line}" for line in missed] + [f"found for no reason: {line}" for line in wrong]


root = pathlib.Path(sys.argv[1])
ops = set(re.findall(r"^### (\w+)$", (root / "docs/ops.md").read_text(), re.M))
if len(ops) < 50:
    sys.exit("docs/ops.md does not list the ops")
if "--plant" in sys.argv:
    wrong = planted(ops)
    print("\n".join(wrong) or "planted lines are found, the others not")
    sys.exit(bool(wrong))

# An op belongs to the folder of the file that registers it.
folder_of = {}
for path in sorted((root / "src").rglob("*.cc")):
    code = stripped(path.read_text())
    if "Registry& r)" in code:
        code = re.sub(r'\b(?:emit1?|Message|scatter|reduce_over|reduce_window|at)\(\s*"\w+"|\bwaived\["\w+"\]|\bwaived = \{.*?\};', "", code, flags=re.S)
        for literal in re.findall(r'"(\w+)"', code):
            if literal in ops:
                folder_of.setdefault(literal, set()).add(path.parent.name)
# A folder may also make ops of the folders before it.
folder_of = {op: min(found & set(folders), key=folders.index) for op, found in folder_of.items() if found & set(folders)}
if lost := ops - set(folder_of) - {"shard_map"}:
    sys.exit(f"no folder of src/ops registers {', '.join(sorted(lost))}")
bad = []
for path in sorted((root / "src").rglob("*.[hc]*")):
    room = path.relative_to(root / "src").parts[0]
    if room not in rooms or (room == "stablehlo" and path.parent.name != "emit") or str(path.relative_to(root)) in tables_of_names:
        continue
    theirs = frozenset(op for op in ops if folder_of.get(op) == path.parent.name) if room == "ops" else frozenset()
    if room == "spmd" and path.name.startswith("shard_map"):
        theirs = frozenset({"shard_map"})
    if path == root / "src/ir/op.cc":
        continue  # the registry
    code = stripped(path.read_text())
    for at, what in sorted(set(problems(code, ops, theirs) + unviewed(str(path.relative_to(root)), code))):
        bad.append(f"{path.relative_to(root)}:{code.count(chr(10), 0, at) + 1}: {what}")
print("\n".join(bad) or "ops are known by their properties")
sys.exit(bool(bad))
