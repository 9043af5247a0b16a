------------------------------ MODULE Semaphore -----------------------------
(***************************************************************************)
(* Permits, taken some at a time, in the order of the line.                *)
(* Code       kernel/semaphore.h, semaphore.c; [YS1]..[YS8] name sites.    *)
(* Abstracts  a grant to a step of its own that reaches its waiter (Waitq);*)
(*            the list's lock to single steps.                             *)
(* Memory     sequential consistency.                                      *)
(* Promises   PermitBalance, NoIdlePermit (safety); InOrder, Served        *)
(*            (temporal).                                                  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Threads,  \* acquire and release for ever
  Leavers,  \* those of them that may give up waiting
  Large,    \* those that want two permits; the others want one
  Permits,  \* at first
  Twin      \* "none", or the one defect of this model

ASSUME EnoughForOne == Leavers \cup Large \subseteq Threads /\ Permits >= 2

VARIABLES
  permits, \* free ones
  queued,  \* the bit of the word
  line,    \* waiters in line
  pc,      \* thread -> what it does next
  flying   \* waiters that were taken off the line, and are not granted yet
vars == <<permits, queued, line, pc, flying>>

Wants(t) == IF t \in Large THEN 2 ELSE 1

TypeOK ==
  /\ permits \in Nat /\ queued \in BOOLEAN /\ line \in Seq(Threads) /\ flying \subseteq Threads
  /\ pc \in [Threads -> {"idle", "begin", "wait", "late", "await", "hold"}]

Init ==
  /\ permits = Permits /\ queued = FALSE /\ line = <<>> /\ flying = {}
  /\ pc = [t \in Threads |-> "idle"]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
InLine(t) == \E i \in 1 .. Len(line) : line[i] = t
Without(t) == SelectSeq(line, LAMBDA x : x # t)

\* How many of a line are served, and what becomes of the rest.
RECURSIVE Suffices(_, _)
Suffices(waiting, free) ==
  IF waiting = <<>> \/ Wants(Head(waiting)) > free THEN 0
  ELSE IF Twin = "serves_one" THEN 1
  ELSE 1 + Suffices(Tail(waiting), free - Wants(Head(waiting)))
RECURSIVE Sum(_)
Sum(waiting) == IF waiting = <<>> THEN 0 ELSE Wants(Head(waiting)) + Sum(Tail(waiting))
Serve(waiting, free) ==       \* [YS4] [YS5] serve, under the lock
  LET n == Suffices(waiting, free)
      served == SubSeq(waiting, 1, n)
      rest == SubSeq(waiting, n + 1, Len(waiting)) IN
  /\ permits' = free - Sum(served)
  /\ line' = rest /\ queued' = (rest # <<>>)
  /\ flying' = flying \cup {served[i] : i \in 1 .. n}

Begin(t) == pc[t] = "idle" /\ Goto(t, "begin") /\ UNCHANGED <<permits, queued, line, flying>>
Acquire(t) ==                 \* [YS1] [YS7] nobody waits, and they are there
  /\ pc[t] = "begin" /\ permits >= Wants(t)
  /\ ~queued \/ Twin = "overtakes"
  /\ permits' = permits - Wants(t) /\ Goto(t, "hold")
  /\ UNCHANGED <<queued, line, flying>>
Queue(t) ==                   \* [YS2] under the lock
  /\ pc[t] = "begin" /\ (queued \/ permits < Wants(t))
  /\ queued' = TRUE /\ line' = Append(line, t) /\ Goto(t, "wait")
  /\ UNCHANGED <<permits, flying>>
Grant(t) ==                   \* [YW2] [YW1] [YW3]
  /\ t \in flying /\ pc[t] \in {"wait", "await"}
  /\ IF Twin = "grants_none" THEN UNCHANGED <<flying, pc>>
     ELSE flying' = flying \ {t} /\ Goto(t, "hold")
  /\ UNCHANGED <<permits, queued, line>>
TimeOut(t) ==
  /\ t \in Leavers /\ pc[t] = "wait" /\ Goto(t, "late")
  /\ UNCHANGED <<permits, queued, line, flying>>
Cancel(t) ==                  \* wp__semaphore_cancel, under the lock
  /\ pc[t] = "late"
  /\ IF InLine(t)
     THEN /\ Goto(t, "idle")
          /\ IF Twin = "leaves_silent" THEN line' = Without(t) /\ UNCHANGED <<permits, queued, flying>>
             ELSE Serve(Without(t), permits)
     ELSE IF Twin = "grant_ignored"
     THEN Goto(t, "idle") /\ flying' = flying \ {t} /\ UNCHANGED <<permits, queued, line>>
     ELSE Goto(t, "await") /\ UNCHANGED <<permits, queued, line, flying>>
Release(t) ==                 \* [YS3] [YS8] nobody waits; else [YS4], under the lock
  /\ pc[t] = "hold" /\ Goto(t, "idle")
  /\ IF queued /\ line # <<>> THEN Serve(line, permits + Wants(t))
     ELSE permits' = permits + Wants(t) /\ UNCHANGED <<queued, line, flying>>

Steps(t) == Acquire(t) \/ Queue(t) \/ Grant(t) \/ Cancel(t) \/ Release(t)
Next == \E t \in Threads : Steps(t) \/ Begin(t) \/ TimeOut(t)
Fairness == \A t \in Threads : WF_vars(Steps(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)
Has == {t \in Threads : pc[t] = "hold" \/ t \in flying}
RECURSIVE Total(_)
Total(ts) == IF ts = {} THEN 0 ELSE LET t == CHOOSE x \in ts : TRUE IN Wants(t) + Total(ts \ {t})
\* [YS6] None is lost, none is invented.
PermitBalance == permits + Total(Has) = Permits
\* None is free that the first in line could use, and nobody else is kept from free ones.
NoIdlePermit == IF line = <<>> THEN ~queued ELSE queued /\ permits < Wants(Head(line))
\* Who waits gets them in the order of the line, and nobody past it.
InOrder == [][\A t \in Threads :
  /\ t \in flying' \ flying => \A i \in 1 .. Len(line) : line[i] = t =>
       \A j \in 1 .. i : line[j] \in flying' \/ pc[line[j]] = "late"
  /\ pc[t] = "begin" /\ pc'[t] = "hold" => line = <<>>]_vars
\* Who waits and does not give up gets them, if who has some releases them.
Served == \A t \in Threads \ Leavers : InLine(t) ~> pc[t] = "hold"
=============================================================================
Results: MCSemaphore 504 states, depth 14.
