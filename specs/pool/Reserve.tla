------------------------------- MODULE Reserve -------------------------------
(***************************************************************************)
(* A pool's threads reserve themselves, one in each slot, and sleep. A     *)
(* trier with a task takes one thread out and hands it the task. If there  *)
(* is none, the trier learns so at once, and one more thread is started.   *)
(* Jetty's ReservedThreadExecutor is the model. ReserveCore.tla has the    *)
(* state, the triers and the stop.                                         *)
(* Code       kernel/pool/reserve.h, reserve.c: [reserve.1]..[reserve.8].  *)
(* Abstracts  a task and the permit that comes with it to one step         *)
(*            (Parker); the pool to a count of starts; the place where a   *)
(*            search begins to the first slot.                             *)
(* Memory     sequential consistency: all writes to a slot are             *)
(*            read-modify-writes, so a thread that finds its slot empty    *)
(*            after the stop was there sees the stop, too.                 *)
(* Promises   ReservedThreadExclusive, TakenImpliesRun, PendingBound,      *)
(*            StopTerminates (safety); StopEnds (liveness).                *)
(***************************************************************************)
EXTENDS ReserveCore

(* wp_reserve_run: a thread of the pool. *)

\* wp_reserve_run: a thread of the pool begins.
Begin(t) ==
  /\ t \in Threads
  /\ pc[t] = "out"
  /\ starts > 0
  /\ starts' = starts - 1
  /\ Goto(t, "begun")
  /\ UNCHANGED <<slot, stopping, pending, Given, at, whom, left>>

\* The start is no longer under way.
Begun(t) ==                   \* [reserve.4]
  /\ pc[t] = "begun"
  /\ pending' = pending - 1
  /\ GotoSlot(t, "offer", 1)
  /\ UNCHANGED <<slot, stopping, starts, Given, whom, left>>

\* The thread offers itself in an empty slot. If there is none, it is not needed, and leaves.
Offer(t) ==                   \* [reserve.6]
  /\ pc[t] = "offer"
  /\ IF at[t] > Capacity THEN GotoSlot(t, "out", 1) /\ UNCHANGED slot
     ELSE IF slot[at[t]] = None
     THEN /\ slot' = [slot EXCEPT ![at[t]] = t]
          /\ Goto(t, "look")
          /\ UNCHANGED at
     ELSE GotoSlot(t, "offer", at[t] + 1) /\ UNCHANGED slot
  /\ UNCHANGED <<stopping, Pool, Given, whom, left>>

\* The offered thread looks whether the reserve is stopped.
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

\* The thread has waited long enough.
Timeout(t) ==
  /\ pc[t] = "wait"
  /\ ~permit[t]
  /\ left.timeouts > 0
  /\ left' = [left EXCEPT !.timeouts = @ - 1]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<slot, stopping, Pool, Given, at, whom>>

\* An idle thread removes itself if more are reserved than are to stay.
Idle(t) ==                    \* [reserve.2]
  /\ pc[t] = "idle"
  /\ Goto(t, IF Cardinality({i \in Slots : slot[i] # None}) > Least THEN "remove" ELSE "wait")
  /\ UNCHANGED <<slot, stopping, Pool, Given, at, whom, left>>

\* The thread takes itself out of its slot. If it was taken, it waits for what it will be given.
Remove(t) ==                  \* [reserve.8]
  /\ pc[t] = "remove"
  /\ IF slot[at[t]] = t THEN slot' = [slot EXCEPT ![at[t]] = None] /\ GotoSlot(t, "out", 1)
     ELSE Goto(t, "wait") /\ UNCHANGED <<slot, at>>
  /\ UNCHANGED <<stopping, Pool, Given, whom, left>>

\* The thread was given a task, or its stop.
Got(t) ==
  /\ pc[t] = "got"
  /\ task' = [task EXCEPT ![t] = None]
  /\ IF task[t] = "task"
     THEN Goto(t, "run") /\ UNCHANGED at
     ELSE GotoSlot(t, "out", 1)
  /\ UNCHANGED <<slot, stopping, Pool, permit, handed, ran, whom, left>>

\* The thread runs the task, and offers itself again.
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

\* The triers, and the stopper, that have taken thread t.
Holders(t) == {a \in All \ Threads : whom[a] = t}

\* The slots that thread t is in.
In(t) == {i \in Slots : slot[i] = t}

\* A reserved thread is in one slot, or taken by one trier or the stopper, or was unparked.
ReservedThreadExclusive ==
  \A t \in Threads :
    /\ Cardinality(Holders(t)) + Cardinality(In(t)) + (IF permit[t] THEN 1 ELSE 0) <= 1
    /\ Holders(t) # {} \/ In(t) # {} => pc[t] \in {"look", "wait", "idle", "remove"}

\* Each task that was handed over is run, once.
TakenImpliesRun ==
  /\ handed = ran + Cardinality({t \in Threads : task[t] = "task" \/ pc[t] = "run"})
  /\ \A t \in Threads : pc[t] = "out" => task[t] = None
\* No more starts are under way than were admitted, and none that the pool refused.
PendingBound ==
  /\ pending <= MaxPending
  /\ pending = starts + Cardinality({a \in All : pc[a] \in {"begun", "start", "refused"}})

\* When the stop is done no thread waits, unless it is about to be handed something.
StopTerminates ==
  stopping /\ pc["stopper"] = "over" =>
    \A t \in Threads : pc[t] \in {"wait", "idle"} => permit[t] \/ Holders(t) # {}
\* After a stop all reserved threads end.
StopEnds == stopping ~> \A t \in Threads : pc[t] = "out"
=============================================================================
