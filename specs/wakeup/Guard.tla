------------------------------- MODULE Guard -------------------------------
(***************************************************************************)
(* A guard lets a thread sleep without missing a wakeup. One thread, the   *)
(* poller, takes items from a queue and sleeps while the queue is empty.   *)
(* Other threads, the producers, push items. If the poller sleeps or is    *)
(* about to sleep when items are pushed, a producer must wake it.          *)
(*                                                                         *)
(* The poller first announces that it will block: it sets the flag         *)
(* `asleep`. It then checks the queue again, and blocks only if the queue  *)
(* is still empty. After it has blocked, or if it has found work, the      *)
(* poller leaves: it resets the flag. A producer pushes its item and then  *)
(* signals: it reads the flag, and if the flag is set, it resets the flag  *)
(* by an atomic exchange. The producer whose exchange returns 1 has        *)
(* claimed the wakeup: it sends one, and no other producer does.           *)
(*                                                                         *)
(* The literature calls this an event count. Ours is for one waiter. The   *)
(* handshake is Dekker's: each side stores, then fences, then loads what   *)
(* the other side stores, so at least one side sees the other's store. The *)
(* two fences are symmetric or asymmetric. Symmetric fences are a full     *)
(* fence on each side. Asymmetric fences are a heavy fence of the poller   *)
(* and a light fence of each producer. The heavy fence is the system call  *)
(* membarrier, which acts as a full fence on every processor that runs a   *)
(* thread of this process. The light fence restrains only the compiler.    *)
(*                                                                         *)
(* A wakeup may come before the poller blocks. An eventfd keeps such a     *)
(* wakeup until the poller blocks: it is sticky. A condition variable does *)
(* not keep it. Therefore a guard that uses a condition variable also has  *)
(* a lock, and is called a rendezvous: the poller holds the lock while it  *)
(* reads the flag again and begins to wait, and a producer holds it while  *)
(* it resets the flag and signals the condition variable.                  *)
(*                                                                         *)
(* Example    Poll finds the queue empty, Announce sets `asleep` to 1,     *)
(*            Fence follows, and Check finds the queue still empty.        *)
(*            Producer p takes the steps Push, SignalFence, Look (which    *)
(*            reads 1), Claim (which resets `asleep`) and Wake (which sets *)
(*            `token`: the eventfd now keeps a wakeup). Block consumes the *)
(*            wakeup and returns at once. Leave finds that `asleep` is 0,  *)
(*            so a producer has claimed the wakeup. Poll takes the item.   *)
(* Code       kernel/wakeup/guard.h, guard.c: [guard.1]..[guard.12];       *)
(*            kernel/base/lock.c: [lock.1]..[lock.5].                      *)
(* Abstracts  the queue to a set of items that is read in one step, and an *)
(*            eventfd to the Boolean `token`. Each of four pairs of calls  *)
(*            is one step: the poller takes the lock and reads the flag;   *)
(*            the poller releases the lock and begins to wait; a producer  *)
(*            takes the lock and exchanges the flag (and releases the lock *)
(*            if the flag was not set); a producer signals the condition   *)
(*            and releases the lock.                                       *)
(* Memory     A store lands when it reaches memory. "SC": each store lands *)
(*            at once. "TSO": a store to `asleep` or a push first waits in *)
(*            the buffer of its thread; all other steps act on memory at   *)
(*            once. An exchange and a full fence wait until the buffer of  *)
(*            their own thread is empty. The heavy fence waits for the     *)
(*            buffers of all threads.                                      *)
(* Promises   NoLostWakeup, WakeIsClaimed (safety); Served (liveness).     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Producers,  \* the set of producers; each pushes one item and signals once
  Memory,     \* "SC" or "TSO", as said above
  Fences,     \* "symmetric": full fences [guard.2] and [guard.4]; "asymmetric": a heavy fence
              \* [guard.9] and a light fence [guard.8]; "failing": the asymmetric fences, of which
              \* the heavy one may fail
  Signals,    \* "sticky" or "rendezvous", as said above
  Ends        \* the reasons for which a block may end without a wakeup from a producer: any of "ok"
              \* (a spurious end), "timeout" (the deadline), "interrupted" (a Unix signal handler)

ASSUME KnownModel ==
  /\ Memory \in {"SC", "TSO"}
  /\ Fences \in {"symmetric", "asymmetric", "failing"}
  /\ Signals \in {"sticky", "rendezvous"}
  /\ Ends \subseteq {"ok", "timeout", "interrupted"}

VARIABLES
  asleep,    \* guard->asleep in memory: 1 from an announcement until a claim or a leave
  queue,     \* the items that have been pushed, are in memory, and have not been taken
  buffer,    \* buffer[t]: the stores of thread t that have not landed in memory, oldest first
  poller,    \* the poller's next step
  nap,       \* TRUE: the heavy fence has failed, so the next block is a nap: it ends after at most
             \* WP_GUARD_NAP_NS
  rc,        \* with a rendezvous: why the poller's last wait ended
  producer,  \* producer[p]: the next step of producer p
  pending,   \* the producers that the poller's heavy fence has not reached yet
  token,     \* with sticky wakeups: TRUE if a wakeup has been sent and no block has consumed it
  lock,      \* with a rendezvous: the thread that holds the lock, or "free"
  answers    \* ghost: the number of answers to the last announcement. A claim by a producer is an
             \* answer; so is a return that tells the poller that no producer claimed the wakeup.

\* Groups of variables, for the UNCHANGED of the steps.
Cells    == <<asleep, queue, buffer>>
Theirs   == <<producer, pending>>
Blocking == <<nap, rc, token, lock>>
vars     == <<Cells, poller, Theirs, Blocking, answers>>

\* The steps by which the poller goes to sleep, in their order. After(step) is the next one.
Order == <<"announce", "fence", "check", "block">>
After(step) == Order[1 + CHOOSE i \in 1 .. Len(Order) - 1 : Order[i] = step]

\* The producers that the heavy fence has to reach; and whether producers use the light fence.
Heavy       == IF Fences = "symmetric" THEN {} ELSE Producers
LightSignal == Fences # "symmetric"

Threads == Producers \cup {"poller"}
TypeOK ==
  /\ asleep \in {0, 1}
  /\ queue \subseteq Producers
  /\ pending \subseteq Producers
  /\ buffer \in [Threads -> Seq(({"asleep"} \X {0, 1}) \cup ({"queue"} \X Producers))]
  /\ \A t \in Threads : Len(buffer[t]) <= 2
  /\ poller \in {"poll", "announce", "fence", "check", "block", "wait", "waiting", "woken", "leave",
                 "unlock"}
  /\ producer \in [Producers -> {"push", "fence", "look", "claim", "owes", "done"}]
  /\ {nap, token} \subseteq BOOLEAN
  /\ rc \in {"ok", "timeout", "interrupted"}
  /\ lock \in Threads \cup {"free"}
  /\ answers \in 0 .. Cardinality(Producers) + 1

Init ==
  /\ asleep = 0
  /\ queue = {}
  /\ buffer = [t \in Threads |-> <<>>]
  /\ pending = Heavy
  /\ poller = "poll"
  /\ producer = [p \in Producers |-> "push"]
  /\ nap = FALSE
  /\ rc = "ok"
  /\ token = FALSE
  /\ lock = "free"
  /\ answers = 1

(* Memory. A producer's buffer contains only pushes, and producers do not read the queue. The    *)
(* poller's buffer contains only stores to `asleep`, and it is empty when the poller reads       *)
(* `asleep` (Confirm, Leave). So every read is a read of memory, and none has to look into a     *)
(* buffer.                                                                                       *)

\* A store of `value` to `cell` lands in memory.
Land(cell, value) ==
  /\ asleep' = IF cell = "asleep" THEN value ELSE asleep
  /\ queue' = IF cell = "queue" THEN queue \cup {value} ELSE queue

\* Thread t stores `value` to `cell`. Under SC the store lands at once. Under TSO it goes to the
\* thread's buffer.
Store(t, cell, value) ==
  IF Memory = "SC"
  THEN /\ Land(cell, value)
       /\ UNCHANGED buffer
  ELSE /\ buffer' = [buffer EXCEPT ![t] = Append(@, <<cell, value>>)]
       /\ UNCHANGED <<asleep, queue>>

\* The buffer of thread t is empty.
Drained(t) == buffer[t] = <<>>

\* The oldest store in the buffer of thread t lands in memory.
Drain(t) ==
  /\ ~Drained(t)
  /\ Land(Head(buffer[t])[1], Head(buffer[t])[2])
  /\ buffer' = [buffer EXCEPT ![t] = Tail(@)]
  /\ UNCHANGED <<poller, Theirs, Blocking, answers>>

\* Thread t exchanges `asleep` for 0, which under TSO it can do only when its buffer is empty.
Exchange(t) == Drained(t) /\ asleep' = 0 /\ UNCHANGED <<queue, buffer>>

(* The poller. *)
\* The poller goes from one step to another.
Go(from, to) == poller = from /\ poller' = to

\* The poller takes one item from the queue. If the queue is empty, it begins to go to sleep.
Poll ==
  /\ \/ /\ queue = {}
        /\ Go("poll", Order[1])
        /\ UNCHANGED queue
     \/ \E p \in queue :
          /\ Go("poll", "poll")
          /\ queue' = queue \ {p}
  /\ UNCHANGED <<asleep, buffer, Theirs, Blocking, answers>>

\* The poller announces that it will block: it stores 1 to `asleep`.
Announce ==                     \* [guard.1] wp_guard_announce
  /\ Go("announce", After("announce"))
  /\ Store("poller", "asleep", 1)
  /\ answers' = 0
  /\ UNCHANGED <<Theirs, Blocking>>

\* The heavy fence reaches producer p. This step waits until all stores of p have landed.
Reach(p) ==                     \* [guard.9]
  /\ poller = "fence"
  /\ Drained("poller")
  /\ p \in pending
  /\ Drained(p)
  /\ pending' = pending \ {p}
  /\ UNCHANGED <<Cells, poller, producer, Blocking, answers>>

\* The poller's full fence ends. The heavy fence ends only after it has reached every producer.
Fence ==                        \* [guard.2] [guard.9]
  /\ Go("fence", After("fence"))
  /\ Drained("poller")
  /\ pending = {}
  /\ pending' = Heavy
  /\ UNCHANGED <<Cells, producer, Blocking, answers>>

\* The heavy fence fails, and wp_guard_announce returns WP_UNSUPPORTED. Stores of producers may
\* still wait in their buffers, so the poller may only nap.
FenceFails ==                   \* [guard.9]
  /\ Go("fence", After("fence"))
  /\ Fences = "failing"
  /\ nap' = TRUE
  /\ pending' = Heavy
  /\ UNCHANGED <<Cells, producer, rc, token, lock, answers>>

\* The poller checks the queue again (guard.3, which is in the caller's code). If it finds work, it
\* leaves instead of blocking.
Check ==
  /\ Go("check", IF queue = {} THEN After("check") ELSE "leave")
  /\ UNCHANGED <<Cells, Theirs, Blocking, answers>>

\* With sticky wakeups, the poller's blocking system call consumes the token and returns.
Block ==
  /\ Go("block", "leave")
  /\ Signals = "sticky"
  /\ token
  /\ token' = FALSE
  /\ UNCHANGED <<Cells, Theirs, nap, rc, lock, answers>>

\* With a rendezvous, the poller takes the lock and reads the flag, before its first wait and after
\* each wait. It waits, or waits again, if the flag is set and its last wait was not ended by a
\* deadline or a signal handler. Otherwise it leaves while it still holds the lock. If a signal
\* handler ended the wait, it does not leave, and only releases the lock.
Confirm ==                      \* [lock.1] [lock.2] [guard.12] wp_rendezvous_block
  /\ poller \in {"block", "woken"}
  /\ Signals = "rendezvous"
  /\ Drained("poller")
  /\ lock = "free"
  /\ lock' = "poller"
  /\ LET waits == rc = "ok" /\ asleep = 1
     IN /\ poller' = IF waits THEN "wait" ELSE IF rc # "interrupted" THEN "leave" ELSE "unlock"
        /\ rc' = IF waits THEN "ok" ELSE rc
  /\ UNCHANGED <<Cells, Theirs, nap, token, answers>>

\* In one step the poller releases the lock and begins to wait for the condition variable.
Wait ==                         \* [lock.4] [lock.3] wp_cond_wait
  /\ Go("wait", "waiting")
  /\ lock' = "free"
  /\ UNCHANGED <<Cells, Theirs, nap, rc, token, answers>>

\* A block ends without a wakeup from a producer, for the reason `why`.
End(why) ==
  /\ IF Signals = "sticky"
     THEN /\ Go("block", "leave")
          /\ UNCHANGED rc
     ELSE /\ Go("waiting", "woken")
          /\ rc' = why
  /\ UNCHANGED <<Cells, Theirs, nap, token, lock, answers>>

\* A nap ends at its deadline, even if "timeout" is not in Ends.
NapEnds == nap /\ End("timeout")

\* The poller leaves by a call of wp_guard_leave or wp_rendezvous_block. `Says` is 1 if that call
\* returns that no producer has claimed the wakeup, and else 0. wp_guard_leave returns what its
\* exchange read. wp_rendezvous_block leaves while it holds the lock. If its last wait ended by a
\* timeout, it too returns what its exchange read; otherwise it returns WP_OK, and `Says` is 0.
Says == IF lock = "poller" /\ rc # "timeout" THEN 0
        ELSE asleep

\* The poller leaves: it resets the flag with an exchange, which also tells it whether a producer
\* has claimed the wakeup.
Leave ==                        \* [guard.7] wp_guard_leave
  /\ Exchange("poller")
  /\ answers' = answers + Says
  /\ Go("leave", IF lock = "poller" THEN "unlock" ELSE "poll")
  /\ nap' = FALSE
  /\ UNCHANGED <<Theirs, rc, token, lock>>

\* The poller releases the lock, and its call returns. If a handler has ended the wait, the poller
\* may block again or leave; otherwise it has left already, and polls.
Unlock ==                       \* [lock.3]
  /\ \E to \in IF rc = "interrupted" THEN {"block", "leave"} ELSE {"poll"} : Go("unlock", to)
  /\ lock' = "free"
  /\ rc' = "ok"
  /\ UNCHANGED <<Cells, Theirs, nap, token, answers>>

(* A producer. *)
\* Producer p goes from one step to another.
Step(p, from, to) == producer[p] = from /\ producer' = [producer EXCEPT ![p] = to]

\* The producer pushes its item.
Push(p) ==
  /\ Step(p, "push", IF LightSignal THEN "look" ELSE "fence")
  /\ Store(p, "queue", p)
  /\ UNCHANGED <<poller, pending, Blocking, answers>>

\* The producer executes its full fence. The light fence [guard.8] is no step: the processor
\* executes no instruction for it.
SignalFence(p) ==               \* [guard.4]
  /\ Step(p, "fence", "look")
  /\ Drained(p)
  /\ UNCHANGED <<Cells, poller, pending, Blocking, answers>>

\* The producer reads the flag. If the flag is 0, the producer is done: the poller is awake.
Look(p) ==                      \* [guard.5] [guard.10]
  /\ Step(p, "look", IF asleep = 1 THEN "claim" ELSE "done")
  /\ UNCHANGED <<Cells, poller, pending, Blocking, answers>>

\* With a rendezvous, producers hold the lock while they claim and send the wakeup.
Locking == Signals = "rendezvous"

\* The producer resets the flag with an exchange. If the exchange returns 1, the producer has
\* claimed the wakeup, and owes it to the poller.
Claim(p) ==                     \* [guard.6], or [lock.1] [lock.2] [guard.11]
  /\ Locking => lock = "free"
  /\ LET owes == asleep = 1
     IN /\ Step(p, "claim", IF owes THEN "owes" ELSE "done")
        /\ lock' = IF Locking /\ owes THEN p ELSE lock
        /\ answers' = IF owes THEN answers + 1 ELSE answers
  /\ Exchange(p)
  /\ UNCHANGED <<poller, pending, nap, rc, token>>

\* The producer sends the wakeup: it writes to the eventfd, or it signals the condition variable and
\* releases the lock.
Wake(p) ==                      \* with a rendezvous: [lock.5] [lock.3]
  /\ Step(p, "owes", "done")
  /\ poller' = IF poller = "waiting" THEN "woken" ELSE poller
  /\ lock' = IF lock = p THEN "free" ELSE lock
  /\ token' = (token \/ Signals = "sticky")
  /\ UNCHANGED <<Cells, pending, nap, rc, answers>>

(* What must hold. *)
\* The poller is blocked, and no wakeup that was sent is about to end its block.
Sleeps   == poller = "waiting" \/ (poller = "block" /\ Signals = "sticky" /\ ~token)

\* There is work: a pushed item that has not been taken, whether or not its push has landed.
Work     == queue # {} \/ \E p \in Producers : ~Drained(p)

\* Some producer has pushed its item and not finished its signal, so it may still send a wakeup.
InFlight == \E p \in Producers : producer[p] \notin {"push", "done"}

\* While the poller sleeps and there is work, some producer has not finished its signal. A nap is
\* exempt, because it ends by itself.
NoLostWakeup == Sleeps /\ Work /\ ~nap => InFlight

\* Each announcement gets one answer: either exactly one producer claims the wakeup, or the call by
\* which the poller leaves returns that no producer has claimed it.
WakeIsClaimed == answers <= 1 /\ (poller = "poll" => answers = 1)

\* Work is eventually taken, even if the poller can only nap. With a rendezvous this holds only for
\* a lock that lets a waiting producer in eventually, which the lock of lock.c does not guarantee:
\* see LockIsFair. `~Work` means that no work is left. That is the right goal, because each producer
\* pushes one item only.
Served == Work ~> ~Work

\* The intended end, which is no deadlock: all work is taken, and the poller sleeps for good.
Finished ==
  /\ Sleeps
  /\ ~Work
  /\ \A p \in Producers : producer[p] = "done"
  /\ UNCHANGED vars

Poller ==
  \/ Poll \/ Announce \/ Fence \/ Check \/ Block \/ Confirm \/ Wait \/ NapEnds \/ Leave
  \/ Unlock \/ Drain("poller") \/ \E p \in Producers : Reach(p)

Drains == \E p \in Producers : Drain(p)
Producer(p) == Push(p) \/ SignalFence(p) \/ Look(p) \/ Claim(p) \/ Wake(p)
Others == \E p \in Producers : Producer(p)
Next == Poller \/ Drains \/ Others \/ FenceFails \/ (\E why \in Ends : End(why)) \/ Finished

\* With a rendezvous, the poller may take and release the lock again and again while a producer
\* waits for it. We assume a lock that lets a producer in eventually. The lock of lock.c does not
\* guarantee this, because newcomers may barge in front of a thread that waits. We also assume that
\* a nap ends at its deadline however many signal handlers run, because the deadline is absolute.
LockIsFair == Signals = "rendezvous" => SF_vars(Others) /\ SF_vars(NapEnds)

\* Each thread that can take a step takes one eventually, each store lands, and each nap ends.
Fairness   ==
  /\ WF_vars(Poller)
  /\ WF_vars(Drains)
  /\ WF_vars(NapEnds)
  /\ \A p \in Producers : WF_vars(Producer(p))
  /\ LockIsFair

Spec == Init /\ [][Next]_vars /\ Fairness

(* The inductive invariant. NoLostWakeup and WakeIsClaimed follow from it, for any number of *)
(* producers.                                                                                *)

\* The values of the variables. Only producers that the heavy fence has to reach are in `pending`.
IndTypes ==
  /\ asleep \in {0, 1}
  /\ queue \subseteq Producers
  /\ pending \subseteq Heavy
  /\ rc \in {"ok", "timeout", "interrupted"}
  /\ lock \in Threads \cup {"free"}

\* The poller has checked the queue for the last time before its sleep, and the sleep has not ended.
\* An interrupted poller may block again, so its sleep has not ended either.
Resting == poller \in {"block", "wait", "waiting", "woken"} \/ (poller = "unlock" /\ rc = "interrupted")

\* The poller has announced its sleep, and has not left.
Announced == poller \in {"fence", "check", "leave"} \/ Resting

\* Under SC every store has landed. Under TSO the buffer of a producer contains at most one store,
\* the push of its item, and this store has landed when the producer's full fence ends.
StoreOfProducer ==
  \A p \in Producers :
    \/ Drained(p)
    \/ /\ Memory = "TSO"
       /\ Len(buffer[p]) = 1
       /\ buffer[p][1][1] = "queue"
       /\ buffer[p][1][2] = p
       /\ producer[p] \in (IF LightSignal THEN {"look", "claim", "done"} ELSE {"fence"})

\* The buffer of the poller contains at most the announcement. The announcement has landed when the
\* poller's fence ends, unless the heavy fence has failed.
StoreOfPoller ==
  \/ Drained("poller")
  \/ /\ Memory = "TSO"
     /\ Len(buffer["poller"]) = 1
     /\ buffer["poller"][1][1] = "asleep"
     /\ buffer["poller"][1][2] = 1
     /\ asleep = 0
     /\ answers = 0
     /\ pending = Heavy
     /\ poller = "fence" \/ (nap /\ poller \in {"check", "block", "leave"})

\* The heavy fence reaches producers only while the poller executes it. The poller naps only if that
\* fence may fail, and only between its fence and its leave.
FenceIsPollers ==
  /\ poller # "fence" => pending = Heavy
  /\ nap => Fences = "failing" /\ Announced /\ poller # "fence"

\* With sticky wakeups the lock is not used, and with a rendezvous the token is not used.
SignalsDiffer ==
  IF Signals = "sticky"
  THEN lock = "free" /\ rc = "ok" /\ poller \notin {"wait", "waiting", "woken", "unlock"}
  ELSE ~token

\* With a rendezvous, the lock is held by the producer that owes the wakeup, or by the poller after
\* its step Confirm.
LockHasOwner ==
  /\ \A p \in Producers : Locking => (lock = p <=> producer[p] = "owes")
  /\ lock = "poller" => poller \in {"wait", "leave", "unlock"} /\ Drained("poller")
  /\ poller \in {"wait", "unlock"} => lock = "poller"

\* The reason for which a wait ended is kept until the poller releases the lock. While the poller
\* holds the lock and is about to wait, the flag is set.
ReturnIsRead ==
  /\ rc # "ok" => poller \in {"woken", "unlock"} \/ (poller = "leave" /\ lock = "poller")
  /\ poller = "wait" => asleep = 1
  /\ poller = "leave" /\ lock = "poller" => rc = "timeout" \/ (rc = "ok" /\ asleep = 0)

\* While no sleep is announced, the flag is 0, and the last announcement has got one answer.
AwakeIsAnswered == ~Announced => asleep = 0 /\ answers = 1

\* After an announcement has landed, either the flag is set, or one producer has claimed the wakeup.
ClaimedOnce == Announced /\ Drained("poller") => answers + asleep = 1

\* The producer that has claimed the wakeup has sent it, or owes it.
ClaimIsPaid ==
  Drained("poller") /\ asleep = 0 =>
    /\ Signals = "sticky" /\ poller \in {"fence", "check", "block"} =>
         token \/ \E p \in Producers : producer[p] = "owes"
    /\ poller = "waiting" => \E p \in Producers : producer[p] = "owes"

\* If a producer is done and its push has not landed, the heavy fence has yet to reach the producer.
FenceReaches ==
  asleep = 1 /\ poller = "fence" =>
    \A p \in Producers : producer[p] = "done" /\ ~Drained(p) => p \in pending

\* After the poller's fence, the push of each producer that is done has landed, unless the poller
\* naps.
StoresHaveLanded ==
  asleep = 1 /\ (poller = "check" \/ Resting) /\ ~nap =>
    \A p \in Producers : producer[p] = "done" => Drained(p)

\* If the queue is not empty, the flag is set and the poller has made its last check, then some
\* producer is about to look at the flag or to claim the wakeup. A poller that naps wakes by itself,
\* so it needs no such producer.
WorkIsSeen ==
  asleep = 1 /\ Resting /\ ~nap /\ queue # {} =>
    \E p \in Producers : producer[p] \in {"fence", "look", "claim"}

IndInv ==
  /\ IndTypes
  /\ StoreOfProducer
  /\ StoreOfPoller
  /\ FenceIsPollers
  /\ SignalsDiffer
  /\ LockHasOwner
  /\ ReturnIsRead
  /\ AwakeIsAnswered
  /\ ClaimedOnce
  /\ ClaimIsPaid
  /\ FenceReaches
  /\ StoresHaveLanded
  /\ WorkIsSeen
=============================================================================
A twin is a copy of this module with a defect, and a claim must fail in each twin. Two details of
the code have no twin, because all claims hold without them. The first is that
wp_rendezvous_block leaves while it holds the lock; the exchange in Leave would be enough without
the lock. The second is that the poller looks at the queue after a nap; without this look, the Check
before its next block would find the work.
