----------------------------- MODULE MCStrategy -----------------------------
(* Bounds for Strategy. *)
EXTENDS Strategy, TLC

Symmetry == Permutations(Workers) \cup Permutations(Callers \ Tagged)
=============================================================================
