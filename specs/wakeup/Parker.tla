------------------------------- MODULE Parker ------------------------------
(***************************************************************************)
(* A parker holds one permit for one thread, its owner, as Java's          *)
(* LockSupport does. Unpark makes the permit available; park takes the     *)
(* permit, or sleeps until it is available. So an unpark may come before   *)
(* the park that it is for. After a close, a park that finds no permit     *)
(* returns at once.                                                        *)
(*                                                                         *)
(* Code       kernel/wakeup/parker.h, parker.c; [parker.1]..[parker.5]     *)
(*            name sites there.                                            *)
(* Abstracts  the futex to a sleep that begins only while the word is      *)
(*            PARKED, and that may end spuriously; a deadline in the       *)
(*            future and a signal handler to one reason to stop waiting.   *)
(* Memory     the parker's word is one location, and the model says which  *)
(*            data the word carries from unpark to park: a release         *)
(*            read-modify-write adds the unparker's data to the word, and  *)
(*            an acquire takes all data that the word carries.             *)
(* Promises   PermitAtMostOne, UnparkNotLost, CloseNotLost, HappensBefore, *)
(*            NeverSpurious, SaysTruth (safety); PermitTaken, CloseTold    *)
(*            (liveness).                                                  *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
  Unparkers,  \* threads that write data, then unpark
  Rounds,     \* the number of times that each of them does so
  MayClose    \* TRUE: one more thread closes the parker

ASSUME SomebodyUnparks == Unparkers # {} /\ Rounds > 0

VARIABLES
  word,     \* parker->word: a subset of PERMIT, PARKED, CLOSED
  owner,    \* the owner's next step
  late,     \* owner: TRUE if a deadline or a signal handler has ended its wait
  seen,     \* owner: unparker -> the newest data of that unparker that the owner is guaranteed to
            \* see
  thread,   \* unparker or closer -> its next step
  gave,     \* unparker -> the value that its last wp_parker_unpark returned; FALSE again once the
            \* unparker writes its next data
  result,   \* owner: the value that its last park returned; "none" before the first and during a
            \* park
  data,     \* unparker -> the number of rounds that it has written data for
  carried,  \* unparker -> the newest data of that unparker that an acquire of the word makes
            \* visible
  due,      \* ghost: unparker -> the data of its last unpark that has taken effect
  credit,   \* ghost: the number of permits given minus the number of permits taken
  stale     \* ghost: TRUE if a park took the permit and missed data that was due
vars == <<word, owner, late, seen, thread, gave, result, data, carried, due, credit, stale>>

PERMIT == "permit"
PARKED == "parked"
CLOSED == "closed"
Bits   == {PERMIT, PARKED, CLOSED}
Threads == Unparkers \cup (IF MayClose THEN {"closer"} ELSE {})
Versions == [Unparkers -> 0 .. Rounds]

TypeOK ==
  /\ word \subseteq Bits
  /\ owner \in {"run", "try", "peek", "arm", "wait", "asleep", "leave", "end"}
  /\ late \in BOOLEAN
  /\ stale \in BOOLEAN
  /\ thread \in [Threads -> {"write", "unpark", "wake", "close", "done"}]
  /\ gave \in [Unparkers -> BOOLEAN]
  /\ result \in {"none", "ok", "timeout", "closed"}
  /\ {seen, data, carried, due} \subseteq Versions
  /\ credit \in -1 .. 2

Init ==
  /\ word = {}
  /\ owner = "run"
  /\ late = FALSE
  /\ stale = FALSE
  /\ credit = 0
  /\ thread = [t \in Threads |-> IF t = "closer" THEN "close" ELSE "write"]
  /\ gave = [u \in Unparkers |-> FALSE]
  /\ result = "none"
  /\ seen = [u \in Unparkers |-> 0]
  /\ data = seen
  /\ carried = seen
  /\ due = seen

AllSeen == \A u \in Unparkers : seen[u] = Rounds
Max(a, b) == IF a > b THEN a ELSE b

\* An acquire of the word makes all data visible that the word carries.
Acquire == seen' = [u \in Unparkers |-> Max(seen[u], carried[u])]

\* A park returns with the permit.
Took ==
  /\ credit' = credit - 1
  /\ stale' = (stale \/ \E u \in Unparkers : due[u] > seen'[u])

Others == <<thread, gave, data, due>>

(* The owner parks until it has seen all data. It cannot tell an old permit from a new one. *)

\* The owner checks whether it has seen all data, and if not, it parks or peeks. To peek is to park
\* with a deadline that has passed.
Begin ==
  /\ owner = "run"
  /\ owner' \in IF AllSeen THEN {"end"} ELSE {"try", "peek"}
  /\ result' = "none"
  /\ UNCHANGED <<word, late, seen, carried, credit, stale, Others>>

\* park_once takes the permit if it is there. If the parker is closed, the owner learns that from
\* its read of the word at [parker.3].
Take(otherwise) ==       \* [parker.1] park_once
  /\ IF word = {PERMIT}
     THEN /\ word' = {}
          /\ Acquire
          /\ Took
          /\ owner' = "run"
          /\ result' = "ok"
     ELSE /\ owner' = IF word # {} THEN "leave" ELSE otherwise
          /\ result' = IF owner' = "run" THEN "timeout" ELSE result
          /\ UNCHANGED <<word, seen, credit, stale>>
  /\ UNCHANGED <<late, carried, Others>>

\* A park begins by trying to take the permit.
Try == owner = "try" /\ Take("arm")

\* A park whose deadline is 0 or has passed returns WP_TIMEOUT without sleeping.
Peek == owner = "peek" /\ Take("run")  \* [parker.1]

\* The owner changes the word from 0 to PARKED. If the word was not 0, the owner tries again to take
\* the permit.
Arm ==                   \* [parker.2]
  /\ owner = "arm"
  /\ IF word = {}
     THEN /\ word' = {PARKED}
          /\ owner' = "wait"
     ELSE /\ owner' = "try"
          /\ UNCHANGED word
  /\ UNCHANGED <<late, seen, result, carried, credit, stale, Others>>

\* In one step the futex call compares the word with PARKED and puts the owner to sleep.
Wait ==                  \* wp_futex_wait
  /\ owner = "wait"
  /\ owner' = IF word = {PARKED} THEN "asleep" ELSE "leave"
  /\ UNCHANGED <<word, late, seen, result, carried, credit, stale, Others>>

\* A sleep ends spuriously, or because of a deadline or a signal handler.
EndWait(isLate) ==
  /\ owner = "asleep"
  /\ owner' = "leave"
  /\ late' = isLate
  /\ UNCHANGED <<word, seen, result, carried, credit, stale, Others>>

\* park_once ends. What it returns depends only on local values.
Return(had) ==
  /\ IF PERMIT \in had
     THEN /\ Took
          /\ owner' = "run"
          /\ result' = "ok"
     ELSE /\ owner' = IF CLOSED \in had THEN "end" ELSE IF late THEN "run" ELSE "try"
          /\ result' = IF owner' = "end" THEN "closed"
                       ELSE IF owner' = "run" THEN "timeout" ELSE result
          /\ UNCHANGED <<credit, stale>>
  /\ late' = FALSE

\* The owner clears PERMIT and PARKED with one fetch-and, which returns the bits that were set
\* meanwhile.
Leave ==                 \* [parker.3]
  /\ owner = "leave"
  /\ Acquire
  /\ word' = word \ {PERMIT, PARKED}
  /\ Return(word)
  /\ UNCHANGED <<carried, Others>>

(* Unparkers and the closer. *)
Step(t, next) == thread' = [thread EXCEPT ![t] = next]
Rest(t) == IF t = "closer" \/ data[t] = Rounds THEN "done" ELSE "write"
OwnerOnly == <<late, seen, result, stale>>

\* The unpark has taken effect, so the park that it ends must see its data.
Effect(u) == due' = [due EXCEPT ![u] = data[u]]

\* The permit is given, unless it is already there.
Give(had) == credit' = IF PERMIT \in had THEN credit ELSE credit + 1

\* An unpark returns TRUE if it gave the permit and the parker is open.
Tell(u, had) ==
  gave' = [gave EXCEPT ![u] = PERMIT \notin had /\ CLOSED \notin had]

\* The call that sets PERMIT while PARKED is set owes the owner a wakeup.
WakeNeeded(had) == PARKED \in had /\ PERMIT \notin had

\* The unparker writes its data.
Write(u) ==
  /\ thread[u] = "write"
  /\ Step(u, "unpark")
  /\ data' = [data EXCEPT ![u] = @ + 1]
  /\ gave' = [gave EXCEPT ![u] = FALSE]
  /\ UNCHANGED <<word, owner, carried, due, credit, OwnerOnly>>

\* The unparker gives the permit with a fetch-or, even if the permit is already there, because the
\* word must carry the unparker's data.
Unpark(u) ==             \* [parker.4] wp_parker_unpark
  /\ thread[u] = "unpark"
  /\ word' = word \cup {PERMIT}
  /\ carried' = [carried EXCEPT ![u] = data[u]]
  /\ Effect(u)
  /\ Give(word)
  /\ Tell(u, word)
  /\ Step(u, IF WakeNeeded(word) THEN "wake" ELSE Rest(u))
  /\ UNCHANGED <<owner, data, OwnerOnly>>

\* The closer sets CLOSED, and owes the owner a wakeup if the owner is parked.
Close ==                 \* [parker.5] wp_parker_close
  /\ MayClose
  /\ thread["closer"] = "close"
  /\ word' = word \cup {CLOSED}
  /\ Step("closer", IF PARKED \in word THEN "wake" ELSE "done")
  /\ UNCHANGED <<owner, gave, data, carried, due, credit, OwnerOnly>>

\* A thread sends the wakeup that it owes. The wakeup may find no sleeper, or a later sleep of the
\* owner.
Wake(t) ==               \* wp_futex_wake
  /\ thread[t] = "wake"
  /\ owner' = IF owner = "asleep" THEN "leave" ELSE owner
  /\ Step(t, Rest(t))
  /\ UNCHANGED <<word, gave, data, carried, due, credit, OwnerOnly>>

(* What must hold. *)

\* A wakeup is on its way.
WakeComes == \E t \in Threads : thread[t] = "wake"

\* There is at most one permit, however many unparks there were. A park takes only a permit that was
\* given.
PermitAtMostOne == credit <= 1 /\ (PERMIT \in word => credit = 1)

\* A permit that was given stays until a park takes it. While the permit is there, the owner does
\* not sleep unless a wakeup is on its way.
UnparkNotLost ==
  /\ credit = 1 => PERMIT \in word
  /\ owner = "asleep" /\ PERMIT \in word => WakeComes

\* While the parker is closed, the owner does not sleep unless a wakeup is on its way.
CloseNotLost == owner = "asleep" /\ CLOSED \in word => WakeComes

\* A park that takes a permit sees all data that was written before each unpark that gave this
\* permit or found it already there.
HappensBefore == ~stale

\* A park returns only because it took the permit, its deadline has passed, a signal handler ran
\* (`late`) or the parker is closed. It never returns because of a spurious wakeup. The deadline of
\* a peek has passed from the start.
NeverSpurious ==
  [][owner # "run" /\ owner' = "run" => credit' < credit \/ late \/ owner = "peek"]_vars

\* An unpark returns TRUE if it gave the permit and the parker is open, and FALSE otherwise. A park
\* returns OK if and only if it took the permit, and CLOSED only if the parker is closed.
SaysTruth ==
  [][/\ \A u \in Unparkers : thread[u] = "unpark" /\ thread'[u] # "unpark" =>
          (gave'[u] <=> credit' > credit /\ CLOSED \notin word)
     /\ result = "none" /\ result' # "none" =>
          /\ result' = "ok" <=> credit' < credit
          /\ result' = "closed" => CLOSED \in word]_vars

\* A permit is eventually taken, if the owner keeps parking.
PermitTaken == PERMIT \in word ~> PERMIT \notin word \/ owner = "end"

\* An owner that keeps parking eventually learns of a close, even if the deadlines of its parks have
\* passed.
CloseTold == CLOSED \in word ~> owner = "end"

\* The intended end: the owner has seen all data, or the parker is closed.
Finished ==
  /\ owner = "end"
  /\ \A t \in Threads : thread[t] = "done"
  /\ UNCHANGED vars

Owner == Begin \/ Try \/ Peek \/ Arm \/ Wait \/ Leave
Next ==
  \/ Owner \/ EndWait(TRUE) \/ EndWait(FALSE) \/ Close \/ Finished
  \/ \E u \in Unparkers : Write(u) \/ Unpark(u)
  \/ \E t \in Threads : Wake(t)

\* No thread has to unpark or to close, but a thread that owes a wakeup sends it.
Fairness == WF_vars(Owner) /\ \A t \in Threads : WF_vars(Wake(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* The inductive invariant, from which the claims follow for any number of unparkers. *)

\* Only the closer closes.
IndTypes == \A u \in Unparkers : thread[u] # "close"

One(condition) == IF condition THEN 1 ELSE 0

\* The word holds a permit exactly if one more was given than taken.
PermitCounted == credit = One(PERMIT \in word)

\* The word is PARKED while the owner waits or sleeps, and otherwise only until the owner leaves.
ParkedWhileAsleep ==
  IF owner \in {"wait", "asleep"} THEN PARKED \in word ELSE PARKED \in word => owner = "leave"

\* While the owner sleeps beside a permit or a close, a wakeup is on its way.
SleepIsEnded == owner = "asleep" /\ (PERMIT \in word \/ CLOSED \in word) => WakeComes

\* The data of an unpark is carried by the word until the owner has seen it.
DueIsCarried == \A u \in Unparkers : due[u] <= carried[u] \/ due[u] <= seen[u]

IndInv ==
  /\ IndTypes
  /\ PermitCounted
  /\ ParkedWhileAsleep
  /\ SleepIsEnded
  /\ DueIsCarried
  /\ HappensBefore
=============================================================================
