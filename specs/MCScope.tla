------------------------------- MODULE MCScope ------------------------------
(* Bounds for Scope.  No symmetry: liveness is checked. *)
EXTENDS Scope
=============================================================================
