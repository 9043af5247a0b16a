------------------------------ MODULE TimerCore ------------------------------
(***************************************************************************)
(* The timers of a carrier, and the threads that arm and cancel them: the  *)
(* first half of Timer.tla, which says what all this is about.             *)
(* Code       kernel/sched/timer.h, timer.c; vthread.h.                    *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Armers,     \* threads: park until a deadline, cancel the timer, park again with none
  Own,        \* those that run on the carrier; the others run elsewhere
  Deadlines,  \* each armer takes one of these
  Unparks     \* how many times the unparker comes

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

(* Arming. *)
Arm(a) ==                     \* [lock.1] [timer.1] wp_timer_arm; is it the first?
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
Publish(a) ==                 \* [timer.2]
  /\ At(a, "publish")
  /\ earliest' = deadline[a]
  /\ first' = first \cup {a}
  /\ Goto(a, "unlock")
  /\ UNCHANGED <<Heap, lock, word, Thread, now, Carrier, hand, left, Ghosts>>
UnlockArmed(a) ==             \* [lock.3]
  /\ At(a, "unlock")
  /\ lock' = None
  /\ Goto(a, IF a \in first \ Own THEN "word" ELSE "park")
  /\ first' = first \ Own
  /\ UNCHANGED <<Heap, earliest, word, Thread, now, Carrier, hand, left, Ghosts>>
LoadWord(a) ==                \* [timer.9] [timer.10] wp_timers_nudge
  /\ At(a, "word")
  /\ first' = IF word = "PARKED" THEN first ELSE first \ {a}
  /\ Goto(a, IF word = "PARKED" THEN "cas" ELSE "park")
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, Carrier, hand, left, Ghosts>>
Nudge(a) ==                   \* [timer.11] PARKED to WAKING
  /\ At(a, "cas")
  /\ IF word = "PARKED"
     THEN /\ word' = "WAKING"
          /\ Goto(a, "call")
          /\ UNCHANGED first
     ELSE /\ UNCHANGED word
          /\ Goto(a, "park")
          /\ first' = first \ {a}
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
Park(a) ==                    \* [vthread.3] parks; [vthread.4] takes the permit instead
  /\ At(a, "park")
  /\ IF permit[a] # None THEN EndPark(a) ELSE Goto(a, "parked") /\ UNCHANGED <<number, permit>>
  /\ UNCHANGED <<Heap, earliest, lock, word, ready, now, first, Carrier, hand, left, Ghosts>>
Resume(a) ==                  \* [vthread.2] it is popped, and runs
  /\ At(a, "parked") /\ a \in ready
  /\ ready' = ready \ {a}
  /\ EndPark(a)
  /\ UNCHANGED <<Heap, earliest, lock, word, now, first, Carrier, hand, left, Ghosts>>

(* Cancelling, after the first park. *)
LoadArmed(a) ==               \* [timer.4] wp_timer_cancel; it has fired: nobody touches it any more
  /\ At(a, "cancel")
  /\ IF a \in armed
     THEN /\ Goto(a, "lock")
          /\ UNCHANGED gone
     ELSE /\ Goto(a, "park")
          /\ gone' = gone \cup {a}
  /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, Carrier, hand, left, ends>>
Cancel(a) ==                  \* [lock.1] [timer.5] [timer.6] if it still is; [timer.12] wp_timers_clear does it too
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
Withdraw(a) ==                \* [timer.3] if it was the root
  /\ At(a, "withdraw")
  /\ earliest' = Min(heap)
  /\ Goto(a, "release")
  /\ UNCHANGED <<Heap, lock, word, Thread, now, first, Carrier, hand, left, Ghosts>>
UnlockCancelled(a) ==         \* [lock.3] not armed any more: where is it?
  /\ At(a, "release") \/ At(a, "again")
  /\ lock' = None
  /\ gone' = IF pc[a] = "again" THEN gone ELSE gone \cup {a}
  /\ Goto(a, IF pc[a] = "again" THEN "cancel" ELSE "park")
  /\ UNCHANGED <<Heap, earliest, word, Thread, now, first, Carrier, hand, left, ends>>
=============================================================================
