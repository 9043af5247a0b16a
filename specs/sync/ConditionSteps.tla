--------------------------- MODULE ConditionSteps ---------------------------
(***************************************************************************)
(* The wait and the signal of a condition variable, in each step that the  *)
(* code takes. Mutex has the steps that a condition's waiter takes in the  *)
(* mutex's line. This module has the steps before that.                    *)
(*                                                                         *)
(* Code       kernel/sync/condition.c; [condition.1] [condition.2] name    *)
(*            sites there, [mutex..] and [wait_queue..] those of mutex.c   *)
(*            and wait_queue.c.                                            *)
(* Abstracts  the lock of each of the two lists to the thread that holds   *)
(*            it; waiters to OS threads.                                   *)
(* Memory     sequential consistency.                                      *)
(* Promises   GrantedHolds, WaitingSaid (safety); MovedComesBack           *)
(*            (liveness).                                                  *)
(***************************************************************************)
EXTENDS MutexCore

CONSTANTS
  Waiters,     \* threads; each holds the mutex at first, waits once, and unlocks the mutex
  Hasty,       \* the waiters whose waits may time out
  Signallers,  \* threads; each signals once, without holding the mutex
  Lockers      \* threads; each locks the mutex and unlocks it, once

ASSUME Roles ==
  /\ Threads = Waiters \cup Signallers \cup Lockers
  /\ Waiters \cap (Signallers \cup Lockers) = {}
  /\ Signallers \cap Lockers = {}
  /\ Hasty \subseteq Waiters
  /\ Leavers = {}
  /\ Cardinality(Waiters) = 1

VARIABLES
  waiting,  \* condition->waiting, which is read without the lock: TRUE if there are waiters
  clock,    \* the thread that holds the lock of the condition's list, or NoOne
  cline,    \* the waiters in the condition's line, in order
  where,    \* waiter -> "out", "line", or "moved" if a signal has taken it off the line
  stage     \* waiter -> the purpose of its steps in Mutex: "waits", "tries", "relocks", "ends"
cvars == <<waiting, clock, cline, where, stage>>
all == <<vars, cvars>>

TypeOK ==
  /\ waiting \in BOOLEAN
  /\ clock \in Threads \cup {NoOne}
  /\ cline \in Seq(Waiters)
  /\ where \in [Waiters -> {"out", "line", "moved"}]
  /\ stage \in [Threads -> {"waits", "tries", "relocks", "ends"}]

Init ==
  /\ word = [Free EXCEPT !.locked = TRUE]
  /\ lock = NoOne
  /\ line = <<>>
  /\ pc = [t \in Threads |-> CASE t \in Waiters -> "wait begins"
                               [] t \in Signallers -> "signal begins"
                               [] OTHER -> "begin"]
  /\ said = [t \in Threads |-> "waits"]
  /\ target = [t \in Threads |-> NoOne]
  /\ bypass = 0
  /\ waiting = FALSE
  /\ clock = NoOne
  /\ cline = <<>>
  /\ where = [w \in Waiters |-> "out"]
  /\ stage = [t \in Threads |-> IF t \in Lockers THEN "ends" ELSE "waits"]

Stage(t, what) == stage' = [stage EXCEPT ![t] = what]
Put(w, place) == where' = [where EXCEPT ![w] = place]
List == <<clock, cline, where, waiting>>
CLockBy(t) ==
  /\ clock = NoOne
  /\ clock' = t

CFree ==
  /\ clock' = NoOne
  /\ UNCHANGED <<cline, where, waiting>>

(* A waiter. To take the lock and to change the line is one step, because no other thread can see
   the line in between. *)

\* The waiter locks the condition's list and joins the line.
GetIn(w) ==
  /\ pc[w] = "wait begins"
  /\ CLockBy(w)
  /\ Goto(w, "says it is in")
  /\ cline' = Append(cline, w)
  /\ Put(w, "line")
  /\ UNCHANGED <<Only, Told, waiting, stage>>

\* The waiter stores that the condition has waiters.
SayIn(w) ==                   \* [condition.2]
  /\ pc[w] = "says it is in"
  /\ waiting' = TRUE
  /\ Goto(w, "is in")
  /\ UNCHANGED <<Only, Told, clock, cline, where, stage>>

\* The waiter unlocks the condition's list. Next it unlocks the mutex, in the steps of Mutex.
IsIn(w) ==
  /\ pc[w] = "is in"
  /\ CFree
  /\ Goto(w, "hold")
  /\ UNCHANGED <<Only, Told, stage>>

\* The waiter goes to sleep with a system call, unless its state has changed.
Park(w) ==
  /\ w \in Waiters
  /\ \/ pc[w] = "idle" /\ stage[w] = "waits"
     \/ pc[w] = "wait" /\ stage[w] = "tries"
  /\ Goto(w, IF said[w] = "waits" THEN "asleep" ELSE "back")
  /\ Stage(w, "waits")
  /\ UNCHANGED <<Only, Told, List>>

\* The waiter's deadline passes.
Late(w) ==
  /\ w \in Hasty
  /\ pc[w] = "asleep"
  /\ stage[w] = "waits"
  /\ Goto(w, "is late")
  /\ UNCHANGED <<Only, Told, cvars>>

\* The waiter checks whether the mutex was locked in its name.
LookFirst(w) ==               \* [wait_queue.1] wp__condition_check
  /\ pc[w] = "back"
  /\ stage[w] = "waits"
  /\ IF said[w] = "granted"
     THEN /\ Goto(w, "hold")
          /\ Stage(w, "ends")
     ELSE /\ Goto(w, "checks")
          /\ UNCHANGED stage
  /\ UNCHANGED <<Only, Told, List>>

\* A waiter that was not granted locks the condition's list, to check whether it is still in line.
Check(w) ==
  /\ pc[w] = "checks"
  /\ CLockBy(w)
  /\ Goto(w, IF where[w] = "line" THEN "stays" ELSE "tries it")
  /\ UNCHANGED <<Only, Told, cline, where, waiting, stage>>

\* The waiter is still in line, so it sleeps again.
Stays(w) ==
  /\ pc[w] = "stays"
  /\ CFree
  /\ Goto(w, "idle")
  /\ UNCHANGED <<Only, Told, stage>>

\* A waiter whose wait has timed out leaves the line, unless a signal has taken it off the line.
GetOut(w) ==                  \* wp__condition_cancel
  /\ pc[w] = "is late"
  /\ CLockBy(w)
  /\ IF where[w] = "line"
     THEN /\ Goto(w, "says it is out")
          /\ Put(w, "out")
          /\ cline' = SelectSeq(cline, LAMBDA x : x # w)
     ELSE /\ Goto(w, "was moved")
          /\ UNCHANGED <<cline, where>>
  /\ UNCHANGED <<Only, Told, waiting, stage>>

\* The waiter stores whether the condition still has waiters.
SayOut(w) ==                  \* [condition.2]
  /\ pc[w] = "says it is out"
  /\ waiting' = (cline # <<>>)
  /\ Goto(w, "is out")
  /\ UNCHANGED <<Only, Told, clock, cline, where, stage>>

\* The waiter unlocks the condition's list. Next it locks the mutex again, in the steps of Mutex.
IsOut(w) ==
  /\ pc[w] = "is out"
  /\ CFree
  /\ Goto(w, "begin")
  /\ Stage(w, "relocks")
  /\ UNCHANGED <<Only, Told>>

\* The waiter was moved, so it is in the mutex's line or has the mutex. It tries to take the mutex,
\* and if it does not get it, it parks once more.
TriesIt(w) ==
  /\ pc[w] = "tries it"
  /\ CFree
  /\ Goto(w, "back")
  /\ Stage(w, "tries")
  /\ UNCHANGED <<Only, Told>>

\* The waiter's wait has timed out, but it was moved before. It goes on as if it had waited for the
\* mutex all the time.
WasMoved(w) ==
  /\ pc[w] = "was moved"
  /\ CFree
  /\ Goto(w, "back")
  /\ Stage(w, "relocks")
  /\ UNCHANGED <<Only, Told>>

(* A signaller locks the mutex in the waiter's name, or puts the waiter into the mutex's line. *)

\* The signaller reads, without the lock, whether the condition has waiters.
Ask(s) ==                     \* [condition.1]
  /\ pc[s] = "signal begins"
  /\ Goto(s, IF waiting THEN "signals" ELSE "idle")
  /\ UNCHANGED <<Only, Told, cvars>>

\* The signaller locks the condition's list and takes the first waiter off the line.
TakeOff(s) ==
  /\ pc[s] = "signals"
  /\ CLockBy(s)
  /\ IF cline = <<>>
     THEN /\ Goto(s, "says the rest")
          /\ UNCHANGED <<cline, where, target>>
     ELSE /\ Goto(s, "tries for")
          /\ cline' = Tail(cline)
          /\ Put(Head(cline), "moved")
          /\ target' = [target EXCEPT ![s] = Head(cline)]
  /\ UNCHANGED <<Only, said, waiting, stage>>

\* The signaller finds the mutex unlocked, and locks it in the waiter's name.
TakeFor(s) ==                 \* [mutex.1] [mutex.2]
  /\ pc[s] \in {"tries for", "decides for"}
  /\ ~word.locked
  /\ word' = [word EXCEPT !.locked = TRUE, !.passes = IF word.queued THEN @ + 1 ELSE @]
  /\ Goto(s, IF pc[s] = "tries for" THEN "says the rest" ELSE "took for")
  /\ UNCHANGED <<lock, line, bypass, Told, cvars>>

\* The signaller finds the mutex locked.
MissFor(s) ==                 \* [mutex.9]
  /\ pc[s] \in {"tries for", "decides for"}
  /\ word.locked
  /\ Goto(s, IF pc[s] = "tries for" THEN "locks for" ELSE "marks for")
  /\ UNCHANGED <<Only, Told, cvars>>

\* The signaller locks the mutex's list.
LockFor(s) ==
  /\ pc[s] = "locks for"
  /\ lock = NoOne
  /\ lock' = s
  /\ Goto(s, "decides for")
  /\ UNCHANGED <<word, line, bypass, Told, cvars>>

\* The mutex was unlocked meanwhile, so the signaller tries again.
AgainFor(s) ==                \* [mutex.10]
  /\ pc[s] = "marks for"
  /\ ~word.queued
  /\ ~word.locked
  /\ Goto(s, "decides for")
  /\ UNCHANGED <<Only, Told, cvars>>

\* The signaller sets the mark that the mutex has a line.
MarkFor(s) ==                 \* [mutex.3]
  /\ pc[s] = "marks for"
  /\ ~word.queued
  /\ word.locked
  /\ word' = [word EXCEPT !.queued = TRUE]
  /\ UNCHANGED <<lock, line, bypass, pc, Told, cvars>>

\* If the signaller could not lock the mutex, it puts the waiter into the mutex's line. In both
\* cases it unlocks the mutex's list.
UnlockFor(s) ==
  /\ lock' = NoOne
  /\ \/ /\ pc[s] = "marks for"
        /\ word.queued
        /\ line' = Append(line, target[s])
        /\ target' = [target EXCEPT ![s] = NoOne]
     \/ /\ pc[s] = "took for"
        /\ UNCHANGED <<line, target>>
  /\ Goto(s, "says the rest")
  /\ UNCHANGED <<word, bypass, said, cvars>>

\* The signaller stores whether the condition still has waiters.
SayRest(s) ==                 \* [condition.2]
  /\ pc[s] = "says the rest"
  /\ waiting' = (cline # <<>>)
  /\ Goto(s, "has moved")
  /\ UNCHANGED <<Only, Told, clock, cline, where, stage>>

\* The signaller unlocks the condition's list. If it has locked the mutex for a waiter, it grants
\* this waiter next.
HasMoved(s) ==
  /\ pc[s] = "has moved"
  /\ CFree
  /\ Goto(s, IF target[s] = NoOne THEN "idle" ELSE "grant")
  /\ UNCHANGED <<Only, Told, stage>>

OfWaiter(w) ==
  \/ GetIn(w) \/ SayIn(w) \/ IsIn(w) \/ Park(w) \/ LookFirst(w) \/ Check(w)
  \/ Stays(w) \/ GetOut(w) \/ SayOut(w) \/ IsOut(w) \/ TriesIt(w) \/ WasMoved(w)

OfSignaller(s) ==
  \/ Ask(s) \/ TakeOff(s) \/ TakeFor(s) \/ MissFor(s) \/ LockFor(s)
  \/ AgainFor(s) \/ MarkFor(s) \/ UnlockFor(s) \/ SayRest(s) \/ HasMoved(s)

\* A step of Mutex, which does not change the condition.
OfMutex(step) ==
  /\ step
  /\ UNCHANGED cvars

\* The step Look of Mutex. After a park that may time out, the step is LookFirst instead.
ItsLook(t) ==
  /\ stage[t] # "waits"
  /\ Look(t)

\* The step Sleep of Mutex. After a failed try, the step is Park instead.
ItsSleep(t) ==
  /\ stage[t] # "tries"
  /\ Sleep(t)

ItsSteps(t) ==
  \/ Take(t) \/ Busy(t) \/ Lock(t) \/ Again(t) \/ Mark(t) \/ Unlock(t) \/ ItsSleep(t) \/ ItsLook(t)
  \/ TakeFirst(t) \/ Forget(t) \/ Stay(t) \/ Renew(t) \/ Await(t)
  \/ Release(t) \/ Slow(t) \/ HandOver(t) \/ LetGo(t) \/ Tell(t) \/ Grant(t) \/ Wake(t)

\* The thread is done.
IsOver(t) ==
  /\ pc[t] = "idle"
  /\ t \in Waiters => stage[t] # "waits"

\* The intended end: all threads are done.
Finished ==
  /\ \A t \in Threads : IsOver(t)
  /\ UNCHANGED all

Next ==
  \/ \E w \in Waiters : OfWaiter(w) \/ Late(w)
  \/ \E s \in Signallers : OfSignaller(s)
  \/ \E t \in Threads : OfMutex(ItsSteps(t)) \/ OfMutex(Stray(t))
  \/ Finished

\* A step that takes the lock of the condition's list.
Locks(t) ==
  /\ clock = NoOne
  /\ clock' = t

Fairness ==
  /\ \A w \in Waiters : WF_all(OfWaiter(w)) /\ SF_all(OfWaiter(w) /\ Locks(w))
  /\ \A s \in Signallers : WF_all(OfSignaller(s)) /\ SF_all(OfSignaller(s) /\ Locks(s))
  /\ \A t \in Threads : WF_all(OfMutex(ItsSteps(t))) /\ SF_all(OfMutex(Lock(t)))

Spec == Init /\ [][Next]_all /\ Fairness

(* What must hold. *)

\* If a waiter was granted the mutex, the mutex stays locked until this waiter unlocks it.
GrantedHolds ==
  \A w \in Waiters :
    said[w] = "granted" /\ pc[w] \notin {"idle", "freed", "told", "wake"} => word.locked

\* While no thread holds the lock of the condition's list, `waiting` is TRUE exactly if there is a
\* waiter in line. The code stores it after it has changed the line and before it gives the lock
\* back.
WaitingSaid == clock = NoOne => waiting = (cline # <<>>)

\* If a signal takes a waiter off the line, the wait of this waiter eventually ends.
MovedComesBack == \A w \in Waiters : where[w] = "moved" ~> IsOver(w)
=============================================================================
