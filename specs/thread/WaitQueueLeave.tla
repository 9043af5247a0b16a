-------------------------------- MODULE WaitQueueLeave -------------------------------
(***************************************************************************)
(* A group closes while its virtual threads stand in lines that outlive    *)
(* it. The close takes each of them out of its line, and passes on what    *)
(* was granted to it. The group is freed while other threads may still be  *)
(* waking its threads: such wakers are counted, and the free waits until   *)
(* the count is zero.                                                      *)
(*                                                                         *)
(* Code       kernel/thread/wakers.h, wait_queue.h, group.c, and the       *)
(*            `leave` of each kind of wait in mutex.c, semaphore.c,        *)
(*            channel.c, condition.c; [wakers.1] to [wakers.4] name sites  *)
(*            there.                                                       *)
(* Abstracts  the object to things that are given one by one; its lock to  *)
(*            single steps; parks to `awake` (WaitQueue has their          *)
(*            numbers). A wakeup that is sent by the close itself, or by a *)
(*            thread that looks, is part of its sender's step, because no  *)
(*            thread waits for its end.                                    *)
(* Memory     sequential consistency.                                      *)
(* Promises   NoDeadGrant, PassedOn, NoLostWake, NoTouchAfterFree,         *)
(*            NoTouchAfterLeave (safety), FreeEnds (liveness).             *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Leavers,   \* virtual threads of the group; each waits once
  Stayers,   \* OS threads and threads of other groups, which no close hands back
  Granters,  \* threads outside the group that give one thing each
  Runners,   \* OS threads of a scheduler; each runs one thread of the group to its end
  Tells      \* TRUE: the thing stays in the object and the first waiter is woken to look, as with a
             \* mutex; FALSE: the thing is given to the first waiter

ASSUME SomebodyLeaves == Leavers # {} /\ Tells \in BOOLEAN

Waiters == Leavers \cup Stayers
Nobody == "nobody"

VARIABLES
  line,     \* the waiters in line
  things,   \* the things in the object, for the threads that come next
  at,       \* waiter -> "idle", "waits", "has" a mutex, "done", or "left": handed back
  granted,  \* waiter -> GRANTED is stored in it
  awake,    \* waiter -> it has been woken, and is about to look
  does,     \* granter or runner -> its next step
  target,   \* granter -> the waiter that it has taken off the line, or wakes to look
  wakers,   \* the group's count of the threads that are inside
  group,    \* "open", "stopped": its carriers have ended, "closed", "freed"
  sleeps,   \* the free waits, until the last thread that is counted wakes it
  got,      \* ghost: the number of things that waiters have
  hurt      \* ghost: the set of things that were touched after they were gone
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

\* Ghost: something is touched, which is recorded if it is gone.
Touch(what, isGone) == hurt' = IF isGone THEN hurt \cup {what} ELSE hurt
IsFreed(w) == w \in Leavers /\ group = "freed"

\* A granter of a leaver is counted in the leaver's group.
Counted(w) == IF w \in Leavers THEN 1 ELSE 0

\* Thread w can run: a leaver's group must be open.
Runs(w) == w \in Stayers \/ group = "open"

\* The waiter has a thing: for good, or until it unlocks if the thing is a mutex.
Has(w) ==
  IF Tells /\ w \in Leavers
  THEN /\ at' = [at EXCEPT ![w] = "has"]
       /\ UNCHANGED got
  ELSE /\ at' = [at EXCEPT ![w] = "done"]
       /\ got' = got + 1

\* The object has `more` things, in the step of its caller: the first of the line is woken to look,
\* or gets one.
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

\* The waiter takes a thing if there is one and the line is empty; otherwise it joins the line
\* (wp__mutex_begin and its like).
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

\* A waiter's park has ended, by a wakeup or spuriously, and it looks (wp__mutex_check and its
\* like).
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

\* A waiter is too late or interrupted, and leaves the line (wp__mutex_cancel and its like).
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

\* Under the lock, the granter gives the thing to the first waiter, or leaves it in the object and
\* wakes that waiter to look.
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

\* The granter is counted in before the waiter can see its grant.
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

\* A thread is counted out, with its last touch of the group. The last one wakes the free, by
\* address.
CountOut(n) ==                \* [wakers.2]
  /\ wakers' = wakers - n
  /\ sleeps' = (sleeps /\ wakers' # 0)

\* The granter is done with the group.
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

\* The runner is done with the group, after its last access to it.
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

\* The close takes a thread out of its line as a waiter that gives up would; what the thread was
\* granted is passed on.
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

\* All threads have left the group's lists, and the group is closed.
HandBack ==
  /\ group = "stopped"
  /\ \A w \in Leavers : at[w] \in {"done", "left"}
  /\ \A r \in Runners : does[r] # "runs"
  /\ group' = "closed"
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, sleeps, got, hurt>>

\* The free finds threads that are counted, and waits.
Sleep ==                      \* [wakers.3] wp__wakers_wait
  /\ group = "closed"
  /\ wakers # 0
  /\ ~sleeps
  /\ sleeps' = TRUE
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, group, got, hurt>>

\* No thread is counted any more, and the group is freed.
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

\* A grant never goes to a thread that will not run: a thread that was handed back is in no line.
NoDeadGrant == \A w \in Leavers : at[w] = "left" => ~InLine(w)

\* A thing that was granted to a leaver is passed on: each thing given is in the object, on its way
\* to a waiter, or with a thread that runs.
PassedOn ==
  LET given == Cardinality({g \in Granters : does[g] # "idle"})
      flying == {g \in Granters : does[g] \in {"take", "store"}}
      held == {w \in Waiters : at[w] = "has"}
      told == {w \in Waiters : at[w] = "waits" /\ granted[w]}
  IN given = things + Cardinality(flying) + Cardinality(told \cup held) + got

\* No thread sleeps that has a thing, or that is first in line while there is a thing, unless its
\* wakeup is on its way.
NoLostWake ==
  \A w \in Waiters :
    /\ at[w] = "waits"
    /\ ~awake[w]
    /\ granted[w] \/ (things > 0 /\ line # <<>> /\ w = Head(line))
    => \E g \in Granters : target[g] = w /\ does[g] = "wake"

\* No granter, and no thread that runs one of the group's, touches the group after it is freed.
NoTouchAfterFree == "group" \notin hurt

\* A close leaves a waiter's memory alone until a grant that has begun is stored.
NoTouchAfterLeave == "waiter" \notin hurt

\* A free does not wait for ever.
FreeEnds == <>(group = "freed")
=============================================================================
