-------------------------------- MODULE LocalQueue --------------------------------
(***************************************************************************)
(* A bounded run queue with work stealing, as in Go and Tokio. The tasks   *)
(* lie in a ring. The owner of the queue pushes and pops without a lock,   *)
(* and thieves take half of the tasks. A push that finds the ring full     *)
(* moves the oldest half of the tasks to the global queue, all in one      *)
(* push. Beside the ring there is the next slot, which holds the one task  *)
(* that runs next.                                                         *)
(*                                                                         *)
(* The next slot belongs to the owner. Thieves do not look at it, so no    *)
(* thread has to be woken for a task in it. A helper that hands the queue  *)
(* over to the global queue, when the owner is blocked, takes the task of  *)
(* the next slot too.                                                      *)
(*                                                                         *)
(* Code       kernel/queue/local_queue.h: sites                            *)
(*            [local_queue.1]..[local_queue.15].                           *)
(* Abstracts  64-bit indices to numbers that do not wrap; the global queue *)
(*            to a sequence, as Mpsc and BiasedLock promise; the queues    *)
(*            that the owner steals from to one queue, which may lose its  *)
(*            tasks to other thieves.                                      *)
(* Memory     sequential consistency; the explorer checks the code under   *)
(*            RC11.                                                        *)
(* Promises   Bounded, NothingTwice, NothingLost, OverflowMovesHalf,       *)
(*            FifoPerOwner, EmptyIsTrue, HandedOver, GlobalServed          *)
(*            (safety).                                                    *)
(***************************************************************************)
EXTENDS LocalQueueCore

(* The owner steals two tasks. It copies them behind its tail, and then claims them or drops the
   copies. *)

\* The owner has room and starts to steal two tasks.
Loot ==                     \* [local_queue.1]
  /\ pc[Owner] = "idle"
  /\ kept = 0
  /\ Loots
  /\ fresh < Tasks
  /\ Capacity - Between(head, tail) >= 2
  /\ Goto(Owner, "loot")
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, my, ghosts, waited>>

\* The owner copies a stolen task into its own ring, behind the tail, where no thief sees the task
\* yet.
LootCopy ==                 \* [local_queue.2]
  /\ pc[Owner] = "loot"
  /\ slots' = [slots EXCEPT ![(tail + my[Owner].n) % Capacity] = fresh + my[Owner].n]
  /\ Reads(Owner, IF my[Owner].n = 1 THEN "looted" ELSE "loot", [my[Owner] EXCEPT !.n = @ + 1])
  /\ UNCHANGED <<head, tail, next, kept, global, fresh, others, turn, ghosts, waited>>

\* The owner's claim succeeds, and the owner publishes the tasks. Or another thief was faster, and
\* the owner drops the copies.
LootEnds ==                 \* [local_queue.10] [local_queue.3]
  /\ pc[Owner] = "looted"
  /\ \/ /\ fresh' = fresh + 2
        /\ tail' = Plus(tail, 2)
     \/ UNCHANGED <<fresh, tail>>
  /\ Reads(Owner, "idle", Nothing)
  /\ UNCHANGED <<head, slots, next, kept, global, others, turn, ghosts, waited>>

(* wp_local_queue_steal, and the rounds of wp_local_queue_hand_over. *)

\* A thief begins a steal, or a helper begins the next round of its hand-over.
Asks(t) ==
  \/ /\ t \in Thieves
     /\ pc[t] = "idle"
  \/ pc[t] = "again"

\* The thread reads the head.
Aim(t) ==                   \* [local_queue.7]
  /\ Asks(t)
  /\ Reads(t, "aim", [Nothing EXCEPT !.h = head])
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>

\* A thief takes half of the tasks, rounded up, and a helper takes all. Neither takes more than half
\* of the capacity at a time.
Share(t, many) ==
  Min(IF t \in Thieves THEN many - many \div 2 ELSE many, Half)

\* The thread reads the tail, and now knows how many tasks it may take.
Count(t) ==                 \* [local_queue.8]
  /\ pc[t] = "aim"
  /\ LET h == my[t].h
         many == Between(h, tail)
     IN Reads(t, IF many <= 0 THEN "nothing" ELSE "copy",
              [Nothing EXCEPT !.h = h, !.n = IF many <= 0 THEN 0 ELSE Share(t, many)])
  /\ asked' = [asked EXCEPT ![t] = pc'[t] = "nothing" => head = tail]
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, got, ordered, last, before, waited>>

\* The thread copies one task.
Copy(t) ==                  \* [local_queue.9]
  /\ pc[t] = "copy"
  /\ LET tasks == Append(my[t].tasks, At(my[t].h + Len(my[t].tasks)))
     IN Reads(t, IF Len(tasks) < my[t].n THEN "copy" ELSE "claim", [my[t] EXCEPT !.tasks = tasks])
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>

\* The thread claims the copied tasks with one compare-and-swap on the head, and starts again if
\* that fails. A thief runs the tasks that it has claimed.
Claim(t) ==                 \* [local_queue.10]
  /\ pc[t] = "claim"
  /\ IF head # my[t].h
     THEN /\ Reads(t, "again", Nothing)
          /\ UNCHANGED <<head, got, ordered, last>>
     ELSE /\ head' = Plus(head, my[t].n)
          /\ Leave(my[t].tasks, FALSE)
          /\ IF t \in Thieves
             THEN /\ Reads(t, "idle", Nothing)
                  /\ Gets(Range(my[t].tasks))
             ELSE /\ Goto(t, "has")
                  /\ UNCHANGED <<my, got>>
  /\ UNCHANGED <<tail, slots, next, kept, global, fresh, others, turn, asked, before, waited>>

