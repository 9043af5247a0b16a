----------------------------- MODULE PollerCore -----------------------------
(***************************************************************************)
(* The state of Poller, and the threads that wake its carrier. Poller.tla  *)
(* says what is abstracted, and has the claims.                            *)
(* Code       kernel/sched/carrier.c (submit, wake), poller.c (register).  *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Submitters,  \* each pushes a task; those in Closers push the stop
  Closers,     \* submitters that push the stop
  Registrars,  \* each registers a poller
  Victims,     \* siblings that the carrier may be sent to help; {}: there is no searcher
  Steals,      \* how many tasks may come from siblings
  Parks,       \* how often a poller parks as a virtual thread, for another thread to unpark it
  Pushes,      \* how many times the poller resumes a thread of its carrier after it has parked the
               \* carrier
  Ends         \* a poller may end by itself

VARIABLES
  word,        \* carrier->word: RUNNING, PARKED_FUTEX, PARKED_POLLER, WAKING, or a victim
  work,        \* published tasks in the carrier's queues
  next,        \* tasks in its private slot: what its poller has stolen
  registered,  \* the registrar of the poller that has the carrier
  alive,       \* ghost: registrars with a poller that has not ended
  poller,      \* where the poller stands: "none"; in its carrier's "inbox", its "slot", or the
               \* queue that is "shared" with siblings; "on" the carrier, "away" parked, with a
               \* "thief"
  resume,      \* where the poller goes on
  event,       \* the poller's wakeup has been called since the poller looked
  owed,        \* wakeups that its parks have seen claimed, less those that have returned
  stop,        \* whether the stop is in the inbox: "no", "sent"; or the carrier has "read" it
  pc,          \* thread -> its next step
  place,       \* waker -> where it has read that the carrier sleeps; owner -> where it means to
               \* sleep
  whom,        \* waker -> the registrar of the poller that it wakes
  left         \* steals, parks and pushes that are still to come

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
  /\ word = "RUNNING"
  /\ work = 0
  /\ next = 0
  /\ registered = None
  /\ alive = {}
  /\ poller = None
  /\ resume = "poll"
  /\ event = FALSE
  /\ owed = 0
  /\ stop = "no"
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

(* A waker pushes, looks at the word, and wakes the carrier: carrier.c. *)

\* A submitter pushes a task, or the stop.
Push(s) ==
  /\ s \in Submitters
  /\ pc[s] = "start"
  /\ IF s \in Closers THEN stop' = "sent" /\ UNCHANGED work
     ELSE work' = work + 1 /\ UNCHANGED stop
  /\ Goto(s, "word")
  /\ UNCHANGED <<word, next, Whose, Wakes, place, left>>

\* The poller begins as any thread does: in the inbox.
Begin(r) ==
  /\ registered' = r
  /\ alive' = alive \cup {r}
  /\ poller' = "inbox"
  /\ resume' = "poll"

\* A registrar registers its poller, unless the carrier has one or is closed: wp_poller_register.
Register(r) ==
  /\ r \in Registrars
  /\ pc[r] = "start"
  /\ IF registered # None \/ stop # "no"
     THEN /\ Goto(r, "refused")
          /\ UNCHANGED Whose
     ELSE /\ Goto(r, "word")
          /\ Begin(r)
  /\ UNCHANGED <<word, Queues, Wakes, stop, place, left>>

\* Another thread unparks the poller.
Unpark ==
  /\ pc["friend"] = "start"
  /\ poller = "away"
  /\ poller' = "inbox"
  /\ Goto("friend", "word")
  /\ UNCHANGED <<word, Queues, registered, alive, resume, Wakes, stop, place, left>>

\* A searcher begins to look at this carrier.
Search ==
  /\ pc["searcher"] = "start"
  /\ Victims # {}
  /\ Goto("searcher", "word")
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, place, left>>

\* Where a waker is when it is done.
Through(w) == IF w = "friend" THEN "start" ELSE "done"

\* The waker looks at the word.
LoadWord(w) ==                \* [carrier.7] [carrier.4] [search.2]
  /\ pc[w] = "word"
  /\ place' = [place EXCEPT ![w] = IF word \in Parked THEN word ELSE None]
  /\ Goto(w, IF word \in Parked THEN "cas" ELSE Through(w))
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, left>>

\* The waker claims the wake, at the place that it read.
Claim(w) ==                   \* [carrier.3] [search.1]
  /\ pc[w] = "cas"
  /\ IF word # place[w] THEN Goto(w, Through(w)) /\ UNCHANGED <<word, whom>>
     ELSE /\ Goto(w, "call")
          /\ whom' = [whom EXCEPT ![w] = IF place[w] = "PARKED_POLLER" THEN registered ELSE None]
          /\ IF w = "searcher" THEN \E v \in Victims : word' = v ELSE word' = "WAKING"
  /\ UNCHANGED <<Queues, Whose, event, owed, stop, place, left>>

\* The waker calls the wakeup or the futex, and returns: wp__carrier_wake.
Call(w) ==
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
