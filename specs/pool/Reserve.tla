------------------------------- MODULE Reserve -------------------------------
(***************************************************************************)
(* Threads of a pool offer themselves, one in each slot, and sleep: who    *)
(* has a task takes one out and hands it the task, or is told at once that *)
(* there is none, and one more is started.                                 *)
(* Code       kernel/pool/reserve.h, reserve.c: [reserve.1]..[reserve.8].  *)
(* Abstracts  a task and the permit that comes with it to one step         *)
(*            (Parker); the pool to a count of starts; where a search      *)
(*            begins: at the first slot.                                   *)
(* Memory     sequential consistency: all writes to a slot are             *)
(*            read-modify-writes, so who finds it empty after the stop has *)
(*            been there sees the stop, too.                               *)
(* Promises   ReservedThreadExclusive, TakenImpliesRun, PendingBound,      *)
(*            StopTerminates (safety); StopEnds (liveness).                *)
(***************************************************************************)
EXTENDS ReserveCore

(* wp_reserve_run: a thread of the pool. *)
Begin(t) ==
  /\ t \in Threads /\ pc[t] = "out" /\ starts > 0
  /\ starts' = starts - 1
  /\ Goto(t, "begun")
  /\ UNCHANGED <<slot, stopping, pending, Given, at, whom, left>>
Begun(t) ==                   \* [reserve.4]
  /\ pc[t] = "begun"
  /\ pending' = pending - 1
  /\ GotoSlot(t, "offer", 1)
  /\ UNCHANGED <<slot, stopping, starts, Given, whom, left>>
Offer(t) ==                   \* [reserve.6] an empty one; or it is not needed
  /\ pc[t] = "offer"
  /\ IF at[t] > Capacity THEN GotoSlot(t, "out", 1) /\ UNCHANGED slot
     ELSE IF slot[at[t]] = None
     THEN /\ slot' = [slot EXCEPT ![at[t]] = t]
          /\ Goto(t, "look")
          /\ UNCHANGED at
     ELSE GotoSlot(t, "offer", at[t] + 1) /\ UNCHANGED slot
  /\ UNCHANGED <<stopping, Pool, Given, whom, left>>
LookStop(t) ==                \* [reserve.7] after it is offered
  /\ pc[t] = "look"
  /\ Goto(t, IF stopping THEN "remove" ELSE "wait")
  /\ UNCHANGED <<slot, stopping, Pool, Given, at, whom, left>>
Wake(t) ==
  /\ pc[t] = "wait" /\ permit[t]
  /\ permit' = [permit EXCEPT ![t] = FALSE]
  /\ Goto(t, "got")
  /\ UNCHANGED <<slot, stopping, Pool, task, handed, ran, at, whom, left>>
Timeout(t) ==
  /\ pc[t] = "wait" /\ ~permit[t] /\ left.timeouts > 0
  /\ left' = [left EXCEPT !.timeouts = @ - 1]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<slot, stopping, Pool, Given, at, whom>>
Idle(t) ==                    \* [reserve.2] more than are to stay
  /\ pc[t] = "idle"
  /\ Goto(t, IF Cardinality({i \in Slots : slot[i] # None}) > Least THEN "remove" ELSE "wait")
  /\ UNCHANGED <<slot, stopping, Pool, Given, at, whom, left>>
Remove(t) ==                  \* [reserve.8] who was taken waits for what it is to be given
  /\ pc[t] = "remove"
  /\ IF slot[at[t]] = t THEN slot' = [slot EXCEPT ![at[t]] = None] /\ GotoSlot(t, "out", 1)
     ELSE Goto(t, "wait") /\ UNCHANGED <<slot, at>>
  /\ UNCHANGED <<stopping, Pool, Given, whom, left>>
Got(t) ==
  /\ pc[t] = "got"
  /\ task' = [task EXCEPT ![t] = None]
  /\ IF task[t] = "task"
     THEN Goto(t, "run") /\ UNCHANGED at
     ELSE GotoSlot(t, "out", 1)
  /\ UNCHANGED <<slot, stopping, Pool, permit, handed, ran, whom, left>>
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
Holders(t) == {a \in All \ Threads : whom[a] = t}
In(t) == {i \in Slots : slot[i] = t}
\* Who is offered is in a slot, or with one who has taken it, or was unparked.
ReservedThreadExclusive ==
  \A t \in Threads :
    /\ Cardinality(Holders(t)) + Cardinality(In(t)) + (IF permit[t] THEN 1 ELSE 0) <= 1
    /\ Holders(t) # {} \/ In(t) # {} => pc[t] \in {"look", "wait", "idle", "remove"}
\* What is handed over is run, once.
TakenImpliesRun ==
  /\ handed = ran + Cardinality({t \in Threads : task[t] = "task" \/ pc[t] = "run"})
  /\ \A t \in Threads : pc[t] = "out" => task[t] = None
\* No more starts are under way than were admitted, and none that the pool refused.
PendingBound ==
  /\ pending <= MaxPending
  /\ pending = starts + Cardinality({a \in All : pc[a] \in {"begun", "start", "refused"}})
\* When the stop has been there nobody waits, unless it is about to be handed something.
StopTerminates ==
  stopping /\ pc["stopper"] = "over" =>
    \A t \in Threads : pc[t] \in {"wait", "idle"} => permit[t] \/ Holders(t) # {}
\* After a stop all reserved threads end.
StopEnds == stopping ~> \A t \in Threads : pc[t] = "out"
=============================================================================
