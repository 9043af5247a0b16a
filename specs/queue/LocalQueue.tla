-------------------------------- MODULE LocalQueue --------------------------------
(***************************************************************************)
(* A bounded run queue: its owner pushes and pops without a lock, thieves  *)
(* take half, what does not fit goes to the global queue, half of it at    *)
(* once; and a slot for the one task that runs next.                       *)
(* Code       kernel/queue/local_queue.h, local_queue.h: sites             *)
(*            [local_queue.1]..[local_queue.15].                           *)
(* Abstracts  64-bit indices to numbers that do not wrap; the global queue *)
(*            to a sequence (Mpsc and BiasedLock promise that); the        *)
(*            victims of the owner to one that loses its tasks to others,  *)
(*            or not.                                                      *)
(* Memory     sequential consistency; the explorer has the code under RC11.*)
(* The slot   is its owner's: a thief does not look at it, so nobody need  *)
(*            be told of a task in it. Who hands a queue over takes it.    *)
(* Promises   Bounded, NothingTwice, NothingLost, OverflowMovesHalf,       *)
(*            FifoPerOwner, EmptyIsTrue, HandedOver, GlobalServed (safety).*)
(***************************************************************************)
EXTENDS LocalQueueCore

(* The owner steals two tasks: it copies them behind its tail, and then has them or not. *)
Loot ==                     \* [local_queue.1]
  /\ pc[Owner] = "idle"
  /\ kept = 0
  /\ Loots
  /\ fresh < Tasks
  /\ Capacity - Between(head, tail) >= 2
  /\ Goto(Owner, "loot")
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, my, ghosts, waited>>
LootCopy ==                 \* [local_queue.2] of the ring in which they will be
  /\ pc[Owner] = "loot"
  /\ slots' = [slots EXCEPT ![(tail + my[Owner].n) % Capacity] = fresh + my[Owner].n]
  /\ Reads(Owner, IF my[Owner].n = 1 THEN "looted" ELSE "loot", [my[Owner] EXCEPT !.n = @ + 1])
  /\ UNCHANGED <<head, tail, next, kept, global, fresh, others, turn, ghosts, waited>>
LootEnds ==                 \* [local_queue.10] of the victim: won, and [local_queue.3]; or lost
  /\ pc[Owner] = "looted"
  /\ \/ /\ fresh' = fresh + 2
        /\ tail' = Plus(tail, 2)
     \/ UNCHANGED <<fresh, tail>>
  /\ Reads(Owner, "idle", Nothing)
  /\ UNCHANGED <<head, slots, next, kept, global, others, turn, ghosts, waited>>

(* wp_local_queue_steal, and the rounds of wp_local_queue_hand_over. *)
Asks(t) ==
  \/ /\ t \in Thieves
     /\ pc[t] = "idle"
  \/ pc[t] = "again"
Aim(t) ==                   \* [local_queue.7]
  /\ Asks(t)
  /\ Reads(t, "aim", [Nothing EXCEPT !.h = head])
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>
Share(t, many) ==
  Min(IF t \in Thieves THEN many - many \div 2 ELSE many, Half)
Count(t) ==                 \* [local_queue.8]
  /\ pc[t] = "aim"
  /\ LET h == my[t].h
         many == Between(h, tail)
     IN Reads(t, IF many <= 0 THEN "nothing" ELSE "copy",
              [Nothing EXCEPT !.h = h, !.n = IF many <= 0 THEN 0 ELSE Share(t, many)])
  /\ asked' = [asked EXCEPT ![t] = pc'[t] = "nothing" => head = tail]
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, got, ordered, last, before, waited>>
Copy(t) ==                  \* [local_queue.9]
  /\ pc[t] = "copy"
  /\ LET tasks == Append(my[t].tasks, At(my[t].h + Len(my[t].tasks)))
     IN Reads(t, IF Len(tasks) < my[t].n THEN "copy" ELSE "claim", [my[t] EXCEPT !.tasks = tasks])
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>
Claim(t) ==                 \* [local_queue.10] a thief runs what it has claimed; lost: again
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
Has(t) ==                   \* a helper pushes them to the global queue
  /\ pc[t] = "has"
  /\ global' = global \o my[t].tasks
  /\ Reads(t, "again", Nothing)
  /\ UNCHANGED <<ring, next, kept, fresh, others, turn, ghosts, waited>>
None_(t) ==
  /\ pc[t] = "nothing"
  /\ Reads(t, IF t \in Thieves THEN "idle" ELSE "handed", Nothing)
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, ghosts, waited>>
HandOver(t) ==              \* [local_queue.13] the slot first; a task of it is in hand as one of the ring
  /\ t \in Helpers
  /\ pc[t] = "idle"
  /\ before' = [before EXCEPT ![t] = (Range(Ring) \cup {next}) \ {0}]
  /\ Reads(t, IF next = 0 THEN "again" ELSE "has",
           [Nothing EXCEPT !.tasks = IF next = 0 THEN <<>> ELSE <<next>>])
  /\ next' = 0
  /\ UNCHANGED <<ring, kept, global, fresh, others, turn, got, ordered, last, asked, waited>>
Handed(t) ==
  /\ pc[t] = "handed"
  /\ Goto(t, "over")
  /\ before' = [before EXCEPT ![t] = {}]
  /\ UNCHANGED <<ring, next, kept, global, fresh, others, turn, my, got, ordered, last, asked,
                 waited>>

Other ==                    \* somebody else pushes to the global queue
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
Written ==                  \* and not yet shown
  CASE pc[Owner] = "show" -> 1
    [] pc[Owner] \in {"loot", "looted"} -> my[Owner].n
    [] OTHER -> 0
\* The ring never has more than it has room for.
Bounded == Between(head, tail) + Written <= Capacity
\* How often a task is somewhere: in a hand, in the slot, in a queue.
Times(x, tasks) == Cardinality({i \in DOMAIN tasks : tasks[i] = x})
Hands == {t \in All : pc[t] \in {"spill", "has"}}
InHand(x) == Cardinality({t \in Hands : x \in Range(my[t].tasks)})
Places(x) == InHand(x) + (IF next = x THEN 1 ELSE 0) + Times(x, Ring) + Times(x, global)
IsIn(x) ==
  \/ x < fresh
  \/ x \in Tasks + 1 .. Tasks + others
\* A task is in one place, or was taken once: owner, thieves and who hands over never get the same.
NothingTwice == \A x \in Numbers : got[x] + Places(x) <= (IF IsIn(x) THEN 1 ELSE 0)
\* What is pushed or kept is somewhere until it is taken.
NothingLost == \A x \in Numbers : IsIn(x) => got[x] + Places(x) >= 1
\* What makes room moves the oldest half to the global queue, at once.
OverflowMovesHalf == pc[Owner] = "spill" => Len(my[Owner].tasks) = Half
\* Tasks leave the ring in their order, whoever takes them; the owner gets its own in their order,
\* from the slot too.
FifoPerOwner == ordered
\* Who finds no task in the ring asked an empty one; who sleeps has none, in the slot neither.
EmptyIsTrue ==
  /\ \A t \in Thieves \cup Helpers : pc[t] = "nothing" => asked[t]
  /\ pc[Owner] = "sleep" => /\ head = tail
                            /\ next = 0
\* After a hand-over nothing is left of what was there before.
HandedOver == \A t \in Helpers : pc[t] = "handed" => before[t] \cap Range(Ring) = {}
\* While there are own tasks, one of every so many polls takes a global one.
GlobalServed == waited <= Turns
=============================================================================
