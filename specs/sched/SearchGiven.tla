----------------------------- MODULE SearchGiven ----------------------------
(***************************************************************************)
(* Search with spare threads (SpareThread.tla). At a turn of its loop a    *)
(* carrier may give its role to a thread that was pinned. That thread goes *)
(* on at once, perhaps for ever, and polls nothing before. The thread that *)
(* wants the role back has woken the carrier (SearchNudged.tla).           *)
(***************************************************************************)
EXTENDS SearchNudged

\* The carrier gives its role away, and gets help if its queue has a task: wp_carrier_get_help.
Give(c) ==                    \* [carrier.7] wp__spare_thread_give
  /\ at[c].pc = "poll"
  /\ held' = [held EXCEPT ![c] = TRUE]
  /\ IF HasPublished(queue[c], IsHole) THEN Move(c, "idle", c) ELSE Move(c, "run", None)
  /\ UNCHANGED <<word, idle, token, queue, inbox, budget>>

GivenSpec == Init /\ [][Next \/ \E c \in Carriers : Nudge(c) \/ Give(c)]_vars
=============================================================================
