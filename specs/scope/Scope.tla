-------------------------------- MODULE Scope -------------------------------
(***************************************************************************)
(* A scope of structured concurrency: it ends only after all its subtasks  *)
(* have ended. The first failure of a subtask cancels the scope. From then *)
(* on no subtask is counted in, all subtasks are interrupted, and the      *)
(* owner is woken. Prior art: trio's nurseries and Java's                  *)
(* StructuredTaskScope.                                                    *)
(*                                                                         *)
(* Code       kernel/scope/scope.h, scope.c, scope_children.h,             *)
(*            scope_children.c; [scope_children.1] [scope_children.2] name *)
(*            sites. python/wakeproof/scope.py,                            *)
(*            _runtime/scope_children.py: in Python the canceller copies   *)
(*            the list of subtasks, and the copy keeps all subtasks alive, *)
(*            so Python does not need `hand`.                              *)
(* Abstracts  what is done during each hold of the lock to one step; an    *)
(*            interrupt and a grant to one step each (VThread, WaitQueue); *)
(*            the policy of the scope to "a failure cancels". Scopes       *)
(*            within scopes are the subject of Nesting.                    *)
(* Memory     sequential consistency.                                      *)
(* Promises   ChildrenWithinScope, CancelOnce, NoForkRunsAfterCancel,      *)
(*            CancelReachesAll, NoResultAfterCancel, FirstFailureWins,     *)
(*            JoinWakes, TimerCancelled, UntouchedAfterEnd (safety); Ends  *)
(*            (liveness).                                                  *)
(***************************************************************************)
EXTENDS ScopeCore

(* The owner. *)

\* The owner counts a subtask in. If the scope is cancelled, the subtask is refused.
Fork(s) ==                    \* wp__scope_children_enter, ScopeChildren.enter
  /\ pc[Owner] = "open"
  /\ pc[s] = "new"
  /\ IF cancelled
     THEN /\ Goto(s, "refused")
          /\ UNCHANGED members
     ELSE /\ members' = members \cup {s}
          /\ Goto(s, "counted")
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, gone, line, told, granted, outcome,
                 first, left, ghosts>>

\* The owner starts the thread of the subtask. If the start is refused, the subtask leaves at once.
Start(s) ==                   \* wp_vthread_start
  /\ pc[s] = "counted"
  /\ \E where \in {"forked", "leave"} : Goto(s, where)
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, ghosts>>

\* TRUE if the owner is between the two steps of a fork.
IsForking == \E s \in Subtasks : pc[s] = "counted"

\* The owner begins to join.
Join ==                       \* wp_scope_join, Scope.join
  /\ pc[Owner] \in {"open", "again"}
  /\ ~IsForking
  /\ state' = "joining"
  /\ Goto(Owner, "join")
  /\ UNCHANGED <<locked, told, granted, outcome, first, left, ghosts>>

\* Under the lock, the owner checks whether any subtask is counted in and the scope is not
\* cancelled. If so, the owner joins the line, to wait.
Look ==                       \* wp__scope_children_begin, ScopeChildren.wait
  /\ pc[Owner] = "join"
  /\ IF members = {} \/ cancelled
     THEN /\ Goto(Owner, "end")
          /\ UNCHANGED line
     ELSE /\ line' = TRUE
          /\ Goto(Owner, "asleep")
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, gone, members, told, granted, outcome,
                 first, left, ghosts>>

\* The owner finds its grant, and checks again.
Wake ==                       \* [wait_queue.1]
  /\ pc[Owner] \in {"asleep", "dozing", "await"}
  /\ granted
  /\ granted' = FALSE
  /\ Goto(Owner, IF pc[Owner] = "dozing" THEN "closing" ELSE "join")
  /\ UNCHANGED <<state, locked, told, outcome, first, left, ghosts>>

\* The owner's join is interrupted.
IsInterrupted ==
  /\ pc[Owner] = "asleep"
  /\ left > 0
  /\ left' = left - 1
  /\ Goto(Owner, "late")
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, ghosts>>

\* An interrupted owner leaves the line. If it is no longer in line, its wakeup is on its way, and
\* it waits for that.
GetOut ==                     \* wp__waiter_cancel
  /\ pc[Owner] = "late"
  /\ line' = FALSE
  /\ Goto(Owner, IF line THEN "again" ELSE "await")
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, gone, members, told, granted, outcome,
                 first, left, ghosts>>

\* The join ends. From now on the deadline cannot cancel the scope.
EndJoin ==                    \* wp__scope_children_end, ScopeChildren.end
  /\ pc[Owner] = "end"
  /\ state' = "joined"
  /\ over' = TRUE
  /\ was' = [was EXCEPT !.late = late]
  /\ Goto(Owner, "joined")
  /\ UNCHANGED <<cancelled, late, walker, hand, gone, members, line, told, granted, outcome, first,
                 left, cancels, tardy, winners, released, by>>

