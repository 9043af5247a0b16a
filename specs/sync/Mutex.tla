-------------------------------- MODULE Mutex -------------------------------
(***************************************************************************)
(* A mutex with a line of waiters. An unlock leaves the mutex free for the *)
(* first thread that takes it. This thread may be a newcomer that barges   *)
(* past the line. Barging is bounded: after WP_MUTEX_BYPASSES newcomers    *)
(* have barged, the next unlock hands the mutex over to the first waiter   *)
(* in line. A look in vain by that waiter counts as WP_MUTEX_MISS          *)
(* newcomers.                                                              *)
(*                                                                         *)
(* Code       kernel/sync/mutex.h, mutex.c; [mutex.1]..[mutex.19] name     *)
(*            sites there.                                                 *)
(* Abstracts  waiters to OS threads (WaitQueue has virtual threads, too);  *)
(*            the lock of the list to the thread that holds it. The list   *)
(*            is the line of waiters, in the code.                         *)
(* Memory     sequential consistency.                                      *)
(* Promises   MutualExclusion, NoLostSignal, BoundedBypass (safety);       *)
(*            InOrder, MissesCounted, Served (temporal).                   *)
(***************************************************************************)
EXTENDS MutexCore

Waiting == {"wait", "asleep", "back", "look", "check", "late", "cancel", "await"}
TypeOK ==
  /\ word \in [locked : BOOLEAN, queued : BOOLEAN, woken : BOOLEAN, passes : Nat]
  /\ lock \in Threads \cup {NoOne}
  /\ line \in Seq(Threads)
  /\ pc \in [Threads -> Waiting \cup
       {"idle", "begin", "lock", "decide", "mark", "taken", "renew", "renewed", "gone", "hold",
        "slow", "serve", "freed", "told", "handed", "grant", "wake"}]
  /\ said \in [Threads -> {"waits", "look", "granted"}]
  /\ target \in [Threads -> Threads \cup {NoOne}]
  /\ bypass \in Nat

Init ==
  /\ word = Free
  /\ lock = NoOne
  /\ line = <<>>
  /\ pc = [t \in Threads |-> "idle"]
  /\ said = [t \in Threads |-> "waits"]
  /\ target = [t \in Threads |-> NoOne]
  /\ bypass = 0

Next == \E t \in Threads : Steps(t) \/ Begin(t) \/ Stray(t) \/ TimeOut(t)

