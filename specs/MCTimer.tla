------------------------------- MODULE MCTimer -------------------------------
(* Bounds for Timer.  Armers are interchangeable where no liveness is checked. *)
EXTENDS Timer, TLC

Symmetry == Permutations(Armers \ Own) \cup Permutations(Own)
=============================================================================
