"""A hook of MkDocs: notebooks become pages with the outputs that are stored in them. Nothing is run."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_FENCE = "```"
_LINK = re.compile(r"\]\((?P<path>[^):\s]*)\.ipynb\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add a page for each notebook; the notebook itself stays beside it, to be downloaded."""
    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        notebook = json.loads(Path(str(file.abs_src_path)).read_text(encoding="utf-8"))
        page = page_of(notebook) + f'\n<a href="../{PurePosixPath(file.src_uri).name}" download>Download</a>\n'
        files.append(File.generated(config, file.src_uri.removesuffix(".ipynb") + ".md", content=page))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links to notebooks lead to their pages."""
    return _LINK.sub(r"](\g<path>.md)", markdown)


def page_of(notebook: dict[str, Any]) -> str:
    """The cells of a notebook as Markdown."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"{_FENCE}python\n{source}\n{_FENCE}")
        parts += [shown for output in cell["outputs"] if (shown := _output(output))]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    """HTML and pictures as they are, everything else as text."""
    data = output.get("data", {})
    if "text/html" in data:
        # one line: an empty line would end the HTML
        html = " ".join("".join(data["text/html"]).split("\n"))
        return f'<div class="notebook-output">{html}</div>'
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        shown = f'<img alt="Output of the cell above" src="data:image/png;base64,{picture}">'
        return f'<div class="notebook-output">{shown}</div>'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"{_FENCE}text\n{text.rstrip()}\n{_FENCE}" if text.strip() else ""
