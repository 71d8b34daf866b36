"""A quadratic on a box, and optimizers after some evaluations of it, for the tests of the optimizer."""

import dale

BOX = [(-5, 10), (0, 15)]


def bowl(x):
    return float((x[0] - 1) ** 2 + (x[1] - 4) ** 2)


def evaluated(n, seed=0, space=BOX):
    """An optimizer after n evaluations."""
    optimizer = dale.Optimizer(space, seed=seed)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, bowl(trial.x))
    return optimizer


def points(optimizer):
    return [t.unit_x.tolist() for t in optimizer.history]
