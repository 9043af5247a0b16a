------------------------------- MODULE Guard -------------------------------
(***************************************************************************)
(* An event count for one poller: it lets the poller block in the kernel   *)
(* without ever missing queued work. The poller announces that it will     *)
(* block, looks at its queue once more, and only then blocks. A producer   *)
(* publishes its item, reads the announcement, and if it finds one it      *)
(* claims the wakeup that it then sends. A full fence on both sides (the   *)
(* store-buffering pattern) ensures that at least one of the two sees the  *)
(* other's store.                                                          *)
(*                                                                         *)
(* Code       kernel/wakeup/guard.h, guard.c: [guard.1]..[guard.12];       *)
(*            futex.c: [lock.1]..[lock.5].                                 *)
(* Abstracts  the queue to a set of published items that is read in one    *)
(*            access; a futex or an eventfd to a sticky `token`. Three     *)
(*            pairs of calls are one step each: lock and look under the    *)
(*            lock, unlock and wait, signal and unlock.                    *)
(* Memory     "SC": every store lands at once. "TSO": every store waits in *)
(*            its thread's buffer; a read-modify-write or a full fence     *)
(*            waits until its own thread's buffer is empty, and the heavy  *)
(*            fence waits for the buffers of all threads.                  *)
(* Promises   NoLostWakeup, WakeIsClaimed (safety); Served (liveness).     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Producers,  \* threads; each pushes one item and signals once
  Memory,     \* "SC" or "TSO"
  Fences,     \* "symmetric": full fences [guard.2] and [guard.4]; "asymmetric": a heavy and a light
              \* one; "failing": asymmetric, and the heavy one may fail
  Signals,    \* "sticky": a wakeup that comes before the sleep is kept; "rendezvous": it is not
              \* kept, and a lock closes the gap
  Ends        \* what may end a block besides a signal: "ok" (a spurious wakeup), "timeout",
              \* "interrupted"

ASSUME KnownModel ==
  /\ Memory \in {"SC", "TSO"}
  /\ Fences \in {"symmetric", "asymmetric", "failing"}
  /\ Signals \in {"sticky", "rendezvous"}
  /\ Ends \subseteq {"ok", "timeout", "interrupted"}

VARIABLES
  asleep,    \* guard->asleep in memory; 1: the poller has announced that it will block
  queue,     \* the items that are published in memory and not yet taken
  buffer,    \* thread -> its stores that have not landed in memory, oldest first
  poller,    \* the poller's next step
  nap,       \* the heavy fence failed, so the block ends after WP_GUARD_NAP_NS at the latest
  rc,        \* rendezvous: the value that the wait returned
  producer,  \* producer -> its next step
  pending,   \* the producers that have stores which the heavy fence has not yet seen land
  token,     \* sticky signal: a wakeup was delivered and not yet consumed
  lock,      \* rendezvous: "free", or the thread that holds the lock
  answers    \* ghost: the number of producers that claimed the last announcement, plus the returns
             \* that report that no producer did

Cells    == <<asleep, queue, buffer>>
Theirs   == <<producer, pending>>
Blocking == <<nap, rc, token, lock>>
vars     == <<Cells, poller, Theirs, Blocking, answers>>

\* The steps by which the poller goes to sleep.
Order == <<"announce", "fence", "check", "block">>
After(step) == Order[1 + CHOOSE i \in 1 .. Len(Order) - 1 : Order[i] = step]

\* The producers that the heavy fence has to reach.
Heavy       == IF Fences = "symmetric" THEN {} ELSE Producers
LightSignal == Fences # "symmetric"

Threads == Producers \cup {"poller"}
TypeOK ==
  /\ asleep \in {0, 1}
  /\ queue \subseteq Producers
  /\ pending \subseteq Producers
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

(* Memory.  No thread reads a location that its own buffer may hold, so all reads go to memory. *)
\* A store lands in memory.
Land(cell, value) ==
  /\ asleep' = IF cell = "asleep" THEN value ELSE asleep
  /\ queue' = IF cell = "queue" THEN queue \cup {value} ELSE queue

\* A thread stores a value: to memory under SC, to its buffer under TSO.
Store(t, cell, value) ==
  IF Memory = "SC"
  THEN /\ Land(cell, value)
       /\ UNCHANGED buffer
  ELSE /\ buffer' = [buffer EXCEPT ![t] = Append(@, <<cell, value>>)]
       /\ UNCHANGED <<asleep, queue>>

Drained(t) == buffer[t] = <<>>

\* The oldest store in a thread's buffer lands in memory.
Drain(t) ==
  /\ ~Drained(t)
  /\ Land(Head(buffer[t])[1], Head(buffer[t])[2])
  /\ buffer' = [buffer EXCEPT ![t] = Tail(@)]
  /\ UNCHANGED <<poller, Theirs, Blocking, answers>>

\* A read-modify-write of `asleep` waits until its thread's buffer is empty.
Exchange(t) == Drained(t) /\ asleep' = 0 /\ UNCHANGED <<queue, buffer>>

(* The poller. *)
Go(from, to) == poller = from /\ poller' = to

\* The poller takes one item from its queue; if the queue is empty, it starts to go to sleep.
Poll ==
  /\ \/ /\ queue = {}
        /\ Go("poll", Order[1])
        /\ UNCHANGED queue
     \/ \E p \in queue :
          /\ Go("poll", "poll")
          /\ queue' = queue \ {p}
  /\ UNCHANGED <<asleep, buffer, Theirs, Blocking, answers>>

\* The poller announces that it is about to block.
Announce ==                     \* [guard.1] wp_guard_announce
  /\ Go("announce", After("announce"))
  /\ Store("poller", "asleep", 1)
  /\ answers' = 0
  /\ UNCHANGED <<Theirs, Blocking>>

\* The heavy fence reaches one processor: the stores of that processor's thread have landed.
Reach(p) ==                     \* [guard.9]
  /\ poller = "fence"
  /\ Drained("poller")
  /\ p \in pending
  /\ Drained(p)
  /\ pending' = pending \ {p}
  /\ UNCHANGED <<Cells, poller, producer, Blocking, answers>>

\* The full fence of the poller, or the end of the heavy one.
Fence ==                        \* [guard.2] [guard.9]
  /\ Go("fence", After("fence"))
  /\ Drained("poller")
  /\ pending = {}
  /\ pending' = Heavy
  /\ UNCHANGED <<Cells, producer, Blocking, answers>>

\* The heavy fence fails and announce returns WP_UNSUPPORTED: no store of a producer need have
\* landed, so the poller may only nap.
FenceFails ==                   \* [guard.9]
  /\ Go("fence", After("fence"))
  /\ Fences = "failing"
  /\ nap' = TRUE
  /\ pending' = Heavy
  /\ UNCHANGED <<Cells, producer, rc, token, lock, answers>>

\* The poller looks at its queue again, and retracts the announcement if there is work (guard.3, in
\* the caller's code).
Check ==
  /\ Go("check", IF queue = {} THEN After("check") ELSE "leave")
  /\ UNCHANGED <<Cells, Theirs, Blocking, answers>>

\* The system call of a sticky signal, which ends when the token is there.
Block ==
  /\ Go("block", "leave")
  /\ Signals = "sticky"
  /\ token
  /\ token' = FALSE
  /\ UNCHANGED <<Cells, Theirs, nap, rc, lock, answers>>

\* The poller takes the lock and waits only if no producer has claimed the announcement.
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

\* The wait of a rendezvous gives the lock back and sleeps until a signal comes, in one step.
Wait ==                         \* [lock.4] [lock.3] wp_cond_wait
  /\ Go("wait", "waiting")
  /\ lock' = "free"
  /\ UNCHANGED <<Cells, Theirs, nap, rc, token, answers>>

\* A block ends without a signal: by its deadline, by a signal handler, or spuriously.
End(why) ==
  /\ IF Signals = "sticky"
     THEN /\ Go("block", "leave")
          /\ UNCHANGED rc
     ELSE /\ Go("waiting", "woken")
          /\ rc' = why
  /\ UNCHANGED <<Cells, Theirs, nap, token, lock, answers>>

\* A nap ends at its deadline.
NapEnds == nap /\ End("timeout")

\* `Says` is 1 if the return reports that no producer claimed the announcement.
Says == IF lock = "poller" /\ rc # "timeout" THEN 0
        ELSE asleep

\* The poller takes its announcement back with an exchange, which also returns whether a producer
\* has claimed it.
Leave ==                        \* [guard.7] wp_guard_leave
  /\ Exchange("poller")
  /\ answers' = answers + Says
  /\ Go("leave", IF lock = "poller" THEN "unlock" ELSE "poll")
  /\ nap' = FALSE
  /\ UNCHANGED <<Theirs, rc, token, lock>>

\* The poller gives the lock back and its block returns; an interrupted poller may block again or
\* leave.
Unlock ==                       \* [lock.3]
  /\ \E to \in IF rc = "interrupted" THEN {"block", "leave"} ELSE {"poll"} : Go("unlock", to)
  /\ lock' = "free"
  /\ rc' = "ok"
  /\ UNCHANGED <<Cells, Theirs, nap, token, answers>>

(* A producer. *)
Step(p, from, to) == producer[p] = from /\ producer' = [producer EXCEPT ![p] = to]

\* The producer publishes its item in the caller's queue.
Push(p) ==
  /\ Step(p, "push", IF LightSignal THEN "look" ELSE "fence")
  /\ Store(p, "queue", p)
  /\ UNCHANGED <<poller, pending, Blocking, answers>>

\* The full fence of the producer. The light fence [guard.8] is no step at all.
SignalFence(p) ==               \* [guard.4]
  /\ Step(p, "fence", "look")
  /\ Drained(p)
  /\ UNCHANGED <<Cells, poller, pending, Blocking, answers>>

\* The producer reads the announcement. A poller that is awake needs no wakeup.
Look(p) ==                      \* [guard.5] [guard.10]
  /\ Step(p, "look", IF asleep = 1 THEN "claim" ELSE "done")
  /\ UNCHANGED <<Cells, poller, pending, Blocking, answers>>

Locking == Signals = "rendezvous"

\* The producer claims the announcement: the one that reads 1 owes the wakeup.
Claim(p) ==                     \* [guard.6], or [lock.1] [lock.2] [guard.11]
  /\ Locking => lock = "free"
  /\ LET owes == asleep = 1
     IN /\ Step(p, "claim", IF owes THEN "owes" ELSE "done")
        /\ lock' = IF Locking /\ owes THEN p ELSE lock
        /\ answers' = IF owes THEN answers + 1 ELSE answers
  /\ Exchange(p)
  /\ UNCHANGED <<poller, pending, nap, rc, token>>

\* The producer sends the wakeup: it writes the eventfd, or it signals and unlocks.
Wake(p) ==                      \* with a rendezvous: [lock.5] [lock.3]
  /\ Step(p, "owes", "done")
  /\ poller' = IF poller = "waiting" THEN "woken" ELSE poller
  /\ lock' = IF lock = p THEN "free" ELSE lock
  /\ token' = (token \/ Signals = "sticky")
  /\ UNCHANGED <<Cells, pending, nap, rc, answers>>

(* What must hold. *)
\* The poller sleeps, and only a wakeup or an end of the block gets it out.
Sleeps   == poller = "waiting" \/ (poller = "block" /\ Signals = "sticky" /\ ~token)

\* There is work: an item that is published, whether or not its store has landed.
Work     == queue # {} \/ \E p \in Producers : ~Drained(p)

\* A producer that has pushed and is not done may still send a wakeup.
InFlight == \E p \in Producers : producer[p] \notin {"push", "done"}

\* The poller never sleeps with work queued unless a producer still owes or sends a wakeup. Where
\* the heavy fence failed, the poller only naps, and a nap ends by itself.
NoLostWakeup == Sleeps /\ Work /\ ~nap => InFlight

\* One producer pays for one sleep, no more, and the poller learns from its return whether one did.
WakeIsClaimed == answers <= 1 /\ (poller = "poll" => answers = 1)

\* Queued work is eventually taken, also by a poller that naps. With a rendezvous signal this needs
\* a lock that lets a waiting producer in at last, which a lock with barging does not promise (see
\* Fairness). Each producer pushes once, so no new item hides those that are left.
Served == Work ~> ~Work

\* The intended end: all work is taken and the poller sleeps for good.
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

\* Each thread goes on, and time passes: a deadline is absolute, whether or not signal handlers run.
\* With a rendezvous signal that is not enough: a poller that never stops takes and gives back the
\* lock again and again, so the lock must let a producer in at last. A lock that newcomers may barge
\* into does not promise that. Sticky signals need no such lock.
LockIsFair == Signals = "rendezvous" => SF_vars(Others) /\ SF_vars(NapEnds)
Fairness   ==
  /\ WF_vars(Poller)
  /\ WF_vars(Drains)
  /\ WF_vars(NapEnds)
  /\ \A p \in Producers : WF_vars(Producer(p))
  /\ LockIsFair

Spec == Init /\ [][Next]_vars /\ Fairness
=============================================================================
Two details have no twin: that the block leaves under the lock (the exchange decides, and all claims
hold without the lock), and the look after a nap (Check looks before the next one).
