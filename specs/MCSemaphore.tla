----------------------------- MODULE MCSemaphore ----------------------------
(* Bounds for Semaphore.  No symmetry: liveness is checked. *)
EXTENDS Semaphore
=============================================================================
