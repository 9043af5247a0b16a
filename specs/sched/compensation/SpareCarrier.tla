---------------------------- MODULE SpareCarrier ----------------------------
(***************************************************************************)
(* A group keeps its number of eligible carriers constant. A carrier is    *)
(* eligible if submitters may give it tasks. When a carrier is marked as   *)
(* blocked, an idle spare carrier is activated in its place, as long as    *)
(* there are any. When the block has ended, an active spare is retired and *)
(* is an idle spare again. Java's ForkJoinPool compensates for blocked     *)
(* workers in this way.                                                    *)
(*                                                                         *)
(* Code       kernel/sched/compensation/spare_carrier.h, spare_carrier.c:  *)
(*            [spare_carrier.1]..[policy_draw.1]; group_placement.c,       *)
(*            placement.c: [policy.1] [placement.1]                        *)
(*            [placement.3]..[placement.6].                                *)
(* Abstracts  loads and steals away (Placement); an outdated read, by      *)
(*            which a thread may take a carrier for eligible, to the       *)
(*            choice of any carrier that has been eligible at some time. A *)
(*            spurious wakeup that meets a carrier which has parked as an  *)
(*            idle spare is passed on, as if it had not been made yet.     *)
(* Memory     sequential consistency: marks and bits are changed by        *)
(*            read-modify-writes of one word, the deciding thread holds a  *)
(*            lock, and a thread that has changed a word takes that lock   *)
(*            afterwards.                                                  *)
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
  Submitters,  \* each submits one task
  Carriers,    \* the configured carriers, each of which runs a task at first
  Others,      \* the spare carriers
  Watchers,    \* monitors, which mark carriers as blocked
  Marks,       \* the number of times that tasks mark their own carriers
  Refuses,     \* TRUE: the start of a thread may be refused
  Closes       \* TRUE: the group may be closed

VARIABLES
  marked,   \* carrier -> TRUE if the carrier is marked as blocked
  dormant,  \* carrier -> TRUE if the carrier is an idle spare; in the same word
  threads,  \* carrier -> the number of threads that were started for it
  queue,    \* carrier -> the number of tasks in its queue
  global,   \* the number of tasks in the group's queue, the global tasks
  pc,       \* thread -> its next step
  at,       \* thread -> the carrier that it pushes to, moves tasks from, or starts
  held,     \* thread -> the number of tasks that it is moving
  lock,     \* the thread that holds the lock, to decide
  left,     \* the number of marks that are still to come
  over,     \* TRUE if the group is closed, so no more threads are started
  stopped   \* the carriers that the close stops

vars == <<marked, dormant, threads, queue, global, pc, at, held, lock, left, over, stopped>>

All == Carriers \cup Others
Threads == Submitters \cup All \cup Watchers
Nobody == "nobody"
Deciding == {"decide", "start", "activate", "rouse", "retire"}
TypeOK ==
  /\ marked \in [All -> BOOLEAN]
  /\ dormant \in [All -> BOOLEAN]
  /\ threads \in [All -> 0 .. 2]
  /\ queue \in [All -> Nat]
  /\ global \in Nat
  /\ held \in [Threads -> Nat]
  /\ pc \in [Threads -> Deciding \cup {"choose", "push", "tell", "count", "hand", "put", "wake", "more",
       "settle", "done", "none", "watch", "run", "look", "own", "rest", "idle", "asleep"}]
  /\ at \in [Threads -> All \cup {Nobody}]
  /\ lock \in Threads \cup {Nobody}
  /\ left \in 0 .. Marks
  /\ over \in BOOLEAN
  /\ stopped \in SUBSET All

Init ==
  /\ marked = [c \in All |-> FALSE]
  /\ dormant = [c \in All |-> c \in Others]
  /\ threads = [c \in All |-> IF c \in Carriers THEN 1 ELSE 0]
  /\ queue = [c \in All |-> 0]
  /\ global = 0 /\ held = [t \in Threads |-> 0] /\ lock = Nobody
  /\ pc = [t \in Threads |-> IF t \in Submitters THEN "choose" ELSE IF t \in Watchers THEN "watch"
                             ELSE IF t \in Carriers THEN "run" ELSE "none"]
  /\ at = [t \in Threads |-> Nobody]
  /\ left = Marks
  /\ over = FALSE
  /\ stopped = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Word == <<marked, dormant>>
Tasks == <<queue, global, held>>
Rest == <<threads, lock, left, over, stopped>>

\* The eligible carriers.
Eligible == {c \in All : ~marked[c] /\ ~dormant[c]}
Many == Cardinality(Carriers)

(* A submitter. *)

\* The submitter chooses a carrier, perhaps on the basis of an outdated read.
Choose(s) ==                  \* [policy.1] [policy_draw.1]
  /\ s \in Submitters
  /\ pc[s] = "choose"
  /\ Goto(s, "push")
  /\ UNCHANGED <<Word, Tasks, Rest>>
  /\ \E c \in All :
       /\ threads[c] > 0
       /\ at' = [at EXCEPT ![s] = c]

\* The task is pushed to the chosen carrier.
Push(s) ==
  /\ pc[s] = "push"
  /\ Goto(s, "tell")
  /\ queue' = [queue EXCEPT ![at[s]] = @ + 1]
  /\ UNCHANGED <<Word, global, held, at, Rest>>

\* A target that sleeps is woken: wp_carrier_submit.
Tell(s) ==
  /\ pc[s] = "tell"
  /\ UNCHANGED <<Word, Tasks, at, Rest>>
  /\ pc' = [pc EXCEPT
       ![s] = "count",
       ![at[s]] = IF @ \in {"idle", "asleep"} THEN "look" ELSE @]

