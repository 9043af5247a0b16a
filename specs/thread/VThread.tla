------------------------------- MODULE VThread ------------------------------
(***************************************************************************)
(* A virtual thread is mounted on one carrier at a time; its park returns  *)
(* for whoever unparks it, however late the park; a timer or a waker of a  *)
(* queue that comes too late does nothing.                                 *)
(* Code       kernel/thread/vthread.h; [vthread.1]..[vthread.18] name      *)
(*            sites in that file; vthread_start.c.                         *)
(* Abstracts  all queues to a bag of cells; a carrier's timers to the one  *)
(*            of this thread, under their lock (Timer says how); the latch *)
(*            that joiners wait at to one step (Sync says how).            *)
(* Memory     sequential consistency; what a run sees of the last one and  *)
(*            of each unpark (HappensBeforeRun) is carried as a ghost.     *)
(* Promises   NoConcurrentMount, HappensBeforeRun, SubmitOncePerRunnable,  *)
(*            UnparkNotLost, PermitOnlyConsumedByPark,                     *)
(*            ParkedImpliesNoPermit, PinnedUnparkReachesCarrier,           *)
(*            StaleTimerHarmless, InterruptNotLost, TerminationVisible     *)
(*            (safety).                                                    *)
(***************************************************************************)
EXTENDS VThreadCore

(* Others. *)
\* What the thread does next that gives the permit.
Owes ==
  CASE permit = {} /\ state = "PARKED" -> "push"
    [] permit = {} /\ state = "PINNED" -> "wake"
    [] OTHER -> "idle"

Notify(t) ==
  /\ permit' = permit \cup {"unpark"}
  /\ told' = (told \/ state \in {"PARKED", "BUSY", "PINNED"})
  /\ writes' = writes \cup {t}
  /\ Carry(t)
  /\ Goto(t, Owes)

Unpark(u) ==                  \* [vthread.1] wp__vthread_notify
  /\ pc[u] = "idle"
  /\ left[u] > 0
  /\ left' = [left EXCEPT ![u] = @ - 1]
  /\ Notify(u)
  /\ UNCHANGED <<state, number, interrupted, cells, timer, asleep, due>>

Wake(t) ==                    \* the futex of a pinned thread
  /\ pc[t] = "wake"
  /\ asleep' = FALSE
  /\ Goto(t, "idle")
  /\ UNCHANGED <<word, interrupted, cells, timer, left, ghosts>>

Interrupt ==                  \* [vthread.12] the flag (it clears it by [vthread.18]), then as an unpark
  /\ pc[Interrupter] = "idle"
  /\ ~interrupted
  /\ interrupted' = TRUE
  /\ Goto(Interrupter, "notify")
  /\ UNCHANGED <<word, cells, timer, asleep, left, ghosts>>

InterruptNotifies ==          \* [vthread.1]
  /\ pc[Interrupter] = "notify"
  /\ Notify(Interrupter)
  /\ UNCHANGED <<state, number, interrupted, cells, timer, asleep, left, due>>

IsDue ==                      \* under the timers' lock
  /\ pc[Timer] = "idle"
  /\ timer # 0
  /\ Goto(Timer, "due")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

\* A timer has written nothing that a run is to see, so what the word carries stays.
Fire ==                       \* [vthread.10] [vthread.5] wp__vthread_notify_park: of the park it was armed for
  /\ pc[Timer] = "due"
  /\ timer' = 0
  /\ IF timer = number /\ permit = {}
     THEN /\ permit' = {"timer"}
          /\ due' = timer
          /\ Goto(Timer, Owes)
     ELSE /\ Goto(Timer, "idle")
          /\ UNCHANGED <<permit, due>>
  /\ UNCHANGED <<state, number, interrupted, cells, asleep, left, told, writes, carried>>

Cancel ==                     \* [vthread.10] [vthread.8] wp__vthread_cancel: only a thread that is left alone
  /\ pc[Canceller] = "idle"
  /\ state = "PARKED"
  /\ permit = {}
  /\ state' = "CANCELLED"
  /\ Goto(Canceller, "done")
  /\ UNCHANGED <<permit, number, interrupted, cells, timer, asleep, left, ghosts>>

HasEnded == state \in {"DONE", "CANCELLED"}   \* [vthread.9] wp_vthread_is_done

Finished ==
  /\ HasEnded \/ (state = "PARKED" /\ permit = {})
  /\ \A t \in Threads : pc[t] \in {"idle", "done"}
  /\ UNCHANGED vars

Mounted(c) ==
  \/ Pop(c)
  \/ Begin(c)
  \/ CancelTimer(c)
  \/ LookPermit(c)
  \/ LookFlag(c)
  \/ Arm(c)
  \/ BeginPark(c)
  \/ Park(c)
  \/ Refused(c)
  \/ Yield(c)
  \/ BeginPin(c)
  \/ Pin(c)
  \/ Sleep(c)
  \/ TimesOut(c)
  \/ End(c)
  \/ Done(c)
  \/ Latch(c)

Next ==
  \/ \E c \in Carriers : Mounted(c)
  \/ \E u \in Unparkers : Unpark(u)
  \/ \E t \in Carriers \cup Others : Reserve(t) \/ Publish(t) \/ Wake(t)
  \/ Interrupt
  \/ InterruptNotifies
  \/ IsDue
  \/ Fire
  \/ Cancel
  \/ Finished

Spec == Init /\ [][Next]_vars

(* What must hold. *)
On == {c \in Carriers : pc[c] \notin {"idle", "begin", "push", "publish"}}
Runners == {c \in On : pc[c] \in {"run", "flag", "look", "armed", "park", "pin", "pinned"}}
Holders == {t \in Threads : pc[t] \in {"push", "publish"}}
             \cup {c \in Carriers : pc[c] = "begin"}
InFlight == cells > 0 \/ Holders # {}

\* One carrier at a time has the thread on its stack.
NoConcurrentMount == Cardinality(On) <= 1

\* A run sees the last one; the end of a park, all that was written before each unpark it answers.
HappensBeforeRun ==
  \A c \in Runners :
    /\ writes \cap Carriers \subseteq {c}
    /\ ~told => writes \subseteq {c}

\* Of all who end one park, and its carrier, one queues the thread.
SubmitOncePerRunnable ==
  /\ cells + Cardinality(Holders) <= 1
  /\ InFlight => (state = "BUSY" /\ On = {}) \/ (state = "PARKED" /\ permit # {})

\* An unparked thread is on its way to a carrier, or its park is refused.
UnparkNotLost == told /\ state = "PARKED" => InFlight

\* A start, a yield, and a park that says that its time is over take no unpark.
PermitOnlyConsumedByPark == told => "unpark" \in permit

\* When the thread is parked with a permit, somebody is about to queue it.
ParkedImpliesNoPermit == state = "PARKED" /\ permit # {} => InFlight

\* A carrier that sleeps with its thread is woken by its unpark.
PinnedUnparkReachesCarrier == asleep /\ permit # {} => \E t \in Threads : pc[t] = "wake"

\* A timer, or a waker of a queue, ends the park that it was for, or none.
StaleTimerHarmless == "timer" \in permit /\ ~HasEnded => due = number

\* Once the interrupter has done, a thread that it has interrupted does not stay parked.
InterruptNotLost ==
  interrupted /\ pc[Interrupter] = "idle" =>
    /\ state = "PARKED" => InFlight
    /\ state = "PINNED" => permit # {}

\* Who joined sees the thread done, and what it did.
TerminationVisible == pc[Joiner] = "done" => state = "DONE"
=============================================================================
