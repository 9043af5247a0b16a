------------------------------ MODULE Condition -----------------------------
(***************************************************************************)
(* Waiters wait for a change of what a mutex guards; changers signal it.   *)
(* Code       kernel/sync/condition.h, condition.c, mutex.c; [condition.1] *)
(*            [condition.2] name sites.                                    *)
(* Abstracts  the mutex to one that is handed over in order (Mutex); the   *)
(*            line's lock to single steps.                                 *)
(* Memory     sequential consistency.                                      *)
(* Promises   NoLostSignal, SignalsNotSwallowed, HoldsMutex (safety);      *)
(*            Served (liveness).                                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Waiters,    \* each waits until there is a change, or its time is over
  Changers,   \* each makes the change and signals once
  Broadcasts  \* whether a signal is for all

ASSUME EnoughSignals == Broadcasts \/ Cardinality(Changers) >= Cardinality(Waiters)

VARIABLES
  owner,   \* of the mutex
  queue,   \* the mutex's line
  line,    \* the condition's line
  change,  \* what they wait for
  pc,      \* thread -> what it does next
  taken,   \* ghost: waiters that a signal took off the line
  said     \* waiter -> how its wait ended
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
Unlocked ==
  /\ owner' = IF queue = <<>> THEN NoOne ELSE Head(queue)
  /\ queue' = IF queue = <<>> THEN queue ELSE Tail(queue)

(* The mutex, as whoever wants it sees it. *)
Lock(t) ==
  /\ pc[t] = "lock"
  /\ Goto(t, "locking")
  /\ IF owner = NoOne
     THEN /\ owner' = t
          /\ UNCHANGED queue
     ELSE /\ queue' = Append(queue, t)
          /\ UNCHANGED owner
  /\ UNCHANGED <<line, change, taken, said>>
Locked(t) ==
  /\ pc[t] = "locking"
  /\ owner = t
  /\ Goto(t, IF t \in Waiters /\ said[t] = "late" THEN "back" ELSE "has")
  /\ UNCHANGED <<owner, queue, line, change, taken, said>>

(* A waiter. *)
Look(w) ==                    \* [condition.2] in line, and then the mutex is free
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
Begin(w) ==
  /\ pc[w] = "begin"
  /\ Unlocked
  /\ Goto(w, IF w \in taken THEN "moved" ELSE "wait")
  /\ UNCHANGED <<line, change, taken, said>>
TimeOut(w) ==
  /\ w \in Waiters
  /\ pc[w] = "wait"
  /\ Goto(w, "late")
  /\ UNCHANGED <<owner, queue, line, change, taken, said>>
Cancel(w) ==                  \* wp__condition_cancel: out of the line; or signalled after all
  /\ pc[w] = "late"
  /\ line' = SelectSeq(line, LAMBDA x : x # w)
  /\ IF InLine(w)
     THEN /\ Goto(w, "lock")
          /\ said' = [said EXCEPT ![w] = "late"]
     ELSE /\ Goto(w, "moved")
          /\ UNCHANGED said
  /\ UNCHANGED <<owner, queue, change, taken>>
Wake(w) ==                    \* the mutex was locked in its name
  /\ w \in taken
  /\ pc[w] \in {"wait", "moved"}
  /\ owner = w
  /\ Goto(w, "back")
  /\ said' = IF said[w] = "late" THEN said ELSE [said EXCEPT ![w] = "signalled"]
  /\ UNCHANGED <<owner, queue, line, change, taken>>
Back(w) ==                    \* it looks at what it waited for, and frees the mutex
  /\ pc[w] = "back"
  /\ Goto(w, "done")
  /\ Unlocked
  /\ UNCHANGED <<line, change, taken, said>>

(* A changer: signals with the mutex, or after it. *)
Change(c) ==
  /\ c \in Changers
  /\ pc[c] = "has"
  /\ change' = TRUE
  /\ Goto(c, "signal")
  /\ Unlocked
  /\ UNCHANGED <<line, taken, said>>
Moves ==
  CASE line = <<>> -> 0
    [] line # <<>> /\ Broadcasts -> Len(line)
    [] line # <<>> /\ ~Broadcasts -> 1
Move(n) ==                    \* each gets the mutex, or stands in its line
  LET moved == SubSeq(line, 1, n)
  IN /\ line' = SubSeq(line, n + 1, Len(line))
     /\ taken' = taken \cup {moved[i] : i \in 1 .. n}
     /\ IF owner = NoOne /\ n > 0
        THEN /\ owner' = Head(moved)
             /\ queue' = queue \o Tail(moved)
        ELSE /\ queue' = queue \o moved
             /\ UNCHANGED owner
Signal(c) ==                  \* [condition.1] nobody waits; else under the line's lock
  /\ pc[c] = "signal"
  /\ Goto(c, "done")
  /\ Move(Moves)
  /\ UNCHANGED <<change, said>>
ChangeAndSignal(c) ==         \* it holds the mutex all the time
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
Finished ==
  /\ \A t \in Threads : pc[t] = "done"
  /\ UNCHANGED vars
Next == (\E t \in Threads : Steps(t) \/ TimeOut(t)) \/ Finished
Fairness == \A t \in Threads : WF_vars(Steps(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)
Pending == Cardinality({c \in Changers : pc[c] # "done"})
Asleep == {w \in Waiters : pc[w] = "wait" /\ w \notin taken}
\* After the change, there are signals to come for all who sleep.
NoLostSignal ==
  change => IF Broadcasts
            THEN Asleep = {} \/ Pending > 0
            ELSE Cardinality(Asleep) <= Pending
\* A waiter that a signal took off the line does not say that it was late: another one could have
\* had the signal.
SignalsNotSwallowed == \A w \in taken : said[w] # "late"
\* Who comes back from a wait holds the mutex.
HoldsMutex == \A w \in Waiters : pc[w] = "back" => owner = w
\* Who waits comes back, if there is a signal for it.
Served == \A w \in Waiters : pc[w] = "wait" ~> pc[w] # "wait"
=============================================================================
