--------------------------------- MODULE Descriptor ---------------------------------
(***************************************************************************)
(* Threads read from a descriptor that is not ready. Each of them parks    *)
(* until one of five things happens: the poller of its home carrier        *)
(* reports that the descriptor is ready, a deadline passes, the descriptor *)
(* is closed, the poller itself ends, or the thread's own group is closed. *)
(* A report of readiness wakes one thread, which reads and then passes the *)
(* report on to the next thread in line.                                   *)
(*                                                                         *)
(* Code       kernel/io/descriptor.h, descriptor_call.c, descriptor.c,     *)
(*            descriptor_poller.h, descriptor_poller.c, readiness.h,       *)
(*            readiness.c: [readiness.1]..[descriptor.4].                  *)
(* Abstracts  the two directions, reading and writing, to one; a grant and *)
(*            the park that it ends to one step (WaitQueue); what is done  *)
(*            under the lock of the direction to one step; the way of a    *)
(*            thread to its home (Group: HomeReturn); the system's list of *)
(*            ready descriptors to an edge for each arrival of data; the   *)
(*            poller's list of descriptors to this one descriptor.         *)
(* Memory     sequential consistency, which the lock, [readiness.1] and    *)
(*            [readiness.2] earn; the system calls order the data and the  *)
(*            edge.                                                        *)
(* Promises   ReadinessNotLost, CloseWakesWaiter, EndWakesWaiter,          *)
(*            EndWalksListed, ClosedInTheEnd, FdIsOurs, EventIsAlive,      *)
(*            IoIsAlive, IoCompletionAtHome (safety); ReadsAll (liveness). *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Readers,   \* each reads once
  Closes,    \* TRUE: the descriptor may be closed, at any time
  Timeouts,  \* the number of waits that may end by their deadline
  Ends,      \* TRUE: the poller's group may be closed, at any time, and the poller then ends
  Cancels    \* TRUE: the groups of readers may be closed, at any time, and their readers never run
             \* again

VARIABLES
  data,     \* how much can be read
  coming,   \* how much has yet to arrive
  edge,     \* poller -> TRUE if the system has an event for this poller
  edges,    \* the number of events that the descriptor has had
  line,     \* the readers that wait, in order
  shut,     \* the direction is closed
  users,    \* the number of calls under way, including close and free
  closing,  \* in the same word: TRUE if no more calls may begin
  freed,    \* in the same word: TRUE if the last call frees the memory
  open,     \* TRUE while the descriptor's number belongs to this descriptor
  memory,   \* "used"; "retired": the poller frees it after this round; "freed"
  pc,       \* thread -> its next step
  seen,     \* reader -> the count of edges that it read before its attempt
  told,     \* readers that readiness has woken
  left,     \* timeouts that are still to come
  listed    \* whether the poller's list has the descriptor: "not yet", "yes", "no more"; "refused"
            \* if the poller had ended

vars == <<data, coming, edge, edges, line, shut, users, closing, freed, open, memory, pc, seen,
          told, left, listed>>

Pollers == {"home", "other"}
Threads == Readers \cup {"closer"} \cup Pollers

\* The descriptor is registered with the poller of this carrier, whichever carrier runs the thread
\* that opens it.
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

\* Data arrives. The poller is edge-triggered, so each arrival is a new event.
Arrive ==
  /\ coming > 0
  /\ open
  /\ coming' = coming - 1
  /\ data' = data + 1
  /\ edge' = [edge EXCEPT ![At] = listed = "yes"]
  /\ UNCHANGED <<edges, line, shut, Life, pc, seen, told, left, listed>>

(* Making the descriptor.  A lock guards the poller's list, and a poller that ends holds this lock
   while it walks the list. *)

\* The ending poller walks its list.
IsWalked == pc["home"] = "over"

\* The descriptor enters the poller's list. Data that has arrived before is an event, too.
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

\* The reader begins a call, which is counted. If the descriptor is closing, the call is refused.
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

\* The reader makes its system call, which reads the data if there is some.
Read(r) ==
  /\ pc[r] = "read"
  /\ IF data = 0
     THEN /\ Goto(r, "wait")
          /\ UNCHANGED data
     ELSE /\ data' = data - 1
          /\ Goto(r, IF r \in told THEN "pass" ELSE "end")
  /\ UNCHANGED <<coming, edge, edges, line, shut, Life, seen, told, left, listed>>

\* Under the lock the reader checks whether the direction is shut or an edge has come since it read
\* the count. If neither is true, the reader joins the line.
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

\* The reader's deadline passes, and the reader leaves the line. A reader that was granted is not in
\* the line any more.
Timeout(r) ==
  /\ pc[r] = "parked"
  /\ r \in InLine
  /\ left > 0
  /\ left' = left - 1
  /\ line' = Without(r)
  /\ Goto(r, "end")
  /\ UNCHANGED <<System, edges, shut, Life, seen, told, listed>>

\* The first reader in line is told that the descriptor is ready.
Tell ==
  IF line = <<>>
  THEN UNCHANGED <<line, told>>
  ELSE /\ line' = Tail(line)
       /\ told' = told \cup {Head(line)}

\* The next step of each thread, when thread t goes to `where` and the first reader in line
\* continues.
Granted(where, t) ==
  pc' = [r \in Threads |-> CASE r = t -> where
                             [] r # t /\ line # <<>> /\ r = Head(line) -> "look"
                             [] OTHER -> pc[r]]

\* Under the lock the reader passes the report on to the next reader in line, because there may be
\* more to read.
Pass(r) ==
  /\ pc[r] = "pass"
  /\ Tell
  /\ Granted("end", r)
  /\ UNCHANGED <<System, edges, shut, Life, seen, left, listed>>

\* The reader's group is closed. A reader that waits leaves the line. A reader that was woken passes
\* the report of readiness on.
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

\* The call ends. If it is the last call and the descriptor is closing ([descriptor.3]), it closes
\* the descriptor. Otherwise it is only taken off the count ([descriptor.2]).
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

\* The last call of all gives the memory to the poller: [descriptor.4] ([descriptor_poller.1]
\* [descriptor_poller.3] [descriptor_poller.4]).
Leave(t) ==
  /\ pc[t] = "leave"
  /\ users' = users - 1
  /\ memory' = IF users = 1 /\ freed THEN "retired" ELSE memory
  /\ Goto(t, After(t))
  /\ UNCHANGED <<System, edges, line, shut, closing, freed, open, seen, told, left, listed>>

(* Closing the descriptor, and then freeing it. *)

\* The close begins. It is the last call that begins, apart from the free.
Close ==                      \* [descriptor.1]
  /\ Closes
  /\ pc["closer"] = "start"
  /\ listed = "yes"
  /\ users' = users + 1
  /\ closing' = TRUE
  /\ Goto("closer", "shut")
  /\ UNCHANGED <<System, edges, line, shut, freed, open, memory, seen, told, left, listed>>

\* The free begins. Other calls may still be under way.
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

\* The poller begins a round. It gets its events in an array that points to descriptors.
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

\* The poller frees the memory between two rounds, or when its own memory is freed.
Reclaim(p) ==                 \* [descriptor_poller.2]
  /\ pc[p] \in {"poll", "gone"}
  /\ memory = "retired"
  /\ p = At
  /\ memory' = "freed"
  /\ UNCHANGED <<System, edges, line, shut, users, closing, freed, open, pc, seen, told, left,
                 listed>>

\* The poller ends. It takes the lock of its list, so that no more descriptors are added.
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

\* Reader r was woken by a report of readiness, and is about to read or to pass the report on.
IsActive(r) ==
  /\ r \in told
  /\ pc[r] \in {"look", "read", "pass"}

\* While the descriptor is ready, no reader waits, unless a poller is about to wake a reader, or a
\* woken reader is still on its way.
ReadinessNotLost ==
  line # <<>> /\ data > 0 /\ pc["home"] \notin {"over", "gone"} =>
    \/ \E p \in Pollers : edge[p] \/ pc[p] = "event"
    \/ \E r \in Readers : IsActive(r)

\* No reader waits for a closed descriptor.
CloseWakesWaiter == shut => line = <<>>

\* When the poller has ended because its group was closed, no reader waits for a descriptor of this
\* poller.
EndWakesWaiter == pc["home"] = "gone" => line = <<>>
\* A poller that ends accesses no descriptor that has left its list.
EndWalksListed == IsWalked => listed = "yes"

\* No call uses a descriptor's number after the number was closed.
FdIsOurs == \A r \in Readers : pc[r] = "read" => open
\* While a poller has an event that points to a descriptor, the descriptor's memory is not freed.
EventIsAlive == \A p \in Pollers : pc[p] = "event" => memory # "freed"

\* Thread t is in a call.
IsInside(t) == pc[t] \notin {"begin", "start", "closed", "done"}

\* A descriptor that is closing is closed once no thread is inside a call on it. This includes the
\* calls of readers whose groups were closed.
ClosedInTheEnd == closing /\ (\A t \in Readers \cup {"closer"} : ~IsInside(t)) => ~open

\* The descriptor's memory is kept while any thread is inside a call on it, including close and
\* free.
IoIsAlive == memory # "used" => \A t \in Readers \cup {"closer"} : ~IsInside(t)

\* Only one poller reports readiness: that of the home of the thread that made the descriptor. A
\* thread that was stolen continues there.
IoCompletionAtHome == pc["other"] # "event"

\* Each reader eventually reads, if enough data arrives.
ReadsAll == \A r \in Readers : <>(pc[r] = "done")
=============================================================================
