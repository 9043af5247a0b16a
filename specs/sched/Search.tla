------------------------------- MODULE Search -------------------------------
(***************************************************************************)
(* The search protocol of the work-stealing scheduler. It ensures that no  *)
(* task that could be stolen waits while a carrier sleeps. A thread that   *)
(* pushes a task may become a searcher: it takes a token and wakes an idle *)
(* carrier, its helper, to steal from the carrier with the task, the       *)
(* victim. There is one token, so at most one search is under way at a     *)
(* time, just as Go limits the number of its spinning Ms. This module has  *)
(* the carriers, how they park, and the claims. SearchCore.tla has the     *)
(* state and the submitters.                                               *)
(*                                                                         *)
(* Code       kernel/sched/search.h, search.c, carrier.h, carrier.c,       *)
(*            run_queues.c (polls, steals), spare_thread.c; [search.5],    *)
(*            [carrier.1], [carrier.7] and so on name sites there. Each    *)
(*            shared access is one step.                                   *)
(* Abstracts  queues to sequences of link cells with a two-step push and a *)
(*            one-step pop (Mpsc); the ticket of a queue to its holder,    *)
(*            where a lost ticket is retried (BiasedLock); the place of a  *)
(*            park to PARKED, and a wake, which is a compare-and-swap      *)
(*            followed by a system call, to one step (Carrier); the test   *)
(*            for "alone", which reads front, tail and the other queue, to *)
(*            one step (a variant that reads the other queue first, in a   *)
(*            step of its own, kept all claims); the order in which a      *)
(*            carrier polls its own queues to any order.                   *)
(* One domain The model is one steal domain, a set of carriers that steal  *)
(*            from one another. Domains runs two side by side.             *)
(* Any order  Idle carriers and victims are tried in any order, which      *)
(*            includes the code's order. So carriers are symmetric, and a  *)
(*            claim that holds here holds for every fixed order as well.   *)
(* Memory     sequential consistency, which [carrier.7] [carrier.6]        *)
(*            [search.7] earn. This model does not show a missing fence;   *)
(*            the explorer and the stress tests do.                        *)
(* Promises   SearchingImpliesToken, EveryStartSearchMatchedByOneStop,     *)
(*            WorkConservation, LoneYieldWakesNobody (safety);             *)
(*            SubmitTerminates, ParkTerminates, PublishedIsTaken           *)
(*            (liveness)                                                   *)
(***************************************************************************)
EXTENDS SearchHit

Places ==
  {"start", "publish", "word", "alone", "wake", "wake_and_tell", "quiescent", "idle", "search",
   "snapshot", "recruit", "stop", "recheck", "parked", "done", "run", "poll", "pop", "park", "bit",
   "own", "own_inbox", "asleep", "clear", "leave", "serve", "serve_pop", "steal", "steal_pop"}
  \cup {ScanAt[what] : what \in DOMAIN ScanAt}
  \cup {LookAt[what] : what \in DOMAIN LookAt}

TypeOK ==
  /\ word \in [Carriers -> {"RUNNING", "PARKED", "WAKING"} \cup Victims]
  /\ idle \subseteq Carriers
  /\ token \in {0, 1}
  /\ queue \in [Carriers \cup Victims -> Seq(Threads \cup {Task})]
  /\ inbox \in [Carriers -> Seq(Threads \cup {Task})]
  /\ held \in [Carriers -> BOOLEAN]
  /\ at \in [Threads -> [pc : Places, arg : Victims \cup {None}, todo : SUBSET Victims,
                         seen : SUBSET Victims]]
  /\ budget \in [spawn : 0 .. Spawns, yield : 0 .. Yields]

(* A carrier runs tasks, polls, parks and helps. *)

\* The task ends. The step is not fair, because any task may take long.
End(c) ==
  /\ at[c].pc = "run"
  /\ c \notin Endless
  /\ held' = [held EXCEPT ![c] = FALSE]
  /\ Move(c, "poll", None)
  /\ UNCHANGED <<word, idle, token, queue, inbox, budget>>

\* Nobody holds the ticket of x's queue.
IsFree(x) == \A c \in Carriers : ~(at[c].pc \in {"pop", "serve_pop", "steal_pop"} /\ at[c].arg = x)

\* wp_carrier_poll: the carrier takes the ticket, unless the queue is empty.
PollQueue(c) ==               \* [biased_lock.1] [biased_lock.2]
  /\ at[c].pc = "poll"
  /\ HasPublished(queue[c], IsHole)
  /\ IsFree(c)
  /\ Move(c, "pop", c)
  /\ Looks

\* The carrier takes a pinned task from its inbox.
PollInbox(c) ==
  /\ at[c].pc = "poll"
  /\ CanPop(inbox[c], IsHole)
  /\ inbox' = [inbox EXCEPT ![c] = Tail(@)]
  /\ held' = [held EXCEPT ![c] = TRUE]
  /\ Move(c, "run", None)
  /\ UNCHANGED <<word, idle, token, queue, budget>>

\* The carrier finds nothing to run, and begins to park.
PollNothing(c) ==
  /\ at[c].pc = "poll"
  /\ ~HasPublished(queue[c], IsHole)
  /\ ~CanPop(inbox[c], IsHole)
  /\ Move(c, "park", None)
  /\ Looks

\* The carrier writes into its word that it is parked.
Advertise(c) ==               \* [carrier.1] wp_carrier_advertise
  /\ at[c].pc = "park"
  /\ word' = [word EXCEPT ![c] = "PARKED"]
  /\ Move(c, "bit", None)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>

\* The carrier sets its idle bit.
SetIdle(c) ==                 \* [idle_set.1] wp_idle_set_add
  /\ at[c].pc = "bit"
  /\ idle' = idle \cup {c}
  /\ Move(c, "own", None)
  /\ UNCHANGED <<word, token, queue, inbox, held, budget>>

\* The carrier goes on to check the queues of its siblings.
LookAround(c) == Goto(c, "look", None, Victims \ {c}, {})

\* The carrier checks its own queue once more before it sleeps.
LookOwn(c) ==                 \* [carrier.6] [mpsc.4]
  /\ at[c].pc = "own"
  /\ IF HasPublished(queue[c], IsHole) THEN Move(c, "clear", None)
     ELSE IF Pinners # {} THEN Move(c, "own_inbox", None)
     ELSE LookAround(c)
  /\ Looks

\* The carrier checks its inbox once more before it sleeps.
LookInbox(c) ==
  /\ at[c].pc = "own_inbox"
  /\ IF HasPublished(inbox[c], IsHole) THEN Move(c, "clear", None) ELSE LookAround(c)
  /\ Looks

\* A carrier that sleeps wakes up once its word was changed: wp_carrier_sleep returns.
Awake(c) ==                   \* [carrier.5]
  /\ at[c].pc = "asleep"
  /\ word[c] # "PARKED"
  /\ Move(c, "clear", None)
  /\ Looks

\* The carrier's poller has input or output, so the carrier leaves its park although no thread has
\* woken it.
Rise(c) ==
  /\ at[c].pc = "asleep"
  /\ word[c] = "PARKED"
  /\ Move(c, "clear", None)
  /\ Looks

\* The carrier clears its idle bit.
ClearIdle(c) ==               \* [idle_set.2] wp_idle_set_remove
  /\ at[c].pc = "clear"
  /\ idle' = idle \ {c}
  /\ Move(c, "leave", at[c].arg)
  /\ UNCHANGED <<word, token, queue, inbox, held, budget>>

\* wp_carrier_leave; `arg` is the sibling at which the carrier has found something to steal. The
\* carrier goes on to steal from this sibling, unless it was woken meanwhile: then the waker may
\* have left because this carrier takes its own task next.
Leave(c) ==                   \* [carrier.2]
  /\ at[c].pc = "leave"
  /\ word' = [word EXCEPT ![c] = "RUNNING"]
  /\ IF word[c] \in Victims THEN Move(c, "serve", word[c])
     ELSE IF at[c].arg # None /\ word[c] = "PARKED" THEN Move(c, "steal", at[c].arg)
     ELSE Move(c, "poll", None)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>

\* wp_carrier_steal: the carrier takes the victim's ticket. A lost ticket is retried.
TryAcquire(c) ==              \* [biased_lock.3] [biased_lock.4]
  /\ at[c].pc \in {"serve", "steal"}
  /\ IsFree(at[c].arg)
  /\ Move(c, IF at[c].pc = "serve" THEN "serve_pop" ELSE "steal_pop", at[c].arg)
  /\ Looks

\* The carrier pops a task, [mpsc.4]..[mpsc.8], and then releases the ticket, [biased_lock.5].
Pop(c) ==
  /\ at[c].pc \in {"pop", "serve_pop", "steal_pop"}
  /\ LET v == at[c].arg
         got == CanPop(queue[v], IsHole)
         missed == IF at[c].pc = "pop" THEN "park" ELSE "poll"
         then == IF at[c].pc = "serve_pop" THEN "stop" ELSE IF got THEN "run" ELSE missed
     IN /\ queue' = [queue EXCEPT ![v] = IF got THEN Tail(@) ELSE @]
        /\ held' = [held EXCEPT ![c] = got]
        /\ at' = [(IF got THEN Taken(v) ELSE at) EXCEPT
                   ![c] = [pc |-> then, arg |-> IF then = "stop" THEN v ELSE None,
                           todo |-> {}, seen |-> {}]]
  /\ UNCHANGED <<word, idle, token, inbox, budget>>

