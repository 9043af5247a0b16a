---------------------------- MODULE VThreadCore -----------------------------
(***************************************************************************)
(* The word of a virtual thread, and what carriers do with the thread. A   *)
(* carrier takes the thread from a queue and mounts it. The thread leaves  *)
(* the carrier by a park, by a yield or by its end.                        *)
(*                                                                         *)
(* Code       kernel/thread/vthread.h, the left column; VThread.tla has    *)
(*            the right one, and the claims.                               *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Carriers,   \* OS threads that run the virtual thread
  Unparkers,  \* threads that unpark it
  Unparks,    \* the number of times that each of them does so
  Parks,      \* the number of parks that the thread may begin
  Yields      \* the number of times that it may yield

ASSUME SomebodyRuns == Carriers # {} /\ {Unparks, Parks, Yields} \subseteq Nat
ASSUME ThreadsDiffer == \A c \in Carriers : c \notin Unparkers

VARIABLES
  state,       \* task.word: "PARKED", "BUSY" (queued or running), "PINNED" (parked without leaving
               \* its carrier), "DONE", "CANCELLED"
  permit,      \* the word's permit bits, which end the current or the next park: "unpark", "timer"
  number,      \* the number of the current or the next park
  interrupted, \* TRUE if the thread's flag `interrupted` is set
  cells,       \* the number of published cells of the thread, in all queues: 0 or 1, and more only
               \* if there is a bug
  timer,       \* the number of the park that the timer is armed for, or 0 if it is not armed
  asleep,      \* TRUE if the carrier of the pinned thread sleeps at the thread's word
  pc,          \* thread -> its next step
  left,        \* the numbers of unparks, parks and yields that are still to come
  told,        \* ghost: TRUE if the thread was unparked and no park has returned since
  due,         \* ghost: the number of the park that the timer has given the permit for, or 0
  writes,      \* ghost: the threads that have written something for the next run: the last runner,
               \* and unparkers
  carried      \* ghost: the threads whose writes are carried by the "word" (as a release sequence)
               \* or by the "cell"
word == <<state, permit, number>>
ghosts == <<told, due, writes, carried>>
vars == <<word, interrupted, cells, timer, asleep, pc, left, ghosts>>

Interrupter == "interrupter"

\* The carrier that has the thread's timer.
Timer == "timer"
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

\* The thread was started ([vthread.17]): another thread has pushed it.
Init ==
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

\* A read-modify-write with release adds the thread's writes to those that the word carries. One
\* without release leaves unchanged what the word carries.
Carry(t) == carried' = [carried EXCEPT !["word"] = @ \cup {t}]

(* A thread pushes the virtual thread to its home, in two steps. *)

\* The pushing thread reserves a place in the queue. If the virtual thread has a scheduler of its
\* own, this is [vthread.14].
Reserve(t) ==                 \* [mpsc.2]
  /\ pc[t] = "push"
  /\ Goto(t, "publish")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

\* The pushing thread publishes the cell.
Publish(t) ==                 \* [mpsc.3]
  /\ pc[t] = "publish"
  /\ cells' = cells + 1
  /\ carried' = [carried EXCEPT !["cell"] = {t}]
  /\ Goto(t, "idle")
  /\ UNCHANGED <<word, interrupted, timer, asleep, left, told, due, writes>>

\* TRUE if the park will return that its deadline has passed.
SaysTimeout ==
  /\ "timer" \in permit
  /\ "unpark" \notin permit

\* The park ends: the word becomes BUSY, the permit is taken, and the number changes.
Return(c) ==
  /\ state' = "BUSY"
  /\ permit' = {}
  /\ number' = number + 1
  /\ told' = (told /\ SaysTimeout)
  /\ due' = 0
  /\ writes' = (writes \ carried["word"]) \ {c}

(* A carrier takes the thread and runs it until the thread leaves. *)

\* A carrier takes the thread from a queue. If the thread has a scheduler of its own, this is
\* [vthread.15].
Pop(c) ==                     \* [mpsc.4]..[mpsc.8]
  /\ pc[c] = "idle"
  /\ cells > 0
  /\ cells' = cells - 1
  /\ writes' = writes \ carried["cell"]
  /\ Goto(c, "begin")
  /\ UNCHANGED <<word, interrupted, timer, asleep, left, told, due, carried>>

\* The carrier mounts the thread. If the thread was parked, its park ends.
Begin(c) ==                   \* [vthread.10] [vthread.2] wp__vthread_begin
  /\ pc[c] = "begin"
  /\ IF state = "PARKED"
     THEN Return(c)
     ELSE /\ writes' = writes \ {c}
          /\ UNCHANGED <<word, told, due>>
  /\ Goto(c, IF timer # 0 THEN "cancel" ELSE "run")
  /\ UNCHANGED <<interrupted, cells, timer, asleep, left, carried>>

\* The carrier cancels the thread's timer under the timers' lock, either before the timer fires or
\* after it has fired.
CancelTimer(c) ==
  /\ pc[c] = "cancel"
  /\ pc[Timer] # "due"
  /\ timer' = 0
  /\ Goto(c, "run")
  /\ UNCHANGED <<word, interrupted, cells, asleep, left, ghosts>>

\* The thread begins a park. If it has a permit, the park returns at once.
LookPermit(c) ==              \* [vthread.10]
  /\ pc[c] = "run"
  /\ left["parks"] > 0
  /\ left' = [left EXCEPT !["parks"] = @ - 1]
  /\ Goto(c, IF permit # {} THEN "end" ELSE "flag")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, ghosts>>

\* The park checks whether the thread was interrupted. If so, it returns at once.
LookFlag(c) ==                \* [vthread.13]
  /\ pc[c] = "flag"
  /\ Goto(c, IF interrupted THEN "run" ELSE "look")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

\* A park with a deadline arms the timer with the number of the park.
Arm(c) ==                     \* [vthread.10]
  /\ pc[c] = "look"
  /\ timer' = number
  /\ Goto(c, "armed")
  /\ UNCHANGED <<word, interrupted, cells, asleep, left, ghosts>>

\* The thread leaves its stack, to park.
BeginPark(c) ==               \* [vthread.10]
  /\ pc[c] \in {"look", "armed"}
  /\ Goto(c, "park")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

\* The carrier stores PARKED. If the thread has a permit, the park is refused.
Park(c) ==                    \* [vthread.3] wp__vthread_park
  /\ pc[c] = "park"
  /\ writes' = writes \cup {c}
  /\ IF permit # {}
     THEN /\ Goto(c, "refused")
          /\ UNCHANGED <<state, carried>>
     ELSE /\ state' = "PARKED"
          /\ Carry(c)
          /\ Goto(c, "idle")
  /\ UNCHANGED <<permit, number, interrupted, cells, timer, asleep, left, told, due>>

\* A refused park takes the permit, and the thread goes to the end of the queue.
Refused(c) ==                 \* [vthread.4]
  /\ pc[c] = "refused"
  /\ Return(c)
  /\ Goto(c, "push")
  /\ UNCHANGED <<interrupted, cells, timer, asleep, left, carried>>

\* The thread yields. This does not change the word, which stays BUSY and keeps its permit.
Yield(c) ==
  /\ pc[c] = "run"
  /\ left["yields"] > 0
  /\ left' = [left EXCEPT !["yields"] = @ - 1]
  /\ writes' = writes \cup {c}
  /\ Goto(c, "push")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, told, due, carried>>

\* The thread begins a pinned park, because it cannot leave its carrier here.
BeginPin(c) ==                \* [vthread.10]
  /\ pc[c] = "look"
  /\ Goto(c, "pin")
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>

\* The carrier stores PINNED, unless the thread has a permit.
Pin(c) ==                     \* [vthread.6] wp__vthread_park_pinned
  /\ pc[c] = "pin"
  /\ IF permit # {}
     THEN /\ Goto(c, "end")
          /\ UNCHANGED state
     ELSE /\ state' = "PINNED"
          /\ Goto(c, "pinned")
  /\ UNCHANGED <<permit, number, interrupted, cells, timer, asleep, left, ghosts>>

\* In one step the futex call compares the word and puts the carrier to sleep.
Sleep(c) ==                   \* [vthread.10]
  /\ pc[c] = "pinned"
  /\ ~asleep
  /\ IF permit # {}
     THEN /\ Goto(c, "end")
          /\ UNCHANGED asleep
     ELSE /\ asleep' = TRUE
          /\ UNCHANGED pc
  /\ UNCHANGED <<word, interrupted, cells, timer, left, ghosts>>

\* The sleep of the pinned thread's carrier ends at its own deadline.
TimesOut(c) ==
  /\ pc[c] = "pinned"
  /\ asleep
  /\ asleep' = FALSE
  /\ Goto(c, "end")
  /\ UNCHANGED <<word, interrupted, cells, timer, left, ghosts>>

\* A park during which the thread did not leave its carrier ends.
End(c) ==                     \* [vthread.4] [vthread.11]
  /\ pc[c] = "end"
  /\ Return(c)
  /\ Goto(c, "run")
  /\ UNCHANGED <<interrupted, cells, timer, asleep, left, carried>>

\* The thread ends.
Done(c) ==                    \* [vthread.7] wp__vthread_finish
  /\ pc[c] = "run"
  /\ state' = "DONE"
  /\ Goto(c, "latch")
  /\ UNCHANGED <<permit, number, interrupted, cells, timer, asleep, left, ghosts>>

\* The carrier opens the latch for threads that join, and then no longer accesses the thread's
\* memory.
Latch(c) ==                   \* [vthread.16]
  /\ pc[c] = "latch"
  /\ pc' = [pc EXCEPT ![c] = "idle", ![Joiner] = "done"]
  /\ UNCHANGED <<word, interrupted, cells, timer, asleep, left, ghosts>>
=============================================================================
