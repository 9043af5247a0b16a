-------------------------------- MODULE Timer --------------------------------
(***************************************************************************)
(* The timers of a carrier. The carrier sleeps no longer than until the    *)
(* earliest deadline, whichever thread has set it. A timer fires or is     *)
(* cancelled, once. A timer that fires late ends no park other than the    *)
(* one it was armed for. TimerCore.tla has the state and the threads that  *)
(* arm timers, the armers.                                                 *)
(*                                                                         *)
(* Code       kernel/sched/timer.h, timer.c: [timer.1]..[timer.12];        *)
(*            worker.c; carrier.c: [carrier.1] [carrier.2] [carrier.5]     *)
(*            [carrier.6]; vthread.h: [vthread.1]..[vthread.5]; lock.c:    *)
(*            [lock.1]..[lock.3].                                          *)
(* Abstracts  the heap to a set; the lock to its holder; the acquisition   *)
(*            of the lock, together with the change of the heap, to one    *)
(*            step; other wakeups of the carrier, and its queues (Carrier, *)
(*            Search); the rest of a thread's word (VThread). A wait with  *)
(*            a deadline may end at any time, because the carrier looks at *)
(*            the clock itself.                                            *)
(* Memory     sequential consistency, which [timer.9] and [carrier.6]      *)
(*            earn.                                                        *)
(* Promises   NoOversleep, EarliestIsTrue, NeverEarly, DueOnce,            *)
(*            CancelIsFinal, StaleTimerHarmless (safety); Fires, Resumes   *)
(*            (liveness).                                                  *)
(***************************************************************************)
EXTENDS TimerCore

TypeOK ==
  /\ {heap, armed, ready, gone, first} \subseteq SUBSET Armers
  /\ deadline \in [Armers -> {0} \cup Deadlines]
  /\ ends \in [Armers -> 0 .. 2]
  /\ {earliest, until} \subseteq 1 .. Forever
  /\ {now, clock} \subseteq 0 .. Last
  /\ lock \in Armers \cup {"carrier", None}
  /\ word \in {"RUNNING", "PARKED", "WAKING"}
  /\ number \in [Armers -> 1 .. 3]
  /\ permit \in [Armers -> {None, "timer", "unparker"}]
  /\ hand \in [{"carrier", "unparker"} -> Armers \cup {None}]
  /\ left \in 0 .. Unparks
  /\ pc \in [Threads ->
       {"start", "publish", "unlock", "word", "cas", "call", "park", "parked", "cancel", "lock",
        "withdraw", "release", "again", "done", "idle", "push", "turn", "look", "take", "clear",
        "settle", "give", "advertise", "until", "wait", "queued", "leave"}]

(* The carrier. *)
To(where) == Goto("carrier", where)
Is(where) == pc["carrier"] = where

\* A turn of the carrier's loop: the carrier has run its own threads, and reads the clock.
Turn ==
  /\ Is("turn") /\ \A a \in Own : pc[a] = "done" \/ (pc[a] = "parked" /\ a \notin ready)
  /\ clock' = now
  /\ To("look")
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, until, hand, left, Ghosts>>

\* The carrier compares the earliest deadline with the clock: wp_timers_due.
Look ==                       \* [timer.8]
  /\ Is("look")
  /\ To(IF earliest <= clock THEN "lock" ELSE "advertise")
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, Carrier, hand, left, Ghosts>>

\* The carrier takes the lock of the timers.
Lock ==                       \* [lock.1]
  /\ Is("lock")
  /\ lock = None
  /\ lock' = "carrier"
  /\ To("take")
  /\ UNCHANGED <<Heap, earliest, word, Thread, now, first, Carrier, hand, left, Ghosts>>

\* The earliest timers, if they are due.
DueNow ==
  {a \in heap :
     /\ \A b \in heap : deadline[a] <= deadline[b]
     /\ deadline[a] <= clock}

\* timer->due gives a permit to thread a, if a is in the park that the timer was armed for or has
\* not reached it, and has no permit.
Due(a) ==                     \* [vthread.5]
  /\ permit' = IF permit[a] = None /\ number[a] = 1 THEN [permit EXCEPT ![a] = "timer"] ELSE permit
  /\ ends' = [ends EXCEPT ![a] = @ + 1]

\* The permit of the timer ends the park of thread a, so a must be queued.
IsOwed(a) == permit[a] = "timer" /\ pc[a] = "parked"

\* The carrier takes the first timer that is due.
Take(a) ==
  /\ Is("take")
  /\ a \in DueNow
  /\ heap' = heap \ {a}
  /\ hand' = [hand EXCEPT !["carrier"] = a]
  /\ Due(a)
  /\ UNCHANGED armed
  /\ To("clear")
  /\ UNCHANGED <<deadline, earliest, lock, word, number, ready, now, first, Carrier, left, gone>>

\* The carrier accesses the timer for the last time. Then it pushes the thread, or takes the next
\* timer.
Clear ==                      \* [timer.7]
  /\ Is("clear")
  /\ LET a == hand["carrier"] IN
     /\ armed' = armed \ {a}
     /\ IF IsOwed(a)
        THEN /\ UNCHANGED hand
             /\ To("settle")
        ELSE /\ hand' = [hand EXCEPT !["carrier"] = None]
             /\ To("take")
  /\ UNCHANGED <<heap, deadline, earliest, lock, word, Thread, now, first, Carrier, left, Ghosts>>

\* The carrier writes the new earliest deadline.
Settle ==                     \* [timer.3]
  /\ Is("settle") \/ (Is("take") /\ DueNow = {})
  /\ earliest' = Min(heap)
  /\ To("give")
  /\ UNCHANGED <<Heap, lock, word, Thread, now, first, Carrier, hand, left, Ghosts>>

\* The carrier gives the lock back.
Unlock ==                     \* [lock.3]
  /\ Is("give")
  /\ lock' = None
  /\ To(IF hand["carrier"] = None THEN "advertise" ELSE "push")
  /\ UNCHANGED <<Heap, earliest, word, Thread, now, first, Carrier, hand, left, Ghosts>>

\* A thread is queued: wp__carrier_tasks_push. Carrier has the wakeup in all its steps.
Push(t) ==
  /\ pc[t] = "push"
  /\ ready' = IF pc[hand[t]] = "parked" THEN ready \cup {hand[t]} ELSE ready
  /\ hand' = [hand EXCEPT ![t] = None]
  /\ LET wakes == hand[t] \in Own /\ word = "PARKED" IN
     /\ word' = IF wakes THEN "WAKING" ELSE word
     /\ pc' = [pc EXCEPT ![t] = IF t = "carrier" THEN "look" ELSE "idle",
                         !["carrier"] = IF t = "carrier" THEN "look"
                                        ELSE IF wakes /\ @ = "queued" THEN "wait" ELSE @]
  /\ UNCHANGED <<Heap, earliest, lock, number, permit, now, first, Carrier, left, Ghosts>>

