------------------------------ MODULE ScopeCore -----------------------------
(***************************************************************************)
(* The state of Scope, its subtasks, and whoever cancels it.               *)
(* Code       kernel/scope/scope_children.h, scope_children.c, scope.c;    *)
(*            [scope_children.1] [scope_children.2] name sites;            *)
(*            python/wakeproof/_runtime/scope_children.py, subtask.py,     *)
(*            joiner.py.                                                   *)
(* The essay on what is abstracted, and the claims, are in Scope.tla.      *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Subtasks,  \* the owner may fork each of them, once
  Others,    \* threads from outside that cancel it, once each, and are back before its close
  Timed,     \* it has a deadline
  Interrupts \* how often the owner's join is interrupted

VARIABLES
  state,     \* "open", "joining", "joined", "closed": the owner writes it
  cancelled, \* the gate: nobody is counted in any more
  late,      \* it was the deadline's cancel
  over,      \* joined: the deadline cannot cancel it any more
  walker,    \* who interrupts the subtasks of a cancelled scope; NoOne
  hand,      \* the one whom the walker interrupts now; NoOne
  gone,      \* that one has ended meanwhile: the walker counts it out
  members,   \* subtasks that are counted in
  told,      \* those that the scope has interrupted
  line,      \* the owner is in line for a wake
  granted,   \* the wake has come
  outcome,   \* subtask -> "none", "success", "failed"
  first,     \* the first failure; NoOne
  pc,        \* thread -> what it does next
  left,      \* interrupts of the owner that are still to come
  cancels,   \* ghost: how many have cancelled it
  tardy,     \* ghost: subtasks that were counted in, or began, after the cancel
  winners,   \* ghost: how many failures were the first
  released,  \* ghost: subtasks whose thread's memory is not the scope's any more
  was,       \* ghost: of the cancel: the outcomes; of the join: late
  by         \* ghost: who has cancelled it
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
Tardy(s) == tardy' = IF cancelled THEN tardy \cup {s} ELSE tardy

(* A subtask. *)
Begin(s) ==                   \* [scope_children.2] Subtask._run: cancelled? ends at once
  /\ pc[s] = "forked"
  /\ IF cancelled
     THEN /\ Goto(s, "leave")
          /\ UNCHANGED tardy
     ELSE /\ Goto(s, "run")
          /\ Tardy(s)
  /\ UNCHANGED <<state, locked, told, granted, outcome, first, left, cancels, winners, released,
                 was, by>>

Record(s) ==                  \* wp__scope_children_record, ScopeChildren.record: not cancelled: what came of it
  /\ pc[s] = "run"
  /\ IF cancelled
     THEN /\ Goto(s, "leave")
          /\ UNCHANGED outcome
     ELSE \E what \in {"success", "failed"} :
            /\ outcome' = [outcome EXCEPT ![s] = what]
            /\ Goto(s, IF what = "failed" THEN "tell" ELSE "leave")
  /\ UNCHANGED <<state, locked, told, granted, first, left, ghosts>>

Tell(s) ==                    \* the policy, Joiner.on_complete: the first failure cancels
  /\ pc[s] = "tell"
  /\ IF first = NoOne
     THEN /\ first' = s
          /\ winners' = winners + 1
          /\ Goto(s, "cancel")
     ELSE /\ Goto(s, "leave")
          /\ UNCHANGED <<first, winners>>
  /\ UNCHANGED <<state, locked, told, granted, outcome, left, cancels, tardy, released, was, by>>

Leave(s) ==                   \* wp__scope_children_leave, ScopeChildren.leave: it has ended
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

(* Whoever cancels: a subtask, the owner, the timer, another thread. *)
After(t) ==
  CASE t = Owner -> "closing"
    [] t \in Subtasks -> "leave"
    [] OTHER -> "ended"

\* Where the owner is before it closes.
Before == {"open", "join", "asleep", "late", "await", "again", "end", "joined"}

IsRefused(t) == cancelled \/ (t = Timer /\ over)

Claim(t) ==
  /\ cancelled' = TRUE
  /\ late' = (t = Timer)
  /\ walker' = t
  /\ cancels' = cancels + 1
  /\ by' = t
  /\ was' = [was EXCEPT !.outcome = outcome]

Cancel(t) ==                  \* [scope_children.1] wp__scope_children_cancel, ScopeChildren.cancel: once
  /\ pc[t] = "cancel"
  /\ t \in Others => pc[Owner] \in Before
  /\ IF IsRefused(t)
     THEN /\ Goto(t, After(t))
          /\ UNCHANGED <<cancelled, late, walker, cancels, was, by>>
     ELSE /\ Claim(t)
          /\ Goto(t, "walk")
  /\ UNCHANGED <<state, over, hand, gone, members, line, told, granted, outcome, first, left, tardy,
                 winners, released>>

Living(t) == members \ (told \cup {t})

Walk(t) ==                    \* under the lock: the next one; or the end, and the owner's wake
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

Interrupt(t) ==               \* wp__vthread_interrupt, outside of the lock
  /\ pc[t] = "interrupt"
  /\ told' = told \cup {hand}
  /\ Goto(t, "release")
  /\ UNCHANGED <<state, locked, granted, outcome, first, left, ghosts>>

Release(t) ==                 \* under the lock again: it counts out who has ended meanwhile
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
