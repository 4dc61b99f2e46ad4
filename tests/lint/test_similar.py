import numpy as np

from toolsearch.catalog import Catalog
from toolsearch.document import render_document
from toolsearch.index.tool_index import ToolIndex
from toolsearch.lint.similar import (
    NEAR_DUPLICATE_COSINE,
    check_near_duplicates,
    check_same_text,
    near_duplicates,
)
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool


def tool(name: str, description: str, source: str = "s") -> Tool:
    return Tool(raw_name=name, source=source, description=description)


def test_the_same_text_in_one_source_is_a_warning_and_in_several_a_remark() -> None:
    catalog = Catalog(
        [
            tool("a", "Sends  a mail."),
            tool("b", "sends a mail."),
            tool("c", "Reads a mail.", "x"),
            tool("c", "Reads a mail.", "y"),
            tool("d", ""),
            tool("e", ""),
        ]
    )
    assert [(f.severity, f.tool, f.message) for f in check_same_text(catalog)] == [
        ("warning", "s__a", "Says the same as s__b."),
        ("info", "x__c", "Says the same as y__c."),
    ]


def test_other_parameters_make_another_text() -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    one = tool("a", "Sends a mail.")
    other = Tool(raw_name="b", source="s", description="Sends a mail.", input_schema=schema)
    assert list(check_same_text(Catalog([one, other]))) == []


def test_near_duplicates_are_the_pairs_above_the_threshold() -> None:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(40)]
    long = " ".join(words)
    tools = [
        tool("send", f"{long} alpha"),
        tool("sent", f"{long} alpha"),
        *(tool(f"other{i}", " ".join(rng.choice(words, 8))) for i in range(30)),
    ]
    embedder = HashingEmbedder()
    index = ToolIndex.build(Catalog(tools), embedder)
    documents = embedder.embed_documents([render_document(t) for t in index.catalog.values()])
    expected = {
        (row, other)
        for row in range(len(index))
        for other in range(len(index))
        if row != other and float(documents[row] @ documents[other]) >= NEAR_DUPLICATE_COSINE
    }
    found = {(row, other) for row, others in near_duplicates(index).items() for other in others}
    assert found == expected
    assert [(f.tool, f.message) for f in check_near_duplicates(index)] == [
        ("s__send", "Hardly told apart from s__sent.")
    ]