\* The carrier writes into its word that it is parked: wp_carrier_advertise.
Advertise ==                  \* [carrier.1] [carrier.6]
  /\ Is("advertise")
  /\ word' = "PARKED"
  /\ To("until")
  /\ UNCHANGED <<Heap, earliest, lock, Thread, now, first, Carrier, hand, left, Ghosts>>

\* The carrier reads until when it may sleep, and sleeps if its queues are empty.
ReadUntil ==                  \* [timer.8]
  /\ Is("until")
  /\ until' = earliest
  /\ To(IF ready \cap Own = {} THEN "wait" ELSE "leave")
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, clock, hand, left, Ghosts>>

\* The futex call compares the word and queues the carrier in one step.
Wait ==                       \* [carrier.5]
  /\ Is("wait")
  /\ To(IF word = "PARKED" THEN "queued" ELSE "leave")
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, Carrier, hand, left, Ghosts>>

\* The sleep ends with its deadline.
Timeout ==
  /\ Is("queued")
  /\ until # Forever
  /\ To("leave")
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, Carrier, hand, left, Ghosts>>

\* The carrier leaves its park: wp_carrier_leave.
Leave ==                      \* [carrier.2]
  /\ Is("leave")
  /\ word' = "RUNNING"
  /\ until' = Forever
  /\ clock' = 0
  /\ To("turn")
  /\ UNCHANGED <<Heap, earliest, lock, Thread, now, first, hand, left, Ghosts>>

