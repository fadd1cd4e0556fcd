// Loads that the page offers, with the step on which each opens. Texts are those of `Load` in
// src/load.rs.

export const LOADS = [
  {
    name: "sets",
    opens: 21,
    title: "Groups move between the sets",
    about: "Worked by hand in crates/roundelay/tests/traces/qfq-sets.md. The long packet of X moves V past the slots of A and B; when B would finish first, A's group is blocked.",
    text: `link 8mbit
flow A weight 4 longest 2048
flow D weight 4 longest 2048
flow B weight 2 longest 2048
flow X weight 4 longest 40960
flow E weight 2 longest 2048   # never sends
A 2048 x 8
B 2048 x 3
X 40960 x 2
D 2048 at 53248us`,
  },
  {
    name: "crossing",
    opens: 28,
    title: "The start-time rule decides",
    about: "C becomes backlogged at 53.248 ms, when V has passed F of B's group. Started at V, as printed and by Linux's rule, C's group finishes after B's and is still served before it: ER is not sorted by F at step 28. Started at F of B's group, C's group finishes no later.",
    text: `link 8mbit
flow A weight 1 longest 2048
flow X weight 1 longest 16384
flow B weight 2 longest 2048
flow C weight 4 longest 2048
A 2048 at 0
C 2048 at 0
C 2048 at 2048us
X 16384 at 4096us
C 2048 at 4096us
X 16384 at 22528us
C 2048 at 24576us
B 2048 at 26624us
C 2048 at 26624us
B 2048 at 28672us
C 2048 at 28672us
C 2048 at 30720us
B 2048 at 49152us
C 2048 at 49152us
C 2048 at 53248us`,
  },
  {
    name: "heavy",
    opens: 30,
    title: "A heavy flow among light ones",
    about: "H has half of the link. DRR sends all packets of its turn together; QFQ and WF2Q+ spread them as the fluid server does.",
    text: `link 8mbit
flow H weight 8 longest 1500
flow a weight 1 longest 1500
flow b weight 1 longest 1500
flow c weight 1 longest 1500
flow d weight 1 longest 1500
flow e weight 1 longest 1500
flow f weight 1 longest 1500
flow g weight 1 longest 1500
flow h weight 1 longest 1500
H 1500 x 16
a 1500 x 2
b 1500 x 2
c 1500 x 2
d 1500 x 2
e 1500 x 2
f 1500 x 2
g 1500 x 2
h 1500 x 2`,
  },
  {
    name: "idle",
    opens: 7,
    title: "A flow goes idle and comes back",
    about: "B keeps its finish time while idle. When both queues are empty, V stands still; the next packet makes V jump.",
    text: `link 8mbit
flow A weight 1 longest 1500
flow B weight 2 longest 1500
A 1500 x 3
B 1500
B 600 at 3ms
B 1500 at 12ms
A 1000 at 12.2ms`,
  },
];
