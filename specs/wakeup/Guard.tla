------------------------------- MODULE Guard -------------------------------
(***************************************************************************)
(* A poller may block in the kernel only if no queued work is forgotten.   *)
(* Code       kernel/wakeup/guard.h, guard.c: [guard.1]..[guard.12];       *)
(*            futex.c: [lock.1]..[lock.5].                                 *)
(* Abstracts  the queue to a set of published items, read in one access;   *)
(*            futex or eventfd to a sticky `token`; to one step each: lock *)
(*            and look under it, unlock and wait, signal and unlock.       *)
(* Memory     "SC": every store lands at once. "TSO": every store waits in *)
(*            its thread's buffer; read-modify-writes and full fences wait *)
(*            for their own buffer, the heavy fence for everybody's.       *)
(* Promises   NoLostWakeup, WakeIsClaimed (safety); Served (liveness).     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Producers,  \* each pushes one item and signals once
  Memory,     \* "SC" or "TSO"
  Fences,     \* "symmetric": full [guard.2] [guard.4]; "asymmetric": heavy, light; "failing": heavy may fail
  Signals,    \* "sticky": a wake before the sleep is kept; "rendezvous": it is not, a lock helps
  Ends        \* what may end a block but a signal: "ok" (nothing), "timeout", "interrupted"

ASSUME KnownModel ==
  /\ Memory \in {"SC", "TSO"} /\ Fences \in {"symmetric", "asymmetric", "failing"}
  /\ Signals \in {"sticky", "rendezvous"} /\ Ends \subseteq {"ok", "timeout", "interrupted"}

VARIABLES
  asleep,    \* guard->asleep in memory; 1: the poller promised to block
  queue,     \* items published in memory and not yet taken
  buffer,    \* thread -> its stores that have not landed, oldest first
  poller,    \* what the poller does next
  nap,       \* the heavy fence failed: the block ends after WP_GUARD_NAP_NS
  rc,        \* rendezvous: what the wait returned
  producer,  \* what each producer does next
  pending,   \* producers whose buffers the heavy fence still has to see empty
  token,     \* sticky signal: a wake was delivered and not yet consumed
  lock,      \* rendezvous: "free" or the thread that holds it
  answers    \* ghost: claims of the last announcement, and returns that say nobody claimed it
Cells    == <<asleep, queue, buffer>>
Theirs   == <<producer, pending>>
Blocking == <<nap, rc, token, lock>>
vars     == <<Cells, poller, Theirs, Blocking, answers>>

\* The poller's way into sleep.
Order == <<"announce", "fence", "check", "block">>
After(step) == Order[1 + CHOOSE i \in 1 .. Len(Order) - 1 : Order[i] = step]
Heavy       == IF Fences = "symmetric" THEN {} ELSE Producers
LightSignal == Fences # "symmetric"

Threads == Producers \cup {"poller"}
TypeOK ==
  /\ asleep \in {0, 1} /\ queue \subseteq Producers /\ pending \subseteq Producers
  /\ \A t \in Threads : Len(buffer[t]) <= 2
  /\ poller \in {"poll", "announce", "fence", "check", "block", "wait", "waiting", "woken", "leave",
                 "unlock"}
  /\ producer \in [Producers -> {"push", "fence", "look", "claim", "owes", "done"}]
  /\ {nap, token} \subseteq BOOLEAN /\ rc \in {"ok", "timeout", "interrupted"}
  /\ lock \in Threads \cup {"free"} /\ answers \in 0 .. Cardinality(Producers) + 1

Init ==
  /\ asleep = 0 /\ queue = {} /\ buffer = [t \in Threads |-> <<>>] /\ pending = Heavy
  /\ poller = "poll" /\ producer = [p \in Producers |-> "push"]
  /\ nap = FALSE /\ rc = "ok" /\ token = FALSE /\ lock = "free" /\ answers = 1

(* Memory.  No thread reads a location that its own buffer may hold, so reads go to memory. *)
Land(cell, value) ==
  /\ asleep' = IF cell = "asleep" THEN value ELSE asleep
  /\ queue' = IF cell = "queue" THEN queue \cup {value} ELSE queue
Store(t, cell, value) ==
  IF Memory = "SC" THEN Land(cell, value) /\ UNCHANGED buffer
  ELSE buffer' = [buffer EXCEPT ![t] = Append(@, <<cell, value>>)] /\ UNCHANGED <<asleep, queue>>
Drained(t) == buffer[t] = <<>>
Drain(t) ==
  /\ ~Drained(t) /\ Land(Head(buffer[t])[1], Head(buffer[t])[2])
  /\ buffer' = [buffer EXCEPT ![t] = Tail(@)] /\ UNCHANGED <<poller, Theirs, Blocking, answers>>
Exchange(t) == Drained(t) /\ asleep' = 0 /\ UNCHANGED <<queue, buffer>>

(* The poller. *)
Go(from, to) == poller = from /\ poller' = to
Poll ==                         \* the caller's queue, its own end: take one item, or begin to sleep
  /\ \/ queue = {} /\ Go("poll", Order[1]) /\ UNCHANGED queue
     \/ \E p \in queue : Go("poll", "poll") /\ queue' = queue \ {p}
  /\ UNCHANGED <<asleep, buffer, Theirs, Blocking, answers>>
Announce ==                     \* [guard.1] wp_guard_announce
  /\ Go("announce", After("announce"))
  /\ Store("poller", "asleep", 1) /\ answers' = 0 /\ UNCHANGED <<Theirs, Blocking>>
Reach(p) ==                     \* [guard.9] heavy: one processor answers, its stores have landed
  /\ poller = "fence" /\ Drained("poller") /\ p \in pending /\ Drained(p)
  /\ pending' = pending \ {p} /\ UNCHANGED <<Cells, poller, producer, Blocking, answers>>
Fence ==                        \* [guard.2] [guard.9] full fence, or the end of the heavy one
  /\ Go("fence", After("fence")) /\ Drained("poller") /\ pending = {}
  /\ pending' = Heavy /\ UNCHANGED <<Cells, producer, Blocking, answers>>
FenceFails ==                   \* [guard.9] announce returns WP_UNSUPPORTED: no store need have landed
  /\ Go("fence", After("fence"))
  /\ Fences = "failing"
  /\ nap' = TRUE
  /\ pending' = Heavy
  /\ UNCHANGED <<Cells, producer, rc, token, lock, answers>>
Check ==                        \* guard.3, the caller's: it looks at its queue again, and may retract
  /\ Go("check", IF queue = {} THEN After("check") ELSE "leave")
  /\ UNCHANGED <<Cells, Theirs, Blocking, answers>>
Block ==                        \* sticky: the system call, which ends when the token is there
  /\ Go("block", "leave") /\ Signals = "sticky"
  /\ token /\ token' = FALSE /\ UNCHANGED <<Cells, Theirs, nap, rc, lock, answers>>
Confirm ==                      \* [lock.1] [lock.2] [guard.12] wp_rendezvous_block: is the promise unclaimed?
  /\ poller \in {"block", "woken"} /\ Signals = "rendezvous"
  /\ Drained("poller") /\ lock = "free" /\ lock' = "poller"
  /\ LET waits == rc = "ok" /\ asleep = 1
     IN /\ poller' = IF waits THEN "wait" ELSE IF rc # "interrupted" THEN "leave" ELSE "unlock"
        /\ rc' = IF waits THEN "ok" ELSE rc
  /\ UNCHANGED <<Cells, Theirs, nap, token, answers>>
Wait ==                         \* [lock.4] [lock.3] wp_cond_wait gives the lock back and waits for a signal
  /\ Go("wait", "waiting")
  /\ lock' = "free" /\ UNCHANGED <<Cells, Theirs, nap, rc, token, answers>>
End(why) ==                     \* no signal ends the block, but a deadline, a handler or nothing
  /\ IF Signals = "sticky" THEN Go("block", "leave") /\ UNCHANGED rc
                           ELSE Go("waiting", "woken") /\ rc' = why
  /\ UNCHANGED <<Cells, Theirs, nap, token, lock, answers>>
NapEnds == nap /\ End("timeout")
Says == IF lock = "poller" /\ rc # "timeout" THEN 0   \* 1: the return says that nobody claimed
        ELSE asleep
Leave ==                        \* [guard.7] wp_guard_leave: exchange
  /\ Exchange("poller")
  /\ answers' = answers + Says
  /\ Go("leave", IF lock = "poller" THEN "unlock" ELSE "poll")
  /\ nap' = FALSE
  /\ UNCHANGED <<Theirs, rc, token, lock>>
Unlock ==                       \* [lock.3] the block returns; interrupted: block again, or leave
  /\ \E to \in IF rc = "interrupted" THEN {"block", "leave"} ELSE {"poll"} : Go("unlock", to)
  /\ lock' = "free" /\ rc' = "ok" /\ UNCHANGED <<Cells, Theirs, nap, token, answers>>

(* A producer. *)
Step(p, from, to) == producer[p] = from /\ producer' = [producer EXCEPT ![p] = to]
Push(p) ==                      \* the publishing store of the caller's queue
  /\ Step(p, "push", IF LightSignal THEN "look" ELSE "fence")
  /\ Store(p, "queue", p) /\ UNCHANGED <<poller, pending, Blocking, answers>>
SignalFence(p) ==               \* [guard.4] full fence; [guard.8], the light one, is no step at all
  /\ Step(p, "fence", "look")
  /\ Drained(p) /\ UNCHANGED <<Cells, poller, pending, Blocking, answers>>
Look(p) ==                      \* [guard.5] [guard.10] a poller that is awake needs nothing
  /\ Step(p, "look", IF asleep = 1 THEN "claim" ELSE "done")
  /\ UNCHANGED <<Cells, poller, pending, Blocking, answers>>
Locking == Signals = "rendezvous"
Claim(p) ==                     \* [guard.6], or [lock.1] [lock.2] [guard.11]: who reads 1 owes the wake
  /\ Locking => lock = "free"
  /\ LET owes == asleep = 1
     IN /\ Step(p, "claim", IF owes THEN "owes" ELSE "done")
        /\ lock' = IF Locking /\ owes THEN p ELSE lock
        /\ answers' = IF owes THEN answers + 1 ELSE answers
  /\ Exchange(p)
  /\ UNCHANGED <<poller, pending, nap, rc, token>>
Wake(p) ==                      \* the wake: write the eventfd, or [lock.5] [lock.3] signal and unlock
  /\ Step(p, "owes", "done")
  /\ poller' = IF poller = "waiting" THEN "woken" ELSE poller
  /\ lock' = IF lock = p THEN "free" ELSE lock
  /\ token' = (token \/ Signals = "sticky") /\ UNCHANGED <<Cells, pending, nap, rc, answers>>

(* What must hold. *)
Sleeps   == poller = "waiting" \/ (poller = "block" /\ Signals = "sticky" /\ ~token)
Work     == queue # {} \/ \E p \in Producers : ~Drained(p)   \* published, landed or not
InFlight == \E p \in Producers : producer[p] \notin {"push", "done"}
\* No poller sleeps with work queued and no wake owed or sent; where the heavy fence failed it only
\* naps.
NoLostWakeup == Sleeps /\ Work /\ ~nap => InFlight
\* One producer pays for one sleep, and the poller is told if one did.
WakeIsClaimed == answers <= 1 /\ (poller = "poll" => answers = 1)
\* Queued work is eventually taken, by a poller that naps too.  With a rendezvous signal this needs
\* a lock that lets a waiting producer in at last, which a lock with barging does not promise (see
\* Fairness).  Each producer pushes once, so nothing new hides what is left.
Served == Work ~> ~Work

Finished ==                     \* the intended end: all work taken, the poller asleep for good
  /\ Sleeps /\ ~Work /\ \A p \in Producers : producer[p] = "done"
  /\ UNCHANGED vars
Poller ==
  \/ Poll \/ Announce \/ Fence \/ Check \/ Block \/ Confirm \/ Wait \/ NapEnds \/ Leave
  \/ Unlock \/ Drain("poller") \/ \E p \in Producers : Reach(p)
Drains == \E p \in Producers : Drain(p)
Producer(p) == Push(p) \/ SignalFence(p) \/ Look(p) \/ Claim(p) \/ Wake(p)
Others == \E p \in Producers : Producer(p)
Next == Poller \/ Drains \/ Others \/ FenceFails \/ (\E why \in Ends : End(why)) \/ Finished
\* Each thread goes on, and time passes: a deadline is absolute, handlers or not.  With a rendezvous
\* signal that is not enough: a poller that goes on for ever takes and gives back the lock again and
\* again, so the lock must let a producer in at last.  A lock that newcomers may barge into does not
\* promise that (LockIsFair).  Sticky signals need no such lock.
LockIsFair == Signals = "rendezvous" => SF_vars(Others) /\ SF_vars(NapEnds)
Fairness   ==
  /\ WF_vars(Poller)
  /\ WF_vars(Drains)
  /\ WF_vars(NapEnds)
  /\ \A p \in Producers : WF_vars(Producer(p))
  /\ LockIsFair
Spec == Init /\ [][Next]_vars /\ Fairness
=============================================================================
No twin: that the block leaves under the lock (the exchange decides; all claims hold without), and
the look after a nap (Check looks before the next one).
