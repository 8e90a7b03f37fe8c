"""Turns the text of a comment into Markdown: markdown(TEXT, LINK), where LINK(name) is the address of a public name, or None."""
import html
import re

CODE_LIKE = re.compile(r"(?<![\w/.:-])((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)(\(\))?(?=(\()?)")
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z\"`({])")


def escaped(text):
    """The text with what Markdown would read as markup escaped; a bar would end a cell of a table."""
    return re.sub(r"([\\`*_\[\]{}#])", r"\\\1", html.escape(text, quote=False)).replace("|", "&#124;").replace("~", "&#126;").replace("^", "&#94;")


def code(text, address):
    shown = f"`{text}`"
    return f"[{shown}]({address})" if address else shown


def inline(text, link):
    """A paragraph: names that look like code become code, and public ones links."""
    out = []
    for k, piece in enumerate(re.split(r"`([^`]+)`", text)):
        if k % 2:
            out.append(code(piece, link(re.sub(r"^ts::|\(.*", "", piece))))
            continue
        at = 0
        for m in CODE_LIKE.finditer(piece):
            name = m[1]
            looks = "_" in name or "::" in name or bool(m[2]) or bool(m[3]) or re.search(r"[a-z][A-Z]", name)
            address = link(name.removeprefix("ts::")) if looks else None
            if address:
                out += [escaped(piece[at:m.start()]), code(m[0], address)]
                at = m.end()
        out.append(escaped(piece[at:]))
    return "".join(out)


def blocks(text):
    """("code" or "text" or "list", lines) of each part of a comment. Deeper indented lines are code."""
    found = []
    for line in text.split("\n"):
        if not line.strip():
            found.append(("gap", []))
            continue
        kind = "code" if line.startswith("  ") and not (found and found[-1][0] == "list") else "text"
        if re.match(r"[*-] ", line):
            kind = "list"
            found.append((kind, [line[2:]]))
            continue
        if found and found[-1][0] == "list" and line.startswith("  "):
            found[-1][1].append(line.strip())
        elif found and found[-1][0] == kind:
            found[-1][1].append(line)
        elif kind == "code" and len(found) > 1 and found[-1][0] == "gap" and found[-2][0] == "code":
            found.pop()
            found[-1][1].extend(["", line])
        else:
            found.append((kind, [line]))
    return [f for f in found if f[0] != "gap"]


def markdown(text, link):
    out, errors = [], []
    for kind, lines in blocks(text):
        if kind == "code":
            margin = min(len(x) - len(x.lstrip()) for x in lines if x)
            out.append("```cpp\n" + "\n".join(x[margin:] for x in lines) + "\n```")
        elif kind == "list":
            item = "* " + inline(" ".join(lines), link)
            out.append(item) if not (out and out[-1].startswith("* ")) else out.__setitem__(-1, out[-1] + "\n" + item)
        else:
            said = []
            for sentence in SENTENCE.split(" ".join(x.strip() for x in lines).strip()):
                (errors if re.match(r"Throws\b", sentence) else said).append(sentence)
            if any(said):
                out.append(inline(" ".join(said), link))
    if errors:
        out.append("**Errors.** " + inline(" ".join(errors), link))
    return "\n\n".join(out)


def first_sentence(text):
    flat = " ".join(lines for kind, lines in ((k, " ".join(x)) for k, x in blocks(text)) if kind == "text")
    m = re.match(r"(.*?[.:])(?=\s+[A-Z`\"]|\s*$)", flat)
    return re.sub(r":$", ".", m[1]) if m else flat
