"""Tables and the plot of `scale.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def markdown(results: list[dict[str, Any]]) -> str:
    """Return the figures of all sizes as tables."""
    lines = [
        "| passages | passing | plan | p50 ms | p95 ms | CPU ms | recall@10 | plain flat p50 / p95 ms | facets ms |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for result in results:
        for case in result["cases"]:
            plain = [row for row in _plain(result, "flat") if row["share"] == case["share"]]
            beside = f"{plain[0]['p50']:.1f} / {plain[0]['p95']:.1f}" if plain else "-"
            plan = case["plan"] + (f" {case['probed']} of {case['lists']} lists" if case["lists"] else "")
            lines.append(
                f"| {result['passages']:,} | {case['passing'] / result['passages']:.2%} | {plan} | {case['p50']:.1f} | "
                f"{case['p95']:.1f} | {case['cpu']:.1f} | {case['recall']:.3f} | {beside} | {case['facets']:.1f} |"
            )
    lines += [
        "",
        "| passages | tasks | index s (CPU) | index MB | vectors MB | before opening MB | proportional MB | private MB "
        "| of it written MB |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for result in results:
        cells = [
            f"{result['passages']:,}",
            f"{result['cards']:,}",
            f"{result['build_s']:.0f} ({result['build_cpu_s']:.0f})",
            *(f"{result[name]:.0f}" for name in ("index_mb", "vectors_mb")),
            *_memory(result["memory"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, *_approximate(results)]) + "\n"


def _memory(found: dict[str, dict[str, float]] | None) -> list[str]:
    """Return the cells of a searching process's memory; dashes where the system doesn't tell."""
    if found is None:
        return ["-"] * 4
    after = found["after"]
    kinds = (after["proportional_mb"], after["private_mb"], after["written_mb"])
    return [f"{value:.0f}" for value in (found["before"]["proportional_mb"], *kinds)]


def _approximate(results: list[dict[str, Any]]) -> list[str]:
    rows = [
        f"| {row['index']} | {row['share']:.1%} | {row['p50']:.1f} | {row['p95']:.1f} | {row['recall']:.3f} | "
        f"{row['short']:.0%} | {row['build_s']:.1f} |"
        for result in results
        for row in result.get("baselines", ())
        if row["index"] != "flat"
    ]
    if not rows:
        return []
    head = ["", "| filtered in plain FAISS | passing | p50 ms | p95 ms | recall@10 | answers too short | build s |"]
    return [*head, "|---|---:|---:|---:|---:|---:|---:|", *rows]


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """Draw median time by number of passages, one line a selectivity, with plain FAISS beside."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
    sizes = [result["passages"] for result in results]
    for place, case in enumerate(results[0]["cases"]):
        times = [result["cases"][place]["p50"] for result in results]
        axes.plot(sizes, times, marker="o", label=f"{case['share']:.1%} of the passages pass")
    plain = [(result["passages"], _plain(result, "flat")[0]["p50"]) for result in results if _plain(result, "flat")]
    axes.plot(*zip(*plain, strict=True), marker="s", color="grey", linestyle="--", label="plain FAISS flat, all pass")
    axes.set(xscale="log", yscale="log", xlabel="passages of 384 dimensions", ylabel="median time of a search, ms")
    axes.grid(visible=True, which="major", linewidth=0.4)
    axes.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    with pyplot.rc_context({"svg.hashsalt": "scale"}):  # the same figures give the same file
        figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _plain(result: dict[str, Any], index: str) -> list[dict[str, Any]]:
    return [row for row in result.get("baselines", ()) if row["index"] == index]