\* If the target is no longer eligible, the submitter moves the target's queue.
Count(s) ==                   \* [placement.1]
  /\ pc[s] = "count"
  /\ Goto(s, IF at[s] \in Eligible THEN "done" ELSE "hand")
  /\ UNCHANGED <<Word, Tasks, at, Rest>>

(* The queue of a blocked or retired carrier is moved to the group's queue. A thread that decides
   holds the lock while it moves a queue. *)

\* The step of a thread after it has moved a queue.
AfterMove(t) == IF t \in Submitters THEN "done" ELSE IF lock = t THEN "rouse" ELSE "settle"

\* The mover takes all tasks of the queue.
Hand(t) ==
  /\ pc[t] = "hand"
  /\ held' = [held EXCEPT ![t] = queue[at[t]]]
  /\ queue' = [queue EXCEPT ![at[t]] = 0]
  /\ UNCHANGED <<Word, global, at, Rest>>
  /\ Goto(t, IF queue[at[t]] > 0 THEN "put" ELSE AfterMove(t))

\* The mover puts the tasks into the group's queue.
Put(t) ==                     \* [placement.5]
  /\ pc[t] = "put"
  /\ global' = global + held[t]
  /\ held' = [held EXCEPT ![t] = 0]
  /\ Goto(t, "wake")
  /\ UNCHANGED <<Word, queue, at, Rest>>

\* The mover wakes a carrier that sleeps. It leaves out carriers that it takes for idle spares,
\* perhaps on the basis of an outdated read.
Wake(t) ==                    \* [spare_carrier.5] [spare_carrier.1]
  /\ pc[t] \in {"wake", "more"}
  /\ LET next == IF pc[t] = "more" THEN "run"
                 ELSE IF t \in All /\ at[t] = Nobody THEN "own" ELSE AfterMove(t) IN
     \/ \E c \in All :
          /\ pc[c] = "idle" \/ (pc[c] \in {"rest", "asleep"} /\ ~dormant[c])
          /\ pc' = [pc EXCEPT ![c] = "look", ![t] = next]
     \/ (\A c \in All : pc[c] \in {"idle", "asleep"} => dormant[c]) /\ Goto(t, next)
  /\ UNCHANGED <<Word, Tasks, at, Rest>>

