------------------------------- MODULE Channel ------------------------------
(***************************************************************************)
(* A bounded FIFO; without slots a rendezvous.                             *)
(* Code       kernel/sync/channel.h, channel.c: everything under one lock. *)
(* Abstracts  waiters to OS threads (WaitQueue has virtual ones, too);     *)
(*            what is done under the lock to one step, with which the lock *)
(*            is taken                                                     *)
(* Memory     sequential consistency.                                      *)
(* Promises   NothingLost, Fifo, NobodyWaitsForNothing (safety);           *)
(*            Served (liveness).                                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Senders,    \* each sends its items in turn
  Receivers,  \* each receives until it is told that the channel is closed
  Items,      \* of each sender
  Capacity    \* slots

VARIABLES
  slots,      \* items, oldest first
  senders,    \* in line, each with its item
  receivers,  \* in line
  closed,
  lock,       \* who has it
  pc,         \* thread -> what it does next
  then,       \* thread -> what it does when it has left the lock, and has granted and woken
  hand,       \* thread -> waiters that it has taken off, and not granted yet
  target,     \* thread -> whom it has granted, and is about to wake
  granted,    \* waiters that are, until they wait again
  told,       \* waiter that was taken off -> what its grant says; else Nothing
  next,       \* sender -> the item it sends next
  accepted,   \* ghost: items that were sent, in order
  given,      \* ghost: items that were given to receivers, in order
  received    \* ghost: items that receivers came back with
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
\* It has the lock, does what the caller says, and has taken these off: what it does after that.
Under(t, served, where) ==
  /\ lock = NoOne
  /\ lock' = t
  /\ Goto(t, "unlock")
  /\ then' = [then EXCEPT ![t] = where]
  /\ hand' = [hand EXCEPT ![t] = served]
  /\ UNCHANGED <<target, granted>>

Begin(t) ==                   \* what its last wait was told is over
  /\ t \in Waiters
  /\ pc[t] = "run"
  /\ Goto(t, "begin")
  /\ granted' = granted \ {t}
  /\ told' = [told EXCEPT ![t] = Nothing]
  /\ UNCHANGED <<Lines, lock, then, hand, target, next, Ghosts>>

(* A sender. *)
Sends(s) == next' = [next EXCEPT ![s] = @ + 1]
AfterSend(s) == IF next[s] = Items THEN "done" ELSE "run"
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

(* Whoever waits. *)
Sleep(t) ==                   \* the system call: not if it is granted
  /\ pc[t] = "wait"
  /\ Goto(t, IF t \in granted THEN "back" ELSE "asleep")
  /\ UNCHANGED <<Lines, lock, Wakes, told, next, Ghosts>>
Stray(t) ==                   \* it ends for nothing
  /\ pc[t] = "asleep"
  /\ Goto(t, "back")
  /\ UNCHANGED <<Lines, lock, Wakes, told, next, Ghosts>>
TimeOut(t) ==
  /\ pc[t] = "asleep"
  /\ Goto(t, "late")
  /\ UNCHANGED <<Lines, lock, Wakes, told, next, Ghosts>>
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
Cancel(t) ==                  \* wp__waiter_cancel; out of the line it tries again
  /\ t \in Waiters
  /\ pc[t] = "late"
  /\ senders' = SelectSeq(senders, LAMBDA x : x # t)
  /\ receivers' = SelectSeq(receivers, LAMBDA x : x # t)
  /\ Under(t, <<>>, IF InLine(t) THEN "run" ELSE "await")
  /\ UNCHANGED <<slots, closed, told, next, Ghosts>>

Close ==                      \* wp_channel_close
  /\ pc[Closer] = "run"
  /\ closed' = TRUE
  /\ LET dismissed == senders \o receivers
     IN /\ told' = [t \in Waiters |-> IF t \in Range(dismissed) THEN SaysClosed ELSE told[t]]
        /\ Under(Closer, dismissed, "done")
  /\ senders' = <<>>
  /\ receivers' = <<>>
  /\ UNCHANGED <<slots, next, Ghosts>>

(* Whoever has taken others off. *)
Goes(t) == IF hand[t] = <<>> THEN then[t] ELSE "grant"
Unlock(t) ==
  /\ pc[t] = "unlock"
  /\ lock' = NoOne
  /\ Goto(t, Goes(t))
  /\ UNCHANGED <<Lines, Wakes, told, next, Ghosts>>
Grant(t) ==                   \* [wait_queue.2]
  /\ pc[t] = "grant"
  /\ granted' = granted \cup {Head(hand[t])}
  /\ target' = [target EXCEPT ![t] = Head(hand[t])]
  /\ hand' = [hand EXCEPT ![t] = Tail(@)]
  /\ Goto(t, "wake")
  /\ UNCHANGED <<Lines, lock, then, told, next, Ghosts>>
Wake(t) ==                    \* the system call
  /\ pc[t] = "wake"
  /\ target' = [target EXCEPT ![t] = NoOne]
  /\ pc' = [pc EXCEPT ![t] = Goes(t), ![target[t]] = IF @ = "asleep" THEN "back" ELSE @]
  /\ UNCHANGED <<Lines, lock, then, hand, granted, told, next, Ghosts>>

Locks(t) == Send(t) \/ Receive(t) \/ Cancel(t)
Steps(t) ==
  Begin(t) \/ Locks(t) \/ Unlock(t) \/ Grant(t) \/ Wake(t) \/ Sleep(t) \/ Look(t)
Finished ==
  /\ pc[Closer] \in {"run", "done"}
  /\ \A t \in Waiters : pc[t] = "done"
  /\ UNCHANGED vars
Next ==
  \/ \E t \in Threads : Steps(t)
  \/ \E t \in Waiters : TimeOut(t) \/ Stray(t)
  \/ Close \/ Finished
\* Nobody need close it. Who wants the lock gets it, if it is free again and again.
Fairness == \A t \in Threads : WF_vars(Steps(t)) /\ SF_vars(Locks(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)
\* Taken off, and not back: what it was told counts.
Out(t) ==
  \/ pc[t] \in {"wait", "asleep", "back", "late", "await"}
  \/ pc[t] = "unlock" /\ then[t] = "await"
Flying == {told[r] : r \in {r \in Receivers : Out(r)}} \ Said
Has(s) ==
  {<<s, i>> : i \in 1 .. next[s] - 1} \cup (IF Out(s) /\ told[s] = SaysSent THEN {Item(s)} ELSE {})
\* What was sent is in a slot, on its way to one receiver, or received; what was not sent is
\* nowhere.
NothingLost ==
  /\ Range(slots) \cup Flying \cup received = Range(accepted)
  /\ Range(accepted) = UNION {Has(s) : s \in Senders}
\* What was sent first is given first.
Fifo ==
  /\ given \o slots = accepted
  /\ Len(accepted) = Cardinality(Range(accepted))
\* Who waits to send finds no free slot, who waits to receive no item, and neither a closed channel.
NobodyWaitsForNothing ==
  /\ receivers # <<>> => slots = <<>> /\ senders = <<>> /\ ~closed
  /\ senders # <<>> => Len(slots) = Capacity /\ ~closed
\* Who was given what it waits for comes back with it.
Served == \A t \in Waiters : told[t] # Nothing ~> pc[t] \in {"run", "done"}
=============================================================================
