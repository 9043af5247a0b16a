-------------------------------- MODULE Fifo -------------------------------
(***************************************************************************)
(* What a queue is: nodes come out in the order in which they went in.     *)
(* Refined by Mpsc, where a push counts from its reservation on.           *)
(***************************************************************************)
EXTENDS Sequences

CONSTANTS Nodes, NoNode

VARIABLES
  queue,  \* pushed and not yet popped, oldest first
  got     \* the node in the consumer's hands, or NoNode

Init == queue = <<>> /\ got = NoNode
Push(n) ==
  /\ \A i \in DOMAIN queue : queue[i] # n
  /\ queue' = Append(queue, n)
  /\ UNCHANGED got
Pop ==
  /\ queue # <<>> /\ got = NoNode
  /\ got' = Head(queue)
  /\ queue' = Tail(queue)
GiveAway == got' = NoNode /\ UNCHANGED queue
Next == (\E n \in Nodes : Push(n)) \/ Pop \/ GiveAway
Spec == Init /\ [][Next]_<<queue, got>>
=============================================================================
