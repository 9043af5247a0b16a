-------------------------------- MODULE EventRing --------------------------------
(***************************************************************************)
(* A ring keeps the newest events of one thread, its owner. The owner      *)
(* writes events and never waits. Any other thread may read an event at    *)
(* the same time, and drops what it has read if the owner has overwritten  *)
(* the slot meanwhile. Each slot is a small sequence lock: its `seq` is    *)
(* odd while the slot is being written, and names the event that the slot  *)
(* holds.                                                                  *)
(*                                                                         *)
(* Code       kernel/base/event_ring.h; [event_ring.1]..[event_ring.9]     *)
(*            name sites in that file.                                     *)
(* Abstracts  an event to its number, which each of its words carries. So  *)
(*            an event that mixes the words of two events shows two        *)
(*            numbers.                                                     *)
(* Memory     sequential consistency; the memory orders are checked by     *)
(*            stress/scenarios/base/event_ring.c.                          *)
(* Promises   NoTornEvent, NoInventedEvent (safety).                       *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
  Events,   \* the number of events that the writer writes: 0 .. Events - 1
  Slots,    \* the number of slots in the ring
  Words,    \* the number of words in an event
  Reads     \* the number of events that the reader tries to read; it may choose any

ASSUME EventsWrap == Events > Slots /\ {Slots, Words, Reads} \subseteq Nat \ {0}

VARIABLES
  seq,     \* slot -> 0 at first; 2n + 1 while event n is written; 2n + 2 once event n is published
  words,   \* slot -> word -> the event that wrote the word, or -1
  count,   \* ring->count: the number of events that are complete
  writer,  \* [pc, word]: the writer's next step, and the word of event `count` that the writer
           \* writes next
  reader,  \* [pc, event, word, got]: the reader's next step; `got` holds the words read so far
  left,    \* the number of reads that are still to come
  last     \* the event that the reader accepted last, and its words; the event is -1 if there is
           \* none
vars == <<seq, words, count, writer, reader, left, last>>

\* The slot that holds event n.
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

\* The writer marks the slot as being written, before it changes any word of the slot.
Mark ==                       \* [event_ring.8] [event_ring.1] wp_event_ring_add
  /\ writer.pc = "mark"
  /\ count < Events
  /\ seq' = [seq EXCEPT ![Slot(count)] = 2 * count + 1]
  /\ writer' = [pc |-> "word", word |-> 1]
  /\ UNCHANGED <<words, count>>
  /\ Readers

\* The writer stores one word of the event.
Write ==                      \* [event_ring.2]
  /\ writer.pc = "word"
  /\ words' = [words EXCEPT ![Slot(count)][writer.word] = count]
  /\ writer' = IF writer.word < Words
               THEN [writer EXCEPT !.word = @ + 1]
               ELSE [pc |-> "publish", word |-> 1]
  /\ UNCHANGED <<seq, count>>
  /\ Readers

\* The writer publishes the event: `seq` now names the event that the slot holds.
Publish ==                    \* [event_ring.3]
  /\ writer.pc = "publish"
  /\ seq' = [seq EXCEPT ![Slot(count)] = 2 * count + 2]
  /\ writer' = [pc |-> "count", word |-> 1]
  /\ UNCHANGED <<words, count>>
  /\ Readers

\* The writer counts the event, so that readers may read it.
Count ==                      \* [event_ring.7]
  /\ writer.pc = "count"
  /\ count' = count + 1
  /\ writer' = [pc |-> "mark", word |-> 1]
  /\ UNCHANGED <<seq, words>>
  /\ Readers

\* The reader picks the event that it wants: one below the count that it has read, or any number
\* that a caller makes up.
Ask(n) ==                     \* [event_ring.9] wp_event_ring_count
  /\ reader.pc = "idle"
  /\ left > 0
  /\ reader' = [pc |-> "seq", event |-> n, word |-> 1, got |-> NoEvent]
  /\ left' = left - 1
  /\ last' = [event |-> -1, got |-> NoEvent]
  /\ Writers

Idle == [pc |-> "idle", event |-> -1, word |-> 1, got |-> NoEvent]

\* The reader checks that the slot holds the event that it wants. If not, the reader gives up.
Look ==                       \* [event_ring.4]
  /\ reader.pc = "seq"
  /\ LET isThere == seq[Slot(reader.event)] = 2 * reader.event + 2
     IN reader' = IF isThere THEN [reader EXCEPT !.pc = "word"] ELSE Idle
  /\ UNCHANGED <<left, last>>
  /\ Writers

\* The reader copies one word.
Read ==                       \* [event_ring.5]
  /\ reader.pc = "word"
  /\ LET got == [reader.got EXCEPT ![reader.word] = words[Slot(reader.event)][reader.word]]
     IN reader' = IF reader.word < Words
                  THEN [reader EXCEPT !.word = @ + 1, !.got = got]
                  ELSE [reader EXCEPT !.pc = "check", !.got = got]
  /\ UNCHANGED <<left, last>>
  /\ Writers

\* The reader checks the slot again, and accepts the words only if the slot still holds the event.
Check ==                      \* [event_ring.6]
  /\ reader.pc = "check"
  /\ LET isStillThere == seq[Slot(reader.event)] = 2 * reader.event + 2
     IN last' = IF isStillThere THEN [event |-> reader.event, got |-> reader.got] ELSE last
  /\ reader' = Idle
  /\ UNCHANGED left
  /\ Writers

\* The intended end: all events have been written, and all reads are over.
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

\* All words of an event that a reader accepts come from the same event.
NoTornEvent == \A v, w \in 1 .. Words : last.got[v] = last.got[w]

\* An event that a reader accepts is the event that it wanted, and the owner has written that event.
NoInventedEvent == \A w \in 1 .. Words : last.got[w] = last.event
=============================================================================
