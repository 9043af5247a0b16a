# SPDX-License-Identifier: Apache-2.0
"""The judges: each decides, in its own way, whether the claims of specs/ hold.

A judge is a folder: its module ``run`` judges, ``report`` has the results, and ``command`` is the
command of the command line.  The package of the folder offers the judge as a function of the same
name, which returns a report::

    from wakeproof.judge.check import check
    from wakeproof.judge.explore import explore

    assert check("^MCGuard$").holds
    assert explore([Path("race.c")]).ok()

The other judges are ``audit``, ``conform``, ``linear``, ``orders``, ``paths``, ``prove``,
``replay``, ``stress`` and ``traces``.  The import of a package loads its judge only when that name
is used.
"""
