------------------------------ MODULE RunQueue ------------------------------
(***************************************************************************)
(* The part of kernel/queue/mpsc.h that Search needs. A queue is the       *)
(* sequence of its link cells, in the order in which [mpsc.2] reserved     *)
(* them. In the sequence, a cell is the thread that pushes it, as long as  *)
(* that thread must recognise it; otherwise it is "task".                  *)
(*                                                                         *)
(* Abstracts  [mpsc.4]..[mpsc.8] to one pop, which Mpsc checks step by     *)
(*            step; and the task that a cell holds.                        *)
(***************************************************************************)
EXTENDS Naturals, Sequences

Task == "task"

\* The first link is written ([mpsc.4]). IsHole(t) is TRUE while thread t is between [mpsc.2] and
\* [mpsc.3], the two steps of its push.
HasPublished(q, IsHole(_)) == IF q = <<>> THEN FALSE ELSE ~IsHole(q[1])

\* A pop succeeds: the first cell is published, and it is the last one or the next one is published
\* too ([mpsc.5] [mpsc.7]).
CanPop(q, IsHole(_)) == HasPublished(q, IsHole) /\ IF Len(q) = 1 THEN TRUE ELSE ~IsHole(q[2])

\* The queue q, once no thread has to recognise the cell of thread t any more.
Forget(q, t) == [i \in DOMAIN q |-> IF q[i] = t THEN Task ELSE q[i]]
=============================================================================
