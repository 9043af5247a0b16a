------------------------------ MODULE Strategy ------------------------------
(***************************************************************************)
(* One thread at a time produces tasks, and a strategy decides which       *)
(* thread runs each task. It may be the producer itself (Jetty's           *)
(* produce-consume), another thread of the pool (produce-execute-consume), *)
(* or the producer after it has started another thread that produces       *)
(* meanwhile (execute-produce-consume).                                    *)
(*                                                                         *)
(* Code       kernel/pool/strategy.h, strategy.c:                          *)
(*            [strategy.1]..[strategy.9]; nonblocking_tag.c.               *)
(* Abstracts  the pool to workers that take started runs in any order;     *)
(*            what is produced to a count; the modes of the strategy to    *)
(*            choices: produce-consume never starts a thread, and          *)
(*            execute-produce-consume always does. A task succeeds or      *)
(*            fails in the same step.                                      *)
(* Memory     sequential consistency, which the read-modify-writes of the  *)
(*            word earn: a demand is one, too, even if it does not change  *)
(*            the word.                                                    *)
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
  Callers,   \* each makes one event and demands production: it produces in its own thread, or
             \* dispatches
  Tagged,    \* the callers that must not block
  Workers,   \* the workers of the pool
  Kinds,     \* the kinds of tasks
  Refusals   \* the number of dispatches and tasks that the pool may refuse; it may always refuse a
             \* producer's start

VARIABLES
  state,    \* "IDLE", "PRODUCING", or "REPRODUCING" if the producer is to look once more because of
            \* a demand
  pending,  \* in the same word: the number of counted starts, minus the number of runs that have
            \* begun or were refused
  items,    \* the number of tasks that can be produced
  starts,   \* the number of starts that the pool has accepted and no worker has taken
  pc,       \* thread -> its next step
  kind,     \* thread -> the kind of the task that it has produced
  alone,    \* ghost: TRUE if a producer has left although no other thread was to follow it
  left      \* the refusals that are still to come

vars == <<state, pending, items, starts, pc, kind, alone, left>>

Threads == Callers \cup Workers
Producing == {"produce", "null", "select", "leave", "inline", "execute"}
TypeOK ==
  /\ state \in {"IDLE", "PRODUCING", "REPRODUCING"}
  /\ pending \in -Cardinality(Threads) .. 2 * Cardinality(Threads)
  /\ items \in 0 .. Cardinality(Callers)
  /\ starts \in 0 .. 2 * Cardinality(Threads)
  /\ pc \in [Threads -> Producing \cup {"event", "dispatch", "starting", "count", "call", "done",
                                        "free", "run", "start", "back", "blocking", "after"}]
  /\ kind \in [Threads -> Kinds \cup {"none"}]
  /\ alone \in BOOLEAN
  /\ left \in 0 .. Refusals

Init ==
  /\ state = "IDLE"
  /\ pending = 0
  /\ items = 0
  /\ starts = 0
  /\ pc = [t \in Threads |-> IF t \in Callers THEN "event" ELSE "free"]
  /\ kind = [t \in Threads |-> "none"]
  /\ alone = FALSE
  /\ left = Refusals

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Home(t) == IF t \in Callers THEN "done" ELSE "free"
Mine == <<kind, alone>>

\* An event comes, which adds a task. Then the caller demands production, in its own thread or by a
\* dispatch.
Event(c) ==
  /\ c \in Callers
  /\ pc[c] = "event"
  /\ items' = items + 1
  /\ Goto(c, "call") \/ Goto(c, "dispatch")
  /\ UNCHANGED <<state, pending, starts, Mine, left>>

(* A demand, or the start of a worker by the caller. *)

\* If there is a producer, it is told to look once more. If there is none, and none is on the way,
\* the caller starts a worker.
Dispatch(c) ==                \* [strategy.1] [strategy.7]
  /\ pc[c] = "dispatch"
  /\ state' = IF state = "PRODUCING" THEN "REPRODUCING" ELSE state
  /\ Goto(c, IF state = "IDLE" /\ pending <= 0 THEN "starting" ELSE "done")
  /\ UNCHANGED <<pending, items, starts, Mine, left>>

\* The pool accepts the start. Or it refuses the start, and the caller demands again.
Start(c) ==
  /\ pc[c] = "starting"
  /\ \/ starts' = starts + 1 /\ Goto(c, "count") /\ UNCHANGED left
     \/ left > 0 /\ left' = left - 1 /\ Goto(c, "dispatch") /\ UNCHANGED starts
  /\ UNCHANGED <<state, pending, items, Mine>>

\* The caller counts its start. The run may have begun meanwhile.
Count(c) ==                   \* [strategy.2]
  /\ pc[c] = "count"
  /\ Goto(c, "done")
  /\ pending' = pending + 1
  /\ UNCHANGED <<state, items, starts, Mine, left>>

(* A thread that wants to produce. It begins to produce [strategy.3], or tells the producer to look
   once more [strategy.1]. *)

\* If no other thread produces, thread t begins to produce.
Enter(t, else) ==
  /\ state' = IF state = "IDLE" THEN "PRODUCING" ELSE "REPRODUCING"
  /\ Goto(t, IF state = "IDLE" THEN "produce" ELSE else)

\* The caller wants to produce, in its own thread.
Call(c) ==
  /\ pc[c] = "call"
  /\ Enter(c, "done")
  /\ UNCHANGED <<pending, items, starts, Mine, left>>

\* A worker takes a start.
Take(w) ==
  /\ w \in Workers
  /\ pc[w] = "free"
  /\ starts > 0
  /\ starts' = starts - 1
  /\ Goto(w, "run")
  /\ UNCHANGED <<state, pending, items, Mine, left>>

\* The worker's run begins, and the worker wants to produce.
Run(w) ==
  /\ pc[w] = "run"
  /\ Enter(w, "free")
  /\ pending' = pending - 1
  /\ UNCHANGED <<items, starts, Mine, left>>

(* The producer. *)

\* The producer produces a task, or finds nothing to produce.
Produce(t) ==
  /\ pc[t] = "produce"
  /\ IF items = 0 THEN Goto(t, "null") /\ UNCHANGED <<items, kind>>
     ELSE /\ items' = items - 1
          /\ \E k \in Kinds : kind' = [kind EXCEPT ![t] = k]
          /\ Goto(t, "select")
  /\ UNCHANGED <<state, pending, starts, alone, left>>

\* The producer found nothing. It looks once more if there was a demand [strategy.4]; otherwise it
\* leaves [strategy.6].
Null(t) ==
  /\ pc[t] = "null"
  /\ IF state = "REPRODUCING"
     THEN state' = "PRODUCING" /\ Goto(t, "produce")
     ELSE state' = "IDLE" /\ Goto(t, Home(t))
  /\ UNCHANGED <<pending, items, starts, Mine, left>>

\* The next step if no other thread is to produce. A task that may block goes to the pool, because a
\* tagged thread must not block. Any other task is run by the producer.
Otherwise(t) ==
  IF kind[t] = "BLOCKING" THEN "execute" ELSE "inline"

\* The producer decides. It leaves production to run the task, or it does what Otherwise says. The
\* other modes always do the latter.
Select(t) ==
  /\ pc[t] = "select"
  /\ \/ Goto(t, Otherwise(t))
     \/ /\ kind[t] # "NON_BLOCKING"
        /\ t \notin Tagged
        /\ Goto(t, "leave")
  /\ UNCHANGED <<state, pending, items, starts, Mine, left>>

Starters == {t \in Threads : pc[t] \in {"start", "back"}}
Runs == {w \in Workers : pc[w] = "run"}
IsToCome == starts > 0 \/ Runs # {}

\* TRUE if another thread is to produce next.
Follows(t) == IsToCome \/ Starters \ {t} # {}

\* The producer leaves production. If a worker was started, it follows the producer. Otherwise the
\* producer counts a start, and then starts a worker.
Leave(t) ==                   \* [strategy.5]
  /\ pc[t] = "leave"
  /\ state' = "IDLE"
  /\ IF pending > 0
     THEN Goto(t, "blocking") /\ UNCHANGED pending /\ alone' = (alone \/ ~Follows(t))
     ELSE Goto(t, "start") /\ pending' = pending + 1 /\ UNCHANGED alone
  /\ UNCHANGED <<items, starts, kind, left>>

\* The pool accepts the start, or refuses it because it has no thread.
Successor(t) ==
  /\ pc[t] = "start"
  /\ \/ starts' = starts + 1 /\ Goto(t, "blocking")
     \/ Goto(t, "back") /\ UNCHANGED starts
  /\ UNCHANGED <<state, pending, items, Mine, left>>

\* The producer whose start was refused takes it off the count and produces again [strategy.8],
\* unless another thread produces or is on the way [strategy.9].
Back(t) ==
  /\ pc[t] = "back"
  /\ pending' = pending - 1
  /\ IF state = "IDLE" /\ pending <= 1
     THEN state' = "PRODUCING" /\ Goto(t, Otherwise(t)) /\ UNCHANGED alone
     ELSE /\ Goto(t, "blocking") /\ UNCHANGED state
          /\ alone' = (alone \/ (state = "IDLE" /\ ~Follows(t)))
  /\ UNCHANGED <<items, starts, kind, left>>

\* The producer runs the task. Or the pool runs it, or refuses it, and the refusal is reported.
Serve(t) ==
  /\ pc[t] \in {"inline", "execute"}
  /\ Goto(t, "produce")
  /\ UNCHANGED left \/ (pc[t] = "execute" /\ left > 0 /\ left' = left - 1)
  /\ UNCHANGED <<state, pending, items, starts, Mine>>

\* The task that may have blocked has ended.
Ends(t) ==
  /\ pc[t] = "blocking"
  /\ Goto(t, "after")
  /\ UNCHANGED <<state, pending, items, starts, Mine, left>>

\* The thread begins to produce again, unless another thread produces.
After(t) ==                   \* [strategy.3]
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
  \/ Produce(t) \/ Null(t) \/ Select(t) \/ Leave(t) \/ Successor(t) \/ Back(t)
  \/ Serve(t) \/ Ends(t) \/ After(t)

Next == (\E t \in Threads : Step(t)) \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ \A t \in Threads : WF_vars(Step(t))

(* What must hold. *)
Producers == {t \in Threads : pc[t] \in Producing}

\* At most one thread produces, and the word says whether any thread does.
SingleProducer == Cardinality(Producers) = IF state = "IDLE" THEN 0 ELSE 1

\* TRUE if every caller has made its demand.
HasAsked == \A c \in Callers : pc[c] \notin {"dispatch", "call", "starting"}

\* If there are tasks to produce and all demands have been made, some thread is about to produce, or
\* will look once more.
NoLostProduction == items > 0 /\ HasAsked =>
    \/ state = "REPRODUCING" \/ IsToCome \/ \E t \in Producers : pc[t] # "null"
    \/ state = "IDLE" /\ Starters # {}            \* a refused starter produces on

\* The callers whose starts the pool has accepted, and which have not counted them yet.
Uncounted == {c \in Callers : pc[c] = "count"}

\* `pending` is the number of counted starts that have neither begun nor been refused. A caller
\* counts its start after the pool has accepted it, and a producer counts its start before.
PendingAccounting ==
  pending = starts + Cardinality(Runs) + Cardinality(Starters) - Cardinality(Uncounted)

\* No thread relies on a start that the pool has refused. Until the refused producer takes its start
\* off the count, that start counts as one to come, because this producer will then produce.
RejectionIsReported == pending > 0 => IsToCome \/ Starters # {}

\* When a thread has left production to run a task that may block, another thread produces or is on
\* the way.
EpcRequiresSuccessor == ~alone

\* A thread that starts a successor no longer produces. So the successor finds that the starter has
\* left, however early the successor comes.
StarterHasLeft == [][starts' > starts => \A t \in Producers : pc'[t] = pc[t]]_vars
\* A thread that must not block runs no task that may block.
NonBlockingRespected ==
  \A t \in Tagged : pc[t] \in {"inline", "blocking"} => kind[t] # "BLOCKING"

\* After its task, whether the task succeeded or failed, a thread goes on to check whether another
\* thread produces.
ExceptionDoesNotChangeRole ==
  [][\A t \in Threads : pc[t] = "blocking" => pc'[t] \in {"blocking", "after"}]_vars

\* Once there are tasks, they are eventually produced.
ProductionBegins == items > 0 ~> items = 0
=============================================================================
