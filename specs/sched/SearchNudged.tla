---------------------------- MODULE SearchNudged ----------------------------
(***************************************************************************)
(* Search with a waker that brings no task: an armer that ends a sleep for *)
(* an earlier deadline.  It may come at any time, as often as it likes.    *)
(* Code       wp_timers_nudge in kernel/sched/timer.c (Timer.tla).         *)
(***************************************************************************)
EXTENDS Search

Nudge(c) ==                   \* [timer.11] PARKED to WAKING
  /\ word[c] = "PARKED"
  /\ word' = [word EXCEPT ![c] = "WAKING"]
  /\ UNCHANGED <<idle, token, queue, inbox, held, at, budget>>
NudgedSpec == Init /\ [][Next \/ \E c \in Carriers : Nudge(c)]_vars
=============================================================================
