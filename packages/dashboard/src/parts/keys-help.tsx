// `?`: the keys, and the switch for single ones.

import { useState } from "preact/hooks";
import { areKeysOff, switchKeys } from "../live/keys.js";
import { Dialog } from "./dialog.js";
import { viewNames } from "./top-bar.js";

const groups: readonly { where: string; keys: readonly (readonly [string, string])[] }[] = [
  {
    where: "Everywhere",
    keys: [
      ["/ or ctrl k", "find"],
      ["?", "keys"],
      ...viewNames.map(({ key, label }) => [`g ${key}`, label.toLowerCase()] as const),
      ["esc", "back out"],
    ],
  },
  {
    where: "Lists",
    keys: [
      ["j k", "move"],
      ["enter", "open"],
      ["x", "choose"],
      ["a", "all that match"],
      ["R", "retry"],
      ["C", "cancel"],
      ["d", "drain"],
      ["p", "pause or resume"],
      ["y", "copy as curl"],
    ],
  },
  {
    where: "Stream and wire",
    keys: [
      ["space", "pause"],
      ["← →", "move"],
      ["+ −", "zoom"],
      ["0", "now"],
      ["f", "follow"],
      ["b", "beats"],
      ["v", "as a table"],
    ],
  },
];

export function KeysHelp({ onClose }: { onClose: () => void }) {
  const [isOff, setOff] = useState(areKeysOff());
  const toggle = () => {
    switchKeys(!isOff);
    setOff(!isOff);
  };
  return (
    <Dialog label="Keys" class="dialog wide" onClose={onClose}>
      <h2>Keys</h2>
      <div class="keys">
        {groups.map(({ where, keys }) => (
          <section key={where}>
            <h3>{where}</h3>
            <dl>
              {keys.map(([key, does]) => (
                <div key={key} class="row">
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label class="row">
        <input type="checkbox" checked={!isOff} onChange={toggle} /> Single-key shortcuts
      </label>
      <div class="buttons">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
