------------------------------- MODULE SpareThread --------------------------------
(***************************************************************************)
(* A carrier's role is to run the carrier's loop, and one OS thread has it *)
(* at a time. In a pinned park, a virtual thread cannot leave the stack of *)
(* its OS thread, so this OS thread blocks. While it is blocked it lends   *)
(* the role to a spare thread, which runs the loop in its place. The spare *)
(* gives the role back before the virtual thread goes on.                  *)
(*                                                                         *)
(* Code       kernel/sched/compensation/role.h, spare_thread.c; worker.c;  *)
(*            vthread_park.c.                                              *)
(* Abstracts  one carrier, whose role is the thread that runs its loop;    *)
(*            what is done under the lock of the spares to one step; the   *)
(*            timer that recalls the role to a set (Timer: Fires); the     *)
(*            pinned park (VThread: PinnedUnparkReachesCarrier); siblings, *)
(*            and what they may take when the role is given up             *)
(*            (MCSearchGiven).                                             *)
(* Memory     sequential consistency, which the lock earns.                *)
(* Promises   OneHolder, ExitsAlone, KeepsIfAlone, StopIsLast (safety);    *)
(*            OthersRun (liveness).                                        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Spares,    \* OS threads besides the carrier's first one
  Virtuals,  \* virtual threads; each parks once, in a pinned park, and then ends
  Stuck,     \* the virtual threads that are never unparked
  Stops      \* TRUE: the close stops the carrier, at any time

VARIABLES
  role,     \* the OS thread that has the role; "offered" to the spares; "free" for a thread that
            \* waits for it; "ended"
  pc,       \* OS thread -> its next step
  on,       \* OS thread -> the virtual thread on its stack
  lent,     \* the OS threads that have lent the role and want it back
  wanting,  \* those of them that now wait for the role
  armed,    \* those of them with a timer that is due
  wanted,   \* the flag that asks the holder of the role to give it up
  stop,     \* the stop: "no" if none was sent, "sent" if the inbox holds it, "read" if the carrier
            \* has read it
  queue,    \* the virtual threads that are ready to run
  woken,    \* the virtual threads that were unparked
  done      \* the virtual threads that have ended

vars == <<role, pc, on, lent, wanting, armed, wanted, stop, queue, woken, done>>

None == "none"
First == "first"
Threads == Spares \cup {First}

\* The spares that can take the role.
Idle == {t \in Threads : pc[t] \in {"pool", "leave"}}

TypeOK ==
  /\ role \in Threads \cup {"offered", "free", "ended"}
  /\ pc \in [Threads -> {"pool", "loop", "run", "asleep", "arm", "wait", "leave"}]
  /\ on \in [Threads -> Virtuals \cup {None}]
  /\ {lent, wanting, armed} \subseteq SUBSET Threads
  /\ {queue, woken, done} \subseteq SUBSET Virtuals
  /\ wanted \in BOOLEAN
  /\ stop \in {"no", "sent", "read"}

Init ==
  /\ role = First
  /\ pc = [t \in Threads |-> IF t = First THEN "loop" ELSE "pool"]
  /\ on = [t \in Threads |-> None]
  /\ lent = {}
  /\ wanting = {}
  /\ armed = {}
  /\ wanted = FALSE
  /\ stop = "no"
  /\ queue = Virtuals
  /\ woken = {}
  /\ done = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

(* The holder, which is the thread that has the role: the loop of worker.c. *)

\* The holder t is at a turn of the loop, and may run a virtual thread.
Carries(t) ==
  /\ pc[t] = "loop"
  /\ ~wanted
  /\ stop # "read"

\* The timers of the threads that wait for the role fire, and the holder is asked to give the role
\* up.
Fire(t) ==
  /\ pc[t] = "loop"
  /\ armed # {}
  /\ role = t
  /\ armed' = {}
  /\ wanted' = TRUE
  /\ UNCHANGED <<role, pc, on, lent, wanting, stop, queue, woken, done>>

\* The holder runs a virtual thread.
Run(t, v) ==
  /\ Carries(t)
  /\ v \in queue
  /\ queue' = queue \ {v}
  /\ on' = [on EXCEPT ![t] = v]
  /\ Goto(t, "run")
  /\ UNCHANGED <<role, lent, wanting, armed, wanted, stop, woken, done>>

\* A virtual thread that was unparked ends.
End(t) ==
  /\ pc[t] = "run"
  /\ on[t] \in woken
  /\ done' = done \cup {on[t]}
  /\ on' = [on EXCEPT ![t] = None]
  /\ Goto(t, "loop")
  /\ UNCHANGED <<role, lent, wanting, armed, wanted, stop, queue, woken>>

\* The holder gives the role up to a thread that waits for it: wp__role_give.
Give(t) ==
  /\ pc[t] = "loop"
  /\ wanted
  /\ role' = "free"
  /\ wanted' = FALSE
  /\ Goto(t, "leave")
  /\ UNCHANGED <<on, lent, wanting, armed, stop, queue, woken, done>>

\* The holder reads the stop, or the stop was read before. In both cases the holder leaves the loop.
Stop(t) ==
  /\ pc[t] = "loop"
  /\ ~wanted
  /\ stop # "no"
  /\ stop' = "read"
  /\ role' = IF lent # {} THEN "free" ELSE "ended"
  /\ Goto(t, "leave")
  /\ UNCHANGED <<on, lent, wanting, armed, wanted, queue, woken, done>>

\* A thread that no longer has the role goes to the pool of spares.
Leave(t) ==
  /\ pc[t] = "leave"
  /\ Goto(t, "pool")
  /\ UNCHANGED <<role, on, lent, wanting, armed, wanted, stop, queue, woken, done>>

(* A pinned park. *)

\* The virtual thread begins a pinned park. Its OS thread lends the role, unless no other thread can
\* take it: wp__role_lend.
Lend(t) ==
  /\ pc[t] = "run"
  /\ on[t] \notin woken
  /\ IF Idle = {} /\ wanting = {}
     THEN UNCHANGED <<role, lent, wanted>>
     ELSE /\ role' = IF wanting = {} THEN "offered" ELSE "free"
          /\ lent' = lent \cup {t}
          /\ wanted' = (wanted /\ wanting = {})
  /\ Goto(t, "asleep")
  /\ UNCHANGED <<on, wanting, armed, stop, queue, woken, done>>

\* A spare takes the offered role: wp__role_next.
Take(t) ==
  /\ pc[t] = "pool"
  /\ role = "offered"
  /\ role' = t
  /\ Goto(t, "loop")
  /\ UNCHANGED <<on, lent, wanting, armed, wanted, stop, queue, woken, done>>

\* The parked virtual thread is unparked.
Unpark(v) ==
  /\ v \in Virtuals \ Stuck /\ v \notin woken /\ \E t \in Threads : on[t] = v /\ pc[t] = "asleep"
  /\ woken' = woken \cup {v}
  /\ UNCHANGED <<role, pc, on, lent, wanting, armed, wanted, stop, queue, done>>

\* Thread t has the role again.
Has(t) ==
  /\ role' = t
  /\ lent' = lent \ {t}
  /\ wanting' = wanting \ {t}
  /\ armed' = armed \ {t}
  /\ wanted' = (wanting \ {t} # {})
  /\ Goto(t, "run")

\* The virtual thread was unparked. Its OS thread goes on at once if it has kept the role or can
\* take it back. Otherwise it waits for the role: wp__role_take_back.
Wake(t) ==
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

\* The thread arms a timer that recalls the role: wp_carrier_tasks_arm. This is not done under the
\* lock.
Arm(t) ==
  /\ pc[t] = "arm"
  /\ armed' = armed \cup {t}
  /\ Goto(t, "wait")
  /\ UNCHANGED <<role, on, lent, wanting, wanted, stop, queue, woken, done>>

\* The role is free, so the waiting thread takes it back.
Return(t) ==
  /\ pc[t] = "wait"
  /\ role = "free"
  /\ Has(t)
  /\ UNCHANGED <<on, stop, queue, woken, done>>

\* The close sends the stop.
SendStop ==
  /\ Stops
  /\ stop = "no"
  /\ stop' = "sent"
  /\ UNCHANGED <<role, pc, on, lent, wanting, armed, wanted, queue, woken, done>>

\* The intended end: every virtual thread that sleeps is stuck.
Finished ==
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

\* Thread t runs the loop or a virtual thread, or sleeps in a pinned park without having lent the
\* role.
Holds(t) == pc[t] \in {"loop", "run"} \/ (pc[t] = "asleep" /\ t \notin lent)

\* Only the thread that has the role runs the loop, runs a virtual thread, or sleeps in a pinned
\* park without having lent the role.
OneHolder == \A t \in Threads : Holds(t) => role = t

\* The role ends only when every thread that lent it has come out of its pinned park.
ExitsAlone == role = "ended" => \A t \in Threads : pc[t] \in {"pool", "leave"}

\* A thread keeps the role during a pinned park only if all other threads have lent the role and
\* want it back.
KeepsIfAlone ==
  \A t \in Threads : pc[t] = "asleep" /\ t \notin lent => Threads \ {t} \subseteq lent

\* After the stop was read, no more virtual threads begin to run, even if a spare gives the role
\* back. Otherwise threads might begin pinned parks in turn for ever, and the carrier would never
\* end.
StopIsLast ==
  [][stop = "read" => queue' = queue]_vars

\* While some virtual threads are blocked for ever, all others run to their ends.
OthersRun == \A v \in Virtuals \ Stuck : <>(v \in done)
=============================================================================
