----------------------------- MODULE LocalQueueCore -----------------------------
(***************************************************************************)
(* The state of LocalQueue, and its owner, who pushes and pops.            *)
(* Code       kernel/queue/local_queue.h:                                  *)
(*            [local_queue.1]..[local_queue.6], [local_queue.11]..[local_queue.15]; carrier_tasks.c: `keeps`.*)
(* What is abstracted, and the claims, are in LocalQueue.tla.              *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Capacity,  \* slots; even
  Tasks,     \* the owner pushes 1, 2, ... Tasks
  Others,    \* so many more come to the global queue from elsewhere
  Keeps,     \* the owner may use the next slot
  Loots,     \* the owner may steal from others: two tasks at a time
  Turns,     \* each so manieth poll begins with the global queue
  Thieves,
  Helpers    \* who hand the queue over, once each

VARIABLES
  head, tail,  \* of the ring: head counts what has left, tail what has come
  slots,       \* what was last written in each
  next,        \* the task in the next slot, or 0
  kept,        \* 1: what the step that runs is to yield to; it is queued when that has ended
  global,      \* the global queue: a sequence
  fresh,       \* the next task to be pushed
  others,      \* so many have come from elsewhere
  turn,        \* polls since the last one that began with the global queue
  pc,
  my,          \* thread -> what it has read: an index h, a number n, tasks
  got,         \* ghost: task -> how often somebody got it to run it
  ordered,     \* ghost: tasks have left ring, and slot and ring, in their order
  last,        \* ghost: the newest that has left the ring; that the owner has popped
  asked,       \* ghost: thread -> the ring was empty when it read the second index
  before,      \* ghost: helper -> what was there when it began
  waited       \* ghost: polls in a row that took no global task though there was one
ring == <<head, tail, slots>>
ghosts == <<got, ordered, last, asked, before>>
vars == <<ring, next, kept, global, fresh, others, turn, pc, my, ghosts, waited>>

Owner == "owner"
All == Thieves \cup Helpers \cup {Owner}
Half == Capacity \div 2
Numbers == 1 .. Tasks + Others
Nothing == [h |-> 0, n |-> 0, tasks |-> <<>>]
Min(a, b) == IF a < b THEN a ELSE b
\* 64-bit indices do not wrap.
Plus(i, k) == i + k
Between(i, k) == k - i
At(i) == slots[i % Capacity]
Range(s) == {s[i] : i \in DOMAIN s}
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
Reads(t, where, what) ==
  /\ Goto(t, where)
  /\ my' = [my EXCEPT ![t] = what]
Gets(tasks) == got' = [x \in Numbers |-> IF x \in tasks THEN Min(got[x] + 1, 2) ELSE got[x]]
\* Tasks leave the ring, from its front.
Leave(tasks, own) ==
  /\ last' = [ring |-> tasks[Len(tasks)], own |-> IF own THEN tasks[1] ELSE last.own]
  /\ ordered' = (ordered /\ tasks[1] > last.ring /\ (own => tasks[1] > last.own))

(* wp_local_queue_push *)
Push ==
  /\ pc[Owner] = "idle"
  /\ fresh + kept <= Tasks
  /\ Goto(Owner, "room")
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, my, ghosts, waited>>
Room ==                     \* [local_queue.1]
  /\ pc[Owner] = "room"
  /\ IF Between(head, tail) < Capacity
     THEN Reads(Owner, "write", Nothing)
     ELSE Reads(Owner, "overflow", [Nothing EXCEPT !.h = head])
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>
Overflow ==                 \* [local_queue.4] the oldest half; [local_queue.6] the owner alone writes the slots
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
Spill ==                    \* [local_queue.15], and a push of Mpsc: one chain; now there is room
  /\ pc[Owner] = "spill"
  /\ global' = global \o my[Owner].tasks
  /\ Reads(Owner, "write", Nothing)
  /\ UNCHANGED <<ring, next, kept, fresh, others, turn, ghosts, waited>>
Write ==                    \* [local_queue.2]
  /\ pc[Owner] = "write"
  /\ slots' = [slots EXCEPT ![tail % Capacity] = fresh]
  /\ Goto(Owner, "show")
  /\ UNCHANGED <<head, tail, next, kept, global, fresh, others, turn, my, ghosts, waited>>
Show ==                     \* [local_queue.14] [local_queue.3]
  /\ pc[Owner] = "show"
  /\ tail' = Plus(tail, 1)
  /\ fresh' = fresh + 1
  /\ Goto(Owner, "idle")
  /\ UNCHANGED <<head, slots, next, kept, global, others, turn, my, ghosts, waited>>

(* A step submits a task and yields to it: that one is in hand until the step has ended, and what
   else the step starts, by a scheduler that it calls, is pushed.  A task has its number when it is
   queued. *)
Submit ==                   \* push in carrier_tasks.c
  /\ pc[Owner] = "idle"
  /\ Keeps
  /\ kept = 0
  /\ fresh <= Tasks
  /\ kept' = 1
  /\ UNCHANGED <<ring, next, global, fresh, others, turn, pc, my, ghosts, waited>>
(* wp_local_queue_keep: one step, for the owner alone could make false what it has read. *)
IsRoom ==
  /\ next = 0
  /\ head = tail
Keep ==                     \* [local_queue.12] [local_queue.5] [local_queue.11]
  /\ pc[Owner] = "idle"
  /\ kept = 1
  /\ IsRoom
  /\ next' = fresh
  /\ fresh' = fresh + 1
  /\ kept' = 0
  /\ UNCHANGED <<ring, global, others, turn, pc, my, ghosts, waited>>
Behind ==                   \* else as any other: wp_local_queue_push
  /\ pc[Owner] = "idle"
  /\ kept = 1
  /\ ~IsRoom
  /\ kept' = 0
  /\ Goto(Owner, "room")
  /\ UNCHANGED <<ring, next, global, fresh, others, turn, my, ghosts, waited>>

(* A poll: wp_local_queue_is_global_turn, wp_local_queue_pop, and the global queue. *)
Begin ==
  /\ pc[Owner] = "idle"
  /\ kept = 0
  /\ turn' = (turn + 1) % Turns
  /\ Goto(Owner, IF turn' = 0 THEN "first" ELSE "poll")
  /\ waited' = IF global = <<>> THEN 0 ELSE waited + 1
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, my, ghosts>>
TakeGlobal(otherwise) ==
  /\ IF global = <<>>
     THEN /\ Goto(Owner, otherwise)
          /\ UNCHANGED <<global, got>>
     ELSE /\ Goto(Owner, "idle")
          /\ global' = Tail(global)
          /\ Gets({Head(global)})
  /\ waited' = 0
  /\ UNCHANGED <<ring, next, kept, fresh, others, turn, my, ordered, last, asked, before>>
First ==
  /\ pc[Owner] = "first"
  /\ TakeGlobal("poll")
Poll ==                     \* [local_queue.12]
  /\ pc[Owner] = "poll"
  /\ Goto(Owner, IF next = 0 THEN "look" ELSE "take")
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, my, ghosts, waited>>
Take ==                     \* [local_queue.13]
  /\ pc[Owner] = "take"
  /\ Goto(Owner, IF next = 0 THEN "look" ELSE "idle")
  /\ next' = 0
  /\ Gets(IF next = 0 THEN {} ELSE {next})
  /\ ordered' = (ordered /\ (next # 0 => next > last.own))
  /\ last' = IF next = 0 THEN last ELSE [last EXCEPT !.own = next]
  /\ UNCHANGED <<ring, kept, global, fresh, others, turn, my, asked, before, waited>>
Look ==                     \* [local_queue.5]
  /\ pc[Owner] = "look"
  /\ Reads(Owner, IF head = tail THEN "none" ELSE "pop", [Nothing EXCEPT !.h = head])
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>
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
None ==
  /\ pc[Owner] = "none"
  /\ TakeGlobal("sleep")
Wake ==                     \* by whomever
  /\ pc[Owner] = "sleep"
  /\ Reads(Owner, "idle", Nothing)
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>
OwnerSteps ==
  \/ Push \/ Room \/ Overflow \/ Spill \/ Write \/ Show \/ Submit \/ Keep \/ Behind
  \/ Begin \/ First \/ Poll \/ Take \/ Look \/ Pop \/ None \/ Wake
=============================================================================
