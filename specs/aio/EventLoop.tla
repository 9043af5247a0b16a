----------------------------- MODULE EventLoop -----------------------------
(***************************************************************************)
(* An event loop runs calls from a queue, and sleeps while the queue is    *)
(* empty. Other threads append calls, and wake the loop by a byte in its   *)
(* self-pipe. A thread writes the byte only if the loop has announced that *)
(* it is going to sleep.                                                   *)
(*                                                                         *)
(* The loop announces its sleep by a flag, and then looks again at its     *)
(* queue and at the request to stop. Only if it finds neither it blocks    *)
(* until a byte is in the pipe. Then it withdraws the announcement, and    *)
(* runs what is in the queue; the first to run is a call that empties the  *)
(* pipe. A caller appends its call and then looks at the flag. If the flag *)
(* is set, the caller resets it and writes the byte. If the write fails,   *)
(* the caller sets the flag again, and raises the error.                   *)
(*                                                                         *)
(* Code       python/wakeproof/aio.py: _block, _write_to_self, _send;      *)
(*            python/wakeproof/_native/aio.c: poll, call_soon_threadsafe,  *)
(*            run_once. A loop in a virtual thread parks, and the pipe     *)
(*            stands for its permit.                                       *)
(* Abstracts  timers and other descriptors to an end of a block without a  *)
(*            byte; a full pipe to a pipe with a byte in it, which refuses *)
(*            another byte and wakes the loop all the same; a signal       *)
(*            handler to a caller, for which the loop's thread waits. What *)
(*            the loop's own thread appends needs no wakeup, and is left   *)
(*            out. So is the close of a loop.                              *)
(* Memory     sequential consistency, which the GIL provides. Without the  *)
(*            GIL the flag is that of a WakeupGuard, whose fences Guard    *)
(*            has; there a caller resets it by an exchange.                *)
(* Promises   NoLostWakeup, NextCallWakes (safety); Served, Stops          *)
(*            (liveness).                                                  *)
(* TLC alone  NoLostWakeup, NextCallWakes, Served, Stops: the code is      *)
(*            Python, which no scenario compiles (its broken forms run in  *)
(*            tests/python/test_aio.py and aio_soak.py).                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS
  Callers,  \* threads; each makes one call to the loop
  MayFail,  \* TRUE: a write to the pipe may fail
  Timers    \* TRUE: a block may end without a byte

VARIABLES
  ready,    \* loop._ready: the calls in the queue, the oldest first, and Reader
  stopping, \* loop._stopping: TRUE once somebody has asked the loop to stop
  asleep,   \* loop._asleep: the loop has announced that it is going to sleep
  pipe,     \* TRUE: a byte is in the self-pipe
  loop,     \* the loop's next step
  event,    \* TRUE: the last look of the loop at the pipe has found a byte
  left,     \* the number of calls that the loop has still to run in this turn
  caller,   \* caller -> its next step
  raised    \* ghost: the callers whose calls have raised the error of the pipe

Queue == <<ready, stopping>>
Turn  == <<event, left>>
Others == <<caller, raised>>
vars == <<Queue, asleep, pipe, loop, Turn, Others>>

\* The call that empties the pipe.
Reader == "reader"

TypeOK ==
  /\ ready \in Seq(Callers \cup {Reader})
  /\ {stopping, asleep, pipe, event} \subseteq BOOLEAN
  /\ loop \in {"turn", "announce", "look", "block", "peek", "withdraw", "take", "run", "ended"}
  /\ left \in Nat
  /\ caller \in [Callers -> {"append", "look", "claim", "send", "restore", "done"}]
  /\ raised \subseteq Callers

\* A loop may have been asked to stop before it runs: then it runs for one turn.
Init ==
  /\ ready = <<>>
  /\ stopping \in BOOLEAN
  /\ asleep = FALSE
  /\ pipe = FALSE
  /\ loop = "turn"
  /\ event = FALSE
  /\ left = 0
  /\ caller = [c \in Callers |-> "append"]
  /\ raised = {}

(* The loop. *)
\* The loop goes from one step to another.
Go(from, to) == loop = from /\ loop' = to

\* A turn begins. A loop that has calls to run does not announce a sleep.
Begin ==                        \* timeout_of
  /\ Go("turn", IF ready = <<>> THEN "announce" ELSE "peek")
  /\ UNCHANGED <<Queue, asleep, pipe, Turn, Others>>

\* The loop announces its sleep.
Announce ==                     \* _block, poll
  /\ Go("announce", "look")
  /\ asleep' = TRUE
  /\ UNCHANGED <<Queue, pipe, Turn, Others>>

\* The loop looks again for calls, and for a request to stop. If there are any, it does not block.
Look ==
  /\ Go("look", IF ready # <<>> \/ stopping THEN "peek" ELSE "block")
  /\ UNCHANGED <<Queue, asleep, pipe, Turn, Others>>

\* The loop blocks until a byte is in the pipe.
Block ==
  /\ Go("block", "withdraw")
  /\ pipe
  /\ event' = TRUE
  /\ UNCHANGED <<Queue, asleep, pipe, left, Others>>

\* The block ends without a byte: a timer is due, or another descriptor is ready.
End ==
  /\ Go("block", "withdraw")
  /\ UNCHANGED <<Queue, asleep, pipe, Turn, Others>>

\* The loop looks at the pipe without blocking.
Peek ==
  /\ Go("peek", "withdraw")
  /\ event' = pipe
  /\ UNCHANGED <<Queue, asleep, pipe, left, Others>>

\* The loop withdraws its announcement, if it has made one.
Withdraw ==
  /\ Go("withdraw", "take")
  /\ asleep' = FALSE
  /\ UNCHANGED <<Queue, pipe, Turn, Others>>

\* The loop queues the reader of the pipe if there is a byte, and counts the calls of this turn.
Take ==                         \* take_event
  /\ Go("take", "run")
  /\ ready' = IF event THEN Append(ready, Reader) ELSE ready
  /\ left' = Len(ready')
  /\ event' = FALSE
  /\ UNCHANGED <<stopping, asleep, pipe, Others>>

\* The loop runs the oldest call. If it is the reader, it empties the pipe. Any call may ask the loop
\* to stop.
Run ==
  /\ Go("run", "run")
  /\ left > 0
  /\ left' = left - 1
  /\ pipe' = (pipe /\ Head(ready) # Reader)
  /\ ready' = Tail(ready)
  /\ stopping' \in {stopping, TRUE}
  /\ UNCHANGED <<asleep, event, Others>>

\* The turn ends. A loop that was asked to stop ends.
EndTurn ==
  /\ Go("run", IF stopping THEN "ended" ELSE "turn")
  /\ left = 0
  /\ UNCHANGED <<Queue, asleep, pipe, Turn, Others>>

(* A caller. *)
\* Caller c goes from one step to another.
Step(c, from, to) == caller[c] = from /\ caller' = [caller EXCEPT ![c] = to]

\* The caller appends its call to the queue.
Call(c) ==                      \* call_soon_threadsafe
  /\ Step(c, "append", "look")
  /\ ready' = Append(ready, c)
  /\ UNCHANGED <<stopping, asleep, pipe, loop, Turn, raised>>

\* The caller looks whether the loop has announced a sleep. If not, the loop is awake and finds the
\* call, and the caller is done.
IsAsleep(c) ==                  \* _write_to_self
  /\ Step(c, "look", IF asleep THEN "claim" ELSE "done")
  /\ UNCHANGED <<Queue, asleep, pipe, loop, Turn, raised>>

\* The caller resets the flag, so that later callers do not write as well. Two callers that have
\* read the flag before both write, which costs a system call and no more.
Claim(c) ==
  /\ Step(c, "claim", "send")
  /\ asleep' = FALSE
  /\ UNCHANGED <<Queue, pipe, loop, Turn, raised>>

\* The caller writes the byte.
Send(c) ==                      \* _send
  /\ Step(c, "send", "done")
  /\ pipe' = TRUE
  /\ UNCHANGED <<Queue, asleep, loop, Turn, raised>>

\* The write fails.
Fail(c) ==
  /\ Step(c, "send", "restore")
  /\ UNCHANGED <<Queue, asleep, pipe, loop, Turn, raised>>

\* The caller sets the flag again, so that the next caller writes, and raises the error.
Restore(c) ==
  /\ Step(c, "restore", "done")
  /\ asleep' = TRUE
  /\ raised' = raised \cup {c}
  /\ UNCHANGED <<Queue, pipe, loop, Turn>>

(* What must hold. *)
\* The loop is blocked, and there is no byte that ends its block.
Sleeps == loop = "block" /\ ~pipe

\* Some caller has appended its call and has not returned.
InFlight == \E c \in Callers : caller[c] \notin {"append", "done"}

\* While the loop sleeps although there is a call to run or it was asked to stop, some caller has not
\* returned, or a call has raised the error of the pipe.
NoLostWakeup == Sleeps /\ (ready # <<>> \/ stopping) => InFlight \/ raised # {}

\* While the loop sleeps, the next caller finds its announcement, unless another caller is about to
\* write. So a write that failed is made good by the next call.
NextCallWakes == Sleeps => asleep \/ \E c \in Callers : caller[c] \in {"send", "restore"}

\* Call c is in the queue.
Waits(c) == \E i \in 1 .. Len(ready) : ready[i] = c

\* If no write fails, each call is run eventually, unless the loop ends before.
Served == \A c \in Callers : Waits(c) ~> ~Waits(c) \/ loop = "ended"

\* A loop that was asked to stop ends.
Stops == stopping ~> loop = "ended"

\* The intended ends, which are no deadlocks: all callers have returned, and the loop sleeps for
\* good or has ended.
Finished ==
  /\ Sleeps \/ loop = "ended"
  /\ \A c \in Callers : caller[c] = "done"
  /\ UNCHANGED vars

Loop ==
  \/ Begin \/ Announce \/ Look \/ Block \/ Peek \/ Withdraw \/ Take \/ Run \/ EndTurn
Caller(c) == Call(c) \/ IsAsleep(c) \/ Claim(c) \/ Send(c) \/ Restore(c)
Next ==
  \/ Loop \/ (Timers /\ End) \/ Finished
  \/ \E c \in Callers : Caller(c) \/ (MayFail /\ Fail(c))

\* The loop and each caller take a step eventually if they can.
Fairness == WF_vars(Loop) /\ \A c \in Callers : WF_vars(Caller(c))
Spec == Init /\ [][Next]_vars /\ Fairness
=============================================================================
