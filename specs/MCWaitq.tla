------------------------------- MODULE MCWaitq ------------------------------
(* Bounds for Waitq.  Granters are interchangeable. *)
EXTENDS Waitq, TLC

Symmetry == Permutations(Granters)
=============================================================================
