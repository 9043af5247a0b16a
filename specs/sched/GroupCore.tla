----------------------------- MODULE GroupCore ------------------------------
(***************************************************************************)
(* The state of Group, starting and unparking, and the carriers. Group.tla *)
(* says what is abstracted, and has the claims.                            *)
(* Code       kernel/sched/carrier_tasks.h, worker.h; kernel/thread/task.h *)
(*            ([task.1]..[task.6]).                                        *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Carriers,  \* the carriers of the group
  Tasks,     \* the tasks that may be started
  Starters,  \* threads that start one task each, on a carrier of their choice
  Children,  \* the number of tasks that running tasks may start
  Unparks,   \* the number of times that tasks are unparked from outside
  Yields,    \* the number of times that tasks yield
  Settling,  \* the number of tasks that may settle on the carrier that runs them
  Stealing,  \* TRUE: carriers may take tasks of their siblings
  Resuming,  \* TRUE: a task's unparker chooses its home, unless the task has settled
  Patient    \* TRUE: the close waits for all tasks, without a deadline

ASSUME SomebodyRuns == Carriers # {} /\ {Children, Unparks, Yields, Settling} \subseteq Nat

VARIABLES
  word,      \* task -> "NEW", "PARKED", "BUSY", "DONE", "CANCELLED"
  notified,  \* the tasks whose `notified` bit is set
  home,      \* task -> its home carrier
  list,      \* task -> the carrier whose list the task is on: where it was started
  settled,   \* tasks that run only at their home
  live,      \* carrier -> its list: the tasks that were accepted and have not ended
  open,      \* carriers that still accept tasks in their lists
  queue,     \* carrier, or the inbox of one -> cells: a task, and the thread that has yet to
             \* publish it
  private,   \* carrier -> its private queue, which is used if carriers do not steal
  stop,      \* carrier -> its stop: "no" if none was sent, "sent" if the inbox holds it, "read" if
             \* the carrier has read it
  at,        \* thread -> its next step, and the task that it has
  budget,    \* what is left of Children, Unparks, Yields and Settling
  told,      \* ghost: tasks that were unparked and have not begun a run since
  back       \* tasks that the close hands back

Where == <<home, list, settled>>
vars == <<word, notified, Where, live, open, queue, stop, at, budget, told, back, private>>

None == "none"
Closer == "closer"
Unparker == "unparker"
Threads == Carriers \cup Starters \cup {Unparker, Closer}

\* The inbox of carrier c, from which only c takes tasks.
Inbox(c) == <<"inbox", c>>
Queues == Carriers \cup {Inbox(c) : c \in Carriers}
Cell == [task : Tasks, by : Threads \cup {None}]

TypeOK ==
  /\ word \in [Tasks -> {"NEW", "PARKED", "BUSY", "DONE", "CANCELLED"}]
  /\ notified \subseteq Tasks
  /\ told \subseteq Tasks
  /\ back \subseteq Tasks
  /\ {home, list} \subseteq [Tasks -> Carriers \cup {None}]
  /\ settled \subseteq Tasks
  /\ live \in [Carriers -> SUBSET Tasks]
  /\ open \subseteq Carriers
  /\ \A q \in Queues : \A i \in DOMAIN queue[q] : queue[q][i] \in Cell
  /\ private \in [Carriers -> Seq(Tasks)]
  /\ stop \in [Carriers -> {"no", "sent", "read"}]
  /\ \A t \in Threads : at[t].task \in Tasks \cup {None}

Init ==
  /\ word = [t \in Tasks |-> "NEW"]
  /\ notified = {}
  /\ told = {}
  /\ back = {}
  /\ home = [t \in Tasks |-> None]
  /\ list = home
  /\ settled = {}
  /\ live = [c \in Carriers |-> {}]
  /\ open = Carriers
  /\ queue = [q \in Queues |-> <<>>]
  /\ private = [c \in Carriers |-> <<>>]
  /\ stop = [c \in Carriers |-> "no"]
  /\ at = [t \in Threads |-> [pc |-> IF t \in Carriers THEN "poll" ELSE "idle", task |-> None]]
  /\ budget = [child |-> Children, unpark |-> Unparks, yield |-> Yields, settle |-> Settling]

Goto(t, pc, task) == at' = [at EXCEPT ![t] = [pc |-> pc, task |-> task]]

(* A push, by the thread that owes it. Afterwards the thread goes back to its loop. *)
Target(t) ==
  LET task == at[t].task IN
  IF task \in settled THEN Inbox(home[task]) ELSE home[task]

HasPrivate == ~Stealing
IsOwn(t) == t \in Carriers /\ HasPrivate /\ Target(t) \in {t, Inbox(t)}

\* A carrier queues a task for itself.
Keep(c) ==                    \* [private_fifo.1]
  /\ at[c].pc \in {"push", "again"}
  /\ IsOwn(c)
  /\ private' = [private EXCEPT ![c] = Append(@, at[c].task)]
  /\ Goto(c, "poll", None)
  /\ UNCHANGED <<word, notified, Where, live, open, queue, stop, budget, told, back>>

\* The first half of a push: wp_carrier_submit, submit_internal or reenqueue.
Reserve(t) ==                 \* [mpsc.2]
  /\ at[t].pc \in {"push", "again"}
  /\ ~IsOwn(t)
  /\ queue' = [queue EXCEPT ![Target(t)] = Append(@, [task |-> at[t].task, by |-> t])]
  /\ Goto(t, "publish", at[t].task)
  /\ UNCHANGED <<word, notified, Where, live, open, stop, budget, told, back, private>>

\* The second half of a push: the cell is published.
Publish(t) ==                 \* [mpsc.3]
  /\ at[t].pc = "publish"
  /\ queue' = [q \in Queues |-> [i \in DOMAIN queue[q] |->
                 IF queue[q][i].by = t THEN [queue[q][i] EXCEPT !.by = None] ELSE queue[q][i]]]
  /\ Goto(t, IF t \in Carriers THEN "poll" ELSE IF t \in Starters THEN "done" ELSE "idle", None)
  /\ UNCHANGED <<word, notified, Where, live, open, stop, budget, told, back, private>>

