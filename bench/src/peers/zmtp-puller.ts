// Our PULL, counting.

import { Pull } from "@yardmaster/zmtp";
import { readArgs } from "./child.js";
import { countFor } from "./counting.js";

const { endpoint } = readArgs<{ endpoint: string }>();
const counting = countFor();
new Pull({ onMessage: (_peer, frames) => counting.add((frames[0] as Buffer).length) }).connect(endpoint);
