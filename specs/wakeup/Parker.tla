------------------------------- MODULE Parker ------------------------------
(***************************************************************************)
(* One permit for one thread: unpark gives it, park takes it or sleeps     *)
(* until it comes.                                                         *)
(* Code       kernel/wakeup/parker.h, parker.c; [parker.1]..[parker.5]     *)
(*            name sites there.                                            *)
(* Abstracts  the futex to a sleep that begins only while the word is      *)
(*            PARKED and that may end for no reason; a deadline to come    *)
(*            and a signal handler to one reason to stop waiting.          *)
(* Memory     the word is one location; what it carries from unpark to     *)
(*            park is explicit: a release read-modify-write adds the       *)
(*            unparker's data to it, an acquire takes all it carries.      *)
(* Promises   PermitAtMostOne, UnparkNotLost, CloseNotLost, HappensBefore, *)
(*            NeverSpurious, SaysTruth (safety); PermitTaken, CloseTold    *)
(*            (liveness).                                                  *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
  Unparkers,  \* threads that write data, then unpark
  Rounds,     \* how often each does so
  MayClose    \* whether a further thread closes the parker

ASSUME SomebodyUnparks == Unparkers # {} /\ Rounds > 0

VARIABLES
  word,     \* parker->word: a subset of PERMIT, PARKED, CLOSED
  owner,    \* what the owner does next
  late,     \* owner: its wait ended by deadline or signal handler
  seen,     \* owner: unparker -> the newest data it is guaranteed to see
  thread,   \* unparker or closer -> what it does next
  gave,     \* unparker -> what its last wp_parker_unpark returned; FALSE while it writes anew
  result,   \* owner: what its last park returned; "none" before the first, and during a park
  data,     \* unparker -> rounds whose data it has written
  carried,  \* unparker -> the newest data that an acquire of the word makes visible
  due,      \* ghost: unparker -> data of its last unpark that has had its effect
  credit,   \* ghost: permits given less permits taken
  stale     \* ghost: a park took the permit and missed data that was due
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
  /\ late \in BOOLEAN /\ stale \in BOOLEAN
  /\ thread \in [Threads -> {"write", "unpark", "wake", "close", "done"}]
  /\ gave \in [Unparkers -> BOOLEAN] /\ result \in {"none", "ok", "timeout", "closed"}
  /\ {seen, data, carried, due} \subseteq Versions
  /\ credit \in -1 .. 2

Init ==
  /\ word = {} /\ owner = "run" /\ late = FALSE /\ stale = FALSE /\ credit = 0
  /\ thread = [t \in Threads |-> IF t = "closer" THEN "close" ELSE "write"]
  /\ gave = [u \in Unparkers |-> FALSE] /\ result = "none"
  /\ seen = [u \in Unparkers |-> 0] /\ data = seen /\ carried = seen /\ due = seen

AllSeen == \A u \in Unparkers : seen[u] = Rounds
Max(a, b) == IF a > b THEN a ELSE b
Acquire == seen' = [u \in Unparkers |-> Max(seen[u], carried[u])]
Took ==                  \* a park returns with the permit
  /\ credit' = credit - 1
  /\ stale' = (stale \/ \E u \in Unparkers : due[u] > seen'[u])
Others == <<thread, gave, data, due>>

(* The owner parks until it has seen everything; it need not notice that a permit is an old one. *)
Begin ==                 \* the caller's loop: look at the data, then park; or peek: with no time
  /\ owner = "run" /\ owner' \in IF AllSeen THEN {"end"} ELSE {"try", "peek"}
  /\ result' = "none"
  /\ UNCHANGED <<word, late, seen, carried, credit, stale, Others>>
Take(otherwise) ==       \* [parker.1] park_once: take the permit; a close is told by [parker.3]
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
Try == owner = "try" /\ Take("arm")
Peek == owner = "peek" /\ Take("run")  \* [parker.1] deadline 0 or past: WP_TIMEOUT without a sleep
Arm ==                   \* [parker.2] compare-and-swap 0 to PARKED, or look again
  /\ owner = "arm"
  /\ IF word = {} THEN word' = {PARKED} /\ owner' = "wait" ELSE owner' = "try" /\ UNCHANGED word
  /\ UNCHANGED <<late, seen, result, carried, credit, stale, Others>>
Wait ==                  \* wp_futex_wait: the kernel compares the word as it queues the sleeper
  /\ owner = "wait"
  /\ owner' = IF word = {PARKED} THEN "asleep" ELSE "leave"
  /\ UNCHANGED <<word, late, seen, result, carried, credit, stale, Others>>
EndWait(isLate) ==       \* for no reason, or by deadline or signal handler
  /\ owner = "asleep" /\ owner' = "leave" /\ late' = isLate
  /\ UNCHANGED <<word, seen, result, carried, credit, stale, Others>>
Return(had) ==           \* the end of park_once, its local decisions
  /\ IF PERMIT \in had
     THEN Took /\ owner' = "run" /\ result' = "ok"
     ELSE /\ owner' = IF CLOSED \in had THEN "end" ELSE IF late THEN "run" ELSE "try"
          /\ result' = IF owner' = "end" THEN "closed"
                       ELSE IF owner' = "run" THEN "timeout" ELSE result
          /\ UNCHANGED <<credit, stale>>
  /\ late' = FALSE
Leave ==                 \* [parker.3] one fetch-and
  /\ owner = "leave"
  /\ Acquire
  /\ word' = word \ {PERMIT, PARKED}
  /\ Return(word)
  /\ UNCHANGED <<carried, Others>>

(* Unparkers and the closer. *)
Step(t, next) == thread' = [thread EXCEPT ![t] = next]
Rest(t) == IF t = "closer" \/ data[t] = Rounds THEN "done" ELSE "write"
OwnerOnly == <<late, seen, result, stale>>
Effect(u) == due' = [due EXCEPT ![u] = data[u]]
Give(had) == credit' = IF PERMIT \in had THEN credit ELSE credit + 1
Tell(u, had) ==          \* the result: this call gave the permit, and the parker is open
  gave' = [gave EXCEPT ![u] = PERMIT \notin had /\ CLOSED \notin had]
WakeNeeded(had) == PARKED \in had /\ PERMIT \notin had
Write(u) ==              \* the caller's data
  /\ thread[u] = "write" /\ Step(u, "unpark")
  /\ data' = [data EXCEPT ![u] = @ + 1]
  /\ gave' = [gave EXCEPT ![u] = FALSE]
  /\ UNCHANGED <<word, owner, carried, due, credit, OwnerOnly>>
Unpark(u) ==             \* [parker.4] wp_parker_unpark: fetch-or, also when the permit is there
  /\ thread[u] = "unpark"
  /\ word' = word \cup {PERMIT}
  /\ carried' = [carried EXCEPT ![u] = data[u]]
  /\ Effect(u)
  /\ Give(word)
  /\ Tell(u, word)
  /\ Step(u, IF WakeNeeded(word) THEN "wake" ELSE Rest(u))
  /\ UNCHANGED <<owner, data, OwnerOnly>>
Close ==                 \* [parker.5] wp_parker_close
  /\ MayClose /\ thread["closer"] = "close"
  /\ word' = word \cup {CLOSED}
  /\ Step("closer", IF PARKED \in word THEN "wake" ELSE "done")
  /\ UNCHANGED <<owner, gave, data, carried, due, credit, OwnerOnly>>
Wake(t) ==               \* wp_futex_wake: it may reach nobody, or a later sleep
  /\ thread[t] = "wake"
  /\ owner' = IF owner = "asleep" THEN "leave" ELSE owner
  /\ Step(t, Rest(t))
  /\ UNCHANGED <<word, gave, data, carried, due, credit, OwnerOnly>>

(* What must hold. *)
WakeComes == \E t \in Threads : thread[t] = "wake"
\* However many unparks, one permit; a park takes only what was given.
PermitAtMostOne == credit <= 1 /\ (PERMIT \in word => credit = 1)
\* A permit that was given is there until it is taken, and nobody sleeps beside it with no wake on
\* its way.
UnparkNotLost ==
  /\ credit = 1 => PERMIT \in word
  /\ owner = "asleep" /\ PERMIT \in word => WakeComes
\* Nobody sleeps on a closed parker.
CloseNotLost == owner = "asleep" /\ CLOSED \in word => WakeComes
\* A park that takes a permit sees what every unpark that gave or confirmed it wrote before.
HappensBefore == ~stale
\* A park returns because it took the permit, its time is over, a signal handler ran (`late`) or the
\* parker is closed, never because the system woke its thread for no reason.  A peek has no time
\* from the start.
NeverSpurious ==
  [][owner # "run" /\ owner' = "run" => credit' < credit \/ late \/ owner = "peek"]_vars
\* An unpark returns TRUE if it gave the permit and the parker is open, else FALSE.  A park returns
\* OK exactly if it took the permit, and CLOSED of a closed parker alone; else its time is over.
SaysTruth ==
  [][/\ \A u \in Unparkers : thread[u] = "unpark" /\ thread'[u] # "unpark" =>
          (gave'[u] <=> credit' > credit /\ CLOSED \notin word)
     /\ result = "none" /\ result' # "none" =>
          /\ result' = "ok" <=> credit' < credit
          /\ result' = "closed" => CLOSED \in word]_vars
\* A permit is taken, if the owner goes on parking.
PermitTaken == PERMIT \in word ~> PERMIT \notin word \/ owner = "end"
\* An owner that goes on parking is told of a close, also with deadlines in the past.
CloseTold == CLOSED \in word ~> owner = "end"

Finished ==              \* the intended end: all data seen, or closed
  /\ owner = "end" /\ \A t \in Threads : thread[t] = "done"
  /\ UNCHANGED vars

Owner == Begin \/ Try \/ Peek \/ Arm \/ Wait \/ Leave
Next ==
  \/ Owner \/ EndWait(TRUE) \/ EndWait(FALSE) \/ Close \/ Finished
  \/ \E u \in Unparkers : Write(u) \/ Unpark(u)
  \/ \E t \in Threads : Wake(t)
\* Nobody need unpark or close; but a wake that is owed is paid.
Fairness == WF_vars(Owner) /\ \A t \in Threads : WF_vars(Wake(t))
Spec == Init /\ [][Next]_vars /\ Fairness
=============================================================================
