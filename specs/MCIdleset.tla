----------------------------- MODULE MCIdleset -----------------------------
(* Bounds for Idleset: small words, so that three members already need two.  *)
EXTENDS Idleset
=============================================================================
