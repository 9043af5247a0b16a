------------------------------- MODULE MCTask -------------------------------
(* Bounds for Task.  Carriers are interchangeable, and so are unparkers, where no liveness is checked. *)
EXTENDS Task, TLC

Symmetry == Permutations(Carriers) \cup Permutations(Unparkers)
=============================================================================
