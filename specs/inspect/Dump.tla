-------------------------------- MODULE Dump --------------------------------
(***************************************************************************)
(* A dump reads the stack of a thread that is off its carrier, while the   *)
(* thread may go on at any moment. The dump reads the thread's word before *)
(* and after, as a seqlock's reader does, so that a stack that it shows is *)
(* of one park, whole.                                                     *)
(* Code       kernel/thread/snapshot.h, dump.c, worker.*;                  *)
(*            [snapshot.1]..[worker.2] name sites there. VThread has the   *)
(*            thread's word.                                               *)
(* Abstracts  the stack to two words that a run writes, one after the      *)
(*            other; the queue to the permit that was given.               *)
(* Memory     sequential consistency; stress/scenarios/inspect/dump.c has  *)
(*            what a look sees of a run, and a run of a look.              *)
(* Promises   StackIsWhole, UnparkIsKept, RunnerIsNamed (safety).          *)
(* TLC alone  RunnerIsNamed: worker.c writes which thread runs, beside     *)
(*            switches of stacks, which the explorer does not have         *)
(*            (tests/inspect/test_dump.py).                                *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Parks,    \* how many times the thread parks
  Unparks,  \* how many permits other threads give
  Looks     \* how many stacks the dump reads

VARIABLES
  state,    \* in the thread's word: "BUSY", "PARKED"
  permit,   \* in the thread's word: its permit
  number,   \* how many parks have returned
  low,      \* the first word of its stack: the number of the run that wrote it
  high,     \* the second word of its stack: the number of the run that wrote it
  mounted,  \* whether the carrier's word says that it runs the thread
  pc,       \* "carrier", "dump" -> its next step
  seen,     \* what the dump's first look has read: number and permit
  got,      \* what the dump has read of the stack
  shown,    \* what the dump shows: the number, and both words; <<>>: nothing yet
  left,     \* permits and looks that are still to come
  told      \* ghost: an unpark that no park has answered

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

\* The carrier says which thread it runs, then runs it. After a spare thread, [worker.2] does so
\* again.
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

\* The thread parks. If the park is refused, the permit belongs to another run.
Park ==                       \* [vthread.3]
  /\ pc["carrier"] = "park"
  /\ state' = "PARKED"
  /\ Goto("carrier", "idle")
  /\ UNCHANGED <<permit, number, low, high, mounted, reads, left, told>>

\* The carrier is about to sleep.
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

\* The dump looks at the word of a parked thread: wp__dump_look.
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

\* The dump looks at the word again, and shows the stack only if the word is unchanged:
\* wp__dump_is_still.
LookAgain ==                  \* [snapshot.2]
  /\ pc["dump"] = "again"
  /\ Goto("dump", "idle")
  /\ shown' = IF IsStill THEN <<seen[1], got[1], got[2]>> ELSE shown
  /\ UNCHANGED <<thread, mounted, seen, got, left, told>>

\* The thread is not parked, so the dump looks which carrier runs it.
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

\* Both words that a dump shows of a parked thread's stack are of the park that it names.
StackIsWhole == shown # <<>> => /\ shown[2] = shown[1]
                                /\ shown[3] = shown[1]

\* A look takes no permit away.
UnparkIsKept == told => permit

\* While a carrier runs a thread, the carrier's word says which.
RunnerIsNamed == pc["carrier"] # "idle" => mounted
=============================================================================
