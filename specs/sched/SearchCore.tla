----------------------------- MODULE SearchCore -----------------------------
(***************************************************************************)
(* The state of Search, the submission paths, and the search itself.       *)
(* Search.tla says what is abstracted, and has the claims.                 *)
(* Code       kernel/sched/carrier.c (submit), kernel/sched/search.h,      *)
(*            kernel/sched/search.c.                                       *)
(***************************************************************************)
EXTENDS RunQueue, FiniteSets

CONSTANTS
  Carriers,        \* the carriers of the domain
  Submitters,      \* each submitter pushes one task to a carrier of its choice
  Endless,         \* the carriers that are inside a task that never ends, from the start; {}: any
                   \* carrier may start inside a task
  Backlog,         \* the number of published tasks that wait behind each of those tasks at the
                   \* start
  Pinners,         \* the submitters whose tasks only the target carrier may run: pinned tasks
  Delaying,        \* the carriers that may put off a steal
  Tokens,          \* as many as searches may be under way at once
  Spawns, Yields   \* bounds: the numbers of submissions by running tasks, and of re-enqueues

ASSUME BoundsAreBounds ==
  {Spawns, Yields, Backlog} \subseteq Nat /\ Tokens # {} /\ Pinners \subseteq Submitters
ASSUME SomebodyMayHelp == Endless \cup Delaying \subseteq Carriers /\ Cardinality(Carriers) > 1
ASSUME ThreadsDiffer == \A c \in Carriers : c \notin Submitters

VARIABLES
  word,    \* carrier -> "RUNNING", "PARKED" (in either place), "WAKING", or the victim that the
           \* carrier searches for
  idle,    \* the carriers whose idle bits are set
  token,   \* token -> Free, or who holds it; domain->searching is the number that are not Free
  queue,   \* carrier -> the cells of its queue, from which siblings may steal
  inbox,   \* carrier -> the cells of its inbox, for pinned tasks
  held,    \* carrier -> TRUE if the carrier has a task: it runs the task, or has just stolen it
  at,      \* thread -> its next step, with those of its local variables that are alive there
  budget   \* what is left of Spawns and Yields

vars == <<word, idle, token, queue, inbox, held, at, budget>>

None == "none"
Threads == Carriers \cup Submitters
Victims == Carriers           \* the carriers that a search may be for

\* The values of a token: nobody has it; t holds it; it goes to c with the wake, in c's word.
Free == [who |-> None, sent |-> FALSE]
Held(t) == [who |-> t, sent |-> FALSE]
Sent(c) == [who |-> c, sent |-> TRUE]
Take(t) == \E k \in Tokens : token[k] = Free /\ token' = [token EXCEPT ![k] = Held(t)]
Pass(from, to) == token' = [k \in Tokens |-> IF token[k] = from THEN to ELSE token[k]]

Init ==
  /\ word = [c \in Carriers |-> "RUNNING"]
  /\ idle = {}
  /\ token = [k \in Tokens |-> Free]
  /\ queue = [c \in Carriers |-> [i \in 1 .. (IF c \in Endless THEN Backlog ELSE 0) |-> Task]]
  /\ inbox = [c \in Carriers |-> <<>>]
  /\ held \in IF Endless = {} THEN [Carriers -> BOOLEAN] ELSE {[c \in Carriers |-> c \in Endless]}
  /\ at = [t \in Threads |->
             [pc |-> IF t \in Submitters THEN "start" ELSE IF held[t] THEN "run" ELSE "poll",
              arg |-> None, todo |-> {}, seen |-> {}]]
  /\ budget = [spawn |-> Spawns, yield |-> Yields]

\* A local variable that a step does not name is dead after it, so the step resets it.
Goto(t, pc, arg, todo, seen) ==
  at' = [at EXCEPT ![t] = [pc |-> pc, arg |-> arg, todo |-> todo, seen |-> seen]]

Move(t, pc, arg) == Goto(t, pc, arg, {}, {})

