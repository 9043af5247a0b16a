-------------------------------- MODULE Mpsc -------------------------------
(***************************************************************************)
(* An unbounded queue of intrusive nodes: many producers, one consumer.    *)
(* A chain of link cells: `first`, then the next of each node; `tail` is   *)
(* the last cell.  A push reserves the last cell, then publishes into it;  *)
(* between the two there is a bubble.                                      *)
(* Code       kernel/mpsc.h; [Q1]..[Q14] name sites in that file.          *)
(* Abstracts  the thread that holds the ticket to one consumer; a node is  *)
(*            pushed again, by anybody, as soon as it was popped.          *)
(* Memory     sequential consistency; [Q3] to [Q4], [Q5] hands nodes over. *)
(* Promises   Fifo (refinement), NoLoss, EmptyIsTrue, BubbleIsNotWork,     *)
(*            OneIsTrue, PoppedIsUntouched, PushNeverFails.                *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Producers,  \* threads that push
  Siblings,   \* threads that ask about the queue and hold no ticket
  Nodes,      \* what is pushed
  NoNode,     \* NULL
  Twin        \* "none", or the one defect of this model

ASSUME ApartFromNodes == NoNode \notin Nodes /\ "first" \notin Nodes

VARIABLES
  cell,      \* link cell -> the node it names: cell["first"] and, for each node, its `next`
  tail,      \* queue->tail: the last link cell
  where,     \* node -> "free", "pushing", "in", "out" (in the consumer's hands)
  producer,  \* producer -> [at: what it does next, node, cell: the reserved one]
  consumer,  \* [at: what it does next, node, next]
  sibling    \* sibling -> [at: what it does next, node: the address it has read]
vars == <<cell, tail, where, producer, consumer, sibling>>

Cells == Nodes \cup {"first"}

TypeOK ==
  /\ cell \in [Cells -> Nodes \cup {NoNode}]
  /\ tail \in Cells
  /\ where \in [Nodes -> {"free", "pushing", "in", "out"}]
  /\ producer \in [Producers ->
       [at : {"idle", "reserve", "publish", "late"}, node : Nodes \cup {NoNode}, cell : Cells]]
  /\ consumer \in [at : {"idle", "look", "advance", "drop", "unlink", "clear", "restore", "took"},
                   node : Nodes \cup {NoNode}, next : Nodes \cup {NoNode}]
  /\ sibling \in [Siblings -> [at : {"idle", "tail", "moot", "touch", "lied"}, cell : Cells]]

IdleProducer == [at |-> "idle", node |-> NoNode, cell |-> "first"]
IdleConsumer == [at |-> "idle", node |-> NoNode, next |-> NoNode]
IdleSibling  == [at |-> "idle", cell |-> "first"]
Init ==
  /\ cell = [c \in Cells |-> NoNode]
  /\ tail = "first"
  /\ where = [n \in Nodes |-> "free"]
  /\ producer = [p \in Producers |-> IdleProducer]
  /\ consumer = IdleConsumer
  /\ sibling = [s \in Siblings |-> IdleSibling]

(* The abstract queue, read off the cells: links, and reservations where a link is missing. *)
Reserved(c) == {p \in Producers : producer[p].at = "publish" /\ producer[p].cell = c}
Successor(c) ==
  LET given == c = "first" /\ consumer.at = "clear" /\ cell[c] = consumer.node   \* no link any more
  IN IF c = "first" /\ Twin = "clear_first" /\ consumer.at \in {"unlink", "restore"}
     THEN consumer.node
     ELSE IF cell[c] # NoNode /\ ~given THEN cell[c]
     ELSE IF Reserved(c) # {} THEN producer[CHOOSE p \in Reserved(c) : TRUE].node ELSE NoNode
RECURSIVE Follow(_, _)
Follow(c, atMost) ==
  IF atMost = 0 \/ Successor(c) = NoNode THEN <<>>
  ELSE <<Successor(c)>> \o Follow(Successor(c), atMost - 1)
Chain   == Follow("first", Cardinality(Nodes))
InChain(n) == \E i \in DOMAIN Chain : Chain[i] = n
Got     == IF consumer.at \in {"clear", "took"} THEN consumer.node ELSE NoNode

(* A producer. *)
GotoProducer(p, at, n, c) ==
  producer' = [producer EXCEPT ![p] = [at |-> at, node |-> n, cell |-> c]]
Move(n, place) == where' = [where EXCEPT ![n] = place]
Reserve(p, n) ==             \* [Q1] [Q2] clear next, exchange tail; twins read the tail here
  /\ producer[p].at = "idle" /\ where[n] = "free"
  /\ Twin = "bounded" => Len(Chain) < 2
  /\ Move(n, "pushing") /\ cell' = [cell EXCEPT ![n] = NoNode]
  /\ IF Twin \in {"split_reserve", "publish_first"}
     THEN GotoProducer(p, "reserve", n, tail) /\ UNCHANGED tail
     ELSE GotoProducer(p, "publish", n, tail) /\ tail' = n
  /\ UNCHANGED <<consumer, sibling>>
Publish(p) ==                \* [Q3] the node can be found; the caller signals after this
  LET n == producer[p].node  c == producer[p].cell IN
  /\ producer[p].at = IF Twin = "publish_first" THEN "reserve" ELSE "publish"
  /\ IF Twin = "push_waits" /\ c # "first" THEN where[c] = "in" ELSE TRUE
  /\ cell' = [cell EXCEPT ![c] = n] /\ Move(n, "in")
  /\ IF Twin = "publish_first" THEN GotoProducer(p, "late", n, c)
                               ELSE producer' = [producer EXCEPT ![p] = IdleProducer]
  /\ UNCHANGED <<tail, consumer, sibling>>
ReserveLate(p) ==            \* twins split_reserve, publish_first: the store of the tail
  /\ producer[p].at = IF Twin = "publish_first" THEN "late" ELSE "reserve"
  /\ tail' = producer[p].node
  /\ producer' = [producer EXCEPT ![p] = IF Twin = "publish_first" THEN IdleProducer
                                         ELSE [@ EXCEPT !.at = "publish"]]
  /\ UNCHANGED <<cell, where, consumer, sibling>>

(* The consumer. *)
GotoConsumer(at, n, next) == consumer' = [at |-> at, node |-> n, next |-> next]
Moot(n) == sibling' =         \* the ghost of OneIsTrue: the node asked about is gone
  [s \in Siblings |-> IF sibling[s].at = "tail" /\ sibling[s].cell = n
                     THEN [sibling[s] EXCEPT !.at = "moot"] ELSE sibling[s]]
Pop ==                       \* [Q4] nothing published: no step, NULL
  /\ consumer.at = "idle" /\ cell["first"] # NoNode
  /\ GotoConsumer("look", cell["first"], NoNode)
  /\ UNCHANGED <<cell, tail, where, producer, sibling>>
Look ==                      \* [Q5]
  /\ consumer.at = "look"
  /\ LET n == consumer.node IN
     GotoConsumer(IF cell[n] # NoNode THEN "advance"
                  ELSE IF Twin = "clear_first" THEN "drop" ELSE "unlink", n, cell[n])
  /\ UNCHANGED <<cell, tail, where, producer, sibling>>
Advance ==                   \* [Q6]
  /\ consumer.at = "advance"
  /\ cell' = [cell EXCEPT !["first"] = consumer.next]
  /\ Move(consumer.node, "out") /\ Moot(consumer.node)
  /\ GotoConsumer("took", consumer.node, NoNode)
  /\ UNCHANGED <<tail, producer>>
Unlink ==                    \* [Q7] the tail back; or NULL: since [Q5] it was hostage for a while
  /\ consumer.at = "unlink"
  /\ IF tail = consumer.node \/ Twin = "ignores_hostage"
     THEN /\ tail' = "first"
          /\ Move(consumer.node, "out") /\ Moot(consumer.node)
          /\ GotoConsumer(IF Twin = "clear_first" THEN "took" ELSE "clear", consumer.node, NoNode)
     ELSE /\ IF Twin = "clear_first" THEN GotoConsumer("restore", consumer.node, NoNode)
                                      ELSE consumer' = IdleConsumer
          /\ UNCHANGED <<tail, where, sibling>>
  /\ UNCHANGED <<cell, producer>>
Clear ==                     \* [Q8] compare-and-swap: a producer may have put its node there
  /\ consumer.at = "clear"
  /\ IF cell["first"] = consumer.node \/ Twin = "plain_clear"
     THEN cell' = [cell EXCEPT !["first"] = NoNode] ELSE UNCHANGED cell
  /\ GotoConsumer("took", consumer.node, NoNode)
  /\ UNCHANGED <<tail, where, producer, sibling>>
DropOrRestore ==             \* twin clear_first: `first` is cleared before the tail is taken back
  /\ consumer.at \in {"drop", "restore"}
  /\ cell' = [cell EXCEPT !["first"] = IF consumer.at = "drop" THEN NoNode ELSE consumer.node]
  /\ consumer' = IF consumer.at = "drop" THEN [consumer EXCEPT !.at = "unlink"] ELSE IdleConsumer
  /\ UNCHANGED <<tail, where, producer, sibling>>
GiveAway ==                  \* the caller runs the node's task, then the node is free
  /\ consumer.at = "took" /\ Move(consumer.node, "free")
  /\ consumer' = IdleConsumer
  /\ UNCHANGED <<cell, tail, producer, sibling>>

(* A sibling: it reads the queue, never a node. *)
HasPublished == IF Twin = "asks_tail" THEN tail # "first" ELSE cell["first"] # NoNode   \* [Q9]
IsQuiescent  == tail = "first"                                                          \* [Q10]
GotoSibling(s, at, c) == sibling' = [sibling EXCEPT ![s] = [at |-> at, cell |-> c]]
AskFirst(s) ==               \* [Q9] [Q11] [Q13] wp_mpsc_holds_one, wp_mpsc_is_alone: the first read
  /\ sibling[s].at = "idle"
  /\ LET read == IF Twin = "asks_backwards" THEN tail ELSE cell["first"] IN
     /\ read \in Nodes
     /\ GotoSibling(s, IF Twin = "reads_node" THEN "touch"
                       ELSE IF where[read] = "out" THEN "moot" ELSE "tail", read)
  /\ UNCHANGED <<cell, tail, where, producer, consumer>>
AskTail(s) ==                \* [Q10] [Q12] [Q14] the second read: is the same node the last one?
  /\ sibling[s].at \in {"tail", "moot"}
  /\ LET read == IF Twin = "asks_backwards" THEN cell["first"] ELSE tail
         lied == read = sibling[s].cell /\ sibling[s].at = "tail" /\ Chain # <<read>> IN
     GotoSibling(s, IF lied THEN "lied" ELSE "idle", "first")
  /\ UNCHANGED <<cell, tail, where, producer, consumer>>

(* What must hold. *)
\* Nodes come out in the order of their reservations.
Abstract == INSTANCE Fifo WITH queue <- Chain, got <- Got
Fifo == Abstract!Spec
\* What was published and not popped can be reached.
NoLoss == \A n \in Nodes : where[n] = "in" => InChain(n)
\* "Nothing published" and "quiescent" are true: at most a bubble, whose producer will signal.
EmptyIsTrue ==
  /\ ~HasPublished => Chain = <<>> \/ where[Head(Chain)] = "pushing" \/ consumer.at = "unlink"
  /\ IsQuiescent => Chain = <<>>
\* "Published" is not said of a bubble: nobody spins on a producer that has lost its CPU in it.
BubbleIsNotWork ==
  HasPublished => consumer.at = "clear" \/ (Chain # <<>> /\ where[Head(Chain)] = "in")
\* "Holds one" is true at the second read, unless that node was popped and pushed again by then.
OneIsTrue == \A s \in Siblings : sibling[s].at # "lied"
\* Nobody writes or reads a node that is not in the queue: its owner may have freed it.
PoppedIsUntouched ==
  /\ \A p \in Producers : producer[p].at = "publish" /\ producer[p].cell \in Nodes
                            => where[producer[p].cell] \in {"pushing", "in"}
  /\ \A s \in Siblings : sibling[s].at = "touch" => where[sibling[s].cell] = "in"
\* A push begins whenever there is a node, and ends by its own steps: it never waits, never fails.
PushNeverFails == \A p \in Producers :
  IF producer[p].at = "idle"
  THEN \A n \in Nodes : where[n] = "free" => ENABLED Reserve(p, n)
  ELSE ENABLED (Publish(p) \/ ReserveLate(p))

Next ==
  \/ \E p \in Producers : Publish(p) \/ ReserveLate(p) \/ \E n \in Nodes : Reserve(p, n)
  \/ Pop \/ Look \/ Advance \/ Unlink \/ Clear \/ DropOrRestore \/ GiveAway
  \/ \E s \in Siblings : AskFirst(s) \/ AskTail(s)
Spec == Init /\ [][Next]_vars     \* runs for ever: no state is an intended end
=============================================================================
Results (TLC 2.15, two shared cores): distinct states, depth, seconds.
  MCMpsc                         6,010    28     4.3
  MCMpscFull                     6,650    41    61.7
