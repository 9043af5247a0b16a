------------------------------ MODULE Condition -----------------------------
(***************************************************************************)
(* A condition variable: waiters wait for a change of what a mutex guards, *)
(* and changers signal it. A signal does not wake a waiter to compete for  *)
(* the mutex. It gives the mutex to the waiter, or moves the waiter to the *)
(* mutex's line (wait morphing), so that a broadcast causes no rush for    *)
(* the mutex.                                                              *)
(*                                                                         *)
(* Code       kernel/sync/condition.h, condition.c, mutex.c; [condition.1] *)
(*            [condition.2] name sites.                                    *)
(* Abstracts  the mutex to one that is handed over in order (Mutex); the   *)
(*            lock of the condition's line to single steps.                *)
(* Memory     sequential consistency.                                      *)
(* Promises   NoLostSignal, SignalsNotSwallowed, HoldsMutex (safety);      *)
(*            Served (liveness).                                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Waiters,    \* threads; each waits until there is a change, or its time is over
  Changers,   \* threads; each makes the change and signals once
  Broadcasts  \* TRUE: a signal is for all waiters

ASSUME EnoughSignals == Broadcasts \/ Cardinality(Changers) >= Cardinality(Waiters)

VARIABLES
  owner,   \* the owner of the mutex
  queue,   \* the line of the mutex
  line,    \* the line of the condition
  change,  \* the change that the waiters wait for has happened
  pc,      \* thread -> its next step
  taken,   \* ghost: the waiters that a signal took off the line
  said     \* waiter -> the result of its wait
vars == <<owner, queue, line, change, pc, taken, said>>

NoOne == "no one"
Threads == Waiters \cup Changers
InLine(w) == \E i \in 1 .. Len(line) : line[i] = w

TypeOK ==
  /\ owner \in Threads \cup {NoOne}
  /\ queue \in Seq(Threads)
  /\ line \in Seq(Waiters)
  /\ change \in BOOLEAN
  /\ pc \in [Threads -> {"lock", "locking", "has", "begin", "wait", "late", "moved", "back",
                         "signal", "done"}]
  /\ taken \subseteq Waiters
  /\ said \in [Waiters -> {"nothing", "signalled", "late"}]

Init ==
  /\ owner = NoOne
  /\ queue = <<>>
  /\ line = <<>>
  /\ change = FALSE
  /\ pc = [t \in Threads |-> "lock"]
  /\ taken = {}
  /\ said = [w \in Waiters |-> "nothing"]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

\* The mutex goes to the first of its line, or is free.
Unlocked ==
  /\ owner' = IF queue = <<>> THEN NoOne ELSE Head(queue)
  /\ queue' = IF queue = <<>> THEN queue ELSE Tail(queue)

(* The mutex, as the threads that want it see it. *)

\* A thread locks the mutex, or joins its line.
Lock(t) ==
  /\ pc[t] = "lock"
  /\ Goto(t, "locking")
  /\ IF owner = NoOne
     THEN /\ owner' = t
          /\ UNCHANGED queue
     ELSE /\ queue' = Append(queue, t)
          /\ UNCHANGED owner
  /\ UNCHANGED <<line, change, taken, said>>

\* The thread has got the mutex.
Locked(t) ==
  /\ pc[t] = "locking"
  /\ owner = t
  /\ Goto(t, IF t \in Waiters /\ said[t] = "late" THEN "back" ELSE "has")
  /\ UNCHANGED <<owner, queue, line, change, taken, said>>

(* A waiter. *)

\* The waiter looks whether there was a change; if not, it joins the condition's line, and the mutex
\* is free only after that.
Look(w) ==                    \* [condition.2]
  /\ w \in Waiters
  /\ pc[w] = "has"
  /\ IF change
     THEN /\ Unlocked
          /\ Goto(w, "done")
          /\ UNCHANGED line
     ELSE /\ line' = Append(line, w)
          /\ Goto(w, "begin")
          /\ UNCHANGED <<owner, queue>>
  /\ UNCHANGED <<change, taken, said>>

\* The waiter unlocks the mutex and begins to wait.
Begin(w) ==
  /\ pc[w] = "begin"
  /\ Unlocked
  /\ Goto(w, IF w \in taken THEN "moved" ELSE "wait")
  /\ UNCHANGED <<line, change, taken, said>>

\* The waiter's time is over.
TimeOut(w) ==
  /\ w \in Waiters
  /\ pc[w] = "wait"
  /\ Goto(w, "late")
  /\ UNCHANGED <<owner, queue, line, change, taken, said>>

\* A waiter that is too late leaves the line; if a signal has taken it off, it was signalled after
\* all.
Cancel(w) ==                  \* wp__condition_cancel
  /\ pc[w] = "late"
  /\ line' = SelectSeq(line, LAMBDA x : x # w)
  /\ IF InLine(w)
     THEN /\ Goto(w, "lock")
          /\ said' = [said EXCEPT ![w] = "late"]
     ELSE /\ Goto(w, "moved")
          /\ UNCHANGED said
  /\ UNCHANGED <<owner, queue, change, taken>>

\* The waiter finds the mutex locked in its name, and returns from its wait.
Wake(w) ==
  /\ w \in taken
  /\ pc[w] \in {"wait", "moved"}
  /\ owner = w
  /\ Goto(w, "back")
  /\ said' = IF said[w] = "late" THEN said ELSE [said EXCEPT ![w] = "signalled"]
  /\ UNCHANGED <<owner, queue, line, change, taken>>

\* The waiter looks at what it waited for, and unlocks the mutex.
Back(w) ==
  /\ pc[w] = "back"
  /\ Goto(w, "done")
  /\ Unlocked
  /\ UNCHANGED <<line, change, taken, said>>

(* A changer signals with the mutex, or after it has unlocked the mutex. *)

\* A changer makes the change and unlocks the mutex before it signals.
Change(c) ==
  /\ c \in Changers
  /\ pc[c] = "has"
  /\ change' = TRUE
  /\ Goto(c, "signal")
  /\ Unlocked
  /\ UNCHANGED <<line, taken, said>>

\* The number of waiters that a signal takes off the line.
Moves ==
  CASE line = <<>> -> 0
    [] line # <<>> /\ Broadcasts -> Len(line)
    [] line # <<>> /\ ~Broadcasts -> 1

\* Each of these waiters gets the mutex or stands in its line.
Move(n) ==
  LET moved == SubSeq(line, 1, n)
  IN /\ line' = SubSeq(line, n + 1, Len(line))
     /\ taken' = taken \cup {moved[i] : i \in 1 .. n}
     /\ IF owner = NoOne /\ n > 0
        THEN /\ owner' = Head(moved)
             /\ queue' = queue \o Tail(moved)
        ELSE /\ queue' = queue \o moved
             /\ UNCHANGED owner

\* A changer signals without the mutex: nothing happens if the line is empty, and otherwise it acts
\* under the line's lock.
Signal(c) ==                  \* [condition.1]
  /\ pc[c] = "signal"
  /\ Goto(c, "done")
  /\ Move(Moves)
  /\ UNCHANGED <<change, said>>

\* A changer makes the change and signals while it holds the mutex all the time.
ChangeAndSignal(c) ==
  /\ c \in Changers
  /\ pc[c] = "has"
  /\ change' = TRUE
  /\ Goto(c, "done")
  /\ LET n == Moves
         waiting == queue \o SubSeq(line, 1, n)
     IN /\ line' = SubSeq(line, n + 1, Len(line))
        /\ taken' = taken \cup {line[i] : i \in 1 .. n}
        /\ owner' = IF waiting = <<>> THEN NoOne ELSE Head(waiting)
        /\ queue' = IF waiting = <<>> THEN waiting ELSE Tail(waiting)
  /\ UNCHANGED said

Steps(t) ==
  \/ Lock(t) \/ Locked(t)
  \/ t \in Waiters /\ (Look(t) \/ Begin(t) \/ Cancel(t) \/ Wake(t) \/ Back(t))
  \/ Change(t) \/ Signal(t) \/ ChangeAndSignal(t)

\* The intended end: all threads are done.
Finished ==
  /\ \A t \in Threads : pc[t] = "done"
  /\ UNCHANGED vars

Next == (\E t \in Threads : Steps(t) \/ TimeOut(t)) \/ Finished
Fairness == \A t \in Threads : WF_vars(Steps(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)

\* The number of signals that are still to come.
Pending == Cardinality({c \in Changers : pc[c] # "done"})

\* The waiters that no signal has taken off the line.
Asleep == {w \in Waiters : pc[w] = "wait" /\ w \notin taken}

\* After the change, signals are still to come for all waiters that sleep.
NoLostSignal ==
  change => IF Broadcasts
            THEN Asleep = {} \/ Pending > 0
            ELSE Cardinality(Asleep) <= Pending

\* A waiter that a signal took off the line does not return that it was too late, because another
\* waiter could have had the signal.
SignalsNotSwallowed == \A w \in taken : said[w] # "late"

\* A waiter that returns from its wait holds the mutex.
HoldsMutex == \A w \in Waiters : pc[w] = "back" => owner = w

\* A thread that waits returns, if there is a signal for it.
Served == \A w \in Waiters : pc[w] = "wait" ~> pc[w] # "wait"
=============================================================================
