---------------------------- MODULE SearchNudged ----------------------------
(***************************************************************************)
(* Search with spurious wakeups: a waker that brings no task. An armer     *)
(* ends a sleep for an earlier deadline; it may come at any time, any      *)
(* number of times.                                                        *)
(* Code       wp_timers_nudge in kernel/sched/timer.c (Timer.tla).         *)
(***************************************************************************)
EXTENDS Search

\* The armer wakes a parked carrier.
Nudge(c) ==                   \* [timer.11]
  /\ word[c] = "PARKED"
  /\ word' = [word EXCEPT ![c] = "WAKING"]
  /\ UNCHANGED <<idle, token, queue, inbox, held, at, budget>>

NudgedSpec == Init /\ [][Next \/ \E c \in Carriers : Nudge(c)]_vars
=============================================================================
