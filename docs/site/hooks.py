"""What the documentation becomes on its way to a site; MkDocs calls these functions (mkdocs.yml)."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

_FENCE = re.compile(r"^```([a-z]+) +(?![a-z_]+=)[^\n]*$", re.MULTILINE)
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OUT = re.compile(r"\[([^\]]+)\]\(\.\./(?:\.\./)*([\w./-]+)(#[\w-]+)?\)")
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_FORBIDDEN = re.compile(r"<style|<[a-z][^>]*\s(?:style|on[a-z]+)=", re.IGNORECASE)
_UNNAMED = 'data-md-component="search" role="dialog"'  # the theme's
_SCRIPTS = "site/assets/moved"
_DRAWN = Path(__file__).with_name("drawn")


def on_files(files: Any, config: Any) -> Any:
    """The changelog stands beside README.md, where people look for it; on the site it is a page."""
    changes = Path(config.config_file_path).with_name("CHANGELOG.md").read_text()
    files.append(File.generated(config, "changelog.md", content=changes))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fences without our own words, diagrams as pictures, and no link out of the site."""
    drawn = _MERMAID.sub(lambda found: _drawn(found[1], page), markdown)
    return _OUT.sub(lambda found: _within(files, page, *found.groups()), _FENCE.sub(r"```\1", drawn))


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Inline scripts become files of the site. Anything else that the content security policy refuses is an error."""
    made = _INLINE.sub(lambda found: _moved(found[1], page, config), output)
    made = made.replace(_UNNAMED, f'{_UNNAMED} aria-label="Search"')
    refused = _FORBIDDEN.search(re.sub(r"<pre.*?</pre>", "", made, flags=re.DOTALL))
    if refused:
        raise ValueError(f"{page.file.src_path}: the content security policy refuses {refused[0][:200]}")
    return made


def _drawn(text: str, page: Any) -> str:
    """The picture of a diagram; docs/site/diagrams.py has made it, as a build has no engine to draw it with."""
    picture = _DRAWN / f"{sha256(text.encode()).hexdigest()[:12]}.svg"
    if not picture.exists():
        raise ValueError(f"{page.file.src_path}: a diagram was changed and not drawn; run `make docs`")
    return picture.read_text()


def _within(files: Any, page: Any, text: str, path: str, fragment: str | None) -> str:
    """A link to a file beside `docs/`: to the page it has become, or its words alone."""
    name = path.lower()
    if files.get_file_from_path(name) is None:
        return text
    return f"[{text}]({'../' * page.file.src_uri.count('/')}{name}{fragment or ''})"


def _moved(script: str, page: Any, config: Any) -> str:
    name = f"{_SCRIPTS}/{sha256(script.encode()).hexdigest()[:12]}.js"
    target = Path(config.site_dir) / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(script)
    return f'<script src="{"../" * page.url.count("/")}{name}"></script>'


def on_post_build(config: Any) -> None:
    """The web process has a page of its own for what is not there, and a sitemap takes an address of its own."""
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        (Path(config.site_dir) / name).unlink(missing_ok=True)
