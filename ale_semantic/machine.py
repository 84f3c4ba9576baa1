"""What a task's machine tells: operating system, GPU and licence, derived from the snapshot's name.

Snapshots are named `<cpu|gpu>-<free|license>[-<system>]`. What they don't tell is None, never a guess.
"""

from __future__ import annotations

import re

from ale_semantic.types import OperatingSystem

_SYSTEM_WORDS: dict[str, OperatingSystem] = {
    "linux": OperatingSystem.LINUX,
    "ubuntu": OperatingSystem.LINUX,
    "debian": OperatingSystem.LINUX,
    "fedora": OperatingSystem.LINUX,
    "centos": OperatingSystem.LINUX,
    "rhel": OperatingSystem.LINUX,
    "windows": OperatingSystem.WINDOWS,
    "win": OperatingSystem.WINDOWS,
    "macos": OperatingSystem.MACOS,
    "mac": OperatingSystem.MACOS,
    "osx": OperatingSystem.MACOS,
    "darwin": OperatingSystem.MACOS,
}
_WINDOWS_SNAPSHOTS = frozenset({"cpu-free", "cpu-license", "gpu-free", "gpu-license"})
_GPU_MACHINES = frozenset({"a2", "a3", "a4", "g2", "g4"})  # families that come with an accelerator
_CPU_MACHINES = frozenset({"c2", "c2d", "c3", "c3d", "c4", "c4a", "c4d", "e2", "m1", "m2", "m3", "n2", "n2d", "n4"})


def operating_system(snapshot: str | None, os_field: str | None) -> OperatingSystem | None:
    """Return the system that the card states, else the one its snapshot implies, else None.

    A stated system that isn't understood gives None: the snapshot must not contradict the card.
    """
    if os_field and os_field.strip():
        return _named_system(os_field)
    name = _normal(snapshot)
    return OperatingSystem.WINDOWS if name in _WINDOWS_SNAPSHOTS else _named_system(name)


def needs_gpu(snapshot: str | None, machine_type: str | None) -> bool | None:
    """Tell whether the task needs a GPU, by its snapshot, else by its machine family."""
    words = _normal(snapshot).split("-")
    if "gpu" in words or "cpu" in words:
        return "gpu" in words
    family = _normal(machine_type).split("-")[0]
    return True if family in _GPU_MACHINES else False if family in _CPU_MACHINES else None


def is_licensed(snapshot: str | None) -> bool | None:
    """Tell whether the task needs licensed software, by its snapshot."""
    words = _normal(snapshot).split("-")
    if "license" in words or "licensed" in words:
        return True
    return False if "free" in words else None


def _normal(text: str | None) -> str:
    return re.sub(r"[\s_]+", "-", (text or "").strip().casefold())


def _named_system(text: str) -> OperatingSystem | None:
    words = re.findall(r"[a-z]+", re.sub(r"\b(?:mac )?os x\b|\bmac os\b", "macos", text.casefold()))
    found = {_SYSTEM_WORDS[word] for word in words if word in _SYSTEM_WORDS}
    return found.pop() if len(found) == 1 else None
