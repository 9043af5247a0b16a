------------------------------ MODULE MCSearch ------------------------------
(* Bounds for Search.  Carriers are interchangeable because any order of victims and helpers is   *)
(* allowed; symmetry only where no liveness is checked.                                           *)
EXTENDS Search, TLC

Symmetry == Permutations(Carriers \ Endless) \cup Permutations(Submitters \ Pinners)
=============================================================================
