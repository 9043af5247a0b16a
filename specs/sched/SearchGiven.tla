----------------------------- MODULE SearchGiven ----------------------------
(***************************************************************************)
(* Search with spares (SpareThread.tla): at a turn of its loop a carrier   *)
(* may give its role to a thread that was pinned and goes on at once,      *)
(* perhaps for ever, and polls nothing before.  Whoever asked for the role *)
(* has nudged the carrier (SearchNudged.tla).                              *)
(***************************************************************************)
EXTENDS SearchNudged

Give(c) ==                    \* [carrier.7] wp__spare_thread_give, wp_carrier_get_help
  /\ at[c].pc = "poll"
  /\ held' = [held EXCEPT ![c] = TRUE]
  /\ IF HasPublished(queue[c], IsHole) THEN Move(c, "idle", c) ELSE Move(c, "run", None)
  /\ UNCHANGED <<word, idle, token, queue, inbox, budget>>
GivenSpec == Init /\ [][Next \/ \E c \in Carriers : Nudge(c) \/ Give(c)]_vars
=============================================================================
