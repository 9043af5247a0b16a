-------------------------------- MODULE Pool --------------------------------
(***************************************************************************)
(* A pool of threads with one unbounded queue of jobs. The pool starts a   *)
(* thread when no thread is idle. A thread that finds no job rests, and    *)
(* leaves the pool after a while. PoolCore.tla has the state, the users    *)
(* and the stop.                                                           *)
(*                                                                         *)
(* Code       kernel/pool/pool.h, pool.c. Each action is done under the    *)
(*            lock, including the start of a thread, or it is one unpark.  *)
(* Abstracts  time: the rest of a thread may time out at any time, and the *)
(*            thread may then leave or rest again; unpark and park to a    *)
(*            permit (Parker). A thread that reserves itself is inside a   *)
(*            job here (Reserve).                                          *)
(* Memory     sequential consistency, which the lock earns.                *)
(* Promises   QtpCounterBalance, NoStrandedJob, NoSpuriousThread,          *)
(*            StopDrainsOnce, MinThreadsKept, JobsInOrder (safety);        *)
(*            JobsEnd, StopEnds (liveness).                                *)
(***************************************************************************)
EXTENDS PoolCore

(* wp__pool_next: the next job of a thread that has run its job, was started without a job, or was
   chosen by a user. *)

\* The thread takes a job; or it leaves, if the pool is closed; or it rests. `rested` are the other
\* resting threads.
Take(t, rested) ==
  IF queue # <<>>
  THEN /\ queue' = Tail(queue)
       /\ job' = [job EXCEPT ![t] = Head(queue)]
       /\ Set(t, "run", "busy")
       /\ resting' = rested
       /\ UNCHANGED threads
  ELSE IF closed
  THEN Leave(t, rested)
  ELSE /\ resting' = <<t>> \o rested
       /\ Set(t, "rest", "resting")
       /\ UNCHANGED <<queue, job, threads>>

\* The thread runs its job.
Run(t) ==
  /\ pc[t] = "run"
  /\ ran' = [ran EXCEPT ![job[t]] = @ + 1]
  /\ job' = [job EXCEPT ![t] = None]
  /\ pc' = [pc EXCEPT ![t] = "look"]
  /\ UNCHANGED <<queue, closed, Counts, Told, state, permit, whom, drained, shut, left>>

\* The thread looks for its next job.
Look(t) ==
  /\ pc[t] = "look"
  /\ Take(t, resting)
  /\ IF state[t] = "coming" THEN coming' = coming - 1 /\ UNCHANGED finished
     ELSE finished' = finished + 1 /\ UNCHANGED coming
  /\ UNCHANGED <<closed, accepted, refused, ended, permit, whom, drained, Fates, left>>

\* The thread was chosen and unparked. Its rest may have timed out before.
Wake(t) ==
  /\ pc[t] \in {"rest", "await"}
  /\ permit[t]
  /\ permit' = [permit EXCEPT ![t] = FALSE]
  /\ pc' = [pc EXCEPT ![t] = "look"]
  /\ UNCHANGED <<queue, closed, Counts, Told, state, job, whom, drained, Fates, left>>

\* The thread's rest times out.
Timeout(t) ==
  /\ pc[t] = "rest"
  /\ ~permit[t]
  /\ left.timeouts > 0
  /\ left' = [left EXCEPT !.timeouts = @ - 1]
  /\ pc' = [pc EXCEPT ![t] = "late"]
  /\ UNCHANGED <<queue, closed, Counts, Told, state, permit, job, whom, drained, Fates>>

\* The rest of the thread has timed out. If the thread was chosen meanwhile, it waits for its
\* unpark. Otherwise it takes a job, or leaves if it may, or rests again.
Late(t) ==
  /\ pc[t] = "late"
  /\ IF state[t] = "coming"
     THEN /\ pc' = [pc EXCEPT ![t] = "await"]
          /\ UNCHANGED <<queue, Counts, state, job>>
     ELSE LET rested == Without(resting, t)
          IN /\ UNCHANGED coming
             /\ \/ Take(t, rested)
                \/ queue = <<>> /\ ~closed /\ threads > Min /\ Leave(t, rested)
  /\ UNCHANGED <<closed, Told, permit, whom, drained, Fates, left>>

