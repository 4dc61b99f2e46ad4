"""`toolsearch tokens`: what tool definitions cost."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from toolsearch.cli.catalogs import issue_json, load_catalog
from toolsearch.cli.options import CatalogFiles, Encoding, Form, Json, Source
from toolsearch.cli.output import counted, share, show, show_json, show_table


def tokens(
    catalog: CatalogFiles,
    *,
    encoding: Annotated[Encoding, typer.Option(help="The tokenizer.")] = Encoding.O200K,
    form: Annotated[Form, typer.Option(help="The form in which definitions are sent.")] = Form.OPENAI,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Show so many tools, 0 for all.")] = 20,
    source: Source = "",
    json: Json = False,
) -> None:
    """Count what definitions cost in tokens.

    Counts are exact for the compact JSON of each definition in the chosen form. Providers add some tokens of
    their own when they render it into a prompt. --json lists all tools.
    """
    from toolsearch.tokens import catalog_tokens

    loaded = load_catalog(catalog, source=source)
    tools = loaded.catalog
    by_name = catalog_tokens(tools.values(), form=form.value, encoding=encoding.value)
    largest = sorted(by_name, key=lambda name: (-by_name[name], name))
    n_tools = Counter(tool.source for tool in tools.values())
    by_source: Counter[str] = Counter()
    for name, count in by_name.items():
        by_source[tools[name].source] += count
    total = sum(by_name.values())
    if json:
        show_json(
            {
                "encoding": encoding.value,
                "form": form.value,
                "tools": len(tools),
                "tokens": total,
                "by_source": [
                    {"source": source, "tools": n_tools[source], "tokens": count}
                    for source, count in by_source.most_common()
                ],
                "by_tool": [
                    {"name": name, "source": tools[name].source, "tokens": by_name[name]} for name in largest
                ],
                "issues": [issue_json(issue) for issue in loaded.issues],
            }
        )
        return
    shown = largest[:top] if top else largest
    show_table([("tokens", "right"), ("tool", "left")], [(f"{by_name[name]:,}", name) for name in shown])
    if len(shown) < len(largest):
        show(f"and {counted(len(largest) - len(shown), 'smaller one')}")
    show()
    show_table(
        [("tokens", "right"), ("share", "right"), ("tools", "right"), ("source", "left")],
        [
            (f"{count:,}", share(count, total), f"{n_tools[name]:,}", name or "(none)")
            for name, count in by_source.most_common()
        ],
    )
    show()
    show(
        f"{counted(total, 'token')} for {counted(len(tools), 'tool')}, "
        f"{total / len(tools):.0f} each on average ({encoding.value}, {form.value} form)"
    )
