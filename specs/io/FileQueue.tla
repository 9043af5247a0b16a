------------------------------- MODULE FileQueue -------------------------------
(***************************************************************************)
(* Threads queue file operations for the poller of their home carrier.     *)
(* Only this poller submits operations to the operating system, through a  *)
(* ring (io_uring). The system writes into the caller's buffer until the   *)
(* operation has ended, so the caller waits for that end in every case,    *)
(* even after a cancel.                                                    *)
(*                                                                         *)
(* Code       kernel/io/file_queue.h: [file_queue.1] [file_queue.2];       *)
(*            driver_uring.c, file.c, descriptor_poller.c.                 *)
(* Abstracts  callers to one operation each, all away from their home;     *)
(*            what is done under the lock of the ring, and a submission,   *)
(*            to one step; the latch of an operation to a flag (Latch);    *)
(*            the wakeup of a carrier to one step, which may be a spurious *)
(*            wakeup (Timer); the park of a carrier to its word (Poller).  *)
(* Memory     sequential consistency, which the lock and the fences of     *)
(*            wake and park, [timer.9] and [carrier.6], earn.              *)
(* Promises   OpNotLost, BufferOutlivesOp, OpIsAlive, CancelNotLost,       *)
(*            IoCompletionAtHome (safety); CancelEnds (liveness).          *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Callers,  \* each queues one operation
  Cancels,  \* the number of waits that a deadline or an interrupt may end
  Stops     \* TRUE: the group may be closed meanwhile, and then hands back callers that wait

VARIABLES
  pc,         \* caller -> its next step
  list,       \* the queued operations, by caller, under the lock of the ring
  begun,      \* operations that were submitted to the system
  cancelled,  \* operations that their callers have cancelled
  ended,      \* operations with known results
  open,       \* operations with open latches
  inside,     \* operations that the system has, so it may write into their buffers
  told,       \* those of them that the system was told to cancel
  results,    \* operations that have ended in the system and whose results are not yet read
  foreign,    \* operations submitted by a thread other than the ring's own
  word,       \* the word of the home's carrier
  event,      \* TRUE if the home's wakeup is signalled; each result signals it, too
  poller,     \* the poller's next step
  saw,        \* TRUE if the poller has seen the event in this round
  stop,       \* TRUE if the close of the group has begun
  over,       \* TRUE if the ring accepts no more operations
  left        \* cancels that are still to come

vars == <<pc, list, begun, cancelled, ended, open, inside, told, results, foreign, word, event,
          poller, saw, stop, over, left>>

TypeOK ==
  /\ pc \in [Callers -> {"ask", "nudge", "wait", "cancel", "again", "renudge",
                         "done", "refused", "back"}]
  /\ \A i \in 1 .. Len(list) : list[i] \in Callers
  /\ \A s \in {begun, cancelled, ended, open, inside, told, results, foreign} : s \subseteq Callers
  /\ word \in {"running", "parked", "waking"}
  /\ {event, saw, stop, over} \subseteq BOOLEAN
  /\ poller \in {"poll", "reap", "take", "park", "check", "block", "end", "drain", "ended"}
  /\ left \in 0 .. Cancels

Init ==
  /\ pc = [t \in Callers |-> "ask"]
  /\ list = <<>>
  /\ begun = {}
  /\ cancelled = {}
  /\ ended = {}
  /\ open = {}
  /\ inside = {}
  /\ told = {}
  /\ results = {}
  /\ foreign = {}
  /\ word = "running"
  /\ event = FALSE
  /\ poller = "poll"
  /\ saw = FALSE
  /\ stop = FALSE
  /\ over = FALSE
  /\ left = Cancels

System  == <<inside, told, results>>
Op      == <<begun, cancelled, ended, open>>
Carrier == <<word, event>>
Loop    == <<poller, saw, stop, over>>
Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Listed == {list[i] : i \in 1 .. Len(list)}

\* A carrier that is parked is woken, by its wakeup: [timer.9] .. [timer.11].
Wake ==
  IF word = "parked"
  THEN /\ word' = "waking"
       /\ event' = TRUE
  ELSE UNCHANGED Carrier

(* A caller. The operation and the buffer are its memory. *)

\* Under the lock the caller queues its operation.
Ask(t) ==                     \* [file_queue.1]
  /\ pc[t] = "ask"
  /\ IF over
     THEN /\ Goto(t, "refused")
          /\ UNCHANGED list
     ELSE /\ Goto(t, "nudge")
          /\ list' = Append(list, t)
  /\ UNCHANGED <<Op, System, foreign, Carrier, Loop, left>>

\* The caller wakes the home's carrier.
Nudge(t) ==
  /\ pc[t] \in {"nudge", "renudge"}
  /\ Wake
  /\ Goto(t, IF pc[t] = "nudge" THEN "wait" ELSE "again")
  /\ UNCHANGED <<list, Op, System, foreign, Loop, left>>

\* The operation's latch is open, and the caller returns.
Return(t) ==
  /\ pc[t] \in {"wait", "again"}
  /\ t \in open
  /\ Goto(t, "done")
  /\ UNCHANGED <<list, Op, System, foreign, Carrier, Loop, left>>

\* The caller's deadline has passed, or it was interrupted.
GiveUp(t) ==
  /\ pc[t] = "wait"
  /\ left > 0
  /\ left' = left - 1
  /\ Goto(t, "cancel")
  /\ UNCHANGED <<list, Op, System, foreign, Carrier, Loop>>

\* Under the lock the caller marks its operation as cancelled. If the operation has not ended, the
\* caller queues it once more.
Cancel(t) ==                  \* [file_queue.1]
  /\ pc[t] = "cancel"
  /\ IF t \in ended \/ over
     THEN /\ Goto(t, "again")
          /\ UNCHANGED <<cancelled, list>>
     ELSE /\ Goto(t, "renudge")
          /\ cancelled' = cancelled \cup {t}
          /\ list' = IF t \in Listed THEN list ELSE Append(list, t)
  /\ UNCHANGED <<begun, ended, open, System, foreign, Carrier, Loop, left>>

\* The system completes the operation. It may take for ever, unless it was told to cancel the
\* operation.
Complete(t) ==
  /\ t \in inside
  /\ inside' = inside \ {t}
  /\ results' = results \cup {t}
  /\ event' = TRUE
  /\ UNCHANGED <<pc, list, Op, told, foreign, word, Loop, left>>

(* The poller. *)
At(where) ==
  /\ poller' = where
  /\ UNCHANGED <<saw, stop, over>>

\* The operation has ended, and its caller may return.
LetGo(t) ==
  /\ ended' = ended \cup {t}
  /\ open' = open \cup {t}
  /\ UNCHANGED <<begun, cancelled>>

\* Under the lock the operation ends. If it is still listed, the poller opens its latch when it
\* takes it off the list.
Finish(t) ==
  /\ ended' = ended \cup {t}
  /\ open' = IF t \in Listed THEN open ELSE open \cup {t}
  /\ UNCHANGED <<begun, cancelled>>

\* The poller reads and clears the event, which is edge-triggered.
Poll ==
  /\ poller = "poll"
  /\ saw' = event
  /\ event' = FALSE
  /\ poller' = "reap"
  /\ UNCHANGED <<pc, list, Op, System, foreign, word, stop, over, left>>

\* The poller reads a result. When the poller ends, it reads the last results, too.
Reap(t) ==
  /\ t \in results
  /\ \/ poller = "reap" /\ saw
     \/ poller = "drain" /\ list = <<>>
  /\ results' = results \ {t}
  /\ Finish(t)
  /\ UNCHANGED <<pc, list, inside, told, foreign, Carrier, Loop, left>>

\* The poller has read all results.
Reaped ==
  /\ poller = "reap"
  /\ \/ results = {}
     \/ ~saw
  /\ At("take")
  /\ UNCHANGED <<pc, list, Op, System, foreign, Carrier, left>>

\* The poller submits the operation to the system, unless its caller has cancelled it.
Begin(t) ==
  IF t \in cancelled
  THEN /\ LetGo(t)
       /\ UNCHANGED System
  ELSE /\ begun' = begun \cup {t}
       /\ inside' = inside \cup {t}
       /\ UNCHANGED <<cancelled, ended, open, told, results>>

\* Under the lock the poller takes an operation off the list. It submits the operation; or, if the
\* system has it already, it tells the system to cancel it.
Take ==                       \* [file_queue.2]
  /\ poller = "take"
  /\ list # <<>>
  /\ LET t == Head(list)
     IN /\ list' = Tail(list)
        /\ IF t \in ended
           THEN /\ LetGo(t)
                /\ UNCHANGED System
           ELSE IF t \in begun
           THEN /\ told' = told \cup {t}
                /\ UNCHANGED <<Op, inside, results>>
           ELSE Begin(t)
  /\ UNCHANGED <<pc, foreign, Carrier, Loop, left>>

\* The list is empty, so the poller goes on to park, or to end if the group is being closed.
Taken ==
  /\ poller = "take"
  /\ list = <<>>
  /\ At(IF stop THEN "end" ELSE "park")
  /\ UNCHANGED <<pc, list, Op, System, foreign, Carrier, left>>

\* The carrier parks for its poller.
Park ==                       \* [carrier.1] [carrier.6]
  /\ poller = "park"
  /\ word' = "parked"
  /\ At("check")
  /\ UNCHANGED <<pc, list, Op, System, foreign, event, left>>

\* Right before it blocks, the poller checks the list once more.
Check ==                      \* [file_queue.2]
  /\ poller = "check"
  /\ IF list # <<>>
     THEN /\ word' = "running"
          /\ At("poll")
     ELSE /\ At("block")
          /\ UNCHANGED word
  /\ UNCHANGED <<pc, list, Op, System, foreign, event, left>>

\* The event ends the poller's sleep.
Unblock ==
  /\ poller = "block"
  /\ event
  /\ word' = "running"
  /\ At("poll")
  /\ UNCHANGED <<pc, list, Op, System, foreign, event, left>>

\* Under the lock the poller closes the ring. It then tells the system to cancel all operations that
\* the system has.
End ==
  /\ poller = "end"
  /\ over' = TRUE
  /\ told' = told \cup inside
  /\ poller' = "drain"
  /\ UNCHANGED <<pc, list, Op, inside, results, foreign, Carrier, saw, stop, left>>

\* The ending poller takes the remaining operations off the list.
Drain ==
  /\ poller = "drain"
  /\ list # <<>>
  /\ LET t == Head(list)
     IN /\ list' = Tail(list)
        /\ IF t \in begun \ ended THEN UNCHANGED Op ELSE LetGo(t)
  /\ UNCHANGED <<pc, System, foreign, Carrier, Loop, left>>

\* The list is empty, and the system has neither an operation nor a result, so the poller has ended.
Drained ==
  /\ poller = "drain"
  /\ list = <<>>
  /\ results = {}
  /\ inside = {}
  /\ At("ended")
  /\ UNCHANGED <<pc, list, Op, System, foreign, Carrier, left>>

\* The group's close begins.
Stop ==
  /\ Stops
  /\ ~stop
  /\ stop' = TRUE
  /\ Wake
  /\ UNCHANGED <<pc, list, Op, System, foreign, poller, saw, over, left>>

\* The close hands the waiting caller back to its owner, which may free the caller's memory.
HandBack(t) ==
  /\ poller = "ended"
  /\ pc[t] \in {"wait", "again"}
  /\ Goto(t, "back")
  /\ UNCHANGED <<list, Op, System, foreign, Carrier, Loop, left>>

IsGone(t) == pc[t] \in {"done", "refused", "back"}
Finished ==
  /\ \A t \in Callers : IsGone(t)
  /\ poller \in {"block", "ended"}
  /\ UNCHANGED vars

Caller(t) == Ask(t) \/ Nudge(t) \/ Return(t) \/ Cancel(t)
Poller ==
  \/ Poll \/ (\E t \in Callers : Reap(t)) \/ Reaped \/ Take \/ Taken
  \/ Park \/ Check \/ Unblock \/ End \/ Drain \/ Drained

Next ==
  \/ Poller \/ Stop \/ Finished
  \/ \E t \in Callers : Caller(t) \/ GiveUp(t) \/ Complete(t) \/ HandBack(t)

Spec == Init /\ [][Next]_vars
FairSpec ==
  /\ Spec
  /\ WF_vars(Poller)
  /\ \A t \in Callers : WF_vars(Caller(t)) /\ WF_vars(t \in told /\ Complete(t))

(* What must hold. *)

\* While an operation is queued or a result is unread, the poller neither sleeps nor has ended,
\* unless a wakeup is on its way.
OpNotLost ==
  /\ poller = "block" /\ ~event =>
       /\ results = {}
       /\ list = <<>> \/ \E t \in Callers : pc[t] \in {"nudge", "renudge"}
  /\ poller = "ended" => list = <<>>

\* While the system has an operation, the memory of its caller is kept.
BufferOutlivesOp == \A t \in inside : ~IsGone(t)

\* While an operation is listed or its result is unread, the memory of its caller is kept.
OpIsAlive == \A t \in Listed \cup results : ~IsGone(t)

\* The system was told, or will be told, to cancel each cancelled operation that it has.
CancelNotLost == \A t \in cancelled \cap inside : t \in Listed \cup told

\* Only the poller of the caller's home submits operations to the system.
IoCompletionAtHome == foreign = {}

\* A caller that cancels eventually returns, unless its group is closed.
CancelEnds == \A t \in Callers : pc[t] = "cancel" ~> IsGone(t) \/ poller = "ended"
=============================================================================
