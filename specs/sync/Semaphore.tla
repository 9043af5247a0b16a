------------------------------ MODULE Semaphore -----------------------------
(***************************************************************************)
(* Permits, taken some at a time, in the order of the line.                *)
(* Code       kernel/sync/semaphore.h, semaphore.c;                        *)
(*            [semaphore.1]..[semaphore.8] name sites.                     *)
(* Abstracts  waiters to OS threads (WaitQueue has virtual ones, too); the *)
(*            list's lock to who has it.                                   *)
(* Memory     sequential consistency.                                      *)
(* Promises   PermitBalance, NoIdlePermit (safety); InOrder, Served        *)
(*            (temporal).                                                  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Threads,  \* acquire and release for ever
  Leavers,  \* those of them that may give up waiting
  Large,    \* those that want two permits; the others want one
  Permits   \* at first

ASSUME EnoughForOne == Leavers \cup Large \subseteq Threads /\ Permits >= 2

VARIABLES
  permits, \* free ones
  queued,  \* the bit of the word
  lock,    \* of the list: who has it
  line,    \* waiters in line
  pc,      \* thread -> what it does next
  hand,    \* thread -> waiters that it has taken off the line, and not granted yet
  target,  \* thread -> whom it has granted, and is about to wake
  granted  \* waiters that are, until they begin again
vars == <<permits, queued, lock, line, pc, hand, target, granted>>

NoOne == "no one"
Wants(t) == IF t \in Large THEN 2 ELSE 1
Range(s) == {s[i] : i \in 1 .. Len(s)}
Waiting == {"wait", "asleep", "back", "late", "cancel", "await"}

TypeOK ==
  /\ permits \in Nat
  /\ queued \in BOOLEAN
  /\ lock \in Threads \cup {NoOne}
  /\ line \in Seq(Threads)
  /\ pc \in [Threads -> Waiting \cup
       {"idle", "begin", "lock", "decide", "taken", "hold", "slow", "serve", "unlock", "grant",
        "wake"}]
  /\ hand \in [Threads -> Seq(Threads)]
  /\ target \in [Threads -> Threads \cup {NoOne}]
  /\ granted \subseteq Threads

Init ==
  /\ permits = Permits
  /\ queued = FALSE
  /\ lock = NoOne
  /\ line = <<>>
  /\ pc = [t \in Threads |-> "idle"]
  /\ hand = [t \in Threads |-> <<>>]
  /\ target = [t \in Threads |-> NoOne]
  /\ granted = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
InLine(t) == \E i \in 1 .. Len(line) : line[i] = t
Without(t) == SelectSeq(line, LAMBDA x : x # t)
Wakes == <<hand, target, granted>>

\* How many of a line are served, and what becomes of the rest.
RECURSIVE Suffices(_, _)
Suffices(waiting, free) ==
  IF waiting = <<>> \/ Wants(Head(waiting)) > free
  THEN 0
  ELSE 1 + Suffices(Tail(waiting), free - Wants(Head(waiting)))
RECURSIVE Sum(_)
Sum(waiting) == IF waiting = <<>> THEN 0 ELSE Wants(Head(waiting)) + Sum(Tail(waiting))
Serve(t, waiting, free) ==    \* [semaphore.4] [semaphore.5] serve, under the lock
  LET n == Suffices(waiting, free)
      rest == SubSeq(waiting, n + 1, Len(waiting))
  IN /\ permits' = free - Sum(SubSeq(waiting, 1, n))
     /\ queued' = (rest # <<>>)
     /\ line' = rest
     /\ hand' = [hand EXCEPT ![t] = SubSeq(waiting, 1, n)]
     /\ Goto(t, "unlock")
     /\ UNCHANGED <<lock, target, granted>>

(* Acquire. *)
Begin(t) ==                   \* what its last wait was granted is over
  /\ pc[t] = "idle"
  /\ Goto(t, "begin")
  /\ granted' = granted \ {t}
  /\ UNCHANGED <<permits, queued, lock, line, hand, target>>
MayTake(t) ==
  /\ permits >= Wants(t)
  /\ ~queued
Take(t) ==                    \* [semaphore.1] nobody waits, they are there: without the lock, or with it
  /\ pc[t] \in {"begin", "decide"}
  /\ MayTake(t)
  /\ permits' = permits - Wants(t)
  /\ Goto(t, IF pc[t] = "begin" THEN "hold" ELSE "taken")
  /\ UNCHANGED <<queued, lock, line, Wakes>>
Miss(t) ==                    \* [semaphore.7]
  /\ pc[t] = "begin"
  /\ ~MayTake(t)
  /\ Goto(t, "lock")
  /\ UNCHANGED <<permits, queued, lock, line, Wakes>>
Lock(t) ==
  /\ pc[t] \in {"lock", "late", "slow"}
  /\ lock = NoOne
  /\ lock' = t
  /\ Goto(t, CASE pc[t] = "lock" -> "decide"
               [] pc[t] = "late" -> "cancel"
               [] pc[t] = "slow" -> "serve")
  /\ UNCHANGED <<permits, queued, line, Wakes>>
Mark(t) ==                    \* [semaphore.2]
  /\ pc[t] = "decide"
  /\ ~MayTake(t)
  /\ ~queued
  /\ queued' = TRUE
  /\ UNCHANGED <<permits, lock, line, pc, Wakes>>
Unlock(t) ==
  /\ lock' = NoOne
  /\ \/ /\ pc[t] = "decide"
        /\ queued
        /\ ~MayTake(t)
        /\ line' = Append(line, t)
        /\ Goto(t, "wait")
     \/ /\ pc[t] = "taken"
        /\ Goto(t, "hold")
        /\ UNCHANGED line
     \/ /\ pc[t] = "cancel"
        /\ ~InLine(t)
        /\ Goto(t, "await")
        /\ UNCHANGED line
     \/ /\ pc[t] = "serve"
        /\ line = <<>>
        /\ Goto(t, "hold")
        /\ UNCHANGED line
     \/ /\ pc[t] = "unlock"
        /\ Goto(t, IF hand[t] = <<>> THEN "idle" ELSE "grant")
        /\ UNCHANGED line
  /\ UNCHANGED <<permits, queued, Wakes>>
Sleep(t) ==                   \* the system call: not if it is granted
  /\ pc[t] = "wait"
  /\ Goto(t, IF t \in granted THEN "back" ELSE "asleep")
  /\ UNCHANGED <<permits, queued, lock, line, Wakes>>
Stray(t) ==                   \* it ends for nothing
  /\ pc[t] = "asleep"
  /\ Goto(t, "back")
  /\ UNCHANGED <<permits, queued, lock, line, Wakes>>
Look(t) ==                    \* [wait_queue.1]
  /\ pc[t] = "back"
  /\ Goto(t, IF t \in granted THEN "hold" ELSE "wait")
  /\ UNCHANGED <<permits, queued, lock, line, Wakes>>
TimeOut(t) ==
  /\ t \in Leavers
  /\ pc[t] = "asleep"
  /\ Goto(t, "late")
  /\ UNCHANGED <<permits, queued, lock, line, Wakes>>
Cancel(t) ==                  \* wp__semaphore_cancel, under the lock
  /\ pc[t] = "cancel"
  /\ InLine(t)
  /\ Serve(t, Without(t), permits)
Await(t) ==                   \* [wait_queue.3]
  /\ pc[t] = "await"
  /\ t \in granted
  /\ Goto(t, "hold")
  /\ UNCHANGED <<permits, queued, lock, line, Wakes>>

(* Release. *)
Release(t) ==                 \* [semaphore.3] [semaphore.8] nobody waits
  /\ pc[t] = "hold"
  /\ ~queued
  /\ permits' = permits + Wants(t)
  /\ Goto(t, "idle")
  /\ UNCHANGED <<queued, lock, line, Wakes>>
Slow(t) ==                    \* [semaphore.8]
  /\ pc[t] = "hold"
  /\ queued
  /\ Goto(t, "slow")
  /\ UNCHANGED <<permits, queued, lock, line, Wakes>>
ServeLine(t) ==
  /\ pc[t] = "serve"
  /\ line # <<>>
  /\ Serve(t, line, permits + Wants(t))
Grant(t) ==                   \* [wait_queue.2] the first of those that were served, first
  /\ pc[t] = "grant"
  /\ granted' = granted \cup {Head(hand[t])}
  /\ target' = [target EXCEPT ![t] = Head(hand[t])]
  /\ hand' = [hand EXCEPT ![t] = Tail(@)]
  /\ Goto(t, "wake")
  /\ UNCHANGED <<permits, queued, lock, line>>
Wake(t) ==                    \* the system call
  /\ pc[t] = "wake"
  /\ target' = [target EXCEPT ![t] = NoOne]
  /\ pc' = [pc EXCEPT ![t] = IF hand[t] = <<>> THEN "idle" ELSE "grant",
                      ![target[t]] = IF @ = "asleep" THEN "back" ELSE @]
  /\ UNCHANGED <<permits, queued, lock, line, hand, granted>>

Steps(t) ==
  \/ Take(t) \/ Miss(t) \/ Lock(t) \/ Mark(t) \/ Unlock(t) \/ Sleep(t) \/ Look(t) \/ Cancel(t)
  \/ Await(t) \/ Release(t) \/ Slow(t) \/ ServeLine(t) \/ Grant(t) \/ Wake(t)
Next == \E t \in Threads : Steps(t) \/ Begin(t) \/ Stray(t) \/ TimeOut(t)
\* Who begins, waits, or has some goes on, and gets the lock if it is free again and again.
Fairness == \A t \in Threads : WF_vars(Steps(t)) /\ SF_vars(Lock(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)
Has ==
  {t \in Threads : \/ pc[t] \in {"taken", "hold", "slow", "serve"}
                   \/ t \in granted /\ pc[t] \in Waiting}
  \cup UNION {Range(hand[t]) : t \in Threads}
RECURSIVE Total(_)
Total(ts) ==
  IF ts = {}
  THEN 0
  ELSE LET t == CHOOSE x \in ts : TRUE
       IN Wants(t) + Total(ts \ {t})
\* No permit is lost or invented.
PermitBalance == permits + Total(Has) = Permits   \* [semaphore.6]
\* No permit is free that the first in line could use, and nobody else is kept from free ones.
NoIdlePermit ==
  lock = NoOne =>
    IF line = <<>>
    THEN ~queued
    ELSE /\ queued
         /\ permits < Wants(Head(line))
\* Who waits gets its permits in the order of the line, and nobody goes past it.
InOrder == [][\A t \in Threads :
  /\ InLine(t) /\ t \notin Range(line') /\ pc[t] # "cancel" =>
       \A i \in 1 .. Len(line) : line[i] = t => \A j \in 1 .. i : line[j] \notin Range(line')
  /\ permits' < permits /\ pc[t] \in {"begin", "decide"} /\ pc'[t] # pc[t] => line = <<>>]_vars
\* Who waits and does not give up gets its permits, if who has some releases them, and the lock of
\* the line lets who waits for it in at last.
Served == \A t \in Threads \ Leavers : InLine(t) ~> pc[t] = "hold"
=============================================================================