\* The owner begins to close the scope. If the scope was not joined, the owner cancels it first.
Close ==                      \* wp_scope_close, Scope.close
  /\ pc[Owner] \in {"open", "again", "joined"}
  /\ ~IsForking
  /\ \A t \in Others : pc[t] \in {"cancel", "ended"}
  /\ Goto(Owner, IF pc[Owner] = "joined" THEN "closing" ELSE "cancel")
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, ghosts>>

\* Under the lock, the owner checks whether any subtask is counted in. If so, the owner joins the
\* line, to wait.
LookEmpty ==                  \* wp__scope_children_begin, ScopeChildren.wait
  /\ pc[Owner] = "closing"
  /\ IF members = {}
     THEN /\ Goto(Owner, "timer")
          /\ UNCHANGED line
     ELSE /\ line' = TRUE
          /\ Goto(Owner, "dozing")
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, gone, members, told, granted, outcome,
                 first, left, ghosts>>

\* The close interrupts the timer.
EndTimer ==
  /\ pc[Owner] = "timer"
  /\ pc[Timer] = "sleeping"
  /\ Goto(Timer, "ended")
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, ghosts>>

\* The timer has ended, and the scope is closed.
Closed ==
  /\ pc[Owner] = "timer"
  /\ pc[Timer] = "ended"
  /\ state' = "closed"
  /\ Goto(Owner, "closed")
  /\ UNCHANGED <<locked, told, granted, outcome, first, left, ghosts>>

\* The deadline passes, and the timer begins to cancel the scope.
TimeOut ==
  /\ pc[Timer] = "sleeping"
  /\ Goto(Timer, "cancel")
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, ghosts>>

Forks == \E s \in Subtasks : Fork(s) \/ Start(s)

Goes ==
  \/ Join
  \/ Look
  \/ Wake
  \/ GetOut
  \/ EndJoin
  \/ Close
  \/ LookEmpty
  \/ EndTimer
  \/ Closed

\* The intended end: the scope is closed.
Finished ==
  /\ pc[Owner] = "closed"
  /\ UNCHANGED vars

Next ==
  \/ Forks
  \/ Goes
  \/ IsInterrupted
  \/ TimeOut
  \/ Finished
  \/ \E s \in Subtasks : Subtask(s)
  \/ \E t \in Cancellers : Cancelling(t)

Fairness ==
  /\ WF_vars(Goes)
  /\ \A s \in Subtasks : WF_vars(Subtask(s)) /\ WF_vars(Start(s))
  /\ \A t \in Cancellers : WF_vars(Cancelling(t))

Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)
\* TRUE if the subtask was never started or has ended.
HasEnded(s) == pc[s] \in {"new", "refused", "wake", "ended"}

\* When the scope is closed, all its subtasks have ended.
ChildrenWithinScope == state = "closed" => \A s \in Subtasks : HasEnded(s)

\* Of all threads that try to cancel the scope, at most one does.
CancelOnce == cancels <= 1

\* A subtask that is counted in or begins after the cancel does not run its body.
NoForkRunsAfterCancel == tardy = {}

\* Once the walker is done, it has interrupted all subtasks that are counted in, except itself.
CancelReachesAll == cancelled /\ walker = NoOne => members \subseteq told \cup {by}

\* After the cancel no subtask records an outcome.
NoResultAfterCancel == cancelled => outcome = was.outcome

\* At most one failure is the first one, and its subtask did fail.
FirstFailureWins ==
  /\ winners <= 1
  /\ winners = 1 => outcome[first] = "failed"

\* While the owner sleeps in a join, a subtask is counted in and the scope is not cancelled, or the
\* owner's wakeup is on its way. While it sleeps in a close, a subtask is counted in, or the wakeup
\* is on its way.
JoinWakes ==
  /\ line /\ pc[Owner] = "asleep" => (members # {} /\ ~cancelled) \/ walker # NoOne
  /\ line /\ pc[Owner] = "dozing" => members # {} \/ walker # NoOne
  /\ ~line /\ ~granted /\ pc[Owner] \in {"asleep", "dozing", "await"} =>
       \E t \in Cancellers : pc[t] \in {"grant", "wake"}

\* The deadline does not cancel a scope that is joined. When the scope is closed, its timer has
\* ended.
TimerCancelled ==
  /\ over => late = was.late
  /\ state = "closed" => pc[Timer] = "ended"

\* No thread accesses the thread of a subtask after the scope has released it, and no thread
\* accesses a scope that is closed.
UntouchedAfterEnd ==
  /\ hand \notin released
  /\ state = "closed" =>
       /\ walker = NoOne
       /\ members = {}

\* The scope is eventually closed, if its subtasks end.
Ends == <>(state = "closed")
=============================================================================
