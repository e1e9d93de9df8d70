"""A hook of MkDocs: notebooks become pages with the outputs that are stored in them. Nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_FENCE = "```"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Put a page in the place of each notebook."""
    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        notebook = json.loads(Path(str(file.abs_src_path)).read_text(encoding="utf-8"))
        files.remove(file)
        files.append(File.generated(config, file.src_uri.removesuffix(".ipynb") + ".md", content=page_of(notebook)))
    return files


def page_of(notebook: dict[str, Any]) -> str:
    """The cells of a notebook as Markdown."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace(".ipynb)", ".md)"))
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
