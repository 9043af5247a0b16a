-------------------------------- MODULE Dump --------------------------------
(***************************************************************************)
(* A dump reads the stack of a thread that is not on it, while the thread  *)
(* may go on at any moment: what it shows is of one park, whole.           *)
(* Code       kernel/thread/snapshot.h, dump.c, worker.*;                  *)
(*            [snapshot.1]..[worker.2] name sites there. The thread's      *)
(*            word: VThread.                                               *)
(* Abstracts  the stack to two words that a run writes, one after the      *)
(*            other; the queue to the permit that somebody gave.           *)
(* Memory     sequential consistency (what a look sees of a run, and a run *)
(*            of a look: stress/scenarios/inspect/dump.c).                 *)
(* Promises   StackIsWhole, UnparkIsKept, RunnerIsNamed (safety).          *)
(* TLC alone  RunnerIsNamed: who runs a thread is said in worker.c, beside *)
(*            switches of stacks, which the explorer does not have         *)
(*            (tests/inspect/test_dump.py).                                *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Parks,    \* how often the thread parks
  Unparks,  \* how many permits others give
  Looks     \* how many stacks the dump reads

VARIABLES
  state,    \* the thread's word: "BUSY", "PARKED"
  permit,   \* its bit
  number,   \* how many parks have returned
  low, high, \* its stack: the number of the run that wrote each
  mounted,  \* the carrier's word: it says that it runs the thread
  pc,       \* "carrier", "dump" -> what it does next
  seen,     \* the dump's first look: number and permit
  got,      \* what it has read
  shown,    \* what it shows: the number, and both words; <<>>: nothing yet
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

(* The carrier, and others. *)
Mount ==                      \* [worker.1] it says whom it runs, then does; after a spare, [worker.2] again
  /\ pc["carrier"] = "idle"
  /\ state = "PARKED"
  /\ permit
  /\ number < Parks
  /\ mounted' = TRUE
  /\ Goto("carrier", "begin")
  /\ UNCHANGED <<thread, reads, left, told>>
Begin ==                      \* [vthread.2] the end of the park
  /\ pc["carrier"] = "begin"
  /\ Goto("carrier", "low")
  /\ state' = "BUSY"
  /\ permit' = FALSE
  /\ number' = number + 1
  /\ told' = FALSE
  /\ UNCHANGED <<low, high, mounted, reads, left>>
Low ==
  /\ pc["carrier"] = "low"
  /\ low' = number
  /\ Goto("carrier", "high")
  /\ UNCHANGED <<state, permit, number, high, mounted, reads, left, told>>
High ==
  /\ pc["carrier"] = "high"
  /\ high' = number
  /\ Goto("carrier", "park")
  /\ UNCHANGED <<state, permit, number, low, mounted, reads, left, told>>
Park ==                       \* [vthread.3] or it is refused: the permit is another run's
  /\ pc["carrier"] = "park"
  /\ state' = "PARKED"
  /\ Goto("carrier", "idle")
  /\ UNCHANGED <<permit, number, low, high, mounted, reads, left, told>>
Rest ==                       \* [worker_idle.1] it is about to sleep
  /\ pc["carrier"] = "idle"
  /\ mounted
  /\ mounted' = FALSE
  /\ UNCHANGED <<thread, pc, reads, left, told>>
Unpark ==                     \* [vthread.1]
  /\ Once("unparks")
  /\ permit' = TRUE
  /\ told' = TRUE
  /\ UNCHANGED <<state, number, low, high, mounted, pc, reads>>

(* The dump. *)
Look ==                       \* [snapshot.1] wp__dump_look
  /\ pc["dump"] = "idle"
  /\ state = "PARKED"
  /\ Once("looks")
  /\ seen' = <<number, permit>>
  /\ Goto("dump", "low")
  /\ UNCHANGED <<thread, mounted, got, shown, told>>
ReadLow ==
  /\ pc["dump"] = "low"
  /\ got' = <<low, got[2]>>
  /\ Goto("dump", "high")
  /\ UNCHANGED <<thread, mounted, seen, shown, left, told>>
ReadHigh ==
  /\ pc["dump"] = "high"
  /\ got' = <<got[1], high>>
  /\ Goto("dump", "again")
  /\ UNCHANGED <<thread, mounted, seen, shown, left, told>>
IsStill ==
  /\ state = "PARKED"
  /\ number = seen[1]
LookAgain ==                  \* [snapshot.2] wp__dump_is_still: the word as it is, or nothing is shown
  /\ pc["dump"] = "again"
  /\ Goto("dump", "idle")
  /\ shown' = IF IsStill THEN <<seen[1], got[1], got[2]>> ELSE shown
  /\ UNCHANGED <<thread, mounted, seen, got, left, told>>
Ask ==                        \* [snapshot.1] [dump.1] it is not parked: who runs it?
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
\* What a dump shows of a parked thread's stack is of one park: both words that are shown are.
StackIsWhole == shown # <<>> => /\ shown[2] = shown[1]
                                /\ shown[3] = shown[1]
\* A look takes no permit away.
UnparkIsKept == told => permit
\* While a carrier runs a thread, its word says which.
RunnerIsNamed == pc["carrier"] # "idle" => mounted
=============================================================================
