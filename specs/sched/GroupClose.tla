-------------------------------- MODULE GroupClose -------------------------------
(***************************************************************************)
(* Several threads close one group. One close at a time is inside. The     *)
(* other closers wait for their turn, or until their deadlines have        *)
(* passed.                                                                 *)
(*                                                                         *)
(* Code       kernel/sched/group_close.c, which group.c calls, and         *)
(*            carrier_tasks.c. Group has what one close does to the tasks. *)
(* Abstracts  the carriers to one, which runs the listed tasks and exits   *)
(*            at its stop. A wait for a list, a join and a hand-back are   *)
(*            one step each. The turn is taken and left in the steps of    *)
(*            the code: lock, sleep, signal, wake, unlock. A task that has *)
(*            a scheduler of its own is run by this scheduler on a thread  *)
(*            of its own, at any time or never, and any thread may unpark  *)
(*            it.                                                          *)
(* Any time   In any wait a deadline may pass or a signal handler may run. *)
(*            A sleep until the turn may end by a spurious wakeup.         *)
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
  Held         \* tasks that have a scheduler of their own

ASSUME SomebodyCloses == Closers # {} /\ {Cancellers, Patient} \subseteq SUBSET Closers
ASSUME WaitsOrCancels == Cancellers \cap Patient = {}
ASSUME HeldAreTasks == Held \subseteq Tasks

VARIABLES
  at,          \* closer -> its next step
  says,        \* closer -> what its close returns: "closed", "again"; "" before it is known
  isClosing,   \* closing->is_inside: a close is inside
  isStopping,  \* closing->is_stopping: the carriers have been sent their stops
  isClosed,    \* closing->is_closed
  listed,      \* tasks that have not ended
  carrier,     \* the carrier: it "polls", it "runs" a listed task, or it has "exited"
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

\* No closer holds closing->lock.
IsFree == \A k \in Closers : at[k] \notin Locking
Tasked == <<isStopping, isClosed, listed, carrier, given>>

(* The turn of a close. *)

\* The closer takes the lock, at first and each time it was woken. It enters if no close is inside.
\* Another closer may be quicker.
Enter(k) ==
  /\ at[k] \in {"idle", "woken"}
  /\ IsFree
  /\ IF isClosing
     THEN /\ Goto(k, "misses")
          /\ UNCHANGED isClosing
     ELSE /\ Goto(k, "enters")
          /\ isClosing' = TRUE
  /\ UNCHANGED <<says, Tasked>>

\* The closer goes to sleep. If a signal has come since the closer gave the lock back, it does not
\* sleep.
Sleep(k) ==
  /\ at[k] = "dozes"
  /\ Goto(k, "waits")
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* A spurious wakeup ends the closer's sleep.
Stray(k) ==
  /\ at[k] = "waits"
  /\ Goto(k, "woken")
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* The closer's deadline passes while it sleeps. This cannot happen to a closer that was woken
\* before.
GiveUp(k) ==
  /\ at[k] = "waits"
  /\ Goto(k, "late")
  /\ UNCHANGED <<says, isClosing, Tasked>>

\* The late closer takes the lock and gives up, without checking whether it could enter.
GoAway(k) ==
  /\ at[k] = "late"
  /\ IsFree
  /\ Goto(k, "away")
  /\ Say(k, "again")
  /\ UNCHANGED <<isClosing, Tasked>>

\* The closer that is inside takes the lock and leaves.
LetGo(k) ==
  /\ at[k] = "leaves"
  /\ IsFree
  /\ isClosing' = FALSE
  /\ Goto(k, "signals")
  /\ UNCHANGED <<says, Tasked>>

\* The closer that leaves counts a signal, so a closer that is about to sleep will not sleep.
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

\* The step of a closer after it has given the lock back.
AfterLock(k) ==
  CASE at[k] = "misses" -> "dozes"
    [] at[k] = "enters" -> "in"
    [] OTHER -> "returns"

\* The closer gives the lock back.
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

\* close_once begins. Tasks that are left after a stop will not end, so a close that follows a stop
\* does not wait for them.
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

\* wp__workers_join: the close waits until the carrier has exited, or until its deadline passes or a
\* signal handler interrupts it.
Join(k) ==
  /\ at[k] = "join"
  /\ IF carrier = "exited"
     THEN /\ Goto(k, "drain")
          /\ UNCHANGED says
     ELSE Leave(k, "again")
  /\ UNCHANGED <<isClosing, Tasked>>

\* take_back: the close hands back all tasks that no scheduler has, and leaves. If schedulers have
\* some tasks, the close first sleeps once.
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

\* The deadline of the sleeping closer passes, or a signal handler runs, and the closer checks once
\* more.
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

(* A task that its scheduler runs takes the lock of its list when it ends or parks, so a close that
   sleeps learns of that. *)

\* The closers that sleep during a hand-back wake up and check again.
SleepersWoken == [k \in Closers |-> IF at[k] = "asleep" THEN "drain" ELSE at[k]]

\* A task that its scheduler has ends.
EndGiven(t) ==
  /\ t \in given
  /\ listed' = listed \ {t}
  /\ given' = given \ {t}
  /\ at' = IF listed' = {} THEN SleepersWoken ELSE at
  /\ UNCHANGED <<says, isClosing, isStopping, isClosed, carrier>>

\* A task that its scheduler has parks.
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

\* The deadline of each impatient closer passes, once and for all. A closer gets the lock
\* eventually, if the lock is free again and again. No other thread has to take a step.
FairSpec ==
  Spec /\ \A k \in Closers : SF_vars(Closer(k)) /\ SF_vars(GiveUp(k)) /\ SF_vars(Enough(k))

(* What must hold. *)

\* A closer that waits for its turn will be woken: another closer is inside, is on its way in, or is
\* about to wake one.
TurnIsPassedOn ==
  (\E k \in Closers : at[k] \in InLine) =>
    isClosing \/ \E k \in Closers : at[k] \in {"woken", "signals", "wakes"}

\* While a closer waits for tasks, these tasks still run: no stop has been sent.
WaitsForWhatRuns == (\E k \in Closers : at[k] = "lists") => ~isStopping
\* A close that has no deadline and does not cancel sends no stop while a task is listed.
WaitsForAll == [][\A k \in Patient : at[k] = "lists" /\ at'[k] = "stop" => listed = {}]_vars

\* The close that hands tasks back is the only consumer of the queues: there is only one such close
\* at a time, and no carrier runs.
OneConsumer ==
  \A k \in Closers : at[k] \in Draining =>
    carrier = "exited" /\ \A other \in Closers \ {k} : at[other] \notin Draining

\* A close that sleeps during a hand-back has nothing to hand back: the schedulers have all the
\* tasks that are left.
SleepsForHeld == \A k \in Closers : at[k] = "asleep" => listed = given /\ listed # {}

\* A close returns once its deadline has passed, whatever a scheduler has and for however long.
Returns == \A k \in Closers \ Patient : <>(at[k] = "out")
=============================================================================