\* A thread that begins to lock, waits, or holds the mutex goes on. A thread eventually gets the
\* lock of the list, if that lock is free again and again.
Fairness == \A t \in Threads : WF_vars(Steps(t)) /\ SF_vars(Lock(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)

\* The threads that hold the mutex.
Holders ==
  {t \in Threads : \/ pc[t] \in {"taken", "hold", "slow", "serve", "handed", "grant"}
                   \/ said[t] = "granted" /\ pc[t] \in Waiting}

\* One thread at a time holds the mutex.
MutualExclusion ==
  /\ Cardinality(Holders) <= 1
  /\ Holders # {} => word.locked

\* While the mutex is free and there is a line, the first waiter in line is checking the mutex, or
\* some thread is about to make it do so.
NoLostSignal ==
  line # <<>> /\ ~word.locked =>
    /\ word.woken
    /\ \/ pc[Head(line)] \in {"back", "look", "check", "late", "cancel"}
       \/ pc[Head(line)] = "wait" /\ said[Head(line)] = "look"
       \/ \E t \in Threads : \/ pc[t] = "freed"
                             \/ pc[t] \in {"told", "wake"} /\ target[t] = Head(line)

\* While a thread is the first in line, at most WP_MUTEX_BYPASSES other threads take the mutex.
BoundedBypass == bypass <= Passes

\* Waiters get the mutex in the order of the line.
InOrder == [][\A t \in Threads : InLine(t) /\ ~InLine(t)' /\ pc[t] # "cancel" => IsFirst(t)]_vars

\* A look in vain, after which the first of the line must be woken once more, brings the hand-over
\* nearer.
MissesCounted ==
  [][\A t \in Threads : pc[t] = "check" /\ pc'[t] = "renew" /\ word.woken /\ ~word'.woken =>
       word'.passes > word.passes]_vars

\* A thread that waits and does not give up eventually gets the mutex, even if other threads lock it
\* again and again. This assumes that each thread that waits for the lock of the list gets that lock
\* eventually.
Served == \A t \in Threads \ Leavers : InLine(t) ~> pc[t] = "hold"

(* The inductive invariant, from which the claims follow for any number of threads. *)

\* Numbers are natural.
IndTypes == word.passes >= 0 /\ bypass >= 0

\* The steps of a thread in line, and of one that is granted the mutex.
InLineAt  == {"wait", "asleep", "back", "look", "check", "late", "cancel", "renew", "renewed"}
GrantedAt == {"wait", "asleep", "back", "look", "check", "late", "cancel", "await"}
UnderLock == {"decide", "mark", "taken", "renew", "renewed", "check", "cancel", "gone", "serve",
              "freed", "told", "handed"}

\* One thread has the lock of the list, the one that is at such a step.
LockIsHeld == \A t \in Threads : pc[t] \in UnderLock <=> lock = t

\* The word is marked while there is a line, and before, while the mutex is locked, by a thread that
\* is about to join it.
MarkedIsLine ==
  /\ line # <<>> => word.queued
  /\ word.queued /\ line = <<>> => word.locked /\ \E t \in Threads : pc[t] = "mark"

\* Each thread in line waits, and was not granted the mutex.
LineWaits ==
  \A i \in 1 .. Len(line) :
    /\ line[i] \in Threads
    /\ pc[line[i]] \in InLineAt
    /\ said[line[i]] # "granted"

\* No thread is in line twice, and one that renews its state is in line.
LineIsDistinct == \A i, j \in 1 .. Len(line) : i # j => line[i] # line[j]
RenewsInLine == \A t \in Threads : pc[t] \in {"renew", "renewed"} => InLine(t)

\* A thread that begins to lock was not granted the mutex.
BeginsUngranted ==
  \A t \in Threads : pc[t] \in {"begin", "lock", "decide", "mark"} => said[t] # "granted"

\* A thread that is about to be granted the mutex waits for it, is in line no more, and has not been
\* told yet.
GrantIsAwaited ==
  \A t \in Threads : pc[t] \in {"handed", "grant"} =>
    /\ target[t] \in Threads
    /\ pc[target[t]] \in GrantedAt
    /\ said[target[t]] # "granted"
    /\ \A i \in 1 .. Len(line) : line[i] # target[t]

\* The ghost counts no more passes than the word does, and has a bound.
PassesCounted == bypass <= word.passes /\ bypass <= Passes

\* A free mutex with a line is left to newcomers only while passes are left.
FreeHasPasses == ~word.locked /\ word.queued => word.passes < Passes

\* While the word says that the first of the line was woken, the first looks, or goes to look, or a
\* thread is about to make it look.
WokenLooks ==
  word.woken =>
    /\ line # <<>>
    /\ \/ pc[Head(line)] \in {"back", "look", "check", "late", "cancel"}
       \/ \E t \in Threads : pc[t] = "freed"
       \/ pc[Head(line)] = "wait" /\ said[Head(line)] = "look"
       \/ /\ pc[Head(line)] = "asleep"
          /\ \E t \in Threads : pc[t] \in {"told", "wake"} /\ target[t] = Head(line)

\* A free mutex with a line has its first waiter woken.
FreeIsWoken == ~word.locked /\ line # <<>> => word.woken

IndInv ==
  /\ IndTypes
  /\ MutualExclusion
  /\ LockIsHeld
  /\ MarkedIsLine
  /\ LineWaits
  /\ LineIsDistinct
  /\ RenewsInLine
  /\ BeginsUngranted
  /\ GrantIsAwaited
  /\ PassesCounted
  /\ FreeHasPasses
  /\ WokenLooks
  /\ FreeIsWoken
=============================================================================
