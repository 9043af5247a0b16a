-------------------------------- MODULE Trace -------------------------------
(***************************************************************************)
(* Which thread a trace event belongs to, and when an event is written.    *)
(* Threads run one after the other in the same memory and write events,    *)
(* while other threads switch tracing on and off. EventRing.tla says that  *)
(* an event is read whole.                                                 *)
(*                                                                         *)
(* Code       kernel/sched/trace.c, event_ring.h, vthread_stackful.c;      *)
(*            [event_ring.10]..[event_ring.12] name sites.                 *)
(* Abstracts  a ring to the set of its events; a name to its thread; the   *)
(*            clock to whether it was read.                                *)
(* Memory     sequential consistency; stress/scenarios/base/event_ring.c   *)
(*            checks the memory orders.                                    *)
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
  Threads,  \* the number of threads, which run one after the other in one memory
  Rings,    \* the number of sets of rings that may be made, each larger than the one before
  Turns     \* the number of times that tracing is switched on or off

ASSUME SomeOfEach == {Threads, Rings} \subseteq Nat \ {0} /\ Turns \in Nat

VARIABLES
  thread,  \* the thread that the memory belongs to and that is named there; 0: none yet
  taken,   \* the number of thread numbers given so far
  number,  \* the number of that thread
  to,      \* [event_ring.10]..[event_ring.12]: the set of rings that events go to; 0: tracing is
           \* off
  made,    \* the sets of rings that have been made
  kept,    \* the newest set
  freed,   \* the sets of rings that have been freed
  left,    \* the turns of the switch that are still to come
  writer,  \* [pc, began, to]: the carrier that runs the thread: its next step; TRUE if it has read
           \* when the span began; the set of rings that it has found
  off,     \* ghost: TRUE if tracing was off when the writer last read the switch
  events,  \* the events that were written: [rings, of, named, number, began, silent]
  shown    \* what a reader has read from some event: [of, named, number, began]; `of` is 0 if there
           \* is nothing yet

vars == <<thread, taken, number, to, made, kept, freed, left, writer, off, events, shown>>

Idle == [pc |-> "idle", began |-> FALSE, to |-> 0]
Nothing == [of |-> 0, named |-> 0, number |-> 0, began |-> TRUE]

TypeOK ==
  /\ thread \in 0 .. Threads
  /\ taken \in 0 .. Threads
  /\ number \in 0 .. Threads
  /\ {to, kept} \subseteq 0 .. Rings
  /\ {made, freed} \subseteq SUBSET (1 .. Rings)
  /\ left \in 0 .. Turns
  /\ writer.pc \in {"idle", "span", "look", "write"}
  /\ writer.to \in 0 .. Rings
  /\ off \in BOOLEAN
  /\ shown.of \in 0 .. Threads

Init ==
  /\ thread = 0
  /\ taken = 0
  /\ number = 0
  /\ to = 0
  /\ made = {}
  /\ kept = 0
  /\ freed = {}
  /\ left = Turns
  /\ writer = Idle
  /\ off = TRUE
  /\ events = {}
  /\ shown = Nothing

Memory == UNCHANGED <<thread, taken, number>>
Switches == UNCHANGED <<to, made, kept, freed, left>>

(* A thread of the group, in the memory of the thread before it. *)

\* A new thread takes over the memory: wp_vthread_new, wp__body_take.
New ==
  /\ writer.pc = "idle"
  /\ thread < Threads
  /\ thread' = thread + 1
  /\ taken' = taken + 1
  /\ number' = taken + 1
  /\ Switches
  /\ UNCHANGED <<writer, off, events, shown>>

\* A span begins: the thread parks, or its step begins. The carrier reads the clock only if tracing
\* is on.
Begin ==                      \* [event_ring.12]
  /\ writer.pc = "idle"
  /\ thread # 0
  /\ writer' = [writer EXCEPT !.pc = "span", !.began = to # 0]
  /\ Memory
  /\ Switches
  /\ UNCHANGED <<off, events, shown>>

\* The span ends.
End ==
  /\ writer.pc = "span"
  /\ writer' = [writer EXCEPT !.pc = "look"]
  /\ Memory
  /\ Switches
  /\ UNCHANGED <<off, events, shown>>

\* The writer reads where the event should go: wp__trace_add.
Look ==                       \* [event_ring.10]
  /\ writer.pc = "look"
  /\ LET found == to
         goes_on == found # 0 /\ writer.began
     IN /\ writer' = [writer EXCEPT !.pc = IF goes_on THEN "write" ELSE "idle", !.to = found]
        /\ off' = (to = 0)
  /\ Memory
  /\ Switches
  /\ UNCHANGED <<events, shown>>

\* The writer writes the event: wp_event_ring_add. The name was copied by wp__trace_of.
Write ==
  /\ writer.pc = "write"
  /\ events' = events \cup {[rings |-> writer.to, of |-> thread, number |-> number,
                             named |-> thread, began |-> writer.began, silent |-> off]}
  /\ writer' = [writer EXCEPT !.pc = "idle"]
  /\ Memory
  /\ Switches
  /\ UNCHANGED <<off, shown>>

(* The switch. *)

\* Tracing is switched on with new rings, because there are none or larger ones are wanted:
\* wp_group_trace_on.
Make ==
  /\ left > 0
  /\ kept < Rings
  /\ kept' = kept + 1
  /\ made' = made \cup {kept + 1}
  /\ to' = kept + 1           \* [event_ring.11]
  /\ UNCHANGED freed
  /\ left' = left - 1
  /\ Memory
  /\ UNCHANGED <<writer, off, events, shown>>

\* Tracing is switched on with the rings that there are.
On ==                         \* [event_ring.11]
  /\ left > 0
  /\ kept # 0
  /\ to = 0
  /\ to' = kept
  /\ left' = left - 1
  /\ Memory
  /\ UNCHANGED <<made, kept, freed, writer, off, events, shown>>

\* Tracing is switched off: wp_group_trace_off.
Off ==                        \* [event_ring.11]
  /\ left > 0
  /\ to # 0
  /\ to' = 0
  /\ left' = left - 1
  /\ Memory
  /\ UNCHANGED <<made, kept, freed, writer, off, events, shown>>

\* A reader reads an event: wp_group_trace.
Read ==
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

\* A reader of an event gets the name of the thread that the event belongs to, whichever thread has
\* the memory now.
NameIsItsOwn == shown.named = shown.of

\* Two events have the same number only if they belong to the same thread.
NumberIsItsOwn == \A one, other \in events : one.number = other.number => one.of = other.of

\* When a writer is about to write, its rings have been made and not freed.
RingsAreThere == writer.pc = "write" => writer.to \in made \ freed

\* For every span that is shown, the carrier has read when the span began.
SpansHaveBegun == shown.began

\* A writer that found tracing switched off writes no event.
OffIsSilent == \A event \in events : ~event.silent
=============================================================================
