"""Make the examples of the service's OpenAPI page (ale_semantic/data/service_examples.json) from the demo cards.

    ale-semantic build --cards demo --index DEMO
    python benchmarks/service_examples.py --index DEMO

Each is the answer to a real question, with long texts and lists cut so that a page of documentation stays readable.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ale_semantic.cards import card_to_row
from ale_semantic.errors import AleSemanticError
from ale_semantic.service import catalogue_answers, curriculum_answers, curriculum_parameters, search_answers
from ale_semantic.service.config import ServiceConfig
from ale_semantic.service.curriculum_designs import DESIGNS
from ale_semantic.service.cursors import make_cursor, question_of
from ale_semantic.service.holder import OpenIndex
from ale_semantic.service.parameters import (
    BatchParameters,
    FacetsParameters,
    NoParameters,
    OneTask,
    SearchParameters,
    SimilarParameters,
    TasksParameters,
)
from ale_semantic.service.problems import (
    DeadlineError,
    QueueFullError,
    TooLargeError,
    UnauthorisedError,
    problem_of,
)

EXAMPLES = Path(__file__).parent.parent / "ale_semantic" / "data" / "service_examples.json"
_TASK = "legal/lease_clause_register_small_demo"
_TEXT = 160  # characters
_ITEMS = 4
_REQUEST = "0b6d1f0c9a7e4f2f"  # stands for the id of a request


def answers(index: OpenIndex) -> dict[str, Any]:
    """Return one answer of each route."""
    config = ServiceConfig.exactly()
    columns = ["summary", "tiers", "os", "software_names"]
    return {
        "search": search_answers.search(
            index,
            SearchParameters(query="review a lease", where="os = linux", k=2, facets=["tier"], fields=columns),
            config,
        ),
        "similar": search_answers.similar(index, SimilarParameters(like=[_TASK], k=2, compact=True), config),
        "facets": search_answers.facets(index, FacetsParameters(fields=["tier", "os"], where="domain = legal"), config),
        "tasks": search_answers.tasks(index, TasksParameters(where="domain = legal", k=2, compact=True), config),
        "batch": search_answers.batch(index, BatchParameters(task_ids=[_TASK, "legal/lease"], compact=True), config),
        "task": search_answers.task(index, OneTask(task_id=_TASK), config),
        "catalogue": catalogue_answers.catalogue(index, NoParameters(), config),
        "reload": search_answers.reloaded(index, new=False),
    }


def curricula(index: OpenIndex) -> dict[str, Any]:
    """Return one answer of each curriculum route that answers JSON."""
    asked: dict[str, dict[str, Any]] = {
        "ladders": {"task": _TASK},
        "path": {"goal": "lease accounting", "length": 3},
        "subset": {"k": 3},
        "coverage": {"topic": ["lease accounting"]},
        "prerequisites": {"task": _TASK.replace("small", "large")},
    }
    designs = {design.name: design.find(index.engine, design.asked(**asked.get(design.name, {}))) for design in DESIGNS}
    path = next(design for design in DESIGNS if design.name == "path")
    assert path.curriculum is not None
    document = path.curriculum(designs["path"]).to_yaml()
    own = curriculum_parameters.LeakParameters.model_validate(
        {"tasks": [{"name": "mine", "text": "Review one lease."}]}
    )
    card = card_to_row(index.engine.catalogue.get(_TASK))
    other = curriculum_parameters.DiffParameters.model_validate({"cards": [card]})
    designs["leaks"] = curriculum_answers.find_leaks(index.engine, own)
    designs["diff"] = curriculum_answers.find_diff(index.engine, other)
    designs["check"] = curriculum_answers.check_document(index.engine, document)
    return {f"curriculum_{name}": result.to_dict() for name, result in designs.items()}


def refusals(index: OpenIndex) -> dict[str, Any]:
    """Return one refusal of each kind."""
    config = ServiceConfig.exactly()
    lease = SearchParameters(query="lease", k=2)
    following = str(search_answers.search(index, lease, config)["next"])
    old = make_cursor(2, question_of("search"), "an earlier index")

    def asking(**changes: Any) -> AleSemanticError:
        try:
            search_answers.search(index, SearchParameters(**{"query": "lease", "k": 2, **changes}), config)
        except AleSemanticError as fault:
            return fault
        raise RuntimeError(f"{changes} is no refusal")

    try:
        search_answers.task(index, OneTask(task_id="legal/lease_clause"), config)
        raise RuntimeError("there is such a task")
    except AleSemanticError as fault:
        unknown_task = fault
    faults = {
        "bad_cursor": asking(cursor=following[:-1]),
        "cursor_mismatch": asking(cursor=following, query="contract"),
        "cursor_expired": asking(cursor=old),
        "unknown_task": unknown_task,
        "unknown_name": asking(where="domian = legal"),
        "unauthorised": UnauthorisedError("this service asks for an API key: send it as `Authorization: Bearer KEY`"),
        "too_large": TooLargeError("the body has more than 1000000 bytes"),
        "queue_full": QueueFullError("64 questions wait already; try again soon", retry_after=1),
        "deadline": DeadlineError("no answer within 10 s; ask for less, or try again", retry_after=2),
    }
    return {name: problem_of(fault).body(path="/api", request_id=_REQUEST) for name, fault in faults.items()}


def shortened(value: Any) -> Any:
    """Return a value with long texts and lists cut."""
    if isinstance(value, dict):
        return {name: shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shortened(inner) for inner in value[:_ITEMS]]
    if isinstance(value, float):
        return round(value, 4)
    return value[:_TEXT] + " ..." if isinstance(value, str) and len(value) > _TEXT else value


def main() -> None:
    """Write the examples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True, help="index of the demo cards")
    index = OpenIndex.open(parser.parse_args().index, vector_cache=16)
    if not index.engine.provenance.demo:
        raise SystemExit("this is no index of the demo cards: nothing else may stand in the examples")
    made = {**shortened(answers(index)), **shortened(curricula(index)), **refusals(index)}
    EXAMPLES.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
