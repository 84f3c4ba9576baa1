"""The second stage reorders the best cards and leaves the scores' meaning alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from toy import HashEncoder, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.errors import QueryError


class Longing:
    """Prefers texts that hold a word, whatever the query is."""

    def __init__(self, word: str) -> None:
        self.word = word

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([100.0 if self.word in text.lower() else 0.0 for text in texts], dtype=np.float32)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("index") / "toys"
    build_index(toy_catalogue(), folder, encoder=HashEncoder())
    return Engine.open(folder, encoder=HashEncoder())


def test_reranking_moves_what_the_second_stage_prefers(engine: Engine) -> None:
    before = engine.search("review of clauses", k=50)
    after = engine.search("review of clauses", k=50, rerank=Longing("comet"))
    places = [[hit.task_id for hit in result.hits].index("science/orbit_fit") for result in (before, after)]
    assert places[1] < places[0]
    assert sorted(hit.task_id for hit in after.hits) == sorted(hit.task_id for hit in before.hits)
    assert [hit.score for hit in after.hits] == [hit.score for hit in before.hits]


def test_reranking_keeps_to_the_filter(engine: Engine) -> None:
    found = engine.search("review", where="domain = legal", k=50, rerank=Longing("comet"))
    assert {hit.card.domain for hit in found.hits} == {"legal"}


def test_variants_of_similar_tasks(engine: Engine) -> None:
    given = engine.catalogue.get("business_finance/invoice_matching")
    elsewhere = engine.similar(given.task_id, variant="other-domain", k=50)
    assert elsewhere.total == sum(card.domain != given.domain for card in engine.catalogue)
    assert given.domain not in {hit.card.domain for hit in elsewhere.hits}
    software = engine.similar(given.task_id, variant="other-software", k=50)
    assert not any(set(hit.card.software_names) & set(given.software_names) for hit in software.hits)
    harder = engine.similar("legal/lease_review", variant="harder", k=50)
    assert harder.total > 0
    assert all(max(tier.level for tier in hit.card.tiers) > 0 for hit in harder.hits)
    assert engine.similar("legal/lease_review", variant="easier", k=50).total == 0


def test_a_wrong_variant_is_refused(engine: Engine) -> None:
    with pytest.raises(QueryError, match="valid are other-domain, other-software, easier, harder"):
        engine.similar("legal/lease_review", variant="softer")
    with pytest.raises(QueryError, match="needs a task to differ from"):
        engine.similar(text="leases", variant="harder")
