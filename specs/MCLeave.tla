------------------------------- MODULE MCLeave ------------------------------
(* Bounds for Leave.  Granters are interchangeable, and so are leavers. *)
EXTENDS Leave, TLC

Symmetry == Permutations(Granters) \cup Permutations(Leavers)
=============================================================================
