---------------------------- MODULE MCPlacement ----------------------------
(* Bounds for Placement. *)
EXTENDS Placement, TLC

Symmetry == Permutations(Submitters) \cup Permutations(Carriers)
=============================================================================
