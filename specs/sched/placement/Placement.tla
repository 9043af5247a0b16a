----------------------------- MODULE Placement -----------------------------
(***************************************************************************)
(* Whoever submits a task reads the carriers' loads and chooses one. A     *)
(* task that is to block marks its carrier: nobody chooses it, and its     *)
(* queue moves to the global one, from which others take.                  *)
(* Code       kernel/sched/placement/placement.h, placement.c:             *)
(*            [policy.1]..[placement.6], [placement.9]; group_placement.h, *)
(*            group_placement.c.                                           *)
(* Abstracts  the policies, by clusters or not, to: any carrier that was   *)
(*            not marked when it was last read.  Queues to counts, each    *)
(*            moved in one step.  A push and the look at its target's word *)
(*            are two steps; how that wake reaches the carrier is Search's.*)
(*            A nudge finds whose word says parked, as one of Timer does.  *)
(* Memory     sequential consistency: a load is counted, and its mark read,*)
(*            by one read-modify-write; the count of global tasks and the  *)
(*            words of carriers are ordered by the fences                  *)
(*            [spare_carrier.5] and [carrier.6].                           *)
(* Promises   CounterBalance, BlockingNeverTargeted, NoStrandedGlobal      *)
(*            (safety); AllRun (liveness).                                 *)
(***************************************************************************)
EXTENDS Integers, FiniteSets
CONSTANTS
  Submitters, \* each submits one task
  Carriers,   \* each runs one when it begins
  Marks,      \* how often tasks block
  AtDequeue   \* TRUE: a load is what is queued; FALSE: with what runs

VARIABLES
  load, blocking, \* of a carrier; may be below what is there, and below 0; the same word: its mark
  queue,      \* of a carrier: how many
  global, tasks,  \* in the group's queue; of these, those that were counted
  pc, at,     \* at: the carrier it pushes to, or takes from
  held,       \* tasks in its hands
  todo, left  \* of a submitter: carriers it has not read; marks
vars == <<load, blocking, queue, global, tasks, pc, at, held, todo, left>>

Threads == Submitters \cup Carriers
Nobody == "nobody"
Runs == {"run", "blocked"}
Moves == {"hand", "put", "subtract", "spill", "wake"}
Numbers == -(2 * Cardinality(Threads)) .. 2 * Cardinality(Threads)
TypeOK ==
  /\ load \in [Carriers -> Numbers] /\ blocking \in [Carriers -> BOOLEAN]
  /\ queue \in [Carriers -> Nat] /\ global \in Nat /\ tasks \in Numbers
  /\ left \in 0 .. Marks
  /\ pc \in [Threads -> Runs \cup Moves \cup {"choose", "push", "tell", "count", "done", "look", "own",
             "untask", "more", "keep", "kept", "begin", "stolen", "thief", "rest", "idle", "woken"}]
  /\ at \in [Threads -> Carriers \cup {Nobody}]
  /\ held \in [Threads -> Nat] /\ todo \in [Submitters -> SUBSET Carriers]

Init ==
  /\ load = [c \in Carriers |-> IF AtDequeue THEN 0 ELSE 1]
  /\ blocking = [c \in Carriers |-> FALSE] /\ queue = [c \in Carriers |-> 0]
  /\ global = 0 /\ tasks = 0
  /\ pc = [t \in Threads |-> IF t \in Submitters THEN "choose" ELSE "run"]
  /\ at = [t \in Threads |-> IF t \in Carriers THEN t ELSE Nobody]
  /\ held = [t \in Threads |-> 0] /\ todo = [s \in Submitters |-> Carriers] /\ left = Marks

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Add(counts, c, many) == [counts EXCEPT ![c] = @ + many]
Loads == <<load, blocking>>
Shared == <<global, tasks>>
Mine == <<at, held, todo, left>>

(* Who submits. *)
Choose(s) ==                  \* [policy.1] one carrier after the other
  /\ s \in Submitters /\ pc[s] = "choose"
  /\ IF todo[s] = {} THEN held' = [held EXCEPT ![s] = 1] /\ Goto(s, "put") /\ UNCHANGED <<at, todo>>
     ELSE \E c \in todo[s] :
       IF blocking[c] THEN todo' = [todo EXCEPT ![s] = @ \ {c}] /\ UNCHANGED <<pc, at, held>>
       ELSE Goto(s, "push") /\ at' = [at EXCEPT ![s] = c] /\ UNCHANGED <<held, todo>>
  /\ UNCHANGED <<Loads, queue, Shared, left>>
Push(s) ==
  /\ pc[s] = "push" /\ queue' = Add(queue, at[s], 1) /\ Goto(s, "tell")
  /\ UNCHANGED <<Loads, Shared, Mine>>
Tell(s) ==                    \* wp_carrier_submit: a target that sleeps is woken
  /\ pc[s] = "tell"
  /\ pc' = [pc EXCEPT ![s] = "count", ![at[s]] = IF @ = "idle" THEN "woken" ELSE @]
  /\ UNCHANGED <<Loads, queue, Shared, Mine>>
Count(s) ==                   \* [placement.1] marked meanwhile: its queue is moved
  /\ pc[s] = "count"
  /\ load' = Add(load, at[s], 1)
  /\ Goto(s, IF blocking[at[s]] THEN "hand" ELSE "done")
  /\ UNCHANGED <<blocking, queue, Shared, Mine>>

(* The queue of a marked carrier moves to the global one, by it or by who pushed too late. *)
AfterMove(t) == IF t \in Submitters THEN "done" ELSE "blocked"
Hand(t) ==
  /\ pc[t] = "hand"
  /\ held' = [held EXCEPT ![t] = queue[at[t]]] /\ queue' = [queue EXCEPT ![at[t]] = 0]
  /\ Goto(t, IF queue[at[t]] > 0 THEN "subtract" ELSE AfterMove(t))
  /\ UNCHANGED <<Loads, Shared, at, todo, left>>
Subtract(t) ==                \* [placement.2] exactly what it moves, or has stolen
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
Put(t) ==
  /\ pc[t] = "put" /\ global' = global + held[t]
  /\ Goto(t, "spill") /\ UNCHANGED <<Loads, queue, tasks, Mine>>
Spill(t) ==                   \* [placement.5] then wake one, if any is parked
  /\ pc[t] = "spill"
  /\ tasks' = tasks + held[t]
  /\ held' = [held EXCEPT ![t] = 0]
  /\ Goto(t, "wake")
  /\ UNCHANGED <<Loads, queue, global, at, todo, left>>
Wake(t) ==                    \* [spare_carrier.5] a nudge (Timer): its word says parked, and it may look still
  /\ pc[t] \in {"wake", "more"}
  /\ LET next == IF pc[t] = "more" THEN "keep" ELSE AfterMove(t) IN
     \/ \E c \in Carriers :
          /\ pc[c] \in {"idle", "rest"}
          /\ pc' = [pc EXCEPT ![c] = IF @ = "idle" THEN "woken" ELSE "look", ![t] = next]
     \/ (\A c \in Carriers : pc[c] # "idle") /\ Goto(t, next)
  /\ UNCHANGED <<Loads, queue, Shared, Mine>>

(* A carrier: the global queue first, its own, then another one's. *)
Woken(c) ==                   \* [carrier.2]
  /\ pc[c] = "woken"
  /\ Goto(c, "look")
  /\ UNCHANGED <<Loads, queue, Shared, Mine>>
Look(c) ==                    \* [placement.6] takes one, or more
  /\ pc[c] = "look"
  /\ IF tasks > 0 /\ global > 0
     THEN \E many \in 1 .. global :
            /\ held' = [held EXCEPT ![c] = many]
            /\ global' = global - many
            /\ Goto(c, "untask")
     ELSE /\ Goto(c, "own")
          /\ UNCHANGED <<held, global>>
  /\ UNCHANGED <<Loads, queue, tasks, at, todo, left>>
Untask(c) ==                  \* [placement.9] leaves some: wake one, if any is parked
  /\ pc[c] = "untask"
  /\ tasks' = tasks - held[c]
  /\ Goto(c, IF tasks > held[c] THEN "more" ELSE "keep")
  /\ UNCHANGED <<Loads, queue, global, Mine>>
Keep(c) ==
  /\ pc[c] = "keep" /\ queue' = Add(queue, c, held[c])
  /\ Goto(c, "kept") /\ UNCHANGED <<Loads, Shared, Mine>>
Kept(c) ==                    \* [placement.2]
  /\ pc[c] \in {"kept", "thief"}
  /\ load' = Add(load, c, held[c]) /\ held' = [held EXCEPT ![c] = 0]
  /\ Goto(c, IF pc[c] = "kept" THEN "own" ELSE "run")
  /\ UNCHANGED <<blocking, queue, Shared, at, todo, left>>
Own(c) ==
  /\ pc[c] = "own"
  /\ IF queue[c] > 0
     THEN queue' = Add(queue, c, -1) /\ Goto(c, IF AtDequeue THEN "begin" ELSE "run")
          /\ UNCHANGED <<at, held>>
     ELSE \/ \E v \in Carriers \ {c} :
               /\ queue[v] > 0 /\ queue' = Add(queue, v, -1)
               /\ at' = [at EXCEPT ![c] = v] /\ held' = [held EXCEPT ![c] = 1]
               /\ Goto(c, "stolen")
          \/ Goto(c, "rest") /\ UNCHANGED <<queue, at, held>>
  /\ UNCHANGED <<Loads, Shared, todo, left>>
Less(c) ==                    \* [placement.2] a task begins, or ends
  /\ pc[c] \in {"begin", "run"}
  /\ load' = IF pc[c] = "run" /\ AtDequeue THEN load ELSE Add(load, c, -1)
  /\ Goto(c, IF pc[c] = "begin" THEN "run" ELSE "look")
  /\ UNCHANGED <<blocking, queue, Shared, Mine>>
Rest(c) ==                    \* [carrier.6] [placement.6] parked: a carrier looks at both queues before it sleeps
  /\ pc[c] = "rest"
  /\ Goto(c, IF tasks > 0 \/ queue[c] > 0 THEN "look" ELSE "idle")
  /\ UNCHANGED <<Loads, queue, Shared, Mine>>

(* A task that is to block, and has blocked. *)
Mark(c) ==                    \* [placement.3]
  /\ pc[c] = "run"
  /\ left > 0
  /\ left' = left - 1
  /\ blocking' = [blocking EXCEPT ![c] = TRUE]
  /\ Goto(c, "hand")
  /\ UNCHANGED <<load, queue, Shared, at, held, todo>>
Unmark(c) ==                  \* [placement.4]
  /\ pc[c] = "blocked" /\ blocking' = [blocking EXCEPT ![c] = FALSE]
  /\ Goto(c, "run") /\ UNCHANGED <<load, queue, Shared, Mine>>
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
\* Each task is counted once, where it is queued or runs, and so are global tasks.
CounterBalance ==
  /\ \A c \in Carriers : load[c] =
       queue[c] + (IF pc[c] \in Runs \cup Moves /\ ~AtDequeue THEN 1 ELSE 0)
       - Cardinality(Of({"tell", "count"}, c)) - Sum(Of({"kept"}, c))
       + Sum(Of({"subtract", "stolen"}, c)) + Cardinality(Of({"begin"}, c))
  /\ tasks = global - Sum(In({"spill"})) + Sum(In({"untask"}))
\* No task is left in the queue of a carrier that blocks, unless somebody is about to move it.
BlockingNeverTargeted ==
  \A c \in Carriers : blocking[c] /\ queue[c] > 0 => Of({"tell", "count", "hand"}, c) # {}
\* No carrier is idle while there are global tasks, unless somebody is about to look or to wake one.
NoStrandedGlobal == global > 0 /\ In({"idle"}) # {} =>
  In({"spill", "wake", "woken", "look", "untask", "more"}) # {}
\* Each task is run.
AllRun == <>[](queue = [c \in Carriers |-> 0] /\ global = 0 /\ In({"idle"}) = Carriers)
=============================================================================
