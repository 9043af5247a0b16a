------------------------------ MODULE MCUring ------------------------------
(* Bounds for Uring. *)
EXTENDS Uring, TLC

Symmetry == Permutations(Callers)
=============================================================================
