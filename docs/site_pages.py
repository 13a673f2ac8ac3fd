"""What mkdocs cannot do with its own settings: pages from other files, examples as code.

As a hook it makes pages of the files at the top of the repository and of the notebook, so that
nothing is written twice. As an extension of griffe it fences the ``>>>`` examples of docstrings.
"""

import json
import re
from pathlib import Path

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {  # source, from the top of the repository: page
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "docs/quickstart.ipynb": "notebook.md",
}
_EXAMPLE = re.compile(r"(?:^|(?<=\n\n))>>> .*?(?=\n\n|\Z)", re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of other files."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        words = from_notebook(text) if source.endswith(".ipynb") else text
        files.append(File.generated(config, page, content=words.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to those files lead to their pages."""
    for source, page in PAGES.items():
        name = source.removeprefix("docs/")
        markdown = re.sub(rf"\]\((?:\.\./)?{re.escape(name)}(?=[)#])", f"]({page}", markdown)
    return markdown


def from_notebook(text: str) -> str:
    """Write a notebook as Markdown."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        code = cell["cell_type"] == "code"
        parts.append(f"```python\n{source}\n```" if code else source)
    return "\n\n".join(parts) + "\n"


class Examples(griffe.Extension):
    """Fences the examples of docstrings, which Markdown takes for quotations otherwise."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Change a docstring before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
