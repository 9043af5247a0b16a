-------------------------------- MODULE Dump --------------------------------
(***************************************************************************)
(* A dump reads the stack of a virtual thread that is not running,         *)
(* although the thread may continue at any moment. The dump reads the      *)
(* thread's state word before and after the stack, as the reader of a      *)
(* sequence lock does. So a stack that the dump shows belongs to one park  *)
(* of the thread, as a whole.                                              *)
(*                                                                         *)
(* Code       kernel/thread/snapshot.h, dump.c, worker.*;                  *)
(*            [snapshot.1]..[worker.2] name sites there. VThread has the   *)
(*            thread's word.                                               *)
(* Abstracts  the stack to two words, which a run of the thread writes one *)
(*            after the other; the run queue to the permit that was given. *)
(* Memory     sequential consistency; stress/scenarios/inspect/dump.c      *)
(*            checks under weaker orders what the dump sees of a run.      *)
(* Promises   StackIsWhole, UnparkIsKept, RunnerIsNamed (safety).          *)
(* TLC alone  RunnerIsNamed: worker.c writes which thread runs, beside     *)
(*            switches of stacks, which the explorer does not have         *)
(*            (tests/inspect/test_dump.py).                                *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Parks,    \* the number of times that the thread parks
  Unparks,  \* the number of permits that other threads give
  Looks     \* the number of stacks that the dump reads

VARIABLES
  state,    \* in the thread's word: "BUSY", "PARKED"
  permit,   \* in the thread's word: its permit
  number,   \* the number of parks that have returned
  low,      \* the first word of the thread's stack: the number of the run that wrote it
  high,     \* the second word of the thread's stack: the number of the run that wrote it
  mounted,  \* TRUE if the carrier's word names the thread as the one that it runs
  pc,       \* "carrier", "dump" -> its next step
  seen,     \* what the dump read first of the thread's word: number and permit
  got,      \* what the dump has read of the stack
  shown,    \* what the dump shows: the number and both words of the stack; <<>> if there is nothing
            \* yet
  left,     \* the unparks and the dump's reads that are still to come
  told      \* ghost: TRUE if an unpark has come since the last park returned

vars == <<state, permit, number, low, high, mounted, pc, seen, got, shown, left, told>>
thread == <<state, permit, number, low, high>>
reads == <<seen, got, shown>>

Numbers == 0 .. Parks
TypeOK ==
  /\ state \in {"BUSY", "PARKED"}
  /\ permit \in BOOLEAN
  /\ number \in Numbers
  /\ low \in Numbers
  /\ high \in Numbers
  /\ mounted \in BOOLEAN
  /\ pc \in [{"carrier", "dump"} -> {"idle", "begin", "low", "high", "park", "again"}]
  /\ seen \in Numbers \X BOOLEAN
  /\ got \in Numbers \X Numbers
  /\ shown \in {<<>>} \cup Numbers \X Numbers \X Numbers
  /\ left \in [{"unparks", "looks"} -> 0 .. Unparks + Looks]
  /\ told \in BOOLEAN

Init ==
  /\ state = "PARKED"
  /\ permit = FALSE
  /\ number = 0
  /\ low = 0
  /\ high = 0
  /\ mounted = FALSE
  /\ pc = [t \in {"carrier", "dump"} |-> "idle"]
  /\ seen = <<0, FALSE>>
  /\ got = <<0, 0>>
  /\ shown = <<>>
  /\ left = [unparks |-> Unparks, looks |-> Looks]
  /\ told = FALSE

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
Once(what) ==
  /\ left[what] > 0
  /\ left' = [left EXCEPT ![what] = @ - 1]

(* The carrier, and other threads. *)

\* The carrier writes into its word which thread it runs, and then runs the thread. After a spare
\* thread has run the carrier, [worker.2] writes the word again.
Mount ==                      \* [worker.1]
  /\ pc["carrier"] = "idle"
  /\ state = "PARKED"
  /\ permit
  /\ number < Parks
  /\ mounted' = TRUE
  /\ Goto("carrier", "begin")
  /\ UNCHANGED <<thread, reads, left, told>>

\* The thread's park ends.
Begin ==                      \* [vthread.2]
  /\ pc["carrier"] = "begin"
  /\ Goto("carrier", "low")
  /\ state' = "BUSY"
  /\ permit' = FALSE
  /\ number' = number + 1
  /\ told' = FALSE
  /\ UNCHANGED <<low, high, mounted, reads, left>>

\* The run writes the first word of its stack.
Low ==
  /\ pc["carrier"] = "low"
  /\ low' = number
  /\ Goto("carrier", "high")
  /\ UNCHANGED <<state, permit, number, high, mounted, reads, left, told>>

\* The run writes the second word of its stack.
High ==
  /\ pc["carrier"] = "high"
  /\ high' = number
  /\ Goto("carrier", "park")
  /\ UNCHANGED <<state, permit, number, low, mounted, reads, left, told>>

\* The thread parks. If it has a permit already, the code refuses the park; here the thread parks,
\* and the permit begins another run.
Park ==                       \* [vthread.3]
  /\ pc["carrier"] = "park"
  /\ state' = "PARKED"
  /\ Goto("carrier", "idle")
  /\ UNCHANGED <<permit, number, low, high, mounted, reads, left, told>>

\* A carrier that is about to sleep clears its word.
Rest ==                       \* [worker_idle.1]
  /\ pc["carrier"] = "idle"
  /\ mounted
  /\ mounted' = FALSE
  /\ UNCHANGED <<thread, pc, reads, left, told>>

\* Another thread gives a permit.
Unpark ==                     \* [vthread.1]
  /\ Once("unparks")
  /\ permit' = TRUE
  /\ told' = TRUE
  /\ UNCHANGED <<state, number, low, high, mounted, pc, reads>>

(* The dump. *)

\* The dump reads the word of a parked thread: wp__dump_look.
Look ==                       \* [snapshot.1]
  /\ pc["dump"] = "idle"
  /\ state = "PARKED"
  /\ Once("looks")
  /\ seen' = <<number, permit>>
  /\ Goto("dump", "low")
  /\ UNCHANGED <<thread, mounted, got, shown, told>>

\* The dump reads the first word of the stack.
ReadLow ==
  /\ pc["dump"] = "low"
  /\ got' = <<low, got[2]>>
  /\ Goto("dump", "high")
  /\ UNCHANGED <<thread, mounted, seen, shown, left, told>>

\* The dump reads the second word of the stack.
ReadHigh ==
  /\ pc["dump"] = "high"
  /\ got' = <<got[1], high>>
  /\ Goto("dump", "again")
  /\ UNCHANGED <<thread, mounted, seen, shown, left, told>>

IsStill ==
  /\ state = "PARKED"
  /\ number = seen[1]

\* The dump reads the word again, and shows the stack only if the word has not changed:
\* wp__dump_is_still.
LookAgain ==                  \* [snapshot.2]
  /\ pc["dump"] = "again"
  /\ Goto("dump", "idle")
  /\ shown' = IF IsStill THEN <<seen[1], got[1], got[2]>> ELSE shown
  /\ UNCHANGED <<thread, mounted, seen, got, left, told>>

\* If the thread is not parked, the dump looks up which carrier runs it.
Ask ==                        \* [snapshot.1] [dump.1]
  /\ pc["dump"] = "idle"
  /\ state = "BUSY"
  /\ Once("looks")
  /\ UNCHANGED <<thread, mounted, pc, reads, told>>

Finished ==
  /\ pc = [t \in {"carrier", "dump"} |-> "idle"]
  /\ \/ ~permit
     \/ number = Parks
  /\ UNCHANGED vars

Next ==
  \/ Mount \/ Begin \/ Low \/ High \/ Park \/ Rest \/ Unpark
  \/ Look \/ ReadLow \/ ReadHigh \/ LookAgain \/ Ask \/ Finished

Spec == Init /\ [][Next]_vars

(* What must hold. *)

\* Both words that a dump shows of a parked thread's stack belong to the park that the dump names.
StackIsWhole == shown # <<>> => /\ shown[2] = shown[1]
                                /\ shown[3] = shown[1]

\* A dump never takes a permit away.
UnparkIsKept == told => permit

\* While a carrier runs a thread, the carrier's word names that thread.
RunnerIsNamed == pc["carrier"] # "idle" => mounted
=============================================================================
