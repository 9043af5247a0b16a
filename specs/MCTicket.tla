------------------------------ MODULE MCTicket -----------------------------
(* Bounds for Ticket.  Stealers are interchangeable: symmetry only where no liveness is checked. *)
EXTENDS Ticket, TLC

Symmetry == Permutations(Stealers)
=============================================================================
