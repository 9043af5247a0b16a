-------------------------------- MODULE Mutex -------------------------------
(***************************************************************************)
(* A mutex with a line of waiters. Unlocking leaves a free mutex to the    *)
(* first thread that takes it, which may be a newcomer that barges past    *)
(* the line. Barging is bounded: after WP_MUTEX_BYPASSES newcomers the     *)
(* next unlock hands the mutex over to the first waiter.                   *)
(*                                                                         *)
(* Code       kernel/sync/mutex.h, mutex.c; [mutex.1]..[mutex.19] name     *)
(*            sites there.                                                 *)
(* Abstracts  waiters to OS threads (WaitQueue has virtual ones, too); the *)
(*            list's lock to the thread that has it.                       *)
(* Memory     sequential consistency.                                      *)
(* Promises   MutualExclusion, NoLostSignal, BoundedBypass (safety);       *)
(*            InOrder, Served (temporal).                                  *)
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

\* A thread that begins, waits or holds goes on, and it gets the list's lock if that is free again
\* and again.
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

\* While the mutex is free, the first waiter in line looks at it, or is about to.
NoLostSignal ==
  line # <<>> /\ ~word.locked =>
    /\ word.woken
    /\ \/ pc[Head(line)] \in {"back", "look", "check", "late", "cancel"}
       \/ pc[Head(line)] = "wait" /\ said[Head(line)] = "look"
       \/ \E t \in Threads : \/ pc[t] = "freed"
                             \/ pc[t] \in {"told", "wake"} /\ target[t] = Head(line)

\* While one thread is the first in line, at most WP_MUTEX_BYPASSES others take the mutex.
BoundedBypass == bypass <= Passes

\* Threads that wait get the mutex in the order of the line.
InOrder == [][\A t \in Threads : InLine(t) /\ ~InLine(t)' /\ pc[t] # "cancel" => IsFirst(t)]_vars

\* A thread that waits and does not give up gets the mutex, though others lock for ever, if the lock
\* of the line lets each thread that waits for it in at last.
Served == \A t \in Threads \ Leavers : InLine(t) ~> pc[t] = "hold"
=============================================================================
