-------------------------------- MODULE Tasks -------------------------------
(***************************************************************************)
(* What a scheduler owes its tasks, without saying how: each task is in    *)
(* one place, runs on one carrier at a time, and ends once. Group refines  *)
(* this module.                                                            *)
(***************************************************************************)
CONSTANTS Carriers, Tasks  \* the carriers that run tasks, and the tasks

VARIABLE place  \* task -> "new", "queued", the carrier that runs it, "parked", "done", "back"

Move(t, from, to) == place[t] \in from /\ place' = [place EXCEPT ![t] = to]
Init == place = [t \in Tasks |-> "new"]
Start(t)  == Move(t, {"new"}, "queued")
Run(t)    == \E c \in Carriers : Move(t, {"queued"}, c)
Again(t)  == Move(t, Carriers \cup {"parked"}, "queued")   \* the task yields, or is unparked
Park(t)   == Move(t, Carriers, "parked")
Done(t)   == Move(t, Carriers, "done")
Back(t)   == Move(t, {"queued", "parked"}, "back")         \* a close hands it back, unfinished
Next == \E t \in Tasks : Start(t) \/ Run(t) \/ Again(t) \/ Park(t) \/ Done(t) \/ Back(t)
Spec == Init /\ [][Next]_place
=============================================================================
