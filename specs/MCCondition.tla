----------------------------- MODULE MCCondition ----------------------------
(* Bounds for Condition.  No symmetry: liveness is checked. *)
EXTENDS Condition
=============================================================================
