------------------------------- MODULE FileQueue -------------------------------
(***************************************************************************)
(* Threads ask the poller of their home for operations on files, which it  *)
(* alone gives to the system.  That writes into the caller's buffer until  *)
(* the operation has ended: for this the caller waits, whatever happens.   *)
(* Code       kernel/io/file_queue.h: [file_queue.1] [file_queue.2];       *)
(*            driver_uring.c, file.c, descriptor_poller.c.                 *)
(* Abstracts  callers to one operation each, all away from home; what is   *)
(*            under the lock of the ring, and a submission, to one step;   *)
(*            the latch of an operation to a flag (Latch); the wake of a   *)
(*            carrier to one step (Timer: a nudge), its park to its word   *)
(*            (Poller).                                                    *)
(* Memory     sequential consistency, which the lock and the fences of     *)
(*            nudge and park [timer.9] [carrier.6] earn.                   *)
(* Promises   OpNotLost, BufferOutlivesOp, OpIsAlive, CancelNotLost,       *)
(*            IoCompletionAtHome (safety); CancelEnds (liveness).          *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Callers,   \* each asks once
  Cancels,   \* how many waits may end by a deadline or an interrupt
  Stops      \* its group may be closed meanwhile, and hand back who waits

VARIABLES
  pc,        \* of each caller
  list,      \* what is asked: operations, by caller; under the lock of the ring
  begun,     \* operations that the system was given
  cancelled, \* whose caller wants them to end
  ended,     \* whose result is known
  open,      \* whose latch is open
  inside,    \* the system has them: it writes into their buffers
  told,      \* of these: it was told to end them
  results,   \* of operations that have ended there, not read yet
  foreign,   \* given to the system by another thread than the ring's
  word,      \* of the home's carrier
  event,     \* its wakeup, which each result signals, too
  poller,    \* pc of the poller
  saw,       \* it has seen the event
  stop, over,\* the group is to be closed; the ring takes nothing more
  left       \* cancels
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
Wake ==                       \* [timer.9] .. [timer.11], and the wakeup
  IF word = "parked"
  THEN /\ word' = "waking"
       /\ event' = TRUE
  ELSE UNCHANGED Carrier

(* A caller: operation and buffer are its memory. *)
Ask(t) ==                     \* under the lock, [file_queue.1]
  /\ pc[t] = "ask"
  /\ IF over
     THEN /\ Goto(t, "refused")
          /\ UNCHANGED list
     ELSE /\ Goto(t, "nudge")
          /\ list' = Append(list, t)
  /\ UNCHANGED <<Op, System, foreign, Carrier, Loop, left>>
Nudge(t) ==
  /\ pc[t] \in {"nudge", "renudge"}
  /\ Wake
  /\ Goto(t, IF pc[t] = "nudge" THEN "wait" ELSE "again")
  /\ UNCHANGED <<list, Op, System, foreign, Loop, left>>
Return(t) ==                  \* its latch is open
  /\ pc[t] \in {"wait", "again"}
  /\ t \in open
  /\ Goto(t, "done")
  /\ UNCHANGED <<list, Op, System, foreign, Carrier, Loop, left>>
GiveUp(t) ==                  \* its deadline, or an interrupt
  /\ pc[t] = "wait"
  /\ left > 0
  /\ left' = left - 1
  /\ Goto(t, "cancel")
  /\ UNCHANGED <<list, Op, System, foreign, Carrier, Loop>>
Cancel(t) ==                  \* under the lock, [file_queue.1]
  /\ pc[t] = "cancel"
  /\ IF t \in ended \/ over
     THEN /\ Goto(t, "again")
          /\ UNCHANGED <<cancelled, list>>
     ELSE /\ Goto(t, "renudge")
          /\ cancelled' = cancelled \cup {t}
          /\ list' = IF t \in Listed THEN list ELSE Append(list, t)
  /\ UNCHANGED <<begun, ended, open, System, foreign, Carrier, Loop, left>>

Complete(t) ==                \* the system: it may take for ever, but not if it was told
  /\ t \in inside
  /\ inside' = inside \ {t}
  /\ results' = results \cup {t}
  /\ event' = TRUE
  /\ UNCHANGED <<pc, list, Op, told, foreign, word, Loop, left>>

(* The poller. *)
At(where) ==
  /\ poller' = where
  /\ UNCHANGED <<saw, stop, over>>
LetGo(t) ==
  /\ ended' = ended \cup {t}
  /\ open' = open \cup {t}
  /\ UNCHANGED <<begun, cancelled>>
Finish(t) ==                  \* under the lock: who is listed is let go by who takes it off
  /\ ended' = ended \cup {t}
  /\ open' = IF t \in Listed THEN open ELSE open \cup {t}
  /\ UNCHANGED <<begun, cancelled>>
Poll ==                       \* edge-triggered: seen once
  /\ poller = "poll"
  /\ saw' = event
  /\ event' = FALSE
  /\ poller' = "reap"
  /\ UNCHANGED <<pc, list, Op, System, foreign, word, stop, over, left>>
Reap(t) ==                    \* also the last ones, at its end
  /\ t \in results
  /\ \/ poller = "reap" /\ saw
     \/ poller = "drain" /\ list = <<>>
  /\ results' = results \ {t}
  /\ Finish(t)
  /\ UNCHANGED <<pc, list, inside, told, foreign, Carrier, Loop, left>>
Reaped ==
  /\ poller = "reap"
  /\ \/ results = {}
     \/ ~saw
  /\ At("take")
  /\ UNCHANGED <<pc, list, Op, System, foreign, Carrier, left>>
Begin(t) ==                   \* to the system, unless its caller does not want it any more
  IF t \in cancelled
  THEN /\ LetGo(t)
       /\ UNCHANGED System
  ELSE /\ begun' = begun \cup {t}
       /\ inside' = inside \cup {t}
       /\ UNCHANGED <<cancelled, ended, open, told, results>>
Take ==                       \* under the lock, [file_queue.2]; one of the list
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
Taken ==
  /\ poller = "take"
  /\ list = <<>>
  /\ At(IF stop THEN "end" ELSE "park")
  /\ UNCHANGED <<pc, list, Op, System, foreign, Carrier, left>>
Park ==                       \* [carrier.1] [carrier.6]
  /\ poller = "park"
  /\ word' = "parked"
  /\ At("check")
  /\ UNCHANGED <<pc, list, Op, System, foreign, event, left>>
Check ==                      \* [file_queue.2] once more, right before it blocks
  /\ poller = "check"
  /\ IF list # <<>>
     THEN /\ word' = "running"
          /\ At("poll")
     ELSE /\ At("block")
          /\ UNCHANGED word
  /\ UNCHANGED <<pc, list, Op, System, foreign, event, left>>
Unblock ==
  /\ poller = "block"
  /\ event
  /\ word' = "running"
  /\ At("poll")
  /\ UNCHANGED <<pc, list, Op, System, foreign, event, left>>
End ==                        \* under the lock; then what the system has is to end
  /\ poller = "end"
  /\ over' = TRUE
  /\ told' = told \cup inside
  /\ poller' = "drain"
  /\ UNCHANGED <<pc, list, Op, inside, results, foreign, Carrier, saw, stop, left>>
Drain ==
  /\ poller = "drain"
  /\ list # <<>>
  /\ LET t == Head(list)
     IN /\ list' = Tail(list)
        /\ IF t \in begun \ ended THEN UNCHANGED Op ELSE LetGo(t)
  /\ UNCHANGED <<pc, System, foreign, Carrier, Loop, left>>
Drained ==
  /\ poller = "drain"
  /\ list = <<>>
  /\ results = {}
  /\ inside = {}
  /\ At("ended")
  /\ UNCHANGED <<pc, list, Op, System, foreign, Carrier, left>>

Stop ==                       \* the group's close
  /\ Stops
  /\ ~stop
  /\ stop' = TRUE
  /\ Wake
  /\ UNCHANGED <<pc, list, Op, System, foreign, poller, saw, over, left>>
HandBack(t) ==                \* its memory is its owner's, who may free it
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
\* No poller sleeps, or has ended, beside an operation that is asked, or has ended, unless a wake is
\* on its way.
OpNotLost ==
  /\ poller = "block" /\ ~event =>
       /\ results = {}
       /\ list = <<>> \/ \E t \in Callers : pc[t] \in {"nudge", "renudge"}
  /\ poller = "ended" => list = <<>>
\* While the system has an operation its caller's memory stays.
BufferOutlivesOp == \A t \in inside : ~IsGone(t)
\* A caller's memory stays while its operation is listed, or its result is to be read.
OpIsAlive == \A t \in Listed \cup results : ~IsGone(t)
\* The system is told, or will be, to end what is cancelled.
CancelNotLost == \A t \in cancelled \cap inside : t \in Listed \cup told
\* The poller of the caller's home alone gives operations to the system.
IoCompletionAtHome == foreign = {}
\* Who cancels comes back, or its group is closed.
CancelEnds == \A t \in Callers : pc[t] = "cancel" ~> IsGone(t) \/ poller = "ended"
=============================================================================
