--------------------------- MODULE MCReplacement ---------------------------
(* Bounds for Replacement. *)
EXTENDS Replacement, TLC

Symmetry == Permutations(Submitters) \cup Permutations(Carriers) \cup Permutations(Others)
=============================================================================