(* Starting a task: under the lock of its home. *)

\* The task is accepted at c, which becomes its home.
Accept(t, c) ==
  /\ word' = [word EXCEPT ![t] = "BUSY"]
  /\ home' = [home EXCEPT ![t] = c]
  /\ list' = [list EXCEPT ![t] = c]
  /\ live' = [live EXCEPT ![c] = @ \cup {t}]

\* The task was not started yet.
New(t) == word[t] = "NEW" /\ \A s \in Threads : at[s].task # t

\* A starter's task is accepted if the list is open, under the lock of the list: wp_group_start.
Start(s, t, c) ==
  /\ s \in Starters
  /\ at[s].pc = "idle"
  /\ New(t)
  /\ IF c \notin open
     THEN /\ Goto(s, "done", None)
          /\ UNCHANGED <<word, home, list, live>>
     ELSE /\ Accept(t, c)
          /\ Goto(s, "push", t)
  /\ UNCHANGED <<notified, settled, open, queue, stop, budget, told, back, private>>

(* A carrier. *)
\* The code counts the queued tasks at [counters.1] [counters.2] [counters.3] [counters.4], to
\* choose the sibling to steal from. [counters.5] [counters.6] are only statistics. [submit.1]
\* chooses a home for a task that is started without one.
CanPop(q) ==
  IF queue[q] = <<>> THEN FALSE
  ELSE queue[q][1].by = None /\ IF Len(queue[q]) = 1 THEN TRUE ELSE queue[q][2].by = None

\* A carrier pops a task of its own, or steals one: wp_carrier_poll, wp_carrier_steal.
Pop(c, q) ==
  /\ at[c].pc = "poll"
  /\ CanPop(q)
  /\ q \in {c, Inbox(c)} \/ (Stealing /\ q \in Carriers)
  /\ queue' = [queue EXCEPT ![q] = Tail(@)]
  /\ Goto(c, "begin", queue[q][1].task)
  /\ UNCHANGED <<word, notified, Where, live, open, stop, budget, told, back, private>>

\* A carrier takes a task from its private queue: wp_carrier_poll. Only this thread uses the queue,
\* so the pop is one step.
PopPrivate(c) ==              \* [private_fifo.2]
  /\ at[c].pc = "poll"
  /\ private[c] # <<>>
  /\ Goto(c, "begin", Head(private[c]))
  /\ private' = [private EXCEPT ![c] = Tail(@)]
  /\ UNCHANGED <<word, notified, Where, live, open, queue, stop, budget, told, back>>

