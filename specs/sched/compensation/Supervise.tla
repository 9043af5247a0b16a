----------------------------- MODULE Supervise -----------------------------
(***************************************************************************)
(* A carrier that makes no progress is marked by somebody else; the mark   *)
(* ends with the step for which it was made.                               *)
(* Code       kernel/sched/placement/placement.h, monitor.c: [PL3] [PL5] [PL11]..[PL14].  *)
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
  mark,     \* the supervisor's, in the word of the load
  carrier, supervisor, \* where they are
  seen      \* by the supervisor: progress
vars == <<progress, mark, carrier, supervisor, seen>>

Runs(number) == number % 2 = 1
TypeOK ==
  /\ progress \in 0 .. 2 * Steps /\ mark \in BOOLEAN /\ seen \in 0 .. 2 * Steps
  /\ carrier \in {"idle", "run", "end", "unmark"}
  /\ supervisor \in {"look", "again", "mark", "recheck", "clear"}

Init ==
  /\ progress = 0 /\ mark = FALSE /\ seen = 0
  /\ carrier = "idle" /\ supervisor = "look"

Begin ==                      \* [PL11]
  /\ carrier = "idle" /\ progress < 2 * Steps
  /\ progress' = progress + 1 /\ carrier' = "run" /\ UNCHANGED <<mark, supervisor, seen>>
End ==                        \* [PL11] before it is off the count
  /\ carrier = "run"
  /\ progress' = progress + 1 /\ carrier' = "end" /\ UNCHANGED <<mark, supervisor, seen>>
Less ==                       \* [PL3] and reads the mark
  /\ carrier = "end"
  /\ carrier' = IF mark THEN "unmark" ELSE "idle"
  /\ UNCHANGED <<progress, mark, supervisor, seen>>
Unmark ==                     \* [PL5]
  /\ carrier = "unmark"
  /\ mark' = FALSE /\ carrier' = "idle" /\ UNCHANGED <<progress, supervisor, seen>>

Look ==                       \* [PL13]
  /\ supervisor = "look" /\ Runs(progress)
  /\ seen' = progress /\ supervisor' = "again" /\ UNCHANGED <<progress, mark, carrier>>
Again ==                      \* [PL13] it is the same step
  /\ supervisor = "again"
  /\ supervisor' = IF progress = seen THEN "mark" ELSE "look"
  /\ UNCHANGED <<progress, mark, carrier, seen>>
Mark ==                       \* [PL12]
  /\ supervisor = "mark"
  /\ mark' = TRUE
  /\ supervisor' = "recheck"
  /\ UNCHANGED <<progress, carrier, seen>>
Recheck ==                    \* [PL13] still: its end will see the mark
  /\ supervisor = "recheck"
  /\ supervisor' = IF progress = seen THEN "look" ELSE "clear"
  /\ UNCHANGED <<progress, mark, carrier, seen>>
Clear ==                      \* [PL14]
  /\ supervisor = "clear"
  /\ mark' = FALSE /\ supervisor' = "look" /\ UNCHANGED <<progress, carrier, seen>>
Finished == progress = 2 * Steps /\ carrier = "idle" /\ supervisor = "look" /\ UNCHANGED vars
Carrier == Begin \/ End \/ Less \/ Unmark
Supervisor == Look \/ Again \/ Mark \/ Recheck \/ Clear
Next == Carrier \/ Supervisor \/ Finished
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Carrier) /\ WF_vars(Supervisor)

(* What must hold. *)
MarkIsOfWhoRuns ==
  mark => \/ supervisor \in {"recheck", "clear"}
          \/ progress = seen \/ carrier \in {"end", "unmark"}
MarkEnds == <>[]~mark
=============================================================================
