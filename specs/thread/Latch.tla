-------------------------------- MODULE Latch -------------------------------
(***************************************************************************)
(* A latch stands for one event that any number of threads may wait for.   *)
(* It is shut at first, and once it is open it stays open. The thread that *)
(* opens it, the opener, takes the whole list of waiters in one step and   *)
(* then wakes them, the oldest first.                                      *)
(*                                                                         *)
(* Code       kernel/thread/latch.h, latch.c; [latch.1]..[latch.6] name    *)
(*            sites there.                                                 *)
(* Abstracts  nothing of the latch; its waiters to OS threads (WaitQueue   *)
(*            has virtual threads, too).                                   *)
(* Memory     sequential consistency.                                      *)
(* Promises   TerminationVisible, NoLostWaiter, UntouchedAfterOpen         *)
(*            (safety); Served (liveness).                                 *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS
  Waiters   \* threads; each waits once, and may give up

VARIABLES
  word,     \* the latch's word: "shut" or "open"
  locked,   \* TRUE if the list is locked, by a bit of the word
  list,     \* the waiters in the list, newest first
  pc,       \* waiter or "opener" -> its next step
  hand,     \* the waiters that the opener has taken off the list and not woken yet
  granted,  \* the waiters whose grants are stored: they may return
  done      \* ghost: TRUE if the opener has done the work that the event stands for
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

\* The opener does the work that the event stands for.
Work ==
  /\ pc[Opener] = "begin"
  /\ done' = TRUE
  /\ Goto(Opener, "open")
  /\ UNCHANGED <<word, locked, list, hand, granted>>

\* If no thread waits or is about to, the opener opens the latch with one compare-and-swap.
\* Otherwise it needs the lock.
Open ==                       \* [latch.1]
  /\ pc[Opener] = "open"
  /\ IF list = <<>> /\ ~locked
     THEN /\ word' = "open"
          /\ Goto(Opener, "out")
     ELSE /\ Goto(Opener, "lock")
          /\ UNCHANGED word
  /\ UNCHANGED <<locked, list, hand, granted, done>>

\* The opener locks the list.
Lock ==                       \* [latch.3] [latch.6]
  /\ pc[Opener] = "lock"
  /\ ~locked
  /\ locked' = TRUE
  /\ Goto(Opener, "publish")
  /\ UNCHANGED <<word, list, hand, granted, done>>

After(waiting) == IF waiting = <<>> THEN "out" ELSE "grant"

\* In one step the opener takes the list, unlocks it and opens the latch.
Publish ==                    \* [latch.4]
  /\ pc[Opener] = "publish"
  /\ word' = "open"
  /\ locked' = FALSE
  /\ list' = <<>>
  /\ hand' = list
  /\ Goto(Opener, After(hand'))
  /\ UNCHANGED <<granted, done>>

Oldest == hand[Len(hand)]

\* The opener stores the grant of the oldest waiter that it has taken.
Grant ==                      \* [wait_queue.2]
  /\ pc[Opener] = "grant"
  /\ granted' = granted \cup {Oldest}
  /\ Goto(Opener, "wake")
  /\ UNCHANGED <<word, locked, list, hand, done>>

\* The opener wakes this waiter with a system call, which has no effect on a waiter that is awake.
Wake ==
  /\ pc[Opener] = "wake"
  /\ hand' = SubSeq(hand, 1, Len(hand) - 1)
  /\ pc' = [pc EXCEPT ![Opener] = After(hand'),
                      ![Oldest] = IF @ = "asleep" THEN "back" ELSE @]
  /\ UNCHANGED <<word, locked, list, granted, done>>

(* A waiter. *)

\* A waiter finds the latch open. Or it locks the list, to add itself or to take itself off.
Take(w, from, to) ==          \* [latch.2] [latch.3]
  /\ pc[w] = from
  /\ IF word = "open"
     THEN /\ Goto(w, IF from = "late" THEN "await" ELSE "in")
          /\ UNCHANGED locked
     ELSE /\ ~locked
          /\ locked' = TRUE
          /\ Goto(w, to)
  /\ UNCHANGED <<word, list, hand, granted, done>>

\* The waiter adds itself to the list and unlocks the list.
Push(w) ==                    \* [latch.5]
  /\ pc[w] = "push"
  /\ list' = <<w>> \o list
  /\ locked' = FALSE
  /\ Goto(w, "wait")
  /\ UNCHANGED <<word, hand, granted, done>>

\* The waiter goes to sleep with a system call, unless its grant is already stored.
Sleep(w) ==
  /\ pc[w] = "wait"
  /\ Goto(w, IF w \in granted THEN "back" ELSE "asleep")
  /\ UNCHANGED <<word, locked, list, hand, granted, done>>

\* The waiter finds its grant and returns.
Return(w) ==                  \* [wait_queue.1] [wait_queue.3]
  /\ pc[w] \in {"back", "await"}
  /\ w \in granted
  /\ Goto(w, "in")
  /\ UNCHANGED <<word, locked, list, hand, granted, done>>

\* The waiter's deadline passes.
TimeOut(w) ==
  /\ pc[w] = "asleep"
  /\ Goto(w, "late")
  /\ UNCHANGED <<word, locked, list, hand, granted, done>>

\* The waiter takes itself off the list and unlocks the list.
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

\* The intended end: the opener and all waiters have returned.
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

\* A thread that finds the latch open sees what the opener did before it opened the latch.
TerminationVisible == word = "open" \/ (\E w \in Waiters : pc[w] = "in") => done

\* Once the latch is open, every thread that waits has its grant or is about to get it.
NoLostWaiter ==
  word = "open" => \A w \in Waiters :
    pc[w] \in {"wait", "asleep", "late", "await"} =>
      w \in granted \cup Range(hand) \/ pc[Opener] = "publish"

\* A thread that finds the latch open may free it. From then on the opener accesses only its
\* waiters, and none of those that have returned.
UntouchedAfterOpen ==
  /\ word = "open" => pc[Opener] \notin {"open", "lock", "publish"} /\ ~locked
  /\ \A w \in Waiters : pc[w] \in {"in", "out"} => w \notin Range(hand) \ granted

\* Every thread that waits eventually returns.
Served == \A w \in Waiters : pc[w] \in {"wait", "asleep"} ~> pc[w] \in {"in", "out"}

(* The inductive invariant, from which the claims follow for any number of waiters. *)

\* Which steps each kind of thread takes.
IndTypes ==
  /\ word \in {"shut", "open"}
  /\ pc[Opener] \in {"begin", "open", "lock", "publish", "grant", "wake", "out"}
  /\ \A w \in Waiters : pc[w] \notin {"open", "lock", "publish", "grant"}

\* One thread has the list's lock, the one that is at such a step.
HasLock == {t \in Waiters \cup {Opener} : pc[t] \in {"push", "remove", "publish"}}
LockIsHeld ==
  /\ locked <=> HasLock # {}
  /\ \A t, u \in HasLock : t = u

\* The opener opens the latch after its work, and from then on it only wakes waiters.
OpenedByOpener ==
  /\ pc[Opener] # "begin" => done
  /\ IF word = "open"
     THEN /\ pc[Opener] \in {"grant", "wake", "out"}
          /\ ~locked
          /\ list = <<>>
     ELSE /\ pc[Opener] \in {"begin", "open", "lock", "publish"}
          /\ hand = <<>>
          /\ granted = {}

\* While the latch is shut, the list has the threads that wait, and no other threads.
Listed == {"wait", "asleep", "late", "remove"}
ListWaits ==
  word = "shut" =>
    /\ \A i \in 1 .. Len(list) : list[i] \in Waiters /\ pc[list[i]] \in Listed
    /\ \A w \in Waiters : pc[w] \in Listed => w \in Range(list)
    /\ \A w \in Waiters : pc[w] \notin {"back", "await", "in"}

\* No thread is in the list, or in the opener's hands, twice.
IsDistinct ==
  /\ \A i, j \in 1 .. Len(list) : i # j => list[i] # list[j]
  /\ \A i, j \in 1 .. Len(hand) : i # j => hand[i] # hand[j]

\* The waiters in the opener's hands wait, until the opener has granted the oldest.
HandWaits ==
  /\ pc[Opener] \in {"grant", "wake"} <=> hand # <<>>
  /\ pc[Opener] = "wake" => Oldest \in granted
  /\ \A i \in 1 .. Len(hand) :
       /\ hand[i] \in Waiters
       /\ hand[i] \in granted => i = Len(hand) /\ pc[Opener] = "wake"
       /\ hand[i] \notin granted => pc[hand[i]] \in {"wait", "asleep", "late", "await"}

\* Once the latch is open, a thread that waits is granted or in the opener's hands.
WaitsForGrant ==
  word = "open" =>
    \A w \in Waiters :
      /\ pc[w] \in {"wait", "asleep", "late", "await"} => w \in granted \cup Range(hand)
      /\ pc[w] = "back" => w \in granted

IndInv ==
  /\ IndTypes
  /\ LockIsHeld
  /\ OpenedByOpener
  /\ ListWaits
  /\ IsDistinct
  /\ HandWaits
  /\ WaitsForGrant
=============================================================================
