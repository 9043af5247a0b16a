-------------------------------- MODULE Close -------------------------------
(***************************************************************************)
(* Several threads close one group: one at a time; the others wait for     *)
(* their turn, or until their time is over.                                *)
(* Code       kernel/closing.c, which group.c calls; what one close does   *)
(*            to the tasks is Group's.                                     *)
(* Abstracts  the carriers to one, which runs what is listed and exits at  *)
(*            its stop.  `isClosing` and the wait for it are under a lock: *)
(*            one step each; leaving wakes one who waits.                  *)
(*            A task that has a scheduler is run by that, on a thread of   *)
(*            its own, when it likes, or never; anybody unparks it.        *)
(* Any time   a deadline may pass, or a signal handler run, in any wait.   *)
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
  Held,        \* those of them that have a scheduler
  Twin         \* "none", or the one defect of this model

ASSUME SomebodyCloses == Closers # {} /\ {Cancellers, Patient} \subseteq SUBSET Closers
ASSUME WaitsOrCancels == Cancellers \cap Patient = {}
ASSUME HeldAreTasks == Held \subseteq Tasks

VARIABLES
  at,          \* closer -> what it does next
  isClosing,   \* closing->is_inside: one is
  isStopping,  \* closing->is_stopping: the stops are sent
  isClosed,    \* closing->is_closed
  listed,      \* tasks that have not ended
  carrier,     \* "polls", "runs" a task that is listed, "exited"
  given        \* of Held: its scheduler has it, queued or run; else it is parked, or has ended
vars == <<at, isClosing, isStopping, isClosed, listed, carrier, given>>

Returned == {"closed", "again"}
TypeOK ==
  /\ at \in [Closers -> {"idle", "waits", "woken", "in", "lists", "stop", "join", "drain", "asleep"}
                        \cup Returned]
  /\ {isClosing, isStopping, isClosed} \subseteq BOOLEAN
  /\ listed \subseteq Tasks /\ carrier \in {"polls", "runs", "exited"}
  /\ given \subseteq Held \cap listed

Init ==
  /\ at = [k \in Closers |-> "idle"]
  /\ isClosing = FALSE /\ isStopping = FALSE /\ isClosed = FALSE
  /\ listed = Tasks /\ carrier = "polls" /\ given = Held

Goto(k, where) == at' = [at EXCEPT ![k] = where] /\ UNCHANGED isClosing
Leave(k, how) ==              \* leave
  LET others == {o \in Closers : at[o] = "waits"} IN
  /\ isClosing' = FALSE
  /\ IF others = {} \/ Twin = "leaves_silent" THEN at' = [at EXCEPT ![k] = how]
     ELSE \E o \in others : at' = [at EXCEPT ![k] = how, ![o] = "woken"]
Rest == UNCHANGED <<isStopping, isClosed, listed, carrier, given>>

(* A close. *)
Passes(k) == Twin = "cancel_unasked" /\ k \in Cancellers
Enter(k) ==                   \* enter: at once, or when woken; another may be quicker
  /\ at[k] \in {"idle", "woken"}
  /\ IF isClosing /\ ~Passes(k) THEN Goto(k, "waits")
     ELSE at' = [at EXCEPT ![k] = "in"] /\ isClosing' = TRUE
  /\ Rest
GiveUp(k) ==                  \* its time is over; but a wake that came first counts
  /\ at[k] = "waits" \/ (at[k] = "woken" /\ Twin = "woken_gives_up")
  /\ Goto(k, "again")
  /\ Rest
Begin(k) ==                   \* close_once; tasks that a stop leaves behind will not end
  /\ at[k] = "in"
  /\ IF isClosed THEN Leave(k, "closed")
     ELSE IF k \in Cancellers \/ (isStopping /\ Twin # "stops_forgotten") THEN Goto(k, "stop")
     ELSE Goto(k, "lists")
  /\ Rest
AllEnded(k) ==                \* wait_all: nothing is listed any more
  /\ at[k] = "lists" /\ listed = {}
  /\ Goto(k, "stop")
  /\ Rest
TimeIsOver(k) ==              \* wait_all: the deadline has passed, and tasks are left
  /\ at[k] = "lists" /\ (k \notin Patient \/ Twin = "gives_up_early")
  /\ Goto(k, "stop")
  /\ Rest
Interrupted(k) ==             \* wait_all: a signal handler ran
  /\ at[k] = "lists" /\ listed # {}
  /\ Leave(k, "again")
  /\ Rest
SendStops(k) ==
  /\ at[k] = "stop"
  /\ isStopping' = TRUE
  /\ Goto(k, "join")
  /\ UNCHANGED <<isClosed, listed, carrier, given>>
Join(k) ==                    \* wp__workers_join: the exits; or time is over, or interrupted
  /\ at[k] = "join"
  /\ IF carrier # "exited" THEN Leave(k, "again")
     ELSE IF Twin = "drains_outside" THEN Leave(k, "drain") ELSE Goto(k, "drain")
  /\ Rest
HandBack(k) ==                \* take_all_back, hand_back, and out; a scheduler has some: it sleeps
  /\ at[k] = "drain"
  /\ given = {} \/ Twin # "waits_for_ever"
  /\ listed' = given /\ isClosed' = (given = {})
  /\ IF given = {} THEN Leave(k, "closed") ELSE Goto(k, "asleep")
  /\ UNCHANGED <<isStopping, carrier, given>>
Enough(k) ==                  \* its time is over, or a signal handler ran: others are in line
  /\ at[k] = "asleep"
  /\ Leave(k, "again")
  /\ Rest

(* The carrier; a step of a task may take for ever. *)
Run ==
  /\ carrier = "polls" /\ listed \ Held # {}
  /\ carrier' = "runs"
  /\ UNCHANGED <<at, isClosing, isStopping, isClosed, listed, given>>
End ==
  /\ carrier = "runs"
  /\ \E t \in listed \ Held : listed' = listed \ {t}
  /\ carrier' = "polls"
  /\ UNCHANGED <<at, isClosing, isStopping, isClosed, given>>
Exit ==
  /\ carrier = "polls" /\ isStopping
  /\ carrier' = "exited"
  /\ UNCHANGED <<at, isClosing, isStopping, isClosed, listed, given>>

(* A scheduler has a task run: it ends, or parks; under the lock of its list, so a close that sleeps
   sees it. *)
IsWoken(silent) == [k \in Closers |-> IF at[k] = "asleep" /\ ~silent THEN "drain" ELSE at[k]]
EndGiven(t) ==
  /\ t \in given
  /\ listed' = listed \ {t} /\ given' = given \ {t}
  /\ at' = IsWoken(listed' # {})
  /\ UNCHANGED <<isClosing, isStopping, isClosed, carrier>>
ParkGiven(t) ==
  /\ t \in given
  /\ given' = given \ {t}
  /\ at' = IsWoken(Twin = "parks_silently")
  /\ UNCHANGED <<isClosing, isStopping, isClosed, listed, carrier>>
Give(t) ==                    \* unparked, while it is listed
  /\ t \in (Held \cap listed) \ given
  /\ given' = given \cup {t}
  /\ UNCHANGED <<at, isClosing, isStopping, isClosed, listed, carrier>>

Closer(k) ==
  \/ Enter(k) \/ GiveUp(k) \/ Begin(k) \/ AllEnded(k) \/ TimeIsOver(k)
  \/ Interrupted(k) \/ SendStops(k) \/ Join(k) \/ HandBack(k) \/ Enough(k)
Finished == (\A k \in Closers : at[k] \in Returned) /\ UNCHANGED vars
Scheduler(t) == EndGiven(t) \/ ParkGiven(t) \/ Give(t)
Next ==
  \/ (\E k \in Closers : Closer(k)) \/ Run \/ End \/ Exit \/ Finished
  \/ \E t \in Held : Scheduler(t)
Spec == Init /\ [][Next]_vars
\* Its time passes, and is then over for good; nobody else need ever move.
FairSpec ==
  Spec /\ \A k \in Closers : WF_vars(Closer(k)) /\ SF_vars(GiveUp(k)) /\ SF_vars(Enough(k))

(* What must hold. *)
\* Who waits for its turn will be woken: somebody is inside, or is on its way in.
TurnIsPassedOn ==
  (\E k \in Closers : at[k] = "waits") => isClosing \/ \E k \in Closers : at[k] = "woken"
\* Who waits for tasks waits for what still runs: no stop is sent meanwhile, nor was one before.
WaitsForWhatRuns == (\E k \in Closers : at[k] = "lists") => ~isStopping
\* A close that neither cancels nor has a deadline sends no stop while a task is listed.
WaitsForAll == [][\A k \in Patient : at[k] = "lists" /\ at'[k] = "stop" => listed = {}]_vars
\* Who hands tasks back is the only consumer of the queues.
OneConsumer ==
  \A k \in Closers : at[k] = "drain" =>
    carrier = "exited" /\ \A other \in Closers \ {k} : at[other] # "drain"
\* Who sleeps as it hands back has nothing to hand back: a scheduler has what is left.
SleepsForHeld == \A k \in Closers : at[k] = "asleep" => listed = given /\ listed # {}
\* Whatever a scheduler holds, and for however long.
Returns == \A k \in Closers \ Patient : <>(at[k] \in Returned)
=============================================================================
Results: MCClose 1,268 states, depth 15; MCCloseHeld, MCCloseLive 447 (12).
