-------------------------------- MODULE WaitQueueLeave -------------------------------
(***************************************************************************)
(* A group closes while its virtual threads stand in lines that outlive    *)
(* it: the close leaves each line in their stead.  It is freed while       *)
(* others may still be waking those threads: the free waits for them.      *)
(* Code       kernel/thread/wakers.h, wait_queue.h, group.c, and the       *)
(*            `leave` of each kind of wait in mutex.c, semaphore.c,        *)
(*            channel.c, condition.c; [wakers.1] to [wakers.4] name sites  *)
(*            there.                                                       *)
(* Abstracts  the object to things that are given one by one; its lock to  *)
(*            single steps; parks to `awake`, WaitQueue has their numbers; *)
(*            a wake that the close itself sends, or a thread that looks,  *)
(*            to a part of its step, for nobody waits for that one's end.  *)
(* Memory     sequential consistency.                                      *)
(* Promises   NoDeadGrant, PassedOn, NoLostWake, NoTouchAfterFree,         *)
(*            NoTouchAfterLeave (safety), FreeEnds (liveness).             *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Leavers,   \* virtual threads of the group, each waits once
  Stayers,   \* threads of other groups, OS threads: no close hands them back
  Granters,  \* threads outside the group that give one thing each
  Runners,   \* OS threads of a scheduler, each runs one thread of the group to its end
  Tells      \* TRUE: the thing stays, the first is told to look: a mutex; FALSE: it is given

ASSUME SomebodyLeaves == Leavers # {} /\ Tells \in BOOLEAN

Waiters == Leavers \cup Stayers
Nobody == "nobody"

VARIABLES
  line,     \* waiters in line
  things,   \* in the object, for who comes next
  at,       \* waiter -> "idle", "waits", "has" a mutex, "done", or "left": handed back
  granted,  \* waiter -> GRANTED is stored
  awake,    \* waiter -> it has been woken, and is to look
  does,     \* granter, runner -> what it does next
  target,   \* granter -> whom it has taken off the line, or tells
  wakers,   \* the group's count of those who are inside
  group,    \* "open", "stopped": its carriers have ended, "closed", "freed"
  sleeps,   \* the free waits, until the last one that is counted has woken it
  got,      \* ghost: things that waiters have
  hurt      \* ghost: what was touched that was gone: a set
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
Touch(what, isGone) == hurt' = IF isGone THEN hurt \cup {what} ELSE hurt
IsFreed(w) == w \in Leavers /\ group = "freed"
Counted(w) == IF w \in Leavers THEN 1 ELSE 0
Runs(w) == w \in Stayers \/ group = "open"

\* It has a thing: for good, but for a mutex, which it is to unlock.
Has(w) ==
  IF Tells /\ w \in Leavers
  THEN /\ at' = [at EXCEPT ![w] = "has"]
       /\ UNCHANGED got
  ELSE /\ at' = [at EXCEPT ![w] = "done"]
       /\ got' = got + 1

\* The object with `more` things, in the step of who says so: the first is told, or has one.
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
Begin(w) ==                   \* wp__mutex_begin and its like
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

Look(w) ==                    \* its park ended, for a wake or for nothing: wp__mutex_check and its like
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

GiveUp(w) ==                  \* too late, or interrupted: wp__mutex_cancel and its like
  /\ at[w] = "waits"
  /\ Runs(w)
  /\ InLine(w)
  /\ at' = [at EXCEPT ![w] = "done"]
  /\ Serve(Without(w), things, granted)
  /\ UNCHANGED <<does, target, wakers, group, sleeps, got, hurt>>

Unlock(w) ==                  \* wp_mutex_unlock
  /\ at[w] = "has"
  /\ Runs(w)
  /\ at' = [at EXCEPT ![w] = "done"]
  /\ Serve(line, things + 1, granted)
  /\ UNCHANGED <<does, target, wakers, group, sleeps, got, hurt>>

(* A granter. *)
Give(g) ==                    \* under the lock: to the first; or left for it, which is told to look
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

Enter(g) ==                   \* [wakers.1] counted, before the waiter can see its grant
  /\ does[g] = "take"
  /\ wakers' = wakers + Counted(target[g])
  /\ Touch("group", IsFreed(target[g]))
  /\ Goto(g, "store")
  /\ UNCHANGED <<line, things, at, granted, awake, target, group, sleeps, got>>

Store(g) ==                   \* [wait_queue.2]
  /\ does[g] = "store"
  /\ granted' = [granted EXCEPT ![target[g]] = TRUE]
  /\ Touch("waiter", at[target[g]] # "waits")
  /\ Goto(g, "wake")
  /\ UNCHANGED <<line, things, at, awake, target, wakers, group, sleeps, got>>

Wake(g) ==                    \* wp__wake: the thread's word, its carrier
  /\ does[g] = "wake"
  /\ awake' = [awake EXCEPT ![target[g]] = TRUE]
  /\ Touch("group", IsFreed(target[g]))
  /\ Goto(g, "exit")
  /\ UNCHANGED <<line, things, at, granted, target, wakers, group, sleeps, got>>

CountOut(n) ==                \* [wakers.2] the last touch; the last one wakes who frees, by address
  /\ wakers' = wakers - n
  /\ sleeps' = (sleeps /\ wakers' # 0)

Exit(g) ==
  /\ does[g] = "exit"
  /\ CountOut(Counted(target[g]))
  /\ Touch("group", IsFreed(target[g]))
  /\ Goto(g, "done")
  /\ UNCHANGED <<line, things, at, granted, awake, target, group, got>>

(* An OS thread inside wp_vthread_run. *)
End(r) ==                     \* its thread is off its home's list
  /\ does[r] = "runs"
  /\ Goto(r, "ended")
  /\ UNCHANGED <<line, things, at, granted, awake, target, wakers, group, sleeps, got, hurt>>

Return(r) ==                  \* after `left`, and what else touches the group
  /\ does[r] = "ended"
  /\ CountOut(1)
  /\ Touch("group", group = "freed")
  /\ Goto(r, "done")
  /\ UNCHANGED <<line, things, at, granted, awake, target, group, got>>

(* The close, and the free. *)
Stop ==                       \* workers_join: cancelled, or too late
  /\ group = "open"
  /\ group' = "stopped"
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, sleeps, got, hurt>>

Abandon(w) ==                 \* wp__vthread_abandon_held: as who unlocks
  /\ group = "stopped"
  /\ at[w] = "has"
  /\ at' = [at EXCEPT ![w] = "left"]
  /\ Serve(line, things + 1, granted)
  /\ UNCHANGED <<does, target, wakers, group, sleeps, got, hurt>>

LeaveLine(w) ==               \* wp__vthread_leave_line: as who gives up; or what it has is passed on
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

HandBack ==                   \* nobody is listed any more
  /\ group = "stopped"
  /\ \A w \in Leavers : at[w] \in {"done", "left"}
  /\ \A r \in Runners : does[r] # "runs"
  /\ group' = "closed"
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, sleeps, got, hurt>>

Sleep ==                      \* [wakers.3] wp__wakers_wait
  /\ group = "closed"
  /\ wakers # 0
  /\ ~sleeps
  /\ sleeps' = TRUE
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, group, got, hurt>>

Free ==                       \* [wakers.4] nobody is counted any more
  /\ group = "closed"
  /\ wakers = 0
  /\ ~sleeps
  /\ group' = "freed"
  /\ UNCHANGED <<line, things, at, granted, awake, does, target, wakers, sleeps, got, hurt>>

Finished ==                   \* who waits now waits for things that nobody gives
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
\* A grant never goes to a thread that will not run: who was handed back is in no line.
NoDeadGrant == \A w \in Leavers : at[w] = "left" => ~InLine(w)

\* What was granted to a leaver is passed on: each thing given is in the object, on its way to who
\* waits, or with one who runs.
PassedOn ==
  LET given == Cardinality({g \in Granters : does[g] # "idle"})
      flying == {g \in Granters : does[g] \in {"take", "store"}}
      held == {w \in Waiters : at[w] = "has"}
      told == {w \in Waiters : at[w] = "waits" /\ granted[w]}
  IN given = things + Cardinality(flying) + Cardinality(told \cup held) + got

\* Nobody sleeps who has something, or is first while there is something, unless its wake is on its way.
NoLostWake ==
  \A w \in Waiters :
    /\ at[w] = "waits"
    /\ ~awake[w]
    /\ granted[w] \/ (things > 0 /\ line # <<>> /\ w = Head(line))
    => \E g \in Granters : target[g] = w /\ does[g] = "wake"

\* Nobody who grants, or runs a thread, touches a group that is freed.
NoTouchAfterFree == "group" \notin hurt
\* A close leaves a waiter's memory alone until the grant that has begun is said.
NoTouchAfterLeave == "waiter" \notin hurt

\* A free does not wait for ever.
FreeEnds == <>(group = "freed")
=============================================================================
