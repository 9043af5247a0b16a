-------------------------------- MODULE GroupClose -------------------------------
(***************************************************************************)
(* Several threads close one group: one at a time; the others wait for     *)
(* their turn, or until their time is over.                                *)
(* Code       kernel/sched/group_close.c, which group.c calls,             *)
(*            carrier_tasks.c; what one close does to the tasks is         *)
(*            Group's.                                                     *)
(* Abstracts  the carriers to one, which runs what is listed and exits at  *)
(*            its stop.  A wait for a list, a join, a hand-back are one    *)
(*            step each; the turn is taken and left as the code does:      *)
(*            lock, sleep, signal, wake, unlock.                           *)
(*            A task that has a scheduler is run by that, on a thread of   *)
(*            its own, when it likes, or never; anybody unparks it.        *)
(* Any time   a deadline may pass, or a signal handler run, in any wait;   *)
(*            a sleep for the turn may end for nothing.                    *)
(* Memory     sequential consistency, which the lock earns.                *)
(* Promises   TurnIsPassedOn, WaitsForWhatRuns, WaitsForAll, OneConsumer,  *)
(*            SleepsForHeld (safety); Returns (liveness).                  *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Closers,     \* threads that close it, once each
  Cancellers,  \* those of them that wait for no task
  Patient,     \* those of them that wait without a deadline
  Tasks,       \* accepted before the first close
  Held         \* those of them that have a scheduler

ASSUME SomebodyCloses == Closers # {} /\ {Cancellers, Patient} \subseteq SUBSET Closers
ASSUME WaitsOrCancels == Cancellers \cap Patient = {}
ASSUME HeldAreTasks == Held \subseteq Tasks

VARIABLES
  at,          \* closer -> what it does next
  says,        \* closer -> what its close returns: "closed", "again"; "" before it is known
  isClosing,   \* closing->is_inside: one is
  isStopping,  \* closing->is_stopping: the stops are sent
  isClosed,    \* closing->is_closed
  listed,      \* tasks that have not ended
  carrier,     \* "polls", "runs" a task that is listed, "exited"
  given        \* of Held: its scheduler has it, queued or run; else it is parked, or has ended
vars == <<at, says, isClosing, isStopping, isClosed, listed, carrier, given>>

InLine == {"misses", "dozes", "waits"}
Locking == {"misses", "enters", "away", "signals", "wakes", "gone"}
Draining == {"drain", "asleep", "last"}
TypeOK ==
  /\ at \in [Closers -> {"idle", "woken", "late", "in", "lists", "stop", "join", "leaves", "returns", "out"}
                        \cup InLine \cup Locking \cup Draining]
  /\ says \in [Closers -> {"", "closed", "again"}]
  /\ {isClosing, isStopping, isClosed} \subseteq BOOLEAN
  /\ listed \subseteq Tasks /\ carrier \in {"polls", "runs", "exited"}
  /\ given \subseteq Held \cap listed
  /\ \A k, o \in Closers : {at[k], at[o]} \subseteq Locking => k = o

Init ==
  /\ at = [k \in Closers |-> "idle"] /\ says = [k \in Closers |-> ""]
  /\ isClosing = FALSE /\ isStopping = FALSE /\ isClosed = FALSE
  /\ listed = Tasks /\ carrier = "polls" /\ given = Held

Goto(k, where) == at' = [at EXCEPT ![k] = where]
Say(k, what) == says' = [says EXCEPT ![k] = what]
Leave(k, what) == Goto(k, "leaves") /\ Say(k, what)
IsFree == \A k \in Closers : at[k] \notin Locking    \* closing->lock
Tasked == <<isStopping, isClosed, listed, carrier, given>>

(* The turn of a close. *)
Enter(k) ==                   \* enter: locks, at first or when woken; another may be quicker
  /\ at[k] \in {"idle", "woken"}
  /\ IsFree
  /\ IF isClosing
     THEN /\ Goto(k, "misses")
          /\ UNCHANGED isClosing
     ELSE /\ Goto(k, "enters")
          /\ isClosing' = TRUE
  /\ UNCHANGED <<says, Tasked>>
Sleep(k) ==                   \* not if a signal came since the lock was given back: it is woken then
  /\ at[k] = "dozes" /\ Goto(k, "waits")
  /\ UNCHANGED <<says, isClosing, Tasked>>
Stray(k) ==
  /\ at[k] = "waits" /\ Goto(k, "woken")
  /\ UNCHANGED <<says, isClosing, Tasked>>
GiveUp(k) ==                  \* its time is over; but a wake that came first counts
  /\ at[k] = "waits"
  /\ Goto(k, "late")
  /\ UNCHANGED <<says, isClosing, Tasked>>
GoAway(k) ==                  \* locks, and does not look
  /\ at[k] = "late" /\ IsFree
  /\ Goto(k, "away") /\ Say(k, "again")
  /\ UNCHANGED <<isClosing, Tasked>>
LetGo(k) ==                   \* leave: locks
  /\ at[k] = "leaves"
  /\ IsFree
  /\ isClosing' = FALSE
  /\ Goto(k, "signals")
  /\ UNCHANGED <<says, Tasked>>
Signal(k) ==                  \* counted: who is about to sleep will not
  /\ at[k] = "signals"
  /\ at' = [o \in Closers |-> IF o = k THEN "wakes" ELSE IF at[o] = "dozes" THEN "woken" ELSE at[o]]
  /\ UNCHANGED <<says, isClosing, Tasked>>
Wake(k) ==                    \* one of those that sleep
  /\ at[k] = "wakes"
  /\ LET others == {o \in Closers : at[o] = "waits"} IN
     IF others = {} THEN Goto(k, "gone")
     ELSE \E o \in others : at' = [at EXCEPT ![k] = "gone", ![o] = "woken"]
  /\ UNCHANGED <<says, isClosing, Tasked>>
AfterLock(k) ==
  CASE at[k] = "misses" -> "dozes"
    [] at[k] = "enters" -> "in"
    [] OTHER -> "returns"
Unlock(k) ==
  /\ at[k] \in {"misses", "enters", "away", "gone"}
  /\ Goto(k, AfterLock(k))
  /\ UNCHANGED <<says, isClosing, Tasked>>
Return(k) ==
  /\ at[k] = "returns" /\ Goto(k, "out")
  /\ UNCHANGED <<says, isClosing, Tasked>>

(* A close, when it is its turn. *)
Begin(k) ==                   \* close_once; tasks that a stop leaves behind will not end
  /\ at[k] = "in"
  /\ IF isClosed
     THEN Leave(k, "closed")
     ELSE /\ Goto(k, IF k \in Cancellers \/ isStopping THEN "stop" ELSE "lists")
          /\ UNCHANGED says
  /\ UNCHANGED <<isClosing, Tasked>>
AllEnded(k) ==                \* wait_all: nothing is listed any more
  /\ at[k] = "lists" /\ listed = {}
  /\ Goto(k, "stop")
  /\ UNCHANGED <<says, isClosing, Tasked>>
TimeIsOver(k) ==              \* wait_all: the deadline has passed, and tasks are left
  /\ at[k] = "lists"
  /\ k \notin Patient
  /\ Goto(k, "stop")
  /\ UNCHANGED <<says, isClosing, Tasked>>
Interrupted(k) ==             \* wait_all: a signal handler ran
  /\ at[k] = "lists" /\ listed # {}
  /\ Leave(k, "again")
  /\ UNCHANGED <<isClosing, Tasked>>
SendStops(k) ==
  /\ at[k] = "stop"
  /\ isStopping' = TRUE
  /\ Goto(k, "join")
  /\ UNCHANGED <<says, isClosing, isClosed, listed, carrier, given>>
Join(k) ==                    \* wp__workers_join: the exits; or time is over, or interrupted
  /\ at[k] = "join"
  /\ IF carrier = "exited"
     THEN /\ Goto(k, "drain")
          /\ UNCHANGED says
     ELSE Leave(k, "again")
  /\ UNCHANGED <<isClosing, Tasked>>
HandBack(k) ==                \* take_back: all of it, and out; a scheduler has some: it sleeps, once
  /\ at[k] \in {"drain", "last"}
  /\ listed' = given
  /\ isClosed' = (given = {})
  /\ IF given # {} /\ at[k] = "drain"
     THEN /\ Goto(k, "asleep")
          /\ UNCHANGED says
     ELSE /\ Say(k, IF given = {} THEN "closed" ELSE "again")
          /\ Goto(k, "leaves")
  /\ UNCHANGED <<isClosing, isStopping, carrier, given>>
Enough(k) ==                  \* its time is over, or a signal handler ran: it looks once more
  /\ at[k] = "asleep"
  /\ Goto(k, "last")
  /\ UNCHANGED <<says, isClosing, Tasked>>

(* The carrier; a step of a task may take for ever. *)
Run ==
  /\ carrier = "polls" /\ listed \ Held # {}
  /\ carrier' = "runs"
  /\ UNCHANGED <<at, says, isClosing, isStopping, isClosed, listed, given>>
End ==
  /\ carrier = "runs"
  /\ \E t \in listed \ Held : listed' = listed \ {t}
  /\ carrier' = "polls"
  /\ UNCHANGED <<at, says, isClosing, isStopping, isClosed, given>>
Exit ==
  /\ carrier = "polls" /\ isStopping
  /\ carrier' = "exited"
  /\ UNCHANGED <<at, says, isClosing, isStopping, isClosed, listed, given>>

(* A scheduler has a task run: it ends, or parks; under the lock of its list, so a close that sleeps
   sees it. *)
SleepersWoken == [k \in Closers |-> IF at[k] = "asleep" THEN "drain" ELSE at[k]]
EndGiven(t) ==
  /\ t \in given
  /\ listed' = listed \ {t}
  /\ given' = given \ {t}
  /\ at' = IF listed' = {} THEN SleepersWoken ELSE at
  /\ UNCHANGED <<says, isClosing, isStopping, isClosed, carrier>>
ParkGiven(t) ==
  /\ t \in given
  /\ given' = given \ {t}
  /\ at' = SleepersWoken
  /\ UNCHANGED <<says, isClosing, isStopping, isClosed, listed, carrier>>
Give(t) ==                    \* unparked, while it is listed
  /\ t \in (Held \cap listed) \ given
  /\ given' = given \cup {t}
  /\ UNCHANGED <<at, says, isClosing, isStopping, isClosed, listed, carrier>>

Closer(k) ==
  \/ Enter(k) \/ Sleep(k) \/ GiveUp(k) \/ GoAway(k) \/ LetGo(k) \/ Signal(k) \/ Wake(k) \/ Unlock(k)
  \/ Begin(k) \/ AllEnded(k) \/ TimeIsOver(k) \/ Interrupted(k) \/ SendStops(k) \/ Join(k)
  \/ HandBack(k) \/ Enough(k) \/ Return(k)
Finished == (\A k \in Closers : at[k] = "out") /\ UNCHANGED vars
Scheduler(t) == EndGiven(t) \/ ParkGiven(t) \/ Give(t)
Next ==
  \/ (\E k \in Closers : Closer(k) \/ Stray(k)) \/ Run \/ End \/ Exit \/ Finished
  \/ \E t \in Held : Scheduler(t)
Spec == Init /\ [][Next]_vars
\* Its time passes, and is then over for good; it has the lock at last if that is free again and
\* again; nobody else need ever move.
FairSpec ==
  Spec /\ \A k \in Closers : SF_vars(Closer(k)) /\ SF_vars(GiveUp(k)) /\ SF_vars(Enough(k))

(* What must hold. *)
\* Who waits for its turn will be woken: somebody is inside, on its way in, or about to wake one.
TurnIsPassedOn ==
  (\E k \in Closers : at[k] \in InLine) =>
    isClosing \/ \E k \in Closers : at[k] \in {"woken", "signals", "wakes"}
\* Who waits for tasks waits for what still runs: no stop is sent meanwhile, nor was one before.
WaitsForWhatRuns == (\E k \in Closers : at[k] = "lists") => ~isStopping
\* A close that neither cancels nor has a deadline sends no stop while a task is listed.
WaitsForAll == [][\A k \in Patient : at[k] = "lists" /\ at'[k] = "stop" => listed = {}]_vars
\* Who hands tasks back is the only consumer of the queues: one close at a time, when no carrier
\* runs.
OneConsumer ==
  \A k \in Closers : at[k] \in Draining =>
    carrier = "exited" /\ \A other \in Closers \ {k} : at[other] \notin Draining
\* A close that sleeps as it hands back has nothing to hand back: a scheduler has what is left.
SleepsForHeld == \A k \in Closers : at[k] = "asleep" => listed = given /\ listed # {}
\* A close returns when its time is over, whatever a scheduler holds, and for however long.
Returns == \A k \in Closers \ Patient : <>(at[k] = "out")
=============================================================================
