------------------------------ MODULE Strategy ------------------------------
(***************************************************************************)
(* Something produces tasks, by one thread at a time, and a strategy       *)
(* decides who runs each: the producer itself; another thread; or the      *)
(* producer, when another thread has been started to produce meanwhile.    *)
(* Code       kernel/strategy.h, strategy.c: [Z1]..[Z6].                   *)
(* Abstracts  the pool to workers that take started runs in any order; what*)
(*            is produced to a count; the modes to choices: produce-consume*)
(*            never starts anybody, execute-produce-consume always does.   *)
(*            A task ends well or fails: the same step.                    *)
(* Memory     sequential consistency, which the word's read-modify-writes  *)
(*            earn: a demand is one, too, where it changes nothing.        *)
(* Promises   SingleProducer, NoLostProduction, PendingAccounting,         *)
(*            EpcRequiresSuccessor, RejectionIsReported,                   *)
(*            NonBlockingRespected, ExceptionDoesNotChangeRole (safety);   *)
(*            ProductionBegins (liveness).                                 *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Callers,   \* each makes one event and asks for production: produce, or dispatch
  Tagged,    \* those of them that must not block
  Workers,   \* of the pool
  Kinds,     \* of the tasks
  Refusals,  \* how many starts and tasks the pool may refuse
  Twin       \* "none", or the one defect of this model

VARIABLES
  state,     \* "IDLE", "PRODUCING", "REPRODUCING": once more, somebody has asked
  pending,   \* the same word: starts that were counted, less runs that have begun
  items,     \* what can be produced
  starts,    \* accepted by the pool, and nobody has taken them
  pc,
  kind,      \* of the task in its hands
  held,      \* it has started somebody and has not counted that: 0 or 1
  alone,     \* ghost: somebody left production, and nobody was to follow
  left       \* refusals
vars == <<state, pending, items, starts, pc, kind, held, alone, left>>

Threads == Callers \cup Workers
Producing == {"produce", "null", "select", "hand", "inline", "execute"}
States == {"IDLE", "PRODUCING", "REPRODUCING"}
TypeOK ==
  /\ state \in States /\ pending \in -Cardinality(Threads) .. 2 * Cardinality(Threads)
  /\ items \in 0 .. Cardinality(Callers) /\ starts \in 0 .. 2 * Cardinality(Threads)
  /\ pc \in [Threads -> Producing \cup {"event", "dispatch", "starting", "count", "call", "done",
                                        "free", "run", "blocking", "after"}]
  /\ kind \in [Threads -> Kinds \cup {"none"}] /\ held \in [Threads -> {0, 1}]
  /\ alone \in BOOLEAN /\ left \in 0 .. Refusals

Init ==
  /\ state = "IDLE" /\ pending = 0 /\ items = 0 /\ starts = 0
  /\ pc = [t \in Threads |-> IF t \in Callers THEN "event" ELSE "free"]
  /\ kind = [t \in Threads |-> "none"] /\ held = [t \in Threads |-> 0]
  /\ alone = FALSE /\ left = Refusals

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Home(t) == IF t \in Callers THEN "done" ELSE "free"
Mine == <<kind, held, alone>>

Event(c) ==                   \* then it asks: in its own thread, or not
  /\ c \in Callers /\ pc[c] = "event"
  /\ items' = items + 1
  /\ Goto(c, "call") \/ Goto(c, "dispatch")
  /\ UNCHANGED <<state, pending, starts, Mine, left>>

(* A demand; or the caller starts somebody. *)
Dispatch(c) ==                \* [Z1] [Z7]
  /\ pc[c] = "dispatch"
  /\ state' = IF state = "PRODUCING" /\ Twin # "demand_dropped" THEN "REPRODUCING" ELSE state
  /\ IF state = "IDLE" /\ pending <= 0
     THEN /\ Goto(c, "starting")
          /\ pending' = IF Twin = "count_first" THEN pending + 1 ELSE pending
     ELSE Goto(c, "done") /\ UNCHANGED pending
  /\ UNCHANGED <<items, starts, Mine, left>>
Start(c) ==                   \* the pool takes it, or says no, and the caller comes again
  /\ pc[c] = "starting"
  /\ \/ /\ starts' = starts + 1 /\ UNCHANGED left
        /\ Goto(c, IF Twin = "count_first" THEN "done" ELSE "count")
     \/ left > 0 /\ left' = left - 1 /\ Goto(c, "dispatch") /\ UNCHANGED starts
  /\ UNCHANGED <<state, pending, items, Mine>>
Count(c) ==                   \* [Z2] it may have run meanwhile
  /\ pc[c] = "count"
  /\ pending' = pending + 1
  /\ Goto(c, "done")
  /\ UNCHANGED <<state, items, starts, Mine, left>>

(* Whoever wants to produce: [Z3] it does, or [Z1] asks who does. *)
Enter(t, else) ==
  /\ state' = IF state = "IDLE" THEN "PRODUCING" ELSE "REPRODUCING"
  /\ Goto(t, IF state = "IDLE" \/ Twin = "no_state" THEN "produce" ELSE else)
Call(c) ==
  /\ pc[c] = "call"
  /\ Enter(c, "done")
  /\ UNCHANGED <<pending, items, starts, Mine, left>>
Take(w) ==
  /\ w \in Workers /\ pc[w] = "free" /\ starts > 0
  /\ starts' = starts - 1
  /\ Goto(w, "run")
  /\ UNCHANGED <<state, pending, items, Mine, left>>
Run(w) ==
  /\ pc[w] = "run"
  /\ Enter(w, "free")
  /\ pending' = IF Twin = "run_uncounted" THEN pending ELSE pending - 1
  /\ UNCHANGED <<items, starts, Mine, left>>

(* Who produces. *)
Produce(t) ==
  /\ pc[t] = "produce"
  /\ IF items = 0 THEN Goto(t, "null") /\ UNCHANGED <<items, kind>>
     ELSE /\ items' = items - 1
          /\ \E k \in Kinds : kind' = [kind EXCEPT ![t] = k]
          /\ Goto(t, "select")
  /\ UNCHANGED <<state, pending, starts, held, alone, left>>
Null(t) ==                    \* once more [Z4], or leave [Z6]
  /\ pc[t] = "null"
  /\ IF state = "REPRODUCING" /\ Twin \notin {"null_leaves", "null_stops"}
     THEN state' = "PRODUCING" /\ Goto(t, "produce")
     ELSE /\ state' = (IF Twin \in {"null_keeps", "null_stops"} THEN state ELSE "IDLE")
          /\ Goto(t, Home(t))
  /\ UNCHANGED <<pending, items, starts, Mine, left>>
Otherwise(t) ==               \* nobody else produces: a tagged thread must not block
  IF kind[t] = "BLOCKING" THEN "execute" ELSE "inline"
Select(t) ==
  /\ pc[t] = "select"
  /\ \/ /\ kind[t] = "NON_BLOCKING" \/ (t \in Tagged /\ Twin # "tag_ignored")
        /\ Goto(t, Otherwise(t)) /\ UNCHANGED <<starts, held>>
     \/ /\ kind[t] # "NON_BLOCKING" /\ (t \notin Tagged \/ Twin = "tag_ignored")
        /\ \/ Goto(t, Otherwise(t)) /\ UNCHANGED <<starts, held>>      \* nobody to be had
           \/ pending > 0 /\ Goto(t, "hand") /\ UNCHANGED <<starts, held>>
           \/ /\ starts' = starts + 1 /\ held' = [held EXCEPT ![t] = 1]
              /\ Goto(t, "hand")
           \/ Twin = "hands_alone" /\ Goto(t, "hand") /\ UNCHANGED <<starts, held>>
  /\ UNCHANGED <<state, pending, items, kind, alone, left>>
IsToCome == starts > 0 \/ \E w \in Workers : pc[w] = "run"
Hand(t) ==                    \* [Z5] to whoever was started, unless that has come and gone
  /\ pc[t] = "hand"
  /\ pending' = pending + held[t] /\ held' = [held EXCEPT ![t] = 0]
  /\ IF pending + held[t] > 0 \/ Twin = "hands_alone"
     THEN state' = "IDLE" /\ Goto(t, "blocking") /\ alone' = (alone \/ ~IsToCome)
     ELSE Goto(t, Otherwise(t)) /\ UNCHANGED <<state, alone>>
  /\ UNCHANGED <<items, starts, kind, left>>
Inline(t) ==
  /\ pc[t] = "inline"
  /\ Goto(t, "produce")
  /\ UNCHANGED <<state, pending, items, starts, Mine, left>>
Execute(t) ==                 \* the pool runs it; or refuses it, and it is reported
  /\ pc[t] = "execute"
  /\ UNCHANGED left \/ (left > 0 /\ left' = left - 1)
  /\ Goto(t, "produce")
  /\ UNCHANGED <<state, pending, items, starts, Mine>>
Ends(t) ==                    \* the task that may have blocked
  /\ pc[t] = "blocking"
  /\ \/ Goto(t, "after")
     \/ Twin = "failure_keeps" /\ Goto(t, "produce")
     \/ Twin = "failure_leaves" /\ Goto(t, Home(t))
  /\ UNCHANGED <<state, pending, items, starts, Mine, left>>
After(t) ==                   \* [Z3], unless somebody produces
  /\ pc[t] = "after"
  /\ IF state = "IDLE" THEN state' = "PRODUCING" /\ Goto(t, "produce")
     ELSE Goto(t, Home(t)) /\ UNCHANGED state
  /\ UNCHANGED <<pending, items, starts, Mine, left>>

Finished ==
  /\ \A c \in Callers : pc[c] = "done"
  /\ \A w \in Workers : pc[w] = "free"
  /\ starts = 0
  /\ UNCHANGED vars
Step(t) ==
  \/ Event(t) \/ Dispatch(t) \/ Start(t) \/ Count(t) \/ Call(t) \/ Take(t) \/ Run(t)
  \/ Produce(t) \/ Null(t) \/ Select(t) \/ Hand(t) \/ Inline(t) \/ Execute(t) \/ Ends(t) \/ After(t)
Next == (\E t \in Threads : Step(t)) \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ \A t \in Threads : WF_vars(Step(t))

(* What must hold. *)
Producers == {t \in Threads : pc[t] \in Producing}
SingleProducer == Cardinality(Producers) = IF state = "IDLE" THEN 0 ELSE 1
HasAsked == \A c \in Callers : pc[c] \notin {"dispatch", "call", "starting"}
NoLostProduction ==
  items > 0 /\ HasAsked =>
    state = "REPRODUCING" \/ IsToCome \/ \E t \in Producers : pc[t] # "null"
Uncounted == {c \in Callers : pc[c] = "count"}
Runs == {w \in Workers : pc[w] = "run"}
Helds == {t \in Threads : held[t] = 1}
PendingAccounting ==
  pending = starts + Cardinality(Runs) - Cardinality(Uncounted) - Cardinality(Helds)
RejectionIsReported == pending > 0 => IsToCome
EpcRequiresSuccessor == ~alone
NonBlockingRespected ==
  \A t \in Tagged : pc[t] \in {"inline", "blocking"} => kind[t] # "BLOCKING"
ExceptionDoesNotChangeRole ==
  [][\A t \in Threads : pc[t] = "blocking" => pc'[t] \in {"blocking", "after"}]_vars
ProductionBegins == items > 0 ~> items = 0
=============================================================================
Results: MCStrategy 32,507 states, depth 29; MCStrategyLive 18,876 (24);
         MCStrategyFull 1,524,031 (41).
