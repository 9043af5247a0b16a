-------------------------------- MODULE Scope -------------------------------
(***************************************************************************)
(* A scope ends when all its subtasks have; the first failure cancels it:  *)
(* nobody is counted in any more, all are interrupted, the owner is woken. *)
(* Code       kernel/scope/scope.h, scope.c, scope_children.h,             *)
(*            scope_children.c; [scope_children.1] [scope_children.2] name *)
(*            sites. python/wakeproof/scope.py,                            *)
(*            _runtime/scope_children.py: there the canceller has a copy   *)
(*            of the list, whose references keep all: it needs no hand.    *)
(* Abstracts  each hold of the lock to a step, an interrupt and a grant to *)
(*            one each (VThread, WaitQueue); the policy to "a failure      *)
(*            cancels". Scopes within scopes are Nesting's.                *)
(* Memory     sequential consistency.                                      *)
(* Promises   ChildrenWithinScope, CancelOnce, NoForkRunsAfterCancel,      *)
(*            CancelReachesAll, NoResultAfterCancel, FirstFailureWins,     *)
(*            JoinWakes, TimerCancelled, UntouchedAfterEnd (safety); Ends  *)
(*            (liveness).                                                  *)
(***************************************************************************)
EXTENDS ScopeCore

(* The owner. *)
Fork(s) ==                    \* wp__scope_children_enter, ScopeChildren.enter: counts it in, or shuts it out
  /\ pc[Owner] = "open"
  /\ pc[s] = "new"
  /\ IF cancelled
     THEN /\ Goto(s, "refused")
          /\ UNCHANGED members
     ELSE /\ members' = members \cup {s}
          /\ Goto(s, "counted")
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, gone, line, told, granted, outcome,
                 first, left, ghosts>>

Start(s) ==                   \* wp_vthread_start; it may be refused: then it leaves at once
  /\ pc[s] = "counted"
  /\ \E where \in {"forked", "leave"} : Goto(s, where)
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, ghosts>>

IsForking == \E s \in Subtasks : pc[s] = "counted"

Join ==                       \* wp_scope_join, Scope.join
  /\ pc[Owner] \in {"open", "again"}
  /\ ~IsForking
  /\ state' = "joining"
  /\ Goto(Owner, "join")
  /\ UNCHANGED <<locked, told, granted, outcome, first, left, ghosts>>

Look ==                       \* wp__scope_children_begin, ScopeChildren.wait: under the lock, or in line
  /\ pc[Owner] = "join"
  /\ IF members = {} \/ cancelled
     THEN /\ Goto(Owner, "end")
          /\ UNCHANGED line
     ELSE /\ line' = TRUE
          /\ Goto(Owner, "asleep")
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, gone, members, told, granted, outcome,
                 first, left, ghosts>>

Wake ==                       \* [wait_queue.1] it looks again
  /\ pc[Owner] \in {"asleep", "dozing", "await"}
  /\ granted
  /\ granted' = FALSE
  /\ Goto(Owner, IF pc[Owner] = "dozing" THEN "closing" ELSE "join")
  /\ UNCHANGED <<state, locked, told, outcome, first, left, ghosts>>

IsInterrupted ==
  /\ pc[Owner] = "asleep"
  /\ left > 0
  /\ left' = left - 1
  /\ Goto(Owner, "late")
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, ghosts>>

GetOut ==                     \* wp__waiter_cancel: out of line; or the wake is on its way
  /\ pc[Owner] = "late"
  /\ line' = FALSE
  /\ Goto(Owner, IF line THEN "again" ELSE "await")
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, gone, members, told, granted, outcome,
                 first, left, ghosts>>

EndJoin ==                    \* wp__scope_children_end, ScopeChildren.end
  /\ pc[Owner] = "end"
  /\ state' = "joined"
  /\ over' = TRUE
  /\ was' = [was EXCEPT !.late = late]
  /\ Goto(Owner, "joined")
  /\ UNCHANGED <<cancelled, late, walker, hand, gone, members, line, told, granted, outcome, first,
                 left, cancels, tardy, winners, released, by>>

Close ==                      \* wp_scope_close, Scope.close: not joined? cancels
  /\ pc[Owner] \in {"open", "again", "joined"}
  /\ ~IsForking
  /\ \A t \in Others : pc[t] \in {"cancel", "ended"}
  /\ Goto(Owner, IF pc[Owner] = "joined" THEN "closing" ELSE "cancel")
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, ghosts>>

LookEmpty ==                  \* wp__scope_children_begin, ScopeChildren.wait: nobody is counted in; or in line
  /\ pc[Owner] = "closing"
  /\ IF members = {}
     THEN /\ Goto(Owner, "timer")
          /\ UNCHANGED line
     ELSE /\ line' = TRUE
          /\ Goto(Owner, "dozing")
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, gone, members, told, granted, outcome,
                 first, left, ghosts>>

EndTimer ==                   \* it is interrupted
  /\ pc[Owner] = "timer"
  /\ pc[Timer] = "sleeping"
  /\ Goto(Timer, "ended")
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, ghosts>>

Closed ==                     \* and waited for
  /\ pc[Owner] = "timer"
  /\ pc[Timer] = "ended"
  /\ state' = "closed"
  /\ Goto(Owner, "closed")
  /\ UNCHANGED <<locked, told, granted, outcome, first, left, ghosts>>

TimeOut ==                    \* the deadline
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
HasEnded(s) == pc[s] \in {"new", "refused", "wake", "ended"}

\* When a scope is closed all its subtasks have ended.
ChildrenWithinScope == state = "closed" => \A s \in Subtasks : HasEnded(s)

\* Of all who cancel a scope, one does.
CancelOnce == cancels <= 1

\* Who is counted in after the cancel, or begins after it, runs nothing.
NoForkRunsAfterCancel == tardy = {}

\* Whoever cancels has interrupted all subtasks that are alive, but itself.
CancelReachesAll == cancelled /\ walker = NoOne => members \subseteq told \cup {by}

\* What ends after the cancel records nothing.
NoResultAfterCancel == cancelled => outcome = was.outcome

\* One failure is the first, and it is the one that cancels.
FirstFailureWins ==
  /\ winners <= 1
  /\ winners = 1 => outcome[first] = "failed"

\* No owner sleeps whom the last subtask, or a cancel, has not woken, or will.
JoinWakes ==
  /\ line /\ pc[Owner] = "asleep" => (members # {} /\ ~cancelled) \/ walker # NoOne
  /\ line /\ pc[Owner] = "dozing" => members # {} \/ walker # NoOne
  /\ ~line /\ ~granted /\ pc[Owner] \in {"asleep", "dozing", "await"} =>
       \E t \in Cancellers : pc[t] \in {"grant", "wake"}

\* The deadline of a joined scope cancels nothing, and of a closed one nothing is left.
TimerCancelled ==
  /\ over => late = was.late
  /\ state = "closed" => pc[Timer] = "ended"

\* Nobody touches a thread that was let go of, nor a scope that is closed.
UntouchedAfterEnd ==
  /\ hand \notin released
  /\ state = "closed" =>
       /\ walker = NoOne
       /\ members = {}

\* A scope whose subtasks end is closed in the end.
Ends == <>(state = "closed")
=============================================================================
