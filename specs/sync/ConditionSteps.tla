--------------------------- MODULE ConditionSteps ---------------------------
(***************************************************************************)
(* A condition's wait and signal in each step that the code takes. Mutex   *)
(* says what the condition's waiters do in the mutex's line; this module   *)
(* says what comes before that.                                            *)
(*                                                                         *)
(* Code       kernel/sync/condition.c; [condition.1] [condition.2] name    *)
(*            sites there, [mutex..] and [wait_queue..] those of mutex.c   *)
(*            and wait_queue.c.                                            *)
(* Abstracts  the locks of the two lists to the threads that have them;    *)
(*            waiters to OS threads.                                       *)
(* Memory     sequential consistency.                                      *)
(* Promises   GrantedHolds, WaitingSaid (safety); MovedComesBack           *)
(*            (liveness).                                                  *)
(***************************************************************************)
EXTENDS MutexCore

CONSTANTS
  Waiters,     \* threads; each has the mutex, waits once, and unlocks
  Hasty,       \* the waiters that may be too late
  Signallers,  \* threads; each signals once, without the mutex
  Lockers      \* threads; each locks the mutex and unlocks it, once

ASSUME Roles ==
  /\ Threads = Waiters \cup Signallers \cup Lockers
  /\ Waiters \cap (Signallers \cup Lockers) = {}
  /\ Signallers \cap Lockers = {}
  /\ Hasty \subseteq Waiters
  /\ Leavers = {}
  /\ Cardinality(Waiters) = 1

VARIABLES
  waiting,  \* condition->waiting: whether there are waiters, readable without the lock
  clock,    \* the thread that has the lock of the condition's list
  cline,    \* the waiters in the condition's line
  where,    \* waiter -> "out", "line", or "moved": a signal took it off the line
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

(* A waiter.  To take the lock and change the line is one step: no other thread sees them apart. *)

\* The waiter locks the condition's list and joins the line.
GetIn(w) ==
  /\ pc[w] = "wait begins"
  /\ CLockBy(w)
  /\ Goto(w, "says it is in")
  /\ cline' = Append(cline, w)
  /\ Put(w, "line")
  /\ UNCHANGED <<Only, Told, waiting, stage>>

\* The waiter stores that there are waiters.
SayIn(w) ==                   \* [condition.2]
  /\ pc[w] = "says it is in"
  /\ waiting' = TRUE
  /\ Goto(w, "is in")
  /\ UNCHANGED <<Only, Told, clock, cline, where, stage>>

\* The waiter unlocks the list; then it unlocks the mutex, as Mutex says.
IsIn(w) ==
  /\ pc[w] = "is in"
  /\ CFree
  /\ Goto(w, "hold")
  /\ UNCHANGED <<Only, Told, stage>>

\* The waiter goes to sleep by a system call, unless its state has changed.
Park(w) ==
  /\ w \in Waiters
  /\ \/ pc[w] = "idle" /\ stage[w] = "waits"
     \/ pc[w] = "wait" /\ stage[w] = "tries"
  /\ Goto(w, IF said[w] = "waits" THEN "asleep" ELSE "back")
  /\ Stage(w, "waits")
  /\ UNCHANGED <<Only, Told, List>>

\* The waiter's time is over.
Late(w) ==
  /\ w \in Hasty
  /\ pc[w] = "asleep"
  /\ stage[w] = "waits"
  /\ Goto(w, "is late")
  /\ UNCHANGED <<Only, Told, cvars>>

\* The waiter looks whether the mutex was locked in its name.
LookFirst(w) ==               \* [wait_queue.1] wp__condition_check
  /\ pc[w] = "back"
  /\ stage[w] = "waits"
  /\ IF said[w] = "granted"
     THEN /\ Goto(w, "hold")
          /\ Stage(w, "ends")
     ELSE /\ Goto(w, "checks")
          /\ UNCHANGED stage
  /\ UNCHANGED <<Only, Told, List>>

\* A waiter that was not granted locks the condition's list, to see whether it is still in line.
Check(w) ==
  /\ pc[w] = "checks"
  /\ CLockBy(w)
  /\ Goto(w, IF where[w] = "line" THEN "stays" ELSE "tries it")
  /\ UNCHANGED <<Only, Told, cline, where, waiting, stage>>

\* The waiter is still in line, and sleeps again.
Stays(w) ==
  /\ pc[w] = "stays"
  /\ CFree
  /\ Goto(w, "idle")
  /\ UNCHANGED <<Only, Told, stage>>

\* A waiter that is too late leaves the line; or a signal has taken it off.
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

\* The waiter stores whether there are still waiters.
SayOut(w) ==                  \* [condition.2]
  /\ pc[w] = "says it is out"
  /\ waiting' = (cline # <<>>)
  /\ Goto(w, "is out")
  /\ UNCHANGED <<Only, Told, clock, cline, where, stage>>

\* The waiter unlocks the list; then it locks the mutex again, as Mutex says.
IsOut(w) ==
  /\ pc[w] = "is out"
  /\ CFree
  /\ Goto(w, "begin")
  /\ Stage(w, "relocks")
  /\ UNCHANGED <<Only, Told>>

\* The waiter was moved: it is in the mutex's line, or has the mutex. If it does not get the mutex,
\* it parks once more.
TriesIt(w) ==
  /\ pc[w] = "tries it"
  /\ CFree
  /\ Goto(w, "back")
  /\ Stage(w, "tries")
  /\ UNCHANGED <<Only, Told>>

\* The waiter goes on as if it had waited for the mutex all the time.
WasMoved(w) ==
  /\ pc[w] = "was moved"
  /\ CFree
  /\ Goto(w, "back")
  /\ Stage(w, "relocks")
  /\ UNCHANGED <<Only, Told>>

(* A signaller locks the mutex in the waiter's name, or puts it in the mutex's line. *)

\* The signaller reads, without the lock, whether there are waiters.
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

\* The mutex is free, and the signaller locks it in the waiter's name.
TakeFor(s) ==                 \* [mutex.1] [mutex.2]
  /\ pc[s] \in {"tries for", "decides for"}
  /\ ~word.locked
  /\ word' = [word EXCEPT !.locked = TRUE, !.passes = IF word.queued THEN @ + 1 ELSE @]
  /\ Goto(s, IF pc[s] = "tries for" THEN "says the rest" ELSE "took for")
  /\ UNCHANGED <<lock, line, bypass, Told, cvars>>

\* The mutex is locked.
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

\* The mutex has become free meanwhile, so the signaller tries again.
AgainFor(s) ==                \* [mutex.10]
  /\ pc[s] = "marks for"
  /\ ~word.queued
  /\ ~word.locked
  /\ Goto(s, "decides for")
  /\ UNCHANGED <<Only, Told, cvars>>

\* The signaller marks the mutex as having a line.
MarkFor(s) ==                 \* [mutex.3]
  /\ pc[s] = "marks for"
  /\ ~word.queued
  /\ word.locked
  /\ word' = [word EXCEPT !.queued = TRUE]
  /\ UNCHANGED <<lock, line, bypass, pc, Told, cvars>>

\* The signaller puts the waiter into the mutex's line, if it could not lock the mutex, and unlocks
\* the mutex's list.
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

\* The signaller stores whether there are still waiters.
SayRest(s) ==                 \* [condition.2]
  /\ pc[s] = "says the rest"
  /\ waiting' = (cline # <<>>)
  /\ Goto(s, "has moved")
  /\ UNCHANGED <<Only, Told, clock, cline, where, stage>>

\* The signaller unlocks the condition's list, and grants a waiter for which it has locked the
\* mutex.
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

\* A step of Mutex, which changes nothing of the condition.
OfMutex(step) ==
  /\ step
  /\ UNCHANGED cvars

\* Mutex's look. The look after a park that may end too late is LookFirst instead.
ItsLook(t) ==
  /\ stage[t] # "waits"
  /\ Look(t)

\* Mutex's sleep, but not the one after a failed try, which is Park.
ItsSleep(t) ==
  /\ stage[t] # "tries"
  /\ Sleep(t)

ItsSteps(t) ==
  \/ Take(t) \/ Miss(t) \/ Lock(t) \/ Again(t) \/ Mark(t) \/ Unlock(t) \/ ItsSleep(t) \/ ItsLook(t)
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

\* The mutex of a granted waiter stays locked until the waiter unlocks it.
GrantedHolds ==
  \A w \in Waiters :
    said[w] = "granted" /\ pc[w] \notin {"idle", "freed", "told", "wake"} => word.locked

\* While no thread has the lock of the line, the word that is read without the lock says whether
\* there is a waiter in line: it is stored after the line has changed and before the unlock.
WaitingSaid == clock = NoOne => waiting = (cline # <<>>)

\* A signal that takes a waiter off the line ends that waiter's wait.
MovedComesBack == \A w \in Waiters : where[w] = "moved" ~> IsOver(w)
=============================================================================
