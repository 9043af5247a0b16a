----------------------------- MODULE Monitor -----------------------------
(***************************************************************************)
(* A carrier that makes no progress is marked by somebody else; the mark   *)
(* ends with the step for which it was made.                               *)
(* Code       kernel/sched/placement/placement.h, monitor.c: [placement.2] *)
(*            [placement.4] [placement.10]..[placement.13].                *)
(* Abstracts  time: any two looks that find the same step are far enough   *)
(*            apart. The move of the queue: Placement.                     *)
(* Memory     sequential consistency: the end and the mark are read-       *)
(*            modify-writes of one word, and the earlier hands over what   *)
(*            was written before it.                                       *)
(* Promises   MarkIsOfWhoRuns (safety); MarkEnds (liveness).               *)
(***************************************************************************)
EXTENDS Naturals
CONSTANTS
  Steps  \* that the carrier runs

VARIABLES
  progress, \* of the carrier: one more when a step begins, and when it ends
  mark,     \* the monitor's, in the word of the load
  carrier, monitor, \* where they are
  seen      \* by the monitor: progress
vars == <<progress, mark, carrier, monitor, seen>>

Runs(number) == number % 2 = 1
TypeOK ==
  /\ progress \in 0 .. 2 * Steps /\ mark \in BOOLEAN /\ seen \in 0 .. 2 * Steps
  /\ carrier \in {"idle", "run", "end", "unmark"}
  /\ monitor \in {"look", "again", "mark", "recheck", "clear"}

Init ==
  /\ progress = 0 /\ mark = FALSE /\ seen = 0
  /\ carrier = "idle" /\ monitor = "look"

Begin ==                      \* [placement.10]
  /\ carrier = "idle" /\ progress < 2 * Steps
  /\ progress' = progress + 1 /\ carrier' = "run" /\ UNCHANGED <<mark, monitor, seen>>
End ==                        \* [placement.10] before it is off the count
  /\ carrier = "run"
  /\ progress' = progress + 1 /\ carrier' = "end" /\ UNCHANGED <<mark, monitor, seen>>
Less ==                       \* [placement.2] and reads the mark
  /\ carrier = "end"
  /\ carrier' = IF mark THEN "unmark" ELSE "idle"
  /\ UNCHANGED <<progress, mark, monitor, seen>>
Unmark ==                     \* [placement.4]
  /\ carrier = "unmark"
  /\ mark' = FALSE /\ carrier' = "idle" /\ UNCHANGED <<progress, monitor, seen>>

Look ==                       \* [placement.12]
  /\ monitor = "look" /\ Runs(progress)
  /\ seen' = progress /\ monitor' = "again" /\ UNCHANGED <<progress, mark, carrier>>
Again ==                      \* [placement.12] it is the same step
  /\ monitor = "again"
  /\ monitor' = IF progress = seen THEN "mark" ELSE "look"
  /\ UNCHANGED <<progress, mark, carrier, seen>>
Mark ==                       \* [placement.11]
  /\ monitor = "mark"
  /\ mark' = TRUE
  /\ monitor' = "recheck"
  /\ UNCHANGED <<progress, carrier, seen>>
Recheck ==                    \* [placement.12] still: its end will see the mark
  /\ monitor = "recheck"
  /\ monitor' = IF progress = seen THEN "look" ELSE "clear"
  /\ UNCHANGED <<progress, mark, carrier, seen>>
Clear ==                      \* [placement.13]
  /\ monitor = "clear"
  /\ mark' = FALSE /\ monitor' = "look" /\ UNCHANGED <<progress, carrier, seen>>
Finished == progress = 2 * Steps /\ carrier = "idle" /\ monitor = "look" /\ UNCHANGED vars
Carrier == Begin \/ End \/ Less \/ Unmark
Monitor == Look \/ Again \/ Mark \/ Recheck \/ Clear
Next == Carrier \/ Monitor \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Carrier) /\ WF_vars(Monitor)

(* What must hold. *)
\* A mark that the monitor made is there as long as that step runs, unless somebody is about to take
\* it off.
MarkIsOfWhoRuns ==
  mark => \/ monitor \in {"recheck", "clear"}
          \/ progress = seen \/ carrier \in {"end", "unmark"}
\* The marks of steps that end, end.
MarkEnds == <>[]~mark
=============================================================================
