-------------------------------- MODULE Task --------------------------------
(***************************************************************************)
(* A stackless task runs on one carrier at a time. Each unpark makes the   *)
(* task run once more, even if the task parks only after the unpark. The   *)
(* task's word holds its state and one bit, `notified`. An unpark that     *)
(* finds the task parked queues it. An unpark that comes while the task    *)
(* runs sets the bit, and then the next park is refused.                   *)
(*                                                                         *)
(* Code       kernel/thread/task.h; [task.1]..[task.6] name sites in that  *)
(*            file.                                                        *)
(* Abstracts  all queues to a bag of cells, from which any carrier may     *)
(*            take (Mpsc, BiasedLock and Search say how); a run of the     *)
(*            task to its result.                                          *)
(* Memory     sequential consistency. A ghost records which writes of the  *)
(*            last run and of the unparkers a run is guaranteed to see     *)
(*            (HappensBeforeRun).                                          *)
(* Promises   OneCarrier, UnparkNotLost, HappensBeforeRun, CancelIsAlone,  *)
(*            EndIsFinal (safety).                                         *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Carriers,   \* threads that run the task
  Unparkers,  \* threads that unpark the task
  Unparks,    \* the number of times that each of them does so
  Yields      \* the number of times that the task may yield

ASSUME SomebodyRuns == Carriers # {} /\ {Unparks, Yields} \subseteq Nat
ASSUME ThreadsDiffer == \A c \in Carriers : c \notin Unparkers

VARIABLES
  word,      \* task->word without its bit: "PARKED", "BUSY" (queued or running), "DONE",
             \* "CANCELLED"
  notified,  \* the bit of the word: TRUE if an unpark has come
  cells,     \* the number of published cells of the task, in all queues: 0 or 1, and more only if
             \* there is a bug
  pc,        \* thread -> its next step
  left,      \* unparker -> the unparks still to come; "yields" -> the yields still to come
  told,      \* ghost: TRUE if the task was unparked and no run has begun since
  writes,    \* ghost: the threads that have written something for the next run: the last runner,
             \* and unparkers
  carried    \* ghost: the threads whose writes are carried by the "word" (as a release sequence) or
             \* by the "cell"
vars == <<word, notified, cells, pc, left, told, writes, carried>>
ghosts == <<told, writes, carried>>

Canceller == "canceller"
Threads == Carriers \cup Unparkers \cup {Canceller}

TypeOK ==
  /\ word \in {"PARKED", "BUSY", "DONE", "CANCELLED"}
  /\ notified \in BOOLEAN
  /\ cells \in 0 .. 3
  /\ pc \in [Threads -> {"idle", "begin", "run", "push", "publish", "done"}]
  /\ left \in [Unparkers \cup {"yields"} -> Nat]
  /\ told \in BOOLEAN
  /\ writes \subseteq Threads
  /\ carried \in [{"word", "cell"} -> SUBSET Threads]

\* The task was started: a thread has pushed it.
Init ==
  /\ word = "BUSY"
  /\ notified = FALSE
  /\ cells = 1
  /\ pc = [t \in Threads |-> "idle"]
  /\ left = [x \in Unparkers \cup {"yields"} |-> IF x = "yields" THEN Yields ELSE Unparks]
  /\ told = FALSE
  /\ writes = {}
  /\ carried = [at \in {"word", "cell"} |-> {}]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

\* A read-modify-write with release adds the thread's writes to those that the word carries. One
\* without release leaves unchanged what the word carries.
Carry(t) == carried' = [carried EXCEPT !["word"] = @ \cup {t}]

(* A thread pushes the task to its home, in two steps. *)

\* The thread reserves a place in the queue of the task's home.
Reserve(t) ==                 \* [mpsc.2]
  /\ pc[t] = "push"
  /\ Goto(t, "publish")
  /\ UNCHANGED <<word, notified, cells, left, ghosts>>

\* The thread publishes the cell.
Publish(t) ==                 \* [mpsc.3]
  /\ pc[t] = "publish"
  /\ cells' = cells + 1
  /\ carried' = [carried EXCEPT !["cell"] = {t}]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<word, notified, left, told, writes>>

(* A carrier takes the task, runs it once, and acts on the result. *)

\* A carrier takes the task from a queue.
Pop(c) ==                     \* [mpsc.4]..[mpsc.8]
  /\ pc[c] = "idle"
  /\ cells > 0
  /\ cells' = cells - 1
  /\ writes' = writes \ carried["cell"]
  /\ Goto(c, "begin")
  /\ UNCHANGED <<word, notified, left, told, carried>>

\* The run begins. It clears the notification, so it answers all unparks before it.
Begin(c) ==                   \* [task.2] wp_task_begin
  /\ pc[c] = "begin"
  /\ word' = "BUSY"
  /\ notified' = FALSE
  /\ told' = FALSE
  /\ writes' = (writes \ carried["word"]) \ {c}
  /\ Goto(c, "run")
  /\ UNCHANGED <<cells, left, carried>>

\* The task ends.
Done(c) ==                    \* [task.4] wp_task_finish
  /\ pc[c] = "run"
  /\ word' = "DONE"
  /\ notified' = FALSE
  /\ Goto(c, "idle")
  /\ UNCHANGED <<cells, left, ghosts>>

\* The task yields. This does not change the word, which stays BUSY.
Yield(c) ==
  /\ pc[c] = "run"
  /\ left["yields"] > 0
  /\ left' = [left EXCEPT !["yields"] = @ - 1]
  /\ writes' = writes \cup {c}
  /\ Goto(c, "push")
  /\ UNCHANGED <<word, notified, cells, told, carried>>

\* The task parks. If it was notified while it ran, its park is refused, and it is queued again.
Park(c) ==                    \* [task.3] wp_task_park
  /\ pc[c] = "run"
  /\ writes' = writes \cup {c}
  /\ IF notified
     THEN /\ Goto(c, "push")
          /\ UNCHANGED <<word, carried>>
     ELSE /\ word' = "PARKED"
          /\ Carry(c)
          /\ Goto(c, "idle")
  /\ UNCHANGED <<notified, cells, left, told>>

(* Other threads. *)

\* TRUE if the next unpark has to queue the task.
Owes ==
  /\ word = "PARKED"
  /\ ~notified

\* An unpark sets the bit. If it finds the task parked and not notified, it pushes the task.
Unpark(u) ==                  \* [task.1] wp_task_notify
  /\ pc[u] = "idle"
  /\ left[u] > 0
  /\ left' = [left EXCEPT ![u] = @ - 1]
  /\ notified' = TRUE
  /\ told' = (told \/ word \in {"PARKED", "BUSY"})
  /\ writes' = writes \cup {u}
  /\ Carry(u)
  /\ Goto(u, IF Owes THEN "push" ELSE "idle")
  /\ UNCHANGED <<word, cells>>

\* A canceller ends the task, but only while it is parked and not notified.
Cancel ==                     \* [task.6] wp_task_cancel
  /\ pc[Canceller] = "idle"
  /\ word = "PARKED"
  /\ ~notified
  /\ word' = "CANCELLED"
  /\ Goto(Canceller, "done")
  /\ UNCHANGED <<notified, cells, left, ghosts>>

\* The task has ended ([task.5] wp_task_is_done).
HasEnded == word \in {"DONE", "CANCELLED"}

\* The intended end: the task has ended, or it is parked and there is no unpark to answer.
Finished ==
  /\ HasEnded \/ (word = "PARKED" /\ ~told)
  /\ \A t \in Threads : pc[t] \in {"idle", "done"}
  /\ \A u \in Unparkers : left[u] = 0
  /\ UNCHANGED vars

Carrier(c) ==
  \/ Pop(c)
  \/ Begin(c)
  \/ Done(c)
  \/ Yield(c)
  \/ Park(c)

Next ==
  \/ \E c \in Carriers : Carrier(c)
  \/ \E u \in Unparkers : Unpark(u)
  \/ \E t \in Carriers \cup Unparkers : Reserve(t) \/ Publish(t)
  \/ Cancel
  \/ Finished

Spec == Init /\ [][Next]_vars

(* What must hold. *)
Runners == {c \in Carriers : pc[c] = "run"}

\* The threads that are about to queue the task.
Pushers == {t \in Threads : pc[t] \in {"push", "publish"}}

\* The task is in at most one place: in a queue, with the carrier that runs it, or with the thread
\* that queues it. While it runs, its word is BUSY.
OneCarrier ==
  /\ cells + Cardinality({c \in Carriers : pc[c] = "begin"}) + Cardinality(Runners \cup Pushers) <= 1
  /\ Runners # {} => word = "BUSY"

\* If the task was unparked and no run has begun since, the task is on its way to a carrier, or its
\* park will be refused.
UnparkNotLost ==
  told /\ ~HasEnded =>
    \/ cells > 0
    \/ Pushers # {}
    \/ \E c \in Carriers : pc[c] = "begin"
    \/ notified /\ Runners # {}

\* A run sees what the run before it wrote, and what was written before each unpark that the run
\* answers.
HappensBeforeRun == \A c \in Runners : ~told => writes \subseteq {c}

\* A task that has ended is in no queue, and no thread runs it or is about to queue it.
EndIsFinal ==
  HasEnded =>
    /\ cells = 0
    /\ Runners = {}
    /\ Pushers = {}

\* A thread that cancels a task is the only thread that has the task: the task is in no queue, and
\* there was no unpark to answer.
CancelIsAlone ==
  word = "CANCELLED" =>
    /\ cells = 0
    /\ ~told

(* The inductive invariant, from which the claims follow for any number of carriers, unparkers, *)
(* unparks and yields.                                                                          *)

\* What the variables hold, and which steps each kind of thread takes.
IndTypes ==
  /\ word \in {"PARKED", "BUSY", "DONE", "CANCELLED"}
  /\ cells \in {0, 1}
  /\ \A t \in Threads \ Carriers : pc[t] \notin {"begin", "run"}
  /\ pc[Canceller] \notin {"push", "publish"}

\* The task is on its way to a carrier.
InFlight ==
  \/ cells > 0
  \/ Pushers # {}
  \/ \E c \in Carriers : pc[c] = "begin"

\* A task on its way to a carrier is queued or runs, or an unpark has found it parked.
FlightHasReason == InFlight => word = "BUSY" \/ (word = "PARKED" /\ notified)

\* A task that is queued, and one that was unparked, is on its way to a carrier or runs.
BusyIsSomewhere ==
  /\ word = "BUSY" => InFlight \/ Runners # {}
  /\ word = "PARKED" /\ notified => InFlight

\* The bit of the word stands until the run that answers the unpark.
ToldIsNotified == told /\ ~HasEnded => notified

\* What was written for the next run, and by which threads. The word carries what all others than
\* carriers wrote, and what the carrier wrote that parked the task; the cell carries what the carrier
\* wrote that queued it.
WritesAreCarried ==
  /\ \A t \in writes : t \in Carriers \/ t \in carried["word"]
  /\ ~told /\ ~HasEnded => \A t \in writes : t \in Carriers
  /\ \A c \in Runners : \A t \in writes : t \in Carriers => t = c
  /\ word = "PARKED" => writes \subseteq carried["word"]
  /\ word = "BUSY" /\ cells > 0 => \A t \in writes : t \in Carriers => t \in carried["cell"]
  /\ word = "BUSY" =>
       /\ \A h \in Pushers : \A t \in writes : t \in Carriers => t = h
       /\ (\E c \in Carriers : pc[c] = "begin") => \A t \in writes : t \notin Carriers

IndInv ==
  /\ IndTypes
  /\ OneCarrier
  /\ FlightHasReason
  /\ BusyIsSomewhere
  /\ ToldIsNotified
  /\ CancelIsAlone
  /\ WritesAreCarried
=============================================================================
