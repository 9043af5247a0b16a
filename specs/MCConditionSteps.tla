------------------------- MODULE MCConditionSteps ---------------------------
(* Bounds for ConditionSteps.  No symmetry: liveness is checked. *)
EXTENDS ConditionSteps
=============================================================================
