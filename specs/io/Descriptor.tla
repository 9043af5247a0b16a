--------------------------------- MODULE Descriptor ---------------------------------
(***************************************************************************)
(* Threads read from a descriptor that is not ready. Each parks until the  *)
(* poller of its home reports readiness, or a deadline passes, or the      *)
(* descriptor is closed, or the poller itself ends, or the thread's own    *)
(* group is closed. Readiness wakes one thread, which passes it on.        *)
(* Code       kernel/io/descriptor.h, descriptor_call.c, descriptor.c,     *)
(*            descriptor_poller.h, descriptor_poller.c, readiness.h,       *)
(*            readiness.c: [readiness.1]..[descriptor.4].                  *)
(* Abstracts  one direction; a grant and the park that it ends to one step *)
(*            (WaitQueue); what is under the lock of the direction to one  *)
(*            step; the way of a thread to its home (Group: HomeReturn);   *)
(*            the system's list of ready descriptors: each arrival enters  *)
(*            an edge; the poller's list of descriptors to this one.       *)
(* Memory     sequential consistency, which the lock, [readiness.1] and    *)
(*            [readiness.2] earn; the system calls order data and edge.    *)
(* Promises   ReadinessNotLost, CloseWakesWaiter, EndWakesWaiter,          *)
(*            EndWalksListed, ClosedInTheEnd, FdIsOurs, EventIsAlive,      *)
(*            IoIsAlive, IoCompletionAtHome (safety); ReadsAll (liveness). *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Readers,   \* each reads once
  Closes,    \* the descriptor is closed, at any time
  Timeouts,  \* how many waits may end by their deadline
  Ends,      \* the poller's group is closed, at any time, and the poller ends
  Cancels    \* the groups of readers are closed, at any time, and the readers never run again

VARIABLES
  data,     \* how much can be read
  coming,   \* how much has yet to arrive
  edge,     \* poller -> whether the system has an event for it
  edges,    \* how many events the descriptor has had
  line,     \* readers that wait
  shut,     \* the direction is closed
  users,    \* calls under way, including close and free
  closing,  \* in the same word: no more calls may begin
  freed,    \* in the same word: the memory goes with the last call
  open,     \* the descriptor's number is this descriptor's
  memory,   \* "used"; "retired": the poller frees it after this round; "freed"
  pc,       \* thread -> its next step
  seen,     \* reader -> the count of edges that it read before its attempt
  told,     \* readers that readiness has woken
  left,     \* timeouts that are still to come
  listed    \* whether its poller lists it: "not yet", "yes", "no more"; "refused"

vars == <<data, coming, edge, edges, line, shut, users, closing, freed, open, memory, pc, seen,
          told, left, listed>>

Pollers == {"home", "other"}
Threads == Readers \cup {"closer"} \cup Pollers

\* Where the descriptor is registered, whichever carrier runs the opening thread.
At == "home"
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

\* Data arrives. The poller is edge-triggered, so each arrival is an event.
Arrive ==
  /\ coming > 0
  /\ open
  /\ coming' = coming - 1
  /\ data' = data + 1
  /\ edge' = [edge EXCEPT ![At] = listed = "yes"]
  /\ UNCHANGED <<edges, line, shut, Life, pc, seen, told, left, listed>>

(* Making the descriptor.  The poller's list is under a lock, which the poller's end keeps while it
   walks the list. *)

\* The ending poller walks its list.
IsWalked == pc["home"] = "over"

\* The descriptor enters the poller's list. What has arrived before is an event, too.
Register ==
  /\ listed = "not yet"
  /\ ~IsWalked
  /\ IF pc["home"] = "gone"
     THEN /\ listed' = "refused"
          /\ UNCHANGED edge
     ELSE /\ listed' = "yes"
          /\ edge' = [edge EXCEPT ![At] = data > 0]
  /\ UNCHANGED <<data, coming, edges, line, shut, Life, pc, seen, told, left>>

(* A reader, on any carrier. *)

\* One more call is under way, unless the descriptor is closing.
Begin(r) ==                   \* [descriptor.1]
  /\ pc[r] = "begin"
  /\ listed # "not yet"
  /\ IF listed = "refused" \/ closing
     THEN /\ Goto(r, "done")
          /\ UNCHANGED users
     ELSE /\ Goto(r, "look")
          /\ users' = users + 1
  /\ UNCHANGED <<System, edges, line, shut, closing, freed, open, memory, seen, told, left, listed>>

\* The reader reads the count of edges before its attempt.
Look(r) ==                    \* [readiness.1]
  /\ pc[r] = "look"
  /\ seen' = [seen EXCEPT ![r] = edges]
  /\ Goto(r, "read")
  /\ UNCHANGED <<System, edges, line, shut, Life, told, left, listed>>

\* The system call.
Read(r) ==
  /\ pc[r] = "read"
  /\ IF data = 0
     THEN /\ Goto(r, "wait")
          /\ UNCHANGED data
     ELSE /\ data' = data - 1
          /\ Goto(r, IF r \in told THEN "pass" ELSE "end")
  /\ UNCHANGED <<coming, edge, edges, line, shut, Life, seen, told, left, listed>>

\* Under the lock the reader looks whether the direction is shut or an edge has come; otherwise it
\* waits in line.
Wait(r) ==
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

\* The reader's deadline takes it out of the line; a reader that was granted is not there any more.
Timeout(r) ==
  /\ pc[r] = "parked"
  /\ r \in InLine
  /\ left > 0
  /\ left' = left - 1
  /\ line' = Without(r)
  /\ Goto(r, "end")
  /\ UNCHANGED <<System, edges, shut, Life, seen, told, listed>>

\* Readiness goes to the first reader in line.
Tell ==
  IF line = <<>>
  THEN UNCHANGED <<line, told>>
  ELSE /\ line' = Tail(line)
       /\ told' = told \cup {Head(line)}

\* The next steps, when thread t goes to `where` and the first reader in line goes on.
Granted(where, t) ==
  pc' = [r \in Threads |-> CASE r = t -> where
                             [] r # t /\ line # <<>> /\ r = Head(line) -> "look"
                             [] OTHER -> pc[r]]

\* Under the lock the reader passes readiness on, because there may be more to read.
Pass(r) ==
  /\ pc[r] = "pass"
  /\ Tell
  /\ Granted("end", r)
  /\ UNCHANGED <<System, edges, shut, Life, seen, left, listed>>

\* The reader's group is closed. A waiting reader leaves the line; a reader that was woken passes
\* readiness on.
Die(r) ==
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

\* [descriptor.3] Is this the last call of a descriptor that is closing? [descriptor.2] Otherwise
\* one call less is under way.
End(t) ==
  /\ pc[t] = "end"
  /\ IF users = 1 /\ closing
     THEN /\ Goto(t, "final")
          /\ UNCHANGED users
     ELSE /\ Goto(t, After(t))
          /\ users' = users - 1
  /\ UNCHANGED <<System, edges, line, shut, closing, freed, open, memory, seen, told, left, listed>>

\* The last call takes the descriptor off the poller's list, under the list's lock, and closes it.
Final(t) ==
  /\ pc[t] = "final"
  /\ ~IsWalked
  /\ listed' = "no more"
  /\ open' = FALSE
  /\ edge' = [p \in Pollers |-> FALSE]
  /\ Goto(t, "leave")
  /\ UNCHANGED <<data, coming, edges, line, shut, users, closing, freed, memory, seen, told, left>>

\* [descriptor.4] The last call of all gives the memory to the poller ([descriptor_poller.1]
\* [descriptor_poller.3] [descriptor_poller.4]).
Leave(t) ==
  /\ pc[t] = "leave"
  /\ users' = users - 1
  /\ memory' = IF users = 1 /\ freed THEN "retired" ELSE memory
  /\ Goto(t, After(t))
  /\ UNCHANGED <<System, edges, line, shut, closing, freed, open, seen, told, left, listed>>

(* Closing the descriptor, and then freeing it. *)

\* The close is the last call that begins.
Close ==                      \* [descriptor.1]
  /\ Closes
  /\ pc["closer"] = "start"
  /\ listed = "yes"
  /\ users' = users + 1
  /\ closing' = TRUE
  /\ Goto("closer", "shut")
  /\ UNCHANGED <<System, edges, line, shut, freed, open, memory, seen, told, left, listed>>

\* The free begins; calls may be under way.
Free ==                       \* [descriptor.1]
  /\ pc["closer"] = "closed"
  /\ users' = users + 1
  /\ freed' = TRUE
  /\ Goto("closer", "end")
  /\ UNCHANGED <<System, edges, line, shut, closing, open, memory, seen, told, left, listed>>

\* Under the lock the close shuts the direction and wakes all readers in line.
Shut ==
  /\ pc["closer"] = "shut"
  /\ shut' = TRUE
  /\ line' = <<>>
  /\ pc' = [t \in Threads |-> IF t = "closer" \/ t \in InLine THEN "end" ELSE pc[t]]
  /\ UNCHANGED <<System, edges, Life, seen, told, left, listed>>

(* The pollers. *)

\* The poller begins a round: its events lie in an array, with pointers to descriptors.
Take(p) ==
  /\ pc[p] = "poll"
  /\ edge[p]
  /\ edge' = [edge EXCEPT ![p] = FALSE]
  /\ Goto(p, "event")
  /\ UNCHANGED <<data, coming, edges, line, shut, Life, seen, told, left, listed>>

\* Under the lock the poller counts the edge and wakes a reader.
Event(p) ==                   \* [readiness.2]
  /\ pc[p] = "event"
  /\ edges' = edges + 1
  /\ Tell
  /\ Granted("poll", p)
  /\ UNCHANGED <<System, shut, Life, seen, left, listed>>

\* The poller frees the memory between two rounds, or with its own memory.
Reclaim(p) ==                 \* [descriptor_poller.2]
  /\ pc[p] \in {"poll", "gone"}
  /\ memory = "retired"
  /\ p = At
  /\ memory' = "freed"
  /\ UNCHANGED <<System, edges, line, shut, users, closing, freed, open, pc, seen, told, left,
                 listed>>

\* The poller ends, under the lock of its list, so that no descriptor is added any more.
Over ==
  /\ Ends
  /\ pc["home"] = "poll"
  /\ Goto("home", IF listed = "yes" THEN "over" ELSE "gone")
  /\ UNCHANGED <<System, edges, line, shut, Life, seen, told, left, listed>>

\* The ending poller shuts each listed descriptor, under the lock of its direction.
Walk ==
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

\* A reader that readiness has woken is on its way to read, or to pass it on.
IsActive(r) ==
  /\ r \in told
  /\ pc[r] \in {"look", "read", "pass"}

\* No reader waits for a descriptor that is ready, unless some reader is about to be woken, or was.
ReadinessNotLost ==
  line # <<>> /\ data > 0 /\ pc["home"] \notin {"over", "gone"} =>
    \/ \E p \in Pollers : edge[p] \/ pc[p] = "event"
    \/ \E r \in Readers : IsActive(r)

\* No reader waits for a closed descriptor.
CloseWakesWaiter == shut => line = <<>>

\* When the poller has ended, because its group was closed, no reader waits for a descriptor of it.
EndWakesWaiter == pc["home"] = "gone" => line = <<>>
\* The end of a poller touches no descriptor that has left its list.
EndWalksListed == IsWalked => listed = "yes"

\* No call uses a descriptor's number after the number was closed.
FdIsOurs == \A r \in Readers : pc[r] = "read" => open
\* A poller finds the memory that an event of its array points to.
EventIsAlive == \A p \in Pollers : pc[p] = "event" => memory # "freed"

\* Thread t is in a call.
IsInside(t) == pc[t] \notin {"begin", "start", "closed", "done"}

\* A closing descriptor is closed when no thread is in a call of it any more, which includes readers
\* of closed groups.
ClosedInTheEnd == closing /\ (\A t \in Readers \cup {"closer"} : ~IsInside(t)) => ~open

\* A thread that is in a call, or closes or frees a descriptor, finds its memory.
IoIsAlive == memory # "used" => \A t \in Readers \cup {"closer"} : ~IsInside(t)

\* Only the poller of the home of the thread that made the descriptor reports readiness, and a
\* thread that was stolen goes on there.
IoCompletionAtHome == pc["other"] # "event"

\* Each reader has read when enough has arrived.
ReadsAll == \A r \in Readers : <>(pc[r] = "done")
=============================================================================
