----------------------------- MODULE SearchHit -----------------------------
(***************************************************************************)
(* How Search decides whether there is something to steal from a sibling,  *)
(* which is called a hit. Each load is one step. A carrier that was woken  *)
(* for its one task keeps this task: it is no hit.                         *)
(*                                                                         *)
(* Code       wp__carrier_is_hit, kernel/sched/run_queues.c;               *)
(*            wp_mpsc_published.                                           *)
(* Abstracts  the two loads of the front to one step (Mpsc has both).      *)
(***************************************************************************)
EXTENDS SearchCore

(* Is queue x a hit?  A thread scans in the re-check after it has released *)
(* the token, and looks before it sleeps.  It counts the tasks first: a    *)
(* carrier that is WAKING after that has taken nothing since it parked.    *)
ScanAt == [front |-> "scan", tail |-> "scan_tail", inbox |-> "scan_inbox", word |-> "scan_word"]
LookAt == [front |-> "look", tail |-> "look_tail", inbox |-> "look_inbox", word |-> "look_word"]
IsScan(t) == \E what \in DOMAIN ScanAt : at[t].pc = ScanAt[what]
AsksFor(t, what) == at[t].pc \in {ScanAt[what], LookAt[what]}

\* There is something to steal from x.
Hit(t, x) == Move(t, IF IsScan(t) THEN "search" ELSE "clear", x)

\* There is nothing to steal from x, so the next queue is checked.
Miss(t, x) ==
  IF at[t].todo # {x} THEN Goto(t, IF IsScan(t) THEN "scan" ELSE "look", None, at[t].todo \ {x}, {})
  ELSE IF IsScan(t) THEN Return(t) ELSE Move(t, "asleep", None)

\* Thread t goes on to read `what`. If x is in `seen`, the node that t saw at the front of x is
\* still there.
Ask(t, x, what) ==
  Goto(t, IF IsScan(t) THEN ScanAt[what] ELSE LookAt[what], x, at[t].todo,
       IF what = "tail" THEN {x} ELSE {})

\* wp__carrier_is_hit: the searcher reads the front of a sibling's queue. Siblings are taken in any
\* order.
IsHit(t) ==                   \* [mpsc.9] [mpsc.11]
  /\ AsksFor(t, "front")
  /\ \E x \in at[t].todo :
       IF HasPublished(queue[x], IsHole) THEN Ask(t, x, "tail") ELSE Miss(t, x)
  /\ Looks

\* The searcher checks whether the queue has only one task. A node that was taken and pushed again
\* looks to the searcher as if it had never been taken.
LoadTail(t) ==                \* [mpsc.12]
  /\ AsksFor(t, "tail")
  /\ LET x == at[t].arg
         one == Len(queue[x]) = 1
     IN \E same \in {at[t].seen # {}} \cup (IF Yields > 0 THEN {TRUE} ELSE {}) :
          IF one /\ same
          THEN Ask(t, x, IF Pinners # {} THEN "inbox" ELSE "word")
          ELSE Hit(t, x)
  /\ Looks

\* The searcher checks whether the carrier has a pinned task.
LoadInbox(t) ==               \* [mpsc.10]
  /\ AsksFor(t, "inbox")
  /\ LET x == at[t].arg IN
     IF inbox[x] # <<>> THEN Hit(t, x) ELSE Ask(t, x, "word")
  /\ Looks

\* The searcher checks whether the carrier is WAKING. If so, the carrier takes its one task itself.
LoadWaking(t) ==              \* [run_queues.1]
  /\ AsksFor(t, "word")
  /\ LET x == at[t].arg IN
     IF word[x] = "WAKING" THEN Miss(t, x) ELSE Hit(t, x)
  /\ Looks

\* The first node of x is taken. For a searcher that has read the front of x and not yet the tail,
\* this is the node that it saw.
Taken(x) == [t \in Threads |-> IF AsksFor(t, "tail") /\ at[t].arg = x
                               THEN [at[t] EXCEPT !.seen = {}] ELSE at[t]]
=============================================================================
