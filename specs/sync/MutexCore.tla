------------------------------ MODULE MutexCore -----------------------------
(***************************************************************************)
(* The state of Mutex, and each step of a lock and of an unlock.           *)
(*                                                                         *)
(* Code       kernel/sync/mutex.h, mutex.c; [mutex.1]..[mutex.19] name     *)
(*            sites there.                                                 *)
(*                                                                         *)
(* Mutex.tla says what is abstracted, and has the claims.                  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Threads,   \* threads; each locks and unlocks the mutex for ever
  Leavers,   \* the threads that may give up while they wait
  Passes,    \* WP_MUTEX_BYPASSES, the bound of barging
  Miss       \* WP_MUTEX_MISS, the number of newcomers that a look in vain counts as

ASSUME SomebodyLocks ==
  Leavers \subseteq Threads /\ Passes \in Nat /\ Miss \in Nat /\ Miss > 0

VARIABLES
  word,    \* mutex->word: locked, queued (there is a line), woken (the first of the line was
           \* woken), passes (how many newcomers have barged, plus Miss for each look in vain)
  lock,    \* the thread that holds the lock of the list, or NoOne
  line,    \* the waiters in line, in order
  pc,      \* thread -> its next step
  said,    \* thread -> the state of its waiter
  target,  \* thread -> the waiter that it is about to wake or grant
  bypass   \* ghost: the number of threads that have barged since the first of the line became the
           \* first
vars == <<word, lock, line, pc, said, target, bypass>>

NoOne == "no one"
Free == [locked |-> FALSE, queued |-> FALSE, woken |-> FALSE, passes |-> 0]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Say(t, what) == said' = [said EXCEPT ![t] = what]
InLine(t) == \E i \in 1 .. Len(line) : line[i] = t
Without(t) == SelectSeq(line, LAMBDA x : x # t)
IsFirst(t) == line # <<>> /\ Head(line) = t

\* The variables of the mutex.
Only == <<word, lock, line, bypass>>

\* The variables of the waiters.
Told == <<said, target>>

\* The word after the first of the line has taken the mutex or was handed it. The waiters in `rest`
\* are still in line.
Taken(rest) == [locked |-> TRUE, queued |-> rest # <<>>, woken |-> FALSE, passes |-> 0]

\* Thread t leaves the line, or is taken off it.
Off(t) ==
  /\ line' = Without(t)
  /\ bypass' = IF IsFirst(t) THEN 0 ELSE bypass

(* Lock. *)

\* A thread begins to lock the mutex. The state of its last wait is gone.
Begin(t) ==
  /\ pc[t] = "idle"
  /\ Goto(t, "begin")
  /\ Say(t, "waits")
  /\ UNCHANGED <<Only, target>>

\* The thread takes the free mutex. If there is a line, the thread barges past it, and this is
\* counted.
Take(t) ==                    \* [mutex.1] [mutex.2]
  /\ pc[t] \in {"begin", "decide"}
  /\ ~word.locked
  /\ word' = [word EXCEPT !.locked = TRUE, !.passes = IF word.queued THEN @ + 1 ELSE @]
  /\ bypass' = IF line # <<>> /\ bypass <= Passes THEN bypass + 1 ELSE bypass
  /\ Goto(t, IF pc[t] = "begin" THEN "hold" ELSE "taken")
  /\ UNCHANGED <<lock, line, Told>>

\* The thread finds the mutex locked.
Busy(t) ==                    \* [mutex.9]
  /\ pc[t] \in {"begin", "decide"}
  /\ word.locked
  /\ Goto(t, IF pc[t] = "begin" THEN "lock" ELSE "mark")
  /\ UNCHANGED <<Only, Told>>

\* The thread locks the list.
Lock(t) ==                    \* [short_lock.1]
  /\ pc[t] \in {"lock", "look", "late", "slow"}
  /\ lock = NoOne
  /\ lock' = t
  /\ Goto(t, CASE pc[t] = "lock" -> "decide"
               [] pc[t] = "look" -> "check"
               [] pc[t] = "late" -> "cancel"
               [] pc[t] = "slow" -> "serve")
  /\ UNCHANGED <<word, line, bypass, Told>>

\* The mutex was unlocked meanwhile, so the thread tries again.
Again(t) ==                   \* [mutex.10]
  /\ pc[t] = "mark"
  /\ ~word.queued
  /\ ~word.locked
  /\ Goto(t, "decide")
  /\ UNCHANGED <<Only, Told>>

\* The thread sets the mark that the mutex has a line.
Mark(t) ==                    \* [mutex.3]
  /\ pc[t] = "mark"
  /\ ~word.queued
  /\ word.locked
  /\ word' = [word EXCEPT !.queued = TRUE]
  /\ UNCHANGED <<lock, line, bypass, pc, Told>>

\* TRUE if thread t was woken to check the mutex but leaves the line instead, so the next waiter
\* must be woken.
PassesOn(t) ==
  /\ IsFirst(t)
  /\ Without(t) # <<>>
  /\ word.woken

\* The thread unlocks the list.
Unlock(t) ==                  \* [short_lock.2]
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

\* The thread goes to sleep with a system call, unless its state has changed.
Sleep(t) ==
  /\ pc[t] = "wait"
  /\ Goto(t, IF said[t] = "waits" THEN "asleep" ELSE "back")
  /\ UNCHANGED <<Only, Told>>

\* The sleep ends spuriously.
Stray(t) ==
  /\ pc[t] = "asleep"
  /\ Goto(t, "back")
  /\ UNCHANGED <<Only, Told>>

\* The thread's deadline passes.
TimeOut(t) ==
  /\ t \in Leavers
  /\ pc[t] = "asleep"
  /\ Goto(t, "late")
  /\ UNCHANGED <<Only, Told>>

\* The thread checks whether the mutex was handed over to it.
Look(t) ==                    \* [wait_queue.1] wp__mutex_check
  /\ pc[t] = "back"
  /\ Goto(t, IF said[t] = "granted" THEN "hold" ELSE "look")
  /\ UNCHANGED <<Only, Told>>

\* The first of the line takes the free mutex.
TakeFirst(t) ==               \* [mutex.7]
  /\ pc[t] = "check"
  /\ IsFirst(t)
  /\ ~word.locked
  /\ word' = Taken(Without(t))
  /\ line' = Without(t)
  /\ bypass' = 0
  /\ Goto(t, "taken")
  /\ UNCHANGED <<lock, Told>>

\* A newcomer was faster. The first of the line clears the mark that it was woken, so the next
\* unlock wakes it again. The look in vain is counted, so that the mutex is handed over after few of
\* them.
Forget(t) ==                  \* [mutex.8]
  /\ pc[t] = "check"
  /\ IsFirst(t)
  /\ word.locked
  /\ word.woken
  /\ word' = [word EXCEPT !.woken = FALSE, !.passes = @ + Miss]
  /\ Goto(t, "renew")
  /\ UNCHANGED <<lock, line, bypass, Told>>

\* The first of the line finds the mutex locked. The next unlock will wake it.
Stay(t) ==                    \* [mutex.17]
  /\ pc[t] = "check"
  /\ IsFirst(t)
  /\ word.locked
  /\ ~word.woken
  /\ Goto(t, "renew")
  /\ UNCHANGED <<Only, Told>>

\* The thread renews its state, to sleep again.
Renew(t) ==                   \* [mutex.12]
  /\ \/ pc[t] = "renew"
     \/ pc[t] = "check" /\ InLine(t) /\ ~IsFirst(t)
  /\ Say(t, "waits")
  /\ Goto(t, "renewed")
  /\ UNCHANGED <<Only, target>>

\* The last waiter leaves, and the mutex no longer has a line.
Unmark(t) ==                  \* [mutex.14] [mutex.18] wp__mutex_cancel
  /\ pc[t] = "cancel"
  /\ InLine(t)
  /\ Without(t) = <<>>
  /\ word' = [Free EXCEPT !.locked = word.locked]
  /\ Off(t)
  /\ Goto(t, "gone")
  /\ UNCHANGED <<lock, Told>>

\* A thread that was taken off the line waits for its grant.
Await(t) ==                   \* [wait_queue.3]
  /\ pc[t] = "await"
  /\ said[t] = "granted"
  /\ Goto(t, "hold")
  /\ UNCHANGED <<Only, Told>>

(* Unlock. *)

\* The first of the line was woken, and fewer newcomers have barged than the bound allows.
IsComing ==
  /\ word.woken
  /\ word.passes < Passes

\* The fast unlock: there is no line, or the first of the line was woken and is coming.
Release(t) ==                 \* [mutex.4] [mutex.5]
  /\ pc[t] = "hold"
  /\ \/ ~word.queued
     \/ IsComing
  /\ word' = [word EXCEPT !.locked = FALSE]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<lock, line, bypass, Told>>

\* The slow unlock, under the lock of the list.
Slow(t) ==                    \* [mutex.16]
  /\ pc[t] = "hold"
  /\ word.queued
  /\ ~IsComing
  /\ Goto(t, "slow")
  /\ UNCHANGED <<Only, Told>>

\* As many newcomers have barged as the bound allows, or the first of the line has looked in vain too
\* often, so the mutex is handed over to it.
HandOver(t) ==                \* [mutex.13] [mutex.15]
  /\ pc[t] = "serve"
  /\ line # <<>>
  /\ word.passes >= Passes
  /\ word' = Taken(Tail(line))
  /\ target' = [target EXCEPT ![t] = Head(line)]
  /\ line' = Tail(line)
  /\ bypass' = 0
  /\ Goto(t, "handed")
  /\ UNCHANGED <<lock, said>>

\* The mutex becomes free for any thread. Next the first of the line is woken to check the mutex.
LetGo(t) ==                   \* [mutex.6]
  /\ pc[t] = "serve"
  /\ line # <<>>
  /\ word.passes < Passes
  /\ word' = [word EXCEPT !.locked = FALSE, !.woken = TRUE]
  /\ Goto(t, "freed")
  /\ UNCHANGED <<lock, line, bypass, Told>>

\* A thread stores in the first of the line that it must check the mutex. It does so during an
\* unlock ([mutex.11]), or when it was the first of the line and leaves ([mutex.19]).
Tell(t) ==
  /\ \/ /\ pc[t] = "freed"
        /\ UNCHANGED <<line, bypass>>
     \/ /\ pc[t] = "cancel"
        /\ PassesOn(t)
        /\ Off(t)
  /\ target' = [target EXCEPT ![t] = Head(line')]
  /\ Say(Head(line'), "look")
  /\ Goto(t, "told")
  /\ UNCHANGED <<word, lock>>

\* The unlocking thread stores the grant in the waiter.
Grant(t) ==                   \* [wait_queue.2]
  /\ pc[t] = "grant"
  /\ Goto(t, "wake")
  /\ Say(target[t], "granted")
  /\ UNCHANGED <<Only, target>>

\* The thread wakes the waiter with a system call.
Wake(t) ==
  /\ pc[t] = "wake"
  /\ target' = [target EXCEPT ![t] = NoOne]
  /\ pc' = [pc EXCEPT ![t] = "idle", ![target[t]] = IF @ = "asleep" THEN "back" ELSE @]
  /\ UNCHANGED <<Only, said>>

Steps(t) ==
  \/ Take(t) \/ Busy(t) \/ Lock(t) \/ Again(t) \/ Mark(t) \/ Unlock(t) \/ Sleep(t) \/ Look(t)
  \/ TakeFirst(t) \/ Forget(t) \/ Stay(t) \/ Renew(t) \/ Unmark(t) \/ Await(t)
  \/ Release(t) \/ Slow(t) \/ HandOver(t) \/ LetGo(t) \/ Tell(t) \/ Grant(t) \/ Wake(t)
=============================================================================
