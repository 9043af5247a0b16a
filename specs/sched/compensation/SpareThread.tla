------------------------------- MODULE SpareThread --------------------------------
(***************************************************************************)
(* While a virtual thread blocks its carrier's OS thread, in a pinned park,*)
(* a spare one carries on; it gives the role back before the thread does.  *)
(* Code       kernel/sched/compensation/role.h, spare_thread.c; worker.c;  *)
(*            vthread_park.c.                                              *)
(* Abstracts  one carrier: its role is who runs its loop; what is under the*)
(*            lock of the spares to one step; the timer by which the role  *)
(*            is asked for to a set (Timer: Fires); the pinned park        *)
(*            (VThread: PinnedUnparkReachesCarrier); siblings, and what    *)
(*            they may take when the role is given up (MCSearchGiven).     *)
(* Memory     sequential consistency, which the lock earns.                *)
(* Promises   OneHolder, ExitsAlone, KeepsIfAlone, StopIsLast (safety);    *)
(*            OthersRun (liveness).                                        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Spares,    \* OS threads besides the carrier's first
  Virtuals,  \* threads: each parks once, pinned, and ends
  Stuck,     \* those that nobody ever unparks
  Stops      \* the close stops the carrier at any time

VARIABLES
  role,     \* who carries; "offered" to the spares; "free" for who waits; "ended"
  pc,       \* OS thread -> what it does
  on,       \* OS thread -> the virtual thread on it
  lent,     \* OS threads that have lent the role and want it back
  wanting,  \* of these: they have asked
  armed,    \* of these: with a timer that is due
  wanted,   \* the holder's: it shall give the role up
  stop,     \* "no", "sent", "read"
  queue,    \* virtual threads that are to run
  woken,    \* those that were unparked
  done
vars == <<role, pc, on, lent, wanting, armed, wanted, stop, queue, woken, done>>

None == "none"
First == "first"
Threads == Spares \cup {First}
Idle == {t \in Threads : pc[t] \in {"pool", "leave"}}

TypeOK ==
  /\ role \in Threads \cup {"offered", "free", "ended"}
  /\ pc \in [Threads -> {"pool", "loop", "run", "asleep", "arm", "wait", "leave"}]
  /\ on \in [Threads -> Virtuals \cup {None}]
  /\ {lent, wanting, armed} \subseteq SUBSET Threads /\ {queue, woken, done} \subseteq SUBSET Virtuals
  /\ wanted \in BOOLEAN /\ stop \in {"no", "sent", "read"}

Init ==
  /\ role = First /\ pc = [t \in Threads |-> IF t = First THEN "loop" ELSE "pool"]
  /\ on = [t \in Threads |-> None]
  /\ lent = {} /\ wanting = {} /\ armed = {} /\ wanted = FALSE /\ stop = "no"
  /\ queue = Virtuals /\ woken = {} /\ done = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

(* Who carries: the loop of worker.c. *)
Carries(t) ==
  /\ pc[t] = "loop"
  /\ ~wanted
  /\ stop # "read"
Fire(t) ==                    \* the timers of those who ask
  /\ pc[t] = "loop" /\ armed # {} /\ role = t
  /\ armed' = {} /\ wanted' = TRUE
  /\ UNCHANGED <<role, pc, on, lent, wanting, stop, queue, woken, done>>
Run(t, v) ==
  /\ Carries(t) /\ v \in queue
  /\ queue' = queue \ {v} /\ on' = [on EXCEPT ![t] = v]
  /\ Goto(t, "run")
  /\ UNCHANGED <<role, lent, wanting, armed, wanted, stop, woken, done>>
End(t) ==
  /\ pc[t] = "run" /\ on[t] \in woken
  /\ done' = done \cup {on[t]} /\ on' = [on EXCEPT ![t] = None]
  /\ Goto(t, "loop")
  /\ UNCHANGED <<role, lent, wanting, armed, wanted, stop, queue, woken>>
Give(t) ==                    \* wp__role_give: it is asked for
  /\ pc[t] = "loop"
  /\ wanted
  /\ role' = "free"
  /\ wanted' = FALSE
  /\ Goto(t, "leave")
  /\ UNCHANGED <<on, lent, wanting, armed, stop, queue, woken, done>>
Stop(t) ==                    \* or the stop was read, now or before
  /\ pc[t] = "loop"
  /\ ~wanted
  /\ stop # "no"
  /\ stop' = "read"
  /\ role' = IF lent # {} THEN "free" ELSE "ended"
  /\ Goto(t, "leave")
  /\ UNCHANGED <<on, lent, wanting, armed, wanted, queue, woken, done>>
Leave(t) ==                   \* it carries nothing, and gets to where it waits
  /\ pc[t] = "leave"
  /\ Goto(t, "pool")
  /\ UNCHANGED <<role, on, lent, wanting, armed, wanted, stop, queue, woken, done>>

(* A pinned park. *)
Lend(t) ==                    \* wp__role_lend; there may be no spare left
  /\ pc[t] = "run"
  /\ on[t] \notin woken
  /\ IF Idle = {} /\ wanting = {}
     THEN UNCHANGED <<role, lent, wanted>>
     ELSE /\ role' = IF wanting = {} THEN "offered" ELSE "free"
          /\ lent' = lent \cup {t}
          /\ wanted' = (wanted /\ wanting = {})
  /\ Goto(t, "asleep")
  /\ UNCHANGED <<on, wanting, armed, stop, queue, woken, done>>
Take(t) ==                    \* wp__role_next
  /\ pc[t] = "pool" /\ role = "offered"
  /\ role' = t
  /\ Goto(t, "loop")
  /\ UNCHANGED <<on, lent, wanting, armed, wanted, stop, queue, woken, done>>
Unpark(v) ==
  /\ v \in Virtuals \ Stuck /\ v \notin woken /\ \E t \in Threads : on[t] = v /\ pc[t] = "asleep"
  /\ woken' = woken \cup {v}
  /\ UNCHANGED <<role, pc, on, lent, wanting, armed, wanted, stop, queue, done>>
Has(t) ==                     \* it carries again
  /\ role' = t /\ lent' = lent \ {t} /\ wanting' = wanting \ {t} /\ armed' = armed \ {t}
  /\ wanted' = (wanting \ {t} # {})
  /\ Goto(t, "run")
Wake(t) ==                    \* wp__role_take_back
  /\ pc[t] = "asleep"
  /\ on[t] \in woken
  /\ IF t \notin lent
     THEN /\ Goto(t, "run")
          /\ UNCHANGED <<role, lent, wanting, armed, wanted>>
     ELSE IF role \in {"offered", "free"}
     THEN Has(t)
     ELSE /\ wanting' = wanting \cup {t}
          /\ Goto(t, "arm")
          /\ UNCHANGED <<role, lent, armed, wanted>>
  /\ UNCHANGED <<on, stop, queue, woken, done>>
Arm(t) ==                     \* wp_carrier_tasks_arm, not under the lock
  /\ pc[t] = "arm"
  /\ armed' = armed \cup {t}
  /\ Goto(t, "wait")
  /\ UNCHANGED <<role, on, lent, wanting, wanted, stop, queue, woken, done>>
Return(t) ==
  /\ pc[t] = "wait" /\ role = "free"
  /\ Has(t)
  /\ UNCHANGED <<on, stop, queue, woken, done>>

SendStop ==
  /\ Stops /\ stop = "no"
  /\ stop' = "sent"
  /\ UNCHANGED <<role, pc, on, lent, wanting, armed, wanted, queue, woken, done>>
Finished ==                   \* what is asleep is stuck
  /\ \A t \in Threads :
       \/ pc[t] \in {"pool", "loop"}
       \/ pc[t] = "asleep" /\ on[t] \notin woken
  /\ UNCHANGED vars
Thread(t) ==
  \/ Fire(t)
  \/ \E v \in Virtuals : Run(t, v)
  \/ End(t)
  \/ Give(t)
  \/ Stop(t)
  \/ Lend(t)
  \/ Take(t)
  \/ Wake(t)
  \/ Arm(t)
  \/ Return(t)
  \/ Leave(t)
Next == (\E t \in Threads : Thread(t)) \/ (\E v \in Virtuals : Unpark(v)) \/ SendStop \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec ==
  Spec /\ (\A t \in Threads : WF_vars(Thread(t))) /\ \A v \in Virtuals : WF_vars(Unpark(v))

(* What must hold. *)
Holds(t) == pc[t] \in {"loop", "run"} \/ (pc[t] = "asleep" /\ t \notin lent)
\* One OS thread at a time carries, or runs what is on its stack.
OneHolder == \A t \in Threads : Holds(t) => role = t
\* A carrier ends with the last thread that it was lent by.
ExitsAlone == role = "ended" => \A t \in Threads : pc[t] \in {"pool", "leave"}
\* The role sleeps with a pinned park only if every spare is lent away as well.
KeepsIfAlone ==
  \A t \in Threads : pc[t] = "asleep" /\ t \notin lent => Threads \ {t} \subseteq lent
\* A carrier that has read its stop runs nothing anew, be it back from a spare.
StopIsLast ==                 \* or they may pin in turn for ever, and it never ends
  [][stop = "read" => queue' = queue]_vars
\* While one is blocked for ever, the others run.
OthersRun == \A v \in Virtuals \ Stuck : <>(v \in done)
=============================================================================
