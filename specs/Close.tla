-------------------------------- MODULE Close -------------------------------
(***************************************************************************)
(* Several threads close one group: one at a time; the others wait for     *)
(* their turn, or until their time is over.                                *)
(* Code       wp_group_close in kernel/group.c; what one close does to the *)
(*            tasks is Group's.                                            *)
(* Abstracts  the carriers to one, which runs what is listed and exits at  *)
(*            its stop.  `isClosing` and the wait for it are under a lock: *)
(*            one step each; leaving wakes one who waits.                  *)
(* Any time   a deadline may pass, or a signal handler run, in any wait.   *)
(* Memory     sequential consistency, which the lock earns.                *)
(* Promises   TurnIsPassedOn, WaitsForWhatRuns, OneConsumer (safety).      *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Closers,     \* threads that close it, once each
  Cancellers,  \* those of them that wait for no task
  Tasks,       \* accepted before the first close
  Twin         \* "none", or the one defect of this model

ASSUME SomebodyCloses == Closers # {} /\ Cancellers \subseteq Closers

VARIABLES
  at,          \* closer -> what it does next
  isClosing,   \* group->is_closing: one is inside
  isStopping,  \* group->is_stopping: the stops are sent
  isClosed,    \* group->is_closed
  listed,      \* tasks that have not ended
  carrier      \* "polls", "runs" a task that is listed, "exited"
vars == <<at, isClosing, isStopping, isClosed, listed, carrier>>

Returned == {"closed", "again"}
TypeOK ==
  /\ at \in [Closers -> {"idle", "waits", "woken", "in", "lists", "stop", "join", "drain"}
                        \cup Returned]
  /\ {isClosing, isStopping, isClosed} \subseteq BOOLEAN
  /\ listed \subseteq Tasks /\ carrier \in {"polls", "runs", "exited"}

Init ==
  /\ at = [k \in Closers |-> "idle"]
  /\ isClosing = FALSE /\ isStopping = FALSE /\ isClosed = FALSE
  /\ listed = Tasks /\ carrier = "polls"

Goto(k, where) == at' = [at EXCEPT ![k] = where] /\ UNCHANGED isClosing
Leave(k, how) ==              \* leave_close
  LET others == {o \in Closers : at[o] = "waits"} IN
  /\ isClosing' = FALSE
  /\ IF others = {} THEN at' = [at EXCEPT ![k] = how]
     ELSE \E o \in others : at' = [at EXCEPT ![k] = how, ![o] = "woken"]
Rest == UNCHANGED <<isStopping, isClosed, listed, carrier>>

(* A close. *)
Passes(k) == Twin = "cancel_unasked" /\ k \in Cancellers
Enter(k) ==                   \* enter_close: at once, or when woken; another may be quicker
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
Waited(k) ==                  \* wait_all: until nothing is listed or time is over; interrupted
  /\ at[k] = "lists"
  /\ Goto(k, "stop") \/ (listed # {} /\ Leave(k, "again"))
  /\ Rest
SendStops(k) ==
  /\ at[k] = "stop"
  /\ isStopping' = TRUE
  /\ Goto(k, "join")
  /\ UNCHANGED <<isClosed, listed, carrier>>
Join(k) ==                    \* wp__workers_join: the exits; or time is over, or interrupted
  /\ at[k] = "join"
  /\ IF carrier # "exited" THEN Leave(k, "again")
     ELSE IF Twin = "drains_outside" THEN Leave(k, "drain") ELSE Goto(k, "drain")
  /\ Rest
HandBack(k) ==                \* hand_back, and out
  /\ at[k] = "drain"
  /\ listed' = {} /\ isClosed' = TRUE
  /\ Leave(k, "closed")
  /\ UNCHANGED <<isStopping, carrier>>

(* The carrier; a step of a task may take for ever. *)
Run ==
  /\ carrier = "polls" /\ listed # {}
  /\ carrier' = "runs"
  /\ UNCHANGED <<at, isClosing, isStopping, isClosed, listed>>
End ==
  /\ carrier = "runs"
  /\ \E t \in listed : listed' = listed \ {t}
  /\ carrier' = "polls"
  /\ UNCHANGED <<at, isClosing, isStopping, isClosed>>
Exit ==
  /\ carrier = "polls" /\ isStopping
  /\ carrier' = "exited"
  /\ UNCHANGED <<at, isClosing, isStopping, isClosed, listed>>

Closer(k) ==
  \/ Enter(k) \/ GiveUp(k) \/ Begin(k) \/ Waited(k) \/ SendStops(k) \/ Join(k) \/ HandBack(k)
Finished == (\A k \in Closers : at[k] \in Returned) /\ UNCHANGED vars
Next == (\E k \in Closers : Closer(k)) \/ Run \/ End \/ Exit \/ Finished
Spec == Init /\ [][Next]_vars

(* What must hold. *)
\* Who waits for its turn will be woken: somebody is inside, or is on its way in.
TurnIsPassedOn ==
  (\E k \in Closers : at[k] = "waits") => isClosing \/ \E k \in Closers : at[k] = "woken"
\* Who waits for tasks waits for what still runs: no stop is sent meanwhile, nor was one before.
WaitsForWhatRuns == (\E k \in Closers : at[k] = "lists") => ~isStopping
\* Who hands tasks back is the only consumer of the queues.
OneConsumer ==
  \A k \in Closers : at[k] = "drain" =>
    carrier = "exited" /\ \A other \in Closers \ {k} : at[other] # "drain"
=============================================================================
Results: MCClose 790 states, depth 15.
