"""A tiny made-up catalogue and an encoder that is quick, deterministic and needs no model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ale_semantic.analysis import terms
from ale_semantic.cards import card_from_raw
from ale_semantic.catalogue import Catalogue
from ale_semantic.embeddings.encoder import EncoderIdentity, TextKind, TokenVectors, Vectors
from ale_semantic.fields import RawCard
from ale_semantic.sources import Origin
from ale_semantic.types import TaskCard

_TOKEN = re.compile(r"\w+|[^\w\s]")
_VOCABULARY = 30_000  # token ids are below this, as in a real model
_LINUX = "cpu-free-ubuntu"
_WINDOWS = "cpu-license"


def toy_raw(task_id: str = "legal/lease_review", **fields: Any) -> dict[str, Any]:
    """Return a raw card in the public table's columns; a field given as None is left out."""
    name = task_id.rsplit("/", 1)[-1].replace("_", " ")
    raw = {
        "task_id": task_id,
        "title": name.capitalize(),
        "summary": f"A made-up task about {name}.",
        "task_prompt": f"Do the {name} and write down what you found.",
        "agent_must_do": ["Write the report"],
        "software": ["Python"],
        "input_files": [{"name": "notes", "format": "txt", "path": "input/notes.txt", "description": "Plain notes"}],
        "tiers": ["near-term"],
        "taxonomy": {"domain_code": task_id.split("/")[0], "subdomain_name": "Made-up work"},
        "vm": {"snapshot": _LINUX, "machineType": "e2-standard-4", "timeout": 3600},
    }
    return {field: value for field, value in {**raw, **fields}.items() if value is not None}


def toy_card(task_id: str = "legal/lease_review", **fields: Any) -> TaskCard:
    """Return a card made of `toy_raw` with the given fields changed."""
    return card_from_raw(RawCard(where=f"toy {task_id}", data=toy_raw(task_id, **fields), task_id=task_id))


def toy_cards() -> tuple[TaskCard, ...]:
    """Return nine cards: four domains, three tiers, two systems, in the order of their ids."""
    return tuple(toy_card(task_id, **fields) for task_id, fields in _TOYS.items())


def toy_catalogue(cards: Sequence[TaskCard] | None = None, *, name: str = "toys") -> Catalogue:
    """Return a catalogue of the given cards, by default all toys."""
    return Catalogue.of(toy_cards() if cards is None else cards, origin=Origin(name))


_TOYS: Mapping[str, Mapping[str, Any]] = {
    "art_media/poster_colours": {
        "title": "Match poster colours",
        "summary": "Bring the colours of a printed poster in line with a brand palette.",
        "task_prompt": "Open the poster in GIMP. Measure the palette patches, then shift hue and saturation.",
        "software": ["GIMP 2.10"],
        "input_files": [
            {"name": "poster", "format": "PNG", "path": "input/poster.png", "description": "The scan"},
            {"name": "palette", "format": "JSON", "path": "input/palette.json", "description": "Brand colours"},
        ],
        "tiers": ["near-term"],
        "vm": {"snapshot": "gpu-free", "machineType": "g2-standard-8", "timeout": 7200},
    },
    "art_media/tune_transcription": {
        "title": "Transcribe a folk tune",
        "summary": "Write the melody of a recorded fiddle tune as sheet music.",
        "task_prompt": "Listen to the recording. Note the melody bar by bar and engrave it in MuseScore.",
        "software": ["MuseScore"],
        "input_files": [{"name": "tune", "format": "wav", "path": "input/tune.wav", "description": "The recording"}],
        "tiers": ["last-exam"],
        "vm": {"snapshot": _WINDOWS, "machineType": "e2-standard-4", "timeout": 3600},
    },
    "business_finance/invoice_matching": {
        "title": "Reconcile supplier invoices",
        "summary": "Match invoices of suppliers with bank payments and explain every difference.",
        "task_prompt": "Reconcile the ledger. Flag duplicate invoices, wrong amounts and late payments.",
        "software": ["Excel", "Python 3.10"],
        "input_files": [
            {"name": "invoices", "format": "CSV", "path": "input/invoices.csv", "description": "Invoices"},
            {"name": "bank", "format": "xlsx", "path": "input/bank.xlsx", "description": "Bank statement"},
            {"name": "terms", "format": "pdf", "path": "input/terms.pdf", "description": "Terms of payment"},
        ],
        "tiers": ["near-term", "full-spectrum"],
        "vm": {"snapshot": _WINDOWS, "machineType": "e2-standard-4", "timeout": 3600},
    },
    "business_finance/年报": {
        "title": "Read an annual report",
        "summary": "Extract the key technical staff from a Chinese annual report.",
        "task_prompt": "从年报中提取核心技术人员，并写入表格。Keep the names in Chinese.",
        "software": ["Python"],
        "input_files": [{"name": "年报", "format": ".pdf", "path": "input/年报.pdf", "description": "Annual report"}],
        "tiers": ["full-spectrum"],
    },
    "legal/lease_review": {
        "title": "Review a lease",
        "summary": "Find the clauses of a lease that break local tenancy law.",
        "task_prompt": "Read the lease. List each unlawful clause with the paragraph that forbids it.",
        "software": ["Word"],
        "input_files": [{"name": "lease", "format": "docx", "path": "input/lease.docx", "description": "The lease"}],
        "tiers": ["near-term"],
        "vm": {"snapshot": "cpu-free", "machineType": "e2-standard-4", "timeout": 1800},
    },
    "legal/patent_claims": {
        "title": "Compare patent claims",
        "summary": "Chart the claims of a patent against an earlier publication.",
        "task_prompt": "For each claim say which passage of the earlier publication anticipates it.",
        "agent_must_do": None,
        "software": ["`numpy`", "NumPy"],
        "input_files": [{"name": "patent", "format": "pdf", "path": "input/patent.pdf", "description": "The patent"}],
        "tiers": [],
    },
    "science/orbit_fit": {
        "title": "Fit a comet's orbit",
        "summary": "Fit orbital elements to astrometric positions of a comet.",
        "task_prompt": "Load the positions with numpy. Fit six elements by least squares and plot residuals.",
        "software": ["NumPy", "Python 3.12"],
        "input_files": [{"name": "positions", "format": "csv", "path": "input/obs.csv", "description": "Positions"}],
        "tiers": ["last-exam"],
    },
    "science/soil_maps": {
        "title": "Map soil moisture",
        "summary": "Interpolate soil moisture from probes onto a raster map.",
        "task_prompt": "Read the probes in EPSG:2154. Krige the moisture and export a GeoTIFF with C++ tools.",
        "software": ["QGIS", "GDAL"],
        "input_files": None,
        "tiers": ["full-spectrum", "last-exam"],
        "vm": {"snapshot": "gpu-free-ubuntu", "machineType": "g2-standard-8", "timeout": 10800},
    },
    "science/spectra_labels": {
        "title": None,
        "summary": "Label emission lines in stellar spectra.",
        "task_prompt": "Find peaks above the continuum. Name each line with its element and wavelength.",
        "software": ["Python"],
        "input_files": [{"name": "spectra", "format": "FITS", "path": "input/s.fits", "description": "Spectra"}],
        "tiers": ["near-term"],
        "taxonomy": {"domain_code": "engineering", "subdomain_name": "Astronomy"},
    },
}


