----------------------------- MODULE Monitor -----------------------------
(***************************************************************************)
(* A monitor is a thread that marks a carrier which makes no progress,     *)
(* because one of its steps takes too long. The mark ends when the marked  *)
(* step ends. Go's sysmon finds blocked Ps in this way.                    *)
(*                                                                         *)
(* Code       kernel/sched/placement/placement.h, monitor.c: [placement.2] *)
(*            [placement.4] [placement.10]..[placement.13].                *)
(* Abstracts  time: any two reads of the monitor that find the same step   *)
(*            count as far enough apart. Placement has the move of the     *)
(*            marked carrier's queue.                                      *)
(* Memory     sequential consistency: both the end of a step and the mark  *)
(*            are read-modify-writes of one word, so the later one sees    *)
(*            what was written before the earlier one.                     *)
(* Promises   MarkIsOfWhoRuns (safety); MarkEnds (liveness).               *)
(***************************************************************************)
EXTENDS Naturals
CONSTANTS
  Steps   \* the number of steps that the carrier runs

VARIABLES
  progress,  \* the carrier's count: it grows by one when a step begins, and when a step ends
  mark,      \* the monitor's mark, in the word of the carrier's load
  carrier,   \* the carrier's next step
  monitor,   \* the monitor's next step
  seen       \* the progress that the monitor has read

vars == <<progress, mark, carrier, monitor, seen>>

\* If the progress is odd, a step is running.
Runs(number) == number % 2 = 1
TypeOK ==
  /\ progress \in 0 .. 2 * Steps
  /\ mark \in BOOLEAN
  /\ seen \in 0 .. 2 * Steps
  /\ carrier \in {"idle", "run", "end", "unmark"}
  /\ monitor \in {"look", "again", "mark", "recheck", "clear"}

Init ==
  /\ progress = 0
  /\ mark = FALSE
  /\ seen = 0
  /\ carrier = "idle"
  /\ monitor = "look"

\* A step begins.
Begin ==                      \* [placement.10]
  /\ carrier = "idle"
  /\ progress < 2 * Steps
  /\ progress' = progress + 1
  /\ carrier' = "run"
  /\ UNCHANGED <<mark, monitor, seen>>

\* The step ends. It still counts in the carrier's load.
End ==                        \* [placement.10]
  /\ carrier = "run"
  /\ progress' = progress + 1
  /\ carrier' = "end"
  /\ UNCHANGED <<mark, monitor, seen>>

\* The step is subtracted from the load. The same operation reads the mark.
Less ==                       \* [placement.2]
  /\ carrier = "end"
  /\ carrier' = IF mark THEN "unmark" ELSE "idle"
  /\ UNCHANGED <<progress, mark, monitor, seen>>

\* The carrier clears the mark.
Unmark ==                     \* [placement.4]
  /\ carrier = "unmark"
  /\ mark' = FALSE
  /\ carrier' = "idle"
  /\ UNCHANGED <<progress, monitor, seen>>

\* The monitor finds that a step is running.
Look ==                       \* [placement.12]
  /\ monitor = "look"
  /\ Runs(progress)
  /\ seen' = progress
  /\ monitor' = "again"
  /\ UNCHANGED <<progress, mark, carrier>>

\* The monitor checks whether the same step is still running.
Again ==                      \* [placement.12]
  /\ monitor = "again"
  /\ monitor' = IF progress = seen THEN "mark" ELSE "look"
  /\ UNCHANGED <<progress, mark, carrier, seen>>

\* The monitor marks the carrier.
Mark ==                       \* [placement.11]
  /\ monitor = "mark"
  /\ mark' = TRUE
  /\ monitor' = "recheck"
  /\ UNCHANGED <<progress, carrier, seen>>

\* The monitor checks once more. If the same step is still running, the end of this step will see
\* the mark; otherwise the monitor clears the mark.
Recheck ==                    \* [placement.12]
  /\ monitor = "recheck"
  /\ monitor' = IF progress = seen THEN "look" ELSE "clear"
  /\ UNCHANGED <<progress, mark, carrier, seen>>

\* The monitor clears its mark.
Clear ==                      \* [placement.13]
  /\ monitor = "clear"
  /\ mark' = FALSE
  /\ monitor' = "look"
  /\ UNCHANGED <<progress, carrier, seen>>

Finished == progress = 2 * Steps /\ carrier = "idle" /\ monitor = "look" /\ UNCHANGED vars
Carrier == Begin \/ End \/ Less \/ Unmark
Monitor == Look \/ Again \/ Mark \/ Recheck \/ Clear
Next == Carrier \/ Monitor \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Carrier) /\ WF_vars(Monitor)

(* What must hold. *)

\* A carrier stays marked only while the step for which it was marked is running, unless a thread is
\* about to clear the mark.
MarkIsOfWhoRuns ==
  mark => \/ monitor \in {"recheck", "clear"}
          \/ progress = seen \/ carrier \in {"end", "unmark"}

\* Every mark is eventually cleared.
MarkEnds == <>[]~mark
=============================================================================
