# The documentation as a static site, from the same Markdown that GitHub shows: `make site`.
# Sphinx's configuration, for a source folder that is the whole repository.
import pathlib
import re

project = "rewrite-probes"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "fn/README.md", "kustomization-example/README.md"]
exclude_patterns = ["bin", "dist", "test"]
html_theme = "alabaster"
html_theme_options = {"description": "Kubelet probes that work in a mesh with strict mTLS", "page_width": "66em"}
html_show_copyright = False
myst_heading_anchors = 4
myst_links_external_new_tab = False
pygments_style = "default"
suppress_warnings = ["misc.highlighting_failure"]  # code in sh with <FILE> and the like
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}

# GitHub shows folders; a site needs a list of its pages.
PAGES = """
```{toctree}
:hidden:
:caption: Start
docs/install
docs/faq
docs/compare
docs/harm
docs/versions
docs/operations
```
```{toctree}
:hidden:
:glob:
:caption: Guides
docs/guides/*
```
```{toctree}
:hidden:
:glob:
:caption: Examples
kustomization-example/README
examples/README
examples/*/README
```
```{toctree}
:hidden:
:glob:
:caption: Reference
docs/functionConfig
docs/rules
docs/reasons
docs/probe-proxy
docs/go
fn/README
docs/design
docs/performance
docs/proof
docs/proof/*
```
```{toctree}
:hidden:
:glob:
:caption: Project
[A-Z]*
```
"""
REPOSITORY = "https://github.com/rewrite-probes/rewrite-probes"
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def link_to_repository(app, docname, source):
    """What is no page (a folder, a manifest, a program) is in the repository, where GitHub shows it."""
    root = pathlib.Path(app.srcdir).resolve()
    here = (root / docname).parent

    def target(m):
        path = (here / m[2]).resolve()
        if (path / "README.md").is_file():
            path = path / "README.md"
        inside = path.relative_to(root).as_posix()
        if inside.removesuffix(".md") in app.env.found_docs:
            return f"{m[1]}/{inside}{m[3]}"
        if path.suffix in (".svg", ".png") or not path.exists():
            return m[0]  # a picture, or a broken link, of which Sphinx warns
        kind = "tree" if path.is_dir() else "blob"
        return f"{m[1]}{REPOSITORY}/{kind}/main/{inside}{m[3]}"

    source[0] = LINK.sub(target, source[0])
    if docname == root_doc:
        source[0] += PAGES


def setup(app):
    app.connect("source-read", link_to_repository)
    return {"parallel_read_safe": True}
