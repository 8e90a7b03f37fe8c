"""Follows docs/adding_an_op.md: follow.py SOURCE_DIR --write FOLDER | --check | --plant.

In the guide, each block of code says where it goes, by the end of the paragraph in front of it:

    `FILE`, a new file:          the block is the whole file;
    `FILE`, after `LINE`:        the block follows the only line of the file that has this text;
    `FILE` has:                  the block quotes the file, line by line.

--check says which blocks do not fit the source, by the guide's section and line. --write does the same, and writes the files with
the blocks in them under FOLDER, so that compilers report mistakes in a block at its line of the guide. --plant makes mistakes in
the guide, and has to find each of them."""
import pathlib
import re
import sys

GUIDE = "docs/adding_an_op.md"
PLACE = re.compile(r"`([\w./]+)`(?:, (?:(a new file)|after `([^`]+)`)| has):$")


def blocks(guide):
    """(section, number of the block's first line, the paragraph in front of it, its lines) of each block of C++."""
    section, paragraph, block, ended = "", [], None, True
    for number, line in enumerate(guide.split("\n"), 1):
        if block is not None and line == "```":
            yield section, begin, " ".join(paragraph), block
            block, paragraph = None, []
        elif block is not None:
            block.append(line)
        elif line == "```cpp":
            block, begin = [], number + 1
        elif line.startswith("## "):
            section, paragraph = line[3:], []
        elif line.strip():
            paragraph = [line] if ended else paragraph + [line]
        ended = not line.strip()


def plain(line):
    """A line as it is compared: without its comment, with single spaces."""
    return " ".join(re.sub(r"\s//.*", "", line).split())


def follow(guide, read):
    """(the files that change, by name, as lists of (text, line number, whether the guide has it); what does not fit)"""
    files, misfits, fitted = {}, [], 0
    for section, begin, paragraph, block in blocks(guide):
        def misfit(what):
            misfits.append(f'{GUIDE}:{begin}: section "{section}": {what}')

        place = PLACE.search(paragraph)
        if not place:
            misfit("the paragraph in front of this block does not end with the file that the block goes into")
            continue
        name, new, line = place.groups()
        text = read(name)
        added = [(t, begin + k, True) for k, t in enumerate(block)]
        if new:
            if text is not None or name in files:
                misfit(f"{name} exists already")
                continue
            files[name] = added
        elif text is None:
            misfit(f"there is no {name}")
            continue
        elif line is None:
            there = {plain(t) for t in text.split("\n")}
            gone = [t.strip() for t in block if plain(t) not in there]
            if gone:
                misfit(f"{name} does not have the line {gone[0]}")
                continue
        else:
            now = files.setdefault(name, [(t, k, False) for k, t in enumerate(text.split("\n"), 1)])
            at = [k for k, (t, _, _) in enumerate(now) if plain(t) == plain(line)]
            if len(at) != 1:
                misfit(f"{name} has {len(at)} lines with the text {line}, and the block goes after the only one")
                continue
            now[at[0] + 1:at[0] + 1] = added
        fitted += 1
    if fitted < 9 and not misfits:
        misfits.append(f"{GUIDE}: {fitted} blocks have a place, and at least 9 did")
    return files, misfits


def write(files, root, folder):
    for name, lines in files.items():
        out, last = [], (None, None)
        for text, number, of_guide in lines:
            if (of_guide, number - 1) != last:
                out.append(f'#line {number} "{root / (GUIDE if of_guide else name)}"')
            out.append(text)
            last = (of_guide, number)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(out) + "\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    guide = (root / GUIDE).read_text()

    def read(name):
        return (root / name).read_text() if (root / name).is_file() else None

    files, misfits = follow(guide, read)
    if "--plant" in sys.argv[2:]:
        plants = [("`src/ops/list.inc`, after `TESSERA_OP(general_window)`:", "`src/ops/list.inc`, after `TESSERA_OP(gone)`:"),
                  ("`src/ops/build.h`, after", "`src/ops/built.h`, after"), ("`src/ops/reduction/top_k.cc` has:", "The source has:"),
                  ("  op.lowering = Lowering::called;", "  op.lowering = Lowering::emitted;"),
                  ("`src/ops/elementwise/gudermannian.cc`, a new file:", "`src/ops/elementwise/hypot.cc`, a new file:")]
        missed = [old for old, new in plants if guide.count(old) != 1 or not follow(guide.replace(old, new), read)[1]]
        print("\n".join(f"a planted mistake is not found: {old}" for old in missed) or "every planted mistake is found")
        return bool(missed)
    print("\n".join(misfits) or f"the blocks of the guide fit, and change {len(files)} files")
    if "--write" in sys.argv[2:] and not misfits:
        write(files, root, pathlib.Path(sys.argv[sys.argv.index("--write") + 1]))
    return bool(misfits)


if __name__ == "__main__":
    sys.exit(main())
