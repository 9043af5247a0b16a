------------------------------- MODULE BiasedLock ------------------------------
(***************************************************************************)
(* A ticket lock that favours one thread, the owner. One thread at a time  *)
(* is inside. The owner draws a ticket and waits for its turn, so it       *)
(* always gets in. Every other thread is a stealer and never waits: it     *)
(* takes a ticket only if this ticket would be served at once, and         *)
(* otherwise gives up.                                                     *)
(*                                                                         *)
(* Code       kernel/queue/biased_lock.h; [biased_lock.1]..[biased_lock.5] *)
(*            name sites in that file.                                     *)
(* Abstracts  both 64-bit counters to their distances from `serving`. The  *)
(*            code compares only these distances, and they never wrap.     *)
(* Memory     sequential consistency; the release [biased_lock.5] hands    *)
(*            the data over to [biased_lock.2] and [biased_lock.3].        *)
(* Promises   SingleConsumer, StealerNeverWaits (safety);                  *)
(*            OwnerAlwaysServed (liveness, though stealers try for ever).  *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Stealers   \* the stealers; the owner is one more thread

ASSUME SomebodySteals == Stealers # {} /\ "owner" \notin Stealers

VARIABLES
  next,    \* ticket->next - ticket->serving: the number of tickets that are out
  thread,  \* thread -> its next step
  my,      \* thread -> the value that it has read or drawn, minus `serving`; it is negative once
           \* `serving` has moved on
  tried    \* ghost: stealer -> the number of its own steps in its current try
vars == <<next, thread, my, tried>>

Owner   == "owner"
Threads == Stealers \cup {Owner}

\* This value stands for a value that is long outdated, and for a local variable that is not in use.
Past    == -3

TypeOK ==
  /\ next \in Past .. Cardinality(Threads)
  /\ thread \in [Threads -> {"idle", "wait", "claim", "inside"}]
  /\ my \in [Threads -> Past .. Cardinality(Threads)]
  /\ tried \in [Stealers -> 0 .. 3]

Init ==
  /\ next = 0
  /\ thread = [t \in Threads |-> "idle"]
  /\ my = [t \in Threads |-> Past]
  /\ tried = [s \in Stealers |-> 0]

Goto(t, where, value) ==
  /\ thread' = [thread EXCEPT ![t] = where]
  /\ my' = [my EXCEPT ![t] = value]

\* Thread t takes the next ticket.
Draw(t) ==
  /\ Goto(t, "wait", next)
  /\ next' = next + 1

\* Ghost: a step of a try is counted.
TryGoesOn(s) == tried' = [tried EXCEPT ![s] = IF @ = 3 THEN 3 ELSE @ + 1]
TryEnds(s) == tried' = [tried EXCEPT ![s] = 0]

(* The owner.  Its wait is one step, which is enabled once the wait may end. *)

\* The owner draws a ticket.
Acquire ==              \* [biased_lock.1] wp_biased_lock_acquire
  /\ thread[Owner] = "idle"
  /\ Draw(Owner)
  /\ UNCHANGED tried

\* The owner reads `serving` and finds that its turn has come, so its wait ends.
Enter ==                \* [biased_lock.2]
  /\ thread[Owner] = "wait"
  /\ my[Owner] = 0
  /\ Goto(Owner, "inside", my[Owner])
  /\ UNCHANGED <<next, tried>>

(* A stealer. *)

\* A stealer reads `serving`.
Look(s) ==              \* [biased_lock.3] wp_biased_lock_try_acquire
  /\ thread[s] = "idle"
  /\ Goto(s, "claim", 0)
  /\ TryGoesOn(s)
  /\ UNCHANGED next

\* A stealer takes the next ticket with one compare-and-swap, which succeeds only if no ticket is
\* out. If it does not succeed, the try has failed.
Claim(s) ==             \* [biased_lock.4]
  /\ thread[s] = "claim"
  /\ IF next = my[s]
     THEN /\ Goto(s, "inside", my[s])
          /\ next' = next + 1
     ELSE /\ Goto(s, "idle", Past)
          /\ UNCHANGED next
  /\ TryEnds(s)

\* The thread that is inside leaves: `serving` moves on, so all distances shrink by one.
Release(t) ==           \* [biased_lock.5] wp_biased_lock_release
  /\ thread[t] = "inside"
  /\ thread' = [thread EXCEPT ![t] = "idle"]
  /\ next' = IF next = Past THEN Past ELSE next - 1
  /\ my' = [u \in Threads |-> IF u = t \/ my[u] = Past THEN Past ELSE my[u] - 1]
  /\ UNCHANGED tried

(* What must hold. *)

\* At most one thread is between acquire and release: the owner and the stealers are never inside
\* together.
SingleConsumer == Cardinality({t \in Threads : thread[t] = "inside"}) <= 1

\* A try ends within two of the stealer's own steps, whatever the other threads do.
StealerNeverWaits == \A s \in Stealers : tried[s] <= 1

\* The owner gets in, even if stealers try for ever, as long as each thread that is inside comes
\* out.
OwnerAlwaysServed == thread[Owner] # "idle" ~> thread[Owner] = "inside"

Stealer(s) == Look(s) \/ Claim(s)
Next ==
  \/ Acquire \/ Enter
  \/ \E s \in Stealers : Stealer(s)
  \/ \E t \in Threads : Release(t)

\* Stealers need not finish a try, but a thread that is inside comes out.
Fairness ==
  /\ WF_vars(Acquire \/ Enter)
  /\ \A t \in Threads : WF_vars(Release(t))

Spec == Init /\ [][Next]_vars /\ Fairness     \* it runs for ever: no state is an intended end

(* The inductive invariant, from which the claims follow for any number of stealers. *)

\* A stealer never waits, and the owner never claims.
IndTypes ==
  /\ \A s \in Stealers : thread[s] # "wait"
  /\ thread[Owner] # "claim"

One(condition) == IF condition THEN 1 ELSE 0
Inside == \E t \in Threads : thread[t] = "inside"

\* A ticket is out for the thread inside and for an owner that waits, and no other is.
TicketsOut == next = One(Inside) + One(thread[Owner] = "wait")

\* An owner that waits has the ticket behind the thread inside, or the next one if none is.
OwnersTurn == thread[Owner] = "wait" => my[Owner] = One(Inside)

\* What a stealer has read is `serving` as it is, or older, so a claim succeeds only where no ticket
\* is out.
ReadIsOld == \A s \in Stealers : my[s] <= 0

\* A stealer has taken one step of its try exactly if it is about to claim.
TriesCounted == \A s \in Stealers : tried[s] = One(thread[s] = "claim")

IndInv == IndTypes /\ SingleConsumer /\ TicketsOut /\ OwnersTurn /\ ReadIsOld /\ TriesCounted
=============================================================================
