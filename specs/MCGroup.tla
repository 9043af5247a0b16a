------------------------------ MODULE MCGroup -------------------------------
(* Bounds for Group.  Carriers, tasks and starters are interchangeable. *)
EXTENDS Group, TLC

Symmetry == Permutations(Carriers) \cup Permutations(Tasks) \cup Permutations(Starters)
=============================================================================
