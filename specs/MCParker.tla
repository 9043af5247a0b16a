------------------------------ MODULE MCParker -----------------------------
(* Bounds for Parker.  Unparkers are interchangeable: symmetry only where no liveness is checked. *)
EXTENDS Parker, TLC

Symmetry == Permutations(Unparkers)
=============================================================================
