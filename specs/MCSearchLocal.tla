---------------------------- MODULE MCSearchLocal ----------------------------
(* Bounds for SearchLocal. *)
EXTENDS SearchLocal, TLC

Symmetry == Permutations(Sleepers) \cup Permutations(Carriers \ (Busy \cup Sleepers)) \cup Permutations(Submitters \ Pinners)
=============================================================================
