------------------------------ MODULE PoolCore ------------------------------
(***************************************************************************)
(* The state of Pool, its users, and its stopper. Pool.tla says what is    *)
(* abstracted, and has the claims.                                         *)
(* Code       kernel/pool/pool.c (execute, close, drain, wait).            *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Threads,   \* the threads: more than Max of them, so that one too many could start, or Max if that
             \* is not to be tested
  Users,     \* the users, which submit jobs
  Jobs,      \* the number of jobs in all
  Min,       \* the number of threads that stay in the pool even if they are idle
  Max,       \* the largest number of threads
  Timeouts,  \* the number of rests that may time out
  Refusals,  \* the number of thread starts that the system may refuse
  Stops      \* TRUE: the pool is stopped, at any time

VARIABLES
  queue,     \* the jobs that are queued, in order
  closed,    \* TRUE if the pool accepts no more jobs
  threads,   \* the number of live threads, as counted
  resting,   \* the resting threads, the most recent first
  coming,    \* the number of threads on their way to the queue, as counted
  accepted,  \* the number of jobs accepted so far
  finished,  \* the number of jobs finished so far
  ended,     \* the number of jobs closed so far
  refused,   \* the jobs that were refused
  pc,        \* thread, user, stopper -> its next step
  state,     \* thread -> the state that it is counted under: "busy", "resting", "coming"
  permit,    \* thread -> TRUE if it was unparked and has not noticed
  job,       \* thread -> the job that it runs
  whom,      \* user, stopper -> the threads that it is about to unpark
  drained,   \* the job that the stopper is about to close
  ran,       \* job -> the number of times that it was run
  shut,      \* job -> the number of times that it was closed
  left       \* the jobs, timeouts and refusals that are still to come

vars == <<queue, closed, threads, resting, coming, accepted, finished, ended, refused, pc, state,
          permit, job, whom, drained, ran, shut, left>>

Counts == <<threads, resting, coming>>
Told == <<accepted, finished, ended, refused>>
Fates == <<ran, shut>>
None == 0
TypeOK ==
  /\ queue \in Seq(1 .. Jobs)
  /\ closed \in BOOLEAN
  /\ threads \in 0 .. Max
  /\ resting \in Seq(Threads)
  /\ coming \in 0 .. Max
  /\ {accepted, finished, ended} \subseteq 0 .. Jobs
  /\ refused \subseteq 1 .. Jobs
  /\ pc \in [Threads \cup Users \cup {"stopper"} ->
             {"out", "run", "look", "rest", "late", "await", "over", "unpark", "stop", "drain",
              "close", "wait"}]
  /\ state \in [Threads -> {"busy", "coming", "resting"}]
  /\ permit \in [Threads -> BOOLEAN]
  /\ job \in [Threads -> None .. Jobs]
  /\ whom \in [Users \cup {"stopper"} -> Seq(Threads)]
  /\ drained \in None .. Jobs
  /\ {ran, shut} \subseteq [1 .. Jobs -> 0 .. 2]
  /\ left.jobs \in 0 .. Jobs
  /\ left.timeouts \in 0 .. Timeouts
  /\ left.refusals \in 0 .. Refusals

\* The threads that wp_pool_new has started.
First == CHOOSE s \in SUBSET Threads : Cardinality(s) = Min
Init ==
  /\ queue = <<>>
  /\ closed = FALSE
  /\ threads = Min
  /\ resting = <<>>
  /\ coming = Min
  /\ accepted = 0
  /\ finished = 0
  /\ ended = 0
  /\ refused = {}
  /\ pc = [a \in Threads \cup Users \cup {"stopper"} |->
             IF a \in First THEN "look" ELSE IF a \in Threads THEN "out"
             ELSE IF a \in Users THEN "over" ELSE "stop"]
  /\ state = [t \in Threads |-> IF t \in First THEN "coming" ELSE "busy"]
  /\ permit = [t \in Threads |-> FALSE]
  /\ job = [t \in Threads |-> None]
  /\ whom = [a \in Users \cup {"stopper"} |-> <<>>]
  /\ drained = None
  /\ ran = [j \in 1 .. Jobs |-> 0]
  /\ shut = ran
  /\ left = [jobs |-> Jobs, timeouts |-> Timeouts, refusals |-> Refusals]

Set(t, where, what) ==
  /\ pc' = [pc EXCEPT ![t] = where]
  /\ state' = [state EXCEPT ![t] = what]

Without(s, t) == SelectSeq(s, LAMBDA each : each # t)

\* The thread leaves the pool.
Leave(t, rested) ==
  /\ Set(t, "out", "busy")
  /\ threads' = threads - 1
  /\ resting' = rested
  /\ UNCHANGED <<queue, job>>

(* wp_pool_execute. *)

\* TRUE if the pool needs one more thread, and may start it.
IsShort ==
  /\ threads < Max
  /\ Len(resting) + coming <= Len(queue)

\* The job is refused.
Refuse(j) ==
  /\ refused' = refused \cup {j}
  /\ UNCHANGED <<queue, resting, coming, accepted, whom, pc, state>>

\* The job is queued. If too few threads are on their way, a resting thread is chosen.
Enqueue(u, j) ==
  /\ queue' = Append(queue, j)
  /\ accepted' = accepted + 1
  /\ IF resting # <<>> /\ Len(queue) + 1 > coming
     THEN /\ whom' = [whom EXCEPT ![u] = <<Head(resting)>>]
          /\ resting' = Tail(resting)
          /\ coming' = coming + 1
          /\ state' = [state EXCEPT ![Head(resting)] = "coming"]
          /\ pc' = [pc EXCEPT ![u] = "unpark"]
     ELSE UNCHANGED <<whom, resting, coming, state, pc>>
  /\ UNCHANGED refused

\* A thread is started with the job.
Start(t, j) ==
  /\ pc[t] = "out"
  /\ Set(t, "run", "busy")
  /\ job' = [job EXCEPT ![t] = j]
  /\ threads' = threads + 1
  /\ accepted' = accepted + 1
  /\ UNCHANGED <<queue, resting, coming, refused, whom>>

\* The system refuses to start the thread. The job is queued if the pool has any thread; otherwise
\* it is refused.
NotStarted(u, j) ==
  /\ IF threads > 0 THEN Enqueue(u, j) ELSE Refuse(j)
  /\ UNCHANGED <<threads, job>>

\* A user submits a job.
Execute(u) ==
  /\ pc[u] = "over"
  /\ left.jobs > 0
  /\ LET j == Jobs - left.jobs + 1
         fewer == [left EXCEPT !.jobs = @ - 1]
     IN \/ closed /\ left' = fewer /\ Refuse(j) /\ UNCHANGED <<threads, job>>
        \/ ~closed /\ ~IsShort /\ left' = fewer /\ Enqueue(u, j) /\ UNCHANGED <<threads, job>>
        \/ ~closed /\ IsShort /\ left' = fewer /\ \E t \in Threads : Start(t, j)
        \/ /\ ~closed /\ IsShort /\ left.refusals > 0
           /\ left' = [fewer EXCEPT !.refusals = @ - 1]
           /\ NotStarted(u, j)
  /\ UNCHANGED <<closed, finished, ended, permit, drained, ran, shut>>

\* The user unparks the thread that it has chosen.
Unpark(u) ==
  /\ pc[u] = "unpark"
  /\ permit' = [permit EXCEPT ![Head(whom[u])] = TRUE]
  /\ whom' = [whom EXCEPT ![u] = <<>>]
  /\ pc' = [pc EXCEPT ![u] = "over"]
  /\ UNCHANGED <<queue, closed, Counts, Told, state, job, drained, Fates, left>>

(* wp_pool_stop. *)
Stopper(where) == pc' = [pc EXCEPT !["stopper"] = where]

\* The pool is closed. From now on it accepts no jobs and starts no threads.
Close ==                      \* [pool_new.1] [pool_new.2]
  /\ pc["stopper"] = "stop"
  /\ Stops
  /\ closed' = TRUE
  /\ whom' = [whom EXCEPT !["stopper"] = resting]
  /\ resting' = <<>>
  /\ coming' = coming + Len(resting)
  /\ state' = [t \in Threads |-> IF state[t] = "resting" THEN "coming" ELSE state[t]]
  /\ Stopper("unpark")
  /\ UNCHANGED <<queue, threads, Told, permit, job, drained, Fates, left>>

\* The stopper unparks the resting threads, one after the other.
UnparkAll ==
  /\ pc["stopper"] = "unpark"
  /\ IF whom["stopper"] = <<>> THEN Stopper("drain") /\ UNCHANGED <<permit, whom>>
     ELSE /\ permit' = [permit EXCEPT ![Head(whom["stopper"])] = TRUE]
          /\ whom' = [whom EXCEPT !["stopper"] = Tail(@)]
          /\ UNCHANGED pc
  /\ UNCHANGED <<queue, closed, Counts, Told, state, job, drained, Fates, left>>

\* The stopper takes a queued job, at any time after the close. If none is left, the stopper goes on
\* to wait.
Drain ==
  /\ pc["stopper"] = "drain"
  /\ IF queue = <<>>
     THEN Stopper("wait") /\ UNCHANGED <<queue, drained, ended>>
     ELSE /\ drained' = Head(queue)
          /\ queue' = Tail(queue)
          /\ ended' = ended + 1
          /\ Stopper("close")
  /\ UNCHANGED <<closed, Counts, accepted, finished, refused, state, permit, job, whom, Fates, left>>

\* The stopper closes the job.
CloseJob ==
  /\ pc["stopper"] = "close"
  /\ shut' = [shut EXCEPT ![drained] = @ + 1]
  /\ drained' = None
  /\ Stopper("drain")
  /\ UNCHANGED <<queue, closed, Counts, Told, state, permit, job, whom, ran, left>>

\* The stopper waits until all threads have left.
Wait ==
  /\ pc["stopper"] = "wait"
  /\ threads = 0
  /\ Stopper("over")
  /\ UNCHANGED <<queue, closed, Counts, Told, state, permit, job, whom, drained, Fates, left>>
=============================================================================
