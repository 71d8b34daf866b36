"""``dale bench coco``: the suites of COCO (Hansen et al. 2021), scored by the targets that a run reaches.

The score is the fraction of the 51 targets 10^2, 10^1.8, ..., 10^-8 (best feasible value minus the known minimum) that
are reached after a number of evaluations, as a mean over problems. A problem is one function in one dimension with one
instance number.

    suites       the suites, their problems and the methods that support them
    runs         a run: the evaluations at which it reached each target; on disk, and from files of other solvers
    selection    the runs that a command reads
    experiment   make runs, with COCO's logger if requested
    reference    best2009 and best 2009-16, from the data that cocopp ships
    scores       fractions of targets reached, paired differences
    report       tables
    profiles     figures: fraction of targets over evaluations
    archive      logged runs as an archive for COCO's own tools

COCO is imported when it is used: the extra ``coco`` installs it.
"""
