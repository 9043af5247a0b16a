----------------------------- MODULE LocalQueueCore -----------------------------
(***************************************************************************)
(* The state of LocalQueue, and the steps of its owner, which pushes and   *)
(* pops.                                                                   *)
(*                                                                         *)
(* Code       kernel/queue/local_queue.h:                                  *)
(*            [local_queue.1]..[local_queue.6],                            *)
(*            [local_queue.11]..[local_queue.15]; carrier_tasks.c:         *)
(*            `keeps`.                                                     *)
(*                                                                         *)
(* LocalQueue.tla says what is abstracted, and has the claims.             *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Capacity,  \* the number of slots in the ring; even
  Tasks,     \* the owner pushes the tasks 1, 2, ... Tasks
  Others,    \* the number of tasks that other threads push to the global queue
  Keeps,     \* TRUE: the owner may use the next slot
  Loots,     \* TRUE: the owner may steal from other queues, two tasks at a time
  Turns,     \* every Turns-th poll begins with the global queue
  Thieves,   \* threads that steal from the ring
  Helpers    \* threads that hand the queue over to the global queue, once each

VARIABLES
  head, tail,  \* of the ring: head counts the tasks that have left the ring, tail the tasks that
               \* have entered it
  slots,       \* slot of the ring -> the task that was last written to it
  next,        \* the task in the next slot, or 0
  kept,        \* 1: the running step holds a task that it will yield to; the task is queued when
               \* the step has ended
  global,      \* the global queue: a sequence
  fresh,       \* the number of the next task to be pushed
  others,      \* the number of tasks that other threads have pushed
  turn,        \* the number of polls since the last one that began with the global queue
  pc,          \* thread -> its next step
  my,          \* thread -> what it has read: an index h, a number n, a sequence of tasks
  got,         \* ghost: task -> how often a thread took it to run it
  ordered,     \* ghost: TRUE if tasks have left the ring in order, and the owner has taken the
               \* tasks of the ring and of the next slot in order
  last,        \* ghost: the newest task that has left the ring, and the newest that the owner has
               \* taken
  asked,       \* ghost: thread -> the ring was empty when the thread read the second of the two
               \* indices
  before,      \* ghost: helper -> the tasks that were in the queue when the helper began
  waited       \* ghost: the number of polls in a row that took no global task although there was
               \* one
ring == <<head, tail, slots>>
ghosts == <<got, ordered, last, asked, before>>
vars == <<ring, next, kept, global, fresh, others, turn, pc, my, ghosts, waited>>

Owner == "owner"
All == Thieves \cup Helpers \cup {Owner}
Half == Capacity \div 2
Numbers == 1 .. Tasks + Others
Nothing == [h |-> 0, n |-> 0, tasks |-> <<>>]
Min(a, b) == IF a < b THEN a ELSE b

\* In the code indices have 64 bits, so they do not wrap.
Plus(i, k) == i + k
Between(i, k) == k - i
At(i) == slots[i % Capacity]
Range(s) == {s[i] : i \in DOMAIN s}

\* The tasks in the ring, oldest first.
Ring == [k \in 1 .. Between(head, tail) |-> At(Plus(head, k - 1))]

Init ==
  /\ head = 0
  /\ tail = 0
  /\ slots = [i \in 0 .. Capacity - 1 |-> 0]
  /\ next = 0
  /\ kept = 0
  /\ global = <<>>
  /\ fresh = 1
  /\ others = 0
  /\ turn = 0
  /\ pc = [t \in All |-> "idle"]
  /\ my = [t \in All |-> Nothing]
  /\ got = [x \in Numbers |-> 0]
  /\ ordered = TRUE
  /\ last = [ring |-> 0, own |-> 0]
  /\ asked = [t \in All |-> TRUE]
  /\ before = [t \in Helpers |-> {}]
  /\ waited = 0

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

\* Thread t goes to step `where` and remembers `what` it has read.
Reads(t, where, what) ==
  /\ Goto(t, where)
  /\ my' = [my EXCEPT ![t] = what]

\* A thread takes tasks in order to run them.
Gets(tasks) == got' = [x \in Numbers |-> IF x \in tasks THEN Min(got[x] + 1, 2) ELSE got[x]]

\* Tasks leave the ring, from its front.
Leave(tasks, own) ==
  /\ last' = [ring |-> tasks[Len(tasks)], own |-> IF own THEN tasks[1] ELSE last.own]
  /\ ordered' = (ordered /\ tasks[1] > last.ring /\ (own => tasks[1] > last.own))

(* wp_local_queue_push *)

\* The owner starts to push a task.
Push ==
  /\ pc[Owner] = "idle"
  /\ fresh + kept <= Tasks
  /\ Goto(Owner, "room")
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, my, ghosts, waited>>

\* The owner checks whether the ring has room.
Room ==                     \* [local_queue.1]
  /\ pc[Owner] = "room"
  /\ IF Between(head, tail) < Capacity
     THEN Reads(Owner, "write", Nothing)
     ELSE Reads(Owner, "overflow", [Nothing EXCEPT !.h = head])
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>

\* The ring is full, so the owner claims the oldest half of the tasks. Only the owner writes the
\* slots, so it may read the tasks before its claim.
Overflow ==                 \* [local_queue.4] [local_queue.6]
  /\ pc[Owner] = "overflow"
  /\ LET h == my[Owner].h
         oldest == [k \in 1 .. Half |-> At(h + k - 1)]
     IN IF head = h
        THEN /\ head' = Plus(h, Len(oldest))
             /\ Reads(Owner, "spill", [Nothing EXCEPT !.tasks = oldest])
             /\ Leave(oldest, FALSE)
        ELSE /\ Reads(Owner, "room", Nothing)
             /\ UNCHANGED <<head, ordered, last>>
  /\ UNCHANGED <<tail, slots, next, kept, global, fresh, others, turn, got, asked, before, waited>>

\* The owner pushes the claimed tasks to the global queue as one chain, which is a push of Mpsc. Now
\* the ring has room.
Spill ==                    \* [local_queue.15]
  /\ pc[Owner] = "spill"
  /\ global' = global \o my[Owner].tasks
  /\ Reads(Owner, "write", Nothing)
  /\ UNCHANGED <<ring, next, kept, fresh, others, turn, ghosts, waited>>

\* The owner writes the task into the ring's slot at the tail.
Write ==                    \* [local_queue.2]
  /\ pc[Owner] = "write"
  /\ slots' = [slots EXCEPT ![tail % Capacity] = fresh]
  /\ Goto(Owner, "show")
  /\ UNCHANGED <<head, tail, next, kept, global, fresh, others, turn, my, ghosts, waited>>

\* The owner publishes the task by moving the tail.
Show ==                     \* [local_queue.14] [local_queue.3]
  /\ pc[Owner] = "show"
  /\ tail' = Plus(tail, 1)
  /\ fresh' = fresh + 1
  /\ Goto(Owner, "idle")
  /\ UNCHANGED <<head, slots, next, kept, global, others, turn, my, ghosts, waited>>

(* A running task may submit another task and yield to it, in one step of the carrier.  The carrier
   keeps the submitted task until the step has ended.  Any other task that the step starts, through
   a scheduler that it calls, is pushed.  A task gets its number when it is queued. *)

\* The running step submits the task that it will yield to.
Submit ==                   \* push in carrier_tasks.c
  /\ pc[Owner] = "idle"
  /\ Keeps
  /\ kept = 0
  /\ fresh <= Tasks
  /\ kept' = 1
  /\ UNCHANGED <<ring, next, global, fresh, others, turn, pc, my, ghosts, waited>>

(* wp_local_queue_keep is one step, because only the owner could change what it has read. *)
IsRoom ==
  /\ next = 0
  /\ head = tail

\* The kept task goes to the next slot, if both the next slot and the ring are empty.
Keep ==                     \* [local_queue.12] [local_queue.5] [local_queue.11]
  /\ pc[Owner] = "idle"
  /\ kept = 1
  /\ IsRoom
  /\ next' = fresh
  /\ fresh' = fresh + 1
  /\ kept' = 0
  /\ UNCHANGED <<ring, global, others, turn, pc, my, ghosts, waited>>

\* Otherwise the kept task is pushed like any other.
Behind ==                   \* wp_local_queue_push
  /\ pc[Owner] = "idle"
  /\ kept = 1
  /\ ~IsRoom
  /\ kept' = 0
  /\ Goto(Owner, "room")
  /\ UNCHANGED <<ring, next, global, fresh, others, turn, my, ghosts, waited>>

(* A poll: wp_local_queue_is_global_turn, wp_local_queue_pop, and the global queue. *)

\* A poll begins. Every Turns-th poll takes from the global queue first.
Begin ==
  /\ pc[Owner] = "idle"
  /\ kept = 0
  /\ turn' = (turn + 1) % Turns
  /\ Goto(Owner, IF turn' = 0 THEN "first" ELSE "poll")
  /\ waited' = IF global = <<>> THEN 0 ELSE waited + 1
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, my, ghosts>>

\* The owner takes a task from the global queue, if there is one.
TakeGlobal(otherwise) ==
  /\ IF global = <<>>
     THEN /\ Goto(Owner, otherwise)
          /\ UNCHANGED <<global, got>>
     ELSE /\ Goto(Owner, "idle")
          /\ global' = Tail(global)
          /\ Gets({Head(global)})
  /\ waited' = 0
  /\ UNCHANGED <<ring, next, kept, fresh, others, turn, my, ordered, last, asked, before>>

\* When the global queue has its turn, the poll begins with it.
First ==
  /\ pc[Owner] = "first"
  /\ TakeGlobal("poll")

\* The owner reads the next slot.
Poll ==                     \* [local_queue.12]
  /\ pc[Owner] = "poll"
  /\ Goto(Owner, IF next = 0 THEN "look" ELSE "take")
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, my, ghosts, waited>>

\* The owner takes the task of the next slot, unless a helper was faster.
Take ==                     \* [local_queue.13]
  /\ pc[Owner] = "take"
  /\ Goto(Owner, IF next = 0 THEN "look" ELSE "idle")
  /\ next' = 0
  /\ Gets(IF next = 0 THEN {} ELSE {next})
  /\ ordered' = (ordered /\ (next # 0 => next > last.own))
  /\ last' = IF next = 0 THEN last ELSE [last EXCEPT !.own = next]
  /\ UNCHANGED <<ring, kept, global, fresh, others, turn, my, asked, before, waited>>

\* The owner checks whether the ring holds a task.
Look ==                     \* [local_queue.5]
  /\ pc[Owner] = "look"
  /\ Reads(Owner, IF head = tail THEN "none" ELSE "pop", [Nothing EXCEPT !.h = head])
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>

\* The owner claims the oldest task. If a thief was faster, the owner checks the ring again.
Pop ==                      \* [local_queue.4] [local_queue.6]
  /\ pc[Owner] = "pop"
  /\ LET h == my[Owner].h
     IN IF head = h
        THEN /\ head' = Plus(h, 1)
             /\ Gets({At(h)})
             /\ Leave(<<At(h)>>, TRUE)
             /\ Reads(Owner, "idle", Nothing)
        ELSE /\ Goto(Owner, "look")
             /\ UNCHANGED <<head, got, ordered, last, my>>
  /\ UNCHANGED <<tail, slots, next, kept, global, fresh, others, turn, asked, before, waited>>

\* The next slot and the ring are empty, so the owner takes a task from the global queue, or sleeps.
None ==
  /\ pc[Owner] = "none"
  /\ TakeGlobal("sleep")

\* Some thread wakes the owner.
Wake ==
  /\ pc[Owner] = "sleep"
  /\ Reads(Owner, "idle", Nothing)
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>

OwnerSteps ==
  \/ Push \/ Room \/ Overflow \/ Spill \/ Write \/ Show \/ Submit \/ Keep \/ Behind
  \/ Begin \/ First \/ Poll \/ Take \/ Look \/ Pop \/ None \/ Wake
=============================================================================
