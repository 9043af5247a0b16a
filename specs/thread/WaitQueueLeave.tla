-------------------------------- MODULE WaitQueueLeave -------------------------------
(***************************************************************************)
(* A group is closed while its virtual threads wait in lines, which        *)
(* outlive the group. The close takes each of these threads out of its     *)
(* line, and passes on what was granted to the thread. Then the group is   *)
(* freed, perhaps while other threads are still waking its threads. Such   *)
(* wakers are counted, and the free waits until their count is zero.       *)
(*                                                                         *)
(* Code       kernel/thread/wakers.h, wait_queue.h, group.c, and the       *)
(*            `leave` of each kind of wait in mutex.c, semaphore.c,        *)
(*            channel.c, condition.c; [wakers.1] to [wakers.4] name sites  *)
(*            there.                                                       *)
(* Abstracts  the object to things that are given one by one; what is done *)
(*            under its lock to single steps; parks to `awake` (WaitQueue  *)
(*            has their numbers). A wakeup that the close sends, or a      *)
(*            waiter that looks, is part of its sender's step, because no  *)
(*            thread waits for the end of such a wakeup.                   *)
(* Memory     sequential consistency.                                      *)
(* Promises   NoDeadGrant, PassedOn, NoLostWake, NoTouchAfterFree,         *)
(*            NoTouchAfterLeave (safety), FreeEnds (liveness).             *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Leavers,   \* virtual threads of the group; each waits once
  Stayers,   \* OS threads, and virtual threads of other groups; no close hands them back
  Granters,  \* threads outside the group that give one thing each
  Runners,   \* OS threads of a user's scheduler; each runs one thread of the group to its end
  Tells      \* TRUE: a thing that is given stays in the object, and the first waiter is woken to
             \* look for it, as with a mutex; FALSE: the thing is given to the first waiter

ASSUME SomebodyLeaves == Leavers # {} /\ Tells \in BOOLEAN

Waiters == Leavers \cup Stayers
Nobody == "nobody"

VARIABLES
  line,     \* the waiters in line, in order
  things,   \* the number of things in the object, for the threads that come next
  at,       \* waiter -> "idle", "waits", "has" a mutex, "done", or "left": handed back
  granted,  \* waiter -> TRUE if GRANTED is stored in it
  awake,    \* waiter -> TRUE if it has been woken, and is about to look
  does,     \* granter or runner -> its next step
  target,   \* granter -> the waiter that it has taken off the line, or that it wakes to look
  wakers,   \* the group's count of the threads that are using it: granters and runners
  group,    \* "open", "stopped": its carriers have ended, "closed", "freed"
  sleeps,   \* TRUE if the free waits until the last of these threads wakes it
  got,      \* ghost: the number of things that waiters have received
  hurt      \* ghost: the things that were accessed after they were gone: "group", "waiter"
vars == <<line, things, at, granted, awake, does, target, wakers, group, sleeps, got, hurt>>

TypeOK ==
  /\ line \in Seq(Waiters)
  /\ things \in Nat
  /\ at \in [Waiters -> {"idle", "waits", "has", "done", "left"}]
  /\ granted \in [Waiters -> BOOLEAN]
  /\ awake \in [Waiters -> BOOLEAN]
  /\ does \in [Granters \cup Runners ->
       {"idle", "take", "store", "wake", "exit", "runs", "ended", "done"}]
  /\ target \in [Granters -> Waiters \cup {Nobody}]
  /\ wakers \in Nat
  /\ group \in {"open", "stopped", "closed", "freed"}
  /\ sleeps \in BOOLEAN
  /\ got \in Nat
  /\ hurt \subseteq {"group", "waiter"}

Init ==
  /\ line = <<>>
  /\ things = 0
  /\ at = [w \in Waiters |-> "idle"]
  /\ granted = [w \in Waiters |-> FALSE]
  /\ awake = [w \in Waiters |-> FALSE]
  /\ does = [x \in Granters \cup Runners |-> IF x \in Runners THEN "runs" ELSE "idle"]
  /\ target = [g \in Granters |-> Nobody]
  /\ wakers = Cardinality(Runners)
  /\ group = "open"
  /\ sleeps = FALSE
  /\ got = 0
  /\ hurt = {}

InLine(w) == \E i \in 1 .. Len(line) : line[i] = w
Without(w) == SelectSeq(line, LAMBDA x : x # w)
Goto(x, where) == does' = [does EXCEPT ![x] = where]

\* Ghost: `what` is accessed. This is recorded if it is gone.
Touch(what, isGone) == hurt' = IF isGone THEN hurt \cup {what} ELSE hurt
IsFreed(w) == w \in Leavers /\ group = "freed"

\* A granter that wakes a leaver is counted in the leaver's group.
Counted(w) == IF w \in Leavers THEN 1 ELSE 0

\* TRUE if thread w can run; for a leaver, its group must be open.
Runs(w) == w \in Stayers \/ group = "open"

\* The waiter receives a thing. It keeps the thing for good, or until it unlocks if the thing is a
\* mutex.
Has(w) ==
  IF Tells /\ w \in Leavers
  THEN /\ at' = [at EXCEPT ![w] = "has"]
       /\ UNCHANGED got
  ELSE /\ at' = [at EXCEPT ![w] = "done"]
       /\ got' = got + 1

\* The object now has `more` things. In the same step the first waiter of the line is woken to look,
\* or gets one of them.
Serve(rest, more, has) ==
  IF more = 0 \/ rest = <<>>
  THEN /\ line' = rest
       /\ things' = more
       /\ granted' = has
       /\ UNCHANGED awake
  ELSE /\ awake' = [awake EXCEPT ![Head(rest)] = TRUE]
       /\ IF Tells
          THEN /\ line' = rest
               /\ things' = more
               /\ granted' = has
          ELSE /\ line' = Tail(rest)
               /\ things' = more - 1
               /\ granted' = [has EXCEPT ![Head(rest)] = TRUE]

(* A waiter. *)

\* The waiter takes a thing if there is one and the line is empty. Otherwise the waiter joins the
\* line (wp__mutex_begin and similar functions).
Begin(w) ==
  /\ at[w] = "idle"
  /\ Runs(w)
  /\ IF things > 0 /\ line = <<>>
     THEN /\ things' = things - 1
          /\ Has(w)
          /\ UNCHANGED line
     ELSE /\ line' = Append(line, w)
          /\ at' = [at EXCEPT ![w] = "waits"]
          /\ UNCHANGED <<things, got>>
  /\ UNCHANGED <<granted, awake, does, target, wakers, group, sleeps, hurt>>

\* A waiter's park has ended, because of a wakeup or spuriously, and the waiter looks for its grant
\* or for a thing (wp__mutex_check and similar functions).
Look(w) ==
  /\ at[w] = "waits"
  /\ Runs(w)
  /\ \/ /\ granted[w]
        /\ at' = [at EXCEPT ![w] = "done"]
        /\ got' = got + 1
        /\ granted' = [granted EXCEPT ![w] = FALSE]
        /\ UNCHANGED <<line, things, awake>>
     \/ /\ InLine(w)
        /\ w = Head(line)
        /\ things > 0
        /\ Has(w)
        /\ Serve(Tail(line), things - 1, granted)
     \/ /\ InLine(w)
        /\ w # Head(line) \/ things = 0
        /\ awake[w]
        /\ awake' = [awake EXCEPT ![w] = FALSE]
        /\ UNCHANGED <<line, things, at, granted, got>>
  /\ UNCHANGED <<does, target, wakers, group, sleeps, hurt>>

\* A waiter's wait has timed out or was interrupted, and the waiter leaves the line
\* (wp__mutex_cancel and similar functions).
GiveUp(w) ==
  /\ at[w] = "waits"
  /\ Runs(w)
  /\ InLine(w)
  /\ at' = [at EXCEPT ![w] = "done"]
  /\ Serve(Without(w), things, granted)
  /\ UNCHANGED <<does, target, wakers, group, sleeps, got, hurt>>

\* A thread unlocks the mutex that it has.
Unlock(w) ==                  \* wp_mutex_unlock
  /\ at[w] = "has"
  /\ Runs(w)
  /\ at' = [at EXCEPT ![w] = "done"]
  /\ Serve(line, things + 1, granted)
  /\ UNCHANGED <<does, target, wakers, group, sleeps, got, hurt>>

(* A granter. *)

\* Under the lock, the granter gives the thing to the first waiter; or it leaves the thing in the
\* object and wakes that waiter to look.
Give(g) ==
  /\ does[g] = "idle"
  /\ IF line = <<>>
     THEN /\ things' = things + 1
          /\ Goto(g, "done")
          /\ UNCHANGED <<line, target, wakers>>
     ELSE /\ target' = [target EXCEPT ![g] = Head(line)]
          /\ IF Tells
             THEN /\ things' = things + 1
                  /\ wakers' = wakers + Counted(Head(line))     \* [wakers.1] under the lock
                  /\ Goto(g, "wake")
                  /\ UNCHANGED line
             ELSE /\ line' = Tail(line)
                  /\ Goto(g, "take")
                  /\ UNCHANGED <<things, wakers>>
  /\ UNCHANGED <<at, granted, awake, group, sleeps, got, hurt>>

\* The granter is counted, before the waiter can see its grant.
Enter(g) ==                   \* [wakers.1]
  /\ does[g] = "take"
  /\ wakers' = wakers + Counted(target[g])
  /\ Touch("group", IsFreed(target[g]))
  /\ Goto(g, "store")
  /\ UNCHANGED <<line, things, at, granted, awake, target, group, sleeps, got>>

\* The granter stores the grant in the waiter.
Store(g) ==                   \* [wait_queue.2]
  /\ does[g] = "store"
  /\ granted' = [granted EXCEPT ![target[g]] = TRUE]
  /\ Touch("waiter", at[target[g]] # "waits")
  /\ Goto(g, "wake")
  /\ UNCHANGED <<line, things, at, awake, target, wakers, group, sleeps, got>>

\* The granter wakes the waiter: it changes the thread's word and wakes its carrier.
Wake(g) ==                    \* wp__wake
  /\ does[g] = "wake"
  /\ awake' = [awake EXCEPT ![target[g]] = TRUE]
  /\ Touch("group", IsFreed(target[g]))
  /\ Goto(g, "exit")
  /\ UNCHANGED <<line, things, at, granted, target, wakers, group, sleeps, got>>

\* A thread is taken off the count, in its last access to the group. The last thread wakes the free.
CountOut(n) ==                \* [wakers.2]
  /\ wakers' = wakers - n
  /\ sleeps' = (sleeps /\ wakers' # 0)

\* The granter has finished with the group.
Exit(g) ==
  /\ does[g] = "exit"
  /\ CountOut(Counted(target[g]))
  /\ Touch("group", IsFreed(target[g]))
  /\ Goto(g, "done")
  /\ UNCHANGED <<line, things, at, granted, awake, target, group, got>>

(* An OS thread that is inside wp_vthread_run. *)

\* The thread that the runner runs has ended, and is off the list of its home.
End(r) ==
  /\ does[r] = "runs"
  /\ Goto(r, "ended")
  /\ UNCHANGED <<line, things, at, granted, awake, target, wakers, group, sleeps, got, hurt>>

\* The runner has finished with the group. It has made its last access to the group before.
Return(r) ==
  /\ does[r] = "ended"
  /\ CountOut(1)
  /\ Touch("group", group = "freed")
  /\ Goto(r, "done")
  /\ UNCHANGED <<line, things, at, granted, awake, target, group, got>>

(* The close, and the free. *)

\* The close stops the carriers of the group, and they end.
Stop ==                       \* workers_join
  /\ group = "open"
  /\ group' = "stopped"
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, sleeps, got, hurt>>

\* The close unlocks a mutex that a thread of the group holds.
Abandon(w) ==                 \* wp__vthread_abandon_held
  /\ group = "stopped"
  /\ at[w] = "has"
  /\ at' = [at EXCEPT ![w] = "left"]
  /\ Serve(line, things + 1, granted)
  /\ UNCHANGED <<does, target, wakers, group, sleeps, got, hurt>>

\* The close takes a thread out of its line, as a waiter that gives up would leave it. What was
\* granted to the thread is passed on.
LeaveLine(w) ==               \* wp__vthread_leave_line
  /\ group = "stopped"
  /\ w \in Leavers
  /\ at[w] \in {"idle", "waits"}
  /\ at' = [at EXCEPT ![w] = "left"]
  /\ IF at[w] = "idle"
     THEN UNCHANGED <<line, things, granted, awake>>
     ELSE IF InLine(w)
     THEN Serve(Without(w), things, granted)
     ELSE /\ granted[w]                                         \* [wait_queue.3]
          /\ Serve(line, things + 1, [granted EXCEPT ![w] = FALSE])
  /\ UNCHANGED <<does, target, wakers, group, sleeps, got, hurt>>

\* All threads have left the group's lists, and now the group is closed.
HandBack ==
  /\ group = "stopped"
  /\ \A w \in Leavers : at[w] \in {"done", "left"}
  /\ \A r \in Runners : does[r] # "runs"
  /\ group' = "closed"
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, sleeps, got, hurt>>

\* The free finds threads that are counted, and sleeps.
Sleep ==                      \* [wakers.3] wp__wakers_wait
  /\ group = "closed"
  /\ wakers # 0
  /\ ~sleeps
  /\ sleeps' = TRUE
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, group, got, hurt>>

\* No more threads are counted, and the group is freed.
Free ==                       \* [wakers.4]
  /\ group = "closed"
  /\ wakers = 0
  /\ ~sleeps
  /\ group' = "freed"
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, sleeps, got, hurt>>

\* The intended end: threads that still wait do so for things that are never given.
Finished ==
  /\ group = "freed" \/ sleeps
  /\ \A x \in Granters \cup Runners : does[x] = "done"
  /\ UNCHANGED vars

Granter(g) ==
  \/ Give(g)
  \/ Enter(g)
  \/ Store(g)
  \/ Wake(g)
  \/ Exit(g)

Runner(r) ==
  \/ End(r)
  \/ Return(r)

Close ==
  \/ Stop
  \/ HandBack
  \/ Sleep
  \/ Free
  \/ \E w \in Leavers : LeaveLine(w) \/ Abandon(w)

Next ==
  \/ \E w \in Waiters : Begin(w) \/ Look(w) \/ GiveUp(w) \/ Unlock(w)
  \/ \E g \in Granters : Granter(g)
  \/ \E r \in Runners : Runner(r)
  \/ Close
  \/ Finished

Fairness ==
  /\ WF_vars(Close)
  /\ \A g \in Granters : WF_vars(Granter(g))
  /\ \A r \in Runners : WF_vars(Runner(r))

Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)

\* A thread that was handed back is in no line, so nothing is granted to a thread that will not run.
NoDeadGrant == \A w \in Leavers : at[w] = "left" => ~InLine(w)

\* A thing that was granted to a leaver is passed on. So each thing that was given is in the object,
\* on its way to a waiter, or with a thread that runs.
PassedOn ==
  LET given == Cardinality({g \in Granters : does[g] # "idle"})
      flying == {g \in Granters : does[g] \in {"take", "store"}}
      held == {w \in Waiters : at[w] = "has"}
      told == {w \in Waiters : at[w] = "waits" /\ granted[w]}
  IN given = things + Cardinality(flying) + Cardinality(told \cup held) + got

\* If a waiter sleeps although it was granted a thing, or although it is first in line and there is
\* a thing, then its wakeup is on its way.
NoLostWake ==
  \A w \in Waiters :
    /\ at[w] = "waits"
    /\ ~awake[w]
    /\ granted[w] \/ (things > 0 /\ line # <<>> /\ w = Head(line))
    => \E g \in Granters : target[g] = w /\ does[g] = "wake"

\* No granter and no runner accesses the group after the group was freed.
NoTouchAfterFree == "group" \notin hurt

\* A close does not take away a waiter's memory before a grant that has begun is stored there.
NoTouchAfterLeave == "waiter" \notin hurt

\* The free does not wait for ever.
FreeEnds == <>(group = "freed")
=============================================================================