(* Other threads, and the clock. *)

\* Another thread gives thread a a permit, and queues it if it is parked: wp_vthread_unpark.
Unpark(a) ==                  \* [vthread.1]
  /\ pc["unparker"] = "idle"
  /\ left > 0
  /\ left' = left - 1
  /\ permit' = IF permit[a] = None THEN [permit EXCEPT ![a] = "unparker"] ELSE permit
  /\ IF permit[a] = None /\ pc[a] = "parked"
     THEN hand' = [hand EXCEPT !["unparker"] = a] /\ Goto("unparker", "push")
     ELSE UNCHANGED <<hand, pc>>
  /\ UNCHANGED <<Heap, earliest, lock, word, number, ready, now, first, Carrier, Ghosts>>

\* Time passes.
Tick ==
  /\ now < Last
  /\ now' = now + 1
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, pc, first, Carrier, hand, left, Ghosts>>

Finished ==
  /\ \A a \in Armers : pc[a] = "done" \/ (pc[a] = "parked" /\ number[a] = 2)
  /\ left = 0
  /\ Is("queued")
  /\ until = Forever
  /\ pc["unparker"] = "idle"
  /\ now = Last
  /\ UNCHANGED vars

Armer(a) ==
  \/ Arm(a) \/ Publish(a) \/ UnlockArmed(a) \/ LoadWord(a) \/ Nudge(a) \/ Call(a) \/ Park(a)
  \/ Resume(a) \/ LoadArmed(a) \/ Cancel(a) \/ Withdraw(a) \/ UnlockCancelled(a)

Loop ==
  \/ Turn
  \/ Look
  \/ Lock
  \/ \E a \in Armers : Take(a)
  \/ Clear
  \/ Settle
  \/ Unlock
  \/ Push("carrier")
  \/ Advertise
  \/ ReadUntil
  \/ Wait
  \/ Timeout
  \/ Leave

Next ==
  \/ (\E a \in Armers : Armer(a) \/ Unpark(a)) \/ Loop \/ Push("unparker") \/ Tick \/ Finished

Fairness ==
  /\ \A a \in Armers : WF_vars(Armer(a))
  /\ WF_vars(Loop)
  /\ WF_vars(Push("unparker"))
  /\ WF_vars(Tick)

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ Fairness

(* What must hold. *)

\* Some thread that has set the earliest deadline is about to wake the carrier.
IsComing == \E a \in Armers : pc[a] = "publish" \/ a \in first

\* The carrier does not sleep past the earliest deadline, unless the thread that has set this
\* deadline is about to wake the carrier.
NoOversleep == Is("queued") => IsComing \/ \A a \in heap : until <= deadline[a]

\* A timer fires only after its deadline has passed.
NeverEarly == \A a \in Armers : ends[a] > 0 /\ a \in armed => deadline[a] <= now

\* A timer fires or is cancelled, and only once. A cancel returns which of the two it was.
DueOnce == \A a \in Armers : ends[a] <= 1

\* Once a cancel has returned, no thread accesses the timer, so its owner may leave the stack frame
\* that contains the timer.
CancelIsFinal ==
  \A a \in gone : a \notin heap /\ ~(hand["carrier"] = a /\ pc["carrier"] = "clear")

\* A timer that was armed for one park gives no permit to a later park.
StaleTimerHarmless == \A a \in Armers : permit[a] = "timer" => number[a] = 1

\* While no thread changes the heap, the deadline that the carrier reads before it sleeps is the
\* earliest one.
EarliestIsTrue ==
  lock = None => earliest = Min(heap)
\* An armed timer fires or is cancelled.
Fires == \A a \in Armers : a \in armed ~> a \notin armed

\* A thread is resumed after its timer has fired.
Resumes == \A a \in Armers : pc[a] = "parked" /\ number[a] = 1 /\ a \notin armed ~> number[a] > 1
=============================================================================
