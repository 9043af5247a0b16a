-------------------------------- MODULE EventRing --------------------------------
(***************************************************************************)
(* The newest events of one thread, read by others while it writes on.     *)
(* Code       kernel/base/event_ring.h; [event_ring.1]..[event_ring.9]     *)
(*            name sites in that file.                                     *)
(* Abstracts  an event to its number, which each of its words carries.     *)
(* Memory     sequential consistency; the orders are                       *)
(*            stress/scenarios/base/event_ring.c's.                        *)
(* Promises   NoTornEvent, NoInventedEvent (safety).                       *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
  Events,   \* how many the writer writes: 0 .. Events - 1
  Slots,    \* of the ring
  Words,    \* of an event
  Reads     \* how many events the reader asks for, any of them

ASSUME EventsWrap == Events > Slots /\ {Slots, Words, Reads} \subseteq Nat \ {0}

VARIABLES
  seq,     \* slot -> 0, 2n + 1, 2n + 2
  words,   \* slot -> word -> the event that wrote it, or -1
  count,   \* ring->count
  writer,  \* [pc, word]: what the writer does next to event `count`
  reader,  \* [pc, event, word, got]: got: what it has read so far
  left,    \* reads to come
  last     \* the event that the reader accepted last, and its words; event -1: none
vars == <<seq, words, count, writer, reader, left, last>>

Slot(n) == n % Slots
NoEvent == [w \in 1 .. Words |-> -1]

TypeOK ==
  /\ seq \in [0 .. Slots - 1 -> 0 .. 2 * Events]
  /\ words \in [0 .. Slots - 1 -> [1 .. Words -> -1 .. Events - 1]]
  /\ count \in 0 .. Events
  /\ writer.pc \in {"mark", "word", "publish", "count"}
  /\ reader.pc \in {"idle", "seq", "word", "check"}
  /\ left \in 0 .. Reads

Init ==
  /\ seq = [s \in 0 .. Slots - 1 |-> 0]
  /\ words = [s \in 0 .. Slots - 1 |-> NoEvent]
  /\ count = 0
  /\ writer = [pc |-> "mark", word |-> 1]
  /\ reader = [pc |-> "idle", event |-> -1, word |-> 1, got |-> NoEvent]
  /\ left = Reads
  /\ last = [event |-> -1, got |-> NoEvent]

Readers == UNCHANGED <<reader, left, last>>
Writers == UNCHANGED <<seq, words, count, writer>>

Mark ==                       \* [event_ring.8] [event_ring.1] wp_event_ring_add
  /\ writer.pc = "mark"
  /\ count < Events
  /\ seq' = [seq EXCEPT ![Slot(count)] = 2 * count + 1]
  /\ writer' = [pc |-> "word", word |-> 1]
  /\ UNCHANGED <<words, count>>
  /\ Readers
Write ==                      \* [event_ring.2]
  /\ writer.pc = "word"
  /\ words' = [words EXCEPT ![Slot(count)][writer.word] = count]
  /\ writer' = IF writer.word < Words
               THEN [writer EXCEPT !.word = @ + 1]
               ELSE [pc |-> "publish", word |-> 1]
  /\ UNCHANGED <<seq, count>>
  /\ Readers
Publish ==                    \* [event_ring.3]
  /\ writer.pc = "publish"
  /\ seq' = [seq EXCEPT ![Slot(count)] = 2 * count + 2]
  /\ writer' = [pc |-> "count", word |-> 1]
  /\ UNCHANGED <<words, count>>
  /\ Readers
Count ==                      \* [event_ring.7]
  /\ writer.pc = "count"
  /\ count' = count + 1
  /\ writer' = [pc |-> "mark", word |-> 1]
  /\ UNCHANGED <<seq, words>>
  /\ Readers

Ask(n) ==                     \* [event_ring.9] wp_event_ring_count, or any number that somebody makes up
  /\ reader.pc = "idle"
  /\ left > 0
  /\ reader' = [pc |-> "seq", event |-> n, word |-> 1, got |-> NoEvent]
  /\ left' = left - 1
  /\ last' = [event |-> -1, got |-> NoEvent]
  /\ Writers
Idle == [pc |-> "idle", event |-> -1, word |-> 1, got |-> NoEvent]
Look ==                       \* [event_ring.4]
  /\ reader.pc = "seq"
  /\ LET isThere == seq[Slot(reader.event)] = 2 * reader.event + 2
     IN reader' = IF isThere THEN [reader EXCEPT !.pc = "word"] ELSE Idle
  /\ UNCHANGED <<left, last>>
  /\ Writers
Read ==                       \* [event_ring.5]
  /\ reader.pc = "word"
  /\ LET got == [reader.got EXCEPT ![reader.word] = words[Slot(reader.event)][reader.word]]
     IN reader' = IF reader.word < Words
                  THEN [reader EXCEPT !.word = @ + 1, !.got = got]
                  ELSE [reader EXCEPT !.pc = "check", !.got = got]
  /\ UNCHANGED <<left, last>>
  /\ Writers
Check ==                      \* [event_ring.6]
  /\ reader.pc = "check"
  /\ LET isStillThere == seq[Slot(reader.event)] = 2 * reader.event + 2
     IN last' = IF isStillThere THEN [event |-> reader.event, got |-> reader.got] ELSE last
  /\ reader' = Idle
  /\ UNCHANGED left
  /\ Writers

Finished ==
  /\ count = Events
  /\ reader.pc = "idle"
  /\ left = 0
  /\ UNCHANGED vars
Next ==
  \/ Mark \/ Write \/ Publish \/ Count
  \/ (\E n \in 0 .. Events - 1 : Ask(n)) \/ Look \/ Read \/ Check \/ Finished
Spec == Init /\ [][Next]_vars

(* What must hold. *)
\* All words of an event that is handed out come from one event.
NoTornEvent == \A v, w \in 1 .. Words : last.got[v] = last.got[w]
\* An event that is handed out is the one that was asked for, and it was written.
NoInventedEvent == \A w \in 1 .. Words : last.got[w] = last.event
=============================================================================
