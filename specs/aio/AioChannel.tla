----------------------------- MODULE AioChannel ----------------------------
(***************************************************************************)
(* A bounded queue between threads and coroutines of any event loop. A     *)
(* sender waits while all slots are taken, and a receiver waits while the  *)
(* channel is empty. Waiters stand in two lines.                           *)
(*                                                                         *)
(* A send fills a slot, and promises its item to the first receiver in    *)
(* line; an item that is promised takes no slot. A receive that empties a  *)
(* slot grants the slot to the first sender in line, which fills the slot  *)
(* when it goes on. A waiter goes on some time after it was taken off its  *)
(* line: it is woken, and a coroutine then waits for its turn in its loop. *)
(* Meanwhile the waiter may be cancelled or interrupted: then it passes on *)
(* what it was promised or granted. A waiter whose deadline passes         *)
(* meanwhile goes on.                                                      *)
(*                                                                         *)
(* A close ends all promises: the items that are left go to the receivers  *)
(* that come first, and each receiver that was in line looks once more. So *)
(* no item is left when a receiver is told that none is.                   *)
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
(*            NobodyWaitsForNothing, NothingAfterTheEnd (safety); Ends     *)
(*            (liveness).                                                  *)
(* TLC alone  NothingLost, SentOnlyIfDone, SlotsAreCounted,                *)
(*            NobodyWaitsForNothing, NothingAfterTheEnd, Ends: the code is *)
(*            Python, which no scenario compiles                           *)
(*            (tests/python/test_aio_channel.py tests it).                 *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Senders,    \* threads or coroutines; each sends one item, which is named after it
  Receivers,  \* threads or coroutines; each receives one item
  Capacity    \* the number of slots

VARIABLES
  slots,      \* the items in the channel, the oldest first
  senders,    \* the senders in line, in order
  receivers,  \* the receivers in line, in order
  granted,    \* the number of slots that belong to senders that were taken off their line
  promised,   \* the number of items that belong to receivers that were taken off their line
  closed,     \* TRUE if the channel is closed
  state,      \* waiter -> "waits" until it is taken off its line; then "served" or "closed"
  due,        \* the waiters that were taken off their lines and are not woken yet
  woken,      \* the waiters that have been woken
  pc,         \* waiter -> its next step
  accepted,   \* ghost: the items that were sent
  received    \* ghost: the items that receivers have returned with

Lines == <<slots, senders, receivers, granted, promised, closed>>
Wakes == <<state, due>>
Ghosts == <<accepted, received>>
vars == <<Lines, Wakes, woken, pc, Ghosts>>

Waiters == Senders \cup Receivers
Range(q) == {q[i] : i \in 1 .. Len(q)}
Ended == {"done", "late", "refused", "cancelled"}

TypeOK ==
  /\ slots \in Seq(Senders)
  /\ senders \in Seq(Senders)
  /\ receivers \in Seq(Receivers)
  /\ granted \in 0 .. Cardinality(Senders)
  /\ promised \in 0 .. Len(slots)
  /\ closed \in BOOLEAN
  /\ state \in [Waiters -> {"waits", "served", "closed"}]
  /\ due \subseteq Waiters
  /\ woken \subseteq Waiters
  /\ pc \in [Waiters -> {"run", "wait", "fill", "collect", "leave", "give up", "pass on"} \cup Ended]
  /\ accepted \subseteq Senders
  /\ received \subseteq Senders

Init ==
  /\ slots = <<>>
  /\ senders = <<>>
  /\ receivers = <<>>
  /\ granted = 0
  /\ promised = 0
  /\ closed = FALSE
  /\ state = [w \in Waiters |-> "waits"]
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

\* The number of senders that are granted a slot if `used` slots are taken or granted.
Grants(used) ==                 \* _grant
  LET free == IF used < Capacity THEN Capacity - used ELSE 0
  IN IF free < Len(senders) THEN free ELSE Len(senders)

\* The first `most` senders in line are granted a slot, beside `used` slots.
GrantFirst(most, used) ==
  /\ senders' = SubSeq(senders, most + 1, Len(senders))
  /\ granted' = used + most

\* The number of receivers that are promised an item if there are `count`, of which `used` are
\* promised.
Promises(count, used) ==        \* _promise
  LET left == count - used
  IN IF left < Len(receivers) THEN left ELSE Len(receivers)

\* The first `most` receivers in line are promised an item, beside `used` items.
PromiseFirst(most, used) ==
  /\ receivers' = SubSeq(receivers, most + 1, Len(receivers))
  /\ promised' = used + most

(* A sender. *)
\* A sender finds the channel closed, or joins the line, or fills a slot.
Send(s) ==                      \* _begin_send
  /\ pc[s] = "run"
  /\ IF closed
     THEN /\ Goto(s, "refused")
          /\ UNCHANGED <<slots, senders, receivers, promised, Wakes, accepted>>
     ELSE IF granted + Len(slots) - promised >= Capacity
     THEN /\ senders' = Append(senders, s)
          /\ Goto(s, "wait")
          /\ UNCHANGED <<slots, receivers, promised, Wakes, accepted>>
     ELSE LET given == Promises(Len(slots) + 1, promised)
          IN /\ Goto(s, "done")
             /\ accepted' = accepted \cup {s}
             /\ slots' = Append(slots, s)
             /\ PromiseFirst(given, promised)
             /\ Take(SubSeq(receivers, 1, given), "served")
             /\ UNCHANGED senders
  /\ UNCHANGED <<granted, closed, woken, received>>

\* A sender that goes on fills the slot that it was granted. If a receiver is promised the item, the
\* slot is free, and is granted to the next sender.
Fill(s) ==                      \* _end_send
  /\ pc[s] = "fill"
  /\ LET kept == IF state[s] = "served" THEN granted - 1 ELSE granted
         given == Promises(Len(slots) + 1, promised)
         most == Grants(kept + Len(slots) + 1 - promised - given)
     IN IF closed
        THEN /\ Goto(s, "refused")
             /\ granted' = kept
             /\ UNCHANGED <<slots, senders, receivers, promised, Wakes, accepted>>
        ELSE /\ Goto(s, "done")
             /\ accepted' = accepted \cup {s}
             /\ slots' = Append(slots, s)
             /\ PromiseFirst(given, promised)
             /\ GrantFirst(most, kept)
             /\ Take(SubSeq(receivers, 1, given) \o SubSeq(senders, 1, most), "served")
  /\ UNCHANGED <<closed, woken, received>>

(* A receiver. *)
\* A receiver takes the oldest item, unless all are promised, and grants its slot, or finds the
\* channel closed, or joins the line.
Receive(r) ==                   \* _begin_receive
  /\ pc[r] = "run"
  /\ IF Len(slots) > promised
     THEN LET most == Grants(granted + Len(slots) - 1 - promised)
          IN /\ slots' = Tail(slots)
             /\ received' = received \cup {Head(slots)}
             /\ GrantFirst(most, granted)
             /\ Take(SubSeq(senders, 1, most), "served")
             /\ Goto(r, "done")
             /\ UNCHANGED receivers
     ELSE IF closed
     THEN /\ Goto(r, "refused")
          /\ UNCHANGED <<slots, senders, receivers, granted, Wakes, received>>
     ELSE /\ receivers' = Append(receivers, r)
          /\ Goto(r, "wait")
          /\ UNCHANGED <<slots, senders, granted, Wakes, received>>
  /\ UNCHANGED <<promised, closed, woken, accepted>>

\* A receiver that goes on takes the oldest item. After a close others may have been faster.
Collect(r) ==                   \* _end_receive
  /\ pc[r] = "collect"
  /\ promised' = IF closed THEN 0 ELSE promised - 1
  /\ IF closed /\ slots = <<>>
     THEN /\ Goto(r, "refused")
          /\ UNCHANGED <<slots, received>>
     ELSE /\ Goto(r, "done")
          /\ slots' = Tail(slots)
          /\ received' = received \cup {Head(slots)}
  /\ UNCHANGED <<senders, receivers, granted, closed, Wakes, woken, accepted>>

(* A waiter: a sender or a receiver that is in line, or was. *)
\* A waiter that was taken off its line is woken.
Wake(w) ==                      \* _wake
  /\ w \in due
  /\ due' = due \ {w}
  /\ woken' = woken \cup {w}
  /\ UNCHANGED <<Lines, state, pc, Ghosts>>

\* A waiter that was woken goes on.
GoOn(w) == Goto(w, IF w \in Senders THEN "fill" ELSE "collect")

Resume(w) ==
  /\ pc[w] = "wait"
  /\ w \in woken
  /\ GoOn(w)
  /\ UNCHANGED <<Lines, Wakes, woken, Ghosts>>

\* The deadline of a waiter passes, or the waiter is cancelled or interrupted. A coroutine may be
\* cancelled after its wake, too, before its loop lets it go on.
Stop(w) ==
  /\ pc[w] = "wait"
  /\ \E to \in {"leave", "give up"} : Goto(w, to)
  /\ UNCHANGED <<Lines, Wakes, woken, Ghosts>>

\* Under the lock a waiter leaves its line. If it was taken off meanwhile, then it goes on if its
\* deadline has passed, and passes on what it was promised or granted if it was cancelled.
Leave(w) ==                     \* _leave
  /\ pc[w] \in {"leave", "give up"}
  /\ senders' = SelectSeq(senders, LAMBDA x : x # w)
  /\ receivers' = SelectSeq(receivers, LAMBDA x : x # w)
  /\ IF pc[w] = "give up"
     THEN Goto(w, IF state[w] = "served" THEN "pass on" ELSE "cancelled")
     ELSE IF state[w] = "waits"
     THEN Goto(w, "late")
     ELSE GoOn(w)
  /\ UNCHANGED <<slots, granted, promised, closed, Wakes, woken, Ghosts>>

\* A cancelled sender gives its slot to the next sender in line. The item of a cancelled receiver is
\* promised to the next receiver in line, or needs a slot again, though none may be free.
PassOn(w) ==                    \* _give_up
  /\ pc[w] = "pass on"
  /\ Goto(w, "cancelled")
  /\ IF w \in Senders
     THEN LET most == Grants(granted - 1 + Len(slots) - promised)
          IN /\ GrantFirst(most, granted - 1)
             /\ Take(SubSeq(senders, 1, most), "served")
             /\ UNCHANGED <<receivers, promised>>
     ELSE LET used == IF closed THEN 0 ELSE promised - 1
              given == Promises(Len(slots), used)
          IN /\ PromiseFirst(given, used)
             /\ Take(SubSeq(receivers, 1, given), "served")
             /\ UNCHANGED <<senders, granted>>
  /\ UNCHANGED <<slots, closed, woken, Ghosts>>

\* The channel is closed, all waiters are taken off their lines, and no item is promised any more.
Close ==                        \* close
  /\ ~closed
  /\ closed' = TRUE
  /\ senders' = <<>>
  /\ receivers' = <<>>
  /\ promised' = 0
  /\ Take(senders \o receivers, "closed")
  /\ UNCHANGED <<slots, granted, woken, pc, Ghosts>>

Steps(w) ==
  \/ w \in Senders /\ (Send(w) \/ Fill(w))
  \/ w \in Receivers /\ (Receive(w) \/ Collect(w))
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
\* The waiters that were served, and have neither gone on nor passed on what they were promised or
\* granted.
Served == {w \in Waiters : state[w] = "served" /\ pc[w] \notin Ended}

\* Each item that was sent is in the channel or received; no other item is in the channel, and no
\* item is in two places.
NothingLost ==
  /\ Range(slots) \cup received = accepted
  /\ Len(slots) + Cardinality(received) = Cardinality(accepted)

\* Who was refused, came too late or was cancelled has sent nothing. (And has received nothing: else
\* NothingLost would not hold.)
SentOnlyIfDone == \A s \in accepted : pc[s] = "done"

\* The slots that count as granted are those of the senders that were granted one, and the items
\* that count as promised are those of the receivers that were promised one.
SlotsAreCounted ==
  /\ granted = Cardinality(Served \cap Senders)
  /\ promised = IF closed THEN 0 ELSE Cardinality(Served \cap Receivers)

\* While a receiver stands in line, all items are promised. While a sender stands in line, all slots
\* are taken or granted. Nobody stands in a line of a closed channel.
NobodyWaitsForNothing ==
  /\ receivers # <<>> => Len(slots) = promised /\ ~closed
  /\ senders # <<>> => granted + Len(slots) - promised >= Capacity /\ ~closed

\* If a receiver was told that nothing is left, then nothing is, for good.
NothingAfterTheEnd == (\E r \in Receivers : pc[r] = "refused") => slots = <<>>

\* A waiter that was taken off its line ends eventually.
Ends == \A w \in Waiters : state[w] # "waits" ~> pc[w] \in Ended
=============================================================================
