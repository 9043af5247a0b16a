-------------------------------- MODULE WaitQueue -------------------------------
(***************************************************************************)
(* Virtual threads and OS threads wait in one line for something that is   *)
(* given to the first.  Whoever gives it wakes exactly that wait.          *)
(* Code       kernel/thread/wait_queue.h; [wait_queue.1]..[wait_queue.3]   *)
(*            name sites in that file; vthread.h.                          *)
(* Abstracts  the object to things given one by one; its lock to single    *)
(*            steps; the queues of virtual threads: who is pushed goes on. *)
(* Memory     sequential consistency.                                      *)
(* Promises   NoLostGrant, NothingLost, UntouchedAfterGrant, NoStrayPermit *)
(*            (safety).                                                    *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Virtual,   \* waiters that are virtual threads: park by permit and number
  Os,        \* waiters that are OS threads: sleep at their state
  Granters,  \* threads that give one thing each
  Waits,     \* how often each waiter waits
  Strays     \* unparks by a user

ASSUME SomebodyWaits == Virtual \cup Os # {} /\ {Waits, Strays} \subseteq Nat

Waiters == Virtual \cup Os
Nobody == [who |-> "nobody", wait |-> 0, number |-> 0]

VARIABLES
  line,    \* waiters in line
  things,  \* in the object, for who comes next
  pc,      \* waiter -> what it does next; granter -> the same
  state,   \* waiter -> of its wait: "waits", "granted"
  wait,    \* waiter -> waits that have ended
  number,  \* waiter -> the park that a granter would end
  parks,   \* virtual -> parks that have returned
  permit,  \* virtual -> "none", or who gave it: "user", "grant"
  target,  \* granter -> whom it has taken off the line, in which wait, with which number
  strays,  \* unparks that a user may still make
  got,     \* ghost: things that waiters have
  hurt     \* ghost: a granter wrote to a waiter that had left
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

\* The wait is over.
Leave(w, has) ==
  /\ wait' = [wait EXCEPT ![w] = @ + 1]
  /\ Goto(w, IF wait[w] + 1 = Waits THEN "done" ELSE "idle")
  /\ got' = IF has THEN got + 1 ELSE got

ParkEnds(w) ==
  /\ parks' = IF w \in Virtual THEN [parks EXCEPT ![w] = @ + 1] ELSE parks
  /\ permit' = [permit EXCEPT ![w] = "none"]

(* A waiter. *)
Begin(w) ==                   \* wp__waiter_renew, wp__wait_queue_add, under the lock
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

Park(w) ==                    \* wp__waiter_park: the permit, or the state, is looked at as it sleeps
  /\ pc[w] = "park"
  /\ IF (w \in Virtual /\ permit[w] # "none") \/ (w \in Os /\ state[w] = "granted")
     THEN /\ ParkEnds(w)
          /\ Goto(w, "back")
     ELSE /\ Goto(w, "asleep")
          /\ UNCHANGED <<parks, permit>>
  /\ UNCHANGED <<line, things, state, wait, number, target, strays, got, hurt>>

TimeOut(w) ==                 \* also an interrupt
  /\ pc[w] = "asleep"
  /\ ParkEnds(w)
  /\ Goto(w, "late")
  /\ UNCHANGED <<line, things, state, wait, number, target, strays, got, hurt>>

Refuse(w) ==                  \* a deadline in the past: wp__waiter_refused ends the park all the same
  /\ pc[w] = "park"
  /\ w \in Virtual
  /\ ParkEnds(w)
  /\ Goto(w, "late")
  /\ UNCHANGED <<line, things, state, wait, number, target, strays, got, hurt>>

Spurious(w) ==                \* an OS thread's sleep may end for nothing
  /\ w \in Os
  /\ pc[w] = "asleep"
  /\ Goto(w, "back")
  /\ UNCHANGED <<line, things, state, wait, number, parks, permit, target, strays, got, hurt>>

Check(w) ==                   \* [wait_queue.1] wp__waiter_check: granted; or renews its number, under the lock
  /\ pc[w] = "back"
  /\ IF state[w] = "granted"
     THEN /\ Leave(w, TRUE)
          /\ UNCHANGED number
     ELSE /\ number' = IF w \in Virtual THEN [number EXCEPT ![w] = parks[w]] ELSE number
          /\ Goto(w, IF InLine(w) \/ w \in Os THEN "park" ELSE "await")
          /\ UNCHANGED <<wait, got>>
  /\ UNCHANGED <<line, things, state, parks, permit, target, strays, hurt>>

Cancel(w) ==                  \* wp__waiter_cancel, under the lock
  /\ pc[w] = "late"
  /\ line' = Without(w)
  /\ IF InLine(w)
     THEN Leave(w, FALSE)
     ELSE /\ Goto(w, "await")
          /\ UNCHANGED <<wait, got>>
  /\ UNCHANGED <<things, state, number, parks, permit, target, strays, hurt>>

Await(w) ==                   \* [wait_queue.3] wp__waiter_await
  /\ pc[w] = "await"
  /\ state[w] = "granted"
  /\ Leave(w, TRUE)
  /\ UNCHANGED <<line, things, state, number, parks, permit, target, strays, hurt>>

(* Somebody unparks w: a sleeping one goes on. *)
Unpark(w, by, others) ==
  IF pc[w] = "asleep"
  THEN /\ ParkEnds(w)
       /\ pc' = [others EXCEPT ![w] = "back"]
  ELSE /\ permit' = IF permit[w] = "none" THEN [permit EXCEPT ![w] = by] ELSE permit
       /\ pc' = others
       /\ UNCHANGED parks

Give(g) ==                    \* under the lock: to the first of the line, or left for the next
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

Store(g) ==                   \* [wait_queue.2] wp__waiter_grant, after the lock
  /\ pc[g] = "store"
  /\ IF wait[target[g].who] = target[g].wait
     THEN /\ state' = [state EXCEPT ![target[g].who] = "granted"]
          /\ UNCHANGED hurt
     ELSE /\ hurt' = TRUE
          /\ UNCHANGED state
  /\ Goto(g, "wake")
  /\ UNCHANGED <<line, things, wait, number, parks, permit, target, strays, got>>

Wake(g) ==                    \* wp__wake: by address, or by park
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

Stray(w) ==                   \* a user's unpark
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

Finished ==                   \* who sleeps now waits for things that nobody gives
  /\ \A g \in Granters : pc[g] = "done"
  /\ \A w \in Waiters : pc[w] \in {"asleep", "done"}
  /\ UNCHANGED vars

Next ==
  \/ \E w \in Waiters : Waiter(w) \/ TimeOut(w) \/ Refuse(w) \/ Spurious(w) \/ Stray(w)
  \/ \E g \in Granters : Granter(g)
  \/ Finished

Spec == Init /\ [][Next]_vars

(* What must hold. *)
Flying == {g \in Granters : pc[g] = "store" /\ wait[target[g].who] = target[g].wait}

\* Nobody sleeps who was granted, unless the wake that ends this sleep is on its way.
NoLostGrant ==
  \A w \in Waiters :
    pc[w] = "asleep" /\ state[w] = "granted" =>
      \E g \in Granters :
        /\ pc[g] = "wake"
        /\ target[g].who = w
        /\ w \in Virtual => target[g].number = parks[w]

\* What is given is with the object, on its way, or with one waiter; none goes with a waiter that
\* leaves.
NothingLost ==
  LET given == Cardinality({g \in Granters : pc[g] # "idle"})
      told == {w \in Waiters : pc[w] \notin {"idle", "done"} /\ state[w] = "granted"}
  IN given = things + Cardinality(Flying) + Cardinality(told) + got

\* No granter writes to a waiter that has left: its memory may be something else.
UntouchedAfterGrant == ~hurt

\* A grant leaves no permit behind for a later park.
NoStrayPermit == \A w \in Waiters : pc[w] \in {"idle", "done"} => permit[w] # "grant"
=============================================================================
