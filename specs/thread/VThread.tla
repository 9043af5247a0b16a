------------------------------- MODULE VThread ------------------------------
(***************************************************************************)
(* A virtual thread is mounted on one carrier at a time. Its park returns  *)
(* for each unpark, however late the park comes, as with Java's            *)
(* LockSupport. Parks are numbered: a timer or a wait queue's waker ends   *)
(* only the park that it was meant for, and does nothing if it comes too   *)
(* late.                                                                   *)
(*                                                                         *)
(* Code       kernel/thread/vthread.h; [vthread.1]..[vthread.18] name      *)
(*            sites in that file; vthread_start.c.                         *)
(* Abstracts  all queues to a bag of cells; a carrier's timers to the one  *)
(*            of this thread, under their lock (Timer says how); the latch *)
(*            at which other threads wait for the end to one step (Latch   *)
(*            says how).                                                   *)
(* Memory     sequential consistency. What a run sees of the last run and  *)
(*            of each unpark (HappensBeforeRun) is carried as a ghost.     *)
(* Promises   NoConcurrentMount, HappensBeforeRun, SubmitOncePerRunnable,  *)
(*            UnparkNotLost, PermitOnlyConsumedByPark,                     *)
(*            ParkedImpliesNoPermit, PinnedUnparkReachesCarrier,           *)
(*            StaleTimerHarmless, InterruptNotLost, TerminationVisible     *)
(*            (safety).                                                    *)
(***************************************************************************)
EXTENDS VThreadCore

(* Other threads. *)

\* The next step of the thread that gives the permit: it queues a parked thread, and wakes the
\* carrier of a pinned one.
Owes ==
  CASE permit = {} /\ state = "PARKED" -> "push"
    [] permit = {} /\ state = "PINNED" -> "wake"
    [] OTHER -> "idle"

\* An unpark gives the permit.
Notify(t) ==
  /\ permit' = permit \cup {"unpark"}
  /\ told' = (told \/ state \in {"PARKED", "BUSY", "PINNED"})
  /\ writes' = writes \cup {t}
  /\ Carry(t)
  /\ Goto(t, Owes)

\* A thread unparks the virtual thread.
Unpark(u) ==                  \* [vthread.1] wp__vthread_notify
  /\ pc[u] = "idle"
  /\ left[u] > 0
  /\ left' = [left EXCEPT ![u] = @ - 1]
  /\ Notify(u)
  /\ UNCHANGED <<state, number, interrupted, cells, timer, asleep, due>>

\* A thread wakes the carrier that sleeps with a pinned thread.
Wake(t) ==
  /\ pc[t] = "wake"
  /\ asleep' = FALSE
  /\ Goto(t, "idle")
  /\ UNCHANGED <<word, interrupted, cells, timer, left, ghosts>>

\* The interrupter sets the flag, which the thread clears by [vthread.18], and then gives the permit
\* as an unpark does.
Interrupt ==                  \* [vthread.12]
  /\ pc[Interrupter] = "idle"
  /\ ~interrupted
  /\ interrupted' = TRUE
  /\ Goto(Interrupter, "notify")
  /\ UNCHANGED <<word, cells, timer, asleep, left, ghosts>>

\* The interrupter gives the permit.
InterruptNotifies ==          \* [vthread.1]
  /\ pc[Interrupter] = "notify"
  /\ Notify(Interrupter)
  /\ UNCHANGED <<state, number, interrupted, cells, timer, asleep, left, due>>

\* The timer's deadline has come, under the timers' lock.
IsDue ==
  /\ pc[Timer] = "idle"
  /\ timer # 0
  /\ Goto(Timer, "due")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

\* The timer ends the park that it was armed for, and no other. It has written nothing that a run
\* must see, so what the word carries stays.
Fire ==                       \* [vthread.10] [vthread.5] wp__vthread_notify_park
  /\ pc[Timer] = "due"
  /\ timer' = 0
  /\ IF timer = number /\ permit = {}
     THEN /\ permit' = {"timer"}
          /\ due' = timer
          /\ Goto(Timer, Owes)
     ELSE /\ Goto(Timer, "idle")
          /\ UNCHANGED <<permit, due>>
  /\ UNCHANGED <<state, number, interrupted, cells, asleep, left, told, writes, carried>>

\* A close cancels the thread, but only while it is parked and has no permit.
Cancel ==                     \* [vthread.10] [vthread.8] wp__vthread_cancel
  /\ pc[Canceller] = "idle"
  /\ state = "PARKED"
  /\ permit = {}
  /\ state' = "CANCELLED"
  /\ Goto(Canceller, "done")
  /\ UNCHANGED <<permit, number, interrupted, cells, timer, asleep, left, ghosts>>

\* The thread has ended ([vthread.9] wp_vthread_is_done).
HasEnded == state \in {"DONE", "CANCELLED"}

\* The intended end: the thread has ended, or is parked with no permit.
Finished ==
  /\ HasEnded \/ (state = "PARKED" /\ permit = {})
  /\ \A t \in Threads : pc[t] \in {"idle", "done"}
  /\ UNCHANGED vars

\* The steps of a carrier.
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

\* The carriers that have the thread on their stack.
On == {c \in Carriers : pc[c] \notin {"idle", "begin", "push", "publish"}}
Runners == {c \in On : pc[c] \in {"run", "flag", "look", "armed", "park", "pin", "pinned"}}

\* The threads that hold the virtual thread between a park and a queue, or between a queue and a
\* run.
Holders == {t \in Threads : pc[t] \in {"push", "publish"}}
             \cup {c \in Carriers : pc[c] = "begin"}

\* The thread is on its way to a carrier.
InFlight == cells > 0 \/ Holders # {}

\* One carrier at a time has the thread on its stack.
NoConcurrentMount == Cardinality(On) <= 1

\* A run sees what the last run wrote, and the end of a park sees everything that was written before
\* each unpark that it answers.
HappensBeforeRun ==
  \A c \in Runners :
    /\ writes \cap Carriers \subseteq {c}
    /\ ~told => writes \subseteq {c}

\* Of all threads that end one park, and the carrier of that park, one queues the virtual thread.
SubmitOncePerRunnable ==
  /\ cells + Cardinality(Holders) <= 1
  /\ InFlight => (state = "BUSY" /\ On = {}) \/ (state = "PARKED" /\ permit # {})

\* A virtual thread that was unparked is on its way to a carrier, or its park will be refused.
UnparkNotLost == told /\ state = "PARKED" => InFlight

\* Only a park consumes an unpark: a start, a yield, and a park that returns that its time is over
\* do not.
PermitOnlyConsumedByPark == told => "unpark" \in permit

\* While the thread is parked with a permit, another thread is about to queue it.
ParkedImpliesNoPermit == state = "PARKED" /\ permit # {} => InFlight

\* A carrier that sleeps with its thread is woken by an unpark of that thread.
PinnedUnparkReachesCarrier == asleep /\ permit # {} => \E t \in Threads : pc[t] = "wake"

\* A timer, or a waker of a queue, ends the park that it was meant for, or none.
StaleTimerHarmless == "timer" \in permit /\ ~HasEnded => due = number

\* Once the interrupter is done, a thread that it has interrupted does not stay parked.
InterruptNotLost ==
  interrupted /\ pc[Interrupter] = "idle" =>
    /\ state = "PARKED" => InFlight
    /\ state = "PINNED" => permit # {}

\* A thread that has joined the virtual thread sees it done, and everything that it did.
TerminationVisible == pc[Joiner] = "done" => state = "DONE"
=============================================================================