class HashEncoder:
    """An `Encoder` that hashes stemmed words: texts that share words are near, all others nearly orthogonal."""

    def __init__(
        self,
        *,
        name: str = "hash",
        digest: str = "0" * 64,
        dimension: int = 64,
        max_tokens: int = 32,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        self.identity = EncoderIdentity(name, "1", digest, dimension, max_tokens, query_prefix, document_prefix)
        self.encoded: list[str] = []  # every text that was embedded, in order

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        self.encoded.extend(texts)
        given = [terms(self._seen(self.identity.prefix(kind) + text)) for text in texts]
        return self._stacked([self._sum(words) for words in given])

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        words = [terms(self._seen(text)) for text in texts]
        ids = [np.array([_number(term) % _VOCABULARY for term in own], dtype=np.int64) for own in words]
        rows = [self._stacked([self._sum([term]) for term in own]) for own in words]
        tokens = [TokenVectors(own, vectors) for own, vectors in zip(ids, rows, strict=True)]
        return self.encode(texts, kind, progress=progress), tokens

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return [[match.span() for match in _TOKEN.finditer(text)] for text in texts]

    def _seen(self, text: str) -> str:
        """Return what the model sees of a text: a real one cuts it too."""
        spans = self.token_spans([text])[0][: self.identity.max_tokens - 2]
        return text[: spans[-1][1]] if spans else ""

    def _sum(self, words: Sequence[str]) -> Vectors:
        vector = np.zeros(self.identity.dimension, dtype=np.float32)
        for word in words:
            number = _number(word)
            vector[number // 2 % self.identity.dimension] += 1.0 if number % 2 else -1.0
        if not vector.any():  # no word, or words that cancel out: still a unit row
            vector[0] = 1.0
        return vector / np.float32(np.linalg.norm(vector))

    def _stacked(self, vectors: Sequence[Vectors]) -> Vectors:
        rows = np.zeros((len(vectors), self.identity.dimension), dtype=np.float32)
        for row, vector in enumerate(vectors):
            rows[row] = vector
        return rows


def _number(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")


SUBJECTS = ("ledger", "orbit", "lease", "poster", "soil", "melody", "patent", "bridge", "protein", "harbour")


def many_cards(actions: Sequence[str]) -> list[TaskCard]:
    """Return a card for each action on each subject."""
    return [
        toy_card(
            f"{'legal' if number % 3 else 'science'}/{action}_{subject}",
            title=f"{action.capitalize()} the {subject}",
            summary=f"One has to {action} a {subject} with care number {number}.",
            task_prompt=f"First find the {subject}. Then {action} it. Report on {SUBJECTS[number % 7]}.",
        )
        for number, (action, subject) in enumerate((a, s) for a in actions for s in SUBJECTS)
    ]
