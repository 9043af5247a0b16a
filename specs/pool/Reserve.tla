------------------------------- MODULE Reserve -------------------------------
(***************************************************************************)
(* A reserve keeps some threads of a pool ready, so that a task can be     *)
(* handed to one of them at once. Such a thread reserves itself: it offers *)
(* itself in a slot and sleeps. A trier, which is a thread with a task,    *)
(* takes a thread out of its slot and hands it the task. If there is no    *)
(* reserved thread, the trier learns so at once, and one more thread is    *)
(* started. The model for this is Jetty's ReservedThreadExecutor.          *)
(* ReserveCore.tla has the state, the triers and the stop.                 *)
(*                                                                         *)
(* Code       kernel/pool/reserve.h, reserve.c: [reserve.1]..[reserve.8].  *)
(* Abstracts  a task and the permit that comes with it to one step         *)
(*            (Parker); the pool to a count of starts; the slot where a    *)
(*            search begins to the first slot.                             *)
(* Memory     sequential consistency: all writes to a slot are             *)
(*            read-modify-writes. So a thread that finds its slot empty,   *)
(*            because the stop was there before, also sees the stop.       *)
(* Promises   ReservedThreadExclusive, TakenImpliesRun, PendingBound,      *)
(*            StopTerminates (safety); StopEnds (liveness).                *)
(***************************************************************************)
EXTENDS ReserveCore

(* A thread of the pool: wp_reserve_run. *)

\* The thread begins.
Begin(t) ==
  /\ t \in Threads
  /\ pc[t] = "out"
  /\ starts > 0
  /\ starts' = starts - 1
  /\ Goto(t, "begun")
  /\ UNCHANGED <<slot, stopping, pending, Given, at, whom, left>>

\* The start of the thread is no longer under way.
Begun(t) ==                   \* [reserve.4]
  /\ pc[t] = "begun"
  /\ pending' = pending - 1
  /\ GotoSlot(t, "offer", 1)
  /\ UNCHANGED <<slot, stopping, starts, Given, whom, left>>

\* The thread offers itself in an empty slot. If no slot is empty, the thread is not needed, and
\* leaves.
Offer(t) ==                   \* [reserve.6]
  /\ pc[t] = "offer"
  /\ IF at[t] > Capacity THEN GotoSlot(t, "out", 1) /\ UNCHANGED slot
     ELSE IF slot[at[t]] = None
     THEN /\ slot' = [slot EXCEPT ![at[t]] = t]
          /\ Goto(t, "look")
          /\ UNCHANGED at
     ELSE GotoSlot(t, "offer", at[t] + 1) /\ UNCHANGED slot
  /\ UNCHANGED <<stopping, Pool, Given, whom, left>>

\* The offered thread checks whether the reserve is stopped.
LookStop(t) ==                \* [reserve.7]
  /\ pc[t] = "look"
  /\ Goto(t, IF stopping THEN "remove" ELSE "wait")
  /\ UNCHANGED <<slot, stopping, Pool, Given, at, whom, left>>

\* The thread is unparked.
Wake(t) ==
  /\ pc[t] = "wait"
  /\ permit[t]
  /\ permit' = [permit EXCEPT ![t] = FALSE]
  /\ Goto(t, "got")
  /\ UNCHANGED <<slot, stopping, Pool, task, handed, ran, at, whom, left>>

\* The thread has waited for its time-out.
Timeout(t) ==
  /\ pc[t] = "wait"
  /\ ~permit[t]
  /\ left.timeouts > 0
  /\ left' = [left EXCEPT !.timeouts = @ - 1]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<slot, stopping, Pool, Given, at, whom>>

\* A thread whose wait has timed out removes itself, if more threads are reserved than are to stay.
Idle(t) ==                    \* [reserve.2]
  /\ pc[t] = "idle"
  /\ Goto(t, IF Cardinality({i \in Slots : slot[i] # None}) > Least THEN "remove" ELSE "wait")
  /\ UNCHANGED <<slot, stopping, Pool, Given, at, whom, left>>

\* The thread takes itself out of its slot. If a trier or the stopper was faster, the thread waits
\* for its task or its stop.
Remove(t) ==                  \* [reserve.8]
  /\ pc[t] = "remove"
  /\ IF slot[at[t]] = t THEN slot' = [slot EXCEPT ![at[t]] = None] /\ GotoSlot(t, "out", 1)
     ELSE Goto(t, "wait") /\ UNCHANGED <<slot, at>>
  /\ UNCHANGED <<stopping, Pool, Given, whom, left>>

\* The thread takes what it was given, which is a task or its stop.
Got(t) ==
  /\ pc[t] = "got"
  /\ task' = [task EXCEPT ![t] = None]
  /\ IF task[t] = "task"
     THEN Goto(t, "run") /\ UNCHANGED at
     ELSE GotoSlot(t, "out", 1)
  /\ UNCHANGED <<slot, stopping, Pool, permit, handed, ran, whom, left>>

\* The thread runs the task. Then it offers itself again.
Run(t) ==
  /\ pc[t] = "run"
  /\ ran' = ran + 1
  /\ GotoSlot(t, "offer", 1)
  /\ UNCHANGED <<slot, stopping, Pool, task, permit, handed, whom, left>>

Finished ==
  /\ \A c \in Triers : pc[c] = "over"
  /\ pc["stopper"] = IF Stops THEN "over" ELSE "stop"
  /\ \A t \in Threads : pc[t] = "out" \/ (pc[t] = "wait" /\ ~Stops)
  /\ starts = 0 \/ ~Stops
  /\ UNCHANGED vars

Trier(c) == Look(c) \/ Give(c) \/ Miss(c) \/ Start(c) \/ Refused(c)
Thread(t) ==
  \/ Begin(t) \/ Begun(t) \/ Offer(t) \/ LookStop(t) \/ Wake(t) \/ Idle(t) \/ Remove(t) \/ Got(t)
  \/ Run(t)

Next ==
  \/ \E c \in Triers : Try(c) \/ Trier(c)
  \/ \E t \in Threads : Thread(t) \/ Timeout(t)
  \/ Stop \/ Sweep \/ Dismiss \/ Finished

Spec == Init /\ [][Next]_vars
FairSpec ==
  /\ Spec /\ \A c \in Triers : WF_vars(Trier(c))
  /\ \A t \in Threads : WF_vars(Thread(t))
  /\ WF_vars(Sweep \/ Dismiss)

(* What must hold. *)

\* The triers, and the stopper, that have taken thread t and not yet unparked it.
Holders(t) == {a \in All \ Threads : whom[a] = t}

\* The slots that thread t is in.
In(t) == {i \in Slots : slot[i] = t}

\* A reserved thread is in one slot, or was taken by one trier or by the stopper, or was unparked.
\* Only one of these three is true.
ReservedThreadExclusive ==
  \A t \in Threads :
    /\ Cardinality(Holders(t)) + Cardinality(In(t)) + (IF permit[t] THEN 1 ELSE 0) <= 1
    /\ Holders(t) # {} \/ In(t) # {} => pc[t] \in {"look", "wait", "idle", "remove"}

\* Each task that was handed over is run, and only once.
TakenImpliesRun ==
  /\ handed = ran + Cardinality({t \in Threads : task[t] = "task" \/ pc[t] = "run"})
  /\ \A t \in Threads : pc[t] = "out" => task[t] = None
\* At most `MaxPending` starts are under way. A start that the pool has refused counts only until
\* its trier takes it off the count.
PendingBound ==
  /\ pending <= MaxPending
  /\ pending = starts + Cardinality({a \in All : pc[a] \in {"begun", "start", "refused"}})

\* Once the stop is done, no thread waits, unless it is about to be handed something.
StopTerminates ==
  stopping /\ pc["stopper"] = "over" =>
    \A t \in Threads : pc[t] \in {"wait", "idle"} => permit[t] \/ Holders(t) # {}
\* After a stop all reserved threads eventually end.
StopEnds == stopping ~> \A t \in Threads : pc[t] = "out"
=============================================================================
