# SPDX-License-Identifier: Apache-2.0
"""The judges: each decides, in its own way, whether the claims of specs/ hold.

A judge is a folder: ``run`` judges, ``report`` says what came out, ``command`` is its command.
The folder's package gives the judge as a function of the same name, which returns a report::

    from wakeproof.judge.check import check
    from wakeproof.judge.explore import explore

    assert check("^MCGuard$").holds
    assert explore([Path("race.c")]).ok()

So do ``audit``, ``conform``, ``linear``, ``orders``, ``paths``, ``replay``, ``stress`` and
``traces``.  The import of a package loads its judge only when that name is used.
"""
