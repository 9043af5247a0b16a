------------------------------- MODULE Nesting ------------------------------
(***************************************************************************)
(* Scopes within scopes. The open scopes of a thread are a stack, and a    *)
(* subtask opens its own scopes within the scope that has forked it. A     *)
(* scope is closed before the scope around it, and after all subtasks that *)
(* it has forked have ended.                                               *)
(*                                                                         *)
(* Code       kernel/scope/scope.c: innermost, end, end_within,            *)
(*            run_subtask; python/wakeproof/scope.py, _runtime/nesting.py, *)
(*            scoped.py.                                                   *)
(* Abstracts  a wait for subtasks to one step (see Scope); a cancel away,  *)
(*            so subtasks end when they like. Bindings, which are values   *)
(*            that subtasks inherit, exist only in Python.                 *)
(* Memory     sequential consistency.                                      *)
(* Promises   LifoClose, ChildrenWithinScope, OwnerConfinement,            *)
(*            BindingsInherited (safety).                                  *)
(* TLC alone  LifoClose, OwnerConfinement, ChildrenWithinScope: scopes     *)
(*            within scopes are one thread's own stack of them, on         *)
(*            carriers with stacks of their own, which the explorer does   *)
(*            not have (tests/programs/scope/scope.c,                      *)
(*            tests/scope/test_scope.py); what several threads share is    *)
(*            checked by Scope; BindingsInherited: bindings are Python's   *)
(*            (tests/scope/test_scoped.py).                                *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Root,    \* a thread that no scope has forked
  Forked,  \* threads that some scope may fork
  Scopes   \* the scopes

VARIABLES
  pc,       \* thread -> "new", "runs", "closes", "ends", "ended"
  inner,    \* thread -> its innermost open scope; if it has none, the scope that has forked it, or
            \* NoScope
  target,   \* thread -> the scope that it closes, or NoScope
  from,     \* thread -> the scope that has forked it, or NoScope
  state,    \* scope -> "new", "open", "closed"
  owner,    \* scope -> the thread that has opened it; Root at first
  outer,    \* scope -> the scope around it, or NoScope
  bound,    \* thread -> its bindings, abstracted to 1 or 2
  captured, \* scope -> the bindings of its owner when the scope was opened
  given     \* thread -> the bindings that it began with
vars == <<pc, inner, target, from, state, owner, outer, bound, captured, given>>

NoScope == "no scope"
Threads == Forked \cup {Root}
Maybe == Scopes \cup {NoScope}
Bindings == {1, 2}

TypeOK ==
  /\ pc \in [Threads -> {"new", "runs", "closes", "ends", "ended"}]
  /\ inner \in [Threads -> Maybe]
  /\ target \in [Threads -> Maybe]
  /\ from \in [Threads -> Maybe]
  /\ state \in [Scopes -> {"new", "open", "closed"}]
  /\ owner \in [Scopes -> Threads]
  /\ outer \in [Scopes -> Maybe]
  /\ bound \in [Threads -> Bindings]
  /\ captured \in [Scopes -> Bindings]
  /\ given \in [Threads -> Bindings]

Init ==
  /\ pc = [t \in Threads |-> IF t = Root THEN "runs" ELSE "new"]
  /\ inner = [t \in Threads |-> NoScope]
  /\ target = [t \in Threads |-> NoScope]
  /\ from = [t \in Threads |-> NoScope]
  /\ state = [s \in Scopes |-> "new"]
  /\ owner = [s \in Scopes |-> Root]
  /\ outer = [s \in Scopes |-> NoScope]
  /\ bound = [t \in Threads |-> 1]
  /\ captured = [s \in Scopes |-> 1]
  /\ given = [t \in Threads |-> 1]

Owns(t, s) == state[s] = "open" /\ owner[s] = t

\* A thread opens a scope within its innermost one.
Open(t, s) ==                 \* wp_scope_open, Scope.__enter__
  /\ pc[t] = "runs"
  /\ state[s] = "new"
  /\ state' = [state EXCEPT ![s] = "open"]
  /\ owner' = [owner EXCEPT ![s] = t]
  /\ outer' = [outer EXCEPT ![s] = inner[t]]
  /\ inner' = [inner EXCEPT ![t] = s]
  /\ captured' = [captured EXCEPT ![s] = bound[t]]
  /\ UNCHANGED <<pc, target, from, bound, given>>

\* The owner of a scope forks a subtask. The fork is refused if the bindings have changed since the
\* scope was opened.
Fork(t, s, u) ==              \* wp_scope_fork, Scope.fork
  /\ pc[t] = "runs"
  /\ Owns(t, s)
  /\ pc[u] = "new"
  /\ bound[t] = captured[s]
  /\ pc' = [pc EXCEPT ![u] = "runs"]
  /\ from' = [from EXCEPT ![u] = s]
  /\ inner' = [inner EXCEPT ![u] = s]
  /\ bound' = [bound EXCEPT ![u] = bound[t]]
  /\ given' = [given EXCEPT ![u] = bound[t]]
  /\ UNCHANGED <<target, state, owner, outer, captured>>

\* A thread binds a value, or a binding ends.
Bind(t) ==                    \* ScopedValue.bind
  /\ pc[t] = "runs"
  /\ bound' = [bound EXCEPT ![t] = 3 - @]
  /\ UNCHANGED <<pc, inner, target, from, state, owner, outer, captured, given>>

\* The owner of a scope begins to close it. No other thread may close it.
Close(t, s) ==                \* wp_scope_close, Scope.close
  /\ pc[t] = "runs"
  /\ Owns(t, s)
  /\ pc' = [pc EXCEPT ![t] = "closes"]
  /\ target' = [target EXCEPT ![t] = s]
  /\ UNCHANGED <<inner, from, state, owner, outer, bound, captured, given>>

\* The body of a subtask returns. Its bindings are not used any more.
End(t) ==
  /\ pc[t] = "runs"
  /\ t # Root
  /\ pc' = [pc EXCEPT ![t] = "ends"]
  /\ bound' = [bound EXCEPT ![t] = 1]
  /\ given' = [given EXCEPT ![t] = 1]
  /\ UNCHANGED <<inner, target, from, state, owner, outer, captured>>

\* A thread that closes a scope, or that ends, closes its innermost scope first, once all subtasks
\* that this scope has forked have ended.
Unwind(t) ==
  LET s == inner[t] IN
  /\ pc[t] = "closes" \/ (pc[t] = "ends" /\ inner[t] # from[t])
  /\ \A u \in Threads : from[u] = s => pc[u] = "ended"
  /\ state' = [state EXCEPT ![s] = "closed"]
  /\ inner' = [inner EXCEPT ![t] = outer[s]]
  /\ IF s = target[t]
     THEN /\ pc' = [pc EXCEPT ![t] = "runs"]
          /\ target' = [target EXCEPT ![t] = NoScope]
     ELSE UNCHANGED <<pc, target>>
  /\ captured' = [captured EXCEPT ![s] = 1]      \* dead from here on
  /\ UNCHANGED <<from, owner, outer, bound, given>>

\* The subtask has closed all scopes that it had open, and has ended.
Ended(t) ==
  /\ pc[t] = "ends"
  /\ inner[t] = from[t]
  /\ pc' = [pc EXCEPT ![t] = "ended"]
  /\ UNCHANGED <<inner, target, from, state, owner, outer, bound, captured, given>>

\* The intended end: all scopes are closed.
Finished ==
  /\ \A s \in Scopes : state[s] = "closed"
  /\ UNCHANGED vars

Next ==
  \/ Finished
  \/ \E t \in Threads :
       \/ Bind(t)
       \/ End(t)
       \/ Unwind(t)
       \/ Ended(t)
       \/ \E s \in Scopes :
            \/ Open(t, s)
            \/ Close(t, s)
            \/ \E u \in Forked : Fork(t, s, u)

Spec == Init /\ [][Next]_vars

(* What must hold. *)
RECURSIVE Within(_, _)

\* Scope x is s, or was opened within s.
Within(x, s) == x # NoScope /\ (x = s \/ Within(outer[x], s))

\* When a scope is closed, all scopes that were opened within it are closed, by their owners or by
\* the ends of subtasks.
LifoClose ==
  \A s, x \in Scopes : state[s] = "closed" /\ state[x] = "open" => ~Within(x, s)

\* When a scope is closed, its subtasks have ended, and so have the subtasks within them.
ChildrenWithinScope ==
  \A s \in Scopes, u \in Forked :
    state[s] = "closed" /\ pc[u] # "new" /\ Within(from[u], s) => pc[u] = "ended"

\* A scope is closed by the thread that opened it, which then has it no longer on its stack.
OwnerConfinement == \A s \in Scopes : state[s] = "closed" => ~Within(inner[owner[s]], s)

\* A subtask begins with the bindings that its scope's owner had when the scope was opened.
BindingsInherited == \A u \in Forked : pc[u] = "runs" => given[u] = captured[from[u]]
=============================================================================
