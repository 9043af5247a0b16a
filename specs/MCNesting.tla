------------------------------ MODULE MCNesting -----------------------------
(* Bounds for Nesting.  Scopes are interchangeable: no liveness is checked. *)
EXTENDS Nesting, TLC

Symmetry == Permutations(Scopes) \cup Permutations(Forked)
=============================================================================
