// Signed out: the page asks for the token and shows nothing else.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { session } from "../live/session.js";
import { Mark } from "../parts/icons.js";

export function SignedOut() {
  const [token, setToken] = useState("");
  const [isKept, keep] = useState(false);
  const wasRefused = session.hasToken;
  const field = useRef<HTMLInputElement>(null);
  // Also after a token was refused; `autofocus` counts only when a page loads.
  useLayoutEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (token !== "") session.open(token, isKept);
  };
  return (
    <main class="signed-out">
      <Mark size={40} />
      <h1>This yard asks for a token</h1>
      <p class="muted">
        <code>yardmaster token new NAME</code> makes one; the dispatcher's configuration says what it may do.
      </p>
      <form onSubmit={submit}>
        <div class="row">
          <input
            type="password"
            aria-label="Token"
            autocomplete="current-password"
            ref={field}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
          <button type="submit" class="button primary">
            Open
          </button>
        </div>
        <label class="row">
          <input type="checkbox" checked={isKept} onChange={(event) => keep(event.currentTarget.checked)} />
          Keep it in this browser until I sign out
        </label>
      </form>
      {wasRefused && (
        <p class="fail" role="alert">
          This token is not valid, or no longer. Sign in again.
        </p>
      )}
      <p class="faint">{location.host} is up and takes work. Nothing else is shown without the token.</p>
    </main>
  );
}
