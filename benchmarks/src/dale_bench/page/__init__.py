"""``dale bench page``: docs/benchmarks.md and the results in README.md, drawn from the rows in benchmarks/results.

    marks       the generated blocks of a page, between HTML comments
    published   the rows, each file read once
    markdown    tables and remarks as the text of a block
    commands    the commands that made published rows
    coco        blocks of COCO's suites
    cutest      block of the CUTEst problems
    real        block of the real problems
    functions   blocks of the classical functions, and of the ablation
    problems    blocks of the mixed, noisy, constrained, failing and parallel problems
    costs       blocks of the cost of a proposal and of workers; forecasts
    summary     the first table: who wins on each kind of problems
    drawings    the figures
    contents    all blocks and figures, and the pages that have them

A block whose rows do not exist is empty. A section whose rows may be absent is in its block as a
whole.
"""
