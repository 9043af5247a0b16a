----------------------------- MODULE Monitor -----------------------------
(***************************************************************************)
(* A monitor marks a carrier that makes no progress, and the mark ends     *)
(* with the step for which it was made. Go's sysmon finds blocked Ps in    *)
(* this way.                                                               *)
(* Code       kernel/sched/placement/placement.h, monitor.c: [placement.2] *)
(*            [placement.4] [placement.10]..[placement.13].                *)
(* Abstracts  time: any two looks that find the same step are far enough   *)
(*            apart. Placement has the move of the queue.                  *)
(* Memory     sequential consistency: the end of a step and the mark are   *)
(*            read-modify-writes of one word, and the earlier of the two   *)
(*            hands over what was written before it.                       *)
(* Promises   MarkIsOfWhoRuns (safety); MarkEnds (liveness).               *)
(***************************************************************************)
EXTENDS Naturals
CONSTANTS
  Steps   \* how many steps the carrier runs

VARIABLES
  progress,  \* the carrier's count: one more when a step begins, and when it ends
  mark,      \* the monitor's mark, in the word of the load
  carrier,   \* the carrier's next step
  monitor,   \* the monitor's next step
  seen       \* the progress that the monitor has seen

vars == <<progress, mark, carrier, monitor, seen>>

\* An odd progress means that a step is running.
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

\* The step ends; it still counts in the load.
End ==                        \* [placement.10]
  /\ carrier = "run"
  /\ progress' = progress + 1
  /\ carrier' = "end"
  /\ UNCHANGED <<mark, monitor, seen>>

\* The step is taken off the load, which reads the mark.
Less ==                       \* [placement.2]
  /\ carrier = "end"
  /\ carrier' = IF mark THEN "unmark" ELSE "idle"
  /\ UNCHANGED <<progress, mark, monitor, seen>>

\* The carrier takes the mark off.
Unmark ==                     \* [placement.4]
  /\ carrier = "unmark"
  /\ mark' = FALSE
  /\ carrier' = "idle"
  /\ UNCHANGED <<progress, monitor, seen>>

\* The monitor sees a step that runs.
Look ==                       \* [placement.12]
  /\ monitor = "look"
  /\ Runs(progress)
  /\ seen' = progress
  /\ monitor' = "again"
  /\ UNCHANGED <<progress, mark, carrier>>

\* The monitor looks whether it is still the same step.
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

\* The same step still runs, so its end will see the mark; otherwise the monitor clears the mark.
Recheck ==                    \* [placement.12]
  /\ monitor = "recheck"
  /\ monitor' = IF progress = seen THEN "look" ELSE "clear"
  /\ UNCHANGED <<progress, mark, carrier, seen>>

\* The monitor takes its mark off again.
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

\* A mark that the monitor made stays only while the marked step runs, unless a thread is about to
\* take it off.
MarkIsOfWhoRuns ==
  mark => \/ monitor \in {"recheck", "clear"}
          \/ progress = seen \/ carrier \in {"end", "unmark"}

\* Every mark ends when its step does.
MarkEnds == <>[]~mark
=============================================================================
