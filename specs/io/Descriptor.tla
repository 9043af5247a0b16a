--------------------------------- MODULE Descriptor ---------------------------------
(***************************************************************************)
(* Threads read from a descriptor that is not ready. Each of them parks    *)
(* until one of five things happens: the poller of its home carrier        *)
(* reports that the descriptor is ready, a deadline passes (or the thread  *)
(* is interrupted), the descriptor is closed, the poller itself ends, or   *)
(* the thread's own group is closed.                                       *)
(* A report of readiness wakes one thread, which reads and then passes the *)
(* report on to the next thread in line. A read that does not fill its     *)
(* buffer has emptied the stream, so the next read is left out until the   *)
(* poller reports an event.                                                *)
(*                                                                         *)
(* Code       kernel/io/descriptor.h, descriptor_call.c, descriptor.c,     *)
(*            descriptor_poller.h, descriptor_poller.c, readiness.h,       *)
(*            readiness.c: [readiness.1]..[descriptor.6].                  *)
(* Abstracts  the two directions, reading and writing, to one; a grant and *)
(*            the park that it ends to one step (WaitQueue); what is done  *)
(*            under the lock of the direction to one step; the way of a    *)
(*            thread to its home (Group: HomeReturn); the system's list of *)
(*            ready descriptors to an edge for each arrival of data; the   *)
(*            poller's list of descriptors to this one descriptor. That    *)
(*            the poller runs while a reader waits: a reader for which this *)
(*            may be false leaves no read out (is_beside_poller).          *)
(* Memory     sequential consistency, which the lock, [readiness.1] and    *)
(*            [readiness.2] earn; the system calls order the data and the  *)
(*            edge.                                                        *)
(* Promises   ReadinessNotLost, CloseWakesWaiter, EndWakesWaiter,          *)
(*            EndWalksListed, ClosedInTheEnd, FdIsOurs, EventIsAlive,      *)
(*            IoIsAlive, IoCompletionAtHome, ReadsBeforeLate (safety);     *)
(*            ReadsAll (liveness).                                         *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Readers,   \* each reads once
  Amount,    \* of data in the stream
  Size,      \* how much a reader's buffer holds
  Finishes,  \* TRUE: after all data, the end of the stream arrives
  Closes,    \* TRUE: the descriptor may be closed, at any time
  Timeouts,  \* the number of waits that may end by their deadline
  Ends,      \* TRUE: the poller's group may be closed, at any time, and the poller then ends
  Cancels    \* TRUE: the groups of readers may be closed, at any time, and their readers never run
             \* again

VARIABLES
  data,     \* how much can be read
  coming,   \* how much has yet to arrive
  finished, \* the end of the stream has arrived: every read returns at once
  edge,     \* poller -> TRUE if the system has an event for this poller
  taken,    \* poller -> TRUE if the event that it has taken reports more than data
  edges,    \* twice the number of events that the descriptor has had, and 1 more if one of them
            \* has reported more than data
  empty,    \* 1 more than the value of `edges` for which a read has emptied the stream; 0: none has
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
  skipped,  \* readers that wait, and have left out the read that would have come before
  left,     \* timeouts that are still to come
  listed    \* whether the poller's list has the descriptor: "not yet", "yes", "no more"; "refused"
            \* if the poller had ended

vars == <<data, coming, finished, edge, taken, edges, empty, line, shut, users, closing, freed, open,
          memory, pc, seen, told, skipped, left, listed>>

Pollers == {"home", "other"}
Threads == Readers \cup {"closer"} \cup Pollers

\* The descriptor is registered with the poller of this carrier, whichever carrier runs the thread
\* that opens it.
At == "home"
\* The most that `edges` can be.
Most == 2 * (Amount + 1) + 1

TypeOK ==
  /\ {data, coming} \subseteq 0 .. Amount
  /\ {edge, taken} \subseteq [Pollers -> BOOLEAN]
  /\ edges \in 0 .. Most
  /\ empty \in 0 .. Most + 1
  /\ \A i \in 1 .. Len(line) : line[i] \in Readers
  /\ {finished, shut, closing, freed, open} \subseteq BOOLEAN
  /\ users \in 0 .. Cardinality(Readers) + 1
  /\ memory \in {"used", "retired", "freed"}
  /\ pc \in [Threads -> {"begin", "look", "check", "read", "note", "wait", "parked", "last", "pass",
                         "end", "final", "leave", "done", "start", "shut", "closed", "poll", "event",
                         "over", "gone"}]
  /\ seen \in [Readers -> 0 .. Most]
  /\ {told, skipped} \subseteq SUBSET Readers
  /\ left \in 0 .. Timeouts
  /\ listed \in {"not yet", "yes", "no more", "refused"}

Init ==
  /\ data = 0
  /\ coming = Amount
  /\ finished = FALSE
  /\ edge = [p \in Pollers |-> FALSE]
  /\ taken = [p \in Pollers |-> FALSE]
  /\ edges = 0
  /\ empty = 0
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
  /\ skipped = {}
  /\ left = Timeouts
  /\ listed = IF Ends THEN "not yet" ELSE "yes"

System == <<data, coming, finished, edge, taken>>
Reads  == <<empty, skipped>>
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
  /\ UNCHANGED <<finished, taken, edges, line, shut, Reads, Life, pc, seen, told, left, listed>>

\* The end of the stream arrives, or an error: one event may report it and the data before it.
Finish ==
  /\ Finishes
  /\ coming = 0
  /\ ~finished
  /\ open
  /\ finished' = TRUE
  /\ edge' = [edge EXCEPT ![At] = listed = "yes"]
  /\ UNCHANGED <<data, coming, taken, edges, line, shut, Reads, Life, pc, seen, told, left, listed>>

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
          /\ edge' = [edge EXCEPT ![At] = data > 0 \/ finished]
  /\ UNCHANGED <<data, coming, finished, taken, edges, line, shut, Reads, Life, pc, seen, told, left>>

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
  /\ UNCHANGED <<System, edges, line, shut, Reads, closing, freed, open, memory, seen, told, left,
                 listed>>

\* The reader reads the count of edges before its attempt. After an edge that has reported more than
\* data, it does not leave the attempt out.
Look(r) ==                    \* [readiness.1]
  /\ pc[r] = "look"
  /\ seen' = [seen EXCEPT ![r] = edges]
  /\ Goto(r, IF edges % 2 = 1 THEN "read" ELSE "check")
  /\ UNCHANGED <<System, edges, line, shut, Reads, Life, told, left, listed>>

\* If a read has emptied the stream since the last of these edges, the reader leaves its own read
\* out.
Check(r) ==                   \* [descriptor.6]
  /\ pc[r] = "check"
  /\ IF empty = seen[r] + 1
     THEN /\ Goto(r, "wait")
          /\ skipped' = skipped \cup {r}
     ELSE /\ Goto(r, "read")
          /\ UNCHANGED skipped
  /\ UNCHANGED <<System, edges, line, shut, empty, Life, seen, told, left, listed>>

Least(a, b) == IF a < b THEN a ELSE b
HasRead(r) == IF r \in told THEN "pass" ELSE "end"

\* The reader makes its system call, which reads data if there is some, as much as the buffer holds.
\* If the buffer is not full after that, the stream was empty.
Read(r) ==
  /\ pc[r] = "read"
  /\ data' = data - Least(data, Size)
  /\ Goto(r, CASE data = 0 /\ ~finished                     -> "wait"
               [] 0 < data /\ data < Size /\ seen[r] % 2 = 0 -> "note"
               [] OTHER                                     -> HasRead(r))
  /\ UNCHANGED <<coming, finished, edge, taken, edges, line, shut, Reads, Life, seen, told, left,
                 listed>>

\* The reader notes that the stream was empty, and since which edge. After an edge that has reported
\* more than data, it does not.
Note(r) ==                    \* [descriptor.5]
  /\ pc[r] = "note"
  /\ empty' = seen[r] + 1
  /\ Goto(r, HasRead(r))
  /\ UNCHANGED <<System, edges, line, shut, skipped, Life, seen, told, left, listed>>


\* Under the lock the reader checks whether the direction is shut or an edge has come since it read
\* the count. If neither is true, the reader joins the line.
Wait(r) ==
  /\ pc[r] = "wait"
  /\ told' = told \ {r}
  /\ IF shut
     THEN /\ Goto(r, "end")
          /\ skipped' = skipped \ {r}
          /\ UNCHANGED line
     ELSE IF seen[r] # edges
     THEN /\ Goto(r, "look")
          /\ skipped' = skipped \ {r}
          /\ UNCHANGED line
     ELSE /\ Goto(r, "parked")
          /\ line' = Append(line, r)
          /\ UNCHANGED skipped
  /\ UNCHANGED <<System, edges, shut, empty, Life, seen, left, listed>>

\* The reader's deadline passes, and the reader leaves the line. If it has left its read out, it reads
\* after all. A reader that was granted is not in the line any more.
Timeout(r) ==
  /\ pc[r] = "parked"
  /\ r \in InLine
  /\ left > 0
  /\ left' = left - 1
  /\ line' = Without(r)
  /\ Goto(r, IF r \in skipped THEN "last" ELSE "end")
  /\ UNCHANGED <<System, edges, shut, Reads, Life, seen, told, listed>>

\* The reader makes the system call that it has left out.
Last(r) ==
  /\ pc[r] = "last"
  /\ data' = data - Least(data, Size)
  /\ skipped' = skipped \ {r}
  /\ Goto(r, "end")
  /\ UNCHANGED <<coming, finished, edge, taken, edges, line, shut, empty, Life, seen, told, left,
                 listed>>

\* The first reader in line is told that the descriptor is ready.
Tell ==
  IF line = <<>>
  THEN UNCHANGED <<line, told, skipped>>
  ELSE /\ line' = Tail(line)
       /\ told' = told \cup {Head(line)}
       /\ skipped' = skipped \ {Head(line)}

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
  /\ UNCHANGED <<System, edges, shut, empty, Life, seen, left, listed>>

\* The reader's group is closed. A reader that waits leaves the line. A reader that was woken passes
\* the report of readiness on.
Die(r) ==
  /\ Cancels
  /\ \/ /\ pc[r] = "parked"
        /\ r \in InLine
        /\ line' = Without(r)
        /\ skipped' = skipped \ {r}
        /\ Goto(r, "end")
     \/ /\ pc[r] = "look"
        /\ r \in told
        /\ Goto(r, "pass")
        /\ UNCHANGED <<line, skipped>>
  /\ UNCHANGED <<System, edges, shut, empty, Life, seen, told, left, listed>>

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
  /\ UNCHANGED <<System, edges, line, shut, Reads, closing, freed, open, memory, seen, told, left,
                 listed>>

\* The last call takes the descriptor off the poller's list, under the list's lock, and closes it.
Final(t) ==
  /\ pc[t] = "final"
  /\ ~IsWalked
  /\ listed' = "no more"
  /\ open' = FALSE
  /\ edge' = [p \in Pollers |-> FALSE]
  /\ Goto(t, "leave")
  /\ UNCHANGED <<data, coming, finished, taken, edges, line, shut, Reads, users, closing, freed,
                 memory, seen, told, left>>

\* The last call of all gives the memory to the poller: [descriptor.4] ([descriptor_poller.1]
\* [descriptor_poller.3] [descriptor_poller.4]).
Leave(t) ==
  /\ pc[t] = "leave"
  /\ users' = users - 1
  /\ memory' = IF users = 1 /\ freed THEN "retired" ELSE memory
  /\ Goto(t, After(t))
  /\ UNCHANGED <<System, edges, line, shut, Reads, closing, freed, open, seen, told, left, listed>>

(* Closing the descriptor, and then freeing it. *)

\* The close begins. It is the last call that begins, apart from the free.
Close ==                      \* [descriptor.1]
  /\ Closes
  /\ pc["closer"] = "start"
  /\ listed = "yes"
  /\ users' = users + 1
  /\ closing' = TRUE
  /\ Goto("closer", "shut")
  /\ UNCHANGED <<System, edges, line, shut, Reads, freed, open, memory, seen, told, left, listed>>

\* The free begins. Other calls may still be under way.
Free ==                       \* [descriptor.1]
  /\ pc["closer"] = "closed"
  /\ users' = users + 1
  /\ freed' = TRUE
  /\ Goto("closer", "end")
  /\ UNCHANGED <<System, edges, line, shut, Reads, closing, open, memory, seen, told, left, listed>>

\* Under the lock the close shuts the direction and wakes all readers in line.
Shut ==
  /\ pc["closer"] = "shut"
  /\ shut' = TRUE
  /\ line' = <<>>
  /\ skipped' = skipped \ InLine
  /\ pc' = [t \in Threads |-> IF t = "closer" \/ t \in InLine THEN "end" ELSE pc[t]]
  /\ UNCHANGED <<System, edges, empty, Life, seen, told, left, listed>>

(* The pollers. *)

\* The poller begins a round. It gets its events in an array that points to descriptors. An event
\* reports what is true now.
Take(p) ==
  /\ pc[p] = "poll"
  /\ edge[p]
  /\ edge' = [edge EXCEPT ![p] = FALSE]
  /\ taken' = [taken EXCEPT ![p] = finished]
  /\ Goto(p, "event")
  /\ UNCHANGED <<data, coming, finished, edges, line, shut, Reads, Life, seen, told, left, listed>>

\* Under the lock the poller counts the edge and wakes a reader.
Event(p) ==                   \* [readiness.2]
  /\ pc[p] = "event"
  /\ edges' = edges + 2 + (IF taken[p] /\ edges % 2 = 0 THEN 1 ELSE 0)
  /\ taken' = [taken EXCEPT ![p] = FALSE]
  /\ Tell
  /\ Granted("poll", p)
  /\ UNCHANGED <<data, coming, finished, edge, shut, empty, Life, seen, left, listed>>

\* The poller frees the memory between two rounds, or when its own memory is freed.
Reclaim(p) ==                 \* [descriptor_poller.2]
  /\ pc[p] \in {"poll", "gone"}
  /\ memory = "retired"
  /\ p = At
  /\ memory' = "freed"
  /\ UNCHANGED <<System, edges, line, shut, Reads, users, closing, freed, open, pc, seen, told, left,
                 listed>>

\* The poller ends. It takes the lock of its list, so that no more descriptors are added.
Over ==
  /\ Ends
  /\ pc["home"] = "poll"
  /\ Goto("home", IF listed = "yes" THEN "over" ELSE "gone")
  /\ UNCHANGED <<System, edges, line, shut, Reads, Life, seen, told, left, listed>>

\* The ending poller shuts each listed descriptor, under the lock of its direction.
Walk ==
  /\ IsWalked
  /\ shut' = TRUE
  /\ line' = <<>>
  /\ skipped' = skipped \ InLine
  /\ pc' = [t \in Threads |-> IF t = "home" THEN "gone" ELSE IF t \in InLine THEN "end" ELSE pc[t]]
  /\ UNCHANGED <<System, edges, empty, Life, seen, told, left, listed>>

Finished ==
  /\ \A r \in Readers : \/ pc[r] = "done"
                        \/ pc[r] = "parked" /\ coming + data = 0 /\ ~Finishes
  /\ UNCHANGED vars

Reader(r) ==
  \/ Begin(r) \/ Look(r) \/ Check(r) \/ Read(r) \/ Note(r) \/ Wait(r) \/ Timeout(r) \/ Last(r)
  \/ Pass(r) \/ End(r) \/ Final(r) \/ Leave(r)

Closer == Close \/ Shut \/ Free \/ End("closer") \/ Final("closer") \/ Leave("closer")
Poller(p) == Take(p) \/ Event(p) \/ Reclaim(p) \/ (p = "home" /\ (Over \/ Walk))
Next ==
  \/ Arrive \/ Finish \/ Register \/ (\E r \in Readers : Reader(r) \/ Die(r)) \/ Closer
  \/ (\E p \in Pollers : Poller(p)) \/ Finished

Spec == Init /\ [][Next]_vars
FairSpec ==
  /\ Spec
  /\ WF_vars(Arrive)
  /\ WF_vars(Finish)
  /\ \A p \in Pollers : WF_vars(Poller(p))
  /\ \A r \in Readers : WF_vars(Reader(r))

(* What must hold. *)

\* Reader r was woken by a report of readiness, and is about to read or to pass the report on.
IsActive(r) ==
  /\ r \in told
  /\ pc[r] \in {"look", "check", "read", "note", "pass"}

\* While the descriptor is ready, no reader waits, unless a poller is about to wake a reader, or a
\* woken reader is still on its way.
ReadinessNotLost ==
  line # <<>> /\ (data > 0 \/ finished) /\ pc["home"] \notin {"over", "gone"} =>
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
FdIsOurs == \A r \in Readers : pc[r] \in {"read", "last"} => open
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

\* No call ends for its deadline before it has tried to read.
ReadsBeforeLate == \A r \in Readers : pc[r] = "end" => r \notin skipped

\* Each reader eventually reads data or the end of the stream.
ReadsAll == \A r \in Readers : <>(pc[r] = "done")
=============================================================================
