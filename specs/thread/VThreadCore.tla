---------------------------- MODULE VThreadCore -----------------------------
(***************************************************************************)
(* The word of a virtual thread, and what its carriers do with it: from a  *)
(* queue onto a carrier, and off it by a park, a yield or its end.         *)
(* Code       kernel/thread/vthread.h, the left column; VThread.tla has    *)
(*            the right one, and the claims.                               *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Carriers,   \* they run the thread
  Unparkers,  \* threads that unpark it
  Unparks,    \* how many times each
  Parks,      \* how many parks the thread begins at the most
  Yields      \* how many times it yields at the most

ASSUME SomebodyRuns == Carriers # {} /\ {Unparks, Parks, Yields} \subseteq Nat

VARIABLES
  state,       \* task.word: "PARKED", "BUSY" (queued or run), "PINNED", "DONE", "CANCELLED"
  permit,      \* its bits: who has ended the park that is next, or now: "unpark", "timer"
  number,      \* of the park that is next, or now
  interrupted, \* the thread's flag
  cells,       \* published cells of the thread, in any queue: 0, 1; more is the bug
  timer,       \* the park that it is armed for; 0: it is not
  asleep,      \* the carrier of the pinned thread sleeps at the word
  pc,          \* thread -> what it does next
  left,        \* what is still to come of unparks, parks, yields
  told,        \* ghost: it was unparked, and no park has returned since
  due,         \* ghost: the park that the timer gave the permit for; 0: none
  writes,      \* ghost: threads that wrote something for the next run: the last runner, unparkers
  carried      \* ghost: whose writes come with the "word" (release sequence), with the "cell"
word == <<state, permit, number>>
ghosts == <<told, due, writes, carried>>
vars == <<word, interrupted, cells, timer, asleep, pc, left, ghosts>>

Interrupter == "interrupter"
Timer == "timer"          \* the carrier whose timers have the thread's
Canceller == "canceller"
Joiner == "joiner"
Others == Unparkers \cup {Interrupter, Timer}
Threads == Carriers \cup Others \cup {Canceller, Joiner}
Numbers == 0 .. Parks + Unparks * Cardinality(Unparkers) + 2

TypeOK ==
  /\ state \in {"PARKED", "BUSY", "PINNED", "DONE", "CANCELLED"}
  /\ permit \subseteq {"unpark", "timer"}
  /\ number \in Numbers
  /\ interrupted \in BOOLEAN
  /\ cells \in 0 .. 3
  /\ timer \in Numbers
  /\ asleep \in BOOLEAN
  /\ pc \in [Threads -> {"idle", "begin", "cancel", "run", "flag", "look", "armed", "park",
                         "refused", "pin", "pinned", "end", "push", "publish", "wake", "due",
                         "notify", "latch", "done"}]
  /\ left \in [Unparkers \cup {"parks", "yields"} -> Nat]
  /\ told \in BOOLEAN
  /\ due \in Numbers
  /\ writes \subseteq Threads
  /\ carried \in [{"word", "cell"} -> SUBSET Threads]

Init ==                       \* [vthread.17] started: somebody has pushed it
  /\ state = "BUSY"
  /\ permit = {}
  /\ number = 1
  /\ interrupted = FALSE
  /\ cells = 1
  /\ timer = 0
  /\ asleep = FALSE
  /\ pc = [t \in Threads |-> "idle"]
  /\ left = [x \in Unparkers \cup {"parks", "yields"} |->
               CASE x = "parks" -> Parks
                 [] x = "yields" -> Yields
                 [] OTHER -> Unparks]
  /\ told = FALSE
  /\ due = 0
  /\ writes = {}
  /\ carried = [at \in {"word", "cell"} |-> {}]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]

\* A read-modify-write with release adds to what the word carries; without, it goes on carrying.
Carry(t) == carried' = [carried EXCEPT !["word"] = @ \cup {t}]

(* Pushing it to its home, in two steps. *)
Reserve(t) ==                 \* [mpsc.2]; with a scheduler of its own: [vthread.14]
  /\ pc[t] = "push"
  /\ Goto(t, "publish")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

Publish(t) ==                 \* [mpsc.3]
  /\ pc[t] = "publish"
  /\ cells' = cells + 1
  /\ carried' = [carried EXCEPT !["cell"] = {t}]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<word, interrupted, timer, asleep, left, told, due, writes>>

SaysTimeout ==
  /\ "timer" \in permit
  /\ "unpark" \notin permit

\* The end of a park: BUSY, the permit is taken, the number changes.
Return(c) ==
  /\ state' = "BUSY"
  /\ permit' = {}
  /\ number' = number + 1
  /\ told' = (told /\ SaysTimeout)
  /\ due' = 0
  /\ writes' = (writes \ carried["word"]) \ {c}

(* A carrier: takes the thread, and runs it until it leaves. *)
Pop(c) ==                     \* [mpsc.4]..[mpsc.8]; with a scheduler of its own: [vthread.15]
  /\ pc[c] = "idle"
  /\ cells > 0
  /\ cells' = cells - 1
  /\ writes' = writes \ carried["cell"]
  /\ Goto(c, "begin")
  /\ UNCHANGED <<word, interrupted, timer, asleep, left, told, due, carried>>

