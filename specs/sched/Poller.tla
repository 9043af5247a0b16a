------------------------------- MODULE Poller -------------------------------
(***************************************************************************)
(* A carrier's poller is a virtual thread of it that may block in the      *)
(* system for all of them.  It parks the carrier first, asks right before  *)
(* its call whether that still holds, and says when it is back.            *)
(* Code       kernel/sched/poller.h, poller_turn.h, poller.c;              *)
(*            run_queues.h, worker.c, search.c, carrier_tasks.c;           *)
(*            carrier.c: [carrier.1]..[run_queues.1].                      *)
(* Abstracts  one carrier.  Its queues to a counter and to where the poller*)
(*            stands, with pushes of one step (Mpsc); idle bit, token and  *)
(*            siblings' queues to a searcher and to thefts at any time     *)
(*            (Search); the futex compares and queues in one step          *)
(*            (Carrier).  The wakeup is sticky, as an eventfd is.          *)
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
HasOwn == work > 0 \/ stop = "sent" \/ poller \in {"inbox", "shared"}
RunNext ==
  /\ Is("loop") /\ next > 0
  /\ next' = next - 1
  /\ To("run")
  /\ UNCHANGED <<word, work, Whose, Wakes, stop, place, left>>
RunTask ==                    \* [mpsc.4]
  /\ Is("loop") /\ next = 0 /\ work > 0
  /\ work' = work - 1
  /\ To("run")
  /\ UNCHANGED <<word, next, Whose, Wakes, stop, place, left>>
ReadStop ==
  /\ Is("loop") /\ next = 0 /\ stop = "sent"
  /\ stop' = "read"
  /\ UNCHANGED <<word, Queues, Whose, Wakes, pc, place, left>>
Mount ==                      \* from the inbox; or from its slot, once a turn, after the drain
  /\ Is("loop")
  /\ next = 0
  /\ poller \in {"inbox", "shared", "slot"}
  /\ poller' = "on"
  /\ To(resume)
  /\ UNCHANGED <<word, Queues, registered, alive, resume, Wakes, stop, place, left>>
EndRun ==
  /\ Is("run")
  /\ To("loop")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
Over ==                       \* the stop was read, and no poller is left
  /\ Is("loop") /\ next + work = 0 /\ stop = "read" /\ registered = None
  /\ To("over")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
ParkLoop ==                   \* [carrier.1] nothing to run, and no poller here
  /\ Is("loop")
  /\ next = 0
  /\ ~HasOwn
  /\ poller # "slot"
  /\ stop = "read" => registered # None
  /\ word' = "PARKED_FUTEX"
  /\ place' = [place EXCEPT !["owner"] = "PARKED_FUTEX"]
  /\ To("recheck")
  /\ UNCHANGED <<Queues, Whose, Wakes, stop, left>>
Leave ==                      \* [carrier.2] one exchange; who was sent to a victim may bring a task
  /\ word' = "RUNNING"
  /\ owed' = IF place["owner"] = "PARKED_POLLER" /\ word \notin Parked THEN owed + 1 ELSE owed
  /\ place' = [place EXCEPT !["owner"] = None]
  /\ \/ UNCHANGED <<next, left>>
     \/ /\ word \in Victims /\ left.steals > 0
        /\ next' = next + 1 /\ left' = [left EXCEPT !.steals = @ - 1]
  /\ UNCHANGED <<work, Whose, event, whom, stop>>
IsForPoller == place["owner"] = "PARKED_POLLER"
GiveUp ==                     \* [carrier.6] its own queues have work
  /\ Is("recheck") /\ HasOwn
  /\ To(IF IsForPoller THEN "poll" ELSE "loop")
  /\ Leave
StealInstead ==               \* [carrier.6] a sibling has; a waker may have come between
  /\ Is("recheck") /\ ~HasOwn /\ left.steals > 0 /\ word \in Parked
  /\ word' = "RUNNING" /\ place' = [place EXCEPT !["owner"] = None]
  /\ next' = next + 1 /\ left' = [left EXCEPT !.steals = @ - 1]
  /\ To(IF IsForPoller THEN "poll" ELSE "loop")
  /\ UNCHANGED <<work, Whose, Wakes, stop>>
Recheck ==                    \* [carrier.6] nothing
  /\ Is("recheck")
  /\ ~HasOwn
  /\ To(IF IsForPoller THEN "parked" ELSE IF word = "PARKED_FUTEX" THEN "queued" ELSE "back")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
Back ==                       \* woken, or: the poller went away, and had parked the carrier
  /\ Is("back")
  /\ To("loop")
  /\ Leave

(* The poller, on its carrier. *)
Yield(steals) ==              \* maybe_yield(had_io): without input or output it may steal one
  /\ Is("poll")
  /\ steals => left.steals > 0 /\ next = 0 /\ work = 0
  /\ poller' = "slot"
  /\ resume' = "poll"
  /\ next' = IF steals THEN next + 1 ELSE next
  /\ left' = IF steals THEN [left EXCEPT !.steals = @ - 1] ELSE left
  /\ To("loop")
  /\ UNCHANGED <<word, work, registered, alive, Wakes, stop, place>>
ParkItself ==                 \* as any virtual thread, wherever it is
  /\ pc["owner"] \in {"poll", "parked"}
  /\ left.parks > 0
  /\ poller' = "away"
  /\ resume' = IF Is("poll") THEN "poll" ELSE "ask"
  /\ left' = [left EXCEPT !.parks = @ - 1]
  /\ To(IF Is("poll") THEN "loop" ELSE "back")
  /\ UNCHANGED <<word, Queues, registered, alive, Wakes, stop, place>>
TryPark ==                    \* try_park, [carrier.1]
  /\ Is("poll")
  /\ next = 0
  /\ ~IsClosing
  /\ word' = "PARKED_POLLER"
  /\ place' = [place EXCEPT !["owner"] = "PARKED_POLLER"]
  /\ To("recheck")
  /\ UNCHANGED <<Queues, Whose, Wakes, stop, left>>
Deschedule ==                 \* between try_park and its system call
  /\ Is("parked")
  /\ poller' = "slot"
  /\ resume' = "ask"
  /\ To("back")
  /\ UNCHANGED <<word, Queues, registered, alive, Wakes, stop, place, left>>
PushItself ==                 \* its own carrier is awake, so no push tells it
  /\ Is("parked") /\ left.pushes > 0
  /\ work' = work + 1 /\ left' = [left EXCEPT !.pushes = @ - 1]
  /\ UNCHANGED <<word, next, Whose, Wakes, stop, pc, place>>
GoOn ==
  /\ Is("parked")
  /\ To("ask")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
Ask ==                        \* [poller.3] can_park, right before the system call; and its queues
  /\ Is("ask")
  /\ To(IF word = "PARKED_POLLER" /\ ~HasOwn THEN "selecting" ELSE "unpark")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
Selected ==                   \* the wakeup; or input or output; or the deadline
  /\ Is("selecting")
  /\ event' = FALSE
  /\ To("unpark")
  /\ UNCHANGED <<word, Queues, Whose, owed, whom, stop, place, left>>
UnparkCarrier ==              \* unpark: [carrier.2], unless the loop has left for it
  /\ Is("unpark")
  /\ To("poll")
  /\ IF place["owner"] = None THEN UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
     ELSE Leave
Return ==                     \* its body returns
  /\ Is("poll") /\ (Ends \/ IsClosing)
  /\ To("end")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
Free ==                       \* [poller.1] [poller.2] who has claimed a wakeup is back from it, or it yields
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
AwaitWakeup ==                \* [poller.4] [poller.5] nothing to run: sleeps until that wakeup returns
  /\ Is("end") /\ owed # 0 /\ next = 0 /\ ~HasOwn
  /\ To("waits")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
NapOver ==                    \* its deadline, for the sake of what was pushed: no need to come
  /\ Is("waits")
  /\ To("end")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
Steal ==                      \* a sibling takes whatever lies in the carrier's shared queue
  /\ poller = "shared"
  /\ poller' = "thief"
  /\ UNCHANGED <<word, Queues, registered, alive, resume, Wakes, stop, pc, place, left>>

IsAsleep == Is("queued") \/ Is("selecting")
Finished ==
  /\ \A w \in Submitters \cup Registrars \cup {"searcher"} : pc[w] \in {"done", "refused", "start"}
  /\ pc["friend"] = "start" /\ ~(Is("queued") /\ poller = "away")
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
\* A poller is in its system call only while its carrier is parked for it, or a wake is on its way.
BlockOnlyIfParked == Is("selecting") => place["owner"] = "PARKED_POLLER" /\ word # "RUNNING"
\* A poller that looks has left its park.
PollerParkPaired == Is("poll") => word = "RUNNING"
\* Nothing runs while the word says parked, however the poller came off its carrier.
RunsOnlyWhenRunning == Is("loop") \/ Is("run") => word = "RUNNING"
IsComing == \E w \in Wakers : pc[w] \in {"word", "cas"}
\* No carrier sleeps, in its poller or not, with work and no wake on its way.
NoMissedSubmission == HasOwn /\ IsAsleep /\ word \in Parked => IsComing
IsOnItsWay(p) == \E w \in Wakers : pc[w] = "call" /\ place[w] = p
\* Who has claimed the wake of a poller calls its wakeup, which is sticky.
WakeReachesSleeper ==
  word \notin Parked => /\ Is("queued") => IsOnItsWay("PARKED_FUTEX")
                        /\ Is("selecting") => event \/ IsOnItsWay("PARKED_POLLER")
\* A carrier has one poller at the most.
PinnedPollerUnique == Cardinality(alive) <= 1
\* No sibling takes the poller from its slot.
PollerStaysHome == poller # "thief"
\* What a poller steals is one task, and it does not sleep on it.
StolenIsKept == next <= 1 /\ (IsAsleep => next = 0)
\* When a poller has ended, nobody is in its wakeup.
WakeupIsOver ==
  \A w \in Wakers : pc[w] = "call" /\ place[w] = "PARKED_POLLER" => whom[w] = registered
\* A poller that yields runs again.
PollerRuns == poller = "slot" ~> poller # "slot"
\* A close ends the poller.
CloseEnds == stop = "read" ~> registered = None
=============================================================================
