"""SVG drawings that can be read on light and dark pages, for speed.py and journey.py.

A drawing takes its colours from classes. Shown as an image, it follows the reader's system; build.py puts it into the pages of the site, where
site.css gives it the colours of the page's theme. Each drawing is written twice, for wide windows and, as NAME_narrow.svg, for narrow ones, so
that its text has the same size in both."""
import html
import re

WIDE, NARROW = 720, 352
MONO, SANS = 0.605, 0.56  # the width of a letter by the size of the font; of a proportional font, that of an average letter

LIGHT = {"ground": "#ffffff", "card": "#f2f5fa", "rule": "#ccd4e0", "ink": "#1b2230", "soft": "#566072", "blue": "#1f5fa8", "orange": "#b04f0c",
         "green": "#1f7a3d", "purple": "#8a2f7a", "tint": "#fbeee4"}
DARK = {"ground": "#1f222b", "card": "#2a2e3a", "rule": "#474e5f", "ink": "#e8ebf2", "soft": "#aeb7c7", "blue": "#7db4f0", "orange": "#f0a06a",
        "green": "#7ccf92", "purple": "#dd9ed2", "tint": "#3a2f2a"}


def variables(colours):
    return ";".join(f"--{name}:{value}" for name, value in colours.items())


STYLE = (f".drawing{{{variables(LIGHT)};font-family:'Noto Sans','Segoe UI','Helvetica Neue','DejaVu Sans',sans-serif;font-size:13px}}"
         f"@media(prefers-color-scheme:dark){{.drawing{{{variables(DARK)}}}}}"
         ".drawing text{fill:var(--ink)}.drawing .mono{font-family:'JetBrains Mono','Cascadia Code',Menlo,Consolas,'DejaVu Sans Mono',monospace}"
         ".drawing .halo{paint-order:stroke;stroke:var(--ground);stroke-width:3px}.drawing .bold{font-weight:600}.drawing .s{stroke:var(--rule);fill:none}"
         + "".join(f".drawing .{c},.drawing text.{c}{{fill:var(--{c})}}.drawing .s-{c}{{stroke:var(--{c});fill:none}}" for c in LIGHT))


def number(x):
    text = f"{x:.1f}"
    return text[:-2] if text.endswith(".0") else text


def width_of(text, size=13, mono=False):
    """An estimate of the width of a text."""
    return len(text) * size * (MONO if mono else SANS)


class Drawing:
    """Elements from the top to the bottom; the height is known at the end."""

    def __init__(self, width, title):
        self.width, self.title, self.parts = width, title, []

    def text(self, x, y, text, classes="", size=None, anchor=None, more=""):
        attrs = "".join(f' {k}="{v}"' for k, v in (("class", classes), ("font-size", size), ("text-anchor", anchor)) if v)
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}"{attrs}{more}>{html.escape(text, quote=False)}</text>')

    def spans(self, x, y, pieces, classes="mono", size=12):
        """One line of text in pieces (text, classes)."""
        inside = "".join(f'<tspan class="{c}">{html.escape(t, quote=False)}</tspan>' if c else html.escape(t, quote=False) for t, c in pieces)
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" class="{classes}" font-size="{size}" xml:space="preserve">{inside}</text>')

    def rect(self, x, y, width, height, classes, radius=0, more="", title=""):
        round_ = f' rx="{radius}"' if radius else ""
        inside = f"><title>{html.escape(title)}</title></rect>" if title else "/>"
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"{round_} class="{classes}"{more}{inside}')

    def box(self, x, y, width, height, edge="rule", fill="card", radius=6):
        """A rectangle with an edge."""
        self.rect(x, y, width, height, fill, radius, f' style="stroke:var(--{edge})"')

    def path(self, d, classes="s-rule", width=1, more=""):
        self.parts.append(f'<path d="{d}" class="{classes}" stroke-width="{width}"{more}/>')

    def line(self, x1, y1, x2, y2, classes="s-rule", width=1, more=""):
        self.path(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", classes, width, more)

    def arrow(self, x1, y1, x2, y2, classes="soft", width=1.5):
        """A straight arrow, down or to the right."""
        self.line(x1, y1, x2, y2, f"s-{classes}", width)
        tip = f"M{number(x2 - 4)} {number(y2 - 6)}L{number(x2)} {number(y2)}L{number(x2 + 4)} {number(y2 - 6)}z" if x1 == x2 else \
            f"M{number(x2 - 6)} {number(y2 - 4)}L{number(x2)} {number(y2)}L{number(x2 - 6)} {number(y2 + 4)}z"
        self.parts.append(f'<path d="{tip}" class="{classes}"/>')

    def dot(self, x, y, radius, colour, title="", hollow=False):
        look = f' class="ground" style="stroke:var(--{colour})" stroke-width="1.5"' if hollow else f' class="{colour}"'
        inside = f"><title>{html.escape(title)}</title></circle>" if title else "/>"
        self.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"{look}{inside}')

    def lines(self, x, y, text, width, classes="", size=13, step=None):
        """A text broken into lines; returns the place below it."""
        line = ""
        for word in text.split():
            if line and width_of(f"{line} {word}", size) > width:
                self.text(x, y, line, classes, size)
                line, y = "", y + (step or size * 1.4)
            line = f"{line} {word}".strip()
        self.text(x, y, line, classes, size)
        return y + (step or size * 1.4)

    def svg(self, height):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {number(self.width)} {number(height)}" width="{number(self.width)}" '
            f'height="{number(height)}" style="max-width:{number(self.width)}px" role="img" aria-label="{html.escape(self.title)}">', f"<style>{STYLE}</style>",
            f'<rect width="{number(self.width)}" height="{number(height)}" class="ground" rx="6"/>', *self.parts, "</svg>"]) + "\n"


def both(draw, *arguments):
    """{suffix of the file: SVG} of a function that draws for a width."""
    return {"": draw(WIDE, *arguments), "_narrow": draw(NARROW, *arguments)}


def site_style():
    """The style of drawings inside of a page, which follow its theme."""
    return STYLE.replace(STYLE[STYLE.index("@media"):STYLE.index("}}") + 2], f"[data-md-color-scheme=slate] .drawing{{{variables(DARK)}}}")


def put_into_pages(site):
    """Replaces the images of pages that have a narrow form by both forms of the drawing, of which site.css shows one."""
    def inside(path, text):
        svg = re.sub(r"<style>.*?</style>\n", "", path.read_text()).strip().replace("\n", "")
        return svg if "aria-label" in svg else svg.replace("<svg ", f'<svg role="img" aria-label="{text}" ', 1)

    for page in site.rglob("*.html"):
        text = page.read_text()

        def replaced(m):
            wide = (page.parent / m[2]).resolve()
            narrow = wide.with_name(f"{wide.stem}_narrow.svg")
            if not narrow.exists():
                return m[0]
            return f'<span class="drawing-wide">{inside(wide, m[1])}</span><span class="drawing-narrow">{inside(narrow, m[1])}</span>'
        changed = re.sub(r'<img alt="([^"]*)" src="([^"]*\.svg)" ?/?>', replaced, text)
        if changed != text:
            page.write_text(changed.replace("</head>", f"<style>{site_style()}</style></head>", 1))
