-------------------------------- MODULE Fifo -------------------------------
(***************************************************************************)
(* A queue: nodes come out in the order in which they went in. Mpsc        *)
(* refines this module; there a push counts from its reservation on.       *)
(***************************************************************************)
EXTENDS Sequences

CONSTANTS Nodes, NoNode  \* what is pushed, and the value that stands for no node

VARIABLES
  queue,  \* the nodes that are pushed and not yet popped, oldest first
  got     \* the node that the consumer has taken, or NoNode

Init == queue = <<>> /\ got = NoNode

\* A node that is not in the queue goes in at the back.
Push(n) ==
  /\ \A i \in DOMAIN queue : queue[i] # n
  /\ queue' = Append(queue, n)
  /\ UNCHANGED got

\* The consumer takes the oldest node.
Pop ==
  /\ queue # <<>>
  /\ got = NoNode
  /\ got' = Head(queue)
  /\ queue' = Tail(queue)

\* The consumer gives away the node that it has taken.
GiveAway == got' = NoNode /\ UNCHANGED queue
Next == (\E n \in Nodes : Push(n)) \/ Pop \/ GiveAway
Spec == Init /\ [][Next]_<<queue, got>>
=============================================================================
