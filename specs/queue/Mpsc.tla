-------------------------------- MODULE Mpsc -------------------------------
(***************************************************************************)
(* An unbounded queue of intrusive nodes with many producers and one       *)
(* consumer, in the manner of Vyukov's MPSC queue. The queue is a chain of *)
(* link cells: first the cell `first`, then the `next` cell of each node.  *)
(* `tail` names the last cell. A push reserves the last cell by exchanging *)
(* the tail, and then publishes its node by writing it into that cell.     *)
(* Between these two steps there is a bubble: the node is in the queue,    *)
(* but no link leads to it yet. The consumer moves the node of `first` to  *)
(* `head` and pops from there.                                             *)
(*                                                                         *)
(* Code       kernel/queue/mpsc.h; [mpsc.1]..[mpsc.16] name sites in that  *)
(*            file.                                                        *)
(* Abstracts  the threads that may hold the queue's ticket (BiasedLock) to *)
(*            one consumer. A node may be pushed again, by any producer,   *)
(*            as soon as it was popped.                                    *)
(* Memory     sequential consistency; the release [mpsc.3] hands nodes     *)
(*            over to [mpsc.4] and [mpsc.5].                               *)
(* Promises   Fifo, NoLoss, EmptyIsTrue, BubbleIsNotWork, OneIsTrue,       *)
(*            PoppedIsUntouched, PushNeverFails.                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Producers,  \* threads that push
  Siblings,   \* threads that read the queue without holding the ticket
  Nodes,      \* what is pushed
  NoNode,     \* NULL
  TakesMany   \* whether the consumer may take several nodes in one call (wp_mpsc_pop_many)

ASSUME TakesManyOrOne == TakesMany \in BOOLEAN
ASSUME ApartFromNodes == NoNode \notin Nodes /\ "first" \notin Nodes

VARIABLES
  cell,      \* link cell -> the node that it names: cell["first"] and, for each node, its `next`
  head,      \* queue->head: the node at the front, once the consumer has adopted it
  tail,      \* queue->tail: the last link cell
  where,     \* node -> "free", "pushing", "in", or "out" (the consumer has taken it)
  producer,  \* producer -> [at: its next step, node: the node that it pushes, cell: the cell that
             \* it has reserved]
  consumer,  \* [at: its next step, node, next]
  sibling,   \* sibling -> [at: its next step, cell: the address that it has read, seen: a ghost]
  pushed     \* a ghost: the nodes in the queue, in the order in which their producers exchanged the
             \* tail
vars == <<cell, head, tail, where, producer, consumer, sibling, pushed>>

Cells == Nodes \cup {"first"}
TypeOK ==
  /\ cell \in [Cells -> Nodes \cup {NoNode}]
  /\ head \in Nodes \cup {NoNode}
  /\ tail \in Cells
  /\ where \in [Nodes -> {"free", "pushing", "in", "out"}]
  /\ producer \in [Producers ->
       [at : {"idle", "publish"}, node : Nodes \cup {NoNode}, cell : Cells]]
  /\ consumer \in [at : {"idle", "adopt", "open", "look", "advance", "unlink", "took"},
                   node : Nodes \cup {NoNode}, next : Nodes \cup {NoNode}]
  /\ sibling \in [Siblings -> [at : {"idle", "second", "tail", "moot", "touch", "lied", "missed"},
                               cell : Cells, seen : SUBSET Nodes]]
  /\ pushed \in Seq(Nodes)

IdleProducer == [at |-> "idle", node |-> NoNode, cell |-> "first"]
IdleConsumer == [at |-> "idle", node |-> NoNode, next |-> NoNode]
IdleSibling  == [at |-> "idle", cell |-> "first", seen |-> {}]
Init ==
  /\ cell = [c \in Cells |-> NoNode]
  /\ head = NoNode
  /\ tail = "first"
  /\ where = [n \in Nodes |-> "free"]
  /\ producer = [p \in Producers |-> IdleProducer]
  /\ consumer = IdleConsumer
  /\ sibling = [s \in Siblings |-> IdleSibling]
  /\ pushed = <<>>

\* TRUE if the head names a node that was taken already, which is so between [mpsc.7] and [mpsc.6].
Gone ==
  /\ head # NoNode
  /\ head = consumer.node
  /\ where[head] = "out"

\* The nodes that links lead to: those before the first bubble.
Prefix ==
  {pushed[i] : i \in {k \in 1 .. Len(pushed) : \A b \in 1 .. k : where[pushed[b]] = "in"}}

(* A producer. *)
GotoProducer(p, at, n, c) ==
  producer' = [producer EXCEPT ![p] = [at |-> at, node |-> n, cell |-> c]]

Move(n, place) == where' = [where EXCEPT ![n] = place]

\* The producer clears its node's link and exchanges the tail. It has now reserved the last cell.
Reserve(p, n) ==             \* [mpsc.1] [mpsc.2]
  /\ producer[p].at = "idle"
  /\ where[n] = "free"
  /\ Move(n, "pushing")
  /\ cell' = [cell EXCEPT ![n] = NoNode]
  /\ GotoProducer(p, "publish", n, tail)
  /\ tail' = n
  /\ pushed' = Append(pushed, n)
  /\ UNCHANGED <<head, consumer, sibling>>

\* The producer writes its node into the reserved cell, so the node can be found. The caller signals
\* after this step.
Publish(p) ==                \* [mpsc.3]
  LET n == producer[p].node
      c == producer[p].cell
  IN /\ producer[p].at = "publish"
     /\ cell' = [cell EXCEPT ![c] = n]
     /\ Move(n, "in")
     /\ producer' = [producer EXCEPT ![p] = IdleProducer]
     /\ UNCHANGED <<head, tail, consumer, sibling, pushed>>

(* The consumer. *)
GotoConsumer(at, n, next) == consumer' = [at |-> at, node |-> n, next |-> next]
Forget(s, n) == IF sibling[s].at = "tail" /\ sibling[s].cell = n THEN "moot" ELSE sibling[s].at

\* Ghost: node n leaves the queue, so what siblings have read about n no longer counts.
Moot(n) == sibling' =
  [s \in Siblings |-> [sibling[s] EXCEPT !.at = Forget(s, n), !.seen = @ \ {n}]]

\* The consumer begins a pop. If no node is published, the pop returns NULL, which is no step of
\* this model.
Pop ==                       \* [mpsc.15] [mpsc.4]
  /\ consumer.at = "idle"
  /\ \/ head # NoNode
     \/ cell["first"] # NoNode
  /\ IF head # NoNode
     THEN GotoConsumer("look", head, NoNode)
     ELSE GotoConsumer("adopt", cell["first"], NoNode)
  /\ UNCHANGED <<cell, head, tail, where, producer, sibling, pushed>>

\* The consumer adopts the first node as its head.
Adopt ==                     \* [mpsc.13]
  /\ consumer.at = "adopt"
  /\ head' = consumer.node
  /\ GotoConsumer("open", head', NoNode)
  /\ UNCHANGED <<cell, tail, where, producer, sibling, pushed>>

\* The consumer clears `first` while no producer has reserved this cell, and before [mpsc.7] makes
\* it the tail again.
Open ==                      \* [mpsc.8]
  /\ consumer.at = "open"
  /\ cell' = [cell EXCEPT !["first"] = NoNode]
  /\ consumer' = [consumer EXCEPT !.at = "look"]
  /\ UNCHANGED <<head, tail, where, producer, sibling, pushed>>

\* The consumer reads the link of its node.
Look ==                      \* [mpsc.5]
  /\ consumer.at = "look"
  /\ LET next == cell[consumer.node]
     IN GotoConsumer(IF next # NoNode THEN "advance" ELSE "unlink", consumer.node, next)
  /\ UNCHANGED <<cell, head, tail, where, producer, sibling, pushed>>

\* A consumer that takes several nodes in one call leaves the last one, unless it is the first.
LeaveLast ==                 \* [mpsc.5]
  /\ TakesMany
  /\ consumer.at = "look"
  /\ cell[consumer.node] = NoNode
  /\ consumer' = IdleConsumer
  /\ UNCHANGED <<cell, head, tail, where, producer, sibling, pushed>>

\* The consumer moves its head to the next node. After [mpsc.7] there is no next node.
Advance ==                   \* [mpsc.6]
  /\ consumer.at = "advance"
  /\ head' = consumer.next
  /\ Move(consumer.node, "out")
  /\ Moot(consumer.node)
  /\ GotoConsumer("took", consumer.node, NoNode)
  /\ IF consumer.next # NoNode
     THEN pushed' = Tail(pushed)
     ELSE UNCHANGED pushed
  /\ UNCHANGED <<cell, tail, producer>>

\* The consumer takes the last node by moving the tail back to `first`. If a producer has meanwhile
\* reserved the node's cell, the pop returns NULL: the stalled push of this producer holds the node
\* back for a while.
Unlink ==                    \* [mpsc.16] [mpsc.7]
  /\ consumer.at = "unlink"
  /\ IF tail = consumer.node
     THEN /\ tail' = "first"
          /\ Move(consumer.node, "out")
          /\ Moot(consumer.node)
          /\ GotoConsumer("advance", consumer.node, NoNode)
          /\ pushed' = Tail(pushed)
     ELSE /\ consumer' = IdleConsumer
          /\ UNCHANGED <<tail, where, sibling, pushed>>
  /\ UNCHANGED <<cell, head, producer>>

\* The consumer runs the node's task, and then the node is free.
GiveAway ==
  /\ consumer.at = "took"
  /\ Move(consumer.node, "free")
  /\ consumer' = IdleConsumer
  /\ UNCHANGED <<cell, head, tail, producer, sibling, pushed>>

(* A sibling reads `first`, then `head`, then perhaps the tail. It never reads a node. *)
HasPublished ==
  \/ cell["first"] # NoNode
  \/ head # NoNode

IsQuiescent == tail = "first"    \* [mpsc.10]
GotoSibling(s, at, c, seen) ==
  /\ sibling' = [sibling EXCEPT ![s] = [at |-> at, cell |-> c, seen |-> seen]]
  /\ UNCHANGED <<cell, head, tail, where, producer, consumer, pushed>>

AskAbout(s, n) == GotoSibling(s, IF where[n] = "out" THEN "moot" ELSE "tail", n, {})

\* A sibling reads `first`.
AskFirst(s) ==               \* [mpsc.9]
  /\ sibling[s].at = "idle"
  /\ LET read == cell["first"]
     IN IF read # NoNode
        THEN AskAbout(s, read)
        ELSE GotoSibling(s, "second", "first", Prefix)

\* A sibling that found `first` empty reads `head`. If it finds that empty too, it returns "nothing
\* published". This is false if a node that it could have seen is still in the queue.
AskSecond(s) ==              \* [mpsc.11]
  /\ sibling[s].at = "second"
  /\ LET read == head
     IN IF read # NoNode
        THEN AskAbout(s, read)
        ELSE GotoSibling(s, IF sibling[s].seen # {} THEN "missed" ELSE "idle", "first", {})

\* A sibling reads the tail last, to learn whether the node that it has read is the only one.
AskTail(s) ==                \* [mpsc.10] [mpsc.12] [mpsc.14]
  /\ sibling[s].at \in {"tail", "moot"}
  /\ LET read == tail
         lied == /\ read = sibling[s].cell
                 /\ sibling[s].at = "tail"
                 /\ pushed # <<read>>
     IN GotoSibling(s, IF lied THEN "lied" ELSE "idle", "first", {})

(* What must hold. *)

\* A step in which node n joins the queue, and one in which the consumer takes it.
Joins(n) == where[n] = "free" /\ where'[n] # "free"
Leaves(n) == where[n] # "out" /\ where'[n] = "out"

\* Nodes come out in the order in which their producers exchanged the tail: a node joins the queue at
\* its end, and only its first node is taken.
Fifo ==
  [][/\ \A n \in Nodes : Joins(n) => pushed' = Append(pushed, n)
     /\ \A n \in Nodes : Leaves(n) => pushed # <<>> /\ n = Head(pushed) /\ pushed' = Tail(pushed)
     /\ (\A n \in Nodes : ~Joins(n) /\ ~Leaves(n)) => pushed' = pushed]_vars

\* The link cell before the node at place i of the queue.
Before(i) == IF i > 1 THEN pushed[i - 1] ELSE "first"

\* Some producer will write this node into that cell.
WillBeLinked(i) ==
  \E p \in Producers : /\ producer[p].at # "idle"
                      /\ producer[p].node = pushed[i]
                      /\ producer[p].cell = Before(i)

\* Each node that was published and not popped is in the queue, and the link cell before it names it.
\* The first node may be named by the head instead, or by the consumer that is about to set the head.
\* Each other node in the queue has a producer that will write the node into the cell before it.
NoLoss ==
  /\ \A n \in Nodes : where[n] = "in" => \E i \in 1 .. Len(pushed) : pushed[i] = n
  /\ \A i \in 1 .. Len(pushed) :
       IF where[pushed[i]] = "in"
       THEN \/ cell[Before(i)] = pushed[i]
            \/ i = 1 /\ head = pushed[i]
            \/ i = 1 /\ consumer.at = "adopt" /\ consumer.node = pushed[i]
       ELSE WillBeLinked(i)

\* The answers "nothing published" and "quiescent" are true. After "nothing published" the queue is
\* empty or begins with a bubble, and the producer of that bubble will signal. After "quiescent" the
\* queue is empty.
EmptyIsTrue ==
  /\ ~HasPublished => pushed = <<>> \/ where[Head(pushed)] = "pushing"
  /\ IsQuiescent => pushed = <<>>
  /\ \A s \in Siblings : sibling[s].at # "missed"

\* A bubble does not count as published, so no consumer spins while it waits for a producer that was
\* preempted between its two steps.
BubbleIsNotWork == HasPublished => Gone \/ (pushed # <<>> /\ where[Head(pushed)] = "in")

\* The answer "holds one" is true at the last read, unless the one node was popped and pushed again
\* before it.
OneIsTrue == \A s \in Siblings : sibling[s].at # "lied"

\* No thread reads or writes a node that is not in the queue, because the owner of the node may have
\* freed it.
PoppedIsUntouched ==
  /\ \A p \in Producers : producer[p].at = "publish" /\ producer[p].cell \in Nodes
                            => where[producer[p].cell] \in {"pushing", "in"}
  /\ \A s \in Siblings : sibling[s].at = "touch" => where[sibling[s].cell] = "in"

\* A push can begin whenever there is a node, and it ends after its producer's own steps. So it
\* never waits and never fails.
PushNeverFails == \A p \in Producers :
  IF producer[p].at = "idle"
  THEN \A n \in Nodes : where[n] = "free" => ENABLED Reserve(p, n)
  ELSE ENABLED Publish(p)

Next ==
  \/ \E p \in Producers : Publish(p) \/ \E n \in Nodes : Reserve(p, n)
  \/ Pop \/ Adopt \/ Open \/ Look \/ LeaveLast \/ Advance \/ Unlink \/ GiveAway
  \/ \E s \in Siblings : AskFirst(s) \/ AskSecond(s) \/ AskTail(s)

Spec == Init /\ [][Next]_vars     \* the system runs for ever: no state is an intended end

(* The inductive invariant, from which the safety claims follow for any number of threads and nodes. *)

\* What is named is a node where it has to be one.
IndTypes ==
  /\ head \in Nodes \cup {NoNode}
  /\ \A i \in 1 .. Len(pushed) : pushed[i] \in Nodes
  /\ \A p \in Producers : producer[p].at # "idle" => producer[p].node \in Nodes
  /\ consumer.at # "idle" => consumer.node \in Nodes
  /\ consumer.next \in Nodes \cup {NoNode}
  /\ \A s \in Siblings : sibling[s].seen \subseteq Nodes

\* TRUE if the head names the first node of the queue.
Headed == head # NoNode /\ ~Gone

\* The queue has nodes that are pushed or published, each once, and all that are published.
HasItsNodes ==
  /\ \A i \in 1 .. Len(pushed) : where[pushed[i]] \in {"pushing", "in"}
  /\ \A n \in Nodes : where[n] = "in" => \E i \in 1 .. Len(pushed) : pushed[i] = n
IsDistinct == \A i, j \in 1 .. Len(pushed) : i < j => pushed[i] # pushed[j]

\* The tail is the cell behind the last node, and this cell names no node yet.
TailIsLast ==
  /\ tail = IF pushed = <<>> THEN "first" ELSE pushed[Len(pushed)]
  /\ cell[tail] = NoNode

\* The cell of a node in the queue names the next node, exactly if that one is published.
LinksLead ==
  \A i \in 1 .. Len(pushed) - 1 :
    cell[pushed[i]] = IF where[pushed[i + 1]] = "in" THEN pushed[i + 1] ELSE NoNode

\* The same holds of `first` and the first node, unless the head names that node. Then the cell is
\* empty, but for the time before [mpsc.8].
FirstLeads ==
  /\ pushed # <<>> /\ ~Headed =>
       cell["first"] = IF where[pushed[1]] = "in" THEN pushed[1] ELSE NoNode
  /\ Headed => cell["first"] = IF consumer.at = "open" THEN head ELSE NoNode

\* The head names the first node, which is published.
HeadIsFirst == Headed => pushed # <<>> /\ head = pushed[1] /\ where[head] = "in"

\* Each producer that has reserved a cell pushes a node of its own, each node that is not published
\* has such a producer, and the producer's cell is the one before its node.
OwnsItsNode ==
  \A p, q \in Producers : p # q /\ producer[p].at # "idle" /\ producer[q].at # "idle" =>
    producer[p].node # producer[q].node
BubbleIsOwned ==
  \A i \in 1 .. Len(pushed) : where[pushed[i]] = "pushing" => WillBeLinked(i)
ReservedIsBefore ==
  \A p \in Producers : producer[p].at # "idle" =>
    /\ where[producer[p].node] = "pushing"
    /\ IF producer[p].cell = "first"
       THEN pushed # <<>> /\ producer[p].node = pushed[1] /\ ~Headed
       ELSE \E i \in 1 .. Len(pushed) - 1 :
              pushed[i] = producer[p].cell /\ pushed[i + 1] = producer[p].node

\* What the consumer has read is so until it takes its node, and its node is out from then on.
ConsumerIsRight ==
  /\ consumer.at = "idle" => ~Gone
  /\ consumer.at = "adopt" => head = NoNode /\ cell["first"] = consumer.node
  /\ consumer.at \in {"open", "look", "unlink"} => Headed /\ head = consumer.node
  /\ consumer.at = "advance" =>
       /\ head = consumer.node
       /\ IF consumer.next = NoNode THEN Gone ELSE Headed /\ cell[head] = consumer.next
  /\ consumer.at = "took" => where[consumer.node] = "out" /\ ~Gone

\* A sibling that read a node which is not out has read the first one.
AskedIsFirst ==
  \A s \in Siblings : sibling[s].at = "tail" => pushed # <<>> /\ sibling[s].cell = pushed[1]

\* What a sibling has found published is in the queue, and the head leads to it.
SeenIsThere ==
  \A s \in Siblings : \A n \in sibling[s].seen : where[n] = "in" /\ Headed

\* No sibling reads a node, or was told something false.
SiblingIsRight == \A s \in Siblings : sibling[s].at \notin {"touch", "lied", "missed"}

IndInv ==
  /\ IndTypes
  /\ HasItsNodes
  /\ IsDistinct
  /\ TailIsLast
  /\ LinksLead
  /\ FirstLeads
  /\ HeadIsFirst
  /\ OwnsItsNode
  /\ BubbleIsOwned
  /\ ReservedIsBefore
  /\ ConsumerIsRight
  /\ AskedIsFirst
  /\ SeenIsThere
  /\ SiblingIsRight
=============================================================================
