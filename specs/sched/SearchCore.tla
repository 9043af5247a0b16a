----------------------------- MODULE SearchCore -----------------------------
(***************************************************************************)
(* The state of Search, the submission paths, and the search itself.       *)
(* Code       kernel/sched/carrier.c (submit), kernel/sched/search.h, kernel/sched/search.c. *)
(* The essay on what is abstracted, and the claims, are in Search.tla.     *)
(***************************************************************************)
EXTENDS RunQueue, FiniteSets

CONSTANTS
  Carriers, Submitters,  \* each submitter pushes one task to a carrier of its choice
  Endless,               \* they start inside a task that never ends; {}: any may start busy
  Backlog,               \* published tasks that wait behind each of those at the start
  Pinners,               \* submitters whose task only the owner may run
  Spawns, Yields,        \* bounds: internal submissions, re-enqueues
  Twin                   \* "none", or the one clause that is missing

ASSUME BoundsAreBounds == {Spawns, Yields, Backlog} \subseteq Nat /\ Pinners \subseteq Submitters
ASSUME SomebodyMayHelp == Endless \subseteq Carriers /\ Cardinality(Carriers) > 1

VARIABLES
  word,    \* carrier -> "RUNNING", "PARKED" (either place), "WAKING", or the victim it searches for
  idle,    \* the carriers whose idle bit is set
  token,   \* domain->searching, 0 or 1
  queue,   \* carrier -> what siblings may steal
  inbox,   \* carrier -> pinned tasks, for the owner only
  held,    \* carrier -> it has a task in its hands: runs it, or has just stolen it
  at,      \* thread -> where it is, and those of its locals that are alive there
  budget   \* what is left of Spawns, Yields
vars == <<word, idle, token, queue, inbox, held, at, budget>>

None == "none"
Threads == Carriers \cup Submitters
Victims == Carriers           \* for whom a search may be; SearchLocal has one more
Drops == IF Twin = "shipped"  \* the shipped protocol lacks four clauses, and signals after a drain,
                              \* a pull and a steal, if the queue is not empty then
         THEN {"no_recheck_release", "no_recheck_park", "wake_and_leave", "silent_reenqueue"}
         ELSE {Twin}
Keeps(clause) == clause \notin Drops

Init ==
  /\ word = [c \in Carriers |-> "RUNNING"]
  /\ idle = {}
  /\ token = 0
  /\ queue = [c \in Carriers |-> [i \in 1 .. (IF c \in Endless THEN Backlog ELSE 0) |-> Task]]
  /\ inbox = [c \in Carriers |-> <<>>]
  /\ held \in IF Endless = {} THEN [Carriers -> BOOLEAN] ELSE {[c \in Carriers |-> c \in Endless]}
  /\ at = [t \in Threads |->
             [pc |-> IF t \in Submitters THEN "start" ELSE IF held[t] THEN "run" ELSE "poll",
              arg |-> None, todo |-> {}, seen |-> {}]]
  /\ budget = [spawn |-> Spawns, yield |-> Yields]

\* A local that a step does not name is dead, hence reset in that step.
Goto(t, pc, arg, todo, seen) ==
  at' = [at EXCEPT ![t] = [pc |-> pc, arg |-> arg, todo |-> todo, seen |-> seen]]
Move(t, pc, arg) == Goto(t, pc, arg, {}, {})
\* The end of a submission or search: a carrier runs what it holds, or polls.
Return(t) == Move(t, IF t \in Submitters THEN "done" ELSE IF held[t] THEN "run" ELSE "poll", None)
Looks == UNCHANGED <<word, idle, token, queue, inbox, held, budget>>
IsHole(cell) == IF cell = Task THEN FALSE ELSE at[cell].pc = "publish"
Unname(t, c) ==
  /\ queue' = [queue EXCEPT ![c] = Forget(@, t)]
  /\ inbox' = [inbox EXCEPT ![c] = Forget(@, t)]

