----------------------------- MODULE Placement -----------------------------
(***************************************************************************)
(* How a task that is submitted finds its carrier. A submitter reads the   *)
(* loads of the carriers and chooses one of them. A task that is about to  *)
(* block marks its carrier as blocking. From then on no submitter chooses  *)
(* this carrier, and the tasks of its queue are moved to the group's       *)
(* global queue, from which other carriers take them.                      *)
(*                                                                         *)
(* Code       kernel/sched/placement/placement.h, placement.c:             *)
(*            [policy.1]..[placement.6], [placement.9]; group_placement.h, *)
(*            group_placement.c.                                           *)
(* Abstracts  the policies, with clusters or without, to the choice of any *)
(*            carrier that was not marked when it was last read. Queues    *)
(*            are counts, and each queue is moved in one step. A push and  *)
(*            the read of its target's word are two steps; Search has the  *)
(*            way of this wakeup to the carrier. A spurious wakeup meets a *)
(*            carrier whose word says that it is parked, as in Timer.      *)
(* Memory     sequential consistency: a load is counted, and its mark      *)
(*            read, by one read-modify-write; the fences [spare_carrier.5] *)
(*            and [carrier.6] order the count of global tasks and the      *)
(*            words of carriers.                                           *)
(* Promises   CounterBalance, BlockingNeverTargeted, NoStrandedGlobal      *)
(*            (safety); AllRun (liveness).                                 *)
(***************************************************************************)
EXTENDS Integers, FiniteSets
CONSTANTS
  Submitters,  \* each submits one task
  Carriers,    \* each runs one task at the start
  Marks,       \* the number of times that tasks block
  AtDequeue    \* TRUE: a load counts the queued tasks; FALSE: the running task as well

VARIABLES
  load,      \* carrier -> its load, which may be less than the true count, and less than 0
  blocking,  \* carrier -> TRUE if it is marked; in the same word
  queue,     \* carrier -> the number of tasks in its queue
  global,    \* the number of tasks in the group's queue, the global tasks
  tasks,     \* the number of global tasks as counted, which may differ from `global` for a while
  pc,        \* thread -> its next step
  at,        \* thread -> the carrier that it pushes to, or takes from
  held,      \* thread -> the number of tasks that it is moving
  todo,      \* submitter -> the carriers that it has not read yet
  left       \* the number of marks that are still to come

vars == <<load, blocking, queue, global, tasks, pc, at, held, todo, left>>

Threads == Submitters \cup Carriers
Nobody == "nobody"
Runs == {"run", "blocked"}
Moves == {"hand", "put", "subtract", "spill", "wake"}
Numbers == -(2 * Cardinality(Threads)) .. 2 * Cardinality(Threads)
TypeOK ==
  /\ load \in [Carriers -> Numbers]
  /\ blocking \in [Carriers -> BOOLEAN]
  /\ queue \in [Carriers -> Nat]
  /\ global \in Nat
  /\ tasks \in Numbers
  /\ left \in 0 .. Marks
  /\ pc \in [Threads -> Runs \cup Moves \cup {"choose", "push", "tell", "count", "done", "look", "own",
             "untask", "more", "keep", "kept", "begin", "stolen", "thief", "rest", "idle", "woken"}]
  /\ at \in [Threads -> Carriers \cup {Nobody}]
  /\ held \in [Threads -> Nat]
  /\ todo \in [Submitters -> SUBSET Carriers]

Init ==
  /\ load = [c \in Carriers |-> IF AtDequeue THEN 0 ELSE 1]
  /\ blocking = [c \in Carriers |-> FALSE]
  /\ queue = [c \in Carriers |-> 0]
  /\ global = 0
  /\ tasks = 0
  /\ pc = [t \in Threads |-> IF t \in Submitters THEN "choose" ELSE "run"]
  /\ at = [t \in Threads |-> IF t \in Carriers THEN t ELSE Nobody]
  /\ held = [t \in Threads |-> 0]
  /\ todo = [s \in Submitters |-> Carriers]
  /\ left = Marks

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Add(counts, c, many) == [counts EXCEPT ![c] = @ + many]
Loads == <<load, blocking>>
Shared == <<global, tasks>>
Mine == <<at, held, todo, left>>

(* A submitter. *)

\* The submitter reads one carrier after the other. If all are marked, its task goes to the global
\* queue.
Choose(s) ==                  \* [policy.1]
  /\ s \in Submitters
  /\ pc[s] = "choose"
  /\ IF todo[s] = {} THEN held' = [held EXCEPT ![s] = 1] /\ Goto(s, "put") /\ UNCHANGED <<at, todo>>
     ELSE \E c \in todo[s] :
       IF blocking[c] THEN todo' = [todo EXCEPT ![s] = @ \ {c}] /\ UNCHANGED <<pc, at, held>>
       ELSE Goto(s, "push") /\ at' = [at EXCEPT ![s] = c] /\ UNCHANGED <<held, todo>>
  /\ UNCHANGED <<Loads, queue, Shared, left>>

\* The task is pushed to the chosen carrier.
Push(s) ==
  /\ pc[s] = "push"
  /\ queue' = Add(queue, at[s], 1)
  /\ Goto(s, "tell")
  /\ UNCHANGED <<Loads, Shared, Mine>>

\* A target that sleeps is woken: wp_carrier_submit.
Tell(s) ==
  /\ pc[s] = "tell"
  /\ pc' = [pc EXCEPT ![s] = "count", ![at[s]] = IF @ = "idle" THEN "woken" ELSE @]
  /\ UNCHANGED <<Loads, queue, Shared, Mine>>

\* The task is counted. If the target was marked meanwhile, its queue is moved.
Count(s) ==                   \* [placement.1]
  /\ pc[s] = "count"
  /\ load' = Add(load, at[s], 1)
  /\ Goto(s, IF blocking[at[s]] THEN "hand" ELSE "done")
  /\ UNCHANGED <<blocking, queue, Shared, Mine>>

(* The queue of a marked carrier is moved to the global queue. The mover is the carrier itself, or a
   submitter that has pushed too late. *)

AfterMove(t) == IF t \in Submitters THEN "done" ELSE "blocked"

\* The mover takes all tasks of the queue.
Hand(t) ==
  /\ pc[t] = "hand"
  /\ held' = [held EXCEPT ![t] = queue[at[t]]]
  /\ queue' = [queue EXCEPT ![at[t]] = 0]
  /\ Goto(t, IF queue[at[t]] > 0 THEN "subtract" ELSE AfterMove(t))
  /\ UNCHANGED <<Loads, Shared, at, todo, left>>

\* The mover subtracts the tasks that it moves from the load of their carrier. A thief does the same
\* with the tasks that it has stolen.
Subtract(t) ==                \* [placement.2]
  /\ pc[t] \in {"subtract", "stolen"}
  /\ load' = Add(load, at[t], -held[t])
  /\ IF pc[t] = "subtract"
     THEN /\ Goto(t, "put")
          /\ UNCHANGED <<at, held>>
     ELSE /\ at' = [at EXCEPT ![t] = t]
          /\ IF AtDequeue
             THEN /\ held' = [held EXCEPT ![t] = 0]
                  /\ Goto(t, "run")
             ELSE /\ Goto(t, "thief")
                  /\ UNCHANGED held
  /\ UNCHANGED <<blocking, queue, Shared, todo, left>>

\* The mover puts the tasks into the global queue.
Put(t) ==
  /\ pc[t] = "put"
  /\ global' = global + held[t]
  /\ Goto(t, "spill")
  /\ UNCHANGED <<Loads, queue, tasks, Mine>>

\* The mover adds the tasks to the count of global tasks. Then it wakes a carrier, if any is parked.
Spill(t) ==                   \* [placement.5]
  /\ pc[t] = "spill"
  /\ tasks' = tasks + held[t]
  /\ held' = [held EXCEPT ![t] = 0]
  /\ Goto(t, "wake")
  /\ UNCHANGED <<Loads, queue, global, at, todo, left>>

\* The mover wakes a carrier whose word says that it is parked. The carrier may still be checking
\* for work, so this may be a spurious wakeup (Timer).
Wake(t) ==                    \* [spare_carrier.5]
  /\ pc[t] \in {"wake", "more"}
  /\ LET next == IF pc[t] = "more" THEN "keep" ELSE AfterMove(t) IN
     \/ \E c \in Carriers :
          /\ pc[c] \in {"idle", "rest"}
          /\ pc' = [pc EXCEPT ![c] = IF @ = "idle" THEN "woken" ELSE "look", ![t] = next]
     \/ (\A c \in Carriers : pc[c] # "idle") /\ Goto(t, next)
  /\ UNCHANGED <<Loads, queue, Shared, Mine>>

(* A carrier takes from the global queue first, then from its own, and then from another carrier's.
   *)

\* The woken carrier leaves its park.
Woken(c) ==                   \* [carrier.2]
  /\ pc[c] = "woken"
  /\ Goto(c, "look")
  /\ UNCHANGED <<Loads, queue, Shared, Mine>>

\* The carrier takes one task or more from the global queue.
Look(c) ==                    \* [placement.6]
  /\ pc[c] = "look"
  /\ IF tasks > 0 /\ global > 0
     THEN \E many \in 1 .. global :
            /\ held' = [held EXCEPT ![c] = many]
            /\ global' = global - many
            /\ Goto(c, "untask")
     ELSE /\ Goto(c, "own")
          /\ UNCHANGED <<held, global>>
  /\ UNCHANGED <<Loads, queue, tasks, at, todo, left>>

\* The carrier subtracts the tasks that it has taken from the count of global tasks. If some are
\* left, it wakes a carrier, if any is parked.
Untask(c) ==                  \* [placement.9]
  /\ pc[c] = "untask"
  /\ tasks' = tasks - held[c]
  /\ Goto(c, IF tasks > held[c] THEN "more" ELSE "keep")
  /\ UNCHANGED <<Loads, queue, global, Mine>>

\* The carrier puts the tasks that it has taken into its own queue.
Keep(c) ==
  /\ pc[c] = "keep"
  /\ queue' = Add(queue, c, held[c])
  /\ Goto(c, "kept")
  /\ UNCHANGED <<Loads, Shared, Mine>>

\* The carrier adds the tasks to its own load.
Kept(c) ==                    \* [placement.2]
  /\ pc[c] \in {"kept", "thief"}
  /\ load' = Add(load, c, held[c])
  /\ held' = [held EXCEPT ![c] = 0]
  /\ Goto(c, IF pc[c] = "kept" THEN "own" ELSE "run")
  /\ UNCHANGED <<blocking, queue, Shared, at, todo, left>>

\* The carrier takes a task from its own queue, or steals one, or goes to rest.
Own(c) ==
  /\ pc[c] = "own"
  /\ IF queue[c] > 0
     THEN queue' = Add(queue, c, -1) /\ Goto(c, IF AtDequeue THEN "begin" ELSE "run")
          /\ UNCHANGED <<at, held>>
     ELSE \/ \E v \in Carriers \ {c} :
               /\ queue[v] > 0
               /\ queue' = Add(queue, v, -1)
               /\ at' = [at EXCEPT ![c] = v]
               /\ held' = [held EXCEPT ![c] = 1]
               /\ Goto(c, "stolen")
          \/ Goto(c, "rest") /\ UNCHANGED <<queue, at, held>>
  /\ UNCHANGED <<Loads, Shared, todo, left>>

\* A task begins or ends, and is subtracted from the load. AtDequeue says which of the two it is.
Less(c) ==                    \* [placement.2]
  /\ pc[c] \in {"begin", "run"}
  /\ load' = IF pc[c] = "run" /\ AtDequeue THEN load ELSE Add(load, c, -1)
  /\ Goto(c, IF pc[c] = "begin" THEN "run" ELSE "look")
  /\ UNCHANGED <<blocking, queue, Shared, Mine>>

\* The carrier is parked, and checks both queues before it sleeps.
Rest(c) ==                    \* [carrier.6] [placement.6]
  /\ pc[c] = "rest"
  /\ Goto(c, IF tasks > 0 \/ queue[c] > 0 THEN "look" ELSE "idle")
  /\ UNCHANGED <<Loads, queue, Shared, Mine>>

(* A task that is about to block, or that has blocked. *)

\* The task marks its carrier.
Mark(c) ==                    \* [placement.3]
  /\ pc[c] = "run"
  /\ left > 0
  /\ left' = left - 1
  /\ blocking' = [blocking EXCEPT ![c] = TRUE]
  /\ Goto(c, "hand")
  /\ UNCHANGED <<load, queue, Shared, at, held, todo>>

\* The task goes on, and clears the mark of its carrier.
Unmark(c) ==                  \* [placement.4]
  /\ pc[c] = "blocked"
  /\ blocking' = [blocking EXCEPT ![c] = FALSE]
  /\ Goto(c, "run")
  /\ UNCHANGED <<load, queue, Shared, Mine>>

Finished ==
  /\ \A s \in Submitters : pc[s] = "done"
  /\ \A c \in Carriers : pc[c] = "idle"
  /\ global = 0
  /\ \A c \in Carriers : queue[c] = 0
  /\ UNCHANGED vars

Step(t) ==
  \/ Choose(t) \/ Push(t) \/ Tell(t) \/ Count(t) \/ Hand(t) \/ Subtract(t) \/ Put(t) \/ Spill(t) \/ Wake(t)
  \/ /\ t \in Carriers
     /\ \/ Woken(t) \/ Look(t) \/ Untask(t) \/ Keep(t) \/ Kept(t) \/ Own(t)
        \/ Less(t) \/ Rest(t) \/ Mark(t) \/ Unmark(t)

Next == (\E t \in Threads : Step(t)) \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ \A t \in Threads : WF_vars(Step(t))

(* What must hold. *)
RECURSIVE Sum(_)
Sum(threads) == IF threads = {} THEN 0
                ELSE LET t == CHOOSE t \in threads : TRUE IN held[t] + Sum(threads \ {t})

In(where) == {t \in Threads : pc[t] \in where}
Of(where, c) == {t \in In(where) : at[t] = c}

\* Each task is counted once, in the load of the carrier that has it in its queue or runs it; and
\* each global task is counted once.
CounterBalance ==
  /\ \A c \in Carriers : load[c] =
       queue[c] + (IF pc[c] \in Runs \cup Moves /\ ~AtDequeue THEN 1 ELSE 0)
       - Cardinality(Of({"tell", "count"}, c)) - Sum(Of({"kept"}, c))
       + Sum(Of({"subtract", "stolen"}, c)) + Cardinality(Of({"begin"}, c))
  /\ tasks = global - Sum(In({"spill"})) + Sum(In({"untask"}))

\* The queue of a carrier that is marked holds no task, unless a thread is about to move it.
BlockingNeverTargeted ==
  \A c \in Carriers : blocking[c] /\ queue[c] > 0 => Of({"tell", "count", "hand"}, c) # {}

\* While there are global tasks, no carrier sleeps, unless a thread is about to check for global
\* tasks or to wake a carrier.
NoStrandedGlobal == global > 0 /\ In({"idle"}) # {} =>
  In({"spill", "wake", "woken", "look", "untask", "more"}) # {}

\* Every task is eventually run.
AllRun == <>[](queue = [c \in Carriers |-> 0] /\ global = 0 /\ In({"idle"}) = Carriers)
=============================================================================
