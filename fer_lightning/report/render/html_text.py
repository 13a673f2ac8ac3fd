"""Words of a report as HTML: everything that comes from data is escaped here."""

import html
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from fer_lightning.report.content import Text

OUTCOMES = {"not supported": "no", "undecided": "open", "supported": "yes"}
_MARKS = re.compile(r"(\*\*.+?\*\*|`[^`]+`)", re.DOTALL)
_CODE = re.compile(r"(`[^`]+`)")
_UNITS = re.compile(r"(?<=\d) (?=%)|(?<=[≥≤]) (?=\d)")  # blanks that no line may end at
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def escape(text: object) -> str:
    """Write a value so that a browser shows it, also within an attribute, and never runs it.

    >>> escape('<b title="x">&')
    '&lt;b title=&quot;x&quot;&gt;&amp;'
    """
    return html.escape(_CONTROLS.sub("�", str(text)))


def inline(text: str) -> str:
    """Write plain words with their two marks.

    >>> inline("**bold `x`** <i> `code **x**`")
    '<strong>bold <code>x</code></strong> &lt;i&gt; <code>code **x**</code>'
    """
    return "".join(_mark(part) for part in _MARKS.split(text))


def _mark(part: str) -> str:
    if len(part) > 4 and part.startswith("**") and part.endswith("**"):
        return f"<strong>{''.join(_mark(p) for p in _CODE.split(part[2:-2]))}</strong>"
    if len(part) > 2 and part.startswith("`") and part.endswith("`"):
        return f"<code>{escape(part[1:-1])}</code>"
    return together(part)


def together(text: str) -> str:
    r"""Escape words, a number and its sign staying on one line.

    >>> together("at 30 % of <all>, LFR ≥ 1")
    'at 30\xa0% of &lt;all&gt;, LFR ≥\xa01'
    """
    return _UNITS.sub("\N{NO-BREAK SPACE}", escape(text))


def anchor(name: str, taken: set[str]) -> str:
    """Make a name that can stand in a link, once in a page, and remember it.

    >>> taken = set()
    >>> anchor("Focus & nulls", taken), anchor("focus nulls", taken), anchor("<>", taken)
    ('focus-nulls', 'focus-nulls-2', 'part')
    """
    plain = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-") or "part"
    numbers = (f"{plain}-{number}" for number in range(2, 1 << 30))
    free = plain if plain not in taken else next(n for n in numbers if n not in taken)
    taken.add(free)
    return free


def outcome_of(text: str) -> str:
    """Name the outcome that a verdict speaks of first: "yes", "no", "open" or nothing.

    >>> outcome_of("**H2: not supported.** LFR is supported elsewhere."), outcome_of("H3 waits.")
    ('no', '')
    """
    found = re.search("|".join(OUTCOMES), text.lower())
    return OUTCOMES[found.group()] if found else ""


def paragraphs(texts: Iterable[Text]) -> str:
    r"""Write paragraphs one by one; verdicts that follow each other share a list of cards.

    >>> paragraphs([Text("One."), Text("Mind.", "note")])
    '<p>One.</p>\n<p class="note" role="note"><strong>Note</strong> Mind.</p>'
    """
    groups = groupby(texts, key=lambda text: text.kind)
    return "\n".join(piece for kind, some in groups for piece in _group(kind, some))


def _group(kind: str, texts: Iterable[Text]) -> Iterator[str]:
    if kind == "verdict":
        yield '<ul class="verdicts">' + "".join(_card(text.text) for text in texts) + "</ul>"
        return
    for text in texts:
        for part in re.split(r"\n\s*\n", text.text.strip()):
            if kind == "note":
                yield f'<p class="note" role="note"><strong>Note</strong> {inline(part)}</p>'
            elif re.fullmatch(r"`[^`]+`", part):  # nothing but code: commands to copy
                yield f"<pre><code>{escape(part[1:-1])}</code></pre>"
            else:
                yield f"<p>{inline(part)}</p>"


def _card(text: str) -> str:
    parts = "".join(f"<p>{inline(part)}</p>" for part in re.split(r"\n\s*\n", text.strip()))
    return f'<li class="verdict {outcome_of(text)}">{parts}</li>'
