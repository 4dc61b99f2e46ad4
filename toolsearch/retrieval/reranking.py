"""The best of a ranking put into another order by what reads the query and each tool together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from toolsearch.document import render_document
from toolsearch.index.tool_index import ToolIndex
from toolsearch.rerankers.base import Reranker, as_log_odds
from toolsearch.retrieval.ranking import Ranking

RERANKED = 20
"""How many of the best tools are read."""

_MOST_ODDS = 10.0


def reranked(index: ToolIndex, query: str, ranking: Ranking, reranker: Reranker) -> Ranking:
    """The ranking with what `reranker` says of its first 20 tools, which the scores then hold.

    A tool beyond them counts as the least likely of them. How many tools stand out and whether anything fits
    stay as they are: they follow from the other channels. A tool that is called by its name stays first.

    Raises:
        RerankerError: the reranker failed, or answered something that is no score.
    """
    if ranking.complete or not len(ranking.rows):
        return ranking
    read = ranking.rows[:RERANKED].tolist()
    documents = [render_document(index.tool(row)) for row in read]
    told = as_log_odds(reranker.scores(query, documents), n=len(read), reranker_id=reranker.id)
    told = told.clip(-_MOST_ODDS, _MOST_ODDS)
    odds = np.full(len(ranking.rows), told.min())
    odds[: len(read)] = told
    channels = replace(ranking.channels, odds=odds)
    return replace(ranking, channels=channels, scores=channels.fused()).sorted()
