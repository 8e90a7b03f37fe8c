"""Turns Jupyter's notebooks into Markdown with their outputs: markdown(TEXT) gives the Markdown, in which @@picture K@@ stands for a picture,
and the pictures as pairs of a suffix and bytes."""
import base64
import json

PICTURES = {"image/svg+xml": "svg", "image/png": "png"}


def fenced(language, text):
    text = text.rstrip("\n")
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}\n"


def output(one, pictures):
    """The Markdown of an output; of several forms, a picture is taken before a text."""
    if one["output_type"] == "stream":
        return fenced("text", "".join(one["text"]))
    if one["output_type"] == "error":
        return fenced("text", "\n".join(one["traceback"]))
    for kind, suffix in PICTURES.items():
        if kind in one["data"]:
            data = "".join(one["data"][kind])
            pictures.append((suffix, data.encode() if suffix == "svg" else base64.b64decode(data)))
            return f"@@picture {len(pictures) - 1}@@\n"
    return fenced("text", "".join(one["data"].get("text/plain", "")))


def markdown(text):
    parts, pictures = [], []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
            continue
        parts.append(fenced("cpp", source))
        shown = [output(one, pictures) for one in cell["outputs"]]
        if shown:
            parts.append('<div class="output" markdown="1">\n\n' + "\n".join(shown) + "\n</div>\n")
    return "\n".join(parts), pictures
