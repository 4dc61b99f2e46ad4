"""The model card of the encoder that ships, from the record of its training and the committed results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.markdown import prose, table
from benchmarks.results import RESULTS
from benchmarks.train_encoder import QUERIED, TOLD
from toolsearch.embedders.bundled import FOLDER
from toolsearch.tools import JsonObject
from toolsearch.tuning.card import CARD

ENCODER_RECORD = RESULTS / "encoder.json"
"""What `benchmarks.average_encoders` wrote."""

CARD_PATH = FOLDER / CARD

COMMANDS = (
    "python -m benchmarks.train_encoder -o final --steps 400",
    "python -m benchmarks.left_out train --encoders folds",
    "python -m benchmarks.average_encoders -o ENCODER final=3 folds/fold1 folds/fold2 folds/fold3",
)

UNSEEN = ("bench/bfcl", "bench/livemcpbench", "demo")
"""Sets of which nothing was trained on."""

LICENCES = {
    "Apache-2.0": ("google", "nestful", "apibank", "sealtools", "toolalpaca", "toolbench", "tooleyes"),
    "permissive terms, document by document": ("openapi_dir",),
}
"""Of the data sets; those that are not listed are MIT."""

_COLUMNS = {
    "untuned-dense": "dense, untuned",
    "dense": "dense",
    "untuned": "default, untuned",
    "hybrid": "default",
}


def write_encoder_card(results: Mapping[str, JsonObject]) -> None:
    """Write the card beside the encoder."""
    CARD_PATH.write_text(render_card(read_record(), results), encoding="utf-8")


def read_record(path: Path = ENCODER_RECORD) -> JsonObject:
    """The record of the training."""
    record: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    return record


def render_card(record: JsonObject, results: Mapping[str, JsonObject]) -> str:
    """The card as Markdown; the same record and results give the same text."""
    parts = [_made(record), _gained(results), _weak(), _licence()]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _made(record: JsonObject) -> Iterator[str]:
    base, int8, runs = record["base"], record["int8"], record["runs"]
    settings, shares = runs[0]["settings"], [run["weight"] for run in runs]
    yield f"# {record['embedder_id']}"
    yield ""
    yield from prose(
        f"A sentence encoder for finding tools by requests in English: {base['name']} (SHA-256 of its "
        f"weights {base['sha256']}) with low-rank adapters, merged and stored in int8. 6 layers, 384 "
        f"dimensions, mean over tokens, {int8['size'] / 1e6:.1f} MB. The default embedder of toolsearch."
    )
    yield "## How it was made"
    yield ""
    yield from (f"    {command}" for command in COMMANDS)
    yield ""
    yield from prose(
        f"Seed {settings['seed']}. One run of {runs[0]['steps']} steps of {settings['batch_pairs']} pairs, "
        f"in {runs[0]['seconds'] / 60:.0f} minutes on two cores without bfloat16 that other processes "
        f"shared, and {len(runs) - 1} of {runs[1]['steps']} that each left three sets out; their changes "
        f"were averaged, weighed {' : '.join(f'{share:g}' for share in shares)}, and {record['keep']:.0%} "
        "of the mean was kept. "
        f"Adapters of rank {settings['rank']} (alpha {settings['alpha']:g}) on all linear maps of "
        f"{settings['layers']} layers, AdamW at {settings['learning_rate']:g} with warm-up and cosine decay, "
        f"in-batch negatives and {settings['hard_negatives']} mined one a request, temperature "
        f"{settings['temperature']:.3f}. Texts were cut at {settings['query_tokens']} and "
        f"{settings['document_tokens']} tokens; the encoder cuts at 256. The record with all losses is "
        "`benchmarks/results/encoder.json`."
    )
    yield from prose(
        f"The cosine of a text's vector in int8 to the one in float32 is {int8['mean_cosine']:.4f} in the "
        f"mean and {int8['min_cosine']:.4f} at the least over the check texts."
    )
    yield from prose(
        "Trained on the dev queries of these sets, and on the tools' own texts of these catalogs, with so "
        "many pairs of each:"
    )
    sources = runs[0]["sources"]
    for title, names in (("queries", QUERIED), ("catalogs", TOLD)):
        listed = ", ".join(f"{name} {_count(sources, name):,}" for name in names)
        yield from prose(f"- {title}: {listed}")
    yield from prose(
        "Never trained on: queries and tools of bfcl, livemcpbench and the demo set, and tools of other "
        "catalogs that have a description of theirs."
    )


def _count(sources: Mapping[str, int], name: str) -> int:
    return next(n for source, n in sources.items() if source.rpartition("/")[2] == name)


def _gained(results: Mapping[str, JsonObject]) -> Iterator[str]:
    yield "## What it gains"
    yield ""
    yield from prose(
        "NDCG@10 on sets of which nothing was trained on. They are dev sets: figures may have been looked at "
        "while settings were chosen. *Default* is the whole search: names, dense and lexical, in steps. What "
        "sets gain that were left out of training in turn is in docs/benchmarks.md."
    )
    yield from table(
        ["set", *_COLUMNS.values()],
        (
            [name, *(f"{results[condition]['datasets'][name]['ndcg@10']:.3f}" for condition in _COLUMNS)]
            for name in UNSEEN
        ),
    )
    yield ""


def _weak() -> Iterator[str]:
    yield "## Where it is weak"
    yield ""
    for line in (
        "It reads English. Requests in other languages over English tools find little, Chinese ones nothing.",
        "A request for several tools is near some of them only; the search splits it into steps.",
        "A cosine says which tool is nearest, not that it serves; the search calibrates scores by catalog.",
        "Tools whose descriptions say nothing of what they do, such as slogans, are found by chance.",
        "Texts are cut at 256 tokens: what stands last in a long schema is not seen.",
        "Most of its requests were written by models for benchmarks; people ask more briefly.",
    ):
        yield f"- {line}"
    yield ""


def _licence() -> Iterator[str]:
    yield "## Licence"
    yield ""
    yield from prose(
        "Apache License 2.0, as all-MiniLM-L6-v2, of which it is a derived work. It holds no text of the "
        f"data; of that, {_licensed()}; all else is under the MIT License."
    )


def _licensed() -> str:
    return "; ".join(
        f"{', '.join(sorted(names))} {'are' if len(names) > 1 else 'is'} under {licence}"
        for licence, names in LICENCES.items()
    )
