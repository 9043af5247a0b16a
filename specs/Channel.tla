------------------------------- MODULE Channel ------------------------------
(***************************************************************************)
(* A bounded FIFO; without slots a rendezvous.                             *)
(* Code       kernel/channel.h, channel.c: everything under one lock.      *)
(* Abstracts  a grant to a step of its own that reaches its waiter (Waitq).*)
(* Memory     sequential consistency.                                      *)
(* Promises   NothingLost, Fifo, NobodyWaitsForNothing (safety);           *)
(*            Served (liveness).                                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Senders,    \* each sends its items in turn
  Receivers,  \* each receives until it is told that the channel is closed
  Items,      \* of each sender
  Capacity,   \* slots
  Twin        \* "none", or the one defect of this model

VARIABLES
  slots,      \* items, oldest first
  senders,    \* in line, each with its item
  receivers,  \* in line
  closed,
  pc,         \* thread -> what it does next
  told,       \* waiter that was taken off -> what its grant will say; else Nothing
  next,       \* sender -> the item it sends next
  accepted,   \* ghost: items that were sent, in order
  given,      \* ghost: items that were given to receivers, in order
  received    \* ghost: items that receivers came back with
vars == <<slots, senders, receivers, closed, pc, told, next, accepted, given, received>>

Threads == Senders \cup Receivers
Item(s) == <<s, next[s]>>
Range(q) == {q[i] : i \in 1 .. Len(q)}
Every == Senders \X (1 .. Items)
Nothing == <<"nothing", 0>>
SaysSent == <<"sent", 0>>
SaysClosed == <<"closed", 0>>
Said == {Nothing, SaysSent, SaysClosed}

TypeOK ==
  /\ slots \in Seq(Every) /\ senders \in Seq(Senders) /\ receivers \in Seq(Receivers)
  /\ closed \in BOOLEAN /\ next \in [Senders -> 1 .. Items + 1]
  /\ pc \in [Threads -> {"run", "wait", "late", "await", "done"}]
  /\ \A t \in Threads : told[t] \in Said \cup Every
  /\ received \subseteq Every /\ accepted \in Seq(Every) /\ given \in Seq(Every)

Init ==
  /\ slots = <<>> /\ senders = <<>> /\ receivers = <<>> /\ closed = FALSE
  /\ pc = [t \in Threads |-> "run"] /\ told = [t \in Threads |-> Nothing]
  /\ next = [s \in Senders |-> 1]
  /\ accepted = <<>> /\ given = <<>> /\ received = {}

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
InLine(t) == t \in Range(senders) \cup Range(receivers)

(* A sender. *)
Sent(s) == /\ next' = [next EXCEPT ![s] = @ + 1]
           /\ Goto(s, IF next[s] = Items THEN "done" ELSE "run")
Send(s) ==                    \* wp__channel_begin_send
  /\ pc[s] = "run"
  /\ UNCHANGED <<closed, received>>
  /\ IF closed THEN Goto(s, "done")
               /\ UNCHANGED <<slots, senders, receivers, told, next, accepted, given>>
     ELSE IF receivers # <<>>
     THEN /\ told' = [told EXCEPT ![Head(receivers)] = Item(s)] /\ receivers' = Tail(receivers)
          /\ accepted' = Append(accepted, Item(s)) /\ given' = Append(given, Item(s))
          /\ Sent(s) /\ UNCHANGED <<slots, senders>>
     ELSE IF Len(slots) < Capacity
     THEN /\ slots' = Append(slots, Item(s)) /\ accepted' = Append(accepted, Item(s))
          /\ Sent(s) /\ UNCHANGED <<senders, receivers, told, given>>
     ELSE /\ senders' = Append(senders, s) /\ Goto(s, "wait")
          /\ UNCHANGED <<slots, receivers, told, next, accepted, given>>

(* A receiver. *)
Receive(r) ==                 \* wp__channel_begin_receive
  /\ pc[r] = "run"
  /\ UNCHANGED <<closed, next>>
  /\ IF slots # <<>> /\ (Twin = "sender_first" => senders = <<>>)
     THEN LET serves == senders # <<>> /\ Twin # "senders_forgotten" IN
          /\ received' = received \cup {Head(slots)} /\ given' = Append(given, Head(slots))
          /\ slots' = IF serves THEN Append(Tail(slots), Item(Head(senders))) ELSE Tail(slots)
          /\ accepted' = IF serves THEN Append(accepted, Item(Head(senders))) ELSE accepted
          /\ told' = IF serves THEN [told EXCEPT ![Head(senders)] = SaysSent] ELSE told
          /\ senders' = IF serves THEN Tail(senders) ELSE senders
          /\ UNCHANGED <<receivers, pc>>
     ELSE IF senders # <<>>
     THEN LET item == Item(Head(senders)) IN
          /\ received' = received \cup {item}
          /\ accepted' = Append(accepted, item) /\ given' = Append(given, item)
          /\ told' = [told EXCEPT ![Head(senders)] = SaysSent] /\ senders' = Tail(senders)
          /\ UNCHANGED <<slots, receivers, pc>>
     ELSE /\ UNCHANGED <<slots, senders, told, accepted, given, received>>
          /\ IF closed THEN Goto(r, "done") /\ UNCHANGED receivers
             ELSE /\ Goto(r, "wait")
                  /\ receivers' = Append(receivers, r)

(* Whoever waits. *)
Granted(t) ==                 \* [YW1] [YW3]
  /\ pc[t] \in {"wait", "await"} /\ told[t] # Nothing
  /\ UNCHANGED <<slots, senders, receivers, closed, accepted, given>>
  /\ IF Twin = "grants_none" THEN UNCHANGED <<pc, told, next, received>>
     ELSE /\ told' = [told EXCEPT ![t] = Nothing]
          /\ IF told[t] = SaysClosed THEN Goto(t, "done") /\ UNCHANGED <<next, received>>
             ELSE IF t \in Senders THEN Sent(t) /\ UNCHANGED received
             ELSE received' = received \cup {told[t]} /\ Goto(t, "run") /\ UNCHANGED next
TimeOut(t) ==
  /\ pc[t] = "wait" /\ Goto(t, "late")
  /\ UNCHANGED <<slots, senders, receivers, closed, told, next, accepted, given, received>>
Cancel(t) ==                  \* wp__waiter_cancel, under the lock; then it tries again
  /\ pc[t] = "late"
  /\ senders' = SelectSeq(senders, LAMBDA x : x # t)
  /\ receivers' = SelectSeq(receivers, LAMBDA x : x # t)
  /\ IF InLine(t) THEN Goto(t, "run") /\ UNCHANGED told
     ELSE IF Twin = "grant_ignored" THEN Goto(t, "run") /\ told' = [told EXCEPT ![t] = Nothing]
     ELSE Goto(t, "await") /\ UNCHANGED told
  /\ UNCHANGED <<slots, closed, next, accepted, given, received>>
Close ==                      \* wp_channel_close
  /\ ~closed /\ closed' = TRUE
  /\ LET dismissed == Range(senders) \cup (IF Twin = "close_forgets" THEN {} ELSE Range(receivers)) IN
     told' = [t \in Threads |-> IF t \in dismissed THEN SaysClosed ELSE told[t]]
  /\ senders' = <<>>
  /\ receivers' = IF Twin = "close_forgets" THEN receivers ELSE <<>>
  /\ UNCHANGED <<slots, pc, next, accepted, given, received>>

Steps(t) == (t \in Senders /\ Send(t)) \/ (t \in Receivers /\ Receive(t)) \/ Granted(t) \/ Cancel(t)
Finished == (\A t \in Threads : pc[t] = "done") /\ UNCHANGED vars
Next == (\E t \in Threads : Steps(t) \/ TimeOut(t)) \/ Close \/ Finished
Fairness == \A t \in Threads : WF_vars(Steps(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)
Flying == {told[r] : r \in Receivers} \ Said
Has(s) == {<<s, i>> : i \in 1 .. next[s] - 1} \cup (IF told[s] = SaysSent THEN {Item(s)} ELSE {})
\* What was sent is in a slot, on its way to one receiver, or received; what was not sent is nowhere.
NothingLost ==
  /\ Range(slots) \cup Flying \cup received = Range(accepted)
  /\ Range(accepted) = UNION {Has(s) : s \in Senders}
\* What was sent first is given first.
Fifo == given \o slots = accepted /\ Len(accepted) = Cardinality(Range(accepted))
\* Who waits to send finds no free slot, who waits to receive no item, and neither a closed channel.
NobodyWaitsForNothing ==
  /\ receivers # <<>> => slots = <<>> /\ senders = <<>> /\ ~closed
  /\ senders # <<>> => Len(slots) = Capacity /\ ~closed
\* Who was given what it waits for goes on.
Served == \A t \in Threads : told[t] # Nothing ~> told[t] = Nothing
=============================================================================
Results: MCChannel 3,759 states, depth 17; MCChannelRendezvous 4,075 states, depth 19.
