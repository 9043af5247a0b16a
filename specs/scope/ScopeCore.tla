------------------------------ MODULE ScopeCore -----------------------------
(***************************************************************************)
(* The state of Scope, its subtasks, and the threads that cancel it.       *)
(*                                                                         *)
(* Code       kernel/scope/scope_children.h, scope_children.c, scope.c;    *)
(*            [scope_children.1] [scope_children.2] name sites;            *)
(*            python/wakeproof/_runtime/scope_children.py, subtask.py,     *)
(*            joiner.py.                                                   *)
(*                                                                         *)
(* Scope.tla says what is abstracted, and has the claims.                  *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Subtasks,  \* the subtasks; the owner may fork each of them, once
  Others,    \* threads from outside that try to cancel the scope, once each, and return before the
             \* scope's close
  Timed,     \* TRUE: the scope has a deadline
  Interrupts \* the number of times that the owner's join may be interrupted

VARIABLES
  state,     \* "open", "joining", "joined", "closed": written by the owner
  cancelled, \* TRUE if the scope is cancelled; it is a gate: no subtask is counted in any more
  late,      \* TRUE if the scope was cancelled by its deadline
  over,      \* TRUE if the scope is joined, so the deadline cannot cancel it any more
  walker,    \* the thread that interrupts the subtasks of a cancelled scope, or NoOne
  hand,      \* the subtask that the walker is interrupting, or NoOne
  gone,      \* TRUE if that subtask has ended meanwhile, so the walker counts it out
  members,   \* the subtasks that are counted in
  told,      \* the subtasks that the scope has interrupted
  line,      \* TRUE if the owner is in line for a wakeup
  granted,   \* TRUE if the owner's wakeup has come
  outcome,   \* subtask -> "none", "success", "failed"
  first,     \* the subtask that failed first, or NoOne
  pc,        \* thread -> its next step
  left,      \* the number of interrupts of the owner that are still to come
  cancels,   \* ghost: the number of threads that have cancelled the scope
  tardy,     \* ghost: the subtasks that were counted in, or began, after the cancel
  winners,   \* ghost: the number of failures that were the first
  released,  \* ghost: the subtasks whose threads' memory the scope no longer keeps
  was,       \* ghost: the outcomes at the cancel, and `late` at the join
  by         \* ghost: the thread that has cancelled the scope
locked == <<cancelled, late, over, walker, hand, gone, members, line>>
ghosts == <<cancels, tardy, winners, released, was, by>>
vars == <<state, locked, told, granted, outcome, first, pc, left, ghosts>>

Owner == "owner"
Timer == "timer"
NoOne == "no one"
Cancellers == Subtasks \cup Others \cup {Owner, Timer}
Blank == [s \in Subtasks |-> "none"]

TypeOK ==
  /\ state \in {"open", "joining", "joined", "closed"}
  /\ cancelled \in BOOLEAN
  /\ late \in BOOLEAN
  /\ over \in BOOLEAN
  /\ walker \in Cancellers \cup {NoOne}
  /\ hand \in Subtasks \cup {NoOne}
  /\ gone \in BOOLEAN
  /\ members \subseteq Subtasks
  /\ told \subseteq Subtasks
  /\ line \in BOOLEAN
  /\ granted \in BOOLEAN
  /\ outcome \in [Subtasks -> {"none", "success", "failed"}]
  /\ first \in Subtasks \cup {NoOne}
  /\ pc \in [Cancellers -> {"new", "counted", "forked", "refused", "run", "tell", "cancel", "walk",
       "interrupt", "release", "grant", "leave", "wake", "ended", "open", "join", "asleep", "late",
       "await", "again", "end", "joined", "closing", "dozing", "timer", "closed", "sleeping"}]
  /\ left \in Nat
  /\ cancels \in Nat
  /\ tardy \subseteq Subtasks
  /\ winners \in Nat
  /\ released \subseteq Subtasks
  /\ by \in Cancellers \cup {NoOne}

Init ==
  /\ state = "open"
  /\ cancelled = FALSE
  /\ late = FALSE
  /\ over = FALSE
  /\ walker = NoOne
  /\ hand = NoOne
  /\ gone = FALSE
  /\ members = {}
  /\ told = {}
  /\ line = FALSE
  /\ granted = FALSE
  /\ outcome = Blank
  /\ first = NoOne
  /\ pc = [t \in Cancellers |->
       CASE t = Owner -> "open"
         [] t \in Others -> "cancel"
         [] t = Timer -> (IF Timed THEN "sleeping" ELSE "ended")
         [] OTHER -> "new"]
  /\ left = Interrupts
  /\ cancels = 0
  /\ tardy = {}
  /\ winners = 0
  /\ released = {}
  /\ was = [outcome |-> Blank, late |-> FALSE]
  /\ by = NoOne

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

\* Ghost: subtask s begins after the cancel.
Tardy(s) == tardy' = IF cancelled THEN tardy \cup {s} ELSE tardy

(* A subtask. *)

\* A subtask begins. If the scope is cancelled, it ends at once.
Begin(s) ==                   \* [scope_children.2] Subtask._run
  /\ pc[s] = "forked"
  /\ IF cancelled
     THEN /\ Goto(s, "leave")
          /\ UNCHANGED tardy
     ELSE /\ Goto(s, "run")
          /\ Tardy(s)
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, cancels, winners, released,
                 was, by>>

\* A subtask ends, and records its outcome unless the scope is cancelled.
Record(s) ==                  \* wp__scope_children_record, ScopeChildren.record
  /\ pc[s] = "run"
  /\ IF cancelled
     THEN /\ Goto(s, "leave")
          /\ UNCHANGED outcome
     ELSE \E what \in {"success", "failed"} :
            /\ outcome' = [outcome EXCEPT ![s] = what]
            /\ Goto(s, IF what = "failed" THEN "tell" ELSE "leave")
  /\ UNCHANGED <<state, locked, told, granted, first, left, ghosts>>

\* The policy is told of a failure. If it is the first failure, its subtask cancels the scope.
Tell(s) ==                    \* Joiner.on_complete
  /\ pc[s] = "tell"
  /\ IF first = NoOne
     THEN /\ first' = s
          /\ winners' = winners + 1
          /\ Goto(s, "cancel")
     ELSE /\ Goto(s, "leave")
          /\ UNCHANGED <<first, winners>>
  /\ UNCHANGED <<state, locked, told, granted, outcome, left, cancels, tardy, released, was, by>>

\* The subtask is counted out. If the walker is interrupting it, the walker counts it out later. The
\* last subtask takes the owner off its line, to wake it.
Leave(s) ==                   \* wp__scope_children_leave, ScopeChildren.leave
  /\ pc[s] = "leave"
  /\ IF hand = s
     THEN /\ gone' = TRUE
          /\ Goto(s, "ended")
          /\ UNCHANGED <<members, line, released>>
     ELSE /\ members' = members \ {s}
          /\ released' = released \cup {s}
          /\ IF members' = {} /\ line
             THEN /\ line' = FALSE
                  /\ Goto(s, "wake")
             ELSE /\ Goto(s, "ended")
                  /\ UNCHANGED line
          /\ UNCHANGED gone
  /\ UNCHANGED <<state, cancelled, late, over, walker, hand, told, granted, outcome, first, left,
                 cancels, tardy, winners, was, by>>

(* A thread that cancels, which is a subtask, the owner, the timer, or a thread from outside. *)

\* The step of a thread after it has cancelled.
After(t) ==
  CASE t = Owner -> "closing"
    [] t \in Subtasks -> "leave"
    [] OTHER -> "ended"

\* The states of the owner before it closes the scope.
Before == {"open", "join", "asleep", "late", "await", "again", "end", "joined"}

\* TRUE if the scope is cancelled already, or if t is the timer and the scope was joined before its
\* deadline.
IsRefused(t) == cancelled \/ (t = Timer /\ over)

\* Thread t cancels the scope, and is the only one that does.
Claim(t) ==
  /\ cancelled' = TRUE
  /\ late' = (t = Timer)
  /\ walker' = t
  /\ cancels' = cancels + 1
  /\ by' = t
  /\ was' = [was EXCEPT !.outcome = outcome]

\* One thread cancels the scope and becomes the walker, which interrupts the subtasks. For all other
\* threads the cancel is refused.
Cancel(t) ==                  \* [scope_children.1] wp__scope_children_cancel, ScopeChildren.cancel
  /\ pc[t] = "cancel"
  /\ t \in Others => pc[Owner] \in Before
  /\ IF IsRefused(t)
     THEN /\ Goto(t, After(t))
          /\ UNCHANGED <<cancelled, late, walker, cancels, was, by>>
     ELSE /\ Claim(t)
          /\ Goto(t, "walk")
  /\ UNCHANGED <<state, over, hand, gone, members, line, told, granted, outcome, first, left, tardy,
                 winners, released>>

\* The subtasks that the walker has still to interrupt.
Living(t) == members \ (told \cup {t})

\* Under the lock, the walker chooses the next subtask to interrupt. After the last subtask it takes
\* the owner off its line.
Walk(t) ==
  /\ pc[t] = "walk"
  /\ \/ \E s \in Living(t) :
          /\ hand' = s
          /\ Goto(t, "interrupt")
          /\ UNCHANGED <<walker, line>>
     \/ /\ Living(t) = {}
        /\ walker' = NoOne
        /\ line' = FALSE
        /\ Goto(t, IF line THEN "grant" ELSE After(t))
        /\ UNCHANGED hand
  /\ UNCHANGED <<state, cancelled, late, over, gone, members, told, granted, outcome, first, left,
                 ghosts>>

\* The walker interrupts the chosen subtask, without the lock.
Interrupt(t) ==               \* wp__vthread_interrupt
  /\ pc[t] = "interrupt"
  /\ told' = told \cup {hand}
  /\ Goto(t, "release")
  /\ UNCHANGED <<state, locked, granted, outcome, first, left, ghosts>>

\* Under the lock again, the walker counts that subtask out if it has ended meanwhile.
Release(t) ==
  /\ pc[t] = "release"
  /\ IF gone
     THEN /\ members' = members \ {hand}
          /\ released' = released \cup {hand}
     ELSE UNCHANGED <<members, released>>
  /\ hand' = NoOne
  /\ gone' = FALSE
  /\ Goto(t, "walk")
  /\ UNCHANGED <<state, cancelled, late, over, walker, line, told, granted, outcome, first, left,
                 cancels, tardy, winners, was, by>>

\* The thread that has taken the owner off its line wakes the owner.
Grant(t) ==                   \* [wait_queue.2] wp__waiter_grant, Signal.set
  /\ pc[t] \in {"grant", "wake"}
  /\ granted' = TRUE
  /\ Goto(t, IF pc[t] = "wake" THEN "ended" ELSE After(t))
  /\ UNCHANGED <<state, locked, told, outcome, first, left, ghosts>>

Cancelling(t) ==
  \/ Cancel(t)
  \/ Walk(t)
  \/ Interrupt(t)
  \/ Release(t)
  \/ Grant(t)

Subtask(s) ==
  \/ Begin(s)
  \/ Record(s)
  \/ Tell(s)
  \/ Leave(s)
=============================================================================
