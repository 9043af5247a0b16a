----------------------------- MODULE SearchHit -----------------------------
(***************************************************************************)
(* Is there something to steal?  The hit rule of Search, one step for each *)
(* load: a carrier that was woken for its one task is not robbed of it.    *)
(* Code       wp__carrier_is_hit, kernel/sched/run_queues.c;               *)
(*            wp_mpsc_published.                                           *)
(* Abstracts  the two loads of the front to one step (Mpsc has both).      *)
(***************************************************************************)
EXTENDS SearchCore

(* Is queue x a hit?  "scan": the re-check after a release; "look": the    *)
(* one before a sleep.  The counts come first: a carrier that is WAKING    *)
(* after them has taken nothing since it parked.                           *)
ScanAt == [front |-> "scan", tail |-> "scan_tail", inbox |-> "scan_inbox", word |-> "scan_word"]
LookAt == [front |-> "look", tail |-> "look_tail", inbox |-> "look_inbox", word |-> "look_word"]
IsScan(t) == \E what \in DOMAIN ScanAt : at[t].pc = ScanAt[what]
AsksFor(t, what) == at[t].pc \in {ScanAt[what], LookAt[what]}
Hit(t, x) == Move(t, IF IsScan(t) THEN "search" ELSE "clear", x)
Miss(t, x) ==
  IF at[t].todo # {x} THEN Goto(t, IF IsScan(t) THEN "scan" ELSE "look", None, at[t].todo \ {x}, {})
  ELSE IF IsScan(t) THEN Return(t) ELSE Move(t, "asleep", None)
Ask(t, x, what) ==            \* x in `seen`: the node that t saw at the front is there still
  Goto(t, IF IsScan(t) THEN ScanAt[what] ELSE LookAt[what], x, at[t].todo,
       IF what = "tail" THEN {x} ELSE {})
IsHit(t) ==                   \* [mpsc.9] [mpsc.11] wp__carrier_is_hit, any sibling first
  /\ AsksFor(t, "front")
  /\ \E x \in at[t].todo :
       IF HasPublished(queue[x], IsHole) THEN Ask(t, x, "tail") ELSE Miss(t, x)
  /\ Looks
LoadTail(t) ==                \* [mpsc.12] one task?  A node pushed again looks as if never taken
  /\ AsksFor(t, "tail")
  /\ LET x == at[t].arg
         one == Len(queue[x]) = 1
     IN \E same \in {at[t].seen # {}} \cup (IF Yields > 0 THEN {TRUE} ELSE {}) :
          IF one /\ same
          THEN Ask(t, x, IF Pinners # {} THEN "inbox" ELSE "word")
          ELSE Hit(t, x)
  /\ Looks
LoadInbox(t) ==               \* [mpsc.10]
  /\ AsksFor(t, "inbox")
  /\ LET x == at[t].arg IN
     IF inbox[x] # <<>> THEN Hit(t, x) ELSE Ask(t, x, "word")
  /\ Looks
LoadWaking(t) ==              \* [run_queues.1]
  /\ AsksFor(t, "word")
  /\ LET x == at[t].arg IN
     IF word[x] = "WAKING" THEN Miss(t, x) ELSE Hit(t, x)
  /\ Looks
\* Who saw the front of x, and not yet the tail, saw the node that is now taken.
Taken(x) == [t \in Threads |-> IF AsksFor(t, "tail") /\ at[t].arg = x
                               THEN [at[t] EXCEPT !.seen = {}] ELSE at[t]]
=============================================================================
