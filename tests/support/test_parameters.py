"""A parameter that was described once: checks, parts, families, and errors that a command can spell in its own way."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from sklearn.base import clone

from poolwise.support.parameters import (
    LARGEST_REAL,
    MOST_WHOLE,
    NAME,
    Choice,
    Described,
    Example,
    Family,
    Flag,
    Grids,
    Number,
    ParameterError,
    Part,
    Size,
    Whole,
    as_keyword,
    flat_names,
    parameter,
)


@dataclass(frozen=True, repr=False)
class Tea(Part):
    """A part with one word."""

    words = ("tea",)

    minutes: float = parameter(3.0, Number(), "How long.", "--steep")
    sugar: bool = parameter(False, Flag(off="--bitter"), "Whether sweet.")
    cups: int | None = parameter(2, Whole(none=True), "How many.")


@dataclass(frozen=True, repr=False)
class Coffee(Part):
    """A part whose words are values of one of its fields."""

    words = ("filter", "espresso")
    word_field = "kind"

    kind: str = parameter("filter", Choice(words), "Which.", "--drink")
    grams: int = parameter(15, Whole(5), "How much.")
    cups: int | None = parameter(1, Whole(none=True), "How many.")


DRINKS = Family("drink", Tea, Coffee, none=True)
HOT = Family("drink", Coffee)


@dataclass(frozen=True)
class Breakfast(Described):
    """A recipe with a place for a part."""

    drink: Tea | Coffee | None = parameter("tea", DRINKS, "What to drink.")
    n_rolls: int = parameter(2, Whole(0), "How many.", "--rolls")


KINDS = [
    (Whole(), 3, 3),
    (Whole(), np.int16(3), 3),
    (Whole(), MOST_WHOLE, MOST_WHOLE),
    (Whole(0), 0, 0),
    (Whole(none=True), None, None),
    (Number(), 0, 0.0),
    (Number(), np.float32(0.5), 0.5),
    (Number(-1.0), -1, -1.0),
    (Number(), LARGEST_REAL, LARGEST_REAL),
    (Number(none=True), None, None),
    (Choice(("a", None)), "a", "a"),
    (Choice(("a", None)), None, None),
    (Choice(("a",)), np.str_("a"), "a"),
    (Flag(), True, True),
    (Flag(), np.bool_(False), False),
    (Size(), 6, (6, 6)),
    (Size(), (6, 8), (6, 8)),
    (Size(), [np.int64(6), 8], (6, 8)),
    (Grids(), 2, ((2, 2),)),
    (Grids(), (2, 3), ((2, 3),)),
    (Grids(), [1, (np.int64(1), 3)], ((1, 1), (1, 3))),
]


@pytest.mark.parametrize(("kind", "value", "plain"), KINDS)
def test_what_has_a_meaning_becomes_plain(kind, value, plain):
    checked = kind.check("it", value)
    assert checked == plain
    assert type(checked) in (type(plain), np.str_)
    if isinstance(checked, tuple):
        flat = np.array(checked, object).ravel()
        assert {type(one) for one in flat} == {int}


REFUSED = [
    (Whole(), [0, -1, 1.0, "1", True, None, np.nan, np.array([1, 2]), [1]], "it must be a whole number of at least 1; got "),
    (Whole(2), [1], "it must be a whole number of at least 2; got 1"),
    (Whole(), [MOST_WHOLE + 1, 10**30], f"it must be at most {MOST_WHOLE}; got "),
    (
        Number(),
        [-1, np.nan, np.inf, "1", True, None, 1j, [1.0]],
        "it must be a finite number of at least 0; got ",
    ),
    (Number(), [2 * LARGEST_REAL], "it must be a finite number of at least 0 and at most 1e+18; got 2e+18"),
    (Number(0.5), [0.4], "it must be a finite number of at least 0.5; got 0.4"),
    (Choice(("a", "b", None)), ["c", "A", "", 0, False, ["a"], ("a",), {}], "it must be one of 'a', 'b', None; got "),
    (Choice(("a",)), [None], "it must be one of 'a'; got None"),
    (Flag(), [0, 1, "True", None, 1.0], "it must be True or False; got "),
    (Size(), [(1, 2, 3), (), [1]], "it must be a whole number or (height, width); got "),
    (Size(), [0, (3, 0), 2.0, "6", None, True], "it must be a whole number of at least 1; got "),
    (
        Grids(),
        [0, -1, 2.0, True, "2", None, (2, 0), (1, 2, 3), [1, "2"], [[1, 2]]],
        "it must be a whole number, (rows, columns), or ",
    ),
    (Grids(), [[], [2, 2], [(2, 2), 2]], "it must be at least one grid and, in a pyramid, each a different one; got "),
]


@pytest.mark.parametrize(("kind", "value", "text"), [(kind, value, text) for kind, values, text in REFUSED for value in values])
def test_what_has_no_meaning_is_refused_by_name(kind, value, text):
    with pytest.raises(ParameterError) as caught:
        kind.check("it", value)
    assert str(caught.value).startswith(text)
    assert str(caught.value).endswith(f"got {shown(kind, value)!r}")


def shown(kind, value):
    """A size of which one length is wrong shows that length."""
    if isinstance(kind, Size) and isinstance(value, tuple) and len(value) == 2:
        return next(length for length in value if length < 1)
    return value


def test_a_part_shows_what_differs_from_its_defaults():
    assert repr(Tea()) == "Tea()"
    assert repr(Tea(minutes=4.5, sugar=True)) == "Tea(minutes=4.5, sugar=True)"
    assert repr(Tea(cups=None)) == "Tea(cups=None)"
    assert repr(Coffee("espresso")) == "Coffee(kind='espresso')"
    assert repr(Tea(sugar=0)) == "Tea(sugar=0)"  # equal to the default, but not what it must be


def test_what_a_part_shows_makes_it_again():
    for part in (Tea(), Tea(4.5, True, None), Coffee("espresso", grams=7)):
        assert eval(repr(part)) == part  # noqa: S307


def test_parts_are_equal_by_their_values():
    assert Tea() == Tea(3.0, False, 2)
    assert Tea() != Tea(4.0)
    assert Tea() != Coffee()
    assert hash(Tea()) == hash(Tea(3.0))
    assert len({Tea(), Tea(3.0), Coffee(), Coffee("espresso")}) == 3


def test_a_part_cannot_change():
    with pytest.raises(FrozenInstanceError):
        Tea().minutes = 4.0
    tea = Tea()
    assert tea.but(minutes=4.0) == Tea(4.0)
    assert tea == Tea()
    with pytest.raises(TypeError):
        tea.but(milk=True)


def test_scikit_learn_knows_a_part():
    assert Tea(4.0).get_params() == {"minutes": 4.0, "sugar": False, "cups": 2}
    assert Tea(4.0).get_params(deep=False) == Tea(4.0).get_params()
    tea = Tea(4.0)
    assert clone(tea) is tea
    assert pickle.loads(pickle.dumps(tea)) == copy.deepcopy(tea) == tea  # noqa: S301


def test_a_part_knows_its_word():
    assert (Tea().word, Coffee().word, Coffee("espresso").word) == ("tea", "filter", "espresso")
    assert Tea.of_word("tea") == Tea()
    assert Coffee.of_word("espresso") == Coffee("espresso")


def test_a_part_describes_its_parameters():
    described = Tea.described()
    assert list(described) == ["minutes", "sugar", "cups"]
    minutes = described["minutes"]
    assert (minutes.name, minutes.key, minutes.default, minutes.help, minutes.option) == (
        "minutes",
        "Tea.minutes",
        3.0,
        "How long.",
        "--steep",
    )
    assert described["cups"].option == "--cups"
    assert Breakfast.parameters()["n_rolls"].key == "n_rolls"


def test_checking_a_part_names_the_part_and_its_parameter():
    assert Tea(cups=None).checked() == Tea(cups=None)
    for wrong, text in [
        (Tea(minutes=-1), "minutes must be a finite"),
        (Tea(sugar="no"), "sugar must be True or False; got 'no'"),
    ]:
        with pytest.raises(ParameterError, match=text):
            wrong.checked()
    with pytest.raises(ParameterError) as caught:
        Coffee(grams=4).checked()
    assert list(caught.value.values) == ["Coffee.grams"]


def test_a_family_takes_a_word_or_an_object():
    assert DRINKS.check("drink", "tea") == Tea()
    assert DRINKS.check("drink", "espresso") == Coffee("espresso")
    tea = Tea(4.0)
    assert DRINKS.check("drink", tea) is tea
    assert DRINKS.check("drink", None) is None


@pytest.mark.parametrize("value", ["milk", "Tea", "", 3, Tea, ["tea"], {}, Breakfast()])
def test_a_family_refuses_what_is_none_of_its_parts(value):
    text = "drink must be one of 'tea', 'filter', 'espresso', None, or an object: Tea(...), Coffee(...); got "
    with pytest.raises(ParameterError) as caught:
        DRINKS.check("drink", value)
    assert str(caught.value) == f"{text}{value!r}"


def test_a_family_without_nothing_refuses_none_and_other_parts():
    for value in (None, Tea()):
        with pytest.raises(ParameterError) as caught:
            HOT.check("drink", value)
        assert str(caught.value) == f"drink must be one of 'filter', 'espresso', or an object: Coffee(...); got {value!r}"


def test_a_family_checks_the_values_of_an_object():
    with pytest.raises(ParameterError, match="grams must be a whole number of at least 5; got 1"):
        DRINKS.check("drink", Coffee(grams=1))


def test_a_word_switches_to_another_form_of_the_same_part_and_keeps_its_values():
    assert DRINKS.switched(Coffee("filter", grams=7), "espresso") == Coffee("espresso", grams=7)
    assert DRINKS.switched(Tea(4.0), "espresso") == Coffee("espresso")
    assert DRINKS.switched(Coffee(grams=7), "tea") == Tea()
    assert DRINKS.switched(Tea(4.0), "tea") == Tea(4.0)
    assert DRINKS.switched(None, "filter") == Coffee()
    assert DRINKS.switched("tea", "filter") == Coffee()


def test_a_family_describes_the_parameters_of_its_parts_once_and_without_their_words():
    assert [one.key for one in DRINKS.described()] == ["Tea.minutes", "Tea.sugar", "Tea.cups", "Coffee.grams"]
    assert DRINKS.by_word == {"tea": Tea, "filter": Coffee, "espresso": Coffee}
    assert DRINKS.by_class == {"Tea": Tea, "Coffee": Coffee}


def test_every_key_has_its_option():
    assert flat_names(Breakfast.parameters()) == {
        "drink": "--drink",
        "n_rolls": "--rolls",
        "Tea.minutes": "--steep",
        "Tea.sugar": "--sugar",
        "Tea.cups": "--cups",
        "Coffee.kind": "--drink",
        "Coffee.grams": "--grams",
        "Coffee.cups": "--cups",
    }


def test_an_error_reads_as_python():
    error = ParameterError(
        "{n_rolls} with {Tea.minutes}; see {Tea.cups}", **{"n_rolls": 3, "Tea.minutes": 0.5, "Tea.cups": NAME}
    )
    assert str(error) == "n_rolls=3 with Tea(minutes=0.5); see cups"
    assert isinstance(error, ValueError)
    assert as_keyword("n_rolls", "x") == "n_rolls='x'"


def test_an_error_can_be_spelled_in_another_way():
    def spell(name, value):
        return f"<{name}>" if value is NAME else f"<{name} {value}>"

    error = ParameterError(
        "{n_rolls} with {Tea.minutes}; see {Tea.cups}", **{"n_rolls": 3, "Tea.minutes": 0.5, "Tea.cups": NAME}
    )
    assert error.spelled(spell) == "<n_rolls 3> with <Tea.minutes 0.5>; see <Tea.cups>"
    with pytest.raises(ParameterError) as caught:
        Whole().check("Tea.cups", 0)
    assert caught.value.spelled(spell) == "<Tea.cups> must be a whole number of at least 1; got 0"


def test_braces_that_name_no_parameter_stay():
    error = ParameterError("{n_rolls} in {basket} {} {0}", n_rolls=1)
    assert str(error) == "n_rolls=1 in {basket} {} {0}"


def test_a_value_with_braces_is_shown_as_it_is():
    with pytest.raises(ParameterError) as caught:
        Choice(("a",)).check("it", "{it} {0}")
    assert str(caught.value) == "it must be one of 'a'; got '{it} {0}'"
    assert caught.value.spelled(lambda name, value: "--it") == "--it must be one of 'a'; got '{it} {0}'"


def test_an_example_is_written_in_python_or_as_an_option():
    error = ParameterError("give {Tea.cups}", **{"Tea.cups": Example("(2, 3)", "2x3")})
    assert str(error) == "give Tea(cups=(2, 3))"
    assert error.spelled(lambda name, value: f"--cups {value.option}") == "give --cups 2x3"


def test_an_error_survives_being_sent_to_another_process():
    error = ParameterError("{n_rolls}; see {Tea.cups}", **{"n_rolls": 3, "Tea.cups": NAME})
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):  # noqa: S301
        assert str(twin) == str(error) == "n_rolls=3; see cups"
        assert twin.spelled(as_keyword) == error.spelled(as_keyword)
