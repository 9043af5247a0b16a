-------------------------------- MODULE GroupClose -------------------------------
(***************************************************************************)
(* Several threads close one group. One close at a time is inside; the     *)
(* others wait for their turn, or until their time is over.                *)
(* Code       kernel/sched/group_close.c, which group.c calls, and         *)
(*            carrier_tasks.c. Group has what one close does to the tasks. *)
(* Abstracts  the carriers to one, which runs what is listed and exits at  *)
(*            its stop. A wait for a list, a join and a hand-back are one  *)
(*            step each; the turn is taken and left as the code does it:   *)
(*            lock, sleep, signal, wake, unlock. A task that has a         *)
(*            scheduler is run by the scheduler on a thread of its own, at *)
(*            any time or never; any thread may unpark it.                 *)
(* Any time   A deadline may pass, or a signal handler run, in any wait; a *)
(*            sleep for the turn may end in a spurious wakeup.             *)
(* Memory     sequential consistency, which the lock earns.                *)
(* Promises   TurnIsPassedOn, WaitsForWhatRuns, WaitsForAll, OneConsumer,  *)
(*            SleepsForHeld (safety); Returns (liveness).                  *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Closers,     \* threads that close the group, once each
  Cancellers,  \* closers that wait for no task
  Patient,     \* closers that wait without a deadline
  Tasks,       \* tasks accepted before the first close
  Held         \* tasks that have a scheduler

ASSUME SomebodyCloses == Closers # {} /\ {Cancellers, Patient} \subseteq SUBSET Closers
ASSUME WaitsOrCancels == Cancellers \cap Patient = {}
ASSUME HeldAreTasks == Held \subseteq Tasks

VARIABLES
  at,          \* closer -> its next step
  says,        \* closer -> what its close returns: "closed", "again"; "" before it is known
  isClosing,   \* closing->is_inside: a close is inside
  isStopping,  \* closing->is_stopping: the stops are sent
  isClosed,    \* closing->is_closed
  listed,      \* tasks that have not ended
  carrier,     \* "polls", "runs" a task that is listed, or "exited"
  given        \* the tasks of Held that their schedulers have, queued or running; the other tasks
               \* of Held are parked or have ended

vars == <<at, says, isClosing, isStopping, isClosed, listed, carrier, given>>

InLine == {"misses", "dozes", "waits"}
Locking == {"misses", "enters", "away", "signals", "wakes", "gone"}
Draining == {"drain", "asleep", "last"}
TypeOK ==
  /\ at \in [Closers -> {"idle", "woken", "late", "in", "lists", "stop", "join", "leaves", "returns", "out"}
                        \cup InLine \cup Locking \cup Draining]
  /\ says \in [Closers -> {"", "closed", "again"}]
  /\ {isClosing, isStopping, isClosed} \subseteq BOOLEAN
  /\ listed \subseteq Tasks
  /\ carrier \in {"polls", "runs", "exited"}
  /\ given \subseteq Held \cap listed
  /\ \A k, o \in Closers : {at[k], at[o]} \subseteq Locking => k = o

Init ==
  /\ at = [k \in Closers |-> "idle"]
  /\ says = [k \in Closers |-> ""]
  /\ isClosing = FALSE
  /\ isStopping = FALSE
  /\ isClosed = FALSE
  /\ listed = Tasks
  /\ carrier = "polls"
  /\ given = Held

Goto(k, where) == at' = [at EXCEPT ![k] = where]
Say(k, what) == says' = [says EXCEPT ![k] = what]
Leave(k, what) == Goto(k, "leaves") /\ Say(k, what)

\* Nobody holds closing->lock.
IsFree == \A k \in Closers : at[k] \notin Locking
Tasked == <<isStopping, isClosed, listed, carrier, given>>

(* The turn of a close. *)

\* The closer locks, at first or when it was woken. Another closer may be quicker.
Enter(k) ==
  /\ at[k] \in {"idle", "woken"}
  /\ IsFree
  /\ IF isClosing
     THEN /\ Goto(k, "misses")
          /\ UNCHANGED isClosing
     ELSE /\ Goto(k, "enters")
          /\ isClosing' = TRUE
  /\ UNCHANGED <<says, Tasked>>

\* The closer goes to sleep, unless a signal came since it gave the lock back: then it is woken at
\* once.
Sleep(k) ==
  /\ at[k] = "dozes"
  /\ Goto(k, "waits")
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* A spurious wakeup.
Stray(k) ==
  /\ at[k] = "waits"
  /\ Goto(k, "woken")
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* The closer's time is over; a wake that came first counts.
GiveUp(k) ==
  /\ at[k] = "waits"
  /\ Goto(k, "late")
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* The late closer locks, and does not look whether it could enter.
GoAway(k) ==
  /\ at[k] = "late"
  /\ IsFree
  /\ Goto(k, "away")
  /\ Say(k, "again")
  /\ UNCHANGED <<isClosing, Tasked>>

\* The closer that is inside locks, and leaves.
LetGo(k) ==
  /\ at[k] = "leaves"
  /\ IsFree
  /\ isClosing' = FALSE
  /\ Goto(k, "signals")
  /\ UNCHANGED <<says, Tasked>>

\* The signal is counted, so a closer that is about to sleep will not.
Signal(k) ==
  /\ at[k] = "signals"
  /\ at' = [o \in Closers |-> IF o = k THEN "wakes" ELSE IF at[o] = "dozes" THEN "woken" ELSE at[o]]
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* One of the sleeping closers is woken.
Wake(k) ==
  /\ at[k] = "wakes"
  /\ LET others == {o \in Closers : at[o] = "waits"} IN
     IF others = {} THEN Goto(k, "gone")
     ELSE \E o \in others : at' = [at EXCEPT ![k] = "gone", ![o] = "woken"]
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* Where a closer goes after it has unlocked.
AfterLock(k) ==
  CASE at[k] = "misses" -> "dozes"
    [] at[k] = "enters" -> "in"
    [] OTHER -> "returns"

\* The closer unlocks.
Unlock(k) ==
  /\ at[k] \in {"misses", "enters", "away", "gone"}
  /\ Goto(k, AfterLock(k))
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* The close returns.
Return(k) ==
  /\ at[k] = "returns"
  /\ Goto(k, "out")
  /\ UNCHANGED <<says, isClosing, Tasked>>

(* A close that has its turn. *)

\* close_once: tasks that a stop leaves behind will not end, so a close after a stop does not wait
\* for them.
Begin(k) ==
  /\ at[k] = "in"
  /\ IF isClosed
     THEN Leave(k, "closed")
     ELSE /\ Goto(k, IF k \in Cancellers \/ isStopping THEN "stop" ELSE "lists")
          /\ UNCHANGED says
  /\ UNCHANGED <<isClosing, Tasked>>

\* wait_all: no task is listed any more.
AllEnded(k) ==
  /\ at[k] = "lists"
  /\ listed = {}
  /\ Goto(k, "stop")
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* wait_all: the deadline has passed although tasks are left.
TimeIsOver(k) ==
  /\ at[k] = "lists"
  /\ k \notin Patient
  /\ Goto(k, "stop")
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* wait_all: a signal handler ran.
Interrupted(k) ==
  /\ at[k] = "lists"
  /\ listed # {}
  /\ Leave(k, "again")
  /\ UNCHANGED <<isClosing, Tasked>>

\* The close sends every carrier its stop.
SendStops(k) ==
  /\ at[k] = "stop"
  /\ isStopping' = TRUE
  /\ Goto(k, "join")
  /\ UNCHANGED <<says, isClosing, isClosed, listed, carrier, given>>

\* wp__workers_join: the close waits for the carrier's exit, or until its time is over or it is
\* interrupted.
Join(k) ==
  /\ at[k] = "join"
  /\ IF carrier = "exited"
     THEN /\ Goto(k, "drain")
          /\ UNCHANGED says
     ELSE Leave(k, "again")
  /\ UNCHANGED <<isClosing, Tasked>>

\* take_back: the close hands back all tasks and leaves. If a scheduler has some of them, the close
\* sleeps once.
HandBack(k) ==
  /\ at[k] \in {"drain", "last"}
  /\ listed' = given
  /\ isClosed' = (given = {})
  /\ IF given # {} /\ at[k] = "drain"
     THEN /\ Goto(k, "asleep")
          /\ UNCHANGED says
     ELSE /\ Say(k, IF given = {} THEN "closed" ELSE "again")
          /\ Goto(k, "leaves")
  /\ UNCHANGED <<isClosing, isStopping, carrier, given>>

\* The sleeping closer's time is over, or a signal handler ran: it looks once more.
Enough(k) ==
  /\ at[k] = "asleep"
  /\ Goto(k, "last")
  /\ UNCHANGED <<says, isClosing, Tasked>>

(* The carrier. A step of a task may take for ever. *)

\* The carrier begins a step of a listed task.
Run ==
  /\ carrier = "polls"
  /\ listed \ Held # {}
  /\ carrier' = "runs"
  /\ UNCHANGED <<at, says, isClosing, isStopping, isClosed, listed, given>>

\* The step ends, and the task with it.
End ==
  /\ carrier = "runs"
  /\ \E t \in listed \ Held : listed' = listed \ {t}
  /\ carrier' = "polls"
  /\ UNCHANGED <<at, says, isClosing, isStopping, isClosed, given>>

\* The carrier reads its stop and exits.
Exit ==
  /\ carrier = "polls"
  /\ isStopping
  /\ carrier' = "exited"
  /\ UNCHANGED <<at, says, isClosing, isStopping, isClosed, listed, given>>

(* A task that its scheduler runs ends or parks under the lock of its list, so a close that sleeps
   sees it. *)

\* The closers that sleep in a hand-back look again.
SleepersWoken == [k \in Closers |-> IF at[k] = "asleep" THEN "drain" ELSE at[k]]

\* A task that its scheduler runs ends.
EndGiven(t) ==
  /\ t \in given
  /\ listed' = listed \ {t}
  /\ given' = given \ {t}
  /\ at' = IF listed' = {} THEN SleepersWoken ELSE at
  /\ UNCHANGED <<says, isClosing, isStopping, isClosed, carrier>>

\* A task that its scheduler runs parks.
ParkGiven(t) ==
  /\ t \in given
  /\ given' = given \ {t}
  /\ at' = SleepersWoken
  /\ UNCHANGED <<says, isClosing, isStopping, isClosed, listed, carrier>>

\* A listed task is unparked, and its scheduler gets it.
Give(t) ==
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

\* The time of a closer passes, and is then over for good. A closer has the lock at last if the lock
\* is free again and again. No other thread need ever move.
FairSpec ==
  Spec /\ \A k \in Closers : SF_vars(Closer(k)) /\ SF_vars(GiveUp(k)) /\ SF_vars(Enough(k))

(* What must hold. *)

\* A closer that waits for its turn will be woken: another closer is inside, on its way in, or about
\* to wake one.
TurnIsPassedOn ==
  (\E k \in Closers : at[k] \in InLine) =>
    isClosing \/ \E k \in Closers : at[k] \in {"woken", "signals", "wakes"}

\* A closer that waits for tasks waits for tasks that still run: no stop is sent meanwhile, nor was
\* one before.
WaitsForWhatRuns == (\E k \in Closers : at[k] = "lists") => ~isStopping
\* A close that neither cancels nor has a deadline sends no stop while a task is listed.
WaitsForAll == [][\A k \in Patient : at[k] = "lists" /\ at'[k] = "stop" => listed = {}]_vars

\* The close that hands tasks back is the only consumer of the queues: one close at a time, when no
\* carrier runs.
OneConsumer ==
  \A k \in Closers : at[k] \in Draining =>
    carrier = "exited" /\ \A other \in Closers \ {k} : at[other] \notin Draining

\* A close that sleeps as it hands back has nothing to hand back: schedulers have all the tasks that
\* are left.
SleepsForHeld == \A k \in Closers : at[k] = "asleep" => listed = given /\ listed # {}

\* A close returns when its time is over, whatever a scheduler holds and for however long.
Returns == \A k \in Closers \ Patient : <>(at[k] = "out")
=============================================================================
