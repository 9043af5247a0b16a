------------------------------- MODULE MCMutex ------------------------------
(* Bounds for Mutex.  No symmetry: liveness is checked. *)
EXTENDS Mutex
=============================================================================
