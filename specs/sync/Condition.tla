------------------------------ MODULE Condition -----------------------------
(***************************************************************************)
(* A condition variable: waiters wait for a change of the data that a      *)
(* mutex guards, and changers make the change and signal it. A signal does *)
(* not wake a waiter to compete for the mutex. It gives the mutex to the   *)
(* waiter, or moves the waiter to the mutex's line, so a broadcast does    *)
(* not make all waiters rush for the mutex. This is called wait morphing.  *)
(*                                                                         *)
(* Code       kernel/sync/condition.h, condition.c, mutex.c; [condition.1] *)
(*            [condition.2] name sites.                                    *)
(* Abstracts  the mutex to one that is handed over in the order of its     *)
(*            line (Mutex); what is done under the lock of the condition's *)
(*            line to single steps.                                        *)
(* Memory     sequential consistency.                                      *)
(* Promises   NoLostSignal, SignalsNotSwallowed, HoldsMutex (safety);      *)
(*            Served (liveness).                                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Waiters,    \* threads; each waits until there is a change or its deadline passes
  Changers,   \* threads; each makes the change and signals once
  Broadcasts  \* TRUE: each signal is a broadcast, which is for all waiters

ASSUME ThreadsDiffer == \A c \in Changers : c \notin Waiters
ASSUME EnoughSignals == Broadcasts \/ Cardinality(Changers) >= Cardinality(Waiters)

VARIABLES
  owner,   \* the owner of the mutex
  queue,   \* the line of the mutex: the threads that wait for the mutex
  line,    \* the line of the condition: the threads that wait for a signal
  change,  \* TRUE if the change that the waiters wait for has happened
  pc,      \* thread -> its next step
  taken,   \* ghost: the waiters that signals have taken off the line
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

\* The mutex is unlocked: it goes to the first thread of its line. If that line is empty, no thread
\* holds the mutex.
Unlocked ==
  /\ owner' = IF queue = <<>> THEN NoOne ELSE Head(queue)
  /\ queue' = IF queue = <<>> THEN queue ELSE Tail(queue)

(* The mutex. *)

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

\* The waiter checks whether there was a change. If not, it joins the condition's line, and unlocks
\* the mutex only after that.
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

\* The waiter's deadline passes.
TimeOut(w) ==
  /\ w \in Waiters
  /\ pc[w] = "wait"
  /\ Goto(w, "late")
  /\ UNCHANGED <<owner, queue, line, change, taken, said>>

\* A waiter whose wait has timed out leaves the line. If a signal has taken it off the line
\* meanwhile, it counts as signalled.
Cancel(w) ==                  \* wp__condition_cancel
  /\ pc[w] = "late"
  /\ line' = SelectSeq(line, LAMBDA x : x # w)
  /\ IF InLine(w)
     THEN /\ Goto(w, "lock")
          /\ said' = [said EXCEPT ![w] = "late"]
     ELSE /\ Goto(w, "moved")
          /\ UNCHANGED said
  /\ UNCHANGED <<owner, queue, change, taken>>

\* The waiter finds that it holds the mutex, and returns from its wait.
Wake(w) ==
  /\ w \in taken
  /\ pc[w] \in {"wait", "moved"}
  /\ owner = w
  /\ Goto(w, "back")
  /\ said' = IF said[w] = "late" THEN said ELSE [said EXCEPT ![w] = "signalled"]
  /\ UNCHANGED <<owner, queue, line, change, taken>>

\* The waiter is back from its wait, and unlocks the mutex.
Back(w) ==
  /\ pc[w] = "back"
  /\ Goto(w, "done")
  /\ Unlocked
  /\ UNCHANGED <<line, change, taken, said>>

(* A changer signals while it holds the mutex, or after it has unlocked the mutex. *)

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

\* The signal takes n waiters off the line. Each of them gets the mutex, or joins the mutex's line.
Move(n) ==
  LET moved == SubSeq(line, 1, n)
  IN /\ line' = SubSeq(line, n + 1, Len(line))
     /\ taken' = taken \cup {moved[i] : i \in 1 .. n}
     /\ IF owner = NoOne /\ n > 0
        THEN /\ owner' = Head(moved)
             /\ queue' = queue \o Tail(moved)
        ELSE /\ queue' = queue \o moved
             /\ UNCHANGED owner

\* A changer signals without holding the mutex. If the condition's line is empty, nothing happens.
\* Otherwise the changer acts under the line's lock.
Signal(c) ==                  \* [condition.1]
  /\ pc[c] = "signal"
  /\ Goto(c, "done")
  /\ Move(Moves)
  /\ UNCHANGED <<change, said>>

\* A changer makes the change and signals, and holds the mutex all the time.
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

\* The number of signals that may still come.
Pending == Cardinality({c \in Changers : pc[c] # "done"})

\* The waiters that no signal has taken off the line.
Asleep == {w \in Waiters : pc[w] = "wait" /\ w \notin taken}

\* Once the change has happened, signals are still to come for all waiters that sleep.
NoLostSignal ==
  change => IF Broadcasts
            THEN Asleep = {} \/ Pending > 0
            ELSE Cardinality(Asleep) <= Pending

\* A waiter that a signal has taken off the line does not return that its wait has timed out,
\* because then the signal would be lost for another waiter.
SignalsNotSwallowed == \A w \in taken : said[w] # "late"

\* A waiter that returns from its wait holds the mutex.
HoldsMutex == \A w \in Waiters : pc[w] = "back" => owner = w

\* A waiter eventually returns from its wait, if there is a signal for it.
Served == \A w \in Waiters : pc[w] = "wait" ~> pc[w] # "wait"

(* The inductive invariant. SignalsNotSwallowed and HoldsMutex follow from it for any number of    *)
(* threads, and NoLostSignal if each signal is a broadcast. Else NoLostSignal counts signals, which *)
(* is outside the logic that the solvers decide.                                                   *)

\* What the variables hold.
IndTypes ==
  /\ owner \in Threads \cup {NoOne}
  /\ taken \subseteq Waiters
  /\ \A i \in 1 .. Len(queue) : queue[i] \in Threads

\* A thread between its lock and its unlock holds the mutex.
HolderOwns == \A t \in Threads : pc[t] \in {"has", "begin", "back"} => owner = t

\* The line is of waiters that have joined it and are neither taken nor gone; each is there once.
LineWaits ==
  \A i \in 1 .. Len(line) :
    line[i] \in Waiters \ taken /\ pc[line[i]] \in {"begin", "wait", "late"}
LineIsOnce == \A i, j \in 1 .. Len(line) : line[i] = line[j] => i = j

\* A waiter that has joined the line is in it, until a signal takes it.
WaiterIsInLine ==
  \A w \in Waiters : pc[w] \in {"begin", "wait", "late"} /\ w \notin taken => InLine(w)

\* A waiter that was taken has joined the line before.
TakenHasWaited ==
  \A w \in taken : pc[w] \in {"begin", "wait", "late", "moved", "back", "done"}

\* A waiter whose wait has timed out does not wait again, and no signal has taken it.
LateIsGone ==
  \A w \in Waiters :
    said[w] = "late" => pc[w] \in {"lock", "locking", "back", "done"} /\ w \notin taken

\* Once the change has happened and no broadcast is to come, nobody is in line.
LastTakesAll ==
  Broadcasts /\ change /\ (\A c \in Changers : pc[c] = "done") => line = <<>>

IndInv ==
  /\ IndTypes
  /\ HolderOwns
  /\ LineWaits
  /\ LineIsOnce
  /\ WaiterIsInLine
  /\ TakenHasWaited
  /\ LateIsGone
  /\ LastTakesAll
=============================================================================
