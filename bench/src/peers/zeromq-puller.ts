// zeromq.js's PULL, counting.

import { Pull } from "zeromq";
import { readArgs } from "./child.js";
import { countFor } from "./counting.js";

const { endpoint } = readArgs<{ endpoint: string }>();
const counting = countFor();
const pull = new Pull();
pull.connect(endpoint);
for await (const [frame] of pull) counting.add((frame as Buffer).length);
