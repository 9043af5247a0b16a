------------------------------- MODULE Search -------------------------------
(***************************************************************************)
(* No stealable task waits beside a carrier that sleeps: the carriers, how *)
(* they park, and what must hold.  State and submitters: SearchCore.tla.   *)
(* Code       kernel/sched/search.h, search.c, carrier.h, carrier.c,       *)
(*            run_queues.c (polls, steals), spare_thread.c; [search.5],    *)
(*            [carrier.1], [carrier.7] and so on name sites there. One     *)
(*            step per shared access.                                      *)
(* Abstracts  queues to sequences of link cells with the two-step push and *)
(*            one-step pop (Mpsc); the ticket to who holds it, a lost one  *)
(*            is retried (BiasedLock); the place of a park, and a wake as  *)
(*            a compare-and-swap followed by a system call (Carrier); the  *)
(*            test for alone, which reads front, tail and the other queue, *)
(*            to one step (a variant with the other queue first, in a step *)
(*            of its own, held); the own queues are polled in any order.   *)
(* One domain Domains runs two of them side by side.                       *)
(* Any order  Idle members and victims are tried in any order, the code's  *)
(*            among them.  So carriers are symmetric, and a claim that     *)
(*            holds here holds for every fixed order as well.              *)
(* Memory     sequential consistency, which [carrier.7] [carrier.6]        *)
(*            [search.7] earn.  A missing fence is invisible here: see the *)
(*            explorer and stress.                                         *)
(* Promises   SearchingImpliesToken, EveryStartSearchMatchedByOneStop,     *)
(*            WorkConservation, LoneYieldWakesNobody (safety);             *)
(*            SubmitTerminates, ParkTerminates, PublishedIsTaken (liveness)*)
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

(* A carrier: runs tasks, polls, parks, helps. *)
End(c) ==                     \* the task ends; not fair, for any task may be long
  /\ at[c].pc = "run"
  /\ c \notin Endless
  /\ held' = [held EXCEPT ![c] = FALSE]
  /\ Move(c, "poll", None)
  /\ UNCHANGED <<word, idle, token, queue, inbox, budget>>
IsFree(x) == \A c \in Carriers : ~(at[c].pc \in {"pop", "serve_pop", "steal_pop"} /\ at[c].arg = x)
PollQueue(c) ==               \* [biased_lock.1] [biased_lock.2] wp_carrier_poll: the ticket, unless the queue is empty
  /\ at[c].pc = "poll" /\ HasPublished(queue[c], IsHole) /\ IsFree(c)
  /\ Move(c, "pop", c)
  /\ Looks
PollInbox(c) ==
  /\ at[c].pc = "poll" /\ CanPop(inbox[c], IsHole)
  /\ inbox' = [inbox EXCEPT ![c] = Tail(@)]
  /\ held' = [held EXCEPT ![c] = TRUE]
  /\ Move(c, "run", None)
  /\ UNCHANGED <<word, idle, token, queue, budget>>
PollNothing(c) ==
  /\ at[c].pc = "poll"
  /\ ~HasPublished(queue[c], IsHole)
  /\ ~CanPop(inbox[c], IsHole)
  /\ Move(c, "park", None)
  /\ Looks
Advertise(c) ==               \* [carrier.1] wp_carrier_advertise
  /\ at[c].pc = "park"
  /\ word' = [word EXCEPT ![c] = "PARKED"]
  /\ Move(c, "bit", None)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>
SetIdle(c) ==                 \* [idle_set.1] wp_idle_set_add
  /\ at[c].pc = "bit"
  /\ idle' = idle \cup {c}
  /\ Move(c, "own", None)
  /\ UNCHANGED <<word, token, queue, inbox, held, budget>>
LookAround(c) == Goto(c, "look", None, Victims \ {c}, {})
LookOwn(c) ==                 \* [carrier.6] [mpsc.4]
  /\ at[c].pc = "own"
  /\ IF HasPublished(queue[c], IsHole) THEN Move(c, "clear", None)
     ELSE IF Pinners # {} THEN Move(c, "own_inbox", None)
     ELSE LookAround(c)
  /\ Looks
LookInbox(c) ==
  /\ at[c].pc = "own_inbox"
  /\ IF HasPublished(inbox[c], IsHole) THEN Move(c, "clear", None) ELSE LookAround(c)
  /\ Looks
Awake(c) ==                   \* [carrier.5] wp_carrier_sleep returns
  /\ at[c].pc = "asleep" /\ word[c] # "PARKED"
  /\ Move(c, "clear", None)
  /\ Looks
Rise(c) ==                    \* its poller has I/O: it leaves, and nobody has woken it
  /\ at[c].pc = "asleep" /\ word[c] = "PARKED"
  /\ Move(c, "clear", None)
  /\ Looks
ClearIdle(c) ==               \* [idle_set.2] wp_idle_set_remove
  /\ at[c].pc = "clear"
  /\ idle' = idle \ {c}
  /\ Move(c, "leave", at[c].arg)
  /\ UNCHANGED <<word, token, queue, inbox, held, budget>>
\* It takes the hit unless it was woken meanwhile: its waker may have left because this carrier takes
\* its own task next.
Leave(c) ==                   \* [carrier.2] wp_carrier_leave; arg: the sibling that was a hit
  /\ at[c].pc = "leave"
  /\ word' = [word EXCEPT ![c] = "RUNNING"]
  /\ IF word[c] \in Victims THEN Move(c, "serve", word[c])
     ELSE IF at[c].arg # None /\ word[c] = "PARKED" THEN Move(c, "steal", at[c].arg)
     ELSE Move(c, "poll", None)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>
TryAcquire(c) ==              \* [biased_lock.3] [biased_lock.4] wp_carrier_steal: a lost ticket is retried
  /\ at[c].pc \in {"serve", "steal"} /\ IsFree(at[c].arg)
  /\ Move(c, IF at[c].pc = "serve" THEN "serve_pop" ELSE "steal_pop", at[c].arg)
  /\ Looks
Pop(c) ==                     \* [mpsc.4]..[mpsc.8], then [biased_lock.5]
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
Program ==                    \* what the users of the kernel choose to do, or not to do
  \/ \E s \in Submitters, c \in Carriers : Submit(s, c) \/ SubmitPinned(s, c)
  \/ \E c \in Carriers : SubmitInternal(c) \/ Reenqueue(c) \/ End(c) \/ Rise(c)
Asleep(c) == at[c].pc = "asleep" /\ word[c] = "PARKED"
Finished ==                   \* all is run, and all who can sleep do
  /\ \A s \in Submitters : at[s].pc = "done"
  /\ \A c \in Carriers : queue[c] = <<>> /\ IF c \in Endless THEN at[c].pc = "run" ELSE
                                             inbox[c] = <<>> /\ Asleep(c)
  /\ UNCHANGED vars
Next ==
  Program \/ (\E s \in Submitters : Submitter(s)) \/ (\E c \in Carriers : Carrier(c)) \/ Finished
Fairness == (\A s \in Submitters : WF_vars(Submitter(s))) /\ \A c \in Carriers : WF_vars(Carrier(c))
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ Fairness
LoneSpec == Spec /\ WF_vars(\E s \in Submitters : Submitter(s))   \* nobody else need ever move

(* What must hold. *)
\* Who may hold the token: a searcher, the helper that it woke, that helper until it stops.
Holders == {t \in Threads : at[t].pc \in {"snapshot", "recruit", "serve", "serve_pop",
                                        "serve_loot", "stop"}}
           \cup {c \in Carriers : word[c] \in Victims}
\* Each token taken is released once.
EveryStartSearchMatchedByOneStop == Cardinality(Holders) = token
\* A carrier that is SEARCHING holds the token.
SearchingImpliesToken == \A c \in Carriers : word[c] \in Victims => token = 1
\* Neither a wake, nor a search, nor a look: not begun, in the bubble, in a task, asleep, or over.
IsQuiet(t) == \/ at[t].pc \in {"start", "publish", "run", "done"}
              \/ IF t \in Carriers THEN Asleep(t) ELSE FALSE
\* Never is a stealable task published, a carrier of its domain asleep, and no wake, search or
\* re-check in flight.
WorkConservation ==
  ~ /\ \A t \in Threads : IsQuiet(t)
    /\ \E c \in Carriers : Asleep(c)
    /\ \E x \in Carriers : HasPublished(queue[x], IsHole)
\* A carrier that puts back its only task goes on with that, and has nobody woken.
LoneYieldWakesNobody ==
  [][\A c \in Carriers : at[c].pc = "alone" /\ queue[c] \o inbox[c] = <<c>>
       => at'[c].pc \in {"alone", "poll"}]_vars
\* A submitter whom nobody disturbs any more comes to the end of its submission.
SubmitTerminates ==
  \A s \in Submitters : <>[][Submitter(s)]_vars => []<>(at[s].pc \in {"start", "done"})
\* A carrier that finds nothing to do goes to sleep.
ParkTerminates == \A c \in Carriers : at[c].pc = "park" ~> at[c].pc \in {"asleep", "run"}
\* A published task is taken, unless all carriers are inside tasks, however long those last.
PublishedIsTaken ==
  \A x \in Carriers :
    HasPublished(queue[x], IsHole) ~>
      (~HasPublished(queue[x], IsHole) \/ \A c \in Carriers : held[c])
=============================================================================
