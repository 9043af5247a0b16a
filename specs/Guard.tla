------------------------------- MODULE Guard -------------------------------
(***************************************************************************)
(* A poller may block in the kernel only if no queued work is forgotten.   *)
(* Code       kernel/guard.h, guard.c: [G1]..[G11]; futex.c: [L1]..[L5].   *)
(* Abstracts  the queue to a set of published items, read in one access;   *)
(*            futex or eventfd to a sticky `token`, lock and condition to  *)
(*            one step each, a wait that only a signal ends.               *)
(* Memory     "SC": every store lands at once. "TSO": every store waits in *)
(*            its thread's buffer; read-modify-writes and full fences wait *)
(*            for their own buffer, the heavy fence for everybody's.       *)
(* Promises   NoLostWakeup, WakeIsClaimed (safety); Served (liveness).     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Producers,  \* each pushes one item and signals once
  Memory,     \* "SC" or "TSO"
  Fences,     \* "symmetric": full fences on both sides; "asymmetric": light [G4], heavy [G2]
  Signals,    \* "sticky": a wake before the sleep is kept; "rendezvous": it is not, a lock helps
  Twin        \* "none", or the one defect of this model

ASSUME KnownModel ==
  /\ Memory \in {"SC", "TSO"} /\ Fences \in {"symmetric", "asymmetric"}
  /\ Signals \in {"sticky", "rendezvous"}

VARIABLES
  asleep,    \* guard->asleep in memory; 1: the poller promised to block
  queue,     \* items published in memory and not yet taken
  buffer,    \* thread -> its stores that have not landed, oldest first
  poller,    \* what the poller does next
  producer,  \* what each producer does next
  pending,   \* producers whose buffers the heavy fence still has to see empty
  token,     \* sticky signal: a wake was delivered and not yet consumed
  lock,      \* rendezvous: "free" or the thread that holds it
  answers    \* ghost: how often the last announcement was taken back: by a claim or by leave
vars == <<asleep, queue, buffer, poller, producer, pending, token, lock, answers>>

Threads == Producers \cup {"poller"}

\* The poller's way into sleep: the correct order, and the orders that lose a wakeup.
Order ==
  CASE Twin = "check_first"           -> <<"check", "announce", "fence", "block">>
    [] Twin = "heavy_before_announce" -> <<"fence", "announce", "check", "block">>
    [] Twin = "heavy_after_recheck"   -> <<"announce", "check", "fence", "block">>
    [] Twin \in {"no_fence", "no_poller_fence", "light_light"} -> <<"announce", "check", "block">>
    [] OTHER                          -> <<"announce", "fence", "check", "block">>
After(step) == Order[1 + CHOOSE i \in 1 .. Len(Order) - 1 : Order[i] = step]
Heavy       == IF Fences = "asymmetric" THEN Producers ELSE {}
LightSignal == Fences = "asymmetric" \/ Twin \in {"no_fence", "no_producer_fence"}

TypeOK ==
  /\ asleep \in {0, 1} /\ queue \subseteq Producers /\ pending \subseteq Producers
  /\ \A t \in Threads : Len(buffer[t]) <= 2
  /\ poller \in {"poll", "announce", "fence", "check", "block", "wait", "waiting", "leave", "left"}
  /\ producer \in [Producers -> {"push", "fence", "look", "claim", "owes", "done"}]
  /\ token \in BOOLEAN /\ lock \in Threads \cup {"free"}
  /\ answers \in 0 .. Cardinality(Producers)

Init ==
  /\ asleep = 0 /\ queue = {} /\ pending = Heavy
  /\ buffer = [t \in Threads |-> <<>>]
  /\ poller = "poll" /\ producer = [p \in Producers |-> "push"]
  /\ token = FALSE /\ lock = "free" /\ answers = 0

(* Memory.  No thread reads a location that its own buffer may hold, so reads go to memory. *)
Land(cell, value) ==
  /\ asleep' = IF cell = "asleep" THEN value ELSE asleep
  /\ queue' = IF cell = "queue" THEN queue \cup {value} ELSE queue
Store(t, cell, value) ==
  IF Memory = "SC" THEN Land(cell, value) /\ UNCHANGED buffer
  ELSE /\ buffer' = [buffer EXCEPT ![t] = Append(@, <<cell, value>>)]
       /\ UNCHANGED <<asleep, queue>>
Drained(t) == buffer[t] = <<>>
Drain(t) ==
  /\ ~Drained(t) /\ Land(Head(buffer[t])[1], Head(buffer[t])[2])
  /\ buffer' = [buffer EXCEPT ![t] = Tail(@)]
  /\ UNCHANGED <<poller, producer, pending, token, lock, answers>>

(* The poller. *)
Poll ==                         \* the caller's queue, its own end: take one item, or begin to sleep
  /\ poller = "poll"
  /\ IF queue # {}
     THEN \E p \in queue : queue' = queue \ {p} /\ UNCHANGED poller
     ELSE poller' = Order[1] /\ UNCHANGED queue
  /\ UNCHANGED <<asleep, buffer, producer, pending, token, lock, answers>>
Announce ==                     \* [G1] wp_guard_announce
  /\ poller = "announce"
  /\ Store("poller", "asleep", 1)
  /\ answers' = 0 /\ poller' = After("announce")
  /\ UNCHANGED <<producer, pending, token, lock>>
Interrupt(p) ==                 \* [G9] heavy: one processor answers, its stores have landed
  /\ poller = "fence" /\ Drained("poller") /\ p \in pending /\ Drained(p)
  /\ pending' = pending \ {p}
  /\ UNCHANGED <<asleep, queue, buffer, poller, producer, token, lock, answers>>
Fence ==                        \* [G2] [G9] full fence, or the end of the heavy one
  /\ poller = "fence" /\ Drained("poller") /\ pending = {}
  /\ poller' = After("fence") /\ pending' = Heavy
  /\ UNCHANGED <<asleep, queue, buffer, producer, token, lock, answers>>
Check ==                        \* [G3] the caller looks at its queue again, and may retract
  /\ poller = "check"
  /\ poller' = IF queue = {} THEN After("check")
               ELSE IF Order[1] = "check" THEN "poll" ELSE "leave"
  /\ UNCHANGED <<asleep, queue, buffer, producer, pending, token, lock, answers>>
Block ==                        \* sticky: the system call, which ends when the token is there
  /\ poller = "block" /\ Signals = "sticky" /\ token
  /\ token' = FALSE /\ poller' = "leave"
  /\ UNCHANGED <<asleep, queue, buffer, producer, pending, lock, answers>>
Confirm ==                      \* [L1] [L2] [G3] wp_rendezvous_block: is the promise unclaimed?
  /\ poller = "block" /\ Signals = "rendezvous"
  /\ Drained("poller") /\ lock = "free"
  /\ IF asleep = 1 \/ Twin = "wait_unconfirmed" THEN lock' = "poller" /\ poller' = "wait"
                   ELSE poller' = "leave" /\ UNCHANGED lock
  /\ UNCHANGED <<asleep, queue, buffer, producer, pending, token, answers>>
Wait ==                         \* [L4] [L3] wp_cond_wait gives the lock back and waits for a signal
  /\ poller = "wait" /\ poller' = "waiting" /\ lock' = "free"
  /\ UNCHANGED <<asleep, queue, buffer, producer, pending, token, answers>>
Leave ==                        \* [G7] wp_guard_leave: exchange; the twin loads first, then stores
  /\ poller = "leave"
  /\ IF Twin = "split_leave"
     THEN poller' = (IF asleep = 1 THEN "left" ELSE "poll") /\ UNCHANGED <<asleep, answers>>
     ELSE /\ Drained("poller")
          /\ asleep' = 0 /\ answers' = answers + asleep
          /\ poller' = IF Twin = "retract_forgets_work" /\ queue # {} THEN Order[1] ELSE "poll"
  /\ UNCHANGED <<queue, buffer, producer, pending, token, lock>>
LeaveLate ==                    \* the twin's store: it answers what may have been answered
  /\ poller = "left" /\ Store("poller", "asleep", 0)
  /\ answers' = answers + 1 /\ poller' = "poll"
  /\ UNCHANGED <<producer, pending, token, lock>>

(* A producer. *)
Push(p) ==                      \* the publishing store of the caller's queue
  /\ producer[p] = "push"
  /\ Store(p, "queue", p)
  /\ producer' = [producer EXCEPT ![p] = IF LightSignal THEN "look" ELSE "fence"]
  /\ UNCHANGED <<poller, pending, token, lock, answers>>
SignalFence(p) ==               \* [G4] full fence; [G8], the light one, is no step at all
  /\ producer[p] = "fence" /\ Drained(p)
  /\ producer' = [producer EXCEPT ![p] = "look"]
  /\ UNCHANGED <<asleep, queue, buffer, poller, pending, token, lock, answers>>
Look(p) ==                      \* [G5] [G10] a poller that is awake needs nothing
  /\ producer[p] = "look"
  /\ producer' = [producer EXCEPT ![p] = IF asleep = 1 THEN "claim" ELSE "done"]
  /\ UNCHANGED <<asleep, queue, buffer, poller, pending, token, lock, answers>>
Locking == Signals = "rendezvous" /\ Twin # "signal_outside_lock"
Claim(p) ==                     \* [G6], or [L1] [L2] [G11]: who reads 1 owes the wake
  /\ producer[p] = "claim" /\ (Locking => lock = "free")
  /\ LET owes == asleep = 1 \/ Twin = "no_claim" IN
     /\ producer' = [producer EXCEPT ![p] = IF owes /\ Twin # "wake_unpaid" THEN "owes" ELSE "done"]
     /\ lock' = IF Locking /\ owes THEN p ELSE lock
     /\ answers' = IF owes THEN answers + 1 ELSE answers
  /\ IF Twin = "no_claim"
     THEN Store(p, "asleep", 0)
     ELSE Drained(p) /\ asleep' = 0 /\ UNCHANGED <<queue, buffer>>
  /\ UNCHANGED <<poller, pending, token>>
Wake(p) ==                      \* the wake: write the eventfd, or [L5] [L3] signal and unlock
  /\ producer[p] = "owes"
  /\ producer' = [producer EXCEPT ![p] = "done"]
  /\ token' = (token \/ Signals = "sticky")
  /\ poller' = IF poller = "waiting" THEN "leave" ELSE poller
  /\ lock' = IF lock = p THEN "free" ELSE lock
  /\ UNCHANGED <<asleep, queue, buffer, pending, answers>>

(* What must hold. *)
Sleeps   == poller = "waiting" \/ (poller = "block" /\ Signals = "sticky" /\ ~token)
Work     == queue # {} \/ \E p \in Producers : ~Drained(p)   \* published, landed or not
InFlight == \E p \in Producers : producer[p] \notin {"push", "done"}

\* A sleeper beside work has a wake coming.
NoLostWakeup == Sleeps /\ Work => InFlight
\* An announcement is answered once: by the one producer that pays the wake, or by leave.
WakeIsClaimed == answers <= 1
\* What was published is taken: each producer pushes once, so nothing new hides what is left.
Served == Work ~> ~Work

Finished ==                     \* the intended end: all work taken, the poller asleep for good
  /\ Sleeps /\ ~Work /\ \A p \in Producers : producer[p] = "done"
  /\ UNCHANGED vars

Poller == Poll \/ Announce \/ Fence \/ Check \/ Block \/ Confirm \/ Wait \/ Leave \/ LeaveLate
Producer(p) == Push(p) \/ SignalFence(p) \/ Look(p) \/ Claim(p) \/ Wake(p)
System == (\E t \in Threads : Drain(t)) \/ (\E p \in Producers : Interrupt(p))
Others == \E p \in Producers : Producer(p)
Next == Poller \/ System \/ Others \/ Finished
\* Only the poller can go on for ever, so nobody else needs a fairness of its own.
Fairness == WF_vars(Poller) /\ WF_vars(System) /\ WF_vars(Others)
Spec == Init /\ [][Next]_vars /\ Fairness
=============================================================================
Results (TLC 2.15, two shared cores): distinct states, depth, seconds.
  MCGuard                       12,685    38     8.6
  MCGuardFull                    9,514    48    11.1
  MCGuardRendezvous             10,883    23     9.3
  MCGuardRendezvousFull          7,399    27    12.2
  MCGuardTso                    17,450    45    13.5
  MCGuardTsoAsymmetric          35,734    54    16.4
  MCGuardTsoAsymmetricFull      39,878    73    25.7
  MCGuardTsoFull                13,777    57    10.3
  MCGuardTsoRendezvous          29,055    31     7.2
  MCGuardTsoRendezvousFull      29,253    37    17.6