\* The carrier begins to run the task, which ends the task's park.
Begin(c) ==                   \* [task.2]
  /\ at[c].pc = "begin"
  /\ word' = [word EXCEPT ![at[c].task] = "BUSY"]
  /\ notified' = notified \ {at[c].task}
  /\ told' = told \ {at[c].task}
  /\ Goto(c, "run", at[c].task)
  /\ UNCHANGED <<Where, live, open, queue, stop, budget, back, private>>

\* The running task starts another, on the carrier that runs it.
Spawn(c, t) ==
  /\ at[c].pc = "run"
  /\ budget.child > 0
  /\ New(t)
  /\ c \in open
  /\ Accept(t, c)
  /\ IF HasPrivate
     THEN /\ private' = [private EXCEPT ![c] = Append(@, t)]
          /\ UNCHANGED queue
     ELSE /\ queue' = [queue EXCEPT ![c] = Append(@, [task |-> t, by |-> None])]
          /\ UNCHANGED private
  /\ budget' = [budget EXCEPT !.child = @ - 1]
  /\ UNCHANGED <<notified, settled, open, stop, at, told, back>>

\* The running task settles on this carrier: wp_vthread_settle. It stays on its list.
Settle(c) ==
  /\ at[c].pc = "run"
  /\ budget.settle > 0
  /\ at[c].task \notin settled
  /\ settled' = settled \cup {at[c].task}
  /\ home' = [home EXCEPT ![at[c].task] = c]
  /\ UNCHANGED list
  /\ budget' = [budget EXCEPT !.settle = @ - 1]
  /\ UNCHANGED <<word, notified, live, open, queue, stop, at, told, back, private>>

\* The running task yields.
Yield(c) ==
  /\ at[c].pc = "run"
  /\ budget.yield > 0
  /\ budget' = [budget EXCEPT !.yield = @ - 1]
  /\ Goto(c, "again", at[c].task)
  /\ UNCHANGED <<word, notified, Where, live, open, queue, stop, told, back, private>>

\* The running task parks. If it was notified, the park is refused.
Park(c) ==                    \* [task.3]
  /\ at[c].pc = "run"
  /\ LET t == at[c].task IN
     IF t \in notified
     THEN /\ Goto(c, "again", t)
          /\ UNCHANGED word
     ELSE /\ Goto(c, "poll", None)
          /\ word' = [word EXCEPT ![t] = "PARKED"]
  /\ UNCHANGED <<notified, Where, live, open, queue, stop, budget, told, back, private>>

\* The task ends. The carrier first takes it off its list, under the list's lock.
Done(c) ==                    \* [task.4]
  /\ at[c].pc = "run"
  /\ LET t == at[c].task
         rest == [live EXCEPT ![list[t]] = @ \ {t}]
         is_last == rest[list[t]] = {} /\ list[t] \notin open
     IN /\ live' = rest
        /\ word' = [word EXCEPT ![t] = "DONE"]
        /\ at' = [at EXCEPT ![c] = [pc |-> "poll", task |-> None],
                            ![Closer].pc = IF @ = "asleep" /\ is_last THEN "wait" ELSE @]
        /\ notified' = notified \ {t}
        /\ told' = told \ {t}
  /\ UNCHANGED <<Where, open, queue, stop, budget, back, private>>

\* The carrier reads its stop, which is in the inbox, and exits.
Stop(c) ==                    \* [worker.3]
  /\ at[c].pc = "poll"
  /\ stop[c] = "sent"
  /\ stop' = [stop EXCEPT ![c] = "read"]
  /\ Goto(c, "exited", None)
  /\ UNCHANGED <<word, notified, Where, live, open, queue, budget, told, back, private>>

(* Unparking. *)

\* A thread unparks the task. If it finds the task parked and not yet notified, it owes a push.
Unpark(t) ==                  \* [task.1]
  /\ at[Unparker].pc = "idle"
  /\ budget.unpark > 0
  /\ word[t] # "NEW"
  /\ budget' = [budget EXCEPT !.unpark = @ - 1]
  /\ IF word[t] \in {"DONE", "CANCELLED"}
     THEN UNCHANGED <<notified, told, at>>
     ELSE /\ notified' = notified \cup {t}
          /\ told' = told \cup {t}
          /\ IF word[t] = "PARKED" /\ t \notin notified
             THEN Goto(Unparker, IF Resuming THEN "place" ELSE "push", t)
             ELSE UNCHANGED at
  /\ UNCHANGED <<word, Where, live, open, queue, stop, back, private>>
=============================================================================
