-------------------------------- MODULE WaitQueue -------------------------------
(***************************************************************************)
(* One line in which virtual threads and OS threads wait together for      *)
(* something that is given to the first of them, as in a mutex or a        *)
(* semaphore. The thread that gives it, the granter, takes the first       *)
(* waiter off the line, stores the grant in the waiter, and wakes exactly  *)
(* this wait. It wakes a virtual thread by the number of its park, and an  *)
(* OS thread by the address of its state.                                  *)
(*                                                                         *)
(* Code       kernel/thread/wait_queue.h; [wait_queue.1]..[wait_queue.3]   *)
(*            name sites in that file; vthread.h.                          *)
(* Abstracts  the object to things that are given one by one; what is done *)
(*            under its lock to single steps; the run queues of virtual    *)
(*            threads away, so a thread that is pushed goes on at once.    *)
(* Memory     sequential consistency.                                      *)
(* Promises   NoLostGrant, NothingLost, UntouchedAfterGrant, NoStrayPermit *)
(*            (safety).                                                    *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Virtual,   \* the waiters that are virtual threads; they park, and their parks are numbered
  Os,        \* the waiters that are OS threads; they sleep at their state
  Granters,  \* threads that give one thing each
  Waits,     \* the number of times that each waiter waits
  Strays     \* the number of unparks by a user

ASSUME ThreadsDiffer ==
  /\ \A v \in Virtual : v \notin Os
  /\ \A g \in Granters : g \notin Virtual /\ g \notin Os
ASSUME SomebodyWaits == Virtual \cup Os # {} /\ {Waits, Strays} \subseteq Nat

Waiters == Virtual \cup Os
Nobody == [who |-> "nobody", wait |-> 0, number |-> 0]

VARIABLES
  line,    \* the waiters in line, in order
  things,  \* the number of things in the object, for the threads that come next
  pc,      \* waiter or granter -> its next step
  state,   \* waiter -> the state of its wait: "waits", "granted"
  wait,    \* waiter -> the number of its waits that have ended
  number,  \* waiter -> the number of the park that a granter would end
  parks,   \* virtual thread -> the number of its parks that have returned
  permit,  \* virtual thread -> "none", or the giver of the permit: "user", "grant"
  target,  \* granter -> the waiter that it has taken off the line, in which of its waits, with
           \* which park number
  strays,  \* the number of unparks that a user may still make
  got,     \* ghost: the number of things that waiters have received
  hurt     \* ghost: TRUE if a granter has written to a waiter that had left
vars == <<line, things, pc, state, wait, number, parks, permit, target, strays, got, hurt>>

TypeOK ==
  /\ line \in Seq(Waiters)
  /\ things \in Nat
  /\ pc \in [Waiters \cup Granters ->
       {"idle", "park", "asleep", "back", "late", "await", "store", "wake", "done"}]
  /\ state \in [Waiters -> {"waits", "granted"}]
  /\ wait \in [Waiters -> 0 .. Waits]
  /\ number \in [Waiters -> Nat]
  /\ parks \in [Waiters -> Nat]
  /\ permit \in [Waiters -> {"none", "user", "grant"}]
  /\ target \in [Granters -> [who : Waiters \cup {"nobody"}, wait : Nat, number : Nat]]
  /\ strays \in 0 .. Strays
  /\ got \in Nat
  /\ hurt \in BOOLEAN

Init ==
  /\ line = <<>>
  /\ things = 0
  /\ pc = [t \in Waiters \cup Granters |-> "idle"]
  /\ state = [w \in Waiters |-> "waits"]
  /\ wait = [w \in Waiters |-> 0]
  /\ number = [w \in Waiters |-> 0]
  /\ parks = [w \in Waiters |-> 0]
  /\ permit = [w \in Waiters |-> "none"]
  /\ target = [g \in Granters |-> Nobody]
  /\ strays = Strays
  /\ got = 0
  /\ hurt = FALSE

InLine(w) == \E i \in 1 .. Len(line) : line[i] = w
Without(w) == SelectSeq(line, LAMBDA x : x # w)
Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

\* The wait of waiter w ends.
Leave(w, has) ==
  /\ wait' = [wait EXCEPT ![w] = @ + 1]
  /\ Goto(w, IF wait[w] + 1 = Waits THEN "done" ELSE "idle")
  /\ got' = IF has THEN got + 1 ELSE got

\* The park returns. Its permit, if there was one, is taken.
ParkEnds(w) ==
  /\ parks' = IF w \in Virtual THEN [parks EXCEPT ![w] = @ + 1] ELSE parks
  /\ permit' = [permit EXCEPT ![w] = "none"]

(* A waiter. *)

\* Under the lock, the waiter takes a thing if there is one and the line is empty. Otherwise the
\* waiter joins the line.
Begin(w) ==                   \* wp__waiter_renew, wp__wait_queue_add
  /\ pc[w] = "idle"
  /\ IF things > 0 /\ line = <<>>
     THEN /\ things' = things - 1
          /\ Leave(w, TRUE)
          /\ UNCHANGED <<line, state, number>>
     ELSE /\ line' = Append(line, w)
          /\ state' = [state EXCEPT ![w] = "waits"]
          /\ number' = [number EXCEPT ![w] = parks[w]]
          /\ Goto(w, "park")
          /\ UNCHANGED <<things, wait, got>>
  /\ UNCHANGED <<parks, permit, target, strays, hurt>>

\* The waiter goes to sleep. A virtual thread that has a permit does not, and an OS thread whose
\* state is granted does not either.
Park(w) ==                    \* wp__waiter_park
  /\ pc[w] = "park"
  /\ IF (w \in Virtual /\ permit[w] # "none") \/ (w \in Os /\ state[w] = "granted")
     THEN /\ ParkEnds(w)
          /\ Goto(w, "back")
     ELSE /\ Goto(w, "asleep")
          /\ UNCHANGED <<parks, permit>>
  /\ UNCHANGED <<line, things, state, wait, number, target, strays, got, hurt>>

\* The sleep ends because of a deadline or an interrupt.
TimeOut(w) ==
  /\ pc[w] = "asleep"
  /\ ParkEnds(w)
  /\ Goto(w, "late")
  /\ UNCHANGED <<line, things, state, wait, number, target, strays, got, hurt>>

\* A park whose deadline has passed does not sleep, and wp__waiter_refused ends it.
Refuse(w) ==                  \* wp__waiter_refused
  /\ pc[w] = "park"
  /\ w \in Virtual
  /\ ParkEnds(w)
  /\ Goto(w, "late")
  /\ UNCHANGED <<line, things, state, wait, number, target, strays, got, hurt>>

\* An OS thread's sleep ends spuriously.
Spurious(w) ==
  /\ w \in Os
  /\ pc[w] = "asleep"
  /\ Goto(w, "back")
  /\ UNCHANGED <<line, things, state, wait, number, parks, permit, target, strays, got, hurt>>

\* The waiter checks its state. If it is not granted, the waiter renews its number under the lock
\* and sleeps again.
Check(w) ==                   \* [wait_queue.1] wp__waiter_check
  /\ pc[w] = "back"
  /\ IF state[w] = "granted"
     THEN /\ Leave(w, TRUE)
          /\ UNCHANGED number
     ELSE /\ number' = IF w \in Virtual THEN [number EXCEPT ![w] = parks[w]] ELSE number
          /\ Goto(w, IF InLine(w) \/ w \in Os THEN "park" ELSE "await")
          /\ UNCHANGED <<wait, got>>
  /\ UNCHANGED <<line, things, state, parks, permit, target, strays, hurt>>

\* A waiter whose wait has timed out leaves the line, under the lock. If it is no longer in line, a
\* granter has taken it off.
Cancel(w) ==                  \* wp__waiter_cancel
  /\ pc[w] = "late"
  /\ line' = Without(w)
  /\ IF InLine(w)
     THEN Leave(w, FALSE)
     ELSE /\ Goto(w, "await")
          /\ UNCHANGED <<wait, got>>
  /\ UNCHANGED <<things, state, number, parks, permit, target, strays, hurt>>

\* A waiter that was taken off the line waits until the granter has stored the grant. It then has
\* what it was given.
Await(w) ==                   \* [wait_queue.3] wp__waiter_await
  /\ pc[w] = "await"
  /\ state[w] = "granted"
  /\ Leave(w, TRUE)
  /\ UNCHANGED <<line, things, state, number, parks, permit, target, strays, hurt>>

(* A granter. *)
\* A thread unparks w. If w sleeps, w goes on; otherwise the permit is kept for the next park of w.
Unpark(w, by, others) ==
  IF pc[w] = "asleep"
  THEN /\ ParkEnds(w)
       /\ pc' = [others EXCEPT ![w] = "back"]
  ELSE /\ permit' = IF permit[w] = "none" THEN [permit EXCEPT ![w] = by] ELSE permit
       /\ pc' = others
       /\ UNCHANGED parks

\* Under the lock, the granter takes the first waiter off the line. If the line is empty, the thing
\* stays in the object for the next thread.
Give(g) ==
  /\ pc[g] = "idle"
  /\ IF line = <<>>
     THEN /\ things' = things + 1
          /\ Goto(g, "done")
          /\ UNCHANGED <<line, target>>
     ELSE /\ line' = Tail(line)
          /\ target' = [target EXCEPT ![g] = [who |-> Head(line),
                                              wait |-> wait[Head(line)],
                                              number |-> number[Head(line)]]]
          /\ Goto(g, "store")
          /\ UNCHANGED things
  /\ UNCHANGED <<state, wait, number, parks, permit, strays, got, hurt>>

\* After it has given the lock back, the granter stores the grant in the waiter.
Store(g) ==                   \* [wait_queue.2] wp__waiter_grant
  /\ pc[g] = "store"
  /\ IF wait[target[g].who] = target[g].wait
     THEN /\ state' = [state EXCEPT ![target[g].who] = "granted"]
          /\ UNCHANGED hurt
     ELSE /\ hurt' = TRUE
          /\ UNCHANGED state
  /\ Goto(g, "wake")
  /\ UNCHANGED <<line, things, wait, number, parks, permit, target, strays, got>>

\* The granter wakes an OS thread by address, and a virtual thread by the number of its park.
Wake(g) ==                    \* wp__wake
  /\ pc[g] = "wake"
  /\ LET w == target[g].who
         after == [pc EXCEPT ![g] = "done"]
     IN IF w \in Os
        THEN /\ pc' = IF pc[w] = "asleep" THEN [after EXCEPT ![w] = "back"] ELSE after
             /\ UNCHANGED <<parks, permit>>
        ELSE IF parks[w] = target[g].number
        THEN Unpark(w, "grant", after)
        ELSE /\ pc' = after
             /\ UNCHANGED <<parks, permit>>
  /\ target' = [target EXCEPT ![g] = Nobody]
  /\ UNCHANGED <<line, things, state, wait, number, strays, got, hurt>>

\* A user unparks a virtual thread.
Stray(w) ==
  /\ w \in Virtual
  /\ strays > 0
  /\ strays' = strays - 1
  /\ Unpark(w, "user", pc)
  /\ UNCHANGED <<line, things, state, wait, number, target, got, hurt>>

Waiter(w) ==
  \/ Begin(w)
  \/ Park(w)
  \/ Check(w)
  \/ Cancel(w)
  \/ Await(w)

Granter(g) ==
  \/ Give(g)
  \/ Store(g)
  \/ Wake(g)

\* The intended end: threads that still sleep wait for things that are never given.
Finished ==
  /\ \A g \in Granters : pc[g] = "done"
  /\ \A w \in Waiters : pc[w] \in {"asleep", "done"}
  /\ UNCHANGED vars

Next ==
  \/ \E w \in Waiters : Waiter(w) \/ TimeOut(w) \/ Refuse(w) \/ Spurious(w) \/ Stray(w)
  \/ \E g \in Granters : Granter(g)
  \/ Finished

Spec == Init /\ [][Next]_vars

(* What must hold. *)

\* The granters that have a thing on its way to a waiter.
Flying == {g \in Granters : pc[g] = "store" /\ wait[target[g].who] = target[g].wait}

\* If a granted waiter sleeps, the wakeup that ends this sleep is on its way.
NoLostGrant ==
  \A w \in Waiters :
    pc[w] = "asleep" /\ state[w] = "granted" =>
      \E g \in Granters :
        /\ pc[g] = "wake"
        /\ target[g].who = w
        /\ w \in Virtual => target[g].number = parks[w]

\* Each thing that was given is in the object, on its way, or with one waiter. So no thing is lost
\* with a waiter that gives up.
NothingLost ==
  LET given == Cardinality({g \in Granters : pc[g] # "idle"})
      told == {w \in Waiters : pc[w] \notin {"idle", "done"} /\ state[w] = "granted"}
  IN given = things + Cardinality(Flying) + Cardinality(told) + got

\* No granter writes to a waiter that has left, because the waiter's memory may have been reused.
UntouchedAfterGrant == ~hurt

\* A grant leaves no permit behind for a later park.
NoStrayPermit == \A w \in Waiters : pc[w] \in {"idle", "done"} => permit[w] # "grant"

(* The inductive invariant. All claims but NothingLost follow from it, for any number of waiters,  *)
(* granters and waits. NothingLost counts things, which is outside the logic that the solvers      *)
(* decide.                                                                                         *)

\* What the variables hold.
IndTypes == \A g \in Granters : pc[g] \in {"store", "wake"} => target[g].who \in Waiters

\* The steps of a waiter that is, or will be, in a park; and those after its park has ended.
InPark == {"park", "asleep"}
AfterPark == {"back", "late", "await"}

\* The line is of waiters that have no grant, and each is there once.
LineWaits ==
  \A i \in 1 .. Len(line) :
    /\ line[i] \in Waiters
    /\ pc[line[i]] \in InPark \cup {"back", "late"}
    /\ state[line[i]] = "waits"
LineIsOnce == \A i, j \in 1 .. Len(line) : line[i] = line[j] => i = j

\* A virtual thread in line is known by the number of the park that it is in. If its park has ended,
\* this number is too small.
NumberIsPark ==
  \A i \in 1 .. Len(line) :
    line[i] \in Virtual =>
      IF pc[line[i]] \in InPark THEN number[line[i]] = parks[line[i]]
      ELSE number[line[i]] < parks[line[i]]

\* A granter that has taken a waiter off the line finds it in the same wait, without a grant.
StoreFindsWait ==
  \A g \in Granters :
    pc[g] = "store" =>
      /\ wait[target[g].who] = target[g].wait
      /\ pc[target[g].who] \in InPark \cup AfterPark
      /\ state[target[g].who] = "waits"
      /\ ~InLine(target[g].who)

\* Two granters do not give to one waiter.
GiversDiffer ==
  \A g, h \in Granters :
    pc[g] = "store" /\ pc[h] = "store" /\ target[g].who = target[h].who => g = h

\* A virtual thread that will be granted and is in a park is in the park that the granter ends.
TargetIsPark ==
  \A g \in Granters :
    pc[g] = "store" /\ target[g].who \in Virtual /\ pc[target[g].who] \in InPark =>
      target[g].number = parks[target[g].who]

\* Once a park has ended, no granter has its number.
TargetIsOld ==
  \A g \in Granters :
    pc[g] \in {"store", "wake"} /\ target[g].who \in Virtual =>
      /\ target[g].number <= parks[target[g].who]
      /\ pc[target[g].who] \notin InPark => target[g].number < parks[target[g].who]

\* A virtual thread that is granted and about to sleep has a permit, or its wakeup is on its way.
ParkWillEnd ==
  \A v \in Virtual :
    pc[v] = "park" /\ state[v] = "granted" =>
      \/ permit[v] # "none"
      \/ \E g \in Granters : pc[g] = "wake" /\ target[g].who = v /\ target[g].number = parks[v]

\* A permit that comes from a granter is one of a virtual thread that is in a park.
PermitIsForPark ==
  \A w \in Waiters : permit[w] = "grant" => w \in Virtual /\ pc[w] \in InPark

IndInv ==
  /\ IndTypes
  /\ LineWaits
  /\ LineIsOnce
  /\ NumberIsPark
  /\ StoreFindsWait
  /\ GiversDiffer
  /\ TargetIsPark
  /\ TargetIsOld
  /\ ParkWillEnd
  /\ PermitIsForPark
  /\ NoLostGrant
  /\ UntouchedAfterGrant
=============================================================================
