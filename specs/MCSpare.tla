------------------------------- MODULE MCSpare ------------------------------
(* Bounds for Spare. *)
EXTENDS Spare, TLC

Symmetry == Permutations(Spares) \cup Permutations(Virtuals)
=============================================================================
