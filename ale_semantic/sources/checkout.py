"""Cards from a checkout of the ALE repository: tasks/<domain>/<task>/task_card.json and the task lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ale_semantic.errors import CardError, SourceError
from ale_semantic.fields import RawCard, parse_json
from ale_semantic.sources import Origin
from ale_semantic.types import Tier

CARD_FILE = "task_card.json"
SMOKE_TEST_DOMAIN = "demo"  # the harness's own smoke tests: cards in shape, not tasks


@dataclass(frozen=True, slots=True)
class CheckoutSource:
    """The cards under one folder; `root` holds `tasks/` and, beside it, `selected_tasks/`."""

    root: Path
    include_smoke_tests: bool = False
    demo: bool = False

    @classmethod
    def find(cls, folder: Path, *, include_smoke_tests: bool = False, demo: bool = False) -> CheckoutSource:
        """Recognise a checkout, given its root or its `tasks` folder.

        Raises:
            SourceError: if no task cards stand there.
        """
        place = folder.resolve()  # "." and ".." have a name then
        for root in (place, place.parent):
            tasks = root / "tasks"
            if (root == place or place.name == "tasks") and any(tasks.glob(f"*/*/{CARD_FILE}")):
                return cls(root, include_smoke_tests=include_smoke_tests, demo=demo)
        raise SourceError(f"{folder} is no ALE checkout: it has no tasks/<domain>/<task>/{CARD_FILE}")

    @property
    def origin(self) -> Origin:
        """Return the folder's name and, in a git checkout, the commit."""
        name = "demo cards" if self.demo else self.root.name
        return Origin(name, revision=self._commit(), demo=self.demo)

    def raw_cards(self) -> Iterator[RawCard | CardError]:
        """Yield the cards in the order of their ids."""
        tiers = self._tiers()
        published = self._published()
        for path in sorted((self.root / "tasks").glob(f"*/*/{CARD_FILE}")):
            domain, name = path.parts[-3:-1]
            if domain == SMOKE_TEST_DOMAIN and not self.include_smoke_tests:
                continue
            task_id = f"{domain}/{name}"
            where = str(path.relative_to(self.root))
            try:
                data = _read_object(path, where)
            except CardError as fault:
                yield fault
                continue
            extra: dict[str, Any] = {"tiers": tiers.get(task_id, [])}
            if domain == SMOKE_TEST_DOMAIN:  # their prompts stand in the harness's code; the summary tells them
                extra["prompt"] = data.get("summary")
            if published is not None:
                extra["published"] = task_id in published
                extra["variants"] = published.get(task_id) or data.get("variants")
            yield RawCard(where=where, data={**data, **extra}, task_id=task_id)

    def _tiers(self) -> dict[str, list[str]]:
        tiers: dict[str, list[str]] = {}
        for tier in Tier:
            path = self.root / "selected_tasks" / "full" / f"{tier}.txt"
            for task_id in read_task_list(path) if path.is_file() else ():
                tiers.setdefault(task_id, []).append(str(tier))
        return tiers

    def _published(self) -> dict[str, list[str]] | None:
        """Return the variants of each published task, or None where the checkout has no such list."""
        path = self.root / "tasks" / "published_tasks.json"
        if not path.is_file():
            return None
        try:
            listed = _read_object(path, str(path.relative_to(self.root)))["published"]
            return {task_id: [str(name) for name in entry.get("variants", [])] for task_id, entry in listed.items()}
        except (CardError, KeyError, AttributeError, TypeError) as fault:
            raise SourceError(f"{path}: holds no 'published' tasks with their variants ({fault})") from None

    def _commit(self) -> str | None:
        """Return the commit that is checked out, or None where this isn't a plain git checkout."""
        git = self.root / ".git"
        try:
            head = (git / "HEAD").read_text(encoding="utf-8").strip()
            ref = head.removeprefix("ref: ")
            if ref != head and (git / ref).is_file():
                head = (git / ref).read_text(encoding="utf-8").strip()
            elif ref != head:  # git packs the refs of a long unused branch into one file
                packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
                head = next((line.split()[0] for line in packed if line.endswith(f" {ref}")), "")
        except (OSError, UnicodeDecodeError):
            return None
        return head if re.fullmatch(r"[0-9a-f]{40,64}", head) else None


def read_task_list(path: Path) -> tuple[str, ...]:
    """Return the task ids of a `selected_tasks/*.txt` file, one a line.

    A `#` at the start of a line or after a blank begins a comment.

    Raises:
        SourceError: if the file can't be read.
    """
    try:
        content = path.read_text(encoding="utf-8-sig")
    except OSError as fault:
        raise SourceError(f"{path}: can't be read: {fault.strerror}") from None
    except UnicodeDecodeError as fault:
        raise SourceError(f"{path}: is not UTF-8 at byte {fault.start}") from None
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in content.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))


def _read_object(path: Path, where: str) -> Mapping[str, Any]:
    try:
        data = parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as fault:
        raise CardError(where, "(file)", f"can't be read: {fault.strerror}") from None
    except UnicodeDecodeError as fault:
        raise CardError(where, "(file)", f"is not UTF-8 at byte {fault.start}") from None
    except ValueError as fault:
        raise CardError(where, "(file)", f"is not JSON: {fault}") from None
    if not isinstance(data, Mapping):
        raise CardError(where, "(file)", f"must hold one object, found {type(data).__name__}")
    return data
