---------------------------- MODULE SpareCarrier ----------------------------
(***************************************************************************)
(* A group keeps its number of carriers that tasks may be given to: one    *)
(* that is marked is replaced, as long as there are spare_carriers, each   *)
(* of which is dormant until then, and again when the mark is gone.        *)
(* Code       kernel/sched/compensation/spare_carrier.h, spare_carrier.c:  *)
(*            [spare_carrier.1]..[policy_draw.1]; group_placement.c,       *)
(*            placement.c: [policy.1] [placement.1]                        *)
(*            [placement.3]..[placement.6].                                *)
(* Abstracts  loads and steals away (Placement), also who may be taken for *)
(*            eligible by an old look: anybody who was so once. A nudge    *)
(*            that meets one who parked as dormant is passed on: as if it  *)
(*            was not made yet.                                            *)
(* Memory     sequential consistency: marks and bits are read-modify-      *)
(*            writes of one word, who decides holds a lock, and who has    *)
(*            changed a word takes that lock afterwards.                   *)
(* Promises   EligibleKept, OneThread, TargetHasThread, RetiredIsEmpty,    *)
(*            NoStrandedGlobal, StopReachesAll (safety); OthersRun, AllRun *)
(*            (liveness).                                                  *)
(* TLC alone  OthersRun, AllRun: they need tasks, marks and threads of a   *)
(*            whole group until nothing is left to do, too many states of  *)
(*            code (tests/programs/sched/compensation/spare_carrier.c);    *)
(*            the safety that they rest on has scenarios.                  *)
(***************************************************************************)
EXTENDS Integers, FiniteSets
CONSTANTS
  Submitters, \* each submits one task
  Carriers, Others, \* configured ones, each of which runs a task at first; spare_carriers
  Watchers,   \* each marks somebody else's carrier once: monitors
  Marks,      \* how often tasks mark theirs
  Refuses, Closes  \* TRUE: a thread may not start; the group may be closed

VARIABLES
  marked, dormant, \* one word of each carrier
  threads,    \* of a carrier: how many were started
  queue,      \* of a carrier: how many
  global,     \* tasks of the group's queue
  pc, at,     \* at: the carrier it pushes to, moves from, starts
  held, lock, \* tasks in its hands; of who decides
  left, over, stopped \* marks; the close: no thread starts any more; and whom it stops
vars == <<marked, dormant, threads, queue, global, pc, at, held, lock, left, over, stopped>>

All == Carriers \cup Others
Threads == Submitters \cup All \cup Watchers
Nobody == "nobody"
Deciding == {"decide", "start", "activate", "rouse", "retire"}
TypeOK ==
  /\ marked \in [All -> BOOLEAN] /\ dormant \in [All -> BOOLEAN]
  /\ threads \in [All -> 0 .. 2] /\ queue \in [All -> Nat]
  /\ global \in Nat /\ held \in [Threads -> Nat]
  /\ pc \in [Threads -> Deciding \cup {"choose", "push", "tell", "count", "hand", "put", "wake", "more",
       "settle", "done", "none", "watch", "run", "look", "own", "rest", "idle", "asleep"}]
  /\ at \in [Threads -> All \cup {Nobody}] /\ lock \in Threads \cup {Nobody}
  /\ left \in 0 .. Marks /\ over \in BOOLEAN /\ stopped \in SUBSET All
Init ==
  /\ marked = [c \in All |-> FALSE] /\ dormant = [c \in All |-> c \in Others]
  /\ threads = [c \in All |-> IF c \in Carriers THEN 1 ELSE 0] /\ queue = [c \in All |-> 0]
  /\ global = 0 /\ held = [t \in Threads |-> 0] /\ lock = Nobody
  /\ pc = [t \in Threads |-> IF t \in Submitters THEN "choose" ELSE IF t \in Watchers THEN "watch"
                             ELSE IF t \in Carriers THEN "run" ELSE "none"]
  /\ at = [t \in Threads |-> Nobody] /\ left = Marks /\ over = FALSE /\ stopped = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Word == <<marked, dormant>>
