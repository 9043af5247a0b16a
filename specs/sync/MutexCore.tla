------------------------------ MODULE MutexCore -----------------------------
(***************************************************************************)
(* The state of Mutex, and each step of a lock and of an unlock.           *)
(* Code       kernel/sync/mutex.h, mutex.c; [mutex.1]..[mutex.19] name     *)
(*            sites there.                                                 *)
(* What is abstracted, and the claims, are in Mutex.tla.                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Threads,   \* lock and unlock for ever
  Leavers,   \* those of them that may give up waiting
  Passes     \* WP_MUTEX_BYPASSES

ASSUME SomebodyLocks == Leavers \subseteq Threads /\ Passes \in Nat

VARIABLES
  word,    \* mutex->word: locked, queued, woken, passes
  lock,    \* of the list: who has it
  line,    \* waiters in line
  pc,      \* thread -> what it does next
  said,    \* thread -> the state of its waiter
  target,  \* thread -> whom it is about to wake, or grant
  bypass   \* ghost: passes since the first of the line is the first
vars == <<word, lock, line, pc, said, target, bypass>>

NoOne == "no one"
Free == [locked |-> FALSE, queued |-> FALSE, woken |-> FALSE, passes |-> 0]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Say(t, what) == said' = [said EXCEPT ![t] = what]
InLine(t) == \E i \in 1 .. Len(line) : line[i] = t
Without(t) == SelectSeq(line, LAMBDA x : x # t)
IsFirst(t) == line # <<>> /\ Head(line) = t
Only == <<word, lock, line, bypass>>
Told == <<said, target>>
\* Taken by the first of the line, or handed to it: `rest` waits on.
Taken(rest) == [locked |-> TRUE, queued |-> rest # <<>>, woken |-> FALSE, passes |-> 0]
\* t leaves the line, or is taken off it.
Off(t) ==
  /\ line' = Without(t)
  /\ bypass' = IF IsFirst(t) THEN 0 ELSE bypass

(* Lock. *)
Begin(t) ==                   \* what its last wait was told is over
  /\ pc[t] = "idle"
  /\ Goto(t, "begin")
  /\ Say(t, "waits")
  /\ UNCHANGED <<Only, target>>
Take(t) ==                    \* [mutex.1] nobody waits; [mutex.2] past the line, and counted
  /\ pc[t] \in {"begin", "decide"}
  /\ ~word.locked
  /\ word' = [word EXCEPT !.locked = TRUE, !.passes = IF word.queued THEN @ + 1 ELSE @]
  /\ bypass' = IF line # <<>> /\ bypass <= Passes THEN bypass + 1 ELSE bypass
  /\ Goto(t, IF pc[t] = "begin" THEN "hold" ELSE "taken")
  /\ UNCHANGED <<lock, line, Told>>
Miss(t) ==                    \* [mutex.9]
  /\ pc[t] \in {"begin", "decide"}
  /\ word.locked
  /\ Goto(t, IF pc[t] = "begin" THEN "lock" ELSE "mark")
  /\ UNCHANGED <<Only, Told>>
Lock(t) ==
  /\ pc[t] \in {"lock", "look", "late", "slow"}
  /\ lock = NoOne
  /\ lock' = t
  /\ Goto(t, CASE pc[t] = "lock" -> "decide"
               [] pc[t] = "look" -> "check"
               [] pc[t] = "late" -> "cancel"
               [] pc[t] = "slow" -> "serve")
  /\ UNCHANGED <<word, line, bypass, Told>>
Again(t) ==                   \* [mutex.10] it is free meanwhile
  /\ pc[t] = "mark"
  /\ ~word.queued
  /\ ~word.locked
  /\ Goto(t, "decide")
  /\ UNCHANGED <<Only, Told>>
Mark(t) ==                    \* [mutex.3]
  /\ pc[t] = "mark"
  /\ ~word.queued
  /\ word.locked
  /\ word' = [word EXCEPT !.queued = TRUE]
  /\ UNCHANGED <<lock, line, bypass, pc, Told>>
PassesOn(t) ==                \* it was told to look, and leaves
  /\ IsFirst(t)
  /\ Without(t) # <<>>
  /\ word.woken
Unlock(t) ==                  \* the list
  /\ lock' = NoOne
  /\ \/ /\ pc[t] = "mark"
        /\ word.queued
        /\ line' = Append(line, t)
        /\ Goto(t, "wait")
        /\ UNCHANGED bypass
     \/ /\ pc[t] = "cancel"
        /\ InLine(t)
        /\ Without(t) # <<>>
        /\ ~PassesOn(t)
        /\ Off(t)
        /\ Goto(t, "idle")
     \/ /\ pc[t] \in {"taken", "renewed", "gone", "told", "handed"}
        /\ Goto(t, CASE pc[t] = "taken" -> "hold"
                     [] pc[t] = "renewed" -> "wait"
                     [] pc[t] = "gone" -> "idle"
                     [] pc[t] = "told" -> "wake"
                     [] pc[t] = "handed" -> "grant")
        /\ UNCHANGED <<line, bypass>>
     \/ /\ pc[t] \in {"check", "cancel"}
        /\ ~InLine(t)
        /\ Goto(t, "await")
        /\ UNCHANGED <<line, bypass>>
     \/ /\ pc[t] = "serve"
        /\ line = <<>>
        /\ Goto(t, "hold")
        /\ UNCHANGED <<line, bypass>>
  /\ UNCHANGED <<word, Told>>

(* In line. *)
Sleep(t) ==                   \* the system call: not if it was told something
  /\ pc[t] = "wait"
  /\ Goto(t, IF said[t] = "waits" THEN "asleep" ELSE "back")
  /\ UNCHANGED <<Only, Told>>
Stray(t) ==                   \* it ends for nothing
  /\ pc[t] = "asleep"
  /\ Goto(t, "back")
  /\ UNCHANGED <<Only, Told>>
TimeOut(t) ==
  /\ t \in Leavers
  /\ pc[t] = "asleep"
  /\ Goto(t, "late")
  /\ UNCHANGED <<Only, Told>>
Look(t) ==                    \* [wait_queue.1] wp__mutex_check
  /\ pc[t] = "back"
  /\ Goto(t, IF said[t] = "granted" THEN "hold" ELSE "look")
  /\ UNCHANGED <<Only, Told>>
TakeFirst(t) ==               \* [mutex.7]
  /\ pc[t] = "check"
  /\ IsFirst(t)
  /\ ~word.locked
  /\ word' = Taken(Without(t))
  /\ line' = Without(t)
  /\ bypass' = 0
  /\ Goto(t, "taken")
  /\ UNCHANGED <<lock, Told>>
Forget(t) ==                  \* [mutex.8] who unlocks must tell it again
  /\ pc[t] = "check"
  /\ IsFirst(t)
  /\ word.locked
  /\ word.woken
  /\ word' = [word EXCEPT !.woken = FALSE]
  /\ Goto(t, "renew")
  /\ UNCHANGED <<lock, line, bypass, Told>>
Stay(t) ==                    \* [mutex.17]
  /\ pc[t] = "check"
  /\ IsFirst(t)
  /\ word.locked
  /\ ~word.woken
  /\ Goto(t, "renew")
  /\ UNCHANGED <<Only, Told>>
Renew(t) ==                   \* [mutex.12]
  /\ \/ pc[t] = "renew"
     \/ pc[t] = "check" /\ InLine(t) /\ ~IsFirst(t)
  /\ Say(t, "waits")
  /\ Goto(t, "renewed")
  /\ UNCHANGED <<Only, target>>
Unmark(t) ==                  \* [mutex.14] [mutex.18] wp__mutex_cancel: nobody is left
  /\ pc[t] = "cancel"
  /\ InLine(t)
  /\ Without(t) = <<>>
  /\ word' = [Free EXCEPT !.locked = word.locked]
  /\ Off(t)
  /\ Goto(t, "gone")
  /\ UNCHANGED <<lock, Told>>
Await(t) ==                   \* [wait_queue.3]
  /\ pc[t] = "await"
  /\ said[t] = "granted"
  /\ Goto(t, "hold")
  /\ UNCHANGED <<Only, Told>>

(* Unlock. *)
IsComing ==
  /\ word.woken
  /\ word.passes < Passes
Release(t) ==                 \* [mutex.4] nobody waits; [mutex.5] the first is coming
  /\ pc[t] = "hold"
  /\ \/ ~word.queued
     \/ IsComing
  /\ word' = [word EXCEPT !.locked = FALSE]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<lock, line, bypass, Told>>
Slow(t) ==                    \* [mutex.16]
  /\ pc[t] = "hold"
  /\ word.queued
  /\ ~IsComing
  /\ Goto(t, "slow")
  /\ UNCHANGED <<Only, Told>>
HandOver(t) ==                \* [mutex.13] [mutex.15] it was passed often enough
  /\ pc[t] = "serve"
  /\ line # <<>>
  /\ word.passes >= Passes
  /\ word' = Taken(Tail(line))
  /\ target' = [target EXCEPT ![t] = Head(line)]
  /\ line' = Tail(line)
  /\ bypass' = 0
  /\ Goto(t, "handed")
  /\ UNCHANGED <<lock, said>>
LetGo(t) ==                   \* [mutex.6] free for all, but the first is told
  /\ pc[t] = "serve"
  /\ line # <<>>
  /\ word.passes < Passes
  /\ word' = [word EXCEPT !.locked = FALSE, !.woken = TRUE]
  /\ Goto(t, "freed")
  /\ UNCHANGED <<lock, line, bypass, Told>>
Tell(t) ==                    \* [mutex.11] of an unlock, or [mutex.19] of the first that leaves
  /\ \/ /\ pc[t] = "freed"
        /\ UNCHANGED <<line, bypass>>
     \/ /\ pc[t] = "cancel"
        /\ PassesOn(t)
        /\ Off(t)
  /\ target' = [target EXCEPT ![t] = Head(line')]
  /\ Say(Head(line'), "look")
  /\ Goto(t, "told")
  /\ UNCHANGED <<word, lock>>
Grant(t) ==                   \* [wait_queue.2]
  /\ pc[t] = "grant"
  /\ Goto(t, "wake")
  /\ Say(target[t], "granted")
  /\ UNCHANGED <<Only, target>>
Wake(t) ==                    \* the system call
  /\ pc[t] = "wake"
  /\ target' = [target EXCEPT ![t] = NoOne]
  /\ pc' = [pc EXCEPT ![t] = "idle", ![target[t]] = IF @ = "asleep" THEN "back" ELSE @]
  /\ UNCHANGED <<Only, said>>

Steps(t) ==
  \/ Take(t) \/ Miss(t) \/ Lock(t) \/ Again(t) \/ Mark(t) \/ Unlock(t) \/ Sleep(t) \/ Look(t)
  \/ TakeFirst(t) \/ Forget(t) \/ Stay(t) \/ Renew(t) \/ Unmark(t) \/ Await(t)
  \/ Release(t) \/ Slow(t) \/ HandOver(t) \/ LetGo(t) \/ Tell(t) \/ Grant(t) \/ Wake(t)
=============================================================================
