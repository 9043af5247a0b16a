------------------------------ MODULE MCLocal ------------------------------
(* Bounds for Local. *)
EXTENDS Local, TLC

Symmetry == Permutations(Thieves)
=============================================================================
