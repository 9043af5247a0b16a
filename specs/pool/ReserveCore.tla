---------------------------- MODULE ReserveCore ----------------------------
(***************************************************************************)
(* The state of Reserve, whoever has tasks, and whoever stops it.          *)
(* Code       kernel/pool/reserve.c (try, stop).                           *)
(* What is abstracted, and the claims, are in Reserve.tla.                 *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Threads,    \* of the pool
  Triers,     \* who has tasks
  Capacity,   \* slots
  Least,      \* so many are to stay though idle
  MaxPending, \* started, and have not begun
  Tries,      \* in all
  Timeouts, Refusals,
  Stops       \* somebody stops it, at any time

VARIABLES
  slot,       \* who is offered in each
  stopping,
  pending,    \* starts under way, as counted
  starts,     \* the pool has taken them
  task,       \* thread -> what it was given
  permit,     \* thread -> it was unparked
  pc, at,     \* at: the slot that somebody looks at, or is in
  whom,       \* trier, stopper -> whom it has taken
  handed, ran,
  left        \* tries, timeouts, refusals
vars == <<slot, stopping, pending, starts, task, permit, pc, at, whom, handed, ran, left>>

None == "none"
All == Threads \cup Triers \cup {"stopper"}
Slots == 1 .. Capacity
TypeOK ==
  /\ slot \in [Slots -> Threads \cup {None}] /\ stopping \in BOOLEAN
  /\ pending \in 0 .. Tries /\ starts \in 0 .. Tries
  /\ task \in [Threads -> {None, "task", "stop"}] /\ permit \in [Threads -> BOOLEAN]
  /\ pc \in [All -> {"try", "give", "miss", "start", "refused", "over",
                     "stop", "sweep", "dismiss",
                     "out", "begun", "offer", "look", "wait", "idle", "remove", "got", "run"}]
  /\ at \in [All -> 1 .. Capacity + 1] /\ whom \in [All \ Threads -> Threads \cup {None}]
  /\ {handed, ran} \subseteq 0 .. Tries
  /\ left.tries \in 0 .. Tries /\ left.timeouts \in 0 .. Timeouts
  /\ left.refusals \in 0 .. Refusals

Init ==
  /\ slot = [i \in Slots |-> None] /\ stopping = FALSE /\ pending = 0 /\ starts = 0
  /\ task = [t \in Threads |-> None] /\ permit = [t \in Threads |-> FALSE]
  /\ pc = [a \in All |-> IF a \in Threads THEN "out" ELSE IF a \in Triers THEN "over" ELSE "stop"]
  /\ at = [a \in All |-> 1] /\ whom = [a \in All \ Threads |-> None]
  /\ handed = 0 /\ ran = 0
  /\ left = [tries |-> Tries, timeouts |-> Timeouts, refusals |-> Refusals]

Goto(a, where) == pc' = [pc EXCEPT ![a] = where]
GotoSlot(a, where, i) == Goto(a, where) /\ at' = [at EXCEPT ![a] = i]
Pool == <<pending, starts>>
Given == <<task, permit, handed, ran>>

(* wp_reserve_try. *)
Try(c) ==
  /\ pc[c] = "over" /\ c \in Triers /\ left.tries > 0
  /\ left' = [left EXCEPT !.tries = @ - 1]
  /\ GotoSlot(c, "try", 1)
  /\ UNCHANGED <<slot, stopping, Pool, Given, whom>>
TakeOut(a, i, found, empty) ==      \* [reserve.3] one exchange
  IF slot[i] # None
  THEN /\ whom' = [whom EXCEPT ![a] = slot[i]]
       /\ slot' = [slot EXCEPT ![i] = None]
       /\ Goto(a, found) /\ UNCHANGED at
  ELSE GotoSlot(a, empty, i + 1) /\ UNCHANGED <<slot, whom>>
Look(c) ==                    \* [reserve.2] empty: the next
  /\ pc[c] = "try"
  /\ IF at[c] > Capacity
     THEN Goto(c, "miss") /\ UNCHANGED <<slot, whom, at>>
     ELSE TakeOut(c, at[c], "give", "try")
  /\ UNCHANGED <<stopping, Pool, Given, left>>
Hand(a, what, where) ==
  /\ task' = [task EXCEPT ![whom[a]] = what] /\ permit' = [permit EXCEPT ![whom[a]] = TRUE]
  /\ whom' = [whom EXCEPT ![a] = None]
  /\ Goto(a, where)
Give(c) ==
  /\ pc[c] = "give"
  /\ Hand(c, "task", "over")
  /\ handed' = handed + 1
  /\ UNCHANGED <<slot, stopping, Pool, at, ran, left>>
Miss(c) ==                    \* [reserve.1] one more, unless enough are under way
  /\ pc[c] = "miss"
  /\ \/ Goto(c, "over") /\ UNCHANGED pending
     \/ /\ pending < MaxPending
        /\ pending' = pending + 1
        /\ Goto(c, "start")
  /\ UNCHANGED <<slot, stopping, starts, Given, at, whom, left>>
Start(c) ==
  /\ pc[c] = "start"
  /\ \/ starts' = starts + 1 /\ Goto(c, "over") /\ UNCHANGED left
     \/ /\ left.refusals > 0
        /\ left' = [left EXCEPT !.refusals = @ - 1]
        /\ Goto(c, "refused")
        /\ UNCHANGED starts
  /\ UNCHANGED <<slot, stopping, pending, Given, at, whom>>
Refused(c) ==                 \* [reserve.4]
  /\ pc[c] = "refused"
  /\ pending' = pending - 1
  /\ Goto(c, "over")
  /\ UNCHANGED <<slot, stopping, starts, Given, at, whom, left>>

(* wp_reserve_stop. *)
Stop ==                       \* [reserve.5]
  /\ pc["stopper"] = "stop" /\ Stops
  /\ stopping' = TRUE
  /\ GotoSlot("stopper", "sweep", 1)
  /\ UNCHANGED <<slot, Pool, Given, whom, left>>
Sweep ==                      \* [reserve.3]
  /\ pc["stopper"] = "sweep"
  /\ IF at["stopper"] > Capacity THEN Goto("stopper", "over") /\ UNCHANGED <<slot, whom, at>>
     ELSE TakeOut("stopper", at["stopper"], "dismiss", "sweep")
  /\ UNCHANGED <<stopping, Pool, Given, left>>
Dismiss ==
  /\ pc["stopper"] = "dismiss"
  /\ Hand("stopper", "stop", "sweep")
  /\ UNCHANGED <<slot, stopping, Pool, at, handed, ran, left>>
=============================================================================
