-------------------------------- MODULE Latch -------------------------------
(***************************************************************************)
(* One event that any number of threads wait for: shut, then open for good.*)
(* Code       kernel/thread/latch.h, latch.c; [latch.1]..[latch.6] name    *)
(*            sites there.                                                 *)
(* Abstracts  nothing of the latch; waiters to OS threads (WaitQueue has   *)
(*            both).                                                       *)
(* Memory     sequential consistency.                                      *)
(* Promises   TerminationVisible, NoLostWaiter, UntouchedAfterOpen         *)
(*            (safety); Served (liveness).                                 *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS
  Waiters   \* each waits once, and may give up

VARIABLES
  word,     \* "shut", "open"
  locked,   \* the bit
  list,     \* waiters, newest first
  pc,       \* waiter, or "opener" -> what it does next
  hand,     \* waiters that the opener has taken, and not woken yet
  granted,  \* waiters that are
  done      \* ghost: the opener did what the event stands for
vars == <<word, locked, list, pc, hand, granted, done>>

Opener == "opener"
Range(s) == {s[i] : i \in 1 .. Len(s)}

TypeOK ==
  /\ word \in {"shut", "open"}
  /\ locked \in BOOLEAN
  /\ list \in Seq(Waiters)
  /\ pc \in [Waiters \cup {Opener} ->
       {"begin", "push", "wait", "asleep", "back", "late", "remove", "await",
        "open", "lock", "publish", "grant", "wake", "out", "in"}]
  /\ hand \in Seq(Waiters)
  /\ granted \subseteq Waiters
  /\ done \in BOOLEAN

Init ==
  /\ word = "shut"
  /\ locked = FALSE
  /\ list = <<>>
  /\ pc = [t \in Waiters \cup {Opener} |-> "begin"]
  /\ hand = <<>>
  /\ granted = {}
  /\ done = FALSE

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

(* The opener. *)
Work ==
  /\ pc[Opener] = "begin"
  /\ done' = TRUE
  /\ Goto(Opener, "open")
  /\ UNCHANGED <<word, locked, list, hand, granted>>

Open ==                       \* [latch.1] nobody waits, or is about to
  /\ pc[Opener] = "open"
  /\ IF list = <<>> /\ ~locked
     THEN /\ word' = "open"
          /\ Goto(Opener, "out")
     ELSE /\ Goto(Opener, "lock")
          /\ UNCHANGED word
  /\ UNCHANGED <<locked, list, hand, granted, done>>

Lock ==                       \* [latch.3] [latch.6]
  /\ pc[Opener] = "lock"
  /\ ~locked
  /\ locked' = TRUE
  /\ Goto(Opener, "publish")
  /\ UNCHANGED <<word, list, hand, granted, done>>

After(waiting) == IF waiting = <<>> THEN "out" ELSE "grant"

Publish ==                    \* [latch.4] list, lock and event in one step
  /\ pc[Opener] = "publish"
  /\ word' = "open"
  /\ locked' = FALSE
  /\ list' = <<>>
  /\ hand' = list
  /\ Goto(Opener, After(hand'))
  /\ UNCHANGED <<granted, done>>

Oldest == hand[Len(hand)]

Grant ==                      \* [wait_queue.2] the oldest first
  /\ pc[Opener] = "grant"
  /\ granted' = granted \cup {Oldest}
  /\ Goto(Opener, "wake")
  /\ UNCHANGED <<word, locked, list, hand, done>>

Wake ==                       \* the system call; whoever is awake is not asked
  /\ pc[Opener] = "wake"
  /\ hand' = SubSeq(hand, 1, Len(hand) - 1)
  /\ pc' = [pc EXCEPT ![Opener] = After(hand'),
                      ![Oldest] = IF @ = "asleep" THEN "back" ELSE @]
  /\ UNCHANGED <<word, locked, list, granted, done>>

(* A waiter. *)
Take(w, from, to) ==          \* [latch.2] open; or [latch.3] the lock
  /\ pc[w] = from
  /\ IF word = "open"
     THEN /\ Goto(w, IF from = "late" THEN "await" ELSE "in")
          /\ UNCHANGED locked
     ELSE /\ ~locked
          /\ locked' = TRUE
          /\ Goto(w, to)
  /\ UNCHANGED <<word, list, hand, granted, done>>

Push(w) ==                    \* [latch.5]
  /\ pc[w] = "push"
  /\ list' = <<w>> \o list
  /\ locked' = FALSE
  /\ Goto(w, "wait")
  /\ UNCHANGED <<word, hand, granted, done>>

Sleep(w) ==                   \* the system call: not if it is granted
  /\ pc[w] = "wait"
  /\ Goto(w, IF w \in granted THEN "back" ELSE "asleep")
  /\ UNCHANGED <<word, locked, list, hand, granted, done>>

Return(w) ==                  \* [wait_queue.1] [wait_queue.3]
  /\ pc[w] \in {"back", "await"}
  /\ w \in granted
  /\ Goto(w, "in")
  /\ UNCHANGED <<word, locked, list, hand, granted, done>>

TimeOut(w) ==
  /\ pc[w] = "asleep"
  /\ Goto(w, "late")
  /\ UNCHANGED <<word, locked, list, hand, granted, done>>

Remove(w) ==                  \* [latch.5]
  /\ pc[w] = "remove"
  /\ list' = SelectSeq(list, LAMBDA x : x # w)
  /\ locked' = FALSE
  /\ Goto(w, "out")
  /\ UNCHANGED <<word, hand, granted, done>>

Waiter(w) ==
  \/ Take(w, "begin", "push")
  \/ Push(w)
  \/ Sleep(w)
  \/ Return(w)
  \/ Take(w, "late", "remove")
  \/ Remove(w)

Opens ==
  \/ Work
  \/ Open
  \/ Lock
  \/ Publish
  \/ Grant
  \/ Wake

Finished ==
  /\ \A t \in DOMAIN pc : pc[t] \in {"out", "in"}
  /\ UNCHANGED vars

Next ==
  \/ Opens
  \/ \E w \in Waiters : Waiter(w) \/ TimeOut(w)
  \/ Finished

Fairness ==
  /\ WF_vars(Opens)
  /\ \A w \in Waiters : WF_vars(Waiter(w))

Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)
\* Who finds the latch open sees what came before.
TerminationVisible == word = "open" \/ (\E w \in Waiters : pc[w] = "in") => done

\* Once the latch is open, all who wait are granted or about to be.
NoLostWaiter ==
  word = "open" => \A w \in Waiters :
    pc[w] \in {"wait", "asleep", "late", "await"} =>
      w \in granted \cup Range(hand) \/ pc[Opener] = "publish"

\* Who finds the latch open may free it: from then on the opener touches only its waiters, and none
\* that has come back.
UntouchedAfterOpen ==
  /\ word = "open" => pc[Opener] \notin {"open", "lock", "publish"} /\ ~locked
  /\ \A w \in Waiters : pc[w] \in {"in", "out"} => w \notin Range(hand) \ granted

\* All who wait come back.
Served == \A w \in Waiters : pc[w] \in {"wait", "asleep"} ~> pc[w] \in {"in", "out"}
=============================================================================