Begin(c) ==                   \* [vthread.10] [vthread.2] wp__vthread_begin
  /\ pc[c] = "begin"
  /\ IF state = "PARKED"
     THEN Return(c)
     ELSE /\ writes' = writes \ {c}
          /\ UNCHANGED <<word, told, due>>
  /\ Goto(c, IF timer # 0 THEN "cancel" ELSE "run")
  /\ UNCHANGED <<interrupted, cells, timer, asleep, left, carried>>

CancelTimer(c) ==             \* under the timers' lock: before it, or after it has fired
  /\ pc[c] = "cancel"
  /\ pc[Timer] # "due"
  /\ timer' = 0
  /\ Goto(c, "run")
  /\ UNCHANGED <<word, interrupted, cells, asleep, left, ghosts>>

LookPermit(c) ==              \* [vthread.10] it parks: is there a permit?
  /\ pc[c] = "run"
  /\ left["parks"] > 0
  /\ left' = [left EXCEPT !["parks"] = @ - 1]
  /\ Goto(c, IF permit # {} THEN "end" ELSE "flag")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, ghosts>>

LookFlag(c) ==                \* [vthread.13] was it interrupted?
  /\ pc[c] = "flag"
  /\ Goto(c, IF interrupted THEN "run" ELSE "look")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

Arm(c) ==                     \* [vthread.10] a timed park
  /\ pc[c] = "look"
  /\ timer' = number
  /\ Goto(c, "armed")
  /\ UNCHANGED <<word, interrupted, cells, asleep, left, ghosts>>

BeginPark(c) ==               \* [vthread.10] it has left its stack
  /\ pc[c] \in {"look", "armed"}
  /\ Goto(c, "park")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

Park(c) ==                    \* [vthread.3] wp__vthread_park: refused if the permit is there
  /\ pc[c] = "park"
  /\ writes' = writes \cup {c}
  /\ IF permit # {}
     THEN /\ Goto(c, "refused")
          /\ UNCHANGED <<state, carried>>
     ELSE /\ state' = "PARKED"
          /\ Carry(c)
          /\ Goto(c, "idle")
  /\ UNCHANGED <<permit, number, interrupted, cells, timer, asleep, left, told, due>>

Refused(c) ==                 \* [vthread.4] takes the permit; goes to the end of the queue
  /\ pc[c] = "refused"
  /\ Return(c)
  /\ Goto(c, "push")
  /\ UNCHANGED <<interrupted, cells, timer, asleep, left, carried>>

Yield(c) ==                   \* no step of the word: it stays BUSY, with its permit
  /\ pc[c] = "run"
  /\ left["yields"] > 0
  /\ left' = [left EXCEPT !["yields"] = @ - 1]
  /\ writes' = writes \cup {c}
  /\ Goto(c, "push")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, told, due, carried>>

BeginPin(c) ==                \* [vthread.10] it parks where it cannot leave its carrier
  /\ pc[c] = "look"
  /\ Goto(c, "pin")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

Pin(c) ==                     \* [vthread.6] wp__vthread_park_pinned: not if the permit is there
  /\ pc[c] = "pin"
  /\ IF permit # {}
     THEN /\ Goto(c, "end")
          /\ UNCHANGED state
     ELSE /\ state' = "PINNED"
          /\ Goto(c, "pinned")
  /\ UNCHANGED <<permit, number, interrupted, cells, timer, asleep, left, ghosts>>

Sleep(c) ==                   \* [vthread.10] the futex looks and sleeps in one step
  /\ pc[c] = "pinned"
  /\ ~asleep
  /\ IF permit # {}
     THEN /\ Goto(c, "end")
          /\ UNCHANGED asleep
     ELSE /\ asleep' = TRUE
          /\ UNCHANGED pc
  /\ UNCHANGED <<word, interrupted, cells, timer, left, ghosts>>

TimesOut(c) ==                \* the sleep's own deadline
  /\ pc[c] = "pinned"
  /\ asleep
  /\ asleep' = FALSE
  /\ Goto(c, "end")
  /\ UNCHANGED <<word, interrupted, cells, timer, left, ghosts>>

End(c) ==                     \* [vthread.4] [vthread.11] the end of a park that did not leave the carrier
  /\ pc[c] = "end"
  /\ Return(c)
  /\ Goto(c, "run")
  /\ UNCHANGED <<interrupted, cells, timer, asleep, left, carried>>

Done(c) ==                    \* [vthread.7] wp__vthread_finish
  /\ pc[c] = "run"
  /\ state' = "DONE"
  /\ Goto(c, "latch")
  /\ UNCHANGED <<permit, number, interrupted, cells, timer, asleep, left, ghosts>>

Latch(c) ==                   \* [vthread.16] whoever joins goes on; then it lets go of the memory
  /\ pc[c] = "latch"
  /\ pc' = [pc EXCEPT ![c] = "idle", ![Joiner] = "done"]
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>
=============================================================================
