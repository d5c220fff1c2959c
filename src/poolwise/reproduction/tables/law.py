"""How accuracy grows with K: a + b K^(-1/4), fitted to the small dictionaries and held against the large ones."""

from poolwise.planning.law import AccuracyLaw, fit_law
from poolwise.report.draw.look import COLOURS, axes
from poolwise.reproduction.cells import Cell, kmeans, pdl
from poolwise.reproduction.experiment import Experiment, Pictures
from poolwise.reproduction.figures.curves import SIZES, band
from poolwise.reproduction.published import CIFAR10, LAW
from poolwise.reproduction.results import Results, percent, table

_MOST_CODES_FITTED = 800


def _cells() -> list[Cell]:
    return [kmeans("cifar10", K) for K in SIZES]


def _fit(results: Results, most: int) -> AccuracyLaw | None:
    """From the sizes up to `most`, each with the mean of its runs."""
    found = {K: mean.mean for K in SIZES if K <= most and (mean := results.of(kmeans("cifar10", K)))}
    return fit_law(list(found), list(found.values())) if len(found) >= 3 else None


def _section(results: Results) -> str:
    small, whole = _fit(results, _MOST_CODES_FITTED), _fit(results, max(SIZES))
    if small is None or whole is None:
        return "The law needs K-means dictionaries of at least three sizes.\n"
    rows = []
    for K in SIZES:
        measured = results.of(kmeans("cifar10", K))
        if measured:
            low, high = small.interval(K)
            row = [f"{K:,}", percent(results.paper(kmeans("cifar10", K))), str(measured), f"{whole.at(K) - measured.mean:+.2f}"]
            rows.append([*row, "" if K <= _MOST_CODES_FITTED else f"{small.at(K):.2f} ({low:.2f} to {high:.2f})"])
    paper = fit_law([K for M, K in CIFAR10 if M == K], [value for (M, K), value in CIFAR10.items() if M == K])
    last = max(K for K in SIZES if results.of(kmeans("cifar10", K)))
    return f"""![Accuracy over K, and the law](law.png)

K-means on CIFAR-10: accuracy = a + b K^(-1/4) with a = {whole.a:.1f}, b = {whole.b:.1f} (the paper's diagonal, fitted the same
way: a = {paper.a:.1f}, b = {paper.b:.1f}; the specification says {LAW["a"]} and {LAW["b"]}).

{table(["K", "paper %", "ours %", "law less ours", f"predicted from K ≤ {_MOST_CODES_FITTED} (95 %)"], rows)}

By this law one point more at {last:,} codes takes {whole.codes_for(whole.at(last) + 1) / last:.1f} times as many codes.
`poolwise plan` fits it to your own images.
"""


def _pictures(results: Results) -> Pictures:
    figure, ax = axes("codes, K (axis in K^(−1/4))", "accuracy, %", "CIFAR-10, K-means: accuracy = a + b K^(−1/4)")
    shown = [100, 200, 400, 800, 1600, 3200, 12800]
    small = _fit(results, _MOST_CODES_FITTED)
    if small is not None:
        x = [K**-0.25 for K in shown]
        low, high = zip(*(small.interval(K) for K in shown), strict=True)
        ax.fill_between(x, low, high, color=COLOURS[0], alpha=0.15, lw=0, label="95 % of further runs, by the law")
        ax.plot(x, [small.at(K) for K in shown], color=COLOURS[0], lw=1.4, label=f"law from K ≤ {_MOST_CODES_FITTED}")
    for label, colour, cells in (
        ("K-means, measured", COLOURS[1], [kmeans("cifar10", K) for K in SIZES]),
        ("4× PDL, measured", COLOURS[2], [pdl("cifar10", K, 4 * K) for K in SIZES if 4 * K in SIZES]),
    ):
        band(ax, [(cell.K**-0.25, found) for cell in cells if (found := results.of(cell))], label, colour)
    if not results.quick:
        paper = [(K**-0.25, value) for (M, K), value in CIFAR10.items() if M == K]
        ax.plot(*zip(*paper, strict=True), "o", mfc="none", mec="0.4", ms=8, label="K-means, the paper")
    ax.set_xticks([K**-0.25 for K in shown], [f"{K:,}" for K in shown])
    ax.invert_xaxis()
    ax.legend(frameon=False, loc="lower right")
    return {"law.png": figure}


LAW_OF_ACCURACY = Experiment("law", "The law a + b K^(-1/4) of accuracy over K", _section, _cells, pictures=_pictures)
