------------------------------ MODULE TimerCore ------------------------------
(***************************************************************************)
(* The state of Timer, and the threads that arm and cancel timers.         *)
(* Timer.tla says what this is about, and has the claims.                  *)
(* Code       kernel/sched/timer.h, timer.c; vthread.h.                    *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Armers,     \* threads; each parks until a deadline, cancels its timer, and parks again without a
              \* deadline
  Own,        \* the armers that run on the carrier; the others run elsewhere
  Deadlines,  \* each armer chooses one of these
  Unparks     \* the number of unparks from outside

ASSUME SomebodyArms == Armers # {} /\ Own \subseteq Armers /\ Deadlines \subseteq Nat \ {0}

VARIABLES
  heap,      \* the armers whose timers are in the heap
  armed,     \* the armers whose timer->armed is not NULL
  deadline,  \* armer -> timer->deadline_ns
  earliest,  \* timers->earliest_ns
  lock,      \* the holder of timers->lock
  word,      \* carrier->word
  number,    \* armer -> from its thread's word: the number of its current or next park
  permit,    \* armer -> from the same word: the permit, named by its giver
  ready,     \* armers that are queued to run
  now,       \* the time
  pc,        \* thread -> its next step
  first,     \* the armers that owe the carrier a wakeup, because their timers became the first
  clock,     \* local variable of the carrier: the time that it has read
  until,     \* local variable of the carrier: the deadline of its sleep
  hand,      \* "carrier", "unparker" -> the armer that it must push, or the armer whose timer it
             \* accesses
  left,      \* the number of unparks that are still to come
  ends,      \* ghost: armer -> how many times its timer fired or was cancelled
  gone       \* ghost: the armers that are done with their timers, so that the timers' memory may be
             \* reused

Heap == <<heap, armed, deadline>>
Thread == <<number, permit, ready>>
Carrier == <<clock, until>>
Ghosts == <<ends, gone>>
vars == <<Heap, earliest, lock, word, Thread, now, pc, first, Carrier, hand, left, Ghosts>>

None == "none"
Threads == Armers \cup {"carrier", "unparker"}
Last == CHOOSE d \in Deadlines : \A e \in Deadlines : e <= d
Forever == Last + 1
Min(timers) == IF timers = {} THEN Forever
               ELSE CHOOSE d \in Deadlines : /\ \E t \in timers : d = deadline[t]
                                             /\ \A t \in timers : d <= deadline[t]

Init ==
  /\ heap = {}
  /\ armed = {}
  /\ deadline = [a \in Armers |-> 0]
  /\ earliest = Forever
  /\ lock = None
  /\ word = "RUNNING"
  /\ number = [a \in Armers |-> 1]
  /\ permit = [a \in Armers |-> None]
  /\ ready = {}
  /\ now = 0
  /\ clock = 0
  /\ until = Forever
  /\ first = {}
  /\ pc = [t \in Threads |-> IF t = "carrier" THEN "turn" ELSE IF t = "unparker" THEN "idle"
                             ELSE "start"]
  /\ hand = [t \in {"carrier", "unparker"} |-> None]
  /\ left = Unparks
  /\ ends = [a \in Armers |-> 0]
  /\ gone = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

\* Armer a is at step `where`. An armer of this carrier can run only at the carrier's turn.
At(a, where) == pc[a] = where /\ (a \in Own => pc["carrier"] = "turn")

(* Arming. *)

\* The armer takes the lock and adds its timer to the heap, where it may become the first:
\* wp_timer_arm.
Arm(a) ==                     \* [lock.1] [timer.1]
  /\ At(a, "start")
  /\ lock = None
  /\ lock' = a
  /\ \E d \in Deadlines :
       LET is_first == \A b \in heap : d < deadline[b] IN
       /\ deadline' = [deadline EXCEPT ![a] = d]
       /\ Goto(a, IF is_first THEN "publish" ELSE "unlock")
  /\ heap' = heap \cup {a}
  /\ armed' = armed \cup {a}
  /\ UNCHANGED <<earliest, word, Thread, now, first, Carrier, hand, left, Ghosts>>

\* The first timer's deadline becomes the earliest one.
Publish(a) ==                 \* [timer.2]
  /\ At(a, "publish")
  /\ earliest' = deadline[a]
  /\ first' = first \cup {a}
  /\ Goto(a, "unlock")
  /\ UNCHANGED <<Heap, lock, word, Thread, now, Carrier, hand, left, Ghosts>>

\* The armer gives the lock back. If its timer was the first, and it runs elsewhere, it goes on to
\* wake the carrier.
UnlockArmed(a) ==             \* [lock.3]
  /\ At(a, "unlock")
  /\ lock' = None
  /\ Goto(a, IF a \in first \ Own THEN "word" ELSE "park")
  /\ first' = first \ Own
  /\ UNCHANGED <<Heap, earliest, word, Thread, now, Carrier, hand, left, Ghosts>>

\* The armer checks whether the carrier is parked: wp_timers_nudge.
LoadWord(a) ==                \* [timer.9] [timer.10]
  /\ At(a, "word")
  /\ first' = IF word = "PARKED" THEN first ELSE first \ {a}
  /\ Goto(a, IF word = "PARKED" THEN "cas" ELSE "park")
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, Carrier, hand, left, Ghosts>>

\* The armer claims the wakeup: it changes PARKED to WAKING.
Nudge(a) ==                   \* [timer.11]
  /\ At(a, "cas")
  /\ IF word = "PARKED"
     THEN /\ word' = "WAKING"
          /\ Goto(a, "call")
          /\ UNCHANGED first
     ELSE /\ UNCHANGED word
          /\ Goto(a, "park")
          /\ first' = first \ {a}
  /\ UNCHANGED <<Heap, earliest, lock, Thread, now, Carrier, hand, left, Ghosts>>

\* The armer makes the one system call of the wakeup: wp__carrier_wake.
Call(a) ==
  /\ At(a, "call")
  /\ pc' = [pc EXCEPT ![a] = "park", !["carrier"] = IF @ = "queued" THEN "wait" ELSE @]
  /\ first' = first \ {a}
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, Carrier, hand, left, Ghosts>>

(* The first park lasts until the deadline or an unpark, and the second one until an unpark. *)

\* The park ends: the permit is taken, and the number changes, in one step.
EndPark(a) ==
  /\ number' = [number EXCEPT ![a] = @ + 1]
  /\ permit' = [permit EXCEPT ![a] = None]
  /\ Goto(a, IF number[a] = 1 THEN "cancel" ELSE "done")

\* The armer parks [vthread.3]. If it has a permit, it takes the permit instead [vthread.4].
Park(a) ==
  /\ At(a, "park")
  /\ IF permit[a] # None THEN EndPark(a) ELSE Goto(a, "parked") /\ UNCHANGED <<number, permit>>
  /\ UNCHANGED <<Heap, earliest, lock, word, ready, now, first, Carrier, hand, left, Ghosts>>

\* The armer's thread is taken from its queue, and runs.
Resume(a) ==                  \* [vthread.2]
  /\ At(a, "parked")
  /\ a \in ready
  /\ ready' = ready \ {a}
  /\ EndPark(a)
  /\ UNCHANGED <<Heap, earliest, lock, word, now, first, Carrier, hand, left, Ghosts>>

(* Cancelling, after the first park. *)

\* The armer checks whether its timer is armed: wp_timer_cancel. If the timer has fired, no thread
\* accesses it any more.
LoadArmed(a) ==               \* [timer.4]
  /\ At(a, "cancel")
  /\ IF a \in armed
     THEN /\ Goto(a, "lock")
          /\ UNCHANGED gone
     ELSE /\ Goto(a, "park")
          /\ gone' = gone \cup {a}
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, Carrier, hand, left, ends>>

\* The armer takes the lock and cancels the timer if it is still armed. [timer.12] wp_timers_clear
\* cancels timers, too.
Cancel(a) ==                  \* [lock.1] [timer.5] [timer.6]
  /\ At(a, "lock")
  /\ lock = None
  /\ lock' = a
  /\ heap' = heap \ {a}
  /\ armed' = armed \ {a}
  /\ LET is_armed == a \in armed
         is_root == a \in heap /\ \A b \in heap : deadline[a] <= deadline[b]
     IN /\ ends' = IF is_armed THEN [ends EXCEPT ![a] = @ + 1] ELSE ends
        /\ Goto(a, IF ~is_armed THEN "again" ELSE IF is_root THEN "withdraw" ELSE "release")
  /\ UNCHANGED <<deadline, earliest, word, Thread, now, first, Carrier, hand, left, gone>>

\* The cancelled timer was the first, so the armer writes the new earliest deadline.
Withdraw(a) ==                \* [timer.3]
  /\ At(a, "withdraw")
  /\ earliest' = Min(heap)
  /\ Goto(a, "release")
  /\ UNCHANGED <<Heap, lock, word, Thread, now, first, Carrier, hand, left, Ghosts>>

\* The armer gives the lock back. If the timer was no longer armed, the armer checks again which
\* thread has it.
UnlockCancelled(a) ==         \* [lock.3]
  /\ At(a, "release") \/ At(a, "again")
  /\ lock' = None
  /\ gone' = IF pc[a] = "again" THEN gone ELSE gone \cup {a}
  /\ Goto(a, IF pc[a] = "again" THEN "cancel" ELSE "park")
  /\ UNCHANGED <<Heap, earliest, word, Thread, now, first, Carrier, hand, left, ends>>
=============================================================================