Finished ==
  /\ left.jobs = 0
  /\ \A u \in Users : pc[u] = "over"
  /\ pc["stopper"] = IF Stops THEN "over" ELSE "stop"
  /\ \A t \in Threads : pc[t] = "out" \/ (pc[t] = "rest" /\ ~Stops)
  /\ UNCHANGED vars

Thread(t) == Run(t) \/ Look(t) \/ Wake(t) \/ Late(t)
Stopping == UnparkAll \/ Drain \/ CloseJob \/ Wait
Next ==
  \/ \E u \in Users : Execute(u) \/ Unpark(u)
  \/ \E t \in Threads : Thread(t) \/ Timeout(t)
  \/ Close \/ Stopping \/ Finished

Spec == Init /\ [][Next]_vars
FairSpec ==
  /\ Spec /\ \A u \in Users : WF_vars(Unpark(u))
  /\ \A t \in Threads : WF_vars(Thread(t))
  /\ WF_vars(Stopping)

(* What must hold. *)

\* The live threads: those that are in the pool.
Alive == {t \in Threads : pc[t] # "out"}

\* The live threads that are counted under state s.
In(s) == {t \in Alive : state[t] = s}

\* The threads that are about to be unparked.
Owed == UNION {{whom[a][i] : i \in DOMAIN whom[a]} : a \in Users \cup {"stopper"}}

\* The counts are right. In particular, the number of threads that run jobs plus the number of
\* queued jobs is the number of jobs that were accepted and have not finished. A dump shows these
\* counts, with tags: [pool_threads.1] [pool_dump.1].
QtpCounterBalance ==
  /\ threads = Cardinality(Alive)
  /\ Len(resting) = Cardinality(In("resting"))
  /\ coming = Cardinality(In("coming"))
  /\ threads - Len(resting) - coming + Len(queue) = accepted - finished - ended

\* While a job is queued, there is a live thread. While a thread rests, no more jobs are queued than
\* threads are on their way to the queue.
NoStrandedJob ==
  /\ queue # <<>> => Alive # {}
  /\ resting # <<>> => Len(queue) <= Cardinality(In("coming"))
  /\ \A t \in In("coming") : pc[t] \in {"look"} \/ permit[t] \/ t \in Owed

\* A thread is started only if at most as many threads are idle as jobs are queued, and fewer than
\* `max` threads live.
NoSpuriousThread ==
  [][Cardinality(Alive') > Cardinality(Alive) =>
       /\ Cardinality(In("resting") \cup In("coming")) <= Len(queue)
       /\ Cardinality(Alive) < Max]_vars

\* The number of places that hold job j: threads, the queue and the stopper.
Held(j) ==
  Cardinality({t \in Threads : job[t] = j}) + Cardinality({i \in DOMAIN queue : queue[i] = j})
    + (IF drained = j THEN 1 ELSE 0)
\* Each job that was accepted is run or closed, once. Each other job was refused.
StopDrainsOnce ==
  \A j \in 1 .. Jobs - left.jobs : Held(j) + ran[j] + shut[j] = IF j \in refused THEN 0 ELSE 1

\* Jobs leave the queue in the order in which they came, whether they are run or closed; they are
\* numbered in this order. A job that a thread is started with is never queued, so it may overtake
\* jobs that are queued.
JobsInOrder ==
  [][\A j \in 1 .. Jobs : \A k \in 1 .. j - 1 :
       LET holds(q, x) == \E i \in DOMAIN q : q[i] = x
       IN holds(queue, j) /\ ~holds(queue', j) => ~holds(queue', k)]_vars
\* Before the close at least `min` threads live.
MinThreadsKept == ~closed => threads >= Min
\* A queued job is eventually run or closed.
JobsEnd ==
  \A j \in 1 .. Jobs : (\E i \in DOMAIN queue : queue[i] = j) ~> (ran[j] + shut[j] = 1)

\* After a close all threads eventually leave, and then the wait for them returns.
StopEnds == closed ~> Alive = {}
=============================================================================
