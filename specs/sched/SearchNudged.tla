---------------------------- MODULE SearchNudged ----------------------------
(***************************************************************************)
(* Search with spurious wakeups, which bring no task. A thread that arms a *)
(* timer, an armer, ends a carrier's sleep because of an earlier deadline. *)
(* It may do so at any time, any number of times.                          *)
(*                                                                         *)
(* Code       wp_timers_nudge in kernel/sched/timer.c (Timer.tla).         *)
(***************************************************************************)
EXTENDS Search

\* An armer wakes a parked carrier.
Nudge(c) ==                   \* [timer.11]
  /\ word[c] = "PARKED"
  /\ word' = [word EXCEPT ![c] = "WAKING"]
  /\ UNCHANGED <<idle, token, queue, inbox, held, at, budget>>

NudgedSpec == Init /\ [][Next \/ \E c \in Carriers : Nudge(c)]_vars
=============================================================================
