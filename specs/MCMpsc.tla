------------------------------- MODULE MCMpsc ------------------------------
(* Bounds for Mpsc.  Nodes, producers and siblings are interchangeable. *)
EXTENDS Mpsc, TLC

Symmetry == Permutations(Nodes) \cup Permutations(Producers) \cup Permutations(Siblings)
=============================================================================
