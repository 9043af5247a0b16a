---------------------------- MODULE ReserveCore ----------------------------
(***************************************************************************)
(* The state of Reserve, its triers, and its stopper. Reserve.tla says     *)
(* what is abstracted, and has the claims.                                 *)
(* Code       kernel/pool/reserve.c (try, stop).                           *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Threads,     \* threads of the pool
  Triers,      \* the threads that have tasks
  Capacity,    \* the number of slots
  Least,       \* the number of reserved threads that stay even if they are idle
  MaxPending,  \* the largest number of starts under way: threads that were started and have not
               \* begun
  Tries,       \* the number of tasks in all
  Timeouts,    \* the number of waits that may time out
  Refusals,    \* the number of starts that the pool may refuse
  Stops        \* TRUE: the reserve is stopped, at any time

VARIABLES
  slot,      \* slot -> the thread that is offered in it, or None
  stopping,  \* TRUE if the reserve is stopped
  pending,   \* the number of starts under way, as counted
  starts,    \* the number of starts that the pool has accepted and no thread has begun
  task,      \* thread -> what it was given
  permit,    \* thread -> TRUE if it was unparked and has not noticed
  pc,        \* thread, trier, stopper -> its next step
  at,        \* thread, trier, stopper -> the slot that it looks at, or is in
  whom,      \* trier, stopper -> the thread that it has taken
  handed,    \* the number of tasks handed over so far
  ran,       \* the number of tasks run so far
  left       \* the tries, timeouts and refusals that are still to come

vars == <<slot, stopping, pending, starts, task, permit, pc, at, whom, handed, ran, left>>

None == "none"
All == Threads \cup Triers \cup {"stopper"}
Slots == 1 .. Capacity
TypeOK ==
  /\ slot \in [Slots -> Threads \cup {None}]
  /\ stopping \in BOOLEAN
  /\ pending \in 0 .. Tries
  /\ starts \in 0 .. Tries
  /\ task \in [Threads -> {None, "task", "stop"}]
  /\ permit \in [Threads -> BOOLEAN]
  /\ pc \in [All -> {"try", "give", "miss", "start", "refused", "over",
                     "stop", "sweep", "dismiss",
                     "out", "begun", "offer", "look", "wait", "idle", "remove", "got", "run"}]
  /\ at \in [All -> 1 .. Capacity + 1]
  /\ whom \in [All \ Threads -> Threads \cup {None}]
  /\ {handed, ran} \subseteq 0 .. Tries
  /\ left.tries \in 0 .. Tries
  /\ left.timeouts \in 0 .. Timeouts
  /\ left.refusals \in 0 .. Refusals

Init ==
  /\ slot = [i \in Slots |-> None]
  /\ stopping = FALSE
  /\ pending = 0
  /\ starts = 0
  /\ task = [t \in Threads |-> None]
  /\ permit = [t \in Threads |-> FALSE]
  /\ pc = [a \in All |-> IF a \in Threads THEN "out" ELSE IF a \in Triers THEN "over" ELSE "stop"]
  /\ at = [a \in All |-> 1]
  /\ whom = [a \in All \ Threads |-> None]
  /\ handed = 0
  /\ ran = 0
  /\ left = [tries |-> Tries, timeouts |-> Timeouts, refusals |-> Refusals]

Goto(a, where) == pc' = [pc EXCEPT ![a] = where]
GotoSlot(a, where, i) == Goto(a, where) /\ at' = [at EXCEPT ![a] = i]
Pool == <<pending, starts>>
Given == <<task, permit, handed, ran>>

(* wp_reserve_try. *)

\* A trier gets a task.
Try(c) ==
  /\ pc[c] = "over"
  /\ c \in Triers
  /\ left.tries > 0
  /\ left' = [left EXCEPT !.tries = @ - 1]
  /\ GotoSlot(c, "try", 1)
  /\ UNCHANGED <<slot, stopping, Pool, Given, whom>>

\* Thread a takes the thread out of slot i with one exchange. If the slot is empty, a goes on to the
\* next slot.
TakeOut(a, i, found, empty) == \* [reserve.3]
  IF slot[i] # None
  THEN /\ whom' = [whom EXCEPT ![a] = slot[i]]
       /\ slot' = [slot EXCEPT ![i] = None]
       /\ Goto(a, found)
       /\ UNCHANGED at
  ELSE GotoSlot(a, empty, i + 1) /\ UNCHANGED <<slot, whom>>

\* The trier looks for a slot with a thread.
Look(c) ==                    \* [reserve.2]
  /\ pc[c] = "try"
  /\ IF at[c] > Capacity
     THEN Goto(c, "miss") /\ UNCHANGED <<slot, whom, at>>
     ELSE TakeOut(c, at[c], "give", "try")
  /\ UNCHANGED <<stopping, Pool, Given, left>>

\* Thread a gives the taken thread a task or a stop, and unparks it.
Hand(a, what, where) ==
  /\ task' = [task EXCEPT ![whom[a]] = what]
  /\ permit' = [permit EXCEPT ![whom[a]] = TRUE]
  /\ whom' = [whom EXCEPT ![a] = None]
  /\ Goto(a, where)

\* The trier hands over its task.
Give(c) ==
  /\ pc[c] = "give"
  /\ Hand(c, "task", "over")
  /\ handed' = handed + 1
  /\ UNCHANGED <<slot, stopping, Pool, at, ran, left>>

\* The trier has found no thread. One more thread is to be started, unless enough starts are under
\* way.
Miss(c) ==                    \* [reserve.1]
  /\ pc[c] = "miss"
  /\ \/ Goto(c, "over") /\ UNCHANGED pending
     \/ /\ pending < MaxPending
        /\ pending' = pending + 1
        /\ Goto(c, "start")
  /\ UNCHANGED <<slot, stopping, starts, Given, at, whom, left>>

\* The pool accepts the start, or refuses it.
Start(c) ==
  /\ pc[c] = "start"
  /\ \/ starts' = starts + 1 /\ Goto(c, "over") /\ UNCHANGED left
     \/ /\ left.refusals > 0
        /\ left' = [left EXCEPT !.refusals = @ - 1]
        /\ Goto(c, "refused")
        /\ UNCHANGED starts
  /\ UNCHANGED <<slot, stopping, pending, Given, at, whom>>

\* The refused start is taken off the count.
Refused(c) ==                 \* [reserve.4]
  /\ pc[c] = "refused"
  /\ pending' = pending - 1
  /\ Goto(c, "over")
  /\ UNCHANGED <<slot, stopping, starts, Given, at, whom, left>>

(* wp_reserve_stop. *)

\* The stopper stops the reserve.
Stop ==                       \* [reserve.5]
  /\ pc["stopper"] = "stop"
  /\ Stops
  /\ stopping' = TRUE
  /\ GotoSlot("stopper", "sweep", 1)
  /\ UNCHANGED <<slot, Pool, Given, whom, left>>

\* The stopper takes the thread out of each slot.
Sweep ==                      \* [reserve.3]
  /\ pc["stopper"] = "sweep"
  /\ IF at["stopper"] > Capacity THEN Goto("stopper", "over") /\ UNCHANGED <<slot, whom, at>>
     ELSE TakeOut("stopper", at["stopper"], "dismiss", "sweep")
  /\ UNCHANGED <<stopping, Pool, Given, left>>

\* The stopper gives the taken thread its stop.
Dismiss ==
  /\ pc["stopper"] = "dismiss"
  /\ Hand("stopper", "stop", "sweep")
  /\ UNCHANGED <<slot, stopping, Pool, at, handed, ran, left>>
=============================================================================
