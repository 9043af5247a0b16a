------------------------------ MODULE Carrier -------------------------------
(***************************************************************************)
(* A carrier is an OS thread that runs tasks and sleeps (parks) when it    *)
(* has none. One word of the carrier says what the carrier does and where  *)
(* it sleeps: on a futex, or in its poller's system call. A waker reads    *)
(* the word, claims the wakeup with one compare-and-swap, and then makes   *)
(* the one system call that reaches the sleeper. When the carrier leaves   *)
(* its park, it reads and resets the word in one exchange, so it reads     *)
(* each signal exactly once. A signal is the name of a sibling, the        *)
(* victim, that the carrier is woken to steal from.                        *)
(*                                                                         *)
(* Code       kernel/sched/carrier.h, carrier.c, run_queues.c, search.c;   *)
(*            [carrier.1]..[search.2] name sites.                          *)
(* Abstracts  the carrier's own queues to a counter with a one-step push   *)
(*            (Mpsc); the idle bit and the token to one searcher that may  *)
(*            come at any time; the siblings' queues to a choice to give   *)
(*            up a park (Search). The futex call compares the word and     *)
(*            queues the sleeper in one step, and a wake has an effect     *)
(*            only on a sleeper that is queued. The eventfd is sticky: it  *)
(*            keeps a wakeup that comes before the sleep.                  *)
(* Memory     sequential consistency, which [carrier.7] and [carrier.6]    *)
(*            earn.                                                        *)
(* Promises   NoSignalLostOnExit, NoMissedSubmission, WakeReachesSleeper,  *)
(*            RunsOnlyWhenRunning (safety).                                *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Submitters,  \* threads that push one task each to the carrier, and wake it
  Victims,     \* siblings that the carrier may be woken to steal from
  Searches,    \* the number of searches
  Delaying     \* TRUE: the carrier may put off a steal

ASSUME SomebodySubmits == Submitters # {} /\ Searches \in Nat /\ Delaying \in BOOLEAN

VARIABLES
  word,      \* carrier->word: RUNNING, PARKED_FUTEX, PARKED_POLLER, WAKING, or the name of the
             \* victim
  work,      \* the number of published tasks in the carrier's own queues
  eventfd,   \* TRUE if carrier->poller_fd is readable
  pc,        \* thread -> its next step
  place,     \* thread -> where the carrier sleeps; for the owner, where it means to sleep; for a
             \* waker, what it read first in the word
  signal,    \* ghost: the victim that a searcher has written into the word and the owner has not
             \* read yet
  searches   \* the number of searches that are still to come

vars == <<word, work, eventfd, pc, place, signal, searches>>

None    == "none"
Wakers  == Submitters \cup {"searcher"}
Threads == Wakers \cup {"owner"}
Parked  == {"PARKED_FUTEX", "PARKED_POLLER"}

TypeOK ==
  /\ word \in {"RUNNING", "WAKING"} \cup Parked \cup Victims
  /\ work \in Nat
  /\ eventfd \in BOOLEAN
  /\ pc \in [Threads -> {"start", "word", "cas", "call", "done", "run", "poll", "park", "recheck",
                         "test", "wait", "queued", "poller", "selecting", "drain", "leave"}]
  /\ place \in [Threads -> Parked \cup Victims \cup {None}]
  /\ signal \in Victims \cup {None}
  /\ searches \in 0 .. Searches

Init ==
  /\ word = "RUNNING"
  /\ work = 0
  /\ eventfd = FALSE
  /\ pc = [t \in Threads |-> IF t = "owner" THEN "run" ELSE "start"]
  /\ place = [t \in Threads |-> None]
  /\ signal = None
  /\ searches = Searches

Goto(t, where, p) == pc' = [pc EXCEPT ![t] = where] /\ place' = [place EXCEPT ![t] = p]
Local == UNCHANGED <<word, work, eventfd, signal, searches>>

(* The wakers: the submitters, and the searcher that sends the carrier to a victim. *)

\* A submitter pushes a task to the carrier's queue.
Push(s) ==                    \* [mpsc.2] [mpsc.3] wp_mpsc_push
  /\ pc[s] = "start"
  /\ work' = work + 1
  /\ Goto(s, "word", None)
  /\ UNCHANGED <<word, eventfd, signal, searches>>

\* The searcher begins a new search. It can do so only after the last signal was read, because until
\* then the token is not free ([search.5]).
Search ==
  /\ pc["searcher"] = "start"
  /\ searches > 0
  /\ signal = None
  /\ searches' = searches - 1
  /\ Goto("searcher", "word", None)
  /\ UNCHANGED <<word, work, eventfd, signal>>

\* The waker owes no wakeup, and is done.
GiveUp(w) == Goto(w, IF w = "searcher" THEN "start" ELSE "done", None)

\* The waker reads the word: [carrier.7] [carrier.4] in wp_carrier_submit, [search.2] in recruit.
LoadWord(w) ==
  /\ pc[w] = "word"
  /\ IF word \in Parked THEN Goto(w, "cas", word) ELSE GiveUp(w)
  /\ Local

\* The waker claims the wakeup: a submitter changes PARKED_x to WAKING ([carrier.3]), and the
\* searcher changes it to SEARCHING for a victim ([search.1]).
Signal(w) ==
  /\ pc[w] = "cas"
  /\ IF word # place[w]
     THEN /\ GiveUp(w)
          /\ UNCHANGED <<word, signal>>
     ELSE /\ Goto(w, "call", place[w])
          /\ IF w = "searcher"
             THEN \E v \in Victims :
                    /\ word' = v
                    /\ signal' = v
             ELSE /\ word' = "WAKING"
                  /\ UNCHANGED signal
  /\ UNCHANGED <<work, eventfd, searches>>

\* The waker makes the one system call, which depends on the place that it claimed:
\* wp__carrier_wake.
Call(w) ==
  /\ pc[w] = "call"
  /\ LET target == place[w]
         woken == target # "PARKED_POLLER" /\ pc["owner"] = "queued"
         next == IF w = "searcher" THEN "start" ELSE "done"
     IN /\ eventfd' = (eventfd \/ target = "PARKED_POLLER")
        /\ pc' = [pc EXCEPT ![w] = next, !["owner"] = IF woken THEN "test" ELSE @]
  /\ place' = [place EXCEPT ![w] = None]
  /\ UNCHANGED <<word, work, signal, searches>>

(* The owner. *)
Become(where) == Goto("owner", where, place["owner"])

\* The carrier's own task ends, or a stolen task ends, or the poller yields.
End ==
  /\ pc["owner"] = "run"
  /\ Become("poll")
  /\ Local

\* The carrier takes a task from its queue, or goes to park.
Poll ==                       \* [mpsc.4] wp_carrier_poll
  /\ pc["owner"] = "poll"
  /\ work' = IF work > 0 THEN work - 1 ELSE 0
  /\ Become(IF work > 0 THEN "run" ELSE "park")
  /\ UNCHANGED <<word, eventfd, signal, searches>>

\* The carrier writes into its word where it is going to sleep, and sets its idle bit
\* ([idle_set.1]).
Advertise(p) ==               \* [carrier.1] wp_carrier_advertise
  /\ pc["owner"] = "park"
  /\ word' = p
  /\ Goto("owner", "recheck", p)
  /\ UNCHANGED <<work, eventfd, signal, searches>>

Sleep == Become(IF place["owner"] = "PARKED_FUTEX" THEN "test" ELSE "poller")

\* The carrier checks its queues once more ([carrier.6] [mpsc.4]). If it has work, it gives up the
\* park; otherwise it sleeps.
Recheck ==
  /\ pc["owner"] = "recheck"
  /\ IF work > 0 THEN Become("leave") ELSE Sleep
  /\ Local

\* A sibling has work, so the carrier gives up the park.
SiblingHit ==                 \* [carrier.6]
  /\ pc["owner"] = "recheck"
  /\ work = 0
  /\ Become("leave")
  /\ Local

\* The carrier checks its word before it makes the futex call: wp_carrier_sleep.
Test ==                       \* [carrier.5]
  /\ pc["owner"] = "test"
  /\ Become(IF word = "PARKED_FUTEX" THEN "wait" ELSE "leave")
  /\ Local

\* The futex call sleeps only if the word is still PARKED_FUTEX.
Wait ==
  /\ pc["owner"] = "wait"
  /\ Become(IF word = "PARKED_FUTEX" THEN "queued" ELSE "test")
  /\ Local

\* The poller enters its system call.
Select ==
  /\ pc["owner"] = "poller"
  /\ Become("selecting")
  /\ Local

\* The poller is descheduled before its system call.
Deschedule ==
  /\ pc["owner"] = "poller"
  /\ Become("leave")
  /\ Local

\* The eventfd ends the poller's sleep.
Readable ==
  /\ pc["owner"] = "selecting"
  /\ eventfd
  /\ Become("drain")
  /\ Local

\* Input or output ends the poller's sleep. The eventfd may become readable later.
Ready ==
  /\ pc["owner"] = "selecting"
  /\ Become("leave")
  /\ Local

\* The poller clears the eventfd.
Drain ==
  /\ pc["owner"] = "drain"
  /\ eventfd' = FALSE
  /\ Become("leave")
  /\ UNCHANGED <<word, work, signal, searches>>

\* The carrier reads and resets its word in one step. If it has read a victim there, it then steals
\* from the victim.
Leave ==                      \* [carrier.2] wp_carrier_leave
  /\ pc["owner"] = "leave"
  /\ word' = "RUNNING"
  /\ signal' = IF word \in Victims THEN None ELSE signal
  /\ Goto("owner", "poll", None)
  /\ UNCHANGED <<work, eventfd, searches>>

\* A carrier that was woken to steal puts the steal off: it has read the signal, and parks again at
\* once. The token stays with it, but this module lets the searcher come all the same.
PutOff ==                     \* [carrier.8] [carrier.1] wp_carrier_put_off
  /\ Delaying
  /\ pc["owner"] = "leave"
  /\ place["owner"] = "PARKED_FUTEX"
  /\ word \in Victims
  /\ word' = "PARKED_FUTEX"
  /\ signal' = None
  /\ Become("recheck")
  /\ UNCHANGED <<work, eventfd, searches>>

IsAsleep == pc["owner"] \in {"queued", "selecting"}
Finished ==
  /\ \A s \in Submitters : pc[s] = "done"
  /\ pc["searcher"] \in {"start", "done"}
  /\ pc["owner"] = "queued"
  /\ word \in Parked
  /\ work = 0
  /\ UNCHANGED vars

Waker(w) == LoadWord(w) \/ Signal(w) \/ Call(w)
Owner ==
  \/ End
  \/ Poll
  \/ \E p \in Parked : Advertise(p)
  \/ Recheck
  \/ SiblingHit
  \/ Test
  \/ Wait
  \/ Select
  \/ Deschedule
  \/ Readable
  \/ Ready
  \/ Drain
  \/ Leave
  \/ PutOff

Next ==
  \/ \E s \in Submitters : Push(s)
  \/ Search
  \/ \E w \in Wakers : Waker(w)
  \/ Owner
  \/ Finished

Spec == Init /\ [][Next]_vars

(* What must hold. *)
\* A carrier runs nothing unless its word is RUNNING.
RunsOnlyWhenRunning == pc["owner"] \in {"run", "poll", "park"} => word = "RUNNING"

\* The carrier reads each signal exactly once, even if the signal comes while the carrier leaves its
\* park: until then the victim's name stays in the word.
NoSignalLostOnExit == IF signal = None THEN word \notin Victims ELSE word = signal
\* A carrier does not sleep with a task in its queue, unless a wakeup is on its way or the submitter
\* has not read the word yet.
NoMissedSubmission ==
  work > 0 /\ IsAsleep /\ word \in Parked => \E s \in Submitters : pc[s] \in {"word", "cas"}

\* Some waker is about to make the system call for this place.
IsOnItsWay(p) == \E w \in Wakers : pc[w] = "call" /\ place[w] = p
\* The one system call of the waker ends the sleep that the carrier is in.
WakeReachesSleeper ==
  word \notin Parked =>
    /\ pc["owner"] = "queued" => IsOnItsWay("PARKED_FUTEX")
    /\ pc["owner"] = "selecting" => eventfd \/ IsOnItsWay("PARKED_POLLER")

(* The inductive invariant, from which the claims follow for any number of submitters. *)

\* A signal is the name of a victim.
IndTypes == signal \in Victims \cup {None}

\* A carrier that is about to sleep, or sleeps, has written its place into the word. The word has
\* changed since then only if a waker has claimed the wakeup.
ParkIsAdvertised ==
  pc["owner"] \in {"recheck", "test", "wait", "queued", "poller", "selecting"} =>
    /\ place["owner"] \in Parked
    /\ word \in {place["owner"], "WAKING"} \cup Victims

\* The carrier sleeps at the place that it has written.
SleepsAtItsPlace ==
  /\ pc["owner"] \in {"test", "wait", "queued"} => place["owner"] = "PARKED_FUTEX"
  /\ pc["owner"] \in {"poller", "selecting"} => place["owner"] = "PARKED_POLLER"

\* A waker claims only a carrier that has parked, and remembers where.
ClaimsAPark == \A w \in Wakers : pc[w] \in {"cas", "call"} => place[w] \in Parked

\* From the second check of the queues on, a task in them has a submitter that will read the word, or
\* has read the word that is still there.
WorkIsAnnounced ==
  /\ pc["owner"] \in {"test", "wait", "queued", "poller", "selecting"}
  /\ work > 0
  /\ word \in Parked
  => \E s \in Submitters : pc[s] = "word" \/ (pc[s] = "cas" /\ place[s] = word)

\* After a wakeup was claimed, its system call comes, or the eventfd is readable already.
ClaimIsCalled ==
  word \notin Parked =>
    /\ pc["owner"] = "queued" => IsOnItsWay("PARKED_FUTEX")
    /\ pc["owner"] \in {"recheck", "poller", "selecting"} /\ place["owner"] = "PARKED_POLLER" =>
         eventfd \/ IsOnItsWay("PARKED_POLLER")

IndInv ==
  /\ IndTypes
  /\ RunsOnlyWhenRunning
  /\ NoSignalLostOnExit
  /\ ParkIsAdvertised
  /\ SleepsAtItsPlace
  /\ ClaimsAPark
  /\ WorkIsAnnounced
  /\ ClaimIsCalled
=============================================================================
