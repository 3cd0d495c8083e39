"""Draws plots, if matplotlib is installed."""

from __future__ import annotations

from pathlib import Path

from common import Plot

STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "figure.facecolor": "white",
}


def draw(plot: Plot, folder: Path) -> bool:
    """Draw *plot* into *folder*/plots; return False if matplotlib is missing."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    (folder / "plots").mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(plot.width, plot.height), layout="constrained")
        plot.draw(axes)
        # without the library's version in the file, equal figures give equal images
        figure.savefig(folder / "plots" / f"{plot.name}.png", dpi=110, metadata={"Software": None})
        plt.close(figure)
    return True