\* A helper pushes the tasks that it has claimed to the global queue.
Has(t) ==
  /\ pc[t] = "has"
  /\ global' = global \o my[t].tasks
  /\ Reads(t, "again", Nothing)
  /\ UNCHANGED <<ring, next, kept, fresh, others, turn, ghosts, waited>>

\* The thread has found no task. So the thief's steal has failed, or the helper's hand-over is
\* complete.
None_(t) ==
  /\ pc[t] = "nothing"
  /\ Reads(t, IF t \in Thieves THEN "idle" ELSE "handed", Nothing)
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>

\* A helper first takes the task of the next slot. It then treats this task like those that it
\* claims from the ring.
HandOver(t) ==              \* [local_queue.13]
  /\ t \in Helpers
  /\ pc[t] = "idle"
  /\ before' = [before EXCEPT ![t] = (Range(Ring) \cup {next}) \ {0}]
  /\ Reads(t, IF next = 0 THEN "again" ELSE "has",
           [Nothing EXCEPT !.tasks = IF next = 0 THEN <<>> ELSE <<next>>])
  /\ next' = 0
  /\ UNCHANGED <<ring, kept, global, fresh, others, turn, got, ordered, last, asked, waited>>

\* The helper returns.
Handed(t) ==
  /\ pc[t] = "handed"
  /\ Goto(t, "over")
  /\ before' = [before EXCEPT ![t] = {}]
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, my, got, ordered, last, asked,
                 waited>>

\* Another thread pushes a task to the global queue.
Other ==
  /\ others < Others
  /\ others' = others + 1
  /\ global' = Append(global, Tasks + others + 1)
  /\ UNCHANGED <<ring, next, kept, fresh, turn, pc, my, ghosts, waited>>

Taker(t) ==
  \/ Aim(t) \/ Count(t) \/ Copy(t) \/ Claim(t) \/ Has(t) \/ None_(t) \/ HandOver(t) \/ Handed(t)

Next ==
  \/ OwnerSteps \/ Loot \/ LootCopy \/ LootEnds \/ Other
  \/ \E t \in Thieves \cup Helpers : Taker(t)

Spec == Init /\ [][Next]_vars           \* the owner polls for ever: no state is an intended end

(* What must hold. *)
TypeOK ==
  /\ {head, tail} \subseteq Nat
  /\ slots \in [0 .. Capacity - 1 -> Numbers \cup {0}]
  /\ next \in 0 .. Tasks
  /\ kept \in 0 .. 1
  /\ global \in Seq(Numbers)
  /\ fresh \in 1 .. Tasks + 1
  /\ others \in 0 .. Others
  /\ turn \in 0 .. Turns - 1
  /\ pc \in [All -> {"idle", "room", "overflow", "spill", "write", "show", "first", "poll", "take",
                     "look", "pop", "none", "sleep", "loot", "looted", "again", "aim", "nothing",
                     "copy", "claim", "has", "handed", "over"}]

\* The number of tasks that the owner has written and not yet published.
Written ==
  CASE pc[Owner] = "show" -> 1
    [] pc[Owner] \in {"loot", "looted"} -> my[Owner].n
    [] OTHER -> 0

\* The ring never holds more tasks than its capacity.
Bounded == Between(head, tail) + Written <= Capacity

\* The number of times that task x is in the sequence `tasks`.
Times(x, tasks) == Cardinality({i \in DOMAIN tasks : tasks[i] = x})

\* The threads that hold tasks while they move them from one queue to another.
Hands == {t \in All : pc[t] \in {"spill", "has"}}
InHand(x) == Cardinality({t \in Hands : x \in Range(my[t].tasks)})
Places(x) == InHand(x) + (IF next = x THEN 1 ELSE 0) + Times(x, Ring) + Times(x, global)
IsIn(x) ==
  \/ x < fresh
  \/ x \in Tasks + 1 .. Tasks + others

\* A task is in at most one place until it is taken, and is taken at most once. So no two of the
\* owner, the thieves and the helpers get the same task.
NothingTwice == \A x \in Numbers : got[x] + Places(x) <= (IF IsIn(x) THEN 1 ELSE 0)

\* A task that was pushed or kept is in some place until it is taken.
NothingLost == \A x \in Numbers : IsIn(x) => got[x] + Places(x) >= 1

\* An overflow moves the oldest half of the tasks to the global queue, in one push.
OverflowMovesHalf == pc[Owner] = "spill" => Len(my[Owner].tasks) = Half

\* Tasks leave the ring in order, whichever thread takes them. The owner gets its own tasks in
\* order, including the task of the next slot.
FifoPerOwner == ordered

\* A thread that reports an empty ring has read a ring that was empty. An owner that sleeps has no
\* task in its ring and none in its next slot.
EmptyIsTrue ==
  /\ \A t \in Thieves \cup Helpers : pc[t] = "nothing" => asked[t]
  /\ pc[Owner] = "sleep" => /\ head = tail
                            /\ next = 0

\* After a hand-over, the ring holds none of the tasks that were there when the hand-over began.
HandedOver == \A t \in Helpers : pc[t] = "handed" => before[t] \cap Range(Ring) = {}

\* Even while the owner has tasks of its own, at least one of every Turns polls takes a task from
\* the global queue, if that queue has one.
GlobalServed == waited <= Turns
=============================================================================
