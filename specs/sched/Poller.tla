------------------------------- MODULE Poller -------------------------------
(***************************************************************************)
(* A carrier's poller is a virtual thread of the carrier that may block in *)
(* the system on behalf of all its threads. The poller parks the carrier   *)
(* first, checks right before its system call that the park still holds,   *)
(* and unparks the carrier when it is back.                                *)
(* Code       kernel/sched/poller.h, poller_turn.h, poller.c;              *)
(*            run_queues.h, worker.c, search.c, carrier_tasks.c;           *)
(*            carrier.c: [carrier.1]..[run_queues.1].                      *)
(* Abstracts  one carrier. Its queues are a counter, with pushes of one    *)
(*            step (Mpsc), and the place of the poller; idle bit, token    *)
(*            and siblings' queues are a searcher and thefts at any time   *)
(*            (Search); the futex compares and queues in one step          *)
(*            (Carrier). The wakeup is sticky, as an eventfd is.           *)
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

\* The carrier runs its poller: from the inbox, or from the poller's slot, once a turn, after the
\* queues were drained.
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

\* The stop was read and no poller is left, so the loop ends.
Over ==
  /\ Is("loop")
  /\ next + work = 0
  /\ stop = "read"
  /\ registered = None
  /\ To("over")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The carrier has nothing to run, and no poller here: it parks.
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

\* The carrier leaves its park with one exchange. If it was sent to a victim, it may bring back a
\* task.
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

\* The carrier's own queues have work, so it gives up its park.
GiveUp ==                     \* [carrier.6]
  /\ Is("recheck")
  /\ HasOwn
  /\ To(IF IsForPoller THEN "poll" ELSE "loop")
  /\ Leave

\* A sibling's queue has work, so the carrier gives up its park; a waker may come first.
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

\* The carrier was woken, or the poller has gone away after it had parked the carrier.
Back ==
  /\ Is("back")
  /\ To("loop")
  /\ Leave

(* The poller, on its carrier. *)

\* maybe_yield(had_io): the poller yields. After a call without input or output it may steal one
\* task.
Yield(steals) ==
  /\ Is("poll")
  /\ steals => left.steals > 0 /\ next = 0 /\ work = 0
  /\ poller' = "slot"
  /\ resume' = "poll"
  /\ next' = IF steals THEN next + 1 ELSE next
  /\ left' = IF steals THEN [left EXCEPT !.steals = @ - 1] ELSE left
  /\ To("loop")
  /\ UNCHANGED <<word, work, registered, alive, Wakes, stop, place>>

\* The poller parks as any virtual thread does, at any place.
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

\* The poller pushes to its own carrier. The carrier is awake, so no push wakes it.
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

\* can_park: right before its system call the poller checks the word, and its queues.
Ask ==                        \* [poller.3]
  /\ Is("ask")
  /\ To(IF word = "PARKED_POLLER" /\ ~HasOwn THEN "selecting" ELSE "unpark")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The system call returns: the wakeup came, or input or output, or the deadline.
Selected ==
  /\ Is("selecting")
  /\ event' = FALSE
  /\ To("unpark")
  /\ UNCHANGED <<word, Queues, Whose, owed, whom, stop, place, left>>

\* unpark: the poller ends the carrier's park, unless the loop has done so.
UnparkCarrier ==              \* [carrier.2]
  /\ Is("unpark")
  /\ To("poll")
  /\ IF place["owner"] = None THEN UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
     ELSE Leave

\* The poller's body returns.
Return ==
  /\ Is("poll")
  /\ (Ends \/ IsClosing)
  /\ To("end")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The poller is freed when every waker that has claimed a wakeup is back from it; otherwise it
\* yields.
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

\* The carrier has nothing to run, so the ended poller sleeps until that wakeup returns.
AwaitWakeup ==                \* [poller.4] [poller.5]
  /\ Is("end") /\ owed # 0 /\ next = 0 /\ ~HasOwn
  /\ To("waits")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* The sleep's deadline passes, for the sake of tasks that were pushed. The step need not happen.
NapOver ==
  /\ Is("waits")
  /\ To("end")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* A sibling takes the poller if it lies in the carrier's shared queue.
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

\* A poller is in its system call only while its carrier is parked for it or a wake is on its way.
BlockOnlyIfParked == Is("selecting") => place["owner"] = "PARKED_POLLER" /\ word # "RUNNING"

\* A poller that looks for events has left its park.
PollerParkPaired == Is("poll") => word = "RUNNING"

\* Nothing runs while the word says parked, no matter how the poller came off its carrier.
RunsOnlyWhenRunning == Is("loop") \/ Is("run") => word = "RUNNING"

\* A waker has yet to look at the word.
IsComing == \E w \in Wakers : pc[w] \in {"word", "cas"}

\* No carrier sleeps, in its poller or on its futex, with work and no wake on its way.
NoMissedSubmission == HasOwn /\ IsAsleep /\ word \in Parked => IsComing

\* A waker is about to make the wake for this place.
IsOnItsWay(p) == \E w \in Wakers : pc[w] = "call" /\ place[w] = p

\* A waker that has claimed the wake of a poller calls the poller's wakeup, which is sticky.
WakeReachesSleeper ==
  word \notin Parked => /\ Is("queued") => IsOnItsWay("PARKED_FUTEX")
                        /\ Is("selecting") => event \/ IsOnItsWay("PARKED_POLLER")

\* A carrier has at most one poller.
PinnedPollerUnique == Cardinality(alive) <= 1
\* No sibling takes the poller from its slot.
PollerStaysHome == poller # "thief"

\* A poller steals at most one task, and does not sleep before the task was run.
StolenIsKept == next <= 1 /\ (IsAsleep => next = 0)

\* When a poller has ended, no waker is in its wakeup.
WakeupIsOver ==
  \A w \in Wakers : pc[w] = "call" /\ place[w] = "PARKED_POLLER" => whom[w] = registered
\* A poller that yields runs again.
PollerRuns == poller = "slot" ~> poller # "slot"
\* A close ends the poller.
CloseEnds == stop = "read" ~> registered = None
=============================================================================
