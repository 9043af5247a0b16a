------------------------------ MODULE Strategy ------------------------------
(***************************************************************************)
(* Tasks are produced by one thread at a time, and a strategy decides      *)
(* which thread runs each task: the producer itself; another thread; or    *)
(* the producer, after another thread was started to produce meanwhile.    *)
(* These are Jetty's produce-consume, produce-execute-consume and          *)
(* execute-produce-consume strategies.                                     *)
(* Code       kernel/pool/strategy.h, strategy.c:                          *)
(*            [strategy.1]..[strategy.9]; nonblocking_tag.c.               *)
(* Abstracts  the pool to workers that take started runs in any order; the *)
(*            product to a count; the modes to choices: produce-consume    *)
(*            never starts a thread, execute-produce-consume always does.  *)
(*            A task ends well or fails in the same step.                  *)
(* Memory     sequential consistency, which the word's read-modify-writes  *)
(*            earn: a demand is one, too, even where it changes nothing.   *)
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
  Callers,   \* each makes one event and demands production: it produces, or dispatches
  Tagged,    \* callers that must not block
  Workers,   \* workers of the pool
  Kinds,     \* kinds of tasks
  Refusals   \* how many dispatches and tasks the pool may refuse; it may always refuse a producer's
             \* start

VARIABLES
  state,    \* "IDLE", "PRODUCING"; "REPRODUCING": the producer is to look once more, because of a
            \* demand
  pending,  \* in the same word: counted starts, less runs that have begun or were refused
  items,    \* what can be produced
  starts,   \* starts that the pool has accepted and no worker has taken
  pc,       \* thread -> its next step
  kind,     \* thread -> the kind of the task in its hands
  alone,    \* ghost: a producer has left although no other thread was to follow
  left      \* refusals that are still to come

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

\* An event comes; then the caller demands production, in its own thread or by a dispatch.
Event(c) ==
  /\ c \in Callers
  /\ pc[c] = "event"
  /\ items' = items + 1
  /\ Goto(c, "call") \/ Goto(c, "dispatch")
  /\ UNCHANGED <<state, pending, starts, Mine, left>>

(* A demand, or the start of a worker by the caller. *)

\* A producer, if there is one, is to look once more. If there is none, and none is on the way, the
\* caller starts a worker.
Dispatch(c) ==                \* [strategy.1] [strategy.7]
  /\ pc[c] = "dispatch"
  /\ state' = IF state = "PRODUCING" THEN "REPRODUCING" ELSE state
  /\ Goto(c, IF state = "IDLE" /\ pending <= 0 THEN "starting" ELSE "done")
  /\ UNCHANGED <<pending, items, starts, Mine, left>>

\* The pool accepts the start, or refuses it, and the caller comes again.
Start(c) ==
  /\ pc[c] = "starting"
  /\ \/ starts' = starts + 1 /\ Goto(c, "count") /\ UNCHANGED left
     \/ left > 0 /\ left' = left - 1 /\ Goto(c, "dispatch") /\ UNCHANGED starts
  /\ UNCHANGED <<state, pending, items, Mine>>

\* The caller counts its start, which may have run meanwhile.
Count(c) ==                   \* [strategy.2]
  /\ pc[c] = "count"
  /\ Goto(c, "done")
  /\ pending' = pending + 1
  /\ UNCHANGED <<state, items, starts, Mine, left>>

(* A thread that wants to produce: [strategy.3] it begins to, or [strategy.1] it has the producer look
   once more. *)

\* The thread produces if no other thread does.
Enter(t, else) ==
  /\ state' = IF state = "IDLE" THEN "PRODUCING" ELSE "REPRODUCING"
  /\ Goto(t, IF state = "IDLE" THEN "produce" ELSE else)

\* The caller produces in its own thread.
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

\* The worker's run begins.
Run(w) ==
  /\ pc[w] = "run"
  /\ Enter(w, "free")
  /\ pending' = pending - 1
  /\ UNCHANGED <<items, starts, Mine, left>>

(* The producer. *)

\* The producer produces a task, or finds nothing.
Produce(t) ==
  /\ pc[t] = "produce"
  /\ IF items = 0 THEN Goto(t, "null") /\ UNCHANGED <<items, kind>>
     ELSE /\ items' = items - 1
          /\ \E k \in Kinds : kind' = [kind EXCEPT ![t] = k]
          /\ Goto(t, "select")
  /\ UNCHANGED <<state, pending, starts, alone, left>>

\* The producer found nothing: it looks once more [strategy.4], or leaves [strategy.6].
Null(t) ==
  /\ pc[t] = "null"
  /\ IF state = "REPRODUCING"
     THEN state' = "PRODUCING" /\ Goto(t, "produce")
     ELSE state' = "IDLE" /\ Goto(t, Home(t))
  /\ UNCHANGED <<pending, items, starts, Mine, left>>

\* No other thread is to produce: a task that may block goes to the pool, because a tagged thread
\* must not block; another task is run by the producer.
Otherwise(t) ==
  IF kind[t] = "BLOCKING" THEN "execute" ELSE "inline"

\* The producer leaves production to run the task, or goes on as Otherwise, which is also what the
\* other modes do.
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

\* Another thread is to produce next.
Follows(t) == IsToCome \/ Starters \ {t} # {}

\* The producer leaves production. A worker that was started follows it; otherwise the producer
\* counts a start, and starts a worker then.
Leave(t) ==                   \* [strategy.5]
  /\ pc[t] = "leave"
  /\ state' = "IDLE"
  /\ IF pending > 0
     THEN Goto(t, "blocking") /\ UNCHANGED pending /\ alone' = (alone \/ ~Follows(t))
     ELSE Goto(t, "start") /\ pending' = pending + 1 /\ UNCHANGED alone
  /\ UNCHANGED <<items, starts, kind, left>>

\* The pool accepts the start, or has no thread for it.
Successor(t) ==
  /\ pc[t] = "start"
  /\ \/ starts' = starts + 1 /\ Goto(t, "blocking")
     \/ Goto(t, "back") /\ UNCHANGED starts
  /\ UNCHANGED <<state, pending, items, Mine, left>>

\* [strategy.8] The refused producer produces on, [strategy.9] unless another thread does, or is on
\* the way.
Back(t) ==
  /\ pc[t] = "back"
  /\ pending' = pending - 1
  /\ IF state = "IDLE" /\ pending <= 1
     THEN state' = "PRODUCING" /\ Goto(t, Otherwise(t)) /\ UNCHANGED alone
     ELSE /\ Goto(t, "blocking") /\ UNCHANGED state
          /\ alone' = (alone \/ (state = "IDLE" /\ ~Follows(t)))
  /\ UNCHANGED <<items, starts, kind, left>>

\* The producer runs the task; or the pool does, or refuses it, and that is reported.
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

\* The thread produces again, unless another thread does.
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

\* One thread at a time produces, and the word says whether any thread does.
SingleProducer == Cardinality(Producers) = IF state = "IDLE" THEN 0 ELSE 1

\* Every caller has made its demand.
HasAsked == \A c \in Callers : pc[c] \notin {"dispatch", "call", "starting"}

\* After a demand some thread is to produce, or looks once more.
NoLostProduction == items > 0 /\ HasAsked =>
    \/ state = "REPRODUCING" \/ IsToCome \/ \E t \in Producers : pc[t] # "null"
    \/ state = "IDLE" /\ Starters # {}            \* a refused starter produces on

\* The callers that have not yet counted their start.
Uncounted == {c \in Callers : pc[c] = "count"}

\* `pending` counts the starts, a caller's once the pool has it, a producer's before, less those
\* that have begun or were refused.
PendingAccounting ==
  pending = starts + Cardinality(Runs) + Cardinality(Starters) - Cardinality(Uncounted)

\* No thread relies on a start that the pool refused; on a producer's start, only until that
\* producer goes on to produce.
RejectionIsReported == pending > 0 => IsToCome \/ Starters # {}

\* A thread that has left production to run a task that may block has a successor on the way, or
\* another thread produces.
EpcRequiresSuccessor == ~alone

\* A thread that starts a successor does not produce any more: the successor, however early it
\* comes, finds the starter gone.
StarterHasLeft == [][starts' > starts => \A t \in Producers : pc'[t] = pc[t]]_vars
\* A thread that must not block runs no task that may.
NonBlockingRespected ==
  \A t \in Tagged : pc[t] \in {"inline", "blocking"} => kind[t] # "BLOCKING"

\* After its task, whether it succeeded or failed, a thread looks whether another thread produces.
ExceptionDoesNotChangeRole ==
  [][\A t \in Threads : pc[t] = "blocking" => pc'[t] \in {"blocking", "after"}]_vars

\* What was demanded is produced.
ProductionBegins == items > 0 ~> items = 0
=============================================================================