(* Submitting to carrier c: reserve, publish, look whether somebody must be told. *)
Reserve(t, c) ==              \* [Q2]
  /\ queue' = [queue EXCEPT ![c] = Append(@, t)]
  /\ Move(t, "publish", c)
  /\ UNCHANGED <<word, idle, token, inbox>>
Submit(s, c) ==               \* wp_carrier_submit
  /\ at[s].pc = "start" /\ s \notin Pinners
  /\ Reserve(s, c)
  /\ UNCHANGED <<held, budget>>
SubmitInternal(c) ==          \* wp_carrier_submit_internal, by the task that c runs
  /\ at[c].pc = "run" /\ budget.spawn > 0
  /\ Reserve(c, c)
  /\ budget' = [budget EXCEPT !.spawn = @ - 1]
  /\ UNCHANGED held
Reenqueue(c) ==               \* wp_carrier_reenqueue: the task that c runs yields
  /\ at[c].pc = "run" /\ c \notin Endless /\ budget.yield > 0
  /\ Reserve(c, c)
  /\ budget' = [budget EXCEPT !.yield = @ - 1]
  /\ held' = [held EXCEPT ![c] = FALSE]
SubmitPinned(s, c) ==         \* [Q2] wp_carrier_submit_pinned
  /\ at[s].pc = "start" /\ s \in Pinners
  /\ inbox' = [inbox EXCEPT ![c] = Append(@, s)]
  /\ Move(s, "publish", c)
  /\ UNCHANGED <<word, idle, token, queue, held, budget>>
Publish(t) ==                 \* [Q3]
  /\ at[t].pc = "publish"
  /\ LET c == at[t].arg
         silent == IF t \in Submitters THEN FALSE
                   ELSE ~Keeps(IF held[t] THEN "silent_internal" ELSE "silent_reenqueue")
         next == IF t \in Submitters THEN "word" ELSE IF held[t] THEN "idle" ELSE "alone"
     IN /\ IF silent THEN Return(t) ELSE Move(t, next, c)
        /\ IF silent \/ next = "idle" THEN Unname(t, c) ELSE UNCHANGED <<queue, inbox>>
  /\ UNCHANGED <<word, idle, token, held, budget>>
\* Nobody was woken who takes this task next: somebody else may have to be told.
Tell(t, c) == IF t \notin Pinners THEN Move(t, "idle", c)
              ELSE IF Keeps("pinned_leaves") THEN Move(t, "quiescent", c) ELSE Return(t)
LoadWord(s) ==                \* [S] [C4]
  /\ at[s].pc = "word"
  /\ LET c == at[s].arg IN
     IF word[c] # "PARKED" THEN Tell(s, c) /\ Unname(s, c)
     ELSE /\ Move(s, IF Keeps("late_alone") THEN "alone" ELSE "wake_first", c)
          /\ UNCHANGED <<queue, inbox>>
  /\ UNCHANGED <<word, idle, token, held, budget>>
IsAlone(t) ==                 \* [S] on re-enqueue; wp_mpsc_is_alone, and the other is quiescent
  /\ at[t].pc \in {"alone", "alone_late"}
  /\ LET c == at[t].arg
         alone == queue[c] \o inbox[c] = <<t>>
     IN /\ IF t \in Submitters /\ at[t].pc = "alone"
           THEN Move(t, IF alone \/ ~Keeps("wake_and_leave") THEN "wake" ELSE "wake_and_tell", c)
           ELSE IF alone /\ (t \in Submitters \/ Keeps("yield_wakes")) THEN Return(t) ELSE Tell(t, c)
        /\ Unname(t, c)
  /\ UNCHANGED <<word, idle, token, held, budget>>
Wake(s) ==                    \* [C3], and the system call: Carrier takes those two apart
  /\ at[s].pc \in {"wake", "wake_and_tell", "wake_first"}
  /\ LET c == at[s].arg IN
     /\ IF word[c] = "PARKED" THEN word' = [word EXCEPT ![c] = "WAKING"] ELSE UNCHANGED word
     /\ IF word[c] = "PARKED" /\ at[s].pc = "wake" THEN Return(s)
        ELSE IF word[c] = "PARKED" /\ at[s].pc = "wake_first" THEN Move(s, "alone_late", c)
        ELSE Tell(s, c)
  /\ UNCHANGED <<idle, token, queue, inbox, held, budget>>
