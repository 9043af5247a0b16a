--------------------------------- MODULE Descriptor ---------------------------------
(***************************************************************************)
(* Threads read from a descriptor that is not ready: each parks until the  *)
(* poller of its home says so, or a deadline passes, or somebody closes    *)
(* it, or the poller itself ends, or its own group is closed.  What is     *)
(* ready is told to one, who passes it on.                                 *)
(* Code       kernel/io/descriptor.h, descriptor_call.c, descriptor.c,     *)
(*            descriptor_poller.h, descriptor_poller.c, readiness.h,       *)
(*            readiness.c: [readiness.1]..[descriptor.4].                  *)
(* Abstracts  one direction; a grant and the park that it ends to one step *)
(*            (WaitQueue); what is under the lock of the direction to one  *)
(*            step; the way of a thread to its home (Group: HomeReturn);   *)
(*            the system's list of what is ready: each arrival enters an   *)
(*            edge; the poller's list of its descriptors to this one.      *)
(* Memory     sequential consistency, which the lock, [readiness.1] and    *)
(*            [readiness.2] earn; the system calls order data and edge.    *)
(* Promises   ReadinessNotLost, CloseWakesWaiter, EndWakesWaiter,          *)
(*            EndWalksListed, ClosedInTheEnd, FdIsOurs, EventIsAlive,      *)
(*            IoIsAlive, IoCompletionAtHome (safety); ReadsAll (liveness). *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Readers,   \* each reads once
  Closes,    \* somebody closes it, at any time
  Timeouts,  \* how many waits may end by their deadline
  Ends,      \* the group is closed, at any time: its poller ends
  Cancels    \* the groups of readers are closed, at any time: they never run again

VARIABLES
  data,      \* what can be read
  coming,    \* what has yet to come
  edge,      \* poller -> the system has an event for it
  edges,     \* how many events it was told of
  line,      \* readers that wait
  shut,      \* the direction is closed
  users,     \* calls under way, close and free among them
  closing,   \* the same word: no more calls
  freed,     \* the same word: its memory goes with the last
  open,      \* the descriptor is this one's
  memory,    \* "used"; "retired": its poller frees it after this round; "freed"
  pc, seen,  \* seen: reader -> what it read of edges before its attempt
  told,      \* readers that were told that it is ready
  left,      \* timeouts
  listed     \* by its poller: "not yet", "yes", "no more"; "refused"
vars == <<data, coming, edge, edges, line, shut, users, closing, freed, open, memory, pc, seen,
          told, left, listed>>

Pollers == {"home", "other"}
Threads == Readers \cup {"closer"} \cup Pollers
At == "home"                  \* where it is registered, whoever runs the thread that opens it
All == Cardinality(Readers)

TypeOK ==
  /\ {data, coming} \subseteq 0 .. All
  /\ edge \in [Pollers -> BOOLEAN]
  /\ edges \in 0 .. All
  /\ \A i \in 1 .. Len(line) : line[i] \in Readers
  /\ {shut, closing, freed, open} \subseteq BOOLEAN
  /\ users \in 0 .. All + 1
  /\ memory \in {"used", "retired", "freed"}
  /\ pc \in [Threads -> {"begin", "look", "read", "wait", "parked", "pass", "end", "final", "leave",
                         "done", "start", "shut", "closed", "poll", "event", "over", "gone"}]
  /\ seen \in [Readers -> 0 .. All]
  /\ told \subseteq Readers
  /\ left \in 0 .. Timeouts
  /\ listed \in {"not yet", "yes", "no more", "refused"}

Init ==
  /\ data = 0
  /\ coming = All
  /\ edge = [p \in Pollers |-> FALSE]
  /\ edges = 0
  /\ line = <<>>
  /\ shut = FALSE
  /\ users = 0
  /\ closing = FALSE
  /\ freed = FALSE
  /\ open = TRUE
  /\ memory = "used"
  /\ pc = [t \in Threads |-> CASE t \in Readers -> "begin"
                               [] t = "closer" -> "start"
                               [] OTHER -> "poll"]
  /\ seen = [r \in Readers |-> 0]
  /\ told = {}
  /\ left = Timeouts
  /\ listed = IF Ends THEN "not yet" ELSE "yes"

System == <<data, coming, edge>>
Life   == <<users, closing, freed, open, memory>>
Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Without(r) == SelectSeq(line, LAMBDA x : x # r)
InLine == {line[i] : i \in 1 .. Len(line)}

Arrive ==                     \* edge-triggered: each arrival is an event
  /\ coming > 0
  /\ open
  /\ coming' = coming - 1
  /\ data' = data + 1
  /\ edge' = [edge EXCEPT ![At] = listed = "yes"]
  /\ UNCHANGED <<edges, line, shut, Life, pc, seen, told, left, listed>>

(* Who makes it.  The poller's list is under a lock, which its end keeps while it walks. *)
IsWalked == pc["home"] = "over"
Register ==                   \* what has come before is an event, too
  /\ listed = "not yet"
  /\ ~IsWalked
  /\ IF pc["home"] = "gone"
     THEN /\ listed' = "refused"
          /\ UNCHANGED edge
     ELSE /\ listed' = "yes"
          /\ edge' = [edge EXCEPT ![At] = data > 0]
  /\ UNCHANGED <<data, coming, edges, line, shut, Life, pc, seen, told, left>>

(* A reader, on any carrier. *)
Begin(r) ==                   \* [descriptor.1] one more call, unless it is closing
  /\ pc[r] = "begin"
  /\ listed # "not yet"
  /\ IF listed = "refused" \/ closing
     THEN /\ Goto(r, "done")
          /\ UNCHANGED users
     ELSE /\ Goto(r, "look")
          /\ users' = users + 1
  /\ UNCHANGED <<System, edges, line, shut, closing, freed, open, memory, seen, told, left, listed>>
Look(r) ==                    \* [readiness.1] before the attempt
  /\ pc[r] = "look"
  /\ seen' = [seen EXCEPT ![r] = edges]
  /\ Goto(r, "read")
  /\ UNCHANGED <<System, edges, line, shut, Life, told, left, listed>>
Read(r) ==                    \* the system call
  /\ pc[r] = "read"
  /\ IF data = 0
     THEN /\ Goto(r, "wait")
          /\ UNCHANGED data
     ELSE /\ data' = data - 1
          /\ Goto(r, IF r \in told THEN "pass" ELSE "end")
  /\ UNCHANGED <<coming, edge, edges, line, shut, Life, seen, told, left, listed>>
Wait(r) ==                    \* under the lock
  /\ pc[r] = "wait"
  /\ told' = told \ {r}
  /\ IF shut
     THEN /\ Goto(r, "end")
          /\ UNCHANGED line
     ELSE IF seen[r] # edges
     THEN /\ Goto(r, "look")
          /\ UNCHANGED line
     ELSE /\ Goto(r, "parked")
          /\ line' = Append(line, r)
  /\ UNCHANGED <<System, edges, shut, Life, seen, left, listed>>
Timeout(r) ==                 \* out of the line; who was granted is not there
  /\ pc[r] = "parked"
  /\ r \in InLine
  /\ left > 0
  /\ left' = left - 1
  /\ line' = Without(r)
  /\ Goto(r, "end")
  /\ UNCHANGED <<System, edges, shut, Life, seen, told, listed>>
Tell ==                       \* the first in line
  IF line = <<>>
  THEN UNCHANGED <<line, told>>
  ELSE /\ line' = Tail(line)
       /\ told' = told \cup {Head(line)}
Granted(where, t) ==          \* pc, when t goes there and the first in line goes on
  pc' = [r \in Threads |-> CASE r = t -> where
                             [] r # t /\ line # <<>> /\ r = Head(line) -> "look"
                             [] OTHER -> pc[r]]
Pass(r) ==                    \* under the lock: there may be more
  /\ pc[r] = "pass"
  /\ Tell
  /\ Granted("end", r)
  /\ UNCHANGED <<System, edges, shut, Life, seen, left, listed>>
Die(r) ==                     \* its group is closed: out of the line; or told: the next one is
  /\ Cancels
  /\ \/ /\ pc[r] = "parked"
        /\ r \in InLine
        /\ line' = Without(r)
        /\ Goto(r, "end")
     \/ /\ pc[r] = "look"
        /\ r \in told
        /\ Goto(r, "pass")
        /\ UNCHANGED line
  /\ UNCHANGED <<System, edges, shut, Life, seen, told, left, listed>>
After(t) == IF t = "closer" /\ ~freed THEN "closed" ELSE "done"
End(t) ==                     \* [descriptor.3] the last, of one that is closing? [descriptor.2] else one less
  /\ pc[t] = "end"
  /\ IF users = 1 /\ closing
     THEN /\ Goto(t, "final")
          /\ UNCHANGED users
     ELSE /\ Goto(t, After(t))
          /\ users' = users - 1
  /\ UNCHANGED <<System, edges, line, shut, closing, freed, open, memory, seen, told, left, listed>>
Final(t) ==                   \* off the poller's list, under its lock; closed
  /\ pc[t] = "final"
  /\ ~IsWalked
  /\ listed' = "no more"
  /\ open' = FALSE
  /\ edge' = [p \in Pollers |-> FALSE]
  /\ Goto(t, "leave")
  /\ UNCHANGED <<data, coming, edges, line, shut, users, closing, freed, memory, seen, told, left>>
Leave(t) ==                   \* [descriptor.4] the last of all: [descriptor_poller.1] its memory goes to the poller [descriptor_poller.3] [descriptor_poller.4]
  /\ pc[t] = "leave"
  /\ users' = users - 1
  /\ memory' = IF users = 1 /\ freed THEN "retired" ELSE memory
  /\ Goto(t, After(t))
  /\ UNCHANGED <<System, edges, line, shut, closing, freed, open, seen, told, left, listed>>

(* Who closes it, and then frees it. *)
Close ==                      \* [descriptor.1] the last call that begins
  /\ Closes
  /\ pc["closer"] = "start"
  /\ listed = "yes"
  /\ users' = users + 1
  /\ closing' = TRUE
  /\ Goto("closer", "shut")
  /\ UNCHANGED <<System, edges, line, shut, freed, open, memory, seen, told, left, listed>>
Free ==                       \* [descriptor.1] calls may be under way
  /\ pc["closer"] = "closed"
  /\ users' = users + 1
  /\ freed' = TRUE
  /\ Goto("closer", "end")
  /\ UNCHANGED <<System, edges, line, shut, closing, open, memory, seen, told, left, listed>>
Shut ==                       \* under the lock
  /\ pc["closer"] = "shut"
  /\ shut' = TRUE
  /\ line' = <<>>
  /\ pc' = [t \in Threads |-> IF t = "closer" \/ t \in InLine THEN "end" ELSE pc[t]]
  /\ UNCHANGED <<System, edges, Life, seen, told, left, listed>>

(* The pollers. *)
Take(p) ==                    \* a round: its events lie in an array, with pointers
  /\ pc[p] = "poll"
  /\ edge[p]
  /\ edge' = [edge EXCEPT ![p] = FALSE]
  /\ Goto(p, "event")
  /\ UNCHANGED <<data, coming, edges, line, shut, Life, seen, told, left, listed>>
Event(p) ==                   \* under the lock, [readiness.2]
  /\ pc[p] = "event"
  /\ edges' = edges + 1
  /\ Tell
  /\ Granted("poll", p)
  /\ UNCHANGED <<System, shut, Life, seen, left, listed>>
Reclaim(p) ==                 \* [descriptor_poller.2] between two rounds; or with the poller's own memory
  /\ pc[p] \in {"poll", "gone"}
  /\ memory = "retired"
  /\ p = At
  /\ memory' = "freed"
  /\ UNCHANGED <<System, edges, line, shut, users, closing, freed, open, pc, seen, told, left,
                 listed>>
Over ==                       \* under the lock of its list: nothing is added any more
  /\ Ends
  /\ pc["home"] = "poll"
  /\ Goto("home", IF listed = "yes" THEN "over" ELSE "gone")
  /\ UNCHANGED <<System, edges, line, shut, Life, seen, told, left, listed>>
Walk ==                       \* each that is listed, under the lock of its direction: shut
  /\ IsWalked
  /\ shut' = TRUE
  /\ line' = <<>>
  /\ pc' = [t \in Threads |-> IF t = "home" THEN "gone" ELSE IF t \in InLine THEN "end" ELSE pc[t]]
  /\ UNCHANGED <<System, edges, Life, seen, told, left, listed>>

Finished ==
  /\ \A r \in Readers : \/ pc[r] = "done"
                        \/ pc[r] = "parked" /\ coming + data = 0
  /\ UNCHANGED vars
Reader(r) ==
  \/ Begin(r) \/ Look(r) \/ Read(r) \/ Wait(r) \/ Timeout(r) \/ Pass(r)
  \/ End(r) \/ Final(r) \/ Leave(r)
Closer == Close \/ Shut \/ Free \/ End("closer") \/ Final("closer") \/ Leave("closer")
Poller(p) == Take(p) \/ Event(p) \/ Reclaim(p) \/ (p = "home" /\ (Over \/ Walk))
Next ==
  \/ Arrive \/ Register \/ (\E r \in Readers : Reader(r) \/ Die(r)) \/ Closer
  \/ (\E p \in Pollers : Poller(p)) \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec ==
  /\ Spec
  /\ WF_vars(Arrive)
  /\ \A p \in Pollers : WF_vars(Poller(p))
  /\ \A r \in Readers : WF_vars(Reader(r))

(* What must hold. *)
IsActive(r) ==
  /\ r \in told
  /\ pc[r] \in {"look", "read", "pass"}
\* Nobody waits for a descriptor that is ready, unless somebody is about to be told, or was.
ReadinessNotLost ==
  line # <<>> /\ data > 0 /\ pc["home"] \notin {"over", "gone"} =>
    \/ \E p \in Pollers : edge[p] \/ pc[p] = "event"
    \/ \E r \in Readers : IsActive(r)
\* When a descriptor is closed nobody waits for it.
CloseWakesWaiter == shut => line = <<>>
\* When the poller has ended, for its group was closed, nobody waits for a descriptor of it.
EndWakesWaiter == pc["home"] = "gone" => line = <<>>
\* The end of a poller touches no descriptor that has left its list.
EndWalksListed == IsWalked => listed = "yes"
\* No call uses a descriptor's number after it was closed.
FdIsOurs == \A r \in Readers : pc[r] = "read" => open
\* A poller finds the memory that an event of its array points to.
EventIsAlive == \A p \in Pollers : pc[p] = "event" => memory # "freed"
IsInside(t) == pc[t] \notin {"begin", "start", "closed", "done"}
\* When nobody is in a call of a closing descriptor any more, readers of closed groups neither, it
\* is closed.
ClosedInTheEnd == closing /\ (\A t \in Readers \cup {"closer"} : ~IsInside(t)) => ~open
\* Whoever is in a call, or closes or frees a descriptor, finds its memory.
IoIsAlive == memory # "used" => \A t \in Readers \cup {"closer"} : ~IsInside(t)
\* The poller of the home of whoever made the descriptor tells, and a thread that was stolen goes on
\* there.
IoCompletionAtHome == pc["other"] # "event"
\* Who reads has read, when enough has come.
ReadsAll == \A r \in Readers : <>(pc[r] = "done")
=============================================================================
