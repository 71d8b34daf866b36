"""IMGPO on plain lists, with textbook formulas: the oracle of its tests."""

import contextlib
import itertools
import math

import numpy as np
from scipy.spatial.distance import cdist

from dale.methods.imgpo import LENGTH_SCALES


def naive_imgpo(f, d, budget):
    """The algorithm on plain lists, with textbook formulas, for a function of the cube: the points it evaluates."""
    X, g, l = [], [], 0.25

    def correlations(A, B, l):
        s = math.sqrt(5) * cdist(A, B) / l
        return (1 + s + s**2 / 3) * np.exp(-s)

    def model(l):
        z = (np.array(g) - np.mean(g)) / (np.std(g) or 1.0)
        K = correlations(X, X, l) + 1e-10 * np.eye(len(X))
        variance = z @ np.linalg.solve(K, z) / len(z) or 1.0
        return z, K, variance

    def U(x, M):
        z, K, variance = model(l)
        k = correlations([x], X, l)[0]
        mean = k @ np.linalg.solve(K, z)
        std = math.sqrt(max(variance * (1 - k @ np.linalg.solve(K, k)), 0.0))
        s = math.sqrt(2 * math.log(math.pi**2 * M**2 / (12 * 0.05)))
        return (mean + s * std) * (np.std(g) or 1.0) + np.mean(g)

    def likelihood(l):
        z, K, variance = model(l)
        return -len(z) * math.log(variance) - np.linalg.slogdet(K)[1]

    class Enough(Exception):
        pass

    def evaluate(x):
        if len(X) == budget:
            raise Enough
        X.append(x)
        g.append(-f(x))
        return g[-1]

    def children(lower, upper):
        sides = upper - lower
        j = int(np.flatnonzero(sides > 0.9 * sides.max())[0])
        out = []
        for i in (1, 0, 2):
            low, high = lower.copy(), upper.copy()
            low[j], high[j] = lower[j] + i * sides[j] / 3, lower[j] + (i + 1) * sides[j] / 3
            out.append((low, high))
        return out

    def center(box):
        return (box[0] + box[1]) / 2

    def rounds():
        nonlocal l
        cube = (np.zeros(d), np.ones(d))
        T = {0: [{"box": cube, "value": evaluate(center(cube)), "gp": False}]}
        M, Xi = 1, 1.0
        while True:
            best, v, chosen = max(g), -math.inf, {}
            for h in sorted(T):
                while T[h]:
                    leaf = max(T[h], key=lambda leaf: leaf["value"])
                    if not leaf["value"] > v:
                        break
                    if not leaf["gp"]:
                        chosen[h], v = leaf, leaf["value"]
                        break
                    leaf["value"], leaf["gp"] = evaluate(center(leaf["box"])), False
            for h in sorted(chosen):
                deeper = [xi for xi in range(1, min(math.ceil(Xi), 4) + 1) if h + xi in chosen]
                if deeper:
                    boxes, z, virtual = [chosen[h]["box"]], -math.inf, M
                    for _ in range(deeper[0]):
                        boxes = [children(*box) for box in boxes]
                        for _, left, right in boxes:
                            for box in (left, right):
                                z = max(z, U(center(box), virtual))
                                virtual += 1
                        boxes = list(itertools.chain(*boxes))
                    if z < chosen[h + deeper[0]]["value"]:
                        del chosen[h]
            v = -math.inf
            for h, leaf in sorted(chosen.items()):
                if leaf["value"] >= v:
                    T[h] = [other for other in T[h] if other is not leaf]
                    middle, left, right = children(*leaf["box"])
                    new = [{**leaf, "box": middle}]
                    for box in (left, right):
                        bound = U(center(box), M)
                        if bound <= max(g):
                            new.append({"box": box, "value": bound, "gp": True})
                            M += 1
                        else:
                            new.append({"box": box, "value": evaluate(center(box)), "gp": False})
                        v = max(v, new[-1]["value"])
                    T[h + 1] = T.get(h + 1, []) + new
            Xi = Xi + 4 if max(g) > best else max(Xi - 0.5, 1.0)
            l = max(LENGTH_SCALES, key=lambda l: (likelihood(l), l))

    with contextlib.suppress(Enough):
        rounds()
    return np.array(X)
