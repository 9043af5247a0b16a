------------------------------ MODULE Strategy ------------------------------
(***************************************************************************)
(* Something produces tasks, by one thread at a time, and a strategy       *)
(* decides who runs each: the producer itself; another thread; or the      *)
(* producer, when another thread has been started to produce meanwhile.    *)
(* Code       kernel/pool/strategy.h, strategy.c:                          *)
(*            [strategy.1]..[strategy.9]; nonblocking_tag.c.               *)
(* Abstracts  the pool to workers that take started runs in any order; what*)
(*            is produced to a count; the modes to choices: produce-consume*)
(*            never starts anybody, execute-produce-consume always does.   *)
(*            A task ends well or fails: the same step.                    *)
(* Memory     sequential consistency, which the word's read-modify-writes  *)
(*            earn: a demand is one, too, where it changes nothing.        *)
(* Promises   SingleProducer, NoLostProduction, PendingAccounting,         *)
(*            EpcRequiresSuccessor, RejectionIsReported, StarterHasLeft,   *)
(*            NonBlockingRespected, ExceptionDoesNotChangeRole (safety);   *)
(*            ProductionBegins (liveness).                                 *)
(* TLC alone  NonBlockingRespected: the tag is a thread's own variable,    *)
(*            which the explorer does not have; the twin                   *)
(*            strategy_tag_ignored is killed on real threads               *)
(*            (tests/pool/test_strategy.py).                               *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Callers,   \* each makes one event and asks for production: produce, or dispatch
  Tagged,    \* those of them that must not block
  Workers,   \* of the pool
  Kinds,     \* of the tasks
  Refusals   \* of the pool: dispatches and tasks; a producer's start it may always refuse

VARIABLES
  state,     \* "IDLE", "PRODUCING", "REPRODUCING": once more, somebody has asked
  pending,   \* the same word: starts that were counted, less runs that have begun, or were refused
  items,     \* what can be produced
  starts,    \* accepted by the pool, and nobody has taken them
  pc,
  kind,      \* of the task in its hands
  alone,     \* ghost: somebody left production, and nobody was to follow
  left       \* refusals
vars == <<state, pending, items, starts, pc, kind, alone, left>>

Threads == Callers \cup Workers
Producing == {"produce", "null", "select", "leave", "inline", "execute"}
TypeOK ==
  /\ state \in {"IDLE", "PRODUCING", "REPRODUCING"}
  /\ pending \in -Cardinality(Threads) .. 2 * Cardinality(Threads)
  /\ items \in 0 .. Cardinality(Callers) /\ starts \in 0 .. 2 * Cardinality(Threads)
  /\ pc \in [Threads -> Producing \cup {"event", "dispatch", "starting", "count", "call", "done",
                                        "free", "run", "start", "back", "blocking", "after"}]
  /\ kind \in [Threads -> Kinds \cup {"none"}] /\ alone \in BOOLEAN /\ left \in 0 .. Refusals

Init ==
  /\ state = "IDLE" /\ pending = 0 /\ items = 0 /\ starts = 0
  /\ pc = [t \in Threads |-> IF t \in Callers THEN "event" ELSE "free"]
  /\ kind = [t \in Threads |-> "none"] /\ alone = FALSE /\ left = Refusals

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Home(t) == IF t \in Callers THEN "done" ELSE "free"
Mine == <<kind, alone>>

Event(c) ==                   \* then it asks: in its own thread, or not
  /\ c \in Callers /\ pc[c] = "event"
  /\ items' = items + 1
  /\ Goto(c, "call") \/ Goto(c, "dispatch")
  /\ UNCHANGED <<state, pending, starts, Mine, left>>

(* A demand; or the caller starts somebody. *)
Dispatch(c) ==                \* [strategy.1] [strategy.7]
  /\ pc[c] = "dispatch"
  /\ state' = IF state = "PRODUCING" THEN "REPRODUCING" ELSE state
  /\ Goto(c, IF state = "IDLE" /\ pending <= 0 THEN "starting" ELSE "done")
  /\ UNCHANGED <<pending, items, starts, Mine, left>>
Start(c) ==                   \* the pool takes it, or says no, and the caller comes again
  /\ pc[c] = "starting"
  /\ \/ starts' = starts + 1 /\ Goto(c, "count") /\ UNCHANGED left
     \/ left > 0 /\ left' = left - 1 /\ Goto(c, "dispatch") /\ UNCHANGED starts
  /\ UNCHANGED <<state, pending, items, Mine>>
Count(c) ==                   \* [strategy.2] it may have run meanwhile
  /\ pc[c] = "count" /\ Goto(c, "done")
  /\ pending' = pending + 1
  /\ UNCHANGED <<state, items, starts, Mine, left>>

(* Whoever wants to produce: [strategy.3] it does, or [strategy.1] asks who does. *)
Enter(t, else) ==
  /\ state' = IF state = "IDLE" THEN "PRODUCING" ELSE "REPRODUCING"
  /\ Goto(t, IF state = "IDLE" THEN "produce" ELSE else)
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
  /\ pending' = pending - 1
  /\ UNCHANGED <<items, starts, Mine, left>>

(* Who produces. *)
Produce(t) ==
  /\ pc[t] = "produce"
  /\ IF items = 0 THEN Goto(t, "null") /\ UNCHANGED <<items, kind>>
     ELSE /\ items' = items - 1
          /\ \E k \in Kinds : kind' = [kind EXCEPT ![t] = k]
          /\ Goto(t, "select")
  /\ UNCHANGED <<state, pending, starts, alone, left>>
Null(t) ==                    \* once more [strategy.4], or leave [strategy.6]
  /\ pc[t] = "null"
  /\ IF state = "REPRODUCING"
     THEN state' = "PRODUCING" /\ Goto(t, "produce")
     ELSE state' = "IDLE" /\ Goto(t, Home(t))
  /\ UNCHANGED <<pending, items, starts, Mine, left>>
Otherwise(t) ==               \* nobody else produces: a tagged thread must not block
  IF kind[t] = "BLOCKING" THEN "execute" ELSE "inline"
Select(t) ==                  \* Otherwise is also what other modes do
  /\ pc[t] = "select"
  /\ \/ Goto(t, Otherwise(t))
     \/ /\ kind[t] # "NON_BLOCKING"
        /\ t \notin Tagged
        /\ Goto(t, "leave")
  /\ UNCHANGED <<state, pending, items, starts, Mine, left>>
Starters == {t \in Threads : pc[t] \in {"start", "back"}}
Runs == {w \in Workers : pc[w] = "run"}
IsToCome == starts > 0 \/ Runs # {}
Follows(t) == IsToCome \/ Starters \ {t} # {}
Leave(t) ==                   \* [strategy.5] who was started follows; or it counts one, and starts it then
  /\ pc[t] = "leave"
  /\ state' = "IDLE"
  /\ IF pending > 0
     THEN Goto(t, "blocking") /\ UNCHANGED pending /\ alone' = (alone \/ ~Follows(t))
     ELSE Goto(t, "start") /\ pending' = pending + 1 /\ UNCHANGED alone
  /\ UNCHANGED <<items, starts, kind, left>>
Successor(t) ==               \* the pool has a thread for it, or not
  /\ pc[t] = "start"
  /\ \/ starts' = starts + 1 /\ Goto(t, "blocking")
     \/ Goto(t, "back") /\ UNCHANGED starts
  /\ UNCHANGED <<state, pending, items, Mine, left>>
Back(t) ==                    \* [strategy.8] it produces on; [strategy.9] unless somebody does, or is to come
  /\ pc[t] = "back"
  /\ pending' = pending - 1
  /\ IF state = "IDLE" /\ pending <= 1
     THEN state' = "PRODUCING" /\ Goto(t, Otherwise(t)) /\ UNCHANGED alone
     ELSE /\ Goto(t, "blocking") /\ UNCHANGED state
          /\ alone' = (alone \/ (state = "IDLE" /\ ~Follows(t)))
  /\ UNCHANGED <<items, starts, kind, left>>
Serve(t) ==                   \* it runs the task; or the pool does, or refuses it, which is reported
  /\ pc[t] \in {"inline", "execute"} /\ Goto(t, "produce")
  /\ UNCHANGED left \/ (pc[t] = "execute" /\ left > 0 /\ left' = left - 1)
  /\ UNCHANGED <<state, pending, items, starts, Mine>>
Ends(t) ==                    \* the task that may have blocked
  /\ pc[t] = "blocking"
  /\ Goto(t, "after")
  /\ UNCHANGED <<state, pending, items, starts, Mine, left>>
After(t) ==                   \* [strategy.3], unless somebody produces
  /\ pc[t] = "after"
  /\ IF state = "IDLE" THEN state' = "PRODUCING" /\ Goto(t, "produce")
     ELSE Goto(t, Home(t)) /\ UNCHANGED state
  /\ UNCHANGED <<pending, items, starts, Mine, left>>

Finished ==
  /\ \A c \in Callers : pc[c] = "done"
  /\ \A w \in Workers : pc[w] = "free"
  /\ starts = 0 /\ UNCHANGED vars
Step(t) ==
  \/ Event(t) \/ Dispatch(t) \/ Start(t) \/ Count(t) \/ Call(t) \/ Take(t) \/ Run(t)
  \/ Produce(t) \/ Null(t) \/ Select(t) \/ Leave(t) \/ Successor(t) \/ Back(t)
  \/ Serve(t) \/ Ends(t) \/ After(t)
Next == (\E t \in Threads : Step(t)) \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ \A t \in Threads : WF_vars(Step(t))

(* What must hold. *)
Producers == {t \in Threads : pc[t] \in Producing}
\* One thread at a time produces, and the word says whether one does.
SingleProducer == Cardinality(Producers) = IF state = "IDLE" THEN 0 ELSE 1
HasAsked == \A c \in Callers : pc[c] \notin {"dispatch", "call", "starting"}
\* What was asked for: somebody is to produce it, or looks once more.
NoLostProduction == items > 0 /\ HasAsked =>
    \/ state = "REPRODUCING" \/ IsToCome \/ \E t \in Producers : pc[t] # "null"
    \/ state = "IDLE" /\ Starters # {}            \* who was refused produces on
Uncounted == {c \in Callers : pc[c] = "count"}
\* Pending is the starts that were counted, a caller's once the pool has it, a producer's before,
\* less those that have come or were refused.
PendingAccounting ==
  pending = starts + Cardinality(Runs) + Cardinality(Starters) - Cardinality(Uncounted)
\* Nobody relies on a start that the pool refused; on a producer's, until that produces on.
RejectionIsReported == pending > 0 => IsToCome \/ Starters # {}
\* Who runs a task that may block after it has left production has somebody on the way, or another
\* produces.
EpcRequiresSuccessor == ~alone
\* Who starts somebody to produce on does not produce any more: whoever comes, however early, finds
\* it gone.
StarterHasLeft == [][starts' > starts => \A t \in Producers : pc'[t] = pc[t]]_vars
\* A thread that must not block runs no task that may.
NonBlockingRespected ==
  \A t \in Tagged : pc[t] \in {"inline", "blocking"} => kind[t] # "BLOCKING"
\* After its task, however that ended, a thread looks who produces.
ExceptionDoesNotChangeRole ==
  [][\A t \in Threads : pc[t] = "blocking" => pc'[t] \in {"blocking", "after"}]_vars
\* What was asked for is produced.
ProductionBegins == items > 0 ~> items = 0
=============================================================================
