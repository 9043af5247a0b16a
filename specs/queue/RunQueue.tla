------------------------------ MODULE RunQueue ------------------------------
(***************************************************************************)
(* What Search needs of kernel/queue/mpsc.h: a queue is the sequence of its link *)
(* cells in the order in which [Q2] reserved them.  A cell is the thread   *)
(* that pushes it, as long as that thread still cares, or "task".          *)
(* Abstracts  [Q4]..[Q8] to one pop (Mpsc checks those); which task it is. *)
(***************************************************************************)
EXTENDS Naturals, Sequences

Task == "task"

\* [Q4] The first link is written.  `holes` are the threads between [Q2] and [Q3].
HasPublished(q, IsHole(_)) == IF q = <<>> THEN FALSE ELSE ~IsHole(q[1])
\* The pop succeeds: the head is published, and it is last or its successor is linked ([Q5] [Q7]).
CanPop(q, IsHole(_)) == HasPublished(q, IsHole) /\ IF Len(q) = 1 THEN TRUE ELSE ~IsHole(q[2])
\* The same queue when nobody needs to recognise the cell of thread t any more.
Forget(q, t) == [i \in DOMAIN q |-> IF q[i] = t THEN Task ELSE q[i]]
=============================================================================
