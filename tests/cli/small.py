"""A fit that takes a fraction of a second, image files to fit, and what the recipe describes."""

from PIL import Image

from poolwise.method.recipe import FAMILIES, PARAMETERS

PARTS_OF_PAPER = ("--alpha", "0.25", "--one-sided", "--pool", "average", "--symmetry", "none")
QUICK_PLAN = ("--patches", "3000", "--max-iter", "5", *PARTS_OF_PAPER, "--grid", "2", "--jobs", "1", "--quiet")
QUICK = ("--codes", "8", "--candidates", "none", "--selection", "affinity", *QUICK_PLAN)  # the paper's parts
QUICK_GRID = tuple(word for word in QUICK if word not in ("--grid", "2"))  # the same where another grid is given: they add up
NAMES = ("cat", "grass", "page")
PAST_THE_PAPER = {  # options of parts that the paper does not have
    "rank": ("--rank", "20"),
    "rank found": ("--rank", "auto", "--two-sided"),
    "second order": ("--pool", "second_order"),
    "supervised": ("--selection", "supervised", "--two-sided"),
    "thresholds": ("--alpha", "0.1,0.25,1"),
    "symmetry": ("--symmetry", "mirror"),
    "all": ("--rank", "20", "--pool", "second_order", "--selection", "supervised", "--alpha", "0.25,1", "--symmetry", "mirror"),
}


def write_pngs(folder, images, labels):
    """folder/LABEL/00000.png, ..."""
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / str(label) / f"{number:05}.png")
    return folder


def described():
    """Every parameter of the recipe and of its parts that can be chosen, by its nested name.

    A part's word is its family's, and a family of one word offers no choice.
    """
    found = {}
    for name, one in PARAMETERS.items():
        family = FAMILIES.get(name)
        if family is None or len(family.by_word) > 1 or family.none:
            found[name] = one
        for part in () if family is None else family.parts:
            own = {f"{name}__{inner}": own for inner, own in part.described().items() if inner != part.word_field}
            found = own | found  # of those that several parts have, the first one's default is shown
    return found
