"""How far vectors may be cut is read from the model's own settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ale_semantic.embeddings.truncation import config_file, fewest_dimensions


@pytest.mark.parametrize(
    ("settings", "fewest"),
    [
        ({"matryoshka_dimensions": [768, 256, 512]}, 256),
        ({"matryoshka_dimensions": [256], "is_matryoshka": True}, 256),
        ({"is_matryoshka": True}, 1),
        ({"is_matryoshka": "yes"}, None),
        ({"matryoshka_dimensions": []}, None),
        ({"matryoshka_dimensions": ["256", True, -3]}, None),
        ({"hidden_size": 384}, None),
        ([], None),
        ("{", None),
    ],
)
def test_the_settings_say_how_far(tmp_path: Path, settings: Any, fewest: int | None) -> None:
    text = settings if isinstance(settings, str) else json.dumps(settings)
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    assert fewest_dimensions(tmp_path) == fewest


def test_the_network_may_have_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text('[{"path": "0_Transformer"}]', encoding="utf-8")
    assert config_file(tmp_path) is None
    assert fewest_dimensions(tmp_path) is None
    inner = tmp_path / "0_Transformer"
    inner.mkdir()
    (inner / "config.json").write_text('{"matryoshka_dimensions": [64]}', encoding="utf-8")
    assert config_file(tmp_path) == inner / "config.json"
    assert fewest_dimensions(tmp_path) == 64


def test_a_model_without_a_folder_says_nothing() -> None:
    assert fewest_dimensions(None) is None
