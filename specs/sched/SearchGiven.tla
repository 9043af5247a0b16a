----------------------------- MODULE SearchGiven ----------------------------
(***************************************************************************)
(* Search with spare threads (SpareThread.tla). At a turn of its loop a    *)
(* carrier may give its role, which is to run the loop, to a thread that   *)
(* was blocked in a pinned park. This thread goes on with its own task at  *)
(* once, perhaps for ever, and does not poll before. The thread that wants *)
(* the role back has woken the carrier (SearchNudged.tla).                 *)
(***************************************************************************)
EXTENDS SearchNudged

\* The carrier gives its role away. If its queue has a task, it first looks for a helper:
\* wp_carrier_get_help.
Give(c) ==                    \* [carrier.7] wp__spare_thread_give
  /\ at[c].pc = "poll"
  /\ held' = [held EXCEPT ![c] = TRUE]
  /\ IF HasPublished(queue[c], IsHole) THEN Move(c, "idle", c) ELSE Move(c, "run", None)
  /\ UNCHANGED <<word, idle, token, queue, inbox, budget>>

GivenSpec == Init /\ [][Next \/ \E c \in Carriers : Nudge(c) \/ Give(c)]_vars
=============================================================================