Searcher(t) ==
  \/ Publish(t)
  \/ IsAlone(t)
  \/ IsIdle(t)
  \/ Start(t)
  \/ Snapshot(t)
  \/ Recruit(t)
  \/ Stop(t)
  \/ Recheck(t)
  \/ LoadParked(t)
  \/ IsHit(t)
  \/ LoadTail(t)
  \/ LoadInbox(t)
  \/ LoadWaking(t)

Submitter(s) == Searcher(s) \/ LoadWord(s) \/ Wake(s) \/ IsQuiescent(s)
Carrier(c) ==
  \/ Searcher(c)
  \/ PollQueue(c)
  \/ PollInbox(c)
  \/ PollNothing(c)
  \/ Advertise(c)
  \/ SetIdle(c)
  \/ LookOwn(c)
  \/ LookInbox(c)
  \/ Awake(c)
  \/ ClearIdle(c)
  \/ Leave(c)
  \/ TryAcquire(c)
  \/ Pop(c)

\* The steps that the user's program may take, and need not take.
Program ==
  \/ \E s \in Submitters, c \in Carriers : Submit(s, c) \/ SubmitPinned(s, c)
  \/ \E c \in Carriers : SubmitInternal(c) \/ Reenqueue(c) \/ End(c) \/ Rise(c)

