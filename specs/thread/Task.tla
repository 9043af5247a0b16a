-------------------------------- MODULE Task --------------------------------
(***************************************************************************)
(* A stackless task runs on one carrier at a time, and runs once more for  *)
(* whoever unparks it, however late the park.                              *)
(* Code       kernel/thread/task.h; [task.1]..[task.6] name sites in that  *)
(*            file.                                                        *)
(* Abstracts  all queues to a bag of cells, which any carrier may take from*)
(*            (Mpsc, BiasedLock and Search say how); the step to its       *)
(*            result.                                                      *)
(* Memory     sequential consistency; what a run sees of the last one and  *)
(*            of each unpark (HappensBeforeRun) is carried as a ghost.     *)
(* Promises   OneCarrier, UnparkNotLost, HappensBeforeRun, CancelIsAlone,  *)
(*            EndIsFinal (safety).                                         *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Carriers,   \* they run the task
  Unparkers,  \* threads that unpark it
  Unparks,    \* how many times each
  Yields      \* how many times the task yields at the most

ASSUME SomebodyRuns == Carriers # {} /\ {Unparks, Yields} \subseteq Nat

VARIABLES
  word,      \* task->word without its bit: "PARKED", "BUSY" (queued or run), "DONE", "CANCELLED"
  notified,  \* the bit
  cells,     \* published cells of the task, in any queue: 0, 1; more is the bug
  pc,        \* thread -> what it does next
  left,      \* unparker -> unparks to come; "yields" -> yields to come
  told,      \* ghost: it was unparked, and no run has begun since
  writes,    \* ghost: threads that wrote something for the next run: the last runner, unparkers
  carried    \* ghost: whose writes come with the "word" (release sequence), with the "cell"
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

Init ==                       \* started: somebody has pushed it
  /\ word = "BUSY"
  /\ notified = FALSE
  /\ cells = 1
  /\ pc = [t \in Threads |-> "idle"]
  /\ left = [x \in Unparkers \cup {"yields"} |-> IF x = "yields" THEN Yields ELSE Unparks]
  /\ told = FALSE
  /\ writes = {}
  /\ carried = [at \in {"word", "cell"} |-> {}]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

\* A read-modify-write with release adds to what the word carries; without, it goes on carrying.
Carry(t) == carried' = [carried EXCEPT !["word"] = @ \cup {t}]

(* Pushing it to its home, in two steps. *)
Reserve(t) ==                 \* [mpsc.2]
  /\ pc[t] = "push"
  /\ Goto(t, "publish")
  /\ UNCHANGED <<word, notified, cells, left, ghosts>>

Publish(t) ==                 \* [mpsc.3]
  /\ pc[t] = "publish"
  /\ cells' = cells + 1
  /\ carried' = [carried EXCEPT !["cell"] = {t}]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<word, notified, left, told, writes>>

(* A carrier: takes it, runs one step, and does what the step says. *)
Pop(c) ==                     \* [mpsc.4]..[mpsc.8]
  /\ pc[c] = "idle"
  /\ cells > 0
  /\ cells' = cells - 1
  /\ writes' = writes \ carried["cell"]
  /\ Goto(c, "begin")
  /\ UNCHANGED <<word, notified, left, told, carried>>

Begin(c) ==                   \* [task.2] wp_task_begin
  /\ pc[c] = "begin"
  /\ word' = "BUSY"
  /\ notified' = FALSE
  /\ told' = FALSE
  /\ writes' = (writes \ carried["word"]) \ {c}
  /\ Goto(c, "run")
  /\ UNCHANGED <<cells, left, carried>>

Done(c) ==                    \* [task.4] wp_task_finish
  /\ pc[c] = "run"
  /\ word' = "DONE"
  /\ notified' = FALSE
  /\ Goto(c, "idle")
  /\ UNCHANGED <<cells, left, ghosts>>

Yield(c) ==                   \* no step of the word: it stays BUSY
  /\ pc[c] = "run"
  /\ left["yields"] > 0
  /\ left' = [left EXCEPT !["yields"] = @ - 1]
  /\ writes' = writes \cup {c}
  /\ Goto(c, "push")
  /\ UNCHANGED <<word, notified, cells, told, carried>>

Park(c) ==                    \* [task.3] wp_task_park: refused if it was notified while it ran
  /\ pc[c] = "run"
  /\ writes' = writes \cup {c}
  /\ IF notified
     THEN /\ Goto(c, "push")
          /\ UNCHANGED <<word, carried>>
     ELSE /\ word' = "PARKED"
          /\ Carry(c)
          /\ Goto(c, "idle")
  /\ UNCHANGED <<notified, cells, left, told>>

(* Others. *)
Owes ==
  /\ word = "PARKED"
  /\ ~notified

Unpark(u) ==                  \* [task.1] wp_task_notify: the one that finds it parked pushes it
  /\ pc[u] = "idle"
  /\ left[u] > 0
  /\ left' = [left EXCEPT ![u] = @ - 1]
  /\ notified' = TRUE
  /\ told' = (told \/ word \in {"PARKED", "BUSY"})
  /\ writes' = writes \cup {u}
  /\ Carry(u)
  /\ Goto(u, IF Owes THEN "push" ELSE "idle")
  /\ UNCHANGED <<word, cells>>

Cancel ==                     \* [task.6] wp_task_cancel: only a task that is parked and not notified
  /\ pc[Canceller] = "idle"
  /\ word = "PARKED"
  /\ ~notified
  /\ word' = "CANCELLED"
  /\ Goto(Canceller, "done")
  /\ UNCHANGED <<notified, cells, left, ghosts>>

HasEnded == word \in {"DONE", "CANCELLED"}   \* [task.5] wp_task_is_done

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
Pushers == {t \in Threads : pc[t] \in {"push", "publish"}}

\* One carrier at a time runs a task, and one thread queues it.
OneCarrier ==
  /\ cells + Cardinality({c \in Carriers : pc[c] = "begin"}) + Cardinality(Runners \cup Pushers) <= 1
  /\ Runners # {} => word = "BUSY"

\* An unparked task that no run has begun after is on its way to a carrier, or its park is refused.
UnparkNotLost ==
  told /\ ~HasEnded =>
    \/ cells > 0
    \/ Pushers # {}
    \/ \E c \in Carriers : pc[c] = "begin"
    \/ notified /\ Runners # {}

\* A run sees what the last run wrote, and whatever was written before each unpark that it answers.
HappensBeforeRun == \A c \in Runners : ~told => writes \subseteq {c}

\* A task that has ended is in no queue, and no thread runs it or is about to queue it.
EndIsFinal ==
  HasEnded =>
    /\ cells = 0
    /\ Runners = {}
    /\ Pushers = {}

\* Who cancels a task has it alone, and nobody unparked it before.
CancelIsAlone ==
  word = "CANCELLED" =>
    /\ cells = 0
    /\ ~told
=============================================================================
