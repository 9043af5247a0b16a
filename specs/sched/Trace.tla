-------------------------------- MODULE Trace -------------------------------
(***************************************************************************)
(* Whose event it is, and when there is one: threads that run one after    *)
(* the other in the same memory, events of them, and a switch that others  *)
(* turn meanwhile. EventRing.tla says that an event is read whole.         *)
(* Code       kernel/sched/trace.c, event_ring.h, vthread_stackful.c;      *)
(*            [event_ring.10]..[event_ring.12] name sites.                 *)
(* Abstracts  a ring to the set of its events; a name to its thread; the   *)
(*            clock to whether it was read.                                *)
(* Memory     sequential consistency; the orders are                       *)
(*            stress/scenarios/base/event_ring.c's.                        *)
(* Promises   NameIsItsOwn, NumberIsItsOwn, RingsAreThere, SpansHaveBegun, *)
(*            OffIsSilent (safety).                                        *)
(* TLC alone  NameIsItsOwn, NumberIsItsOwn, SpansHaveBegun, OffIsSilent:   *)
(*            one thread reads and writes what these need, plain memory    *)
(*            between a run and the next in it, so there is no order of    *)
(*            steps to explore (tests/judge/traces/test_lies.py,           *)
(*            tests/programs/sched/made.c and waits.c).                    *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Threads,  \* how many, one after the other in one memory
  Rings,    \* how many sets of them may be made, each larger than the last
  Turns     \* how often it is switched off or on

ASSUME SomeOfEach == {Threads, Rings} \subseteq Nat \ {0} /\ Turns \in Nat

VARIABLES
  thread,   \* whose the memory is, and who is named there; 0: nobody yet
  taken,    \* numbers that were given so far
  number,   \* of that thread
  to,       \* [event_ring.10]..[event_ring.12]: the rings that events go to; 0: off
  made, kept, freed,  \* rings that were made, the newest, and those whose memory went
  left,     \* turns to come
  writer,   \* [pc, began, to]: the carrier of that thread: what it does; whether the span's
            \* beginning was read; the rings that it found
  off,      \* ghost: since the writer's last look the switch has been off, or it was found off
  events,   \* what was written: [rings, of, named, number, began, looked]
  shown     \* what a reader has made of some event: [of, named, number, began]; of 0: nothing
vars == <<thread, taken, number, to, made, kept, freed, left, writer, off, events, shown>>

Idle == [pc |-> "idle", began |-> FALSE, to |-> 0]
Nothing == [of |-> 0, named |-> 0, number |-> 0, began |-> TRUE]

TypeOK ==
  /\ thread \in 0 .. Threads /\ taken \in 0 .. Threads /\ number \in 0 .. Threads
  /\ {to, kept} \subseteq 0 .. Rings /\ {made, freed} \subseteq SUBSET (1 .. Rings)
  /\ left \in 0 .. Turns
  /\ writer.pc \in {"idle", "span", "look", "write"} /\ writer.to \in 0 .. Rings
  /\ off \in BOOLEAN /\ shown.of \in 0 .. Threads

Init ==
  /\ thread = 0 /\ taken = 0 /\ number = 0
  /\ to = 0 /\ made = {} /\ kept = 0 /\ freed = {} /\ left = Turns
  /\ writer = Idle /\ off = TRUE /\ events = {} /\ shown = Nothing

Memory == UNCHANGED <<thread, taken, number>>
Switches == UNCHANGED <<to, made, kept, freed, left>>

(* A thread of the group, in the memory of the last one. *)
New ==                        \* wp_vthread_new, wp__body_take
  /\ writer.pc = "idle"
  /\ thread < Threads
  /\ thread' = thread + 1
  /\ taken' = taken + 1
  /\ number' = taken + 1
  /\ Switches
  /\ UNCHANGED <<writer, off, events, shown>>
Begin ==                      \* [event_ring.12] it parks, or its step begins: is it on? then the clock is read
  /\ writer.pc = "idle" /\ thread # 0
  /\ writer' = [writer EXCEPT !.pc = "span", !.began = to # 0]
  /\ Memory /\ Switches /\ UNCHANGED <<off, events, shown>>
End ==                        \* the span is over
  /\ writer.pc = "span"
  /\ writer' = [writer EXCEPT !.pc = "look"]
  /\ Memory /\ Switches /\ UNCHANGED <<off, events, shown>>
Look ==                       \* [event_ring.10] wp__trace_add
  /\ writer.pc = "look"
  /\ LET found == to
         goes_on == found # 0 /\ writer.began
     IN /\ writer' = [writer EXCEPT !.pc = IF goes_on THEN "write" ELSE "idle", !.to = found]
        /\ off' = (to = 0)
  /\ Memory
  /\ Switches
  /\ UNCHANGED <<events, shown>>
Write ==                      \* wp_event_ring_add; wp__trace_of copied the name
  /\ writer.pc = "write"
  /\ events' = events \cup {[rings |-> writer.to, of |-> thread, number |-> number,
                             named |-> thread, began |-> writer.began, silent |-> off]}
  /\ writer' = [writer EXCEPT !.pc = "idle"]
  /\ Memory
  /\ Switches
  /\ UNCHANGED <<off, shown>>

(* Who switches. *)
Make ==                       \* wp_group_trace_on: there are none, or larger ones are asked for
  /\ left > 0
  /\ kept < Rings
  /\ kept' = kept + 1
  /\ made' = made \cup {kept + 1}
  /\ to' = kept + 1           \* [event_ring.11]
  /\ UNCHANGED freed
  /\ left' = left - 1
  /\ Memory
  /\ UNCHANGED <<writer, off, events, shown>>
On ==                         \* [event_ring.11] again, with those that there are
  /\ left > 0 /\ kept # 0 /\ to = 0
  /\ to' = kept /\ left' = left - 1
  /\ Memory /\ UNCHANGED <<made, kept, freed, writer, off, events, shown>>
Off ==                        \* [event_ring.11] wp_group_trace_off
  /\ left > 0 /\ to # 0
  /\ to' = 0 /\ left' = left - 1
  /\ Memory /\ UNCHANGED <<made, kept, freed, writer, off, events, shown>>

Read ==                       \* wp_group_trace
  /\ \E event \in events :
       /\ event.rings = kept
       /\ shown' = [of |-> event.of, number |-> event.number, began |-> event.began,
                    named |-> event.named]
  /\ Memory
  /\ Switches
  /\ UNCHANGED <<writer, off, events>>

Next ==
  \/ New
  \/ Begin
  \/ End
  \/ Look
  \/ Write
  \/ Make
  \/ On
  \/ Off
  \/ Read
Spec == Init /\ [][Next]_vars

(* What must hold. *)
\* Who reads an event gets the name of the thread whose event it is, whoever has its memory now.
NameIsItsOwn == shown.named = shown.of
\* Two events have one number only if they are one thread's.
NumberIsItsOwn == \A one, other \in events : one.number = other.number => one.of = other.of
\* Who is about to write has rings that were made, and whose memory is there.
RingsAreThere == writer.pc = "write" => writer.to \in made \ freed
\* The beginning of a span that is told was read.
SpansHaveBegun == shown.began
\* Nothing is written by whoever found the switch off when it looked.
OffIsSilent == \A event \in events : ~event.silent
=============================================================================
