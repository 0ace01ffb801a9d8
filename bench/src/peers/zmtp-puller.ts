// Our PULL, counting.

import { Pull } from "@yardmaster/zmtp";
import { readArgs } from "./child.js";
import { countFor } from "./counting.js";
import { type CurveArgs, ourClient } from "./curve-args.js";

const { endpoint, curve } = readArgs<{ endpoint: string; curve?: CurveArgs }>();
const counting = countFor();
new Pull({
  ...ourClient(curve),
  onMessage: (_peer, frames) => counting.add((frames[0] as Buffer).length),
}).connect(endpoint);
