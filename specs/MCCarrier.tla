------------------------------ MODULE MCCarrier -----------------------------
(* Bounds for Carrier.  Submitters are interchangeable, and so are victims. *)
EXTENDS Carrier, TLC

Symmetry == Permutations(Submitters) \cup Permutations(Victims)
=============================================================================
