----------------------------- MODULE PollerCore -----------------------------
(***************************************************************************)
(* The state of Poller, and the threads that wake its carrier. Poller.tla  *)
(* says what is abstracted, and has the claims.                            *)
(* Code       kernel/sched/carrier.c (submit, wake), poller.c (register).  *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Submitters,  \* each pushes one task; those in Closers push the stop instead
  Closers,     \* submitters that push the stop
  Registrars,  \* each registers a poller
  Victims,     \* siblings that the carrier may be woken to steal from; {}: there is no searcher
  Steals,      \* the number of tasks that may be stolen from siblings
  Parks,       \* the number of times that a poller parks as a virtual thread, until another thread
               \* unparks it
  Pushes,      \* the number of times that the poller resumes a thread of its carrier after it has
               \* parked the carrier
  Ends         \* TRUE: a poller may end by itself

VARIABLES
  word,        \* carrier->word: RUNNING, PARKED_FUTEX, PARKED_POLLER, WAKING, or a victim
  work,        \* the number of published tasks in the carrier's queues
  next,        \* the number of tasks in the carrier's private slot, which the poller has stolen
  registered,  \* the registrar of the poller that has the carrier
  alive,       \* ghost: the registrars whose pollers have not ended
  poller,      \* where the poller is: "none"; in its carrier's "inbox" or "slot", or in the queue
               \* that is "shared" with siblings; "on" the carrier; "away", because it has parked;
               \* with a "thief"
  resume,      \* the poller's next step when it runs again
  event,       \* TRUE if the poller's wakeup has been called since the poller last looked
  owed,        \* the number of wakeups that wakers have claimed and not returned from, as the
               \* poller counts them
  stop,        \* the stop: "no" if none was sent, "sent" if the inbox holds it, "read" if the
               \* carrier has read it
  pc,          \* thread -> its next step
  place,       \* waker -> where the carrier sleeps, as the waker has read; owner -> where it means
               \* to sleep
  whom,        \* waker -> the registrar of the poller that it wakes
  left         \* the steals, parks and pushes that are still to come

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

(* A waker pushes, reads the word, and wakes the carrier: carrier.c. *)

\* A submitter pushes a task, or the stop.
Push(s) ==
  /\ s \in Submitters
  /\ pc[s] = "start"
  /\ IF s \in Closers THEN stop' = "sent" /\ UNCHANGED work
     ELSE work' = work + 1 /\ UNCHANGED stop
  /\ Goto(s, "word")
  /\ UNCHANGED <<word, next, Whose, Wakes, place, left>>

\* The poller begins in the inbox, as any thread does.
Begin(r) ==
  /\ registered' = r
  /\ alive' = alive \cup {r}
  /\ poller' = "inbox"
  /\ resume' = "poll"

\* A registrar registers its poller: wp_poller_register. This is refused if the carrier has a poller
\* or is closed.
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

\* The step of a waker that is done.
Through(w) == IF w = "friend" THEN "start" ELSE "done"

\* The waker reads the word.
LoadWord(w) ==                \* [carrier.7] [carrier.4] [search.2]
  /\ pc[w] = "word"
  /\ place' = [place EXCEPT ![w] = IF word \in Parked THEN word ELSE None]
  /\ Goto(w, IF word \in Parked THEN "cas" ELSE Through(w))
  /\ UNCHANGED <<word, Queues, Whose, Wakes, stop, left>>

\* The waker claims the wakeup, for the place that it has read.
Claim(w) ==                   \* [carrier.3] [search.1]
  /\ pc[w] = "cas"
  /\ IF word # place[w] THEN Goto(w, Through(w)) /\ UNCHANGED <<word, whom>>
     ELSE /\ Goto(w, "call")
          /\ whom' = [whom EXCEPT ![w] = IF place[w] = "PARKED_POLLER" THEN registered ELSE None]
          /\ IF w = "searcher" THEN \E v \in Victims : word' = v ELSE word' = "WAKING"
  /\ UNCHANGED <<Queues, Whose, event, owed, stop, place, left>>

\* The waker calls the poller's wakeup or wakes the futex, and returns: wp__carrier_wake.
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
