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
(* Promises   Fifo (refinement), NoLoss, EmptyIsTrue, BubbleIsNotWork,     *)
(*            OneIsTrue, PoppedIsUntouched, PushNeverFails.                *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Producers,  \* threads that push
  Siblings,   \* threads that read the queue without holding the ticket
  Nodes,      \* what is pushed
  NoNode      \* NULL

ASSUME ApartFromNodes == NoNode \notin Nodes /\ "first" \notin Nodes

VARIABLES
  cell,      \* link cell -> the node that it names: cell["first"] and, for each node, its `next`
  head,      \* queue->head: the node at the front, once the consumer has adopted it
  tail,      \* queue->tail: the last link cell
  where,     \* node -> "free", "pushing", "in", or "out" (the consumer has taken it)
  producer,  \* producer -> [at: its next step, node: the node that it pushes, cell: the cell that
             \* it has reserved]
  consumer,  \* [at: its next step, node, next]
  sibling    \* sibling -> [at: its next step, cell: the address that it has read, seen: a ghost]
vars == <<cell, head, tail, where, producer, consumer, sibling>>

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

(* The abstract queue, read from the cells: links, and reservations where a link is missing. *)
\* The producers that have reserved link cell c and not yet written their node into it.
Reserved(c) == {p \in Producers : producer[p].at = "publish" /\ producer[p].cell = c}

\* The node behind link cell c: the one that is linked there, or the one whose producer has reserved
\* the cell.
Successor(c) ==
  IF cell[c] # NoNode THEN cell[c]
  ELSE IF Reserved(c) # {} THEN producer[CHOOSE p \in Reserved(c) : TRUE].node
  ELSE NoNode

RECURSIVE Follow(_, _)
Follow(c, atMost) ==
  IF atMost = 0 \/ Successor(c) = NoNode
  THEN <<>>
  ELSE <<Successor(c)>> \o Follow(Successor(c), atMost - 1)

\* The node that the consumer has taken, or NoNode.
Got == IF consumer.node # NoNode /\ where[consumer.node] = "out" THEN consumer.node ELSE NoNode

\* TRUE if the head names a node that was taken already, which is so between [mpsc.7] and [mpsc.6].
Gone ==
  /\ head # NoNode
  /\ head = Got

\* The first node of the abstract queue, or NoNode.
Front ==
  IF head # NoNode /\ ~Gone THEN head
  ELSE Successor("first")

\* The abstract queue.
Chain == IF Front = NoNode THEN <<>> ELSE <<Front>> \o Follow(Front, Cardinality(Nodes) - 1)

\* The nodes that links lead to: those before the first bubble.
Prefix == {Chain[i] : i \in {k \in DOMAIN Chain : \A b \in 1 .. k : where[Chain[b]] = "in"}}

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
     /\ UNCHANGED <<head, tail, consumer, sibling>>

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
  /\ UNCHANGED <<cell, head, tail, where, producer, sibling>>

\* The consumer adopts the first node as its head.
Adopt ==                     \* [mpsc.13]
  /\ consumer.at = "adopt"
  /\ head' = consumer.node
  /\ GotoConsumer("open", head', NoNode)
  /\ UNCHANGED <<cell, tail, where, producer, sibling>>

\* The consumer clears `first` while no producer has reserved this cell, and before [mpsc.7] makes
\* it the tail again.
Open ==                      \* [mpsc.8]
  /\ consumer.at = "open"
  /\ cell' = [cell EXCEPT !["first"] = NoNode]
  /\ consumer' = [consumer EXCEPT !.at = "look"]
  /\ UNCHANGED <<head, tail, where, producer, sibling>>

\* The consumer reads the link of its node.
Look ==                      \* [mpsc.5]
  /\ consumer.at = "look"
  /\ LET next == cell[consumer.node]
     IN GotoConsumer(IF next # NoNode THEN "advance" ELSE "unlink", consumer.node, next)
  /\ UNCHANGED <<cell, head, tail, where, producer, sibling>>

\* The consumer moves its head to the next node. After [mpsc.7] there is no next node.
Advance ==                   \* [mpsc.6]
  /\ consumer.at = "advance"
  /\ head' = consumer.next
  /\ Move(consumer.node, "out")
  /\ Moot(consumer.node)
  /\ GotoConsumer("took", consumer.node, NoNode)
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
     ELSE /\ consumer' = IdleConsumer
          /\ UNCHANGED <<tail, where, sibling>>
  /\ UNCHANGED <<cell, head, producer>>

\* The consumer runs the node's task, and then the node is free.
GiveAway ==
  /\ consumer.at = "took"
  /\ Move(consumer.node, "free")
  /\ consumer' = IdleConsumer
  /\ UNCHANGED <<cell, head, tail, producer, sibling>>

(* A sibling reads `first`, then `head`, then perhaps the tail. It never reads a node. *)
HasPublished ==
  \/ cell["first"] # NoNode
  \/ head # NoNode

IsQuiescent == tail = "first"    \* [mpsc.10]
GotoSibling(s, at, c, seen) ==
  /\ sibling' = [sibling EXCEPT ![s] = [at |-> at, cell |-> c, seen |-> seen]]
  /\ UNCHANGED <<cell, head, tail, where, producer, consumer>>

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
                 /\ Chain # <<read>>
     IN GotoSibling(s, IF lied THEN "lied" ELSE "idle", "first", {})

(* What must hold. *)

\* The abstract queue: nodes come out in the order of their reservations.
Abstract == INSTANCE Fifo WITH queue <- Chain, got <- Got

\* The queue refines Fifo: nodes come out in the order of their reservations.
Fifo == Abstract!Spec

\* Links lead to every node that was published and not popped.
NoLoss == \A n \in Nodes : where[n] = "in" => \E i \in DOMAIN Chain : Chain[i] = n

\* The answers "nothing published" and "quiescent" are true. After "nothing published" the queue is
\* empty or begins with a bubble, and the producer of that bubble will signal. After "quiescent" the
\* queue is empty.
EmptyIsTrue ==
  /\ ~HasPublished => Chain = <<>> \/ where[Head(Chain)] = "pushing"
  /\ IsQuiescent => Chain = <<>>
  /\ \A s \in Siblings : sibling[s].at # "missed"

\* A bubble does not count as published, so no consumer spins while it waits for a producer that was
\* preempted between its two steps.
BubbleIsNotWork == HasPublished => Gone \/ (Chain # <<>> /\ where[Head(Chain)] = "in")

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
  \/ Pop \/ Adopt \/ Open \/ Look \/ Advance \/ Unlink \/ GiveAway
  \/ \E s \in Siblings : AskFirst(s) \/ AskSecond(s) \/ AskTail(s)

Spec == Init /\ [][Next]_vars     \* the system runs for ever: no state is an intended end
=============================================================================
