------------------------------- MODULE Search -------------------------------
(***************************************************************************)
(* No stealable task waits beside a carrier that sleeps: the carriers, how *)
(* they park, and what must hold.  State and submitters: SearchCore.tla.   *)
(* Code       kernel/search.h, search.c, carrier.h, carrier.c; [N1], [C1], *)
(*            [S] and so on name sites there.  One step per shared access. *)
(* Abstracts  queues to sequences of link cells with the two-step push and *)
(*            one-step pop (Mpsc); the ticket to who holds it, a lost one  *)
(*            is retried (Ticket); the place of a park, and a wake as a    *)
(*            compare-and-swap followed by a system call (Carrier); first, *)
(*            tail and inbox are read in one step by the hit rule and the  *)
(*            test for alone; the two own queues are polled in any order.  *)
(* Any order  Idle members and victims are tried in any order, the code's  *)
(*            among them.  So carriers are symmetric, and a claim that     *)
(*            holds here holds for every fixed order as well.              *)
(* Memory     sequential consistency, which [S] [P] [R] earn.  A missing   *)
(*            fence is invisible here: see the explorer and stress.        *)
(* Promises   SearchingImpliesToken, EveryStartSearchMatchedByOneStop,     *)
(*            WorkConservation (safety); SubmitTerminates, ParkTerminates, *)
(*            PublishedIsTaken (liveness).                                 *)
(***************************************************************************)
EXTENDS SearchCore

Places ==
  {"start", "publish", "word", "alone", "alone_late", "wake", "wake_and_tell", "wake_first",
   "quiescent", "idle", "search", "snapshot", "recruit", "stop", "chain", "recheck", "parked",
   "scan", "scan_word", "done", "run", "poll", "pop", "probe", "park", "bit", "own", "own_inbox",
   "look", "look_word", "asleep", "clear", "leave", "serve", "serve_pop", "steal", "steal_pop"}
TypeOK ==
  /\ word \in [Carriers -> {"RUNNING", "PARKED", "WAKING"} \cup Carriers]
  /\ idle \subseteq Carriers /\ token \in {0, 1}
  /\ queue \in [Carriers -> Seq(Threads \cup {Task})]
  /\ inbox \in [Carriers -> Seq(Threads \cup {Task})]
  /\ held \in [Carriers -> BOOLEAN]
  /\ at \in [Threads -> [pc : Places, arg : Carriers \cup {None}, todo : SUBSET Carriers,
                         seen : SUBSET Carriers]]

(* Is queue x a hit?  "scan": the re-check after a release; "look": the one before a sleep.  The  *)
(* word is read after the count: a carrier that is WAKING then has taken nothing since it parked. *)
HoldsOne(x) == Len(queue[x]) = 1 /\ inbox[x] = <<>>
Stealable(x) == IF HasPublished(queue[x], IsHole) THEN TRUE
                ELSE Twin = "count_pinned" /\ HasPublished(inbox[x], IsHole)
IsScan(t) == at[t].pc \in {"scan", "scan_word"}
Hit(t, x) == Move(t, IF IsScan(t) THEN "search" ELSE "clear", x)
Miss(t, x) ==
  IF at[t].todo # {x} THEN Goto(t, IF IsScan(t) THEN "scan" ELSE "look", None, at[t].todo \ {x}, {})
  ELSE IF IsScan(t) THEN Return(t) ELSE Move(t, "asleep", None)
AskWord(t, x) == Goto(t, IF IsScan(t) THEN "scan_word" ELSE "look_word", x, at[t].todo, {})
IsHit(t) ==                   \* [Q4] wp__search_is_hit, any sibling first
  /\ at[t].pc \in {"scan", "look"}
  /\ \E x \in at[t].todo :
       LET ask == IF Twin = "hit_word_first" THEN word[x] = "WAKING" ELSE HoldsOne(x)
       IN IF ~Stealable(x) THEN Miss(t, x) ELSE IF ask THEN AskWord(t, x) ELSE Hit(t, x)
  /\ Looks
LoadWaking(t) ==              \* [C8]; the twin read the word before, and counts now
  /\ at[t].pc \in {"scan_word", "look_word"}
  /\ LET x == at[t].arg
         missed == IF Twin = "hit_word_first" THEN HoldsOne(x) ELSE word[x] = "WAKING"
     IN IF missed THEN Miss(t, x) ELSE Hit(t, x)
  /\ Looks

(* A carrier: runs tasks, polls, parks, helps. *)
End(c) ==                     \* the task ends; not fair, for any task may be long
  /\ at[c].pc = "run" /\ c \notin Endless
  /\ held' = [held EXCEPT ![c] = FALSE]
  /\ Move(c, "poll", None)
  /\ UNCHANGED <<word, idle, token, queue, inbox, budget>>
IsFree(x) == \A c \in Carriers : ~(at[c].pc \in {"pop", "serve_pop", "steal_pop"} /\ at[c].arg = x)
PollQueue(c) ==               \* [T1] [T2] wp_carrier_poll: the ticket, unless the queue is empty
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
  /\ at[c].pc = "poll" /\ ~HasPublished(queue[c], IsHole) /\ ~CanPop(inbox[c], IsHole)
  /\ Move(c, IF Twin = "shipped" THEN "probe" ELSE "park", None)
  /\ Looks
Probe(c) ==                   \* twin shipped: look at one sibling before parking
  /\ at[c].pc = "probe"
  /\ \E x \in Carriers \ {c} :
       IF HasPublished(queue[x], IsHole) THEN Move(c, "steal", x) ELSE Move(c, "park", None)
  /\ Looks
Advertise(c) ==               \* [C1] wp_carrier_advertise
  /\ at[c].pc = "park"
  /\ word' = [word EXCEPT ![c] = "PARKED"]
  /\ Move(c, "bit", None)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>
SetIdle(c) ==                 \* [I1] wp_idleset_add
  /\ at[c].pc = "bit"
  /\ idle' = idle \cup {c}
  /\ Move(c, "own", None)
  /\ UNCHANGED <<word, token, queue, inbox, held, budget>>
LookAround(c) == IF Keeps("no_recheck_park") THEN Goto(c, "look", None, Carriers \ {c}, {})
                                             ELSE Move(c, "asleep", None)
LookOwn(c) ==                 \* [P] [Q4]
  /\ at[c].pc = "own"
  /\ IF HasPublished(queue[c], IsHole) THEN Move(c, "clear", None)
     ELSE IF Pinners # {} THEN Move(c, "own_inbox", None) ELSE LookAround(c)
  /\ Looks
LookInbox(c) ==
  /\ at[c].pc = "own_inbox"
  /\ IF HasPublished(inbox[c], IsHole) THEN Move(c, "clear", None) ELSE LookAround(c)
  /\ Looks
Awake(c) ==                   \* [C6] wp_carrier_sleep returns
  /\ at[c].pc = "asleep" /\ word[c] # "PARKED"
  /\ Move(c, "clear", None)
  /\ Looks
ClearIdle(c) ==               \* [I2] wp_idleset_remove
  /\ at[c].pc = "clear"
  /\ idle' = idle \ {c}
  /\ Move(c, "leave", at[c].arg)
  /\ UNCHANGED <<word, token, queue, inbox, held, budget>>
\* Woken meanwhile: its waker may have left because this carrier takes its own task next.
TakesHit(c) == /\ at[c].arg # None /\ Keeps("hit_not_taken")
               /\ IF Keeps("waking_ignored") THEN word[c] = "PARKED" ELSE TRUE
Leave(c) ==                   \* [C2] wp_carrier_leave; arg: the sibling that was a hit
  /\ at[c].pc = "leave"
  /\ word' = [word EXCEPT ![c] = "RUNNING"]
  /\ IF word[c] \in Carriers THEN Move(c, "serve", word[c])
     ELSE IF TakesHit(c) THEN Move(c, "steal", at[c].arg) ELSE Move(c, "poll", None)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>
TryAcquire(c) ==              \* [T3] [T4] wp_carrier_steal: a lost ticket is retried
  /\ at[c].pc \in {"serve", "steal"} /\ IsFree(at[c].arg)
  /\ Move(c, IF at[c].pc = "serve" THEN "serve_pop" ELSE "steal_pop", at[c].arg)
  /\ Looks
Pop(c) ==                     \* [Q4]..[Q8], then [T5]
  /\ at[c].pc \in {"pop", "serve_pop", "steal_pop"}
  /\ LET v == at[c].arg
         got == CanPop(queue[v], IsHole)
         missed == IF at[c].pc = "pop" THEN "park" ELSE "poll"
     IN /\ queue' = [queue EXCEPT ![v] = IF got THEN Tail(@) ELSE @]
        /\ held' = [held EXCEPT ![c] = got]
        /\ IF at[c].pc = "serve_pop" THEN Move(c, "stop", v)
           ELSE Move(c, IF got THEN "run" ELSE missed, None)
  /\ UNCHANGED <<word, idle, token, inbox, budget>>

Searcher(t) ==
  \/ Publish(t) \/ IsAlone(t) \/ IsIdle(t) \/ Start(t) \/ Snapshot(t) \/ Recruit(t) \/ Stop(t)
  \/ Chain(t) \/ Recheck(t) \/ LoadParked(t) \/ IsHit(t) \/ LoadWaking(t)
Submitter(s) == Searcher(s) \/ LoadWord(s) \/ Wake(s) \/ IsQuiescent(s)
Carrier(c) ==
  \/ Searcher(c) \/ PollQueue(c) \/ PollInbox(c) \/ PollNothing(c) \/ Probe(c) \/ Advertise(c)
  \/ SetIdle(c) \/ LookOwn(c) \/ LookInbox(c) \/ Awake(c) \/ ClearIdle(c) \/ Leave(c)
  \/ TryAcquire(c) \/ Pop(c)
Program ==                    \* what the users of the kernel choose to do, or not to do
  \/ \E s \in Submitters, c \in Carriers : Submit(s, c) \/ SubmitPinned(s, c)
  \/ \E c \in Carriers : SubmitInternal(c) \/ Reenqueue(c) \/ End(c)
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
Holders == {t \in Threads : at[t].pc \in {"snapshot", "recruit", "serve", "serve_pop", "stop"}}
           \cup {c \in Carriers : word[c] \in Carriers}
EveryStartSearchMatchedByOneStop == Cardinality(Holders) = token
SearchingImpliesToken == \A c \in Carriers : word[c] \in Carriers => token = 1
\* Neither a wake, nor a search, nor a look: not begun, in the bubble, in a task, asleep, or over.
IsQuiet(t) == \/ at[t].pc \in {"start", "publish", "run", "done"}
              \/ IF t \in Carriers THEN Asleep(t) ELSE FALSE
WorkConservation ==
  ~ /\ \A t \in Threads : IsQuiet(t)
    /\ \E c \in Carriers : Asleep(c)
    /\ \E x \in Carriers : HasPublished(queue[x], IsHole)
\* A submitter whom nobody disturbs any more comes to the end of its submission.
SubmitTerminates ==
  \A s \in Submitters : <>[][Submitter(s)]_vars => []<>(at[s].pc \in {"start", "done"})
\* A carrier that finds nothing to do goes to sleep.
ParkTerminates == \A c \in Carriers : at[c].pc = "park" ~> at[c].pc \in {"asleep", "run"}
\* A task is taken unless all carriers are inside tasks, however long those last.
PublishedIsTaken ==
  \A x \in Carriers :
    HasPublished(queue[x], IsHole) ~>
      (~HasPublished(queue[x], IsHole) \/ \A c \in Carriers : held[c])
=============================================================================
Results (seconds: manifest.json)    states  depth
  MCSearch          2 carriers x 2  229,620    61    safety, symmetry
  MCSearchInternal  2 x 1           125,903    63    one internal submission, one yield
  MCSearchPinned    2 x 2           304,349    57    one of the two tasks is pinned
  MCSearchThree     3 x 1            30,976    59    waking_ignored needs a third carrier
  MCSearchLive      2 x 2            17,849    48    PublishedIsTaken
  MCSearchSubmit    2 x 2            17,849    48    SubmitTerminates
  MCSearchPark      2 x 2            12,013    45    ParkTerminates
  full set: MCSearchFull 17,569,073 (88), MCSearchThreeFull 1,024,686 (78), MCSearchPinnedFull
  4,408,943 (120), MCSearchInternalFull 5,586,378 (91), MCSearchLiveFull 900,479 (61)
