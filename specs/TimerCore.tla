------------------------------ MODULE TimerCore ------------------------------
(***************************************************************************)
(* The timers of a carrier, and the threads that arm and cancel them: the  *)
(* first half of Timer.tla, which says what all this is about.             *)
(* Code       kernel/timer.h, timer.c; vthread.h.                          *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Armers,     \* threads: park until a deadline, cancel the timer, park again with none
  Own,        \* those that run on the carrier; the others run elsewhere
  Deadlines,  \* each armer takes one of these
  Unparks,    \* how many times the unparker comes
  Twin        \* "none", or the one defect of this model

ASSUME SomebodyArms == Armers # {} /\ Own \subseteq Armers /\ Deadlines \subseteq Nat \ {0}

VARIABLES
  heap,      \* armers whose timers are in it
  armed,     \* armers whose timer->armed is not NULL
  deadline,  \* armer -> timer->deadline_ns
  earliest,  \* timers->earliest_ns
  lock,      \* who holds timers->lock
  word,      \* carrier->word
  number,    \* armer -> of its thread's word: the park that comes next, or is
  permit,    \* armer -> the same: the permit, by who gave it
  ready,     \* armers that are queued
  now,       \* the time
  pc,        \* thread -> what it does next
  first,     \* armers that owe a nudge
  clock,     \* local of the carrier: when it looked at the clock
  until,     \* local of the carrier: the deadline of its sleep
  hand,      \* "carrier", "unparker" -> the armer that it must push, or whose timer it touches
  left,      \* unparks to come
  ends,      \* ghost: armer -> how many times its timer fired or was cancelled
  gone       \* ghost: armers that are done with their timers: that memory may be another's
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
  /\ heap = {} /\ armed = {} /\ deadline = [a \in Armers |-> 0]
  /\ earliest = Forever /\ lock = None /\ word = "RUNNING"
  /\ number = [a \in Armers |-> 1] /\ permit = [a \in Armers |-> None] /\ ready = {}
  /\ now = 0 /\ clock = 0 /\ until = Forever /\ first = {}
  /\ pc = [t \in Threads |-> IF t = "carrier" THEN "turn" ELSE IF t = "unparker" THEN "idle"
                             ELSE "start"]
  /\ hand = [t \in {"carrier", "unparker"} |-> None]
  /\ left = Unparks /\ ends = [a \in Armers |-> 0] /\ gone = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
At(a, where) == pc[a] = where /\ (a \in Own => pc["carrier"] = "turn")

(* Arming.  Twins: earliest_late decides under the lock and stores without it; no_fence looks at  *)
(* the word before it stores.                                                                     *)
IsFirst(a) == \A b \in heap \ {a} : deadline[a] < deadline[b]
Arm(a) ==                     \* [L1] [M1] wp_timer_arm
  /\ At(a, "start") /\ lock = None
  /\ lock' = a
  /\ \E d \in Deadlines :
       /\ deadline' = [deadline EXCEPT ![a] = d]
       /\ first' = IF Twin = "earliest_late" /\ d < earliest THEN first \cup {a} ELSE first
  /\ heap' = heap \cup {a} /\ armed' = armed \cup {a}
  /\ Goto(a, IF Twin = "earliest_late" THEN "unlock" ELSE IF Twin = "no_fence" THEN "word"
             ELSE "publish")
  /\ UNCHANGED <<earliest, word, Thread, now, Carrier, hand, left, Ghosts>>
Nudges(a) == IF a \notin first \ Own THEN "park" ELSE IF Twin = "no_fence" THEN "cas" ELSE "word"
Publish(a) ==                 \* [M2] if it is the earliest
  /\ At(a, "publish")
  /\ LET is_first == IF Twin = "earliest_late" THEN a \in first ELSE IsFirst(a) IN
     /\ earliest' = IF is_first THEN deadline[a] ELSE earliest
     /\ first' = IF is_first /\ Twin # "no_fence" THEN first \cup {a} ELSE first
  /\ Goto(a, IF Twin = "earliest_late" THEN Nudges(a) ELSE "unlock")
  /\ UNCHANGED <<Heap, lock, word, Thread, now, Carrier, hand, left, Ghosts>>
UnlockArmed(a) ==             \* [L3]
  /\ At(a, "unlock")
  /\ lock' = None
  /\ Goto(a, IF Twin = "earliest_late" THEN "publish" ELSE Nudges(a))
  /\ first' = IF Twin = "earliest_late" THEN first ELSE first \ Own
  /\ UNCHANGED <<Heap, earliest, word, Thread, now, Carrier, hand, left, Ghosts>>
LoadWord(a) ==                \* [M9] [M10] wp_timers_nudge
  /\ At(a, "word")
  /\ first' = IF word # "PARKED" THEN first \ {a} ELSE first \cup {a}
  /\ Goto(a, IF Twin = "no_fence" THEN "publish" ELSE IF word = "PARKED" THEN "cas" ELSE "park")
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, Carrier, hand, left, Ghosts>>
Nudge(a) ==                   \* [M11] PARKED to WAKING
  /\ At(a, "cas")
  /\ LET wakes == word = "PARKED" /\ Twin # "nudge_silent" IN
     /\ word' = IF word = "PARKED" THEN "WAKING" ELSE word
     /\ Goto(a, IF wakes THEN "call" ELSE "park")
     /\ first' = IF wakes THEN first ELSE first \ {a}
  /\ UNCHANGED <<Heap, earliest, lock, Thread, now, Carrier, hand, left, Ghosts>>
Call(a) ==                    \* wp__carrier_wake: the one system call
  /\ At(a, "call")
  /\ pc' = [pc EXCEPT ![a] = "park", !["carrier"] = IF @ = "queued" THEN "wait" ELSE @]
  /\ first' = first \ {a}
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, Carrier, hand, left, Ghosts>>

(* Parking: until the deadline or an unpark; the second time until an unpark. *)
EndPark(a) ==                 \* the permit is taken where the number changes
  /\ number' = [number EXCEPT ![a] = @ + 1] /\ permit' = [permit EXCEPT ![a] = None]
  /\ Goto(a, IF number[a] = 1 THEN "cancel" ELSE "done")
Park(a) ==                    \* [V3] parks; [V4] takes the permit instead
  /\ At(a, "park")
  /\ IF permit[a] # None THEN EndPark(a) ELSE Goto(a, "parked") /\ UNCHANGED <<number, permit>>
  /\ UNCHANGED <<Heap, earliest, lock, word, ready, now, first, Carrier, hand, left, Ghosts>>
Resume(a) ==                  \* [V2] it is popped, and runs
  /\ At(a, "parked") /\ a \in ready
  /\ ready' = ready \ {a}
  /\ EndPark(a)
  /\ UNCHANGED <<Heap, earliest, lock, word, now, first, Carrier, hand, left, Ghosts>>

(* Cancelling, after the first park. *)
LoadArmed(a) ==               \* [M4] wp_timer_cancel; it has fired: nobody touches it any more
  /\ At(a, "cancel")
  /\ IF a \in armed /\ Twin # "late_cancel" THEN Goto(a, "lock") /\ UNCHANGED gone
     ELSE Goto(a, "park") /\ gone' = gone \cup {a}
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, Carrier, hand, left, ends>>
Cancel(a) ==                  \* [L1] [M5] [M6] if it still is; [M12] wp_timers_clear does it too
  /\ At(a, "lock") /\ lock = None
  /\ lock' = a
  /\ heap' = heap \ {a} /\ armed' = armed \ {a}
  /\ ends' = IF a \in armed \/ Twin = "cancel_unchecked" THEN [ends EXCEPT ![a] = @ + 1] ELSE ends
  /\ Goto(a, IF a \in armed /\ \A b \in heap : deadline[a] <= deadline[b] THEN "withdraw"
             ELSE "release")
  /\ UNCHANGED <<deadline, earliest, word, Thread, now, first, Carrier, hand, left, gone>>
Withdraw(a) ==                \* [M3] if it was the root
  /\ At(a, "withdraw")
  /\ earliest' = Min(heap)
  /\ Goto(a, "release")
  /\ UNCHANGED <<Heap, lock, word, Thread, now, first, Carrier, hand, left, Ghosts>>
UnlockCancelled(a) ==         \* [L3]
  /\ At(a, "release")
  /\ lock' = None /\ gone' = gone \cup {a}
  /\ Goto(a, "park")
  /\ UNCHANGED <<Heap, earliest, word, Thread, now, first, Carrier, hand, left, ends>>
=============================================================================