Asleep(c) == at[c].pc = "asleep" /\ word[c] = "PARKED"

\* The intended end: every task has run, and every carrier that can sleep does.
Finished ==
  /\ \A s \in Submitters : at[s].pc = "done"
  /\ \A c \in Carriers : queue[c] = <<>> /\ IF c \in Endless THEN at[c].pc = "run" ELSE
                                             inbox[c] = <<>> /\ Asleep(c)
  /\ UNCHANGED vars

Next ==
  Program \/ (\E s \in Submitters : Submitter(s)) \/ (\E c \in Carriers : Carrier(c)) \/ Finished

Fairness == (\A s \in Submitters : WF_vars(Submitter(s))) /\ \A c \in Carriers : WF_vars(Carrier(c))
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ Fairness
LoneSpec == Spec /\ WF_vars(\E s \in Submitters : Submitter(s))   \* no other thread need ever move

(* What must hold. *)

\* The threads that may hold the token: a searcher, or the helper that the searcher woke, until the
\* helper stops its search.
Holders == {t \in Threads : at[t].pc \in {"snapshot", "recruit", "serve", "serve_pop",
                                        "serve_loot", "stop"}}
           \cup {c \in Carriers : word[c] \in Victims}
\* Each time the token is taken, it is released once.
EveryStartSearchMatchedByOneStop == Cardinality(Holders) = token