\* A submission or a search ends. A carrier then runs the task that it has, or polls.
Return(t) == Move(t, IF t \in Submitters THEN "done" ELSE IF held[t] THEN "run" ELSE "poll", None)
Looks == UNCHANGED <<word, idle, token, queue, inbox, held, budget>>
IsHole(cell) == IF cell = Task THEN FALSE ELSE at[cell].pc = "publish"
Unname(t, c) ==
  /\ queue' = [queue EXCEPT ![c] = Forget(@, t)]
  /\ inbox' = [inbox EXCEPT ![c] = Forget(@, t)]

(* Submitting to carrier c: reserve, publish, then check whether a carrier must be woken. *)

\* The first half of a push: the cell is in the queue, but not published yet.
Reserve(t, c) ==              \* [mpsc.2]
  /\ queue' = [queue EXCEPT ![c] = Append(@, t)]
  /\ Move(t, "publish", c)
  /\ UNCHANGED <<word, idle, token, inbox>>

\* A submitter begins to push its task: wp_carrier_submit.
Submit(s, c) ==
  /\ at[s].pc = "start"
  /\ s \notin Pinners
  /\ Reserve(s, c)
  /\ UNCHANGED <<held, budget>>

\* The task that c runs submits another: wp_carrier_submit_internal. So does a task that wakes a
\* thread whose home sleeps, because that thread then continues on c.
SubmitInternal(c) ==          \* [carrier_tasks.1]
  /\ at[c].pc = "run"
  /\ budget.spawn > 0
  /\ Reserve(c, c)
  /\ budget' = [budget EXCEPT !.spawn = @ - 1]
  /\ UNCHANGED held

\* The task that c runs yields: wp_carrier_reenqueue.
Reenqueue(c) ==
  /\ at[c].pc = "run"
  /\ c \notin Endless
  /\ budget.yield > 0
  /\ Reserve(c, c)
  /\ budget' = [budget EXCEPT !.yield = @ - 1]
  /\ held' = [held EXCEPT ![c] = FALSE]

\* A submitter begins to push a pinned task.
SubmitPinned(s, c) ==         \* [mpsc.2] wp_carrier_submit_pinned
  /\ at[s].pc = "start"
  /\ s \in Pinners
  /\ inbox' = [inbox EXCEPT ![c] = Append(@, s)]
  /\ Move(s, "publish", c)
  /\ UNCHANGED <<word, idle, token, queue, held, budget>>

\* The second half of a push: the cell is published.
Publish(t) ==                 \* [mpsc.3]
  /\ at[t].pc = "publish"
  /\ LET c == at[t].arg
         next == IF t \in Submitters THEN "word" ELSE IF held[t] THEN "idle" ELSE "alone"
     IN /\ Move(t, next, c)
        /\ IF next = "idle" THEN Unname(t, c) ELSE UNCHANGED <<queue, inbox>>
  /\ UNCHANGED <<word, idle, token, held, budget>>

\* The submitter has not woken a carrier that takes this task next, so it goes on to check whether
\* another carrier must be woken.
Tell(t, c) == Move(t, IF t \in Pinners THEN "quiescent" ELSE "idle", c)

\* The submitter reads the target's word after its push.
LoadWord(s) ==                \* [carrier.7] [carrier.4]
  /\ at[s].pc = "word"
  /\ LET c == at[s].arg IN
     IF word[c] = "PARKED"
     THEN /\ Move(s, "alone", c)
          /\ UNCHANGED <<queue, inbox>>
     ELSE /\ Tell(s, c)
          /\ Unname(s, c)
  /\ UNCHANGED <<word, idle, token, held, budget>>

\* wp_mpsc_is_alone: the thread checks whether the pushed task is alone in its queue and the other
\* queue is quiescent. On a re-enqueue, [carrier.7] comes first.
IsAlone(t) ==
  /\ at[t].pc = "alone"
  /\ LET c == at[t].arg
         alone == queue[c] \o inbox[c] = <<t>>
     IN /\ IF t \in Submitters
           THEN Move(t, IF alone THEN "wake" ELSE "wake_and_tell", c)
           ELSE IF alone THEN Return(t) ELSE Tell(t, c)
        /\ Unname(t, c)
  /\ UNCHANGED <<word, idle, token, held, budget>>

