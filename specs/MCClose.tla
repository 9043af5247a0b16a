------------------------------ MODULE MCClose -------------------------------
(* Bounds for Close.  Those who cancel are interchangeable, and those who do not. *)
EXTENDS Close, TLC

Symmetry == Permutations(Cancellers) \cup Permutations(Closers \ Cancellers) \cup Permutations(Tasks)
=============================================================================
