// The notes that are shown now.

import { useChanges } from "../live/ticker.js";
import { closeToast, onToasts, shownToasts } from "../live/toasts.js";
import { shownLine } from "../model/shown-text.js";
import { Sign } from "./sign.js";

export function Toasts() {
  useChanges(onToasts);
  return (
    <div class="toasts" role="status">
      {shownToasts().map(({ id, words, isError, undo }) => (
        <div class="toast" key={id}>
          <Sign name={isError ? "failed" : "done"} />
          <span>{shownLine(words)}</span>
          {undo && (
            <button
              type="button"
              class="button"
              onClick={() => {
                closeToast(id);
                undo.act();
              }}
            >
              {undo.label}
            </button>
          )}
          {isError && (
            <button type="button" class="button plain" aria-label="Close" onClick={() => closeToast(id)}>
              ×
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
