"""Options of `fit` and `plan` follow from the recipe, and an option of a part that was not chosen is refused."""

import re
from collections import Counter

import pytest

from poolwise.cli import command as group
from poolwise.cli.commands import fit, plan
from poolwise.method.recipe import FAMILIES, PARAMETERS
from poolwise.support.parameters import AUTO, Flag

from small import described

COMMANDS = {"fit": fit.command, "plan": plan.command}
LEFT_OUT = {"fit": set(), "plan": {"n_codes", "n_candidates"}}  # --sizes and --no-candidates instead
PARAMETERS_OF = {name: {key: one for key, one in described().items() if key not in LEFT_OUT[name]} for name in COMMANDS}
EACH = [(name, key) for name in COMMANDS for key in PARAMETERS_OF[name]]


def sections(text):
    """The help of each option by its first spelling, without white space: lines may be broken anywhere."""
    found = re.split(r"^  (?=-)", text.partition("Options:")[2], flags=re.MULTILINE)[1:]
    return {re.search(r"--[a-z-]+", one)[0]: re.sub(r"\s", "", one) for one in found}


@pytest.fixture(scope="module")
def helped():
    """What `--help` prints, by command."""
    from click.testing import CliRunner

    return {name: sections(CliRunner().invoke(group, [name, "--help"]).output) for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_options_of_the_recipe_are_the_described_parameters_and_no_others(name):
    ours = [option for option in COMMANDS[name].params if option.name.partition("__")[0] in PARAMETERS]
    assert Counter(option.name for option in ours) == Counter(list(PARAMETERS_OF[name]))


@pytest.mark.parametrize(("name", "key"), EACH)
def test_a_described_parameter_has_exactly_one_option(name, key):
    one = PARAMETERS_OF[name][key]
    spelled = [option.name for option in COMMANDS[name].params if one.option in (*option.opts, *option.secondary_opts)]
    assert spelled == [key]
    (option,) = [option for option in COMMANDS[name].params if option.name == key]
    assert option.opts == [one.option]
    assert option.secondary_opts == ([one.kind.off] if isinstance(one.kind, Flag) else [])


@pytest.mark.parametrize(("name", "key"), EACH)
def test_help_has_the_line_and_the_default_of_the_description(helped, name, key):
    one = PARAMETERS_OF[name][key]
    value = AUTO if key in ("encoder__alpha", "encoder__two_sided", "pooling__grid") else one.default
    default = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(one.kind, Flag) and value != AUTO:
        default = (one.option if value else one.kind.off).removeprefix("--")
    assert helped[name][one.option].endswith(re.sub(r"\s", "", f"{one.help}[default:{default}]"))


@pytest.mark.parametrize(("name", "key"), EACH)
def test_help_shows_what_may_be_none(helped, name, key):
    one = PARAMETERS_OF[name][key]
    (option,) = [option for option in COMMANDS[name].params if option.name == key]
    values = helped[name][one.option].removeprefix(one.option).removesuffix(re.sub(r"\s", "", option.help))
    try:
        one.kind.check(one.key, None)
    except ValueError:
        assert "none" not in values
    else:
        assert "none" in values


def written(one):
    """A parameter's default on the command line."""
    if isinstance(one.kind, Flag):
        return [one.option]
    return [one.option, value_of(one)]


def value_of(one):
    if isinstance(one.default, tuple):
        return ",".join(f"{number:g}" for number in one.default)
    return "none" if one.default is None else f"{one.default:g}" if isinstance(one.default, float) else str(one.default)


def each_choice():
    """Every word of every family with every parameter of its parts: (option and word, parameter, words that have it)."""
    for place, family in FAMILIES.items():
        if place not in described():
            continue
        for word in [*family.by_word, *[None] * family.none]:
            for one in family.described():
                owners = [name for part in family.parts if one.name in part.described() for name in part.words]
                one = family.by_word[word].described().get(one.name, one) if word else one  # with that part's default
                yield pytest.param(
                    [PARAMETERS[place].option, word or "none"], one, owners, id=f"{place} {word or 'none'} {one.option}"
                )


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(("chosen", "one", "owners"), list(each_choice()))
def test_an_option_of_a_part_that_was_not_chosen_is_refused(poolwise, tmp_path, name, chosen, one, owners):
    """Others get as far as the images, of which there are none here."""
    output = ["-o", tmp_path / "m.safetensors"] if name == "fit" else []
    done = poolwise(name, tmp_path / "nothing", *output, *written(one), *chosen, "--quiet")
    assert done.out == ""
    if chosen[1] in owners:
        assert done.code == 3
        assert "there is no such file or folder" in done.err
    else:
        assert done.code == 2
        place = chosen[0]
        assert f"Error: {one.option} is for {place} {' or '.join(owners)}; got {place} {chosen[1]}\n" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--encoder", "triangle", "--alpha", "0.1"], "--alpha is for --encoder auto or threshold; got --encoder triangle"),
        (["--one-sided", "--encoder", "nearest"], "--two-sided is for --encoder auto or threshold or llc or "),
        (["--whitening", "none", "--whitening-offset", "1"], "is for --whitening std or variance; got --whitening none"),
        (
            ["--dictionary", "gaussian", "--max-iter", "3"],
            "--max-iter is for --dictionary kmeans or centroids or spherical or omp1 or online ",
        ),
    ],
)
@pytest.mark.parametrize("preset", [[], ["--preset", "coates2011"]])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_preset_does_not_change_that(poolwise, tmp_path, name, preset, arguments, message):
    output = ["-o", tmp_path / "m.safetensors"] if name == "fit" else []
    done = poolwise(name, tmp_path / "nothing", *output, *preset, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
