---------------------------- MODULE MCSearchNudged ----------------------------
(* Search with a waker that brings no task: an armer that ends a sleep for an earlier deadline     *)
(* (wp_timers_nudge, Timer.tla).  It may come at any time, as often as it likes.                   *)
EXTENDS MCSearch

Nudge(c) ==                   \* [M11] PARKED to WAKING
  /\ word[c] = "PARKED"
  /\ word' = [word EXCEPT ![c] = "WAKING"]
  /\ UNCHANGED <<idle, token, queue, inbox, held, at, budget>>
NudgedSpec == Init /\ [][Next \/ \E c \in Carriers : Nudge(c)]_vars
=============================================================================
