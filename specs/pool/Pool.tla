-------------------------------- MODULE Pool --------------------------------
(***************************************************************************)
(* A pool of threads with one queue of jobs that has no end: it starts a   *)
(* thread when nobody is idle, and idle ones leave.                        *)
(* Code       kernel/pool/pool.h, pool.c. What one action does is done     *)
(*            under the lock, also the start of a thread, or is one        *)
(*            unpark.                                                      *)
(* Abstracts  time: who rests may be late at any time, and its turn to     *)
(*            leave may have come or not; unpark and park to a permit      *)
(*            (Parker). A reserved thread is in a job here (Reserve).      *)
(* Memory     sequential consistency, which the lock earns.                *)
(* Promises   QtpCounterBalance, NoStrandedJob, NoSpuriousThread,          *)
(*            StopDrainsOnce, MinThreadsKept, JobsInOrder (safety);        *)
(*            JobsEnd, StopEnds (liveness).                                *)
(***************************************************************************)
EXTENDS PoolCore

(* wp__pool_next: a thread that has run its job, or was started without one, or was chosen. *)
Take(t, rested) ==            \* `rested`: who rests but for it
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
Run(t) ==
  /\ pc[t] = "run"
  /\ ran' = [ran EXCEPT ![job[t]] = @ + 1]
  /\ job' = [job EXCEPT ![t] = None]
  /\ pc' = [pc EXCEPT ![t] = "look"]
  /\ UNCHANGED <<queue, closed, Counts, Told, state, permit, whom, drained, shut, left>>
Look(t) ==
  /\ pc[t] = "look"
  /\ Take(t, resting)
  /\ IF state[t] = "coming" THEN coming' = coming - 1 /\ UNCHANGED finished
     ELSE finished' = finished + 1 /\ UNCHANGED coming
  /\ UNCHANGED <<closed, accepted, refused, ended, permit, whom, drained, Fates, left>>
Wake(t) ==                    \* also who was late, and chosen
  /\ pc[t] \in {"rest", "await"} /\ permit[t]
  /\ permit' = [permit EXCEPT ![t] = FALSE]
  /\ pc' = [pc EXCEPT ![t] = "look"]
  /\ UNCHANGED <<queue, closed, Counts, Told, state, job, whom, drained, Fates, left>>
Timeout(t) ==
  /\ pc[t] = "rest" /\ ~permit[t] /\ left.timeouts > 0
  /\ left' = [left EXCEPT !.timeouts = @ - 1]
  /\ pc' = [pc EXCEPT ![t] = "late"]
  /\ UNCHANGED <<queue, closed, Counts, Told, state, permit, job, whom, drained, Fates>>
Late(t) ==                    \* its time is over: chosen meanwhile; or a job; or it may leave; or not
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
Alive == {t \in Threads : pc[t] # "out"}
In(s) == {t \in Alive : state[t] = s}
Owed == UNION {{whom[a][i] : i \in DOMAIN whom[a]} : a \in Users \cup {"stopper"}}
\* The counts are what there is: threads that run and jobs that are queued are together the jobs
\* accepted and not finished.
QtpCounterBalance ==          \* which a dump shows, with tags: [pool_threads.1] [pool_dump.1]
  /\ threads = Cardinality(Alive) /\ Len(resting) = Cardinality(In("resting"))
  /\ coming = Cardinality(In("coming"))
  /\ threads - Len(resting) - coming + Len(queue) = accepted - finished - ended
\* No job is queued without a thread; where one rests, no more jobs are queued than threads are on
\* their way.
NoStrandedJob ==
  /\ queue # <<>> => Alive # {}
  /\ resting # <<>> => Len(queue) <= Cardinality(In("coming"))
  /\ \A t \in In("coming") : pc[t] \in {"look"} \/ permit[t] \/ t \in Owed
\* A thread is started only if fewer are idle than jobs are queued, and fewer live than `max`.
NoSpuriousThread ==
  [][Cardinality(Alive') > Cardinality(Alive) =>
       /\ Cardinality(In("resting") \cup In("coming")) <= Len(queue)
       /\ Cardinality(Alive) < Max]_vars
Held(j) ==
  Cardinality({t \in Threads : job[t] = j}) + Cardinality({i \in DOMAIN queue : queue[i] = j})
    + (IF drained = j THEN 1 ELSE 0)
\* Each accepted job is run or closed, once; each other one is refused.
StopDrainsOnce ==
  \A j \in 1 .. Jobs - left.jobs : Held(j) + ran[j] + shut[j] = IF j \in refused THEN 0 ELSE 1
\* Jobs leave the queue in the order in which they came, run or closed.  A job with which a thread
\* is started was never queued, and may overtake those that are.
JobsInOrder ==                \* jobs are numbered as they come
  [][\A j \in 1 .. Jobs : \A k \in 1 .. j - 1 :
       LET holds(q, x) == \E i \in DOMAIN q : q[i] = x
       IN holds(queue, j) /\ ~holds(queue', j) => ~holds(queue', k)]_vars
\* No fewer than `min` threads live before the close.
MinThreadsKept == ~closed => threads >= Min
\* A queued job is run or closed.
JobsEnd ==
  \A j \in 1 .. Jobs : (\E i \in DOMAIN queue : queue[i] = j) ~> (ran[j] + shut[j] = 1)
\* After a close all threads leave, and who waits for them is told.
StopEnds == closed ~> Alive = {}
=============================================================================
