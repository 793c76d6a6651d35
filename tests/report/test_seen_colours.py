"""The distance of colours against published pairs, and every two methods' lines."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from seen_colours import apart, ciede2000

from artifact.base import plots

#: pairs in CIELAB and their distance, from Sharma, Wu and Dalal 2005, Table 1
PAIRS = (
    ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
    ((50, -1, 2), (50, 0, 0), 2.3669),
    ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
    ((50, 2.5, 0), (58, 24, 15), 19.4535),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
)


@pytest.mark.parametrize(("one", "other", "distance"), PAIRS)
def test_the_distance_is_the_published_one(one, other, distance):
    assert ciede2000(np.array(one), np.array(other)) == pytest.approx(distance, abs=1e-4)


def test_red_and_green_of_one_lightness_are_close_for_those_without_green_receptors_alone():
    red, green = (200, 80, 60), (122, 122, 40)
    assert apart(red, green) < 15 < apart(red, green, np.eye(3))


def test_colours_of_any_two_methods_are_told_apart_or_their_dashes_and_markers_differ():
    looks = {name: plots.style(name) for name in plots.METHODS if ", " not in name}
    alike = []
    for one, other in combinations(looks, 2):
        a, b = looks[one], looks[other]
        rgb = [tuple(int(look.colour[i : i + 2], 16) for i in (1, 3, 5)) for look in (a, b)]
        if apart(*rgb) < 15 and (a.line == b.line or a.marker == b.marker):
            alike.append((one, other))
    assert len(looks) > 20 and alike == []
