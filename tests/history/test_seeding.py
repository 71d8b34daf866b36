"""Seeds: the generator of proposal k is a function of (seed, k) alone."""

import subprocess
import sys

import numpy as np
import pytest

from dale.history.seeding import RandomStreams, check_seed, generator


def test_same_seed_same_numbers():
    for seed, k in [(0, 0), (0, 1), (7, 0), (2**63, 10**6)]:
        np.testing.assert_array_equal(generator(seed, k).random(5), generator(seed, k).random(5))


def test_generators_differ_between_proposals_and_seeds():
    draws = {tuple(generator(seed, k).random(3)) for seed in range(20) for k in range(50)}
    assert len(draws) == 1000


def test_the_order_of_the_proposals_does_not_matter():
    forward = [generator(3, k).random() for k in range(10)]
    backward = [generator(3, k).random() for k in reversed(range(10))]
    assert forward == backward[::-1]


def test_the_global_random_state_does_not_change():
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random(3)  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    generator(0, 0).random(100)
    check_seed(None)
    np.testing.assert_array_equal(np.random.random(3), expected)  # noqa: NPY002


def test_the_same_in_a_fresh_process():
    code = "from dale.history.seeding import generator; print(generator(11, 4).random(3).tobytes().hex())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == generator(11, 4).random(3).tobytes().hex()


@pytest.mark.parametrize("seed", [0, 1, 2**64, np.int64(3), np.uint8(4)])
def test_seeds(seed):
    assert check_seed(seed) == int(seed)
    assert type(check_seed(seed)) is int


def test_none_gives_a_random_seed():
    seeds = {check_seed(None) for _ in range(10)}
    assert len(seeds) > 1
    assert all(seed >= 0 for seed in seeds)


@pytest.mark.parametrize("seed", [1.0, "1", True, [1], np.float64(2), 1j])
def test_a_seed_that_is_not_an_integer_raises(seed):
    with pytest.raises(TypeError, match=r"seed must be a non-negative integer or None, got "):
        check_seed(seed)


@pytest.mark.parametrize("seed", [-1, -(2**70)])
def test_a_negative_seed_raises(seed):
    with pytest.raises(ValueError, match=rf"seed must be a non-negative integer or None, got {seed}"):
        check_seed(seed)


def test_an_unknown_stream_raises():
    with pytest.raises(ValueError, match="stream: expected one of 'global', 'local', got 'mine'"):
        RandomStreams(0, 0)("mine")
