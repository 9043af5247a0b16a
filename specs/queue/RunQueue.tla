------------------------------ MODULE RunQueue ------------------------------
(***************************************************************************)
(* What Search needs of kernel/queue/mpsc.h: a queue is the sequence of    *)
(* its link cells, in the order in which [mpsc.2] reserved them. A cell is *)
(* the thread that pushes it, as long as it matters to that thread, or     *)
(* "task".                                                                 *)
(*                                                                         *)
(* Abstracts  [mpsc.4]..[mpsc.8] to one pop, which Mpsc checks in its      *)
(*            steps; and which task a cell holds.                          *)
(***************************************************************************)
EXTENDS Naturals, Sequences

Task == "task"

\* The first link is written ([mpsc.4]). `holes` are the threads between [mpsc.2] and [mpsc.3].
HasPublished(q, IsHole(_)) == IF q = <<>> THEN FALSE ELSE ~IsHole(q[1])

\* A pop succeeds: the head is published, and it is the last node or its successor is linked
\* ([mpsc.5] [mpsc.7]).
CanPop(q, IsHole(_)) == HasPublished(q, IsHole) /\ IF Len(q) = 1 THEN TRUE ELSE ~IsHole(q[2])

\* The same queue once no thread needs to recognise the cell of thread t any more.
Forget(q, t) == [i \in DOMAIN q |-> IF q[i] = t THEN Task ELSE q[i]]
=============================================================================
