----------------------------- MODULE AioChannel ----------------------------
(***************************************************************************)
(* A bounded queue between threads and coroutines of any event loop. A     *)
(* sender waits while all slots are taken, and a receiver waits while the  *)
(* channel is empty. Waiters stand in two lines.                           *)
(*                                                                         *)
(* A send gives its item to the first receiver in line, or fills a slot. A *)
(* receive that empties a slot grants the slot to the first sender in      *)
(* line, which fills the slot when it goes on. A waiter goes on some time  *)
(* after it was taken off its line: it is woken, and a coroutine then      *)
(* waits for its turn in its loop. Meanwhile the waiter may be cancelled   *)
(* or interrupted: then it passes on what it was given, an item or a slot. *)
(* A waiter whose deadline passes meanwhile takes what it was given.       *)
(*                                                                         *)
(* Code       python/wakeproof/aio_channel.py: everything but the waits    *)
(*            happens under one lock. python/wakeproof/_native/            *)
(*            aio_channel.c: what needs no wait and no wake, in one step   *)
(*            while nobody has the lock, which the GIL makes one.          *)
(* Abstracts  threads and coroutines to waiters that may be cancelled and  *)
(*            may have a deadline; what is done under the lock to one      *)
(*            step, but for the wake of each waiter that it takes off a    *)
(*            line. The code wakes under the lock, too; here other threads *)
(*            may take the lock before. Waiters of closed event loops are  *)
(*            left out.                                                    *)
(* Memory     sequential consistency, which the lock provides.             *)
(* Promises   NothingLost, SentOnlyIfDone, SlotsAreCounted,                *)
(*            NobodyWaitsForNothing (safety); Ends (liveness).             *)
(* TLC alone  NothingLost, SentOnlyIfDone, SlotsAreCounted,                *)
(*            NobodyWaitsForNothing, Ends: the code is Python, which no    *)
(*            scenario compiles (tests/python/test_aio_channel.py tests    *)
(*            it).                                                         *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Senders,    \* threads or coroutines; each sends one item, which is named after it
  Receivers,  \* threads or coroutines; each receives one item
  Capacity    \* the number of slots

VARIABLES
  slots,      \* the items in the slots, the oldest first
  senders,    \* the senders in line, in order
  receivers,  \* the receivers in line, in order
  granted,    \* the number of slots that belong to senders that were taken off their line
  closed,     \* TRUE if the channel is closed
  state,      \* waiter -> "waits" until it is taken off its line; then "served" or "closed"
  item,       \* receiver -> the item that it was given, or Nothing
  due,        \* the waiters that were taken off their lines and are not woken yet
  woken,      \* the waiters that have been woken
  pc,         \* waiter -> its next step
  accepted,   \* ghost: the items that were sent
  received    \* ghost: the items that receivers have returned with

Lines == <<slots, senders, receivers, granted, closed>>
Wakes == <<state, item, due>>
Ghosts == <<accepted, received>>
vars == <<Lines, Wakes, woken, pc, Ghosts>>

Waiters == Senders \cup Receivers
Nothing == "nothing"
Range(q) == {q[i] : i \in 1 .. Len(q)}
Ended == {"done", "late", "refused", "cancelled"}

TypeOK ==
  /\ slots \in Seq(Senders)
  /\ senders \in Seq(Senders)
  /\ receivers \in Seq(Receivers)
  /\ granted \in 0 .. Cardinality(Senders)
  /\ closed \in BOOLEAN
  /\ state \in [Waiters -> {"waits", "served", "closed"}]
  /\ item \in [Receivers -> Senders \cup {Nothing}]
  /\ due \subseteq Waiters
  /\ woken \subseteq Waiters
  /\ pc \in [Waiters -> {"run", "wait", "fill", "leave", "give up", "pass on"} \cup Ended]
  /\ accepted \subseteq Senders
  /\ received \subseteq Senders

Init ==
  /\ slots = <<>>
  /\ senders = <<>>
  /\ receivers = <<>>
  /\ granted = 0
  /\ closed = FALSE
  /\ state = [w \in Waiters |-> "waits"]
  /\ item = [r \in Receivers |-> Nothing]
  /\ due = {}
  /\ woken = {}
  /\ pc = [w \in Waiters |-> "run"]
  /\ accepted = {}
  /\ received = {}

Goto(w, where) == pc' = [pc EXCEPT ![w] = where]

(* What is done under the lock. *)
\* The waiters in `line` were taken off it, and will be woken.
Take(line, why) ==
  /\ state' = [w \in Waiters |-> IF w \in Range(line) THEN why ELSE state[w]]
  /\ due' = due \cup Range(line)

\* The number of senders that are granted a slot if `used` slots are taken or promised.
Grants(used) ==                 \* _grant
  LET free == IF used < Capacity THEN Capacity - used ELSE 0
  IN IF free < Len(senders) THEN free ELSE Len(senders)

\* The first `most` senders in line are granted a slot, beside `promised` slots.
GrantFirst(most, promised) ==
  /\ senders' = SubSeq(senders, most + 1, Len(senders))
  /\ granted' = promised + most

\* Item i goes to the first receiver in line. Without one the slots become `kept`.
Deliver(i, kept) ==             \* _deliver
  IF receivers # <<>>
  THEN /\ item' = [item EXCEPT ![Head(receivers)] = i]
       /\ receivers' = Tail(receivers)
       /\ UNCHANGED slots
  ELSE /\ slots' = kept
       /\ UNCHANGED <<item, receivers>>

\* The receiver that Deliver serves.
First == SubSeq(receivers, 1, IF receivers = <<>> THEN 0 ELSE 1)

(* A sender. *)
\* A sender finds the channel closed, or joins the line, or delivers its item.
Send(s) ==                      \* _begin_send
  /\ pc[s] = "run"
  /\ IF closed
     THEN /\ Goto(s, "refused")
          /\ UNCHANGED <<slots, senders, receivers, Wakes, accepted>>
     ELSE IF granted + Len(slots) >= Capacity
     THEN /\ senders' = Append(senders, s)
          /\ Goto(s, "wait")
          /\ UNCHANGED <<slots, receivers, Wakes, accepted>>
     ELSE /\ Goto(s, "done")
          /\ accepted' = accepted \cup {s}
          /\ Deliver(s, Append(slots, s))
          /\ Take(First, "served")
          /\ UNCHANGED senders
  /\ UNCHANGED <<granted, closed, woken, received>>

\* A sender that goes on delivers its item into the slot that it was granted. If a receiver gets the
\* item, the slot is free, and is granted to the next sender.
Fill(s) ==                      \* _end_send
  /\ pc[s] = "fill"
  /\ LET promised == IF state[s] = "served" THEN granted - 1 ELSE granted
         most == Grants(promised + Len(slots'))
     IN IF closed
        THEN /\ Goto(s, "refused")
             /\ granted' = promised
             /\ UNCHANGED <<slots, senders, receivers, Wakes, accepted>>
        ELSE /\ Goto(s, "done")
             /\ accepted' = accepted \cup {s}
             /\ Deliver(s, Append(slots, s))
             /\ GrantFirst(most, promised)
             /\ Take(First \o SubSeq(senders, 1, most), "served")
  /\ UNCHANGED <<closed, woken, received>>

(* A receiver. *)
\* A receiver takes the oldest item and grants its slot, or finds the channel closed, or joins the
\* line.
Receive(r) ==                   \* _begin_receive
  /\ pc[r] = "run"
  /\ IF slots # <<>>
     THEN LET most == Grants(granted + Len(slots) - 1)
          IN /\ slots' = Tail(slots)
             /\ received' = received \cup {Head(slots)}
             /\ GrantFirst(most, granted)
             /\ Take(SubSeq(senders, 1, most), "served")
             /\ Goto(r, "done")
             /\ UNCHANGED receivers
     ELSE IF closed
     THEN /\ Goto(r, "refused")
          /\ UNCHANGED <<slots, senders, receivers, granted, state, due, received>>
     ELSE /\ receivers' = Append(receivers, r)
          /\ Goto(r, "wait")
          /\ UNCHANGED <<slots, senders, granted, state, due, received>>
  /\ UNCHANGED <<closed, item, woken, accepted>>

(* A waiter: a sender or a receiver that is in line, or was. *)
\* A waiter that was taken off its line is woken.
Wake(w) ==                      \* _wake
  /\ w \in due
  /\ due' = due \ {w}
  /\ woken' = woken \cup {w}
  /\ UNCHANGED <<Lines, state, item, pc, Ghosts>>

\* A receiver returns with what it was given.
Return(r) ==                    \* _given
  /\ Goto(r, IF state[r] = "served" THEN "done" ELSE "refused")
  /\ received' = IF state[r] = "served" THEN received \cup {item[r]} ELSE received

\* A waiter that was woken goes on.
Resume(w) ==
  /\ pc[w] = "wait"
  /\ w \in woken
  /\ IF w \in Senders
     THEN /\ Goto(w, "fill")
          /\ UNCHANGED received
     ELSE Return(w)
  /\ UNCHANGED <<Lines, Wakes, woken, accepted>>

\* The deadline of a waiter passes, or the waiter is cancelled or interrupted. A coroutine may be
\* cancelled after its wake, too, before its loop lets it go on.
Stop(w) ==
  /\ pc[w] = "wait"
  /\ \E to \in {"leave", "give up"} : Goto(w, to)
  /\ UNCHANGED <<Lines, Wakes, woken, Ghosts>>

\* Under the lock a waiter leaves its line. If it was taken off meanwhile, then it goes on if its
\* deadline has passed, and passes on what it was given if it was cancelled.
Leave(w) ==                     \* _leave
  /\ pc[w] \in {"leave", "give up"}
  /\ senders' = SelectSeq(senders, LAMBDA x : x # w)
  /\ receivers' = SelectSeq(receivers, LAMBDA x : x # w)
  /\ IF pc[w] = "give up"
     THEN /\ Goto(w, IF state[w] = "served" THEN "pass on" ELSE "cancelled")
          /\ UNCHANGED received
     ELSE IF state[w] = "waits"
     THEN /\ Goto(w, "late")
          /\ UNCHANGED received
     ELSE IF w \in Senders
     THEN /\ Goto(w, "fill")
          /\ UNCHANGED received
     ELSE Return(w)
  /\ UNCHANGED <<slots, granted, closed, Wakes, woken, accepted>>

\* A cancelled sender gives its slot to the next sender in line. A cancelled receiver gives its item
\* to the next receiver in line, or puts it before all others, though no slot may be free.
PassOn(w) ==                    \* _give_up
  /\ pc[w] = "pass on"
  /\ Goto(w, "cancelled")
  /\ IF w \in Senders
     THEN LET most == Grants(granted - 1 + Len(slots))
          IN /\ GrantFirst(most, granted - 1)
             /\ Take(SubSeq(senders, 1, most), "served")
             /\ UNCHANGED <<slots, receivers, item>>
     ELSE /\ Deliver(item[w], <<item[w]>> \o slots)
          /\ Take(First, "served")
          /\ UNCHANGED <<senders, granted>>
  /\ UNCHANGED <<closed, woken, Ghosts>>

\* The channel is closed, and all waiters are taken off their lines.
Close ==                        \* close
  /\ ~closed
  /\ closed' = TRUE
  /\ senders' = <<>>
  /\ receivers' = <<>>
  /\ Take(senders \o receivers, "closed")
  /\ UNCHANGED <<slots, granted, item, woken, pc, Ghosts>>

Steps(w) ==
  \/ w \in Senders /\ (Send(w) \/ Fill(w))
  \/ w \in Receivers /\ Receive(w)
  \/ Wake(w) \/ Resume(w) \/ Leave(w) \/ PassOn(w)

\* The intended end: each waiter has ended, or stands in line for good.
Finished ==
  /\ \A w \in Waiters : pc[w] \in Ended \/ (pc[w] = "wait" /\ state[w] = "waits")
  /\ UNCHANGED vars

Next == (\E w \in Waiters : Steps(w) \/ Stop(w)) \/ Close \/ Finished

\* Nobody has to close the channel, to be cancelled or to have a deadline. A waiter that wants the
\* lock gets it eventually.
Spec == Init /\ [][Next]_vars /\ \A w \in Waiters : WF_vars(Steps(w))

(* What must hold. *)
\* The waiters that were served, and have neither gone on nor passed on what they were given.
Served == {w \in Waiters : state[w] = "served" /\ pc[w] \notin Ended}

\* Each item that was sent is in a slot, on its way to one receiver, or received; no other item is in
\* the channel, and no item is in two places.
NothingLost ==
  LET flying == Served \cap Receivers
  IN /\ Range(slots) \cup {item[r] : r \in flying} \cup received = accepted
     /\ Len(slots) + Cardinality(flying) + Cardinality(received) = Cardinality(accepted)

\* Who was refused, came too late or was cancelled has sent nothing. (And has received nothing: else
\* NothingLost would not hold.)
SentOnlyIfDone == \A s \in accepted : pc[s] = "done"

\* The slots that count as promised are those of the senders that were granted one.
SlotsAreCounted == granted = Cardinality(Served \cap Senders)

\* While a receiver stands in line, there is no item. While a sender stands in line, all slots are
\* taken or promised. Nobody stands in a line of a closed channel.
NobodyWaitsForNothing ==
  /\ receivers # <<>> => slots = <<>> /\ ~closed
  /\ senders # <<>> => granted + Len(slots) >= Capacity /\ ~closed

\* A waiter that was taken off its line ends eventually.
Ends == \A w \in Waiters : state[w] # "waits" ~> pc[w] \in Ended
=============================================================================
