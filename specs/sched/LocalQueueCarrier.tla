----------------------------- MODULE LocalQueueCarrier -----------------------------
(***************************************************************************)
(* Search for carriers that have bounded run queues (LocalQueue), as in Go *)
(* and Tokio. A carrier pushes its own tasks into its ring. If the ring is *)
(* full, half of it overflows to the carrier's queue. A thief takes half   *)
(* of a ring. The task that runs next may be in the carrier's next slot,   *)
(* here called its slot.                                                   *)
(*                                                                         *)
(* Code       kernel/sched/local_queue_carrier.h, local_queue_carrier.c,   *)
(*            run_queues.c, carrier.c, search.c, worker.c; [carrier.7]     *)
(*            [carrier.6] [search.7] as in Search, [local_queue.3],        *)
(*            [local_queue.10] as in LocalQueue. Tasks of other threads go *)
(*            to the queue of Search, or to its inbox.                     *)
(* Abstracts  the ring to its number of tasks; the reads of both ends of a *)
(*            ring to one step (LocalQueue). A probe before a park is like *)
(*            the steal of a carrier that gives up a park. There are no    *)
(*            spurious wakeups.                                            *)
(* Memory     sequential consistency; the explorer checks the memory       *)
(*            orders.                                                      *)
(* Promises   NothingStrands, SlotIsNext (safety).                         *)
(***************************************************************************)
EXTENDS Search

CONSTANTS
  Capacity,  \* the capacity of a ring, 2 or 4
  Filled,    \* the number of tasks at the start in each ring that is not empty
  Spilled,   \* the number of tasks at the start in the queue of each carrier with such a ring;
             \* these tasks have overflowed
  Busy,      \* {b}: at the start only carrier b has a task and a ring that is not empty, and b is
             \* about to look for a helper; {}: any carriers may
  Sleepers,  \* the carriers that are asleep at the start
  Keeping    \* TRUE: a task may submit another task and yield to it, and the submitted task is the
             \* next one

VARIABLES
  ring,  \* carrier -> the number of tasks in its ring
  slot   \* carrier -> TRUE if its slot has a task, which runs next

localVars == <<vars, ring, slot>>

Half == Capacity \div 2
ASSUME LootIsOne == Capacity \in {2, 4}     \* half of a ring is one task or two

LocalTypeOK == ring \in [Carriers -> 0 .. Capacity] /\ slot \in [Carriers -> BOOLEAN]
LocalInit ==
  /\ word = [c \in Carriers |-> IF c \in Sleepers THEN "PARKED" ELSE "RUNNING"]
  /\ idle = Sleepers
  /\ token = [k \in Tokens |-> Free]
  /\ ring \in {[c \in Carriers |-> IF c \in full THEN Filled ELSE 0] :
               full \in IF Busy = {} THEN SUBSET Carriers ELSE {Busy}}
  /\ queue = [c \in Carriers |-> [i \in 1 .. (IF ring[c] > 0 THEN Spilled ELSE 0) |-> Task]]
  /\ inbox = [c \in Carriers |-> <<>>]
  /\ held \in IF Busy = {} THEN [Carriers -> BOOLEAN] ELSE {[c \in Carriers |-> c \in Busy]}
  /\ at = [t \in Threads |->
             [pc |-> IF t \in Submitters THEN "start" ELSE IF t \in Sleepers THEN "asleep"
                     ELSE IF Busy = {} THEN IF held[t] THEN "run" ELSE "poll"
                     ELSE IF t \in Busy THEN "idle" ELSE "park",
              arg |-> IF t \in Busy THEN t ELSE None, todo |-> {}, seen |-> {}]]
  /\ budget = [spawn |-> Spawns, yield |-> Yields]
  /\ slot = [c \in Carriers |-> FALSE]

Stays == UNCHANGED <<ring, slot>>
Rest == UNCHANGED <<word, idle, token, queue, inbox, budget>>

(* Pushes to carrier c by the task that c runs. *)

\* The running task submits another: wp_carrier_submit_internal.
Spawn(c) ==
  /\ at[c].pc = "run"
  /\ budget.spawn > 0
  /\ budget' = [budget EXCEPT !.spawn = @ - 1]
  /\ Move(c, "push", None)
  /\ UNCHANGED <<word, idle, token, queue, inbox, held>>
  /\ Stays

\* The running task yields: wp_carrier_reenqueue. If it uses the slot, this is submit_and_yield.
Yield(c) ==
  /\ at[c].pc = "run"
  /\ budget.yield > 0
  /\ budget' = [budget EXCEPT !.yield = @ - 1]
  /\ held' = [held EXCEPT ![c] = FALSE]
  /\ \E keeps \in IF Keeping /\ ring[c] = 0 THEN BOOLEAN ELSE {FALSE} :
       slot' = [slot EXCEPT ![c] = keeps]                                          \* [local_queue.11]
  /\ Move(c, "push", None)
  /\ UNCHANGED <<word, idle, token, queue, inbox, ring>>

\* The carrier puts the task into its ring, and then checks whether a helper must be woken
\* ([carrier.7]).
Put(c) ==                     \* [local_queue.3]
  /\ at[c].pc \in {"push", "push_spilt"}
  /\ ring[c] < Capacity
  /\ ring' = [ring EXCEPT ![c] = @ + 1]
  /\ Move(c, IF held[c] THEN "idle" ELSE "alone", c)
  /\ UNCHANGED <<held, slot>>
  /\ Rest

\* The ring is full: the carrier claims half of it.
Overflow(c) ==                \* [local_queue.4]
  /\ at[c].pc = "push"
  /\ ring[c] = Capacity
  /\ ring' = [ring EXCEPT ![c] = @ - Half]
  /\ Move(c, "spill", None)
  /\ UNCHANGED <<held, slot>>
  /\ Rest

\* The claimed half goes to the carrier's queue as one chain: the first step of a push.
Spill(c) ==                   \* [mpsc.2]
  /\ at[c].pc = "spill"
  /\ queue' = [queue EXCEPT ![c] = @ \o [i \in 1 .. Half |-> IF i = 1 THEN c ELSE Task]]
  /\ Move(c, "publish", c)
  /\ UNCHANGED <<word, idle, token, inbox, held, budget>>
  /\ Stays

\* The chain is published: the second step of the push.
Spilt(c) ==                   \* [mpsc.3]
  /\ at[c].pc = "publish"
  /\ Unname(c, c)
  /\ Move(c, "push_spilt", None)
  /\ UNCHANGED <<word, idle, token, held, budget>>
  /\ Stays

\* If the carrier has only one task, it takes this task next, so it needs no helper.
IsLeftAlone(c) ==             \* [carrier.7]
  /\ at[c].pc = "alone"
  /\ IF ring[c] = 1 /\ ~slot[c] /\ queue[c] = <<>> /\ inbox[c] = <<>> THEN Return(c)
     ELSE Move(c, "idle", c)
  /\ Looks
  /\ Stays

(* A poll takes from the slot first, and then from the carrier's queues in any order. *)
Polls(c) ==
  /\ at[c].pc = "poll"
  /\ ~slot[c]

Has(x) == HasPublished(queue[x], IsHole)
Runs(c) == held' = [held EXCEPT ![c] = TRUE] /\ Move(c, "run", None) /\ Rest

\* The carrier takes the task of its slot.
PollSlot(c) ==                \* [local_queue.13]
  /\ at[c].pc = "poll"
  /\ slot[c]
  /\ slot' = [slot EXCEPT ![c] = FALSE]
  /\ Runs(c)
  /\ UNCHANGED ring

\* The carrier takes a task from its ring.
PollRing(c) ==                \* [local_queue.4]
  /\ Polls(c)
  /\ ring[c] > 0
  /\ ring' = [ring EXCEPT ![c] = @ - 1]
  /\ Runs(c)
  /\ UNCHANGED slot

\* The carrier pops from its queue. If it gets nothing, it polls the ring next.
LocalPop(c) ==
  /\ at[c].pc = "pop"
  /\ LET got == CanPop(queue[c], IsHole)
         missed == IF ring[c] > 0 THEN "poll" ELSE "park"
     IN /\ queue' = [queue EXCEPT ![c] = IF got THEN Tail(@) ELSE @]
        /\ held' = [held EXCEPT ![c] = got]
        /\ at' = [(IF got THEN Taken(c) ELSE at) EXCEPT
                   ![c] = [pc |-> IF got THEN "run" ELSE missed, arg |-> None,
                           todo |-> {}, seen |-> {}]]
  /\ UNCHANGED <<word, idle, token, inbox, budget>>
  /\ Stays

\* The carrier finds nothing to run and goes to park.
LocalNothing(c) ==
  /\ at[c].pc = "poll"
  /\ ~slot[c]
  /\ ring[c] = 0
  /\ ~Has(c)
  /\ ~CanPop(inbox[c], IsHole)
  /\ Move(c, "park", None)
  /\ Looks
  /\ Stays

(* A steal takes half of the ring, or else one task of the queue. *)

\* The thief takes half of the victim's ring.
StealRing(c) ==               \* [local_queue.10]
  /\ at[c].pc \in {"serve", "steal"}
  /\ ring[at[c].arg] > 0
  /\ LET v == at[c].arg
         n == IF ring[v] > 2 THEN 2 ELSE 1
     IN /\ ring' = [ring EXCEPT ![v] = @ - n]
        /\ held' = [held EXCEPT ![c] = TRUE]
        /\ Move(c, IF n = 2 THEN IF at[c].pc = "serve" THEN "serve_loot" ELSE "loot"
                   ELSE IF at[c].pc = "serve" THEN "stop" ELSE "run",
                IF at[c].pc = "serve" THEN v ELSE None)
  /\ UNCHANGED slot
  /\ Rest

\* The thief puts the rest of its stolen tasks into its own ring, and then checks whether a helper
\* must be woken ([carrier.7]). If the thief was woken by a search, the re-check after the release
\* of the token does this.
Loot(c) ==                    \* [local_queue.3]
  /\ at[c].pc \in {"serve_loot", "loot"}
  /\ ring' = [ring EXCEPT ![c] = @ + 1]
  /\ IF at[c].pc = "serve_loot" THEN Move(c, "stop", at[c].arg) ELSE Move(c, "idle", c)
  /\ UNCHANGED <<held, slot>>
  /\ Rest

\* The thief takes from the victim's queue only if the victim's ring is empty.
LocalAcquire(c) ==
  /\ at[c].pc \in {"serve", "steal"} => ring[at[c].arg] = 0
  /\ TryAcquire(c)
  /\ Stays

(* Is there something to steal?  The searcher reads the ring first, and then the queue of Search. *)

\* The searcher reads a sibling's ring.
LocalHit(t) ==
  /\ AsksFor(t, "front")
  /\ \E x \in at[t].todo :
       IF ring[x] > 0
       THEN Hit(t, x)
       ELSE Goto(t, IF IsScan(t) THEN "scan_queue" ELSE "look_queue", x, at[t].todo, {})
  /\ Looks

\* The ring was empty, so the searcher reads the front of the queue.
LocalFront(t) ==              \* [mpsc.9] [mpsc.11]
  /\ at[t].pc \in {"scan_queue", "look_queue"}
  /\ LET x == at[t].arg
         scans == at[t].pc = "scan_queue" IN
     IF ~Has(x)
     THEN IF at[t].todo # {x}
          THEN Goto(t, IF scans THEN "scan" ELSE "look", None, at[t].todo \ {x}, {})
          ELSE IF scans THEN Return(t) ELSE Move(t, "asleep", None)
     ELSE Goto(t, IF scans THEN "scan_tail" ELSE "look_tail", x, at[t].todo, {x})
  /\ Looks

LocalCarrier(c) ==
  \/ /\ at[c].pc \notin {"publish", "alone"}
     /\ Searcher(c)
     /\ Stays
  \/ LocalFront(c) /\ Stays
  \/ /\ Polls(c)
     /\ PollQueue(c) \/ PollInbox(c)
     /\ Stays
  \/ /\ Advertise(c) \/ SetIdle(c) \/ LookOwn(c) \/ LookInbox(c) \/ Awake(c) \/ ClearIdle(c)
     /\ Stays
  \/ Leave(c) /\ Stays
  \/ /\ at[c].pc # "pop"
     /\ Pop(c)
     /\ Stays
  \/ Put(c)
  \/ Overflow(c)
  \/ Spill(c)
  \/ Spilt(c)
  \/ IsLeftAlone(c)
  \/ PollSlot(c)
  \/ PollRing(c)
  \/ LocalPop(c)
  \/ LocalNothing(c)
  \/ StealRing(c)
  \/ Loot(c)
  \/ LocalAcquire(c)

LocalNext ==
  \/ \E s \in Submitters : (Submitter(s) \/ LocalFront(s)) /\ Stays
  \/ \E s \in Submitters, c \in Carriers : (Submit(s, c) \/ SubmitPinned(s, c)) /\ Stays
  \/ \E c \in Carriers : LocalCarrier(c) \/ Spawn(c) \/ Yield(c) \/ (End(c) /\ Stays)
  \/ (\A t \in Threads : at[t].pc = "done" \/ Asleep(t)) /\ UNCHANGED localVars

LocalSpec == LocalInit /\ [][LocalNext]_localVars

(* What must hold. *)

\* Carrier x has a task that waits to be run.
Waits(x) == slot[x] \/ ring[x] > 0 \/ Has(x)

\* Search!WorkConservation holds for all tasks that a carrier may have: those of its ring, its slot
\* and its queue.
NothingStrands ==
  ~ /\ \A t \in Threads : IsQuiet(t)
    /\ \E c \in Carriers : Asleep(c)
    /\ \E x \in Victims : Waits(x)

\* While a carrier's slot has a task, the carrier runs no other task.
SlotIsNext == \A c \in Carriers : slot[c] => at[c].pc # "run"
=============================================================================
