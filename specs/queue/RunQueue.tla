------------------------------ MODULE RunQueue ------------------------------
(***************************************************************************)
(* What Search needs of kernel/queue/mpsc.h: a queue is the sequence of    *)
(* its link cells in the order in which [mpsc.2] reserved them.  A cell is *)
(* the thread that pushes it, as long as that thread still cares, or       *)
(* "task".                                                                 *)
(* Abstracts  [mpsc.4]..[mpsc.8] to one pop (Mpsc checks those); which     *)
(*            task it is.                                                  *)
(***************************************************************************)
EXTENDS Naturals, Sequences

Task == "task"

\* [mpsc.4] The first link is written.  `holes` are the threads between [mpsc.2] and [mpsc.3].
HasPublished(q, IsHole(_)) == IF q = <<>> THEN FALSE ELSE ~IsHole(q[1])
\* The pop succeeds: the head is published, and it is last or its successor is linked ([mpsc.5] [mpsc.7]).
CanPop(q, IsHole(_)) == HasPublished(q, IsHole) /\ IF Len(q) = 1 THEN TRUE ELSE ~IsHole(q[2])
\* The same queue when nobody needs to recognise the cell of thread t any more.
Forget(q, t) == [i \in DOMAIN q |-> IF q[i] = t THEN Task ELSE q[i]]
=============================================================================