Tasks == <<queue, global, held>>
Rest == <<threads, lock, left, over, stopped>>
Eligible == {c \in All : ~marked[c] /\ ~dormant[c]}
Many == Cardinality(Carriers)
(* Who submits. *)
Choose(s) ==                  \* [policy.1] [policy_draw.1]
  /\ s \in Submitters
  /\ pc[s] = "choose"
  /\ Goto(s, "push")
  /\ UNCHANGED <<Word, Tasks, Rest>>
  /\ \E c \in All :
       /\ threads[c] > 0
       /\ at' = [at EXCEPT ![s] = c]
Push(s) ==
  /\ pc[s] = "push"
  /\ Goto(s, "tell")
  /\ queue' = [queue EXCEPT ![at[s]] = @ + 1]
  /\ UNCHANGED <<Word, global, held, at, Rest>>
Tell(s) ==                    \* wp_carrier_submit: a target that sleeps is woken
  /\ pc[s] = "tell"
  /\ UNCHANGED <<Word, Tasks, at, Rest>>
  /\ pc' = [pc EXCEPT
       ![s] = "count",
       ![at[s]] = IF @ \in {"idle", "asleep"} THEN "look" ELSE @]
Count(s) ==                   \* [placement.1]
  /\ pc[s] = "count"
  /\ Goto(s, IF at[s] \in Eligible THEN "done" ELSE "hand")
  /\ UNCHANGED <<Word, Tasks, at, Rest>>
(* The queue of who is marked, or dormant, moves; by who decides: under the lock. *)
AfterMove(t) == IF t \in Submitters THEN "done" ELSE IF lock = t THEN "rouse" ELSE "settle"
Hand(t) ==
  /\ pc[t] = "hand"
  /\ held' = [held EXCEPT ![t] = queue[at[t]]]
  /\ queue' = [queue EXCEPT ![at[t]] = 0]
  /\ UNCHANGED <<Word, global, at, Rest>>
  /\ Goto(t, IF queue[at[t]] > 0 THEN "put" ELSE AfterMove(t))
Put(t) ==                     \* [placement.5]
  /\ pc[t] = "put"
  /\ global' = global + held[t]
  /\ held' = [held EXCEPT ![t] = 0]
  /\ Goto(t, "wake")
  /\ UNCHANGED <<Word, queue, at, Rest>>
Wake(t) ==                    \* [spare_carrier.5] [spare_carrier.1] who looks dormant is left out; an old look may err
  /\ pc[t] \in {"wake", "more"}
  /\ LET next == IF pc[t] = "more" THEN "run"
                 ELSE IF t \in All /\ at[t] = Nobody THEN "own" ELSE AfterMove(t) IN
     \/ \E c \in All :
          /\ pc[c] = "idle" \/ (pc[c] \in {"rest", "asleep"} /\ ~dormant[c])
          /\ pc' = [pc EXCEPT ![c] = "look", ![t] = next]
     \/ (\A c \in All : pc[c] \in {"idle", "asleep"} => dormant[c]) /\ Goto(t, next)
  /\ UNCHANGED <<Word, Tasks, at, Rest>>
