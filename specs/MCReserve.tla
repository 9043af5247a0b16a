------------------------------ MODULE MCReserve ------------------------------
(* Bounds for Reserve. *)
EXTENDS Reserve, TLC

Symmetry == Permutations(Threads) \cup Permutations(Triers)
=============================================================================