\* The submitter claims the wakeup and makes the system call: [carrier.3]. In Carrier these are two
\* steps.
Wake(s) ==
  /\ at[s].pc \in {"wake", "wake_and_tell"}
  /\ LET c == at[s].arg IN
     /\ word' = [word EXCEPT ![c] = IF @ = "PARKED" THEN "WAKING" ELSE @]
     /\ IF word[c] = "PARKED" /\ at[s].pc = "wake" THEN Return(s) ELSE Tell(s, c)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>

\* The submitter of a pinned task checks the queue too: the target may run the pinned task before a
\* task that a sibling could steal.
IsQuiescent(s) ==
  /\ at[s].pc = "quiescent"
  /\ IF queue[at[s].arg] = <<>> THEN Return(s) ELSE Move(s, "idle", at[s].arg)
  /\ Looks

\* If no carrier is idle, no carrier can help: [idle_set.3] wp_idle_set_is_empty. In
\* wp_carrier_submit_internal, [carrier.7] comes first.
IsIdle(t) ==
  /\ at[t].pc = "idle"
  /\ IF idle = {} THEN Return(t) ELSE Move(t, "search", at[t].arg)
  /\ Looks

(* A search for a carrier that helps the victim, which is at[t].arg. *)

\* The searcher takes a token. If all are taken, this search is over.
Start(t) ==                   \* [search.5] wp_search_start
  /\ at[t].pc = "search"
  /\ IF \A k \in Tokens : token[k] # Free
     THEN /\ Return(t)
          /\ UNCHANGED token
     ELSE /\ Move(t, "snapshot", at[t].arg)
          /\ Take(t)
  /\ UNCHANGED <<word, idle, queue, inbox, held, budget>>

\* The searcher reads the idle set.
Snapshot(t) ==                \* [idle_set.3] wp_idle_set_word
  /\ at[t].pc = "snapshot"
  /\ LET v == at[t].arg
     IN IF idle \ {v} = {} THEN Move(t, "stop", None) ELSE Goto(t, "recruit", v, idle \ {v}, {})
  /\ Looks

\* The searcher tries to wake a member of its snapshot, in any order.
Recruit(t) ==                 \* [search.1] [search.2]
  /\ at[t].pc = "recruit"
  /\ \E m \in at[t].todo :
       IF word[m] = "PARKED"
       THEN /\ word' = [word EXCEPT ![m] = at[t].arg]
            /\ Return(t)
            /\ Pass(Held(t), Sent(m))
       ELSE /\ UNCHANGED <<word, token>>
            /\ IF at[t].todo = {m}
               THEN Move(t, "stop", None)
               ELSE Goto(t, "recruit", at[t].arg, at[t].todo \ {m}, {})
  /\ UNCHANGED <<idle, queue, inbox, held, budget>>

\* The searcher releases its token: wp_search_stop. `arg` is the victim that the helper stole from,
\* or None if the searcher has found no helper.
Stop(t) ==                    \* [search.6]
  /\ at[t].pc = "stop"
  /\ Pass(Held(t), Free)
  /\ Move(t, "recheck", None)
  /\ UNCHANGED <<word, idle, queue, inbox, held, budget>>

\* After the release the searcher checks once more: wp__search_recheck.
Recheck(t) ==                 \* [search.7] [idle_set.3]
  /\ at[t].pc = "recheck"
  /\ IF idle = {} THEN Return(t) ELSE Goto(t, "parked", None, idle, {})
  /\ Looks

\* The searcher reads which idle carriers are parked. A queue is worth a search only if a carrier
\* other than its own is parked.
LoadParked(t) ==              \* [search.4]
  /\ at[t].pc = "parked"
  /\ \E m \in at[t].todo :
       LET seen == at[t].seen \cup (IF word[m] = "PARKED" THEN {m} ELSE {})
           rest == at[t].todo \ {m}
           worth == {x \in Victims : seen \ {x} # {}}
       IN IF rest # {} THEN Goto(t, "parked", None, rest, seen)
          ELSE IF seen = {} THEN Return(t)
          ELSE Goto(t, "scan", None, worth, {})
  /\ Looks
=============================================================================
