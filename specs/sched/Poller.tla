------------------------------- MODULE Poller -------------------------------
(***************************************************************************)
(* A carrier's poller is a virtual thread of the carrier. On behalf of all *)
(* other threads of the carrier it may block in a system call, such as     *)
(* epoll_wait. Before it blocks, the poller parks the carrier. Right       *)
(* before its system call it checks that the carrier is still parked, and  *)
(* after the call it unparks the carrier.                                  *)
(*                                                                         *)
(* Code       kernel/sched/poller.h, poller_turn.h, poller.c;              *)
(*            run_queues.h, worker.c, search.c, carrier_tasks.c;           *)
(*            carrier.c: [carrier.1]..[run_queues.1].                      *)
(* Abstracts  one carrier. Its queues are a counter, with pushes of one    *)
(*            step (Mpsc), and the place of the poller. The idle bit, the  *)
(*            token and the siblings' queues are a searcher and thefts     *)
(*            that may happen at any time (Search). The futex call         *)
(*            compares the word and queues the sleeper in one step         *)
(*            (Carrier). The poller's wakeup is sticky, as an eventfd is.  *)
(* Memory     sequential consistency, which [carrier.7] and [carrier.6]    *)
(*            earn.                                                        *)
(* Promises   BlockOnlyIfParked, PollerParkPaired, RunsOnlyWhenRunning,    *)
(*            NoMissedSubmission, WakeReachesSleeper, PinnedPollerUnique,  *)
(*            PollerStaysHome, StolenIsKept, WakeupIsOver (safety);        *)
(*            PollerRuns, CloseEnds (liveness).                            *)
(***************************************************************************)
EXTENDS PollerCore

(* The carrier's loop: worker.c. *)
IsClosing == stop = "read"

\* The carrier has something to run.
HasOwn == work > 0 \/ stop = "sent" \/ poller \in {"inbox", "shared"}

\* The carrier runs the task of its private slot.
RunNext ==
  /\ Is("loop")
  /\ next > 0
  /\ next' = next - 1
  /\ To("run")
  /\ UNCHANGED <<word, work, Whose, Wakes, stop, place, left>>

\* The carrier runs a task of its queue.
RunTask ==                    \* [mpsc.4]
  /\ Is("loop") /\ next = 0 /\ work > 0
  /\ work' = work - 1
  /\ To("run")
  /\ UNCHANGED <<word, next, Whose, Wakes, stop, place, left>>

\* The carrier reads its stop.
ReadStop ==
  /\ Is("loop") /\ next = 0 /\ stop = "sent"
  /\ stop' = "read"
  /\ UNCHANGED <<word, Queues, Whose, Wakes, pc, place, left>>

\* The carrier runs its poller, which is in the inbox or in the poller's slot. It does so once a
\* turn, after it has drained the queues.
Mount ==
  /\ Is("loop")
  /\ next = 0
  /\ poller \in {"inbox", "shared", "slot"}
  /\ poller' = "on"
  /\ To(resume)
  /\ UNCHANGED <<word, Queues, registered, alive, resume, Wakes, stop, place, left>>

\* The running task ends.
EndRun ==
  /\ Is("run")
  /\ To("loop")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The carrier has read its stop and has no poller any more, so the loop ends.
Over ==
  /\ Is("loop")
  /\ next + work = 0
  /\ stop = "read"
  /\ registered = None
  /\ To("over")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The carrier has nothing to run, and its poller is not in the slot, so the carrier parks.
ParkLoop ==                   \* [carrier.1]
  /\ Is("loop")
  /\ next = 0
  /\ ~HasOwn
  /\ poller # "slot"
  /\ stop = "read" => registered # None
  /\ word' = "PARKED_FUTEX"
  /\ place' = [place EXCEPT !["owner"] = "PARKED_FUTEX"]
  /\ To("recheck")
  /\ UNCHANGED <<Queues, Whose, Wakes, stop, left>>

\* The carrier leaves its park with one exchange. If it was sent to a victim, it may steal a task
\* there.
Leave ==                      \* [carrier.2]
  /\ word' = "RUNNING"
  /\ owed' = IF place["owner"] = "PARKED_POLLER" /\ word \notin Parked THEN owed + 1 ELSE owed
  /\ place' = [place EXCEPT !["owner"] = None]
  /\ \/ UNCHANGED <<next, left>>
     \/ /\ word \in Victims /\ left.steals > 0
        /\ next' = next + 1
        /\ left' = [left EXCEPT !.steals = @ - 1]
  /\ UNCHANGED <<work, Whose, event, whom, stop>>

IsForPoller == place["owner"] = "PARKED_POLLER"

\* The carrier's own queues have work, so the carrier gives up its park.
GiveUp ==                     \* [carrier.6]
  /\ Is("recheck")
  /\ HasOwn
  /\ To(IF IsForPoller THEN "poll" ELSE "loop")
  /\ Leave

\* A sibling's queue has work, so the carrier gives up its park, unless a waker is faster.
StealInstead ==               \* [carrier.6]
  /\ Is("recheck") /\ ~HasOwn /\ left.steals > 0 /\ word \in Parked
  /\ word' = "RUNNING"
  /\ place' = [place EXCEPT !["owner"] = None]
  /\ next' = next + 1
  /\ left' = [left EXCEPT !.steals = @ - 1]
  /\ To(IF IsForPoller THEN "poll" ELSE "loop")
  /\ UNCHANGED <<work, Whose, Wakes, stop>>

\* The carrier finds no work, and sleeps.
Recheck ==                    \* [carrier.6]
  /\ Is("recheck")
  /\ ~HasOwn
  /\ To(IF IsForPoller THEN "parked" ELSE IF word = "PARKED_FUTEX" THEN "queued" ELSE "back")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The carrier was woken, or its poller has gone away after it parked the carrier.
Back ==
  /\ Is("back")
  /\ To("loop")
  /\ Leave

(* The poller, on its carrier. *)

\* maybe_yield(had_io): the poller yields. If its system call brought no input or output, it may
\* steal one task.
Yield(steals) ==
  /\ Is("poll")
  /\ steals => left.steals > 0 /\ next = 0 /\ work = 0
  /\ poller' = "slot"
  /\ resume' = "poll"
  /\ next' = IF steals THEN next + 1 ELSE next
  /\ left' = IF steals THEN [left EXCEPT !.steals = @ - 1] ELSE left
  /\ To("loop")
  /\ UNCHANGED <<word, work, registered, alive, Wakes, stop, place>>

\* The poller parks itself, as any virtual thread may at any place.
ParkItself ==
  /\ pc["owner"] \in {"poll", "parked"}
  /\ left.parks > 0
  /\ poller' = "away"
  /\ resume' = IF Is("poll") THEN "poll" ELSE "ask"
  /\ left' = [left EXCEPT !.parks = @ - 1]
  /\ To(IF Is("poll") THEN "loop" ELSE "back")
  /\ UNCHANGED <<word, Queues, registered, alive, Wakes, stop, place>>

\* try_park: the poller parks the carrier.
TryPark ==                    \* [carrier.1]
  /\ Is("poll")
  /\ next = 0
  /\ ~IsClosing
  /\ word' = "PARKED_POLLER"
  /\ place' = [place EXCEPT !["owner"] = "PARKED_POLLER"]
  /\ To("recheck")
  /\ UNCHANGED <<Queues, Whose, Wakes, stop, left>>

\* The poller is descheduled between try_park and its system call.
Deschedule ==
  /\ Is("parked")
  /\ poller' = "slot"
  /\ resume' = "ask"
  /\ To("back")
  /\ UNCHANGED <<word, Queues, registered, alive, Wakes, stop, place, left>>

\* The poller pushes a task to its own carrier. The carrier is awake, so no push wakes it.
PushItself ==
  /\ Is("parked")
  /\ left.pushes > 0
  /\ work' = work + 1
  /\ left' = [left EXCEPT !.pushes = @ - 1]
  /\ UNCHANGED <<word, next, Whose, Wakes, stop, pc, place>>

\* The poller goes on to its system call.
GoOn ==
  /\ Is("parked")
  /\ To("ask")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* can_park: right before its system call the poller checks the carrier's word and queues.
Ask ==                        \* [poller.3]
  /\ Is("ask")
  /\ To(IF word = "PARKED_POLLER" /\ ~HasOwn THEN "selecting" ELSE "unpark")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The system call returns, because of the wakeup, of input or output, or of the deadline.
Selected ==
  /\ Is("selecting")
  /\ event' = FALSE
  /\ To("unpark")
  /\ UNCHANGED <<word, Queues, Whose, owed, whom, stop, place, left>>

\* unpark: the poller ends the carrier's park, unless the carrier's loop has done so.
UnparkCarrier ==              \* [carrier.2]
  /\ Is("unpark")
  /\ To("poll")
  /\ IF place["owner"] = None THEN UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
     ELSE Leave

\* The function that the poller runs returns.
Return ==
  /\ Is("poll")
  /\ (Ends \/ IsClosing)
  /\ To("end")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The poller is freed once every waker that has claimed its wakeup has returned from that wakeup.
\* Until then the poller yields.
Free ==                       \* [poller.1] [poller.2]
  /\ Is("end")
  /\ IF owed = 0
     THEN /\ registered' = None
          /\ alive' = alive \ {registered}
          /\ poller' = None
          /\ resume' = "poll"
          /\ event' = FALSE
     ELSE /\ poller' = "slot"
          /\ resume' = "end"
          /\ UNCHANGED <<registered, alive, event>>
  /\ To("loop")
  /\ UNCHANGED <<word, Queues, owed, whom, stop, place, left>>

\* The carrier has nothing to run, so the poller that has ended sleeps until the claimed wakeup has
\* returned.
AwaitWakeup ==                \* [poller.4] [poller.5]
  /\ Is("end") /\ owed # 0 /\ next = 0 /\ ~HasOwn
  /\ To("waits")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The deadline of this sleep passes, so that the carrier can run tasks that were pushed meanwhile.
\* No fairness is assumed for this step.
NapOver ==
  /\ Is("waits")
  /\ To("end")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* A sibling takes the poller, if the poller is in the carrier's shared queue.
Steal ==
  /\ poller = "shared"
  /\ poller' = "thief"
  /\ UNCHANGED <<word, Queues, registered, alive, resume, Wakes, stop, pc, place, left>>

IsAsleep == Is("queued") \/ Is("selecting")
Finished ==
  /\ \A w \in Submitters \cup Registrars \cup {"searcher"} : pc[w] \in {"done", "refused", "start"}
  /\ pc["friend"] = "start"
  /\ ~(Is("queued") /\ poller = "away")
  /\ Is("over") \/ IsAsleep
  /\ UNCHANGED vars

Loop ==
  \/ RunNext \/ RunTask \/ ReadStop \/ Mount \/ EndRun \/ Over \/ ParkLoop \/ GiveUp \/ StealInstead
  \/ Recheck \/ Back

OfPoller ==
  \/ Yield(FALSE) \/ Yield(TRUE) \/ ParkItself \/ TryPark \/ Deschedule \/ PushItself \/ GoOn \/ Ask
  \/ (Selected /\ event) \/ UnparkCarrier \/ Return \/ Free
  \/ AwaitWakeup

Next ==
  \/ \E s \in Submitters : Push(s)
  \/ \E r \in Registrars : Register(r)
  \/ Unpark
  \/ Search
  \/ \E w \in Wakers : Waker(w)
  \/ Loop
  \/ OfPoller
  \/ Selected
  \/ NapOver
  \/ Steal
  \/ Finished

Spec == Init /\ [][Next]_vars
FairSpec ==
  /\ Spec /\ WF_vars(Loop \/ OfPoller) /\ WF_vars(Unpark) /\ \A w \in Wakers : WF_vars(Waker(w))
  /\ SF_vars(Return)

(* What must hold. *)

\* A poller is in its system call only while its carrier is parked for it, or while a wakeup is on
\* its way.
BlockOnlyIfParked == Is("selecting") => place["owner"] = "PARKED_POLLER" /\ word # "RUNNING"

\* While the poller does its own work, before it parks the carrier and after it has ended that park,
\* the carrier's word is RUNNING.
PollerParkPaired == Is("poll") => word = "RUNNING"

\* While the word says that the carrier is parked, the carrier runs nothing. This is so in whichever
\* way the poller has left the carrier.
RunsOnlyWhenRunning == Is("loop") \/ Is("run") => word = "RUNNING"

\* Some waker has not read the word yet, or is about to claim the wakeup.
IsComing == \E w \in Wakers : pc[w] \in {"word", "cas"}

\* The carrier does not sleep, in its poller or on its futex, while it has work, unless a waker is
\* on its way.
NoMissedSubmission == HasOwn /\ IsAsleep /\ word \in Parked => IsComing

\* A waker is about to make the system call for this place.
IsOnItsWay(p) == \E w \in Wakers : pc[w] = "call" /\ place[w] = p

\* A claimed wakeup ends the sleep that the carrier is in. The poller's wakeup is sticky, so it may
\* come before the sleep.
WakeReachesSleeper ==
  word \notin Parked => /\ Is("queued") => IsOnItsWay("PARKED_FUTEX")
                        /\ Is("selecting") => event \/ IsOnItsWay("PARKED_POLLER")

\* A carrier has at most one poller.
PinnedPollerUnique == Cardinality(alive) <= 1
\* No sibling takes the poller from its carrier.
PollerStaysHome == poller # "thief"

\* A poller steals at most one task, and the carrier does not sleep before it has run that task.
StolenIsKept == next <= 1 /\ (IsAsleep => next = 0)

\* When a poller has ended, no waker is inside the wakeup of this poller.
WakeupIsOver ==
  \A w \in Wakers : pc[w] = "call" /\ place[w] = "PARKED_POLLER" => whom[w] = registered
\* A poller that yields runs again.
PollerRuns == poller = "slot" ~> poller # "slot"
\* A close ends the poller.
CloseEnds == stop = "read" ~> registered = None
=============================================================================