IsQuiescent(s) ==             \* a pinned task may be run before one that a sibling could take
  /\ at[s].pc = "quiescent"
  /\ IF queue[at[s].arg] = <<>> THEN Return(s) ELSE Move(s, "idle", at[s].arg)
  /\ Looks
IsIdle(t) ==                  \* [S] on submit_internal; [I3] wp_idleset_is_empty
  /\ at[t].pc = "idle"
  /\ IF idle = {} /\ Twin # "shipped" THEN Return(t) ELSE Move(t, "search", at[t].arg)
  /\ Looks

(* Searching for somebody to help the victim at[t].arg. *)
Start(t) ==                   \* [N1] wp_search_start
  /\ at[t].pc = "search"
  /\ IF token = 1 THEN Return(t) /\ UNCHANGED token
                  ELSE Move(t, "snapshot", at[t].arg) /\ token' = 1
  /\ UNCHANGED <<word, idle, queue, inbox, held, budget>>
Snapshot(t) ==                \* [I3] wp_idleset_word
  /\ at[t].pc = "snapshot"
  /\ LET v == at[t].arg
     IN IF idle \ {v} = {} THEN Move(t, "stop", None) ELSE Goto(t, "recruit", v, idle \ {v}, {})
  /\ Looks
Recruit(t) ==                 \* [C5] [C7] recruit: any member of the snapshot may come first
  /\ at[t].pc = "recruit"
  /\ \E m \in at[t].todo :
       IF word[m] = "PARKED"
       THEN /\ word' = [word EXCEPT ![m] = at[t].arg] /\ Return(t)
            /\ token' = IF Keeps("token_stays") THEN token ELSE 0
       ELSE /\ UNCHANGED <<word, token>>
            /\ IF at[t].todo = {m} THEN Move(t, "stop", None)
               ELSE Goto(t, "recruit", at[t].arg, at[t].todo \ {m}, {})
  /\ UNCHANGED <<idle, queue, inbox, held, budget>>
Stop(t) ==                    \* [N2] wp_search_stop; arg: the victim served, or None: nobody found
  /\ at[t].pc = "stop"
  /\ token' = IF at[t].arg = None /\ ~Keeps("token_kept") THEN token ELSE 0
  /\ IF Keeps("no_recheck_release") THEN Move(t, "recheck", None)
     ELSE IF Twin = "shipped" /\ at[t].arg # None /\ held[t] THEN Move(t, "chain", at[t].arg)
     ELSE Return(t)
  /\ UNCHANGED <<word, idle, queue, inbox, held, budget>>
Chain(t) ==                   \* twin shipped: one more helper if the victim of a steal or pull still has work
  /\ at[t].pc = "chain"
  /\ IF HasPublished(queue[at[t].arg], IsHole) THEN Move(t, "search", at[t].arg) ELSE Return(t)
  /\ Looks
Recheck(t) ==                 \* [R] [I3] wp__search_recheck
  /\ at[t].pc = "recheck"
  /\ IF idle = {} THEN Return(t) ELSE Goto(t, "parked", None, idle, {})
  /\ Looks
LoadParked(t) ==              \* [C9] a queue is worth a search if somebody else is parked
  /\ at[t].pc = "parked"
  /\ \E m \in at[t].todo :
       LET counts == IF Keeps("idle_bit_only") THEN word[m] = "PARKED" ELSE TRUE
           seen == at[t].seen \cup (IF counts THEN {m} ELSE {})
           rest == at[t].todo \ {m}
           worth == IF Keeps("hit_itself") THEN {x \in Victims : seen \ {x} # {}} ELSE Victims
       IN IF rest # {} THEN Goto(t, "parked", None, rest, seen)
          ELSE IF seen = {} THEN Return(t) ELSE Goto(t, "scan", None, worth, {})
  /\ Looks
=============================================================================
