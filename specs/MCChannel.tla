------------------------------ MODULE MCChannel -----------------------------
(* Bounds for Channel.  No symmetry: liveness is checked. *)
EXTENDS Channel
=============================================================================
