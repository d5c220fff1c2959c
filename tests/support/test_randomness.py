import numpy as np
import pytest

from poolwise.support.parameters import ParameterError
from poolwise.support.randomness import choosing_generator, generator, seed_of


def test_the_same_state_gives_the_same_seed():
    assert seed_of(7) == seed_of(7) != seed_of(8)
    assert seed_of(np.random.RandomState(7)) == seed_of(7)
    assert 0 <= seed_of(None) < 2**32


def test_a_random_state_goes_on():
    state = np.random.RandomState(0)
    assert seed_of(state) != seed_of(state)


def test_a_generator_draws_from_its_seed():
    expected = np.random.default_rng(seed_of(3)).random(5)
    np.testing.assert_array_equal(generator(3).random(5), expected)


def test_choosing_draws_do_not_depend_on_those_of_learning():
    a, b = choosing_generator(5).random(5), choosing_generator(5).random(5)
    np.testing.assert_array_equal(a, b)
    assert (a != np.random.default_rng(5).random(5)).all()
    assert (a != choosing_generator(6).random(5)).all()


@pytest.mark.parametrize("state", [-1, 2**32, "seed", 1.5])
def test_what_is_not_a_state_is_refused(state):
    with pytest.raises(ParameterError, match=r"random_state must be an int in 0..2\*\*32 - 1, a RandomState or None; got"):
        seed_of(state)
