----------------------------- MODULE PollerCore -----------------------------
(***************************************************************************)
(* The state of Poller, and whoever wakes its carrier.                     *)
(* Code       kernel/sched/carrier.c (submit, wake), poller.c (register).  *)
(* The essay on what is abstracted, and the claims, are in Poller.tla.     *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Submitters,  \* each pushes a task; those in Closers push the stop
  Closers,
  Registrars,  \* each registers a poller
  Victims,     \* siblings that the carrier may be sent to help; {}: no searcher comes
  Steals,      \* how many tasks may come from siblings
  Parks,       \* how often a poller parks as a virtual thread, for another thread to unpark it
  Pushes,      \* how often it resumes somebody of its carrier when it has parked that
  Ends         \* a poller may end by itself

VARIABLES
  word,        \* carrier->word: RUNNING, PARKED_FUTEX, PARKED_POLLER, WAKING, or a victim
  work,        \* published tasks in the carrier's queues
  next,        \* tasks in its private slot: what its poller has stolen
  registered,  \* whose poller has the carrier
  alive,       \* ghost: registrars whose poller has not ended
  poller,      \* where it stands: "none"; in its carrier's "inbox", its "slot", or the queue that is
               \* "shared" with siblings; "on" the carrier, "away" parked, with a "thief"
  resume,      \* where it goes on
  event,       \* its wakeup has been called since it looked
  owed,        \* wakeups that its parks have seen claimed, less those that have returned
  stop,        \* "no", "sent", "read"
  pc,          \* thread -> what it does next
  place,       \* waker -> where the carrier sleeps, as it read; owner -> where it means to
  whom,        \* waker -> whose poller it wakes
  left         \* budgets: steals, parks, pushes
Wakers == Submitters \cup Registrars \cup {"searcher", "friend"}
vars == <<word, work, next, registered, alive, poller, resume, event, owed, stop, pc, place, whom,
          left>>

None   == "none"
Parked == {"PARKED_FUTEX", "PARKED_POLLER"}

TypeOK ==
  /\ word \in {"RUNNING", "WAKING"} \cup Parked \cup Victims
  /\ work \in 0 .. Cardinality(Submitters) + Pushes
  /\ next \in 0 .. 2
  /\ registered \in Registrars \cup {None}
  /\ alive \subseteq Registrars
  /\ poller \in {None, "inbox", "shared", "slot", "on", "away", "thief"}
  /\ resume \in {"poll", "ask", "end"}
  /\ event \in BOOLEAN
  /\ owed \in -Cardinality(Wakers) .. Cardinality(Wakers)
  /\ stop \in {"no", "sent", "read"}
  /\ pc \in [Wakers \cup {"owner"} ->
       {"start", "word", "cas", "call", "done", "refused",
        "loop", "run", "recheck", "queued", "back", "poll", "parked", "ask", "selecting", "unpark",
        "end", "waits", "over"}]
  /\ place \in [Wakers \cup {"owner"} -> Parked \cup {None}]
  /\ whom \in [Wakers -> Registrars \cup {None}]
  /\ left.steals \in 0 .. Steals
  /\ left.parks \in 0 .. Parks
  /\ left.pushes \in 0 .. Pushes

Init ==
  /\ word = "RUNNING" /\ work = 0 /\ next = 0
  /\ registered = None /\ alive = {} /\ poller = None /\ resume = "poll"
  /\ event = FALSE /\ owed = 0 /\ stop = "no"
  /\ pc = [t \in Wakers \cup {"owner"} |-> IF t = "owner" THEN "loop" ELSE "start"]
  /\ place = [t \in Wakers \cup {"owner"} |-> None]
  /\ whom = [t \in Wakers |-> None]
  /\ left = [steals |-> Steals, parks |-> Parks, pushes |-> Pushes]

Queues == <<work, next>>
Whose  == <<registered, alive, poller, resume>>
Wakes  == <<event, owed, whom>>
Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
To(where) == Goto("owner", where)
Is(where) == pc["owner"] = where

(* Wakers push, look at the word, and wake: carrier.c. *)
Push(s) ==
  /\ s \in Submitters /\ pc[s] = "start"
  /\ IF s \in Closers THEN stop' = "sent" /\ UNCHANGED work
     ELSE work' = work + 1 /\ UNCHANGED stop
  /\ Goto(s, "word")
  /\ UNCHANGED <<word, next, Whose, Wakes, place, left>>
Begin(r) ==                   \* the poller begins as any thread does: in the inbox
  /\ registered' = r
  /\ alive' = alive \cup {r}
  /\ poller' = "inbox"
  /\ resume' = "poll"
Register(r) ==                \* wp_poller_register
  /\ r \in Registrars
  /\ pc[r] = "start"
  /\ IF registered # None \/ stop # "no"
     THEN /\ Goto(r, "refused")
          /\ UNCHANGED Whose
     ELSE /\ Goto(r, "word")
          /\ Begin(r)
  /\ UNCHANGED <<word, Queues, Wakes, stop, place, left>>
Unpark ==                     \* another thread unparks it
  /\ pc["friend"] = "start"
  /\ poller = "away"
  /\ poller' = "inbox"
  /\ Goto("friend", "word")
  /\ UNCHANGED <<word, Queues, registered, alive, resume, Wakes, stop, place, left>>
Search ==
  /\ pc["searcher"] = "start" /\ Victims # {}
  /\ Goto("searcher", "word")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>
Through(w) == IF w = "friend" THEN "start" ELSE "done"
LoadWord(w) ==                \* [carrier.7] [carrier.4] [search.2]
  /\ pc[w] = "word"
  /\ place' = [place EXCEPT ![w] = IF word \in Parked THEN word ELSE None]
  /\ Goto(w, IF word \in Parked THEN "cas" ELSE Through(w))
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, left>>
Claim(w) ==                   \* [carrier.3] [search.1]
  /\ pc[w] = "cas"
  /\ IF word # place[w] THEN Goto(w, Through(w)) /\ UNCHANGED <<word, whom>>
     ELSE /\ Goto(w, "call")
          /\ whom' = [whom EXCEPT ![w] = IF place[w] = "PARKED_POLLER" THEN registered ELSE None]
          /\ IF w = "searcher" THEN \E v \in Victims : word' = v ELSE word' = "WAKING"
  /\ UNCHANGED <<Queues, Whose, event, owed, stop, place, left>>
Call(w) ==                    \* wp__carrier_wake; then: it has returned
  /\ pc[w] = "call"
  /\ LET wakes == place[w] = "PARKED_POLLER" IN
     /\ event' = (event \/ wakes)
     /\ owed' = IF wakes THEN owed - 1 ELSE owed
     /\ pc' = [pc EXCEPT ![w] = Through(w),
                         !["owner"] = CASE ~wakes /\ @ = "queued" -> "back"
                                        [] wakes /\ @ = "waits" -> "end"
                                        [] OTHER -> @]
  /\ whom' = [whom EXCEPT ![w] = None]
  /\ UNCHANGED <<word, Queues, Whose, stop, place, left>>
Waker(w) == LoadWord(w) \/ Claim(w) \/ Call(w)
=============================================================================