(* A carrier takes from the group's queue first, then from its own. *)

\* The carrier takes a task from the group's queue. An idle spare takes none, and passes the wakeup
\* on.
Look(c) ==                    \* [placement.6] [spare_carrier.1]
  /\ UNCHANGED <<Word, queue, held, Rest>>
  /\ pc[c] = "look"
  /\ at' = [at EXCEPT ![c] = Nobody]
  /\ IF global > 0 /\ ~dormant[c]
     THEN /\ global' = global - 1
          /\ Goto(c, IF global > 1 THEN "more" ELSE "run")
     ELSE /\ UNCHANGED global
          /\ Goto(c, IF global > 0 THEN "wake" ELSE "own")

\* The carrier takes a task from its own queue. If there is none, it goes to rest.
Own(c) ==
  /\ pc[c] = "own"
  /\ UNCHANGED <<Word, global, held, at, Rest>>
  /\ IF queue[c] > 0
     THEN /\ queue' = [queue EXCEPT ![c] = @ - 1]
          /\ Goto(c, "run")
     ELSE /\ Goto(c, "rest")
          /\ UNCHANGED queue

\* The carrier's word says that it is parked. The carrier checks the queues once more, and then
\* sleeps.
Sleep(c) ==                   \* [carrier.6] [spare_carrier.1] [placement.6]
  /\ pc[c] = "rest"
  /\ UNCHANGED <<Word, Tasks, at, Rest>>
  /\ IF queue[c] > 0 \/ (global > 0 /\ ~dormant[c])
     THEN Goto(c, "look")
     ELSE Goto(c, IF dormant[c] THEN "asleep" ELSE "idle")

(* After a task or a monitor has marked a carrier, the marking thread moves the carrier's queue and
   decides.  After the mark is cleared, the carrier decides. *)

\* A task that is about to block marks its carrier.
Mark(t) ==                    \* [placement.3]
  /\ t \in All
  /\ pc[t] = "run"
  /\ left > 0
  /\ left' = left - 1
  /\ marked' = [marked EXCEPT ![t] = TRUE]
  /\ at' = [at EXCEPT ![t] = t]
  /\ Goto(t, "hand")
  /\ UNCHANGED <<dormant, Tasks, threads, lock, over, stopped>>

\* A monitor marks a carrier that runs a task, if some task waits: behind it, or in the group's queue.
Watch(t) ==
  /\ t \in Watchers
  /\ pc[t] = "watch"
  /\ \E c \in All :
       /\ pc[c] = "run" /\ ~marked[c]
       /\ queue[c] > 0 \/ global > 0
       /\ marked' = [marked EXCEPT ![c] = TRUE]
       /\ at' = [at EXCEPT ![t] = c]
  /\ Goto(t, "hand")
  /\ UNCHANGED <<dormant, Tasks, Rest>>

\* The task ends, and its carrier clears the mark.
End(c) ==                     \* [placement.4]
  /\ c \in All
  /\ pc[c] = "run"
  /\ marked' = [marked EXCEPT ![c] = FALSE]
  /\ Goto(c, IF marked[c] THEN "settle" ELSE "look")
  /\ UNCHANGED <<dormant, Tasks, at, Rest>>

(* The decision how many spare carriers are needed. *)

\* The step of a thread after its decision.
AfterAll(t) == IF t \in Watchers THEN "watch" ELSE IF marked[t] THEN "run" ELSE "look"

\* The thread takes the lock to decide, unless the group is closed.
Settle(t) ==
  /\ pc[t] = "settle"
  /\ lock = Nobody
  /\ IF over
     THEN /\ Goto(t, AfterAll(t))
          /\ UNCHANGED lock
     ELSE /\ Goto(t, "decide")
          /\ lock' = t
  /\ UNCHANGED <<Word, Tasks, at, threads, left, over, stopped>>

\* The idle spares that have a thread already.
Cached == {r \in Others : dormant[r] /\ threads[r] > 0}

\* The idle spares that may be activated. Those that have a thread come first.
Startable == IF Cached # {} THEN Cached ELSE {r \in Others : dormant[r]}

\* The thread activates an idle spare if there are too few eligible carriers, and retires a spare if
\* there are too many. Otherwise it is done.
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

\* A thread is started for the idle spare, which becomes eligible only after that. Or the system
\* refuses the thread.
Start(t) ==
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

\* An activated spare becomes eligible ([spare_carrier.6] [spare_carrier.3]). A retired spare is no
\* longer eligible ([spare_carrier.4]), and its queue is moved next.
Turn(t) ==
  /\ pc[t] \in {"activate", "retire"}
  /\ dormant' = [dormant EXCEPT ![at[t]] = pc[t] = "retire"]
  /\ Goto(t, IF pc[t] = "retire" THEN "hand" ELSE "rouse")
  /\ UNCHANGED <<marked, Tasks, at, Rest>>

\* The activated or retired carrier is woken, and checks its word.
Rouse(t) ==
  /\ pc[t] = "rouse"
  /\ UNCHANGED <<Word, Tasks, at, Rest>>
  /\ pc' = [pc EXCEPT
       ![t] = "decide",
       ![at[t]] = IF @ \in {"idle", "asleep", "rest"} THEN "look" ELSE @]

\* The group is closed, under the lock. After that, each carrier gets its stop.
Close ==
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
WatchedSpec == Spec /\ \A t \in Threads : WF_vars(Moves(t))

(* What must hold. *)
In(where) == {t \in Threads : pc[t] \in where}

\* No thread is about to decide.
Decided ==
  In(Deciding \cup {"settle"}) \cup {t \in In({"hand", "put", "wake"}) : t \notin Submitters} = {}

\* If no thread is about to decide, as many carriers are eligible as are configured; or fewer, if
\* every spare carrier that has a thread is in use. A configured carrier is never an idle spare.
EligibleKept ==
  /\ \A c \in Carriers : ~dormant[c]
  /\ Decided /\ ~over => LET many == Cardinality(Eligible) IN
       \/ many = Many
       \/ many < Many /\ \A r \in Others : dormant[r] => Refuses /\ threads[r] = 0
\* No carrier gets two threads.
OneThread == \A c \in All : threads[c] < 2

\* Every carrier that is not an idle spare has a thread.
TargetHasThread == \A c \in All : ~dormant[c] => threads[c] > 0

\* The queue of a blocked carrier or of an idle spare holds no task, unless a thread is about to
\* move it.
RetiredIsEmpty ==
  \A c \in All \ Eligible : queue[c] > 0 => \E t \in In({"tell", "count", "hand"}) : at[t] = c

\* While there are global tasks, no carrier other than an idle spare sleeps, unless a thread is
\* about to check for global tasks or to wake a carrier.
NoStrandedGlobal == global > 0 /\ (\E c \in In({"idle", "asleep"}) : ~dormant[c]) =>
  In({"wake", "more", "look", "rouse"}) # {}
\* The close stops every carrier for which a thread was started.
StopReachesAll == over => \A c \in All : threads[c] > 0 => c \in stopped

\* Every task is run, if the marked tasks end, even if the system refuses threads.
AllRun == <>[](queue = [c \in All |-> 0] /\ global = 0)

\* Every task is run even if no marked task ends, provided that there are enough spare carriers.
\* This is checked under HeldSpec; and under WatchedSpec, where no task has to end and a monitor marks.
OthersRun == AllRun
=============================================================================
