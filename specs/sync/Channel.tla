------------------------------- MODULE Channel ------------------------------
(***************************************************************************)
(* A channel is a bounded first-in-first-out queue between senders and     *)
(* receivers. A channel without slots has no queue, so each sender meets a *)
(* receiver. A send hands its item directly to the first receiver in line, *)
(* if there is one. A receive that empties a slot fills it again from the  *)
(* first sender in line.                                                   *)
(*                                                                         *)
(* Code       kernel/sync/channel.h, channel.c: everything happens under   *)
(*            one lock.                                                    *)
(* Abstracts  waiters to OS threads (WaitQueue has virtual threads, too);  *)
(*            what is done under the lock to one step, together with the   *)
(*            acquisition of the lock.                                     *)
(* Memory     sequential consistency.                                      *)
(* Promises   NothingLost, Fifo, NobodyWaitsForNothing (safety); Served    *)
(*            (liveness).                                                  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Senders,    \* threads; each sends its items in turn
  Receivers,  \* threads; each receives until it finds the channel closed
  Items,      \* the number of items of each sender
  Capacity    \* the number of slots

VARIABLES
  slots,      \* the items in the slots, the oldest first
  senders,    \* the senders in line, in order
  receivers,  \* the receivers in line, in order
  closed,     \* TRUE if the channel is closed
  lock,       \* the thread that holds the lock, or NoOne
  pc,         \* thread -> its next step
  then,       \* thread -> its step after it has given the lock back, and granted and woken other
              \* threads
  hand,       \* thread -> the waiters that it has taken off a line and not granted yet
  target,     \* thread -> the waiter that it has granted and is about to wake
  granted,    \* the waiters whose grants are stored, until they begin to wait again
  told,       \* waiter -> the result that its grant carries, once it was taken off its line; else
              \* Nothing
  next,       \* sender -> the number of the item that it sends next
  accepted,   \* ghost: the items that were sent, in order
  given,      \* ghost: the items that were given to receivers, in order
  received    \* ghost: the items that receivers have returned with

Lines == <<slots, senders, receivers, closed>>
Wakes == <<then, hand, target, granted>>
Ghosts == <<accepted, given, received>>
vars == <<Lines, lock, pc, Wakes, told, next, Ghosts>>

Closer == "closer"
NoOne == "no one"
Waiters == Senders \cup Receivers
Threads == Waiters \cup {Closer}
Item(s) == <<s, next[s]>>
Range(q) == {q[i] : i \in 1 .. Len(q)}
Every == Senders \X (1 .. Items)
Nothing == <<"nothing", 0>>
SaysSent == <<"sent", 0>>
SaysClosed == <<"closed", 0>>
Said == {Nothing, SaysSent, SaysClosed}

TypeOK ==
  /\ slots \in Seq(Every)
  /\ senders \in Seq(Senders)
  /\ receivers \in Seq(Receivers)
  /\ closed \in BOOLEAN
  /\ lock \in Threads \cup {NoOne}
  /\ pc \in [Threads -> {"run", "begin", "unlock", "grant", "wake", "wait", "asleep", "back",
                         "late", "await", "done"}]
  /\ then \in [Threads -> {"run", "wait", "await", "done"}]
  /\ hand \in [Threads -> Seq(Waiters)]
  /\ target \in [Threads -> Waiters \cup {NoOne}]
  /\ granted \subseteq Waiters
  /\ \A t \in Waiters : told[t] \in Said \cup Every
  /\ next \in [Senders -> 1 .. Items + 1]
  /\ accepted \in Seq(Every)
  /\ given \in Seq(Every)
  /\ received \subseteq Every

Init ==
  /\ slots = <<>>
  /\ senders = <<>>
  /\ receivers = <<>>
  /\ closed = FALSE
  /\ lock = NoOne
  /\ pc = [t \in Threads |-> "run"]
  /\ then = [t \in Threads |-> "run"]
  /\ hand = [t \in Threads |-> <<>>]
  /\ target = [t \in Threads |-> NoOne]
  /\ granted = {}
  /\ told = [t \in Waiters |-> Nothing]
  /\ next = [s \in Senders |-> 1]
  /\ accepted = <<>>
  /\ given = <<>>
  /\ received = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
InLine(t) == t \in Range(senders) \cup Range(receivers)

\* Thread t takes the lock. Under it, t has taken the waiters `served` off their lines, and its step
\* after the grants is `where`.
Under(t, served, where) ==    \* [short_lock.1]
  /\ lock = NoOne
  /\ lock' = t
  /\ Goto(t, "unlock")
  /\ then' = [then EXCEPT ![t] = where]
  /\ hand' = [hand EXCEPT ![t] = served]
  /\ UNCHANGED <<target, granted>>

\* A thread begins its next operation. The result of its last wait is gone.
Begin(t) ==
  /\ t \in Waiters
  /\ pc[t] = "run"
  /\ Goto(t, "begin")
  /\ granted' = granted \ {t}
  /\ told' = [told EXCEPT ![t] = Nothing]
  /\ UNCHANGED <<Lines, lock, then, hand, target, next, Ghosts>>

(* A sender. *)
\* The sender's item is sent.
Sends(s) == next' = [next EXCEPT ![s] = @ + 1]

\* The sender's next step: it is done after its last item.
AfterSend(s) == IF next[s] = Items THEN "done" ELSE "run"

\* A sender finds the channel closed, or hands its item to a receiver, or fills a slot, or joins the
\* line.
Send(s) ==                    \* wp__channel_begin_send
  /\ s \in Senders
  /\ pc[s] = "begin"
  /\ IF closed
     THEN /\ Under(s, <<>>, "done")
          /\ UNCHANGED <<slots, senders, receivers, told, next, accepted, given>>
     ELSE IF receivers # <<>>
     THEN /\ told' = [told EXCEPT ![Head(receivers)] = Item(s)]
          /\ receivers' = Tail(receivers)
          /\ accepted' = Append(accepted, Item(s))
          /\ given' = Append(given, Item(s))
          /\ Sends(s)
          /\ Under(s, <<Head(receivers)>>, AfterSend(s))
          /\ UNCHANGED <<slots, senders>>
     ELSE IF Len(slots) < Capacity
     THEN /\ slots' = Append(slots, Item(s))
          /\ accepted' = Append(accepted, Item(s))
          /\ Sends(s)
          /\ Under(s, <<>>, AfterSend(s))
          /\ UNCHANGED <<senders, receivers, told, given>>
     ELSE /\ senders' = Append(senders, s)
          /\ Under(s, <<>>, "wait")
          /\ UNCHANGED <<slots, receivers, told, next, accepted, given>>
  /\ UNCHANGED <<closed, received>>

(* A receiver. *)

\* A receiver takes the oldest item from the slots, or takes the item of a sender in line, or finds
\* the channel closed, or joins the line.
Receive(r) ==                 \* wp__channel_begin_receive
  /\ r \in Receivers
  /\ pc[r] = "begin"
  /\ IF slots # <<>>
     THEN /\ received' = received \cup {Head(slots)}
          /\ given' = Append(given, Head(slots))
          /\ IF senders # <<>>
             THEN /\ slots' = Append(Tail(slots), Item(Head(senders)))
                  /\ accepted' = Append(accepted, Item(Head(senders)))
                  /\ told' = [told EXCEPT ![Head(senders)] = SaysSent]
                  /\ senders' = Tail(senders)
                  /\ Under(r, <<Head(senders)>>, "run")
             ELSE /\ slots' = Tail(slots)
                  /\ Under(r, <<>>, "run")
                  /\ UNCHANGED <<accepted, told, senders>>
          /\ UNCHANGED receivers
     ELSE IF senders # <<>>
     THEN /\ received' = received \cup {Item(Head(senders))}
          /\ given' = Append(given, Item(Head(senders)))
          /\ accepted' = Append(accepted, Item(Head(senders)))
          /\ told' = [told EXCEPT ![Head(senders)] = SaysSent]
          /\ senders' = Tail(senders)
          /\ Under(r, <<Head(senders)>>, "run")
          /\ UNCHANGED <<slots, receivers>>
     ELSE IF closed
     THEN /\ Under(r, <<>>, "done")
          /\ UNCHANGED <<slots, senders, receivers, told, accepted, given, received>>
     ELSE /\ receivers' = Append(receivers, r)
          /\ Under(r, <<>>, "wait")
          /\ UNCHANGED <<slots, senders, told, accepted, given, received>>
  /\ UNCHANGED <<closed, next>>

(* A waiter: a sender or a receiver that is in line, or was. *)

\* The waiter goes to sleep with a system call, unless its grant is already stored.
Sleep(t) ==
  /\ pc[t] = "wait"
  /\ Goto(t, IF t \in granted THEN "back" ELSE "asleep")
  /\ UNCHANGED <<Lines, lock, Wakes, told, next, Ghosts>>

\* The sleep ends spuriously.
Stray(t) ==
  /\ pc[t] = "asleep"
  /\ Goto(t, "back")
  /\ UNCHANGED <<Lines, lock, Wakes, told, next, Ghosts>>

\* The waiter's deadline passes.
TimeOut(t) ==
  /\ pc[t] = "asleep"
  /\ Goto(t, "late")
  /\ UNCHANGED <<Lines, lock, Wakes, told, next, Ghosts>>

\* The waiter checks whether it has its grant. If not, it sleeps again; otherwise it returns with
\* the result.
Look(t) ==                    \* [wait_queue.1] [wait_queue.3]
  /\ pc[t] \in {"back", "await"}
  /\ IF t \notin granted
     THEN /\ pc[t] = "back"
          /\ Goto(t, "wait")
          /\ UNCHANGED <<next, received>>
     ELSE IF told[t] = SaysClosed
     THEN /\ Goto(t, "done")
          /\ UNCHANGED <<next, received>>
     ELSE IF t \in Senders
     THEN /\ Sends(t)
          /\ Goto(t, AfterSend(t))
          /\ UNCHANGED received
     ELSE /\ received' = received \cup {told[t]}
          /\ Goto(t, "run")
          /\ UNCHANGED next
  /\ UNCHANGED <<Lines, lock, Wakes, told, accepted, given>>

\* A waiter whose wait has timed out leaves the line and tries again. If it was taken off the line
\* meanwhile, it waits for its grant.
Cancel(t) ==                  \* wp__waiter_cancel
  /\ t \in Waiters
  /\ pc[t] = "late"
  /\ senders' = SelectSeq(senders, LAMBDA x : x # t)
  /\ receivers' = SelectSeq(receivers, LAMBDA x : x # t)
  /\ Under(t, <<>>, IF InLine(t) THEN "run" ELSE "await")
  /\ UNCHANGED <<slots, closed, told, next, Ghosts>>

\* The close takes all waiters off their lines. Their result is that the channel is closed.
Close ==                      \* wp_channel_close
  /\ pc[Closer] = "run"
  /\ closed' = TRUE
  /\ LET dismissed == senders \o receivers
     IN /\ told' = [t \in Waiters |-> IF t \in Range(dismissed) THEN SaysClosed ELSE told[t]]
        /\ Under(Closer, dismissed, "done")
  /\ senders' = <<>>
  /\ receivers' = <<>>
  /\ UNCHANGED <<slots, next, Ghosts>>

(* A thread that has taken waiters off a line. *)

\* The thread's next step: it first grants the waiters that it has taken off a line.
Goes(t) == IF hand[t] = <<>> THEN then[t] ELSE "grant"

\* The thread gives the lock back.
Unlock(t) ==                  \* [short_lock.2]
  /\ pc[t] = "unlock"
  /\ lock' = NoOne
  /\ Goto(t, Goes(t))
  /\ UNCHANGED <<Lines, Wakes, told, next, Ghosts>>

\* The thread stores the grant of the first waiter that it has taken off a line.
Grant(t) ==                   \* [wait_queue.2]
  /\ pc[t] = "grant"
  /\ granted' = granted \cup {Head(hand[t])}
  /\ target' = [target EXCEPT ![t] = Head(hand[t])]
  /\ hand' = [hand EXCEPT ![t] = Tail(@)]
  /\ Goto(t, "wake")
  /\ UNCHANGED <<Lines, lock, then, told, next, Ghosts>>

\* The thread wakes this waiter with a system call.
Wake(t) ==
  /\ pc[t] = "wake"
  /\ target' = [target EXCEPT ![t] = NoOne]
  /\ pc' = [pc EXCEPT ![t] = Goes(t), ![target[t]] = IF @ = "asleep" THEN "back" ELSE @]
  /\ UNCHANGED <<Lines, lock, then, hand, granted, told, next, Ghosts>>

Locks(t) == Send(t) \/ Receive(t) \/ Cancel(t)
Steps(t) ==
  Begin(t) \/ Locks(t) \/ Unlock(t) \/ Grant(t) \/ Wake(t) \/ Sleep(t) \/ Look(t)

\* The intended end: all senders and receivers are done.
Finished ==
  /\ pc[Closer] \in {"run", "done"}
  /\ \A t \in Waiters : pc[t] = "done"
  /\ UNCHANGED vars

Next ==
  \/ \E t \in Threads : Steps(t)
  \/ \E t \in Waiters : TimeOut(t) \/ Stray(t)
  \/ Close \/ Finished

\* No thread has to close the channel. A thread that wants the lock eventually gets it, if the lock
\* is free again and again.
Fairness == \A t \in Threads : WF_vars(Steps(t)) /\ SF_vars(Locks(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)

\* TRUE if waiter t has not returned from its wait, so the result of its grant still counts.
Out(t) ==
  \/ pc[t] \in {"wait", "asleep", "back", "late", "await"}
  \/ pc[t] = "unlock" /\ then[t] = "await"

\* The items that are on their way to receivers.
Flying == {told[r] : r \in {r \in Receivers : Out(r)}} \ Said

\* The items of a sender that were sent.
Has(s) ==
  {<<s, i>> : i \in 1 .. next[s] - 1} \cup (IF Out(s) /\ told[s] = SaysSent THEN {Item(s)} ELSE {})

\* Each item that was sent is in a slot, on its way to one receiver, or received. No other item is
\* in the channel.
NothingLost ==
  /\ Range(slots) \cup Flying \cup received = Range(accepted)
  /\ Range(accepted) = UNION {Has(s) : s \in Senders}

\* Items are given to receivers in the order in which they were sent.
Fifo ==
  /\ given \o slots = accepted
  /\ Len(accepted) = Cardinality(Range(accepted))

\* While a sender waits, there is no free slot. While a receiver waits, there is no item. Neither
\* waits on a closed channel.
NobodyWaitsForNothing ==
  /\ receivers # <<>> => slots = <<>> /\ senders = <<>> /\ ~closed
  /\ senders # <<>> => Len(slots) = Capacity /\ ~closed

\* A waiter whose grant carries a result eventually returns with it.
Served == \A t \in Waiters : told[t] # Nothing ~> pc[t] \in {"run", "done"}
=============================================================================
