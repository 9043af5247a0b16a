------------------------------- MODULE Search -------------------------------
(***************************************************************************)
(* The search protocol of the work-stealing scheduler. It ensures that no  *)
(* task that could be stolen waits while a carrier sleeps. A thread that   *)
(* pushes a task may become a searcher: it takes a token and wakes an idle *)
(* carrier, its helper, to steal from the carrier with the task, the       *)
(* victim. The tokens limit how many searches are under way at a time,     *)
(* just as Go limits the number of its spinning Ms. A thread that finds    *)
(* all tokens taken leaves its task to their holders: each of them looks   *)
(* at all queues again after its release. So the claims need no more than  *)
(* one token, and hold for any number. This module has the carriers, how   *)
(* they park, and the claims. SearchCore.tla has the state and the         *)
(* submitters.                                                             *)
(*                                                                         *)
(* Code       kernel/sched/search.h, search.c, carrier.h, carrier.c,       *)
(*            run_queues.c (polls, steals), spare_thread.c; [search.5],    *)
(*            [carrier.1], [carrier.7] and so on name sites there. Each    *)
(*            shared access is one step.                                   *)
(* Abstracts  the count of the tokens, which is all that the code has, to  *)
(*            who holds each;                                              *)
(*            queues to sequences of link cells with a two-step push and a *)
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
(*            WorkConservation, LoneYieldWakesNobody, DelayEndsForOwnTask  *)
(*            (safety);                                                    *)
(*            SubmitTerminates, ParkTerminates, PublishedIsTaken           *)
(*            (liveness)                                                   *)
(***************************************************************************)
EXTENDS SearchHit

\* The steps of a carrier that puts off a steal, in this order. Their argument is the victim.
Delays == {"off_own", "off_own_inbox", "off_asleep", "off_clear", "off_leave"}

Places ==
  {"start", "publish", "word", "alone", "wake", "wake_and_tell", "quiescent", "idle", "search",
   "snapshot", "recruit", "stop", "recheck", "parked", "done", "run", "poll", "pop", "park", "bit",
   "own", "own_inbox", "asleep", "clear", "leave", "serve", "serve_pop", "steal", "steal_pop",
   "off_stop"}
  \cup Delays
  \cup {ScanAt[what] : what \in DOMAIN ScanAt}
  \cup {LookAt[what] : what \in DOMAIN LookAt}

TypeOK ==
  /\ word \in [Carriers -> {"RUNNING", "PARKED", "WAKING"} \cup Victims]
  /\ idle \subseteq Carriers
  /\ token \in [Tokens -> [who : Threads \cup {None}, sent : BOOLEAN]]
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
  /\ Pass(Sent(c), Held(c))
  /\ UNCHANGED <<idle, queue, inbox, held, budget>>

(* A carrier may put off a steal: it sleeps for a moment with the token, because a victim that runs
   may soon take its only task itself. Whether the victim runs ([carrier.9]) and what it has is only
   a hint, so here the carrier may put off any steal. *)

\* The carrier was woken to steal. It writes again that it is parked; its idle bit is still set.
PutOff(c) ==                  \* [carrier.8] [carrier.9] [carrier.1] wp_carrier_put_off
  /\ at[c].pc = "clear"
  /\ c \in Delaying
  /\ word[c] \in Victims
  /\ word' = [word EXCEPT ![c] = "PARKED"]
  /\ Move(c, "off_own", word[c])
  /\ Pass(Sent(c), Held(c))
  /\ UNCHANGED <<idle, queue, inbox, held, budget>>

\* The carrier has found something to steal while it parked. It takes a token, and stays parked.
PutOffFound(c) ==             \* [search.5] wp_search_start
  /\ at[c].pc = "clear"
  /\ c \in Delaying
  /\ at[c].arg # None
  /\ Take(c)
  /\ Move(c, "off_asleep", at[c].arg)
  /\ UNCHANGED <<word, idle, queue, inbox, held, budget>>

