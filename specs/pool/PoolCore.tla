------------------------------ MODULE PoolCore ------------------------------
(***************************************************************************)
(* The state of Pool, who has jobs, and who stops it.                      *)
(* Code       kernel/pool/pool.c (execute, close, drain, wait).            *)
(* What is abstracted, and the claims, are in Pool.tla.                    *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Threads,   \* more than Max, so that one too many could start; Max if none may
  Users,     \* who have jobs
  Jobs,      \* in all
  Min, Max,
  Timeouts, Refusals,
  Stops      \* somebody stops it, at any time

VARIABLES
  queue, closed,
  threads, resting, coming,       \* as counted; resting: who has rested least first
  accepted, finished, ended,      \* ended: jobs that were closed
  refused,                        \* which jobs
  pc,
  state,     \* thread -> what it counts as
  permit,    \* thread -> it was unparked
  job,       \* thread -> what it runs
  whom,      \* user, stopper -> threads that they are to unpark
  drained,   \* what the stopper closes now
  ran, shut, \* job -> how often
  left       \* jobs, timeouts, refusals
vars == <<queue, closed, threads, resting, coming, accepted, finished, ended, refused, pc, state,
          permit, job, whom, drained, ran, shut, left>>
Counts == <<threads, resting, coming>>
Told == <<accepted, finished, ended, refused>>
Fates == <<ran, shut>>
None == 0
TypeOK ==
  /\ queue \in Seq(1 .. Jobs) /\ closed \in BOOLEAN
  /\ threads \in 0 .. Max /\ resting \in Seq(Threads) /\ coming \in 0 .. Max
  /\ {accepted, finished, ended} \subseteq 0 .. Jobs /\ refused \subseteq 1 .. Jobs
  /\ pc \in [Threads \cup Users \cup {"stopper"} ->
             {"out", "run", "look", "rest", "late", "await", "over", "unpark", "stop", "drain",
              "close", "wait"}]
  /\ state \in [Threads -> {"busy", "coming", "resting"}] /\ permit \in [Threads -> BOOLEAN]
  /\ job \in [Threads -> None .. Jobs] /\ whom \in [Users \cup {"stopper"} -> Seq(Threads)]
  /\ drained \in None .. Jobs /\ {ran, shut} \subseteq [1 .. Jobs -> 0 .. 2]
  /\ left.jobs \in 0 .. Jobs /\ left.timeouts \in 0 .. Timeouts /\ left.refusals \in 0 .. Refusals

First == CHOOSE s \in SUBSET Threads : Cardinality(s) = Min   \* wp_pool_new has started them
Init ==
  /\ queue = <<>> /\ closed = FALSE
  /\ threads = Min /\ resting = <<>> /\ coming = Min
  /\ accepted = 0 /\ finished = 0 /\ ended = 0 /\ refused = {}
  /\ pc = [a \in Threads \cup Users \cup {"stopper"} |->
             IF a \in First THEN "look" ELSE IF a \in Threads THEN "out"
             ELSE IF a \in Users THEN "over" ELSE "stop"]
  /\ state = [t \in Threads |-> IF t \in First THEN "coming" ELSE "busy"]
  /\ permit = [t \in Threads |-> FALSE] /\ job = [t \in Threads |-> None]
  /\ whom = [a \in Users \cup {"stopper"} |-> <<>>]
  /\ drained = None /\ ran = [j \in 1 .. Jobs |-> 0] /\ shut = ran
  /\ left = [jobs |-> Jobs, timeouts |-> Timeouts, refusals |-> Refusals]

Set(t, where, what) ==
  /\ pc' = [pc EXCEPT ![t] = where]
  /\ state' = [state EXCEPT ![t] = what]
Without(s, t) == SelectSeq(s, LAMBDA each : each # t)
Leave(t, rested) ==
  /\ Set(t, "out", "busy")
  /\ threads' = threads - 1 /\ resting' = rested
  /\ UNCHANGED <<queue, job>>

(* wp_pool_execute. *)
IsShort ==
  /\ threads < Max
  /\ Len(resting) + coming <= Len(queue)
Refuse(j) ==
  /\ refused' = refused \cup {j}
  /\ UNCHANGED <<queue, resting, coming, accepted, whom, pc, state>>
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
Start(t, j) ==                \* with the job
  /\ pc[t] = "out"
  /\ Set(t, "run", "busy")
  /\ job' = [job EXCEPT ![t] = j]
  /\ threads' = threads + 1 /\ accepted' = accepted + 1
  /\ UNCHANGED <<queue, resting, coming, refused, whom>>
NotStarted(u, j) ==           \* the system refuses: queue it, if there is a thread
  /\ IF threads > 0 THEN Enqueue(u, j) ELSE Refuse(j)
  /\ UNCHANGED <<threads, job>>
Execute(u) ==
  /\ pc[u] = "over" /\ left.jobs > 0
  /\ LET j == Jobs - left.jobs + 1
         fewer == [left EXCEPT !.jobs = @ - 1]
     IN \/ closed /\ left' = fewer /\ Refuse(j) /\ UNCHANGED <<threads, job>>
        \/ ~closed /\ ~IsShort /\ left' = fewer /\ Enqueue(u, j) /\ UNCHANGED <<threads, job>>
        \/ ~closed /\ IsShort /\ left' = fewer /\ \E t \in Threads : Start(t, j)
        \/ /\ ~closed /\ IsShort /\ left.refusals > 0
           /\ left' = [fewer EXCEPT !.refusals = @ - 1]
           /\ NotStarted(u, j)
  /\ UNCHANGED <<closed, finished, ended, permit, drained, ran, shut>>
Unpark(u) ==
  /\ pc[u] = "unpark"
  /\ permit' = [permit EXCEPT ![Head(whom[u])] = TRUE]
  /\ whom' = [whom EXCEPT ![u] = <<>>]
  /\ pc' = [pc EXCEPT ![u] = "over"]
  /\ UNCHANGED <<queue, closed, Counts, Told, state, job, drained, Fates, left>>

(* wp_pool_stop. *)
Stopper(where) == pc' = [pc EXCEPT !["stopper"] = where]
Close ==                      \* [pool_new.1] [pool_new.2] nothing is accepted, nor tried, any more
  /\ pc["stopper"] = "stop" /\ Stops
  /\ closed' = TRUE
  /\ whom' = [whom EXCEPT !["stopper"] = resting]
  /\ resting' = <<>>
  /\ coming' = coming + Len(resting)
  /\ state' = [t \in Threads |-> IF state[t] = "resting" THEN "coming" ELSE state[t]]
  /\ Stopper("unpark")
  /\ UNCHANGED <<queue, threads, Told, permit, job, drained, Fates, left>>
UnparkAll ==                  \* one after the other
  /\ pc["stopper"] = "unpark"
  /\ IF whom["stopper"] = <<>> THEN Stopper("drain") /\ UNCHANGED <<permit, whom>>
     ELSE /\ permit' = [permit EXCEPT ![Head(whom["stopper"])] = TRUE]
          /\ whom' = [whom EXCEPT !["stopper"] = Tail(@)]
          /\ UNCHANGED pc
  /\ UNCHANGED <<queue, closed, Counts, Told, state, job, drained, Fates, left>>
Drain ==                      \* at any time after the close: perhaps nothing is left
  /\ pc["stopper"] = "drain"
  /\ IF queue = <<>>
     THEN Stopper("wait") /\ UNCHANGED <<queue, drained, ended>>
     ELSE /\ drained' = Head(queue)
          /\ queue' = Tail(queue)
          /\ ended' = ended + 1
          /\ Stopper("close")
  /\ UNCHANGED <<closed, Counts, accepted, finished, refused, state, permit, job, whom, Fates, left>>
CloseJob ==
  /\ pc["stopper"] = "close"
  /\ shut' = [shut EXCEPT ![drained] = @ + 1]
  /\ drained' = None
  /\ Stopper("drain")
  /\ UNCHANGED <<queue, closed, Counts, Told, state, permit, job, whom, ran, left>>
Wait ==                       \* until all have left
  /\ pc["stopper"] = "wait" /\ threads = 0
  /\ Stopper("over")
  /\ UNCHANGED <<queue, closed, Counts, Told, state, permit, job, whom, drained, Fates, left>>
=============================================================================
