------------------------------- MODULE MCLatch ------------------------------
(* Bounds for Latch.  No symmetry: liveness is checked. *)
EXTENDS Latch
=============================================================================