(* A carrier: the group's queue first, then its own. *)
Look(c) ==                    \* [placement.6] [spare_carrier.1] who is dormant takes none, and passes the wake on
  /\ UNCHANGED <<Word, queue, held, Rest>>
  /\ pc[c] = "look"
  /\ at' = [at EXCEPT ![c] = Nobody]
  /\ IF global > 0 /\ ~dormant[c]
     THEN /\ global' = global - 1
          /\ Goto(c, IF global > 1 THEN "more" ELSE "run")
     ELSE /\ UNCHANGED global
          /\ Goto(c, IF global > 0 THEN "wake" ELSE "own")
Own(c) ==
  /\ pc[c] = "own"
  /\ UNCHANGED <<Word, global, held, at, Rest>>
  /\ IF queue[c] > 0
     THEN /\ queue' = [queue EXCEPT ![c] = @ - 1]
          /\ Goto(c, "run")
     ELSE /\ Goto(c, "rest")
          /\ UNCHANGED queue
Sleep(c) ==                   \* [carrier.6] [spare_carrier.1] [placement.6] its word says parked: it looks once more
  /\ pc[c] = "rest"
  /\ UNCHANGED <<Word, Tasks, at, Rest>>
  /\ IF queue[c] > 0 \/ (global > 0 /\ ~dormant[c])
     THEN Goto(c, "look")
     ELSE Goto(c, IF dormant[c] THEN "asleep" ELSE "idle")
(* A mark, by a task or a monitor, is moved, then decided on; so is its end. *)
Mark(t) ==                    \* [placement.3]
  /\ t \in All
  /\ pc[t] = "run"
  /\ left > 0
  /\ left' = left - 1
  /\ marked' = [marked EXCEPT ![t] = TRUE]
  /\ at' = [at EXCEPT ![t] = t]
  /\ Goto(t, "hand")
  /\ UNCHANGED <<dormant, Tasks, threads, lock, over, stopped>>
Watch(t) ==
  /\ t \in Watchers
  /\ pc[t] = "watch"
  /\ \E c \in All :
       /\ pc[c] = "run"
       /\ marked' = [marked EXCEPT ![c] = TRUE]
       /\ at' = [at EXCEPT ![t] = c]
  /\ Goto(t, "hand")
  /\ UNCHANGED <<dormant, Tasks, Rest>>
End(c) ==                     \* [placement.4]
  /\ c \in All
  /\ pc[c] = "run"
  /\ marked' = [marked EXCEPT ![c] = FALSE]
  /\ Goto(c, IF marked[c] THEN "settle" ELSE "look")
  /\ UNCHANGED <<dormant, Tasks, at, Rest>>
(* Who decides. *)
AfterAll(t) == IF t \in Watchers THEN "done" ELSE IF marked[t] THEN "run" ELSE "look"
Settle(t) ==
  /\ pc[t] = "settle"
  /\ lock = Nobody
  /\ IF over
     THEN /\ Goto(t, AfterAll(t))
          /\ UNCHANGED lock
     ELSE /\ Goto(t, "decide")
          /\ lock' = t
  /\ UNCHANGED <<Word, Tasks, at, threads, left, over, stopped>>
Cached == {r \in Others : dormant[r] /\ threads[r] > 0}
Startable == IF Cached # {} THEN Cached ELSE {r \in Others : dormant[r]}
Decide(t) ==                  \* [spare_carrier.2]
  /\ pc[t] = "decide"
  /\ UNCHANGED <<Word, Tasks, threads, left, over, stopped>>
  /\ LET many == Cardinality(Eligible) IN
     \/ /\ many < Many
        /\ UNCHANGED lock
        /\ \E r \in Startable :
             /\ at' = [at EXCEPT ![t] = r]
             /\ Goto(t, IF threads[r] > 0 THEN "activate" ELSE "start")
     \/ /\ many > Many
        /\ Goto(t, "retire")
        /\ UNCHANGED lock
        /\ \E r \in Others \cap Eligible : at' = [at EXCEPT ![t] = r]
     \/ /\ many >= Many \/ Startable = {}
        /\ many <= Many \/ Others \cap Eligible = {}
        /\ Goto(t, AfterAll(t))
        /\ lock' = Nobody
        /\ UNCHANGED at
Start(t) ==                   \* its thread; it is eligible only then
  /\ pc[t] = "start"
  /\ LET r == at[t] IN
     \/ /\ threads' = [threads EXCEPT ![r] = @ + 1]
        /\ UNCHANGED lock
        /\ pc' = [pc EXCEPT ![t] = "activate", ![r] = IF @ = "none" THEN "look" ELSE @]
     \/ /\ Refuses
        /\ UNCHANGED threads
        /\ Goto(t, AfterAll(t))
        /\ lock' = Nobody
  /\ UNCHANGED <<Word, Tasks, at, left, over, stopped>>
Turn(t) ==                    \* [spare_carrier.6] [spare_carrier.3] it is eligible; [spare_carrier.4] it is so no more: move its queue
  /\ pc[t] \in {"activate", "retire"}
  /\ dormant' = [dormant EXCEPT ![at[t]] = pc[t] = "retire"]
  /\ Goto(t, IF pc[t] = "retire" THEN "hand" ELSE "rouse")
  /\ UNCHANGED <<marked, Tasks, at, Rest>>
Rouse(t) ==                   \* it looks at its word
  /\ pc[t] = "rouse"
  /\ UNCHANGED <<Word, Tasks, at, Rest>>
  /\ pc' = [pc EXCEPT
       ![t] = "decide",
       ![at[t]] = IF @ \in {"idle", "asleep", "rest"} THEN "look" ELSE @]