\* A carrier that is SEARCHING holds the token.
SearchingImpliesToken == \A c \in Carriers : word[c] \in Victims => token = 1

\* The thread is not inside a wake, a search or a re-check: it has not begun, is between the two
\* steps of a push, runs a task, sleeps, or is done.
IsQuiet(t) == \/ at[t].pc \in {"start", "publish", "run", "done"}
              \/ IF t \in Carriers THEN Asleep(t) ELSE FALSE

\* While a task that could be stolen is published and a carrier of the domain sleeps, some wake,
\* search or re-check is under way.
WorkConservation ==
  ~ /\ \A t \in Threads : IsQuiet(t)
    /\ \E c \in Carriers : Asleep(c)
    /\ \E x \in Carriers : HasPublished(queue[x], IsHole)

\* A carrier that re-enqueues its only task goes on with this task and wakes no other carrier.
LoneYieldWakesNobody ==
  [][\A c \in Carriers : at[c].pc = "alone" /\ queue[c] \o inbox[c] = <<c>>
       => at'[c].pc \in {"alone", "poll"}]_vars

\* A submitter ends its submission, if from some moment on no other thread takes a step.
SubmitTerminates ==
  \A s \in Submitters : <>[][Submitter(s)]_vars => []<>(at[s].pc \in {"start", "done"})
\* A carrier that begins to park goes to sleep, or finds a task to run.
ParkTerminates == \A c \in Carriers : at[c].pc = "park" ~> at[c].pc \in {"asleep", "run"}

\* A published task is eventually taken, unless all carriers are inside tasks, however long those
\* tasks last.
PublishedIsTaken ==
  \A x \in Carriers :
    HasPublished(queue[x], IsHole) ~>
      (~HasPublished(queue[x], IsHole) \/ \A c \in Carriers : held[c])

(* The inductive invariant, from which the claims of the token follow for any number of carriers,  *)
(* submitters, submissions and yields.                                                             *)

\* The steps of a carrier that parks, and those with a carrier or victim as their argument.
IndParks == {"bit", "own", "own_inbox", "look", "look_tail", "look_inbox", "look_word", "asleep",
             "clear", "leave"}
IndForVictim ==
  {"publish", "word", "alone", "wake", "wake_and_tell", "quiescent", "idle", "search", "snapshot",
   "recruit", "serve", "serve_pop", "steal", "steal_pop", "pop", "scan_tail", "scan_inbox",
   "scan_word", "look_tail", "look_inbox", "look_word"}

\* What the variables hold.
IndTypes ==
  /\ word \in [Carriers -> {"RUNNING", "PARKED", "WAKING"} \cup Victims]
  /\ idle \subseteq Carriers
  /\ token \in {0, 1}
  /\ \A t \in Threads : at[t].todo \subseteq Victims /\ at[t].arg \in Victims \cup {None}

\* Where a step has a victim, it is one.
HasVictim == \A t \in Threads : at[t].pc \in IndForVictim => at[t].arg \in Victims

\* A carrier whose word does not say that it runs is on its way to sleep, or from it.
NotRunningParks == \A c \in Carriers : word[c] # "RUNNING" => at[c].pc \in IndParks

\* A carrier that pushes to a queue pushes to its own, and it puts back only the task that it held.
PushesToItself ==
  \A c \in Carriers :
    /\ at[c].pc \in {"publish", "alone"} => at[c].arg = c
    /\ at[c].pc = "alone" => ~held[c]

IndInv ==
  /\ IndTypes
  /\ HasVictim
  /\ NotRunningParks
  /\ PushesToItself
  /\ EveryStartSearchMatchedByOneStop
=============================================================================
