------------------------------- MODULE VThread ------------------------------
(***************************************************************************)
(* A virtual thread is mounted on one carrier at a time. Each unpark makes *)
(* one park of the thread return, even if the park begins after the        *)
(* unpark, as with Java's LockSupport. Parks are numbered. A timer, or a   *)
(* thread that grants something to a waiter in a wait queue, ends only the *)
(* park that it was meant for. If it comes too late, it does nothing.      *)
(*                                                                         *)
(* Code       kernel/thread/vthread.h; [vthread.1]..[vthread.18] name      *)
(*            sites in that file; vthread_start.c.                         *)
(* Abstracts  all queues to a bag of cells; a carrier's timers to the one  *)
(*            timer of this thread, under their lock (see Timer); the      *)
(*            latch at which other threads wait for the end of this thread *)
(*            to one step (see Latch).                                     *)
(* Memory     sequential consistency. A ghost records which writes of the  *)
(*            last run and of the unparkers a run is guaranteed to see     *)
(*            (HappensBeforeRun).                                          *)
(* Promises   NoConcurrentMount, HappensBeforeRun, SubmitOncePerRunnable,  *)
(*            UnparkNotLost, PermitOnlyConsumedByPark,                     *)
(*            ParkedImpliesNoPermit, PinnedUnparkReachesCarrier,           *)
(*            StaleTimerHarmless, InterruptNotLost, TerminationVisible     *)
(*            (safety).                                                    *)
(***************************************************************************)
EXTENDS VThreadCore

(* Other threads. *)

\* The next step of a thread that gives the permit: it queues the virtual thread if that is parked,
\* and wakes the carrier if the virtual thread is pinned.
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

\* A thread wakes the carrier, which sleeps because its virtual thread is in a pinned park.
Wake(t) ==
  /\ pc[t] = "wake"
  /\ asleep' = FALSE
  /\ Goto(t, "idle")
  /\ UNCHANGED <<word, interrupted, cells, timer, left, ghosts>>

\* The interrupter sets the flag, which the virtual thread clears by [vthread.18]. Next the
\* interrupter gives the permit, as an unpark does.
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

\* The timer's deadline has passed, and the timer takes the timers' lock.
IsDue ==
  /\ pc[Timer] = "idle"
  /\ timer # 0
  /\ Goto(Timer, "due")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

\* The timer ends the park that it was armed for, and no other park. It has written nothing that a
\* run must see, so this read-modify-write leaves unchanged what the word carries.
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

\* The intended end: the thread has ended, or it is parked and has no permit.
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

\* The carriers on which the virtual thread is mounted.
On == {c \in Carriers : pc[c] \notin {"idle", "begin", "push", "publish"}}
Runners == {c \in On : pc[c] \in {"run", "flag", "look", "armed", "park", "pin", "pinned"}}

\* The threads that have the virtual thread after a park and before they have queued it, and the
\* carriers that have taken it from a queue and not yet run it.
Holders == {t \in Threads : pc[t] \in {"push", "publish"}}
             \cup {c \in Carriers : pc[c] = "begin"}

\* The thread is on its way to a carrier.
InFlight == cells > 0 \/ Holders # {}

\* The virtual thread is mounted on at most one carrier.
NoConcurrentMount == Cardinality(On) <= 1

\* A run sees what the run before it wrote. After a park ends, the run sees what was written before
\* each unpark that the park answers.
HappensBeforeRun ==
  \A c \in Runners :
    /\ writes \cap Carriers \subseteq {c}
    /\ ~told => writes \subseteq {c}

\* When a park ends, only one of the carrier and the threads that give permits queues the virtual
\* thread.
SubmitOncePerRunnable ==
  /\ cells + Cardinality(Holders) <= 1
  /\ InFlight => (state = "BUSY" /\ On = {}) \/ (state = "PARKED" /\ permit # {})

\* If the virtual thread was unparked and is parked, it is on its way to a carrier.
UnparkNotLost == told /\ state = "PARKED" => InFlight

\* Only a park that returns because of an unpark consumes the unpark. A start, a yield, and a park
\* that returns because of its deadline do not.
PermitOnlyConsumedByPark == told => "unpark" \in permit

\* If the virtual thread is parked and has a permit, it is on its way to a carrier.
ParkedImpliesNoPermit == state = "PARKED" /\ permit # {} => InFlight

\* If a carrier sleeps in a pinned park and the virtual thread has a permit, some thread is about to
\* wake the carrier.
PinnedUnparkReachesCarrier == asleep /\ permit # {} => \E t \in Threads : pc[t] = "wake"

\* The permit of a timer, or of a thread that grants something, belongs to the current park.
StaleTimerHarmless == "timer" \in permit /\ ~HasEnded => due = number

\* Once the interrupter is done, a thread that it has interrupted does not stay in a park.
InterruptNotLost ==
  interrupted /\ pc[Interrupter] = "idle" =>
    /\ state = "PARKED" => InFlight
    /\ state = "PINNED" => permit # {}

\* A thread that has joined the virtual thread sees that it is done, and everything that it did.
TerminationVisible == pc[Joiner] = "done" => state = "DONE"

(* The inductive invariant, from which the claims follow for any number of carriers, unparkers,    *)
(* unparks, parks and yields.                                                                      *)

\* What the variables hold, and which steps each kind of thread takes.
IndTypes ==
  /\ state \in {"PARKED", "BUSY", "PINNED", "DONE", "CANCELLED"}
  /\ cells \in {0, 1}
  /\ timer \in Nat
  /\ due \in Nat
  /\ number \in Nat
  /\ number >= 1
  /\ \A c \in Carriers : pc[c] \notin {"wake", "due", "notify", "done"}
  /\ \A u \in Unparkers : pc[u] \in {"idle", "push", "publish", "wake"}
  /\ pc[Interrupter] \in {"idle", "notify", "push", "publish", "wake"}
  /\ pc[Timer] \in {"idle", "due", "push", "publish", "wake"}
  /\ pc[Canceller] \in {"idle", "done"}
  /\ pc[Joiner] \in {"idle", "done"}

\* A thread in flight is on no stack, and it is queued or runs, or was woken from its park.
FlightIsFree == InFlight => On = {} /\ (state = "BUSY" \/ (state = "PARKED" /\ permit # {}))

\* A parked thread is on no carrier's stack.
ParkedIsOff == state = "PARKED" => On = {}

\* What the word says, by the step of the carrier that has the thread on its stack.
WordOfStep ==
  \A c \in Carriers :
    /\ pc[c] \in {"cancel", "run", "flag", "look", "armed", "park", "refused", "pin"} =>
         state = "BUSY"
    /\ pc[c] = "refused" => permit # {}
    /\ pc[c] = "pinned" => state = "PINNED"
    /\ pc[c] = "end" => state \in {"BUSY", "PINNED"}
    /\ pc[c] = "latch" => state = "DONE"

\* Only a pinned thread sleeps on its carrier, and its carrier has it on its stack.
SleeperIsPinned == asleep => \E c \in Carriers : pc[c] = "pinned"
PinnedIsMounted == state = "PINNED" => \E c \in Carriers : pc[c] \in {"pinned", "end"}

\* Once a thread was interrupted and told so, a park that has passed the flag is refused, and the
\* thread neither stays parked nor pinned.
FlagIsSeen ==
  interrupted /\ pc[Interrupter] # "notify" =>
    /\ \A c \in Carriers : pc[c] \in {"look", "armed", "park", "pin"} => permit # {}
    /\ state \in {"PARKED", "PINNED"} => permit # {}

\* What was written for the next run, and by which threads. The word carries what all others than
\* carriers wrote, and what the carrier wrote that parked the thread; the cell carries what the
\* carrier wrote that queued it.
WritesAreCarried ==
  /\ \A t \in writes : t \in Carriers \/ t \in carried["word"]
  /\ ~told /\ ~HasEnded => \A t \in writes : t \in Carriers
  /\ \A c \in On : \A t \in writes : t \in Carriers => t = c
  /\ state = "PARKED" => writes \subseteq carried["word"]
  /\ state = "BUSY" /\ cells > 0 => \A t \in writes : t \in Carriers => t \in carried["cell"]
  /\ state = "BUSY" =>
       \A h \in Holders : \A t \in writes : t \in Carriers => t = h /\ pc[h] # "begin"

IndInv ==
  /\ IndTypes
  /\ WritesAreCarried
  /\ SubmitOncePerRunnable
  /\ NoConcurrentMount
  /\ FlightIsFree
  /\ ParkedIsOff
  /\ WordOfStep
  /\ PermitOnlyConsumedByPark
  /\ ParkedImpliesNoPermit
  /\ SleeperIsPinned
  /\ PinnedIsMounted
  /\ PinnedUnparkReachesCarrier
  /\ StaleTimerHarmless
  /\ FlagIsSeen
  /\ TerminationVisible
=============================================================================
