"""The curriculum routes: the library's answers, forms, refusals that carry the offer, bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import TypeAdapter
from service_toys import client_of, open_toys, toy_service
from toy import toy_catalogue, toy_raw

from ale_semantic import Engine
from ale_semantic.cards import card_to_row
from ale_semantic.curriculum import (
    Curriculum,
    LadderRequest,
    PathRequest,
    Pool,
    SplitRequest,
    SubsetRequest,
    TwinThresholds,
    compare,
    coverage,
    duplicates,
    ladders,
    leaks,
    markdown,
    parse_own_tasks,
    path,
    prerequisites,
    split,
    subset,
    task_list,
)
from ale_semantic.curriculum.records import Record
from ale_semantic.service.curriculum_designs import DESIGNS

ROOT = "/api/v1/curriculum"
ORBIT = "science/orbit_fit"
LEASE = "legal/lease_review"


@pytest.fixture(scope="module")
def engine(toy_index: Path) -> Engine:
    return open_toys(toy_index).engine


def same(answer: Any, expected: Record) -> bool:
    """Tell whether an answer is the record's JSON, its numbers but for what another batch of the encoder changes."""
    return bool(answer == json.loads(json.dumps(expected.to_dict())))


@pytest.fixture(scope="module")
def expected(engine: Engine) -> dict[str, tuple[dict[str, Any], Record]]:
    """Return a request of each design, and what the library answers."""
    science = Pool(domains=("science", "legal"), exclude=(ORBIT,))
    own = {"domain": ["science", "legal"], "exclude": [ORBIT]}
    thresholds = TwinThresholds(wording=0.05, closeness=0.1)
    return {
        "ladders": ({"min_closeness": -1.0}, ladders(engine, LadderRequest(min_closeness=-1.0))),
        "path": (
            {"goal": ORBIT, "length": 3, "min_step": -1.0, "os": ["linux"]},
            path(engine, PathRequest(goal=ORBIT, length=3, min_step=-1.0, pool=Pool(systems=("linux",)))),
        ),
        "subset": ({"k": 2, **own}, subset(engine, SubsetRequest(k=2, pool=science))),
        "split": ({"test": 0.4, "seed": 3}, split(engine, SplitRequest(test=0.4, seed=3))),
        "coverage": ({"topic": ["a comet", "khgcvyuui"]}, coverage(engine, topics=["a comet", "khgcvyuui"])),
        "duplicates": (
            {"wording": 0.05, "closeness": 0.1, "weak": True, "most": 2},
            duplicates(engine, thresholds=thresholds, include_weak=True, most=2),
        ),
        "prerequisites": ({"task": ORBIT, "shown": 2}, prerequisites(engine, ORBIT, shown=2)),
    }


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: str(design.name))
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_each_route_answers_what_the_library_does(
    api: TestClient, expected: dict[str, tuple[dict[str, Any], Record]], design: Any, method: str
) -> None:
    asked, answered = expected[design.name]
    address = f"{ROOT}/{design.name}"
    answer = api.get(address, params=asked) if method == "GET" else api.post(address, json=asked)
    assert answer.status_code == 200, answer.text
    assert same(answer.json(), answered)
    TypeAdapter(design.answered).validate_python(answer.json())


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: str(design.name))
def test_a_get_may_be_kept_and_a_post_not(
    api: TestClient, expected: dict[str, tuple[dict[str, Any], Record]], design: Any
) -> None:
    asked, _ = expected[design.name]
    first = api.get(f"{ROOT}/{design.name}", params=asked)
    again = api.get(f"{ROOT}/{design.name}", params=asked, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    posted = api.post(f"{ROOT}/{design.name}", json=asked)
    assert posted.headers["cache-control"] == "no-store"
    assert "etag" not in posted.headers


def test_forms_are_the_curriculum_that_the_answer_makes(api: TestClient, engine: Engine) -> None:
    asked: dict[str, Any] = {"goal": ORBIT, "length": 3, "min_step": -1.0}
    made = Curriculum.of_path(path(engine, PathRequest(goal=ORBIT, length=3, min_step=-1.0)))
    answers = {form: api.get(f"{ROOT}/path", params={**asked, "form": form}) for form in ("yaml", "tasks", "markdown")}
    assert answers["yaml"].text == made.to_yaml()
    assert answers["tasks"].text == task_list(engine, made)
    assert answers["markdown"].text == markdown(engine, made)
    types = [answer.headers["content-type"].split(";")[0] for answer in answers.values()]
    assert types == ["application/yaml", "text/plain", "text/markdown"]


def test_a_subset_and_a_ladder_make_curricula_too(api: TestClient) -> None:
    chosen = api.post(f"{ROOT}/subset", json={"k": 3, "form": "tasks"})
    assert len([line for line in chosen.text.splitlines() if not line.startswith("#")]) == 3
    ladder = api.get(f"{ROOT}/ladders", params={"task": ORBIT, "min_closeness": -1, "form": "yaml"})
    assert ORBIT in Curriculum.parse(ladder.text).task_ids
    several = api.get(f"{ROOT}/ladders", params={"min_closeness": -1, "form": "yaml"})
    assert several.status_code == 422
    assert "name a task" in several.json()["detail"]


def test_a_file_goes_round(api: TestClient, engine: Engine) -> None:
    text = api.get(f"{ROOT}/subset", params={"k": 3, "form": "yaml"}).text
    checked = api.post(f"{ROOT}/check", content=text, headers={"content-type": "application/yaml"})
    assert checked.json()["kept"] is True
    broken = text.replace("length: 3", "length: 4")
    found = api.post(f"{ROOT}/check", content=broken).json()
    assert (found["kept"], [problem["constraint"] for problem in found["problems"]]) == (False, ["length"])
    made = Curriculum.parse(text)
    assert api.post(f"{ROOT}/export", content=text).text == task_list(engine, made)
    assert api.post(f"{ROOT}/export?form=markdown", content=text).text == markdown(engine, made)
    chart = api.post(f"{ROOT}/export?form=svg", content=text)
    assert chart.headers["content-type"] == "image/svg+xml"
    assert chart.text.startswith("<?xml")


def test_own_tasks_are_compared_as_a_list_or_as_a_file(api: TestClient, engine: Engine) -> None:
    texts = [engine.catalogue.get(LEASE).prompt, "something else", *(f"more {number}" for number in range(9))]
    tasks = [{"name": f"task {number}", "text": text} for number, text in enumerate(texts)]
    listed = api.post(f"{ROOT}/leaks", json={"tasks": tasks}).json()
    assert [task["own"] for task in listed["tasks"]] == [task["name"] for task in tasks]
    assert (listed["tasks"][0]["nearest"]["task_id"], listed["tasks"][0]["band"]) == (LEASE, "strong")
    assert listed["leaks"] == sum(task["band"] == "strong" for task in listed["tasks"])
    content = "\n".join(map(json.dumps, tasks))
    filed = api.post(f"{ROOT}/leaks", json={"content": content, "kind": "jsonl"})
    own = parse_own_tasks(content, kind="jsonl", name="content")
    assert same(filed.json(), leaks(engine, own))


def test_another_catalogue_is_compared_with_the_one_that_is_served(api: TestClient, engine: Engine) -> None:
    rows = [card_to_row(card) for card in engine.catalogue if card.task_id != ORBIT]
    rows[0]["summary"] = "Another summary altogether."
    rows.append(toy_raw("legal/new_one"))
    saved = api.get(f"{ROOT}/subset", params={"k": 3, "form": "yaml", "must": ORBIT}).text
    answer = api.post(f"{ROOT}/diff", json={"cards": rows, "curricula": [saved]}).json()
    assert [task["task_id"] for task in answer["added"]] == ["legal/new_one"]
    assert [task["task_id"] for task in answer["removed"]] == [ORBIT]
    assert rows[0]["task_id"] in [change["task"]["task_id"] for change in answer["changed"]]
    assert answer["curricula"][0]["before"]["problems"] == []
    assert [problem["task"] for problem in answer["curricula"][0]["after"]["problems"]] == [ORBIT]
    turned = api.post(f"{ROOT}/diff", json={"cards": rows, "served_is_new": True}).json()
    assert [task["task_id"] for task in turned["added"]] == [ORBIT]


def test_the_same_catalogue_has_no_difference(api: TestClient, engine: Engine) -> None:
    rows = [card_to_row(card) for card in engine.catalogue]
    answer = api.post(f"{ROOT}/diff", json={"cards": rows}).json()
    assert (answer["added"], answer["removed"], answer["unchanged"]) == ([], [], len(rows))
    assert compare(engine.catalogue, toy_catalogue()).unchanged == len(rows)


def test_a_refused_limit_comes_with_the_nearest_there_is(api: TestClient) -> None:
    answer = api.get(f"{ROOT}/subset", params={"k": 99})
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert problem["failed"] == [{"limit": "size", "asked": "99", "nearest": "9 can be had"}]
    assert len(problem["offer"]["picks"]) == 9
    path = api.get(f"{ROOT}/path", params={"goal": ORBIT, "min_step": 0.99}).json()
    assert "min_step" in [failed["limit"] for failed in path["failed"]]
    assert path["offer"]["steps"]
    empty = api.get(f"{ROOT}/coverage", params={"where": "tier = last-exam and domain = legal"}).json()
    assert (empty["failed"], empty["offer"]) == ([], None)
    assert "loosen the filter" in empty["detail"]


@pytest.mark.parametrize(
    ("method", "address", "given", "status", "told"),
    [
        ("GET", "path", {"params": {"gaol": ORBIT}}, 422, "did you mean 'goal'"),
        ("GET", "path", {"params": [("goal", "a"), ("goal", "b")]}, 422, "goal is given more than once"),
        ("GET", "path", {"params": {"length": 99}}, 422, "length: input should be less than or equal to 20"),
        ("GET", "path", {"params": {"min_step": "nan"}}, 422, "min_step"),
        ("GET", "path", {"params": {"start_tier": "last-exam", "goal_tier": "near-term"}}, 422, "tiers never fall"),
        ("GET", "path", {"params": {"goal": "a", "skill": "b"}}, 422, "not both"),
        ("GET", "path", {"params": {"where": "domian = legal"}}, 422, "did you mean 'domain'"),
        ("GET", "path", {"params": {"domain": "legall"}}, 422, "'legal'"),
        ("GET", "path", {"params": {"os": "beos"}}, 422, "'linux', 'windows' or 'macos'"),
        ("GET", "path", {"params": {"exclude": "science/orbit"}}, 404, ORBIT),
        ("GET", "ladders", {"params": {"task": "science/orbit"}}, 404, ORBIT),
        ("GET", "prerequisites", {}, 422, "task is missing"),
        ("GET", "prerequisites", {"params": {"task": "science/orbit"}}, 404, ORBIT),
        ("GET", "subset", {"params": {"quota": "tier"}}, 422, "write field=value:3"),
        ("GET", "subset", {"params": {"quota": "tear=last-exam:1"}}, 422, "did you mean 'tier'"),
        ("GET", "subset", {"params": {"cover": "domian"}}, 422, "did you mean 'domain'"),
        ("GET", "subset", {"params": {"k": 0}}, 422, "k: input should be greater than or equal to 1"),
        ("GET", "subset", {"params": {"k": 100_000}}, 422, "k may be at most 1000"),
        ("GET", "split", {"params": {"test": 1}}, 422, "test: input should be less than 1"),
        ("GET", "split", {"params": {"balance": "domian"}}, 422, "did you mean 'domain'"),
        (
            "GET",
            "duplicates",
            {"params": {"wording": 0}},
            422,
            "wording: input should be greater than or equal to 0.001",
        ),
        ("POST", "coverage", {"json": {"topic": ["x"] * 101}}, 422, "topic: list should have at most 100 items"),
        ("POST", "coverage", {"json": {"topic": ["x" * 1_001]}}, 422, "topic[0]: value should have at most 1000"),
        ("POST", "leaks", {"json": {}}, 422, "either as `tasks` or as `content`"),
        ("POST", "leaks", {"json": {"tasks": [{"name": "a", "text": ""}]}}, 422, "tasks[0].text"),
        ("POST", "leaks", {"json": {"content": "{", "kind": "jsonl"}}, 422, "content:1: is not JSON"),
        ("POST", "diff", {"json": {"cards": []}}, 422, "cards: list should have at least 1 item"),
        ("POST", "diff", {"json": {"cards": [{"task_id": "x/y"}]}}, 422, "cards[0]"),
        ("POST", "diff", {"json": {"cards": [toy_raw(), toy_raw()]}}, 422, "cards[1]: field 'task_id'"),
        ("POST", "diff", {"json": {"cards": [toy_raw()], "curricula": ["["]}}, 422, "curricula[0]: curriculum: is not"),
        ("POST", "check", {"content": b"\xff"}, 422, "not UTF-8 at byte 0"),
        ("POST", "check", {"content": "x" * 100_001}, 422, "at most 100000"),
        ("POST", "check", {"content": ""}, 422, "its first line must be"),
        ("POST", "check", {"content": "[" * 5_000}, 422, "nested too deeply"),
        ("POST", "export?form=pdf", {"content": ""}, 422, "'tasks', 'markdown' or 'svg'"),
    ],
)
def test_refusals_name_the_thing_and_the_cure(
    api: TestClient, method: str, address: str, given: dict[str, Any], status: int, told: str
) -> None:
    answer = api.request(method, f"{ROOT}/{address}", **given)
    assert answer.status_code == status, answer.text
    assert told in answer.json()["detail"]


@pytest.fixture(scope="module")
def hurried(toy_index: Path) -> Iterator[TestClient]:
    """Return a client of a service that gives no time for anything."""
    with client_of(toy_service(toy_index, deadline_seconds=1e-4)) as client:
        yield client


@pytest.mark.parametrize("address", ["path", "split", "coverage?topic=a", "subset"])
def test_what_takes_longer_than_the_deadline_is_told(hurried: TestClient, address: str) -> None:
    answer = hurried.get(f"{ROOT}/{address}")
    assert answer.status_code == 503
    assert "retry-after" in answer.headers


def test_openapi_tells_each_answer_and_refusal(api: TestClient) -> None:
    paths = api.get("/openapi.json").json()["paths"]
    own = {name: methods for name, methods in paths.items() if name.startswith(ROOT)}
    assert len(own) == len(DESIGNS) + 4
    for name, methods in own.items():
        for method, operation in methods.items():
            assert operation["summary"], name
            assert operation["description"], name
            assert {"200", "422", "429", "503"} <= set(operation["responses"]), name
            assert (method == "get") == ("304" in operation["responses"])
