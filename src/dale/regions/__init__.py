"""Where the objective looks like a convex quadratic: balls, fits and how they are found."""

from dale.regions.ball import Ball
from dale.regions.identify import Candidate, Region, RegionFinder, Regions, find_regions
from dale.regions.minima import CubeMinimum, local_minima
from dale.regions.quadratic_fit import QuadraticFit, n_unknowns

__all__ = [
    "Ball",
    "Candidate",
    "CubeMinimum",
    "QuadraticFit",
    "Region",
    "RegionFinder",
    "Regions",
    "find_regions",
    "local_minima",
    "n_unknowns",
]
