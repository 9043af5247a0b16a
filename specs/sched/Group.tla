-------------------------------- MODULE Group -------------------------------
(***************************************************************************)
(* The carriers of a group, from start to close. A task that the group has *)
(* accepted runs at its home carrier, unless another carrier steals it. It *)
(* runs until it ends, or until the close hands it back to its user.       *)
(*                                                                         *)
(* Code       kernel/sched/carrier_tasks.h, carrier_tasks.c, group.h,      *)
(*            group.c, group_close.c, group_placement.c, worker.h;         *)
(*            vthread_park.c; task.h ([task.1]..[task.6]); vthread_start.h *)
(*            (Settle).                                                    *)
(* Abstracts  sleeping and waking: a published task is taken (Search); the *)
(*            ticket of a queue (BiasedLock); a pop to one step, while a   *)
(*            push is two (Mpsc). A list of tasks is guarded by the lock   *)
(*            of its home carrier, so each use of a list is one step. One  *)
(*            thread closes the group (GroupClose has several). When a     *)
(*            thread yields and passes directly to the next one, the steps *)
(*            are Yield, Keep, PopPrivate.                                 *)
(* Ends       Every behaviour is finite, so a close ends: TLC reports as a *)
(*            deadlock each state without a next state, except the         *)
(*            intended ends.                                               *)
(* Memory     sequential consistency; Task has the memory orders of the    *)
(*            task's word.                                                 *)
(* Promises   EachRunsOnce (it refines Tasks), OneCarrier, HomeReturn,     *)
(*            StaysSettled, HomeStaysSettled, UnparkNotLost, NoTaskLost,   *)
(*            BackIsLeftAlone, EndIsFinal, AcceptsWhileOpen, WaitsForAll,  *)
(*            NothingRunsAfterClose, StopsItself, CloserIsWoken (safety).  *)
(***************************************************************************)
EXTENDS GroupCore

(* The unparker may choose the home, and so may a carrier that resumes a task because of a timer. *)

\* The unparker that owes the push is the only thread that has the task, and chooses a new home for
\* it. The task stays on its list.
Resume(s) ==
  /\ at[s].pc = "place"
  /\ LET t == at[s].task IN
     \E c \in Carriers : home' = [home EXCEPT ![t] = IF t \in settled THEN @ ELSE c]
  /\ Goto(s, "push", at[s].task)
  /\ UNCHANGED <<word, notified, list, settled, live, open, queue, stop, budget, told, back, private>>

(* The close shuts every list, waits as long as it may, stops every carrier, and hands back the
   remaining tasks. *)

\* The close shuts one list, under its lock.
Shut(c) ==
  /\ at[Closer].pc = "idle"
  /\ c \in open
  /\ open' = open \ {c}
  /\ at' = [at EXCEPT ![Closer].pc = IF open = {c} THEN "wait" ELSE "idle"]
  /\ UNCHANGED <<word, notified, Where, live, queue, stop, budget, told, back, private>>

\* No list has a task.
NoneLeft == \A c \in Carriers : live[c] = {}

\* The close sleeps, under the lock of the first list that is not empty.
Sleep ==
  /\ at[Closer].pc = "wait"
  /\ ~NoneLeft
  /\ at' = [at EXCEPT ![Closer].pc = "asleep"]
  /\ UNCHANGED <<word, notified, Where, live, open, queue, stop, budget, told, back, private>>

\* The close stops waiting: all lists are empty, or the deadline has passed, or the close cancels.
Enough ==
  /\ at[Closer].pc \in {"wait", "asleep"}
  /\ Patient => at[Closer].pc = "wait" /\ NoneLeft
  /\ at' = [at EXCEPT ![Closer].pc = "stop"]
  /\ UNCHANGED <<word, notified, Where, live, open, queue, stop, budget, told, back, private>>

\* The close sends a carrier its stop: wp_carrier_submit_pinned.
SendStop(c) ==
  /\ at[Closer].pc = "stop"
  /\ stop[c] = "no"
  /\ stop' = [stop EXCEPT ![c] = "sent"]
  /\ UNCHANGED <<word, notified, Where, live, open, queue, at, budget, told, back, private>>

\* The close waits until every carrier has exited.
Join ==                       \* [group.1]
  /\ at[Closer].pc = "stop"
  /\ \A c \in Carriers : stop[c] # "no"
  /\ \A c \in Carriers : at[c].pc = "exited"
  /\ at' = [at EXCEPT ![Closer].pc = "drain"]
  /\ UNCHANGED <<word, notified, Where, live, open, queue, stop, budget, told, back, private>>

\* The close hands the task back: it belongs to its user again, although an unpark may still come.
HandBack(t) ==
  /\ live' = [live EXCEPT ![list[t]] = @ \ {t}]
  /\ back' = back \cup {t}

\* The close hands back a task from a queue. The task's word stays BUSY, or PARKED and notified.
DrainQueue(q) ==
  /\ at[Closer].pc = "drain"
  /\ CanPop(q)
  /\ HandBack(queue[q][1].task)
  /\ queue' = [queue EXCEPT ![q] = Tail(@)]
  /\ UNCHANGED <<word, notified, Where, open, stop, at, budget, told, private>>

\* The close hands back a task from a private queue.
DrainPrivate(c) ==
  /\ at[Closer].pc = "drain"
  /\ private[c] # <<>>
  /\ HandBack(Head(private[c]))
  /\ private' = [private EXCEPT ![c] = Tail(@)]
  /\ UNCHANGED <<word, notified, Where, open, queue, stop, at, budget, told>>

\* The close cancels a parked task that no unparker is about to queue.
DrainParked(t) ==             \* [task.6]
  /\ at[Closer].pc = "drain"
  /\ word[t] = "PARKED"
  /\ t \in live[list[t]]
  /\ t \notin notified
  /\ HandBack(t)
  /\ word' = [word EXCEPT ![t] = "CANCELLED"]
  /\ UNCHANGED <<notified, Where, open, queue, stop, at, budget, told, private>>

\* Every list is empty, so every unparker that owed a push has made it, and the group is closed.
Closed ==
  /\ at[Closer].pc = "drain"
  /\ NoneLeft
  /\ at' = [at EXCEPT ![Closer].pc = "closed"]
  /\ UNCHANGED <<word, notified, Where, live, open, queue, stop, budget, told, back, private>>

Carrier(c) ==
  \/ \E q \in Queues : Pop(c, q)
  \/ Begin(c)
  \/ Settle(c)
  \/ Yield(c)
  \/ Park(c)
  \/ Done(c)
  \/ Stop(c)
  \/ PopPrivate(c)
  \/ Keep(c)
  \/ \E t \in Tasks : Spawn(c, t)

Close ==
  \/ Sleep \/ Enough \/ Join \/ Closed
  \/ \E c \in Carriers : Shut(c) \/ SendStop(c) \/ DrainPrivate(c)
  \/ \E q \in Queues : DrainQueue(q)
  \/ \E t \in Tasks : DrainParked(t)

\* The intended end of a close that waits for a parked task which no thread will unpark.
WaitsForEver ==
  /\ Patient
  /\ at[Closer].pc = "asleep"
  /\ budget.unpark = 0
  /\ \A c \in Carriers : at[c].pc = "poll" /\ private[c] = <<>>
  /\ \A q \in Queues : queue[q] = <<>>
  /\ \A s \in Starters : at[s].pc = "done"
  /\ at[Unparker].pc = "idle"

Finished == (at[Closer].pc = "closed" \/ WaitsForEver) /\ UNCHANGED vars
Next ==
  \/ \E s \in Starters, t \in Tasks, c \in Carriers : Start(s, t, c)
  \/ \E t \in Threads : Reserve(t) \/ Publish(t)
  \/ \E c \in Carriers : Carrier(c)
  \/ \E t \in Tasks : Unpark(t)
  \/ Resume(Unparker)
  \/ Close
  \/ Finished

Spec == Init /\ [][Next]_vars

(* What must hold. *)

\* The carriers that have taken the task and not yet finished the step in which they run it.
Hands(t) == {c \in Carriers : at[c].task = t /\ at[c].pc \in {"begin", "run"}}

\* The queue cells that hold the task.
Cells(t) == {x \in Queues \X (1 .. 4) :
               IF x[2] \in DOMAIN queue[x[1]] THEN queue[x[1]][x[2]].task = t ELSE FALSE}
  \cup {x \in Carriers \X {0} : t \in {private[x[1]][i] : i \in DOMAIN private[x[1]]}}

\* A task is in at most one place: with one carrier, or in one queue.
OneCarrier == \A t \in Tasks : Cardinality(Hands(t)) + Cardinality(Cells(t)) <= 1

\* A queue holds only tasks whose home is the carrier of the queue. This is so even if the tasks
\* were stolen before, and even if unparkers choose homes.
HomeReturn ==
  \A c \in Carriers :
    /\ \A q \in {c, Inbox(c)} : \A i \in DOMAIN queue[q] : home[queue[q][i].task] = c
    /\ \A i \in DOMAIN private[c] : home[private[c][i]] = c

\* A task that has settled on a carrier is run by no other carrier.
StaysSettled == \A t \in settled : Hands(t) \subseteq {home[t]}

\* No thread chooses another home for a task that has settled.
HomeStaysSettled == [][\A t \in settled : home'[t] = home[t]]_vars

\* Some thread is about to queue the task.
IsOwed(t) == \E s \in Threads : at[s].task = t /\ at[s].pc \in {"place", "push", "again", "publish"}

\* A task that was unparked is on its way to a carrier, or its next park will be refused. This is
\* Task's claim, for many tasks and homes.
UnparkNotLost ==
  \A t \in told \ back :
    \/ Cells(t) # {} \/ IsOwed(t) \/ \E c \in Hands(t) : at[c].pc = "begin"
    \/ t \in notified /\ Hands(t) # {}
\* An accepted task is listed and can be run until it ends or is handed back.
NoTaskLost ==
  \A t \in Tasks \ back : word[t] \in {"BUSY", "PARKED"} =>
    /\ t \in live[list[t]]
    /\ Cells(t) # {} \/ IsOwed(t) \/ Hands(t) # {} \/ word[t] = "PARKED"
    /\ at[Closer].pc # "closed"
\* A task that has ended is on no list and in no queue, and no thread is about to queue it.
EndIsFinal == \A t \in Tasks : word[t] = "DONE" => Cells(t) = {} /\ ~IsOwed(t) /\ t \notin live[list[t]]

\* A list that the close has shut accepts no more tasks, neither from a starter outside the group
\* nor from a spawn.
AcceptsWhileOpen ==
  [][\A t \in Tasks : word[t] = "NEW" /\ word'[t] # "NEW" => list'[t] \in open]_vars

\* A task that was handed back is in no queue, no carrier has it, and no unpark queues it. So its
\* user is the only thread that has it.
BackIsLeftAlone == \A t \in back : Cells(t) = {} /\ Hands(t) = {} /\ ~IsOwed(t)

\* After the close no carrier runs, no queue holds a task, and no thread is about to push one.
NothingRunsAfterClose ==
  at[Closer].pc = "closed" =>
    /\ \A c \in Carriers : at[c].pc = "exited" /\ private[c] = <<>>
    /\ \A q \in Queues : queue[q] = <<>>
    /\ \A t \in Tasks : ~IsOwed(t)

\* A carrier exits only after it has read its own stop.
StopsItself == \A c \in Carriers : at[c].pc = "exited" => stop[c] = "read"
\* A close without a deadline hands nothing back.
WaitsForAll == Patient => back = {}
\* A close sleeps only while a task is listed.
CloserIsWoken == at[Closer].pc = "asleep" => \E c \in Carriers : live[c] # {}

\* The place of each task, as defined in Tasks.
Place == [t \in Tasks |->
  IF word[t] = "NEW" THEN "new" ELSE IF t \in back THEN "back" ELSE IF word[t] = "DONE" THEN "done"
  ELSE IF \E c \in Carriers : at[c].task = t /\ at[c].pc = "run"
       THEN CHOOSE c \in Carriers : at[c].task = t /\ at[c].pc = "run"
  ELSE IF word[t] = "PARKED" /\ t \notin notified THEN "parked" ELSE "queued"]

Abstract == INSTANCE Tasks WITH place <- Place
\* The group refines Tasks: each task is in one place, runs on one carrier at a time, and ends once.
EachRunsOnce == Abstract!Spec
=============================================================================
