// Where the page starts.

import { render } from "preact";
import { App } from "./app.js";
import { startKeys } from "./live/keys.js";
import { startNavigation } from "./live/navigation.js";
import { startRights } from "./live/rights.js";
import { yard } from "./live/yard.js";

startNavigation();
startKeys();
yard.start();
startRights();
const place = document.getElementById("page");
if (place) render(<App />, place);