\* The carrier checks its own queue before it sleeps again.
OffOwn(c) ==                  \* [carrier.6] [mpsc.4]
  /\ at[c].pc = "off_own"
  /\ Move(c, IF HasPublished(queue[c], IsHole) THEN "off_clear"
             ELSE IF Pinners # {} THEN "off_own_inbox" ELSE "off_asleep", at[c].arg)
  /\ Looks

\* The carrier checks its inbox before it sleeps again.
OffInbox(c) ==
  /\ at[c].pc = "off_own_inbox"
  /\ Move(c, IF HasPublished(inbox[c], IsHole) THEN "off_clear" ELSE "off_asleep", at[c].arg)
  /\ Looks

\* The sleep ends: a submitter has woken the carrier, or the time is over.
OffAwake(c) ==                \* [carrier.5]
  /\ at[c].pc = "off_asleep"
  /\ Move(c, "off_clear", at[c].arg)
  /\ Looks

\* The carrier clears its idle bit.
OffClear(c) ==                \* [idle_set.2] wp_idle_set_remove
  /\ at[c].pc = "off_clear"
  /\ idle' = idle \ {c}
  /\ Move(c, "off_leave", at[c].arg)
  /\ UNCHANGED <<word, token, queue, inbox, held, budget>>

\* The carrier steals now, even if a submitter has woken it for a task of its own: the check after
\* the release of the token finds that task. Another searcher may have sent it to a second victim
\* meanwhile. Then it has two tokens, and first releases one.
OffLeave(c) ==                \* [carrier.2] wp_carrier_leave
  /\ at[c].pc = "off_leave"
  /\ word' = [word EXCEPT ![c] = "RUNNING"]
  /\ Move(c, IF word[c] \in Victims THEN "off_stop" ELSE "serve", at[c].arg)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>

\* The carrier releases the second token, and checks nothing: it has another one, and checks all
\* queues after the release of that.
OffStop(c) ==                 \* [search.6] wp_search_stop
  /\ at[c].pc = "off_stop"
  /\ Pass(Sent(c), Free)
  /\ Move(c, "serve", at[c].arg)
  /\ UNCHANGED <<word, idle, queue, inbox, held, budget>>

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
  \/ PutOff(c)
  \/ PutOffFound(c)
  \/ OffOwn(c)
  \/ OffInbox(c)
  \/ OffAwake(c)
  \/ OffClear(c)
  \/ OffLeave(c)
  \/ OffStop(c)
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

\* A thread holds a token: it is a searcher, or the helper that the searcher woke, until the helper
\* stops its search.
IsHolder(t) ==
  at[t].pc \in {"snapshot", "recruit", "serve", "serve_pop", "serve_loot", "stop", "off_stop"}
               \cup Delays
\* A carrier gets a token with its word. If it puts off a steal, it then has two.
IsSent(c) == word[c] \in Victims \/ at[c].pc = "off_stop"
\* Each time a token is taken, it is released once: each holder has one token, and each token that is
\* not free has a holder of its own.
EveryStartSearchMatchedByOneStop ==
  /\ \A t \in Threads : IsHolder(t) => \E k \in Tokens : token[k] = Held(t)
  /\ \A c \in Carriers : IsSent(c) => \E k \in Tokens : token[k] = Sent(c)
  /\ \A k \in Tokens :
       token[k] # Free =>
         IF token[k].sent THEN token[k].who \in Carriers /\ IsSent(token[k].who)
         ELSE token[k].who \in Threads /\ IsHolder(token[k].who)
  /\ \A j, k \in Tokens : token[j] = token[k] /\ token[j] # Free => j = k

\* A carrier that is SEARCHING holds a token.
SearchingImpliesToken ==
  \A c \in Carriers : word[c] \in Victims => \E k \in Tokens : token[k] = Sent(c)

\* A carrier that puts off a steal does not sleep on beside a task of its own: a submitter is about to
\* wake it.
DelayEndsForOwnTask ==
  \A c \in Carriers :
    /\ at[c].pc = "off_asleep" /\ word[c] = "PARKED"
    /\ HasPublished(queue[c], IsHole) \/ HasPublished(inbox[c], IsHole)
    => \E s \in Submitters :
         at[s].pc \in {"word", "alone", "wake", "wake_and_tell"} /\ at[s].arg = c

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

(* The inductive invariant, from which all safety claims follow for any number of carriers,        *)
(* submitters, submissions and yields.                                                             *)

\* The steps of a carrier that looks at the queues of its siblings before it sleeps.
Looking == {"look", "look_tail", "look_inbox", "look_word"}
\* The steps of a carrier that parks, and those with a carrier or victim as their argument.
IndParks == {"bit", "own", "own_inbox", "asleep", "clear", "leave"} \cup Looking \cup Delays
IndForVictim ==
  {"publish", "word", "alone", "wake", "wake_and_tell", "quiescent", "idle", "search", "snapshot",
   "recruit", "serve", "serve_pop", "steal", "steal_pop", "pop", "scan_tail", "scan_inbox",
   "scan_word", "look_tail", "look_inbox", "look_word", "off_stop"} \cup Delays

\* What the variables hold.
IndTypes ==
  /\ word \in [Carriers -> {"RUNNING", "PARKED", "WAKING"} \cup Victims]
  /\ idle \subseteq Carriers
  /\ token \in [Tokens -> [who : Threads \cup {None}, sent : BOOLEAN]]
  /\ \A t \in Threads : at[t].todo \subseteq Victims /\ at[t].arg \in Victims \cup {None}

\* Where a step has a victim, it is one.
HasVictim == \A t \in Threads : at[t].pc \in IndForVictim => at[t].arg \in Victims

\* A carrier whose word does not say that it runs is on its way to sleep, or from it.
NotRunningParks == \A c \in Carriers : word[c] # "RUNNING" => at[c].pc \in IndParks

\* A carrier pushes to its own queue and polls its own queue, and it puts back only the task that it
\* held.
PushesToItself ==
  \A c \in Carriers :
    /\ at[c].pc \in {"publish", "alone", "pop"} => at[c].arg = c
    /\ at[c].pc = "alone" => ~held[c]

\* Only pinned tasks are in an inbox.
InboxIsPinned == Pinners = {} => \A x \in Carriers : inbox[x] = <<>>

\* A cell that has the name of a thread was pushed by this thread, which has not yet gone on to wake
\* the target or to search.
NameIsPusher(cells, x) ==
  \A i \in 1 .. Len(cells) :
    IF cells[i] = Task THEN TRUE
    ELSE /\ cells[i] \in Threads
         /\ at[cells[i]].pc \in {"publish", "word", "alone"}
         /\ at[cells[i]].arg = x
NamesArePushers == \A x \in Carriers : NameIsPusher(queue[x], x) /\ NameIsPusher(inbox[x], x)

\* A thread that checks a queue has this queue on its list.
ChecksFromList ==
  \A t \in Threads :
    at[t].pc \in {"look_tail", "look_inbox", "look_word", "scan_tail", "scan_inbox", "scan_word"}
      => at[t].arg \in at[t].todo

\* A carrier looks at the queues of its siblings, and not at its own.
LooksAtSiblings == \A c \in Carriers : at[c].pc \in Looking => c \notin at[c].todo

\* From its first look until after its sleep, the carrier's idle bit is set.
BitIsSet ==
  \A c \in Carriers :
    at[c].pc \in {"own", "own_inbox", "asleep", "clear"} \cup Looking \cup (Delays \ {"off_leave"})
      => c \in idle

Published(x) == HasPublished(queue[x], IsHole)

\* A carrier that parks has looked at its own queue.
HasLookedAtOwn(c) ==
  \/ at[c].pc \in {"own_inbox", "asleep", "off_own_inbox", "off_asleep"} \cup Looking
  \/ at[c].pc = "clear" /\ at[c].arg # None

\* If a carrier has looked at its own queue and a task is published there, a submitter is about to
\* wake this carrier.
OwnerIsWoken ==
  \A c \in Carriers :
    /\ word[c] = "PARKED"
    /\ HasLookedAtOwn(c)
    /\ Published(c)
    => \E s \in Submitters :
         at[s].pc \in {"word", "alone", "wake", "wake_and_tell"} /\ at[s].arg = c

\* The same for the inbox, at which the carrier looks after its queue.
HasLookedAtInbox(c) == HasLookedAtOwn(c) /\ at[c].pc \notin {"own_inbox", "off_own_inbox"}
OwnerIsWokenForPinned ==
  \A c \in Carriers :
    /\ word[c] = "PARKED"
    /\ HasLookedAtInbox(c)
    /\ HasPublished(inbox[c], IsHole)
    => \E s \in Submitters :
         at[s].pc \in {"word", "alone", "wake", "wake_and_tell"} /\ at[s].arg = c

\* Carrier c has looked at the queue of its sibling x, and will not look again before it sleeps.
HasLooked(c, x) ==
  /\ c # x
  /\ word[c] = "PARKED"
  /\ \/ at[c].pc = "asleep"
     \/ at[c].pc \in Looking /\ x \notin at[c].todo

\* Carrier c is at this step of its look at the queue of x.
LooksAt(c, x, step) == at[c].pc = step /\ at[c].arg = x /\ word[c] = "PARKED"
\* Some thread is at this step of its scan of the queue of x.
IsScanned(x, step) == \E t \in Threads : at[t].pc = step /\ at[t].arg = x

\* The queue of x has at most one task whose pusher has gone on, and its inbox has none.
FewQueued(x) ==
  \A i, j \in 1 .. Len(queue[x]) : queue[x][i] = Task /\ queue[x][j] = Task => i = j
NonePinned(x) == \A i \in 1 .. Len(inbox[x]) : inbox[x][i] # Task
Few(x) == FewQueued(x) /\ NonePinned(x)

\* The owner of the queue of x will poll it before it sleeps.
OwnerPolls(x) ==
  \/ word[x] = "WAKING"
  \/ at[x].pc \in {"poll", "pop", "park", "bit", "own"}
  \/ at[x].pc \in {"clear", "leave"} /\ at[x].arg = None
  \/ \E s \in Submitters : at[s].pc = "wake" /\ at[s].arg = x

\* The tasks in the queue of x will not be left there while carrier c sleeps. For a thread will
\* search for a helper; or it will check x while it knows that c sleeps; or the owner takes the only
\* task.
IsCovered(x, c) ==
  \/ \E t \in Threads : at[t].pc \in {"idle", "search", "recheck"}
  \/ \E t \in Threads : at[t].pc \in {"word", "alone", "wake_and_tell", "quiescent"} /\ at[t].arg = x
  \/ \E t \in Threads : at[t].pc = "parked" /\ c \in at[t].todo \cup at[t].seen
  \/ \E t \in Threads : at[t].pc \in {"scan", "scan_tail"} /\ x \in at[t].todo
  \/ \E t \in Threads : at[t].pc \in {"scan_inbox", "scan_word"} /\ x \in at[t].todo \ {at[t].arg}
  \/ Few(x) /\ OwnerPolls(x)

\* Nobody holds a token.
AreFree == \A k \in Tokens : token[k] = Free

\* While nobody holds a token: if c has looked at a queue with a published task, this queue is
\* covered, or a scan of it has begun.
TaskIsCovered ==
  AreFree =>
    \A c, x \in Carriers :
      HasLooked(c, x) /\ Published(x) =>
        IsCovered(x, c) \/ IsScanned(x, "scan_inbox") \/ IsScanned(x, "scan_word")

\* The last two conjuncts say what is still true of the loads that such a scan, or the look of a
\* carrier, has behind it. After the load of the tail:
TailIsKnown ==
  AreFree =>
    \A c, x \in Carriers :
      /\ Published(x)
      /\ \/ HasLooked(c, x) /\ IsScanned(x, "scan_inbox")
         \/ LooksAt(c, x, "look_inbox")
         \/ LooksAt(c, x, "look_word") /\ IsScanned(x, "scan_inbox")
      => FewQueued(x) \/ IsCovered(x, c)

\* After the load of the inbox:
InboxIsKnown ==
  AreFree =>
    \A c, x \in Carriers :
      /\ Published(x)
      /\ \/ HasLooked(c, x) /\ IsScanned(x, "scan_word")
         \/ LooksAt(c, x, "look_word")
      => Few(x) \/ IsCovered(x, c) \/ (IsScanned(x, "scan_inbox") /\ ~NonePinned(x))

IndInv ==
  /\ IndTypes
  /\ HasVictim
  /\ NotRunningParks
  /\ PushesToItself
  /\ InboxIsPinned
  /\ NamesArePushers
  /\ ChecksFromList
  /\ LooksAtSiblings
  /\ BitIsSet
  /\ OwnerIsWoken
  /\ OwnerIsWokenForPinned
  /\ TaskIsCovered
  /\ TailIsKnown
  /\ InboxIsKnown
  /\ EveryStartSearchMatchedByOneStop
=============================================================================
