------------------------------ MODULE MCGuard ------------------------------
(* Bounds for Guard.  Producers are interchangeable: symmetry only where no liveness is checked. *)
EXTENDS Guard, TLC

Symmetry == Permutations(Producers)
=============================================================================
