-------------------------------- MODULE Tasks -------------------------------
(***************************************************************************)
(* The duties of a scheduler to its tasks, without saying how they are     *)
(* met: each task is in one place, runs on one carrier at a time, and ends *)
(* once. Group refines this module.                                        *)
(***************************************************************************)
CONSTANTS Carriers, Tasks  \* the carriers that run tasks, and the tasks

VARIABLE place  \* task -> "new", "queued", the carrier that runs it, "parked", "done", "back"

Move(t, from, to) == place[t] \in from /\ place' = [place EXCEPT ![t] = to]
Init == place = [t \in Tasks |-> "new"]

\* A task is started and queued.
Start(t)  == Move(t, {"new"}, "queued")

\* A carrier takes the task from a queue and runs it.
Run(t)    == \E c \in Carriers : Move(t, {"queued"}, c)

\* A task that yields, or is unparked, is queued again.
Again(t)  == Move(t, Carriers \cup {"parked"}, "queued")

\* The task parks.
Park(t)   == Move(t, Carriers, "parked")

\* The task ends.
Done(t)   == Move(t, Carriers, "done")

\* A close hands the task back, unfinished.
Back(t)   == Move(t, {"queued", "parked"}, "back")
Next == \E t \in Tasks : Start(t) \/ Run(t) \/ Again(t) \/ Park(t) \/ Done(t) \/ Back(t)
Spec == Init /\ [][Next]_place
=============================================================================
