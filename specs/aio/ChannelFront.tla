---------------------------- MODULE ChannelFront ---------------------------
(***************************************************************************)
(* A channel of Python stands in front of the kernel's channel. While      *)
(* nobody waits, its items lie in a ring of Python, which only threads     *)
(* that have the GIL touch, so a send and a receive need no lock. The      *)
(* first thread that must wait moves all items into the kernel's channel,  *)
(* and waits there, without the GIL. From then on all use the kernel's     *)
(* channel. The ring is used again once nobody waits or is about to wait,  *)
(* and the kernel's channel is empty.                                      *)
(*                                                                         *)
(* A thread counts itself before it gives the GIL away to wait, and again  *)
(* when it has come back. A thread that never comes back, such as one of a *)
(* group that was closed, stays counted, and a close counts itself for     *)
(* good: the channel then stays with the kernel.                           *)
(*                                                                         *)
(* Code       python/wakeproof/_native/channels.c: send, receive, enter,   *)
(*            leave; python/wakeproof/channel.py: the waits and the close. *)
(* Abstracts  the kernel's channel to one whose steps are atomic, and      *)
(*            whose grants wake at once (Channel has it in full); what a   *)
(*            thread does with the GIL to one step.                        *)
(* Memory     sequential consistency, which the GIL provides.              *)
(* Promises   FrontIsAlone, NothingLost, Fifo, NobodyWaitsForNothing,      *)
(*            WithinCapacity (safety).                                     *)
(* TLC alone  FrontIsAlone, NothingLost, Fifo, NobodyWaitsForNothing,      *)
(*            WithinCapacity: the code relies on the GIL of Python, which  *)
(*            no scenario has (tests/sync/test_channel_front.py tests it). *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Senders,    \* threads; each sends one item, which is named after it
  Receivers,  \* threads; each receives one item
  Capacity    \* the number of slots, 1 or more

VARIABLES
  front,      \* TRUE while the ring is used
  ring,       \* the items in the ring, the oldest first
  slots,      \* the items in the kernel's channel, the oldest first
  senders,    \* the senders in line in the kernel's channel
  receivers,  \* the receivers in line in the kernel's channel
  users,      \* the number of threads that wait, or are about to
  closed,     \* TRUE if the channel is closed
  pc,         \* thread -> its next step
  sent,       \* ghost: the items that were accepted, in order
  taken       \* ghost: the items that were given to receivers, in order

vars == <<front, ring, slots, senders, receivers, users, closed, pc, sent, taken>>
Threads == Senders \cup Receivers
Range(q) == {q[i] : i \in 1 .. Len(q)}

TypeOK ==
  /\ front \in BOOLEAN
  /\ ring \in Seq(Senders)
  /\ slots \in Seq(Senders)
  /\ senders \in Seq(Senders)
  /\ receivers \in Seq(Receivers)
  /\ users \in 0 .. Cardinality(Threads) + 1
  /\ closed \in BOOLEAN
  /\ pc \in [Threads -> {"run", "on the way", "in line", "back", "gone", "done"}]
  /\ sent \in Seq(Senders)
  /\ taken \in Seq(Senders)

Init ==
  /\ front = TRUE
  /\ ring = <<>>
  /\ slots = <<>>
  /\ senders = <<>>
  /\ receivers = <<>>
  /\ users = 0
  /\ closed = FALSE
  /\ pc = [t \in Threads |-> "run"]
  /\ sent = <<>>
  /\ taken = <<>>

(* The kernel's channel. *)
\* A send to the kernel's channel ends: the first receiver in line gets the item, or a free slot.
Put(s, to) ==
  /\ sent' = Append(sent, s)
  /\ IF receivers # <<>>
     THEN /\ taken' = Append(taken, s)
          /\ receivers' = Tail(receivers)
          /\ pc' = [pc EXCEPT ![s] = to, ![Head(receivers)] = "back"]
          /\ UNCHANGED slots
     ELSE /\ slots' = Append(slots, s)
          /\ pc' = [pc EXCEPT ![s] = to]
          /\ UNCHANGED <<receivers, taken>>
  /\ UNCHANGED senders

HasRoom == receivers # <<>> \/ Len(slots) < Capacity

\* A receive from the kernel's channel ends: it takes the oldest item, and the first sender in line
\* fills the slot.
Get(r, to) ==
  /\ taken' = Append(taken, Head(slots))
  /\ IF senders # <<>>
     THEN /\ slots' = Append(Tail(slots), Head(senders))
          /\ sent' = Append(sent, Head(senders))
          /\ senders' = Tail(senders)
          /\ pc' = [pc EXCEPT ![r] = to, ![Head(senders)] = "back"]
     ELSE /\ slots' = Tail(slots)
          /\ pc' = [pc EXCEPT ![r] = to]
          /\ UNCHANGED <<senders, sent>>
  /\ UNCHANGED receivers

(* What a thread does with the GIL. *)
\* A thread that is about to wait, or a close, counts itself, and moves the items of the ring.
Enter ==                        \* enter
  /\ users' = users + 1
  /\ front' = FALSE
  /\ slots' = slots \o ring
  /\ ring' = <<>>

\* Whether the ring can be used again, if `count` threads wait or are about to.
Returns(count, left) == count = 0 /\ left = <<>>

Wait(t) ==
  /\ Enter
  /\ pc' = [pc EXCEPT ![t] = "on the way"]
  /\ UNCHANGED <<senders, receivers, closed, sent, taken>>

Send(s) ==                      \* send
  /\ pc[s] = "run"
  /\ IF front
     THEN IF Len(ring) < Capacity
          THEN /\ ring' = Append(ring, s)
               /\ sent' = Append(sent, s)
               /\ pc' = [pc EXCEPT ![s] = "done"]
               /\ UNCHANGED <<front, slots, senders, receivers, users, closed, taken>>
          ELSE Wait(s)
     ELSE IF closed
     THEN /\ pc' = [pc EXCEPT ![s] = "done"]
          /\ UNCHANGED <<front, ring, slots, senders, receivers, users, closed, sent, taken>>
     ELSE IF HasRoom
     THEN Put(s, "done") /\ UNCHANGED <<front, ring, users, closed>>
     ELSE Wait(s)

Receive(r) ==                   \* receive
  /\ pc[r] = "run"
  /\ IF front
     THEN IF ring # <<>>
          THEN /\ ring' = Tail(ring)
               /\ taken' = Append(taken, Head(ring))
               /\ pc' = [pc EXCEPT ![r] = "done"]
               /\ UNCHANGED <<front, slots, senders, receivers, users, closed, sent>>
          ELSE Wait(r)
     ELSE IF slots # <<>>
     THEN /\ Get(r, "done")
          /\ front' = Returns(users, slots')
          /\ UNCHANGED <<ring, users, closed>>
     ELSE IF closed
     THEN /\ pc' = [pc EXCEPT ![r] = "done"]
          /\ UNCHANGED <<front, ring, slots, senders, receivers, users, closed, sent, taken>>
     ELSE Wait(r)

\* A thread that has waited has the GIL again.
Leave(t) ==                     \* leave
  /\ pc[t] = "back"
  /\ pc' = [pc EXCEPT ![t] = "done"]
  /\ users' = users - 1
  /\ front' = Returns(users - 1, slots)
  /\ UNCHANGED <<ring, slots, senders, receivers, closed, sent, taken>>

\* A close counts itself for good, and takes all waiters off their lines.
Close ==                        \* close
  /\ ~closed
  /\ Enter
  /\ closed' = TRUE
  /\ senders' = <<>>
  /\ receivers' = <<>>
  /\ pc' = [t \in Threads |-> IF t \in Range(senders) \cup Range(receivers) THEN "back" ELSE pc[t]]
  /\ UNCHANGED <<sent, taken>>

(* What a thread does without the GIL. *)
\* A thread that is about to wait looks once more, and joins its line.
Join(t) ==                      \* wp__channel_begin_send, wp__channel_begin_receive
  /\ pc[t] = "on the way"
  /\ IF t \in Senders /\ ~closed /\ HasRoom
     THEN Put(t, "back")
     ELSE IF t \in Receivers /\ slots # <<>>
     THEN Get(t, "back")
     ELSE /\ pc' = [pc EXCEPT ![t] = IF closed THEN "back" ELSE "in line"]
          /\ senders' = IF t \in Senders /\ ~closed THEN Append(senders, t) ELSE senders
          /\ receivers' = IF t \in Receivers /\ ~closed THEN Append(receivers, t) ELSE receivers
          /\ UNCHANGED <<slots, sent, taken>>
  /\ UNCHANGED <<front, ring, users, closed>>

\* The deadline of a waiter passes, or it is interrupted.
Stop(t) ==
  /\ pc[t] = "in line"
  /\ senders' = SelectSeq(senders, LAMBDA x : x # t)
  /\ receivers' = SelectSeq(receivers, LAMBDA x : x # t)
  /\ pc' = [pc EXCEPT ![t] = "back"]
  /\ UNCHANGED <<front, ring, slots, users, closed, sent, taken>>

\* A thread never comes back: its group was closed, or Ctrl-C ended its call.
Vanish(t) ==
  /\ pc[t] = "back"
  /\ pc' = [pc EXCEPT ![t] = "gone"]
  /\ UNCHANGED <<front, ring, slots, senders, receivers, users, closed, sent, taken>>

Finished ==
  /\ \A t \in Threads : pc[t] \in {"done", "gone", "in line"}
  /\ UNCHANGED vars

Next ==
  \/ \E s \in Senders : Send(s)
  \/ \E r \in Receivers : Receive(r)
  \/ \E t \in Threads : Leave(t) \/ Join(t) \/ Stop(t) \/ Vanish(t)
  \/ Close
  \/ Finished

Spec == Init /\ [][Next]_vars

(* What must hold. *)
\* While the ring is used, the kernel's channel is empty, nobody waits or is about to, and the
\* channel is not closed.
FrontIsAlone ==
  front => /\ slots = <<>>
           /\ \A t \in Threads : pc[t] \in {"run", "done"}
           /\ ~closed

\* Each item that was accepted is in the ring, in the kernel's channel, or given to a receiver.
NothingLost == Range(ring) \cup Range(slots) \cup Range(taken) = Range(sent)

\* Receivers get items in the order in which these were accepted.
Fifo == taken = SubSeq(sent, 1, Len(taken))

\* While a receiver stands in line there is no item, and while a sender stands in line no slot is
\* free. Nobody stands in a line of a closed channel.
NobodyWaitsForNothing ==
  /\ receivers # <<>> => ring = <<>> /\ slots = <<>> /\ ~closed
  /\ senders # <<>> => Len(ring) + Len(slots) = Capacity /\ ~closed

\* The channel never has more items than slots.
WithinCapacity == Len(ring) + Len(slots) <= Capacity
=============================================================================