Close ==                      \* under the lock: afterwards each gets its stop
  /\ Closes
  /\ ~over
  /\ lock = Nobody
  /\ over' = TRUE
  /\ stopped' = {c \in All : threads[c] > 0}
  /\ UNCHANGED <<Word, Tasks, pc, at, threads, lock, left>>
Finished ==
  UNCHANGED vars /\ \A t \in Threads : pc[t] \in {"done", "watch", "none", "idle", "asleep"}
Moves(t) ==
  \/ Choose(t) \/ Push(t) \/ Tell(t) \/ Count(t) \/ Hand(t) \/ Put(t) \/ Wake(t) \/ Mark(t) \/ Watch(t)
  \/ Settle(t) \/ Decide(t) \/ Start(t) \/ Turn(t) \/ Rouse(t)
  \/ t \in All /\ (Look(t) \/ Own(t) \/ Sleep(t))
Next == (\E t \in Threads : Moves(t) \/ End(t)) \/ Close \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ \A t \in Threads : WF_vars(Moves(t) \/ End(t))
HeldSpec == Spec /\ \A t \in Threads : WF_vars(Moves(t) \/ (End(t) /\ ~marked[t]))
(* What must hold. *)
In(where) == {t \in Threads : pc[t] \in where}
Decided ==
  In(Deciding \cup {"settle"}) \cup {t \in In({"hand", "put", "wake"}) : t \notin Submitters} = {}
\* As many carriers may be given tasks as are configured, or all spare carriers stand in that have
\* threads, unless somebody is about to decide; no configured one is dormant.
EligibleKept ==
  /\ \A c \in Carriers : ~dormant[c]
  /\ Decided /\ ~over => LET many == Cardinality(Eligible) IN
       \/ many = Many
       \/ many < Many /\ \A r \in Others : dormant[r] => Refuses /\ threads[r] = 0
\* No spare carrier gets two threads.
OneThread == \A c \in All : threads[c] < 2
\* Who may be given tasks has a thread.
TargetHasThread == \A c \in All : ~dormant[c] => threads[c] > 0
\* No task is left in the queue of who is marked or dormant, unless somebody is about to move it.
RetiredIsEmpty ==
  \A c \in All \ Eligible : queue[c] > 0 => \E t \in In({"tell", "count", "hand"}) : at[t] = c
\* Nobody who may be given tasks sleeps while there are global ones, unless somebody is about to
\* look, or to wake one.
NoStrandedGlobal == global > 0 /\ (\E c \in In({"idle", "asleep"}) : ~dormant[c]) =>
  In({"wake", "more", "look", "rouse"}) # {}
\* The close stops each thread that was started.
StopReachesAll == over => \A c \in All : threads[c] > 0 => c \in stopped
\* Each task is run, if marks end, whatever threads are refused.
AllRun == <>[](queue = [c \in All |-> 0] /\ global = 0)
\* All other tasks are run though no mark ends, if there are spare carriers enough.
OthersRun == AllRun   \* HeldSpec
=============================================================================
