------------------------------- MODULE Ticket ------------------------------
(***************************************************************************)
(* One consumer at a time: the owner always gets in, a stealer never waits.*)
(* Code       kernel/queue/biased_lock.h; [T1]..[T5] name sites in that file.         *)
(* Abstracts  both 64-bit counters to their distance from `serving`, which *)
(*            is all that the code compares; they never wrap.              *)
(* Memory     sequential consistency; [T5] to [T2], [T3] hands data over.  *)
(* Promises   SingleConsumer, StealerNeverWaits (safety);                  *)
(*            OwnerAlwaysServed (liveness, though stealers try for ever).  *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Stealers,  \* threads that try; the owner is one more
  Twin       \* "none", or the one defect of this model

ASSUME SomebodySteals == Stealers # {} /\ "owner" \notin Stealers

VARIABLES
  next,    \* ticket->next - ticket->serving: tickets out
  thread,  \* thread -> what it does next
  my,      \* thread -> the value it read or drew, less `serving`; negative: serving has moved on
  tried    \* ghost: stealer -> its own steps in this try
vars == <<next, thread, my, tried>>

Owner   == "owner"
Threads == Stealers \cup {Owner}
Past    == -3           \* long outdated, or a local that is dead

TypeOK ==
  /\ next \in Past .. Cardinality(Threads)
  /\ thread \in [Threads -> {"idle", "wait", "claim", "store", "inside"}]
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
Draw(t)   == Goto(t, "wait", next) /\ next' = next + 1
GiveUp(t) == Goto(t, "idle", Past) /\ UNCHANGED next
TryEnds(s)  == tried' = [tried EXCEPT ![s] = 0]
TryGoesOn(s) == tried' = [tried EXCEPT ![s] = IF @ = 3 THEN 3 ELSE @ + 1]

(* The owner.  Its wait is one step, enabled when it may end. *)
Acquire ==              \* [T1] wp_ticket_acquire; the twin tries as a stealer does, again and again
  /\ thread[Owner] = "idle"
  /\ IF Twin = "owner_cas" THEN Goto(Owner, "claim", 0) /\ UNCHANGED next ELSE Draw(Owner)
  /\ UNCHANGED tried
Enter ==                \* [T2] the read of `serving` that ends the wait
  /\ thread[Owner] = "wait"
  /\ my[Owner] = 0 \/ Twin = "no_wait"
  /\ Goto(Owner, "inside", my[Owner])
  /\ UNCHANGED <<next, tried>>
OwnerClaim ==           \* twin owner_cas
  /\ thread[Owner] = "claim"
  /\ IF next = my[Owner] THEN Goto(Owner, "inside", 0) /\ next' = next + 1 ELSE GiveUp(Owner)
  /\ UNCHANGED tried

(* A stealer. *)
Look(s) ==              \* [T3] wp_ticket_try_acquire
  /\ thread[s] = "idle"
  /\ IF Twin = "stealer_waits" THEN Draw(s) ELSE Goto(s, "claim", 0) /\ UNCHANGED next
  /\ TryGoesOn(s)
Claim(s) ==             \* [T4] one compare-and-swap; twin no_cas compares here and stores later
  /\ thread[s] = "claim"
  /\ IF next # my[s]
     THEN IF Twin = "stealer_retries"
          THEN Goto(s, "claim", 0) /\ UNCHANGED next /\ TryGoesOn(s)
          ELSE GiveUp(s) /\ TryEnds(s)
     ELSE IF Twin = "no_cas"
     THEN Goto(s, "store", my[s]) /\ UNCHANGED next /\ TryEnds(s)
     ELSE Goto(s, "inside", my[s]) /\ next' = next + 1 /\ TryEnds(s)
StoreLate(s) ==         \* twin no_cas
  /\ thread[s] = "store"
  /\ Goto(s, "inside", my[s])
  /\ next' = my[s] + 1
  /\ UNCHANGED tried
Spin(s) ==              \* twin stealer_waits: one read of `serving`
  /\ thread[s] = "wait"
  /\ IF my[s] = 0 THEN Goto(s, "inside", 0) /\ TryEnds(s)
                  ELSE UNCHANGED <<thread, my>> /\ TryGoesOn(s)
  /\ UNCHANGED next

Release(t) ==           \* [T5] wp_ticket_release: `serving` moves on, all distances shrink by one
  /\ thread[t] = "inside"
  /\ thread' = [thread EXCEPT ![t] = "idle"]
  /\ IF Twin = "lazy_stealer" /\ t # Owner
     THEN my' = [my EXCEPT ![t] = Past] /\ UNCHANGED next
     ELSE /\ next' = IF next = Past THEN Past ELSE next - 1
          /\ my' = [u \in Threads |-> IF u = t \/ my[u] = Past THEN Past ELSE my[u] - 1]
  /\ UNCHANGED tried

(* What must hold. *)
\* At most one thread is between acquire and release.
SingleConsumer == Cardinality({t \in Threads : thread[t] = "inside"}) <= 1
\* A try ends within two of the stealer's own steps, whatever the others do.
StealerNeverWaits == \A s \in Stealers : tried[s] <= 1
\* The owner gets in, as long as whoever is inside comes out.
OwnerAlwaysServed == thread[Owner] # "idle" ~> thread[Owner] = "inside"

Stealer(s) == Look(s) \/ Claim(s) \/ StoreLate(s) \/ Spin(s)
Next ==
  \/ Acquire \/ Enter \/ OwnerClaim
  \/ \E s \in Stealers : Stealer(s)
  \/ \E t \in Threads : Release(t)
Fairness ==             \* stealers need not finish a try, but whoever is inside comes out
  /\ WF_vars(Acquire \/ Enter \/ OwnerClaim)
  /\ \A t \in Threads : WF_vars(Release(t))
Spec == Init /\ [][Next]_vars /\ Fairness     \* runs for ever: no state is an intended end
=============================================================================
Results (TLC 2.15, two shared cores): distinct states, depth, seconds.
  MCTicket                          95    14     2.3
  MCTicketFull                   2,875    16    10.3
