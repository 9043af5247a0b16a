-------------------------------- MODULE Mutex -------------------------------
(***************************************************************************)
(* Mutual exclusion.  A free mutex goes to whoever comes first, but the    *)
(* first of the line is passed a bounded number of times.                  *)
(* Code       kernel/mutex.h, mutex.c; [YM1]..[YM19] name sites there.     *)
(* Abstracts  a park to a sleep that a wake, a grant, a deadline or        *)
(*            nothing ends (Waitq: the wake reaches it); the list's lock   *)
(*            to single steps: each holds one change of the word.          *)
(* Memory     sequential consistency.                                      *)
(* Promises   MutualExclusion, NoLostSignal, BoundedBypass (safety);       *)
(*            InOrder, Served (temporal).                                  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Threads,   \* lock and unlock for ever
  Leavers,   \* those of them that may give up waiting
  Passes,    \* WP_MUTEX_PASSES
  Twin       \* "none", or the one defect of this model

ASSUME SomebodyLocks == Leavers \subseteq Threads /\ Passes \in Nat

VARIABLES
  word,    \* mutex->word: locked, queued, woken, passes
  line,    \* waiters in line
  pc,      \* thread -> what it does next
  up,      \* thread -> its park is to end: told to look, or granted
  granted, \* thread -> its waiter's state is GRANTED
  target,  \* thread -> whom it is about to wake, or grant
  bypass   \* ghost: passes since the first of the line is the first
vars == <<word, line, pc, up, granted, target, bypass>>

NoOne == "no one"
Free == [locked |-> FALSE, queued |-> FALSE, woken |-> FALSE, passes |-> 0]

TypeOK ==
  /\ word \in [locked : BOOLEAN, queued : BOOLEAN, woken : BOOLEAN, passes : Nat]
  /\ line \in Seq(Threads) /\ bypass \in Nat
  /\ pc \in [Threads -> {"idle", "hold", "slow", "wake", "grant", "park", "look", "late", "await"}]
  /\ up \in [Threads -> BOOLEAN] /\ granted \in [Threads -> BOOLEAN]
  /\ target \in [Threads -> Threads \cup {NoOne}]

Init ==
  /\ word = Free /\ line = <<>> /\ bypass = 0
  /\ pc = [t \in Threads |-> "idle"] /\ target = [t \in Threads |-> NoOne]
  /\ up = [t \in Threads |-> FALSE] /\ granted = up

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
InLine(t) == \E i \in 1 .. Len(line) : line[i] = t
Without(t) == SelectSeq(line, LAMBDA x : x # t)
IsFirst(t) == line # <<>> /\ Head(line) = t
Waits == <<line, up, granted, target>>
\* Taken by the first of the line, or handed to it: `rest` waits on.
Taken(rest) == [locked |-> TRUE, queued |-> rest # <<>>, woken |-> FALSE, passes |-> 0]

(* Lock. *)
Lock(t) ==                    \* [YM1] nobody waits; [YM2] [YM9] past the line, and counted
  /\ pc[t] = "idle" /\ ~word.locked
  /\ word' = [word EXCEPT !.locked = TRUE,
                          !.passes = IF word.queued /\ Twin # "passes_uncounted" THEN @ + 1 ELSE @]
  /\ bypass' = IF line # <<>> /\ bypass <= Passes THEN bypass + 1 ELSE bypass
  /\ Goto(t, "hold") /\ UNCHANGED Waits
Queue(t) ==                   \* [YM3] [YM10] held; or marked already: who unlocks sees that
  /\ pc[t] = "idle" /\ (word.locked \/ word.queued)
  /\ word' = [word EXCEPT !.queued = TRUE]
  /\ line' = Append(line, t) /\ Goto(t, "park")
  /\ UNCHANGED <<up, granted, target, bypass>>
Return(t) ==                  \* a park ends
  /\ pc[t] = "park" /\ up[t]
  /\ up' = [up EXCEPT ![t] = FALSE] /\ Goto(t, "look")
  /\ UNCHANGED <<word, line, granted, target, bypass>>
Stray(t) ==                   \* for nothing
  /\ pc[t] = "park" /\ ~up[t] /\ Goto(t, "look")
  /\ UNCHANGED <<word, bypass, Waits>>
Has(t) ==                     \* [YW1] [YW3]
  /\ Goto(t, "hold") /\ granted' = [granted EXCEPT ![t] = FALSE]
  /\ up' = [up EXCEPT ![t] = FALSE] \* a late wake is of a park that is over
Look(t) ==                    \* [YM7] [YM8] [YM12] [YM17] wp__mutex_check, under the lock
  /\ pc[t] = "look"
  /\ IF granted[t] THEN Has(t) /\ UNCHANGED <<word, line, bypass>>
     ELSE IF ~InLine(t) THEN Goto(t, "await") /\ UNCHANGED <<word, line, up, granted, bypass>>
     ELSE IF (IsFirst(t) \/ Twin = "any_takes") /\ ~word.locked
     THEN /\ word' = Taken(Without(t)) /\ line' = Without(t) /\ bypass' = 0
          /\ Goto(t, "hold") /\ UNCHANGED <<up, granted>>
     ELSE /\ word' = IF IsFirst(t) /\ Twin # "woken_kept" THEN [word EXCEPT !.woken = FALSE] ELSE word
          /\ Goto(t, "park") /\ UNCHANGED <<line, up, granted, bypass>>
  /\ UNCHANGED target
Await(t) ==
  /\ pc[t] = "await" /\ granted[t] /\ Has(t)
  /\ UNCHANGED <<word, line, target, bypass>>
TimeOut(t) ==
  /\ t \in Leavers /\ pc[t] = "park" /\ Goto(t, "late")
  /\ up' = [up EXCEPT ![t] = FALSE]
  /\ UNCHANGED <<word, line, granted, target, bypass>>
Cancel(t) ==                  \* [YM14] [YM18] [YM19] wp__mutex_cancel, under the lock
  /\ pc[t] = "late"
  /\ IF ~InLine(t) THEN Goto(t, "await") /\ UNCHANGED <<word, line, target, bypass>>
     ELSE LET rest == Without(t)
              passesOn == IsFirst(t) /\ rest # <<>> /\ word.woken /\ Twin # "leaves_silent" IN
          /\ line' = rest
          /\ word' = IF rest = <<>> THEN [Free EXCEPT !.locked = word.locked] ELSE word
          /\ bypass' = IF IsFirst(t) THEN 0 ELSE bypass
          /\ Goto(t, IF passesOn THEN "wake" ELSE "idle")
          /\ target' = IF passesOn THEN [target EXCEPT ![t] = Head(rest)] ELSE target
  /\ UNCHANGED <<up, granted>>

(* Unlock. *)
Unlock(t) ==                  \* [YM4] nobody waits; [YM5] [YM16] the first is coming; else the lock
  /\ pc[t] = "hold"
  /\ IF word.queued /\ ~(word.woken /\ word.passes < Passes)
     THEN Goto(t, "slow") /\ UNCHANGED word
     ELSE Goto(t, "idle") /\ word' = [word EXCEPT !.locked = FALSE]
  /\ UNCHANGED <<bypass, Waits>>
Slow(t) ==                    \* [YM6] [YM11] [YM13] [YM15] wp__mutex_unlock_queued, under the lock
  /\ pc[t] = "slow"
  /\ IF line = <<>> THEN Goto(t, "hold") /\ UNCHANGED <<word, line, target, bypass>>
     ELSE IF word.passes >= Passes
     THEN /\ word' = [Taken(Tail(line)) EXCEPT !.locked = Twin # "hands_over_free"]
          /\ line' = Tail(line) /\ bypass' = 0
          /\ target' = [target EXCEPT ![t] = Head(line)] /\ Goto(t, "grant")
     ELSE /\ word' = [word EXCEPT !.locked = FALSE, !.woken = TRUE]
          /\ target' = IF Twin = "first_untold" THEN target
                       ELSE [target EXCEPT ![t] = Head(line)]
          /\ Goto(t, IF Twin = "first_untold" THEN "idle" ELSE "wake")
          /\ UNCHANGED <<line, bypass>>
  /\ UNCHANGED <<up, granted>>
Grant(t) ==                   \* [YW2]
  /\ pc[t] = "grant" /\ Goto(t, IF Twin = "grant_unwoken" THEN "idle" ELSE "wake")
  /\ granted' = [granted EXCEPT ![target[t]] = TRUE]
  /\ UNCHANGED <<word, line, up, target, bypass>>
Wake(t) ==                    \* wp__wake: ends the park that it is meant for, or none
  /\ pc[t] = "wake" /\ Goto(t, "idle")
  /\ up' = IF pc[target[t]] = "park" THEN [up EXCEPT ![target[t]] = TRUE] ELSE up
  /\ target' = [target EXCEPT ![t] = NoOne]
  /\ UNCHANGED <<word, line, granted, bypass>>

Steps(t) == \/ Lock(t) \/ Queue(t) \/ Return(t) \/ Look(t) \/ Await(t) \/ Cancel(t)
            \/ Unlock(t) \/ Slow(t) \/ Grant(t) \/ Wake(t)
Next == \E t \in Threads : Steps(t) \/ Stray(t) \/ TimeOut(t)
\* Who may lock need not; who waits, holds or unlocks goes on.
Fairness == \A t \in Threads : WF_vars(pc[t] # "idle" /\ Steps(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)
Holders == {t \in Threads : pc[t] \in {"hold", "slow", "grant"} \/ granted[t]}
MutualExclusion == Cardinality(Holders) <= 1 /\ (Holders # {} => word.locked)
\* Beside a free mutex the first in line looks, or is about to.
NoLostSignal ==
  line # <<>> /\ ~word.locked =>
    /\ word.woken
    /\ \/ pc[Head(line)] \in {"look", "late"} \/ up[Head(line)]
       \/ \E t \in Threads : pc[t] = "wake" /\ target[t] = Head(line)
\* While one is the first in line, so many others take it, and no more.
BoundedBypass == bypass <= Passes
\* Who waits gets it in the order of the line.
InOrder == [][\A t \in Threads : InLine(t) /\ ~InLine(t)' /\ pc[t] # "late" => IsFirst(t)]_vars
\* Who waits and does not give up gets it.
Served == \A t \in Threads \ Leavers : InLine(t) ~> pc[t] = "hold"
=============================================================================
Results: MCMutex 2,709 states, depth 24.
