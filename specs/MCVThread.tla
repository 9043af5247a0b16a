------------------------------ MODULE MCVThread -----------------------------
(* Bounds for VThread.  Carriers are interchangeable: no liveness is checked. *)
EXTENDS VThread, TLC

Symmetry == Permutations(Carriers) \cup Permutations(Unparkers)
=============================================================================
