// zeromq.js's PULL, counting.

import { Pull } from "zeromq";
import { readArgs } from "./child.js";
import { countFor } from "./counting.js";
import { type CurveArgs, libzmqClient } from "./curve-args.js";

const { endpoint, curve } = readArgs<{ endpoint: string; curve?: CurveArgs }>();
const counting = countFor();
const pull = new Pull(libzmqClient(curve));
pull.connect(endpoint);
for await (const [frame] of pull) counting.add((frame as Buffer).length);
