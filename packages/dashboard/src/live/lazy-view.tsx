// A view whose script is fetched when it is first shown. If it cannot be (the dispatcher is away,
// or was replaced by another version), the view says so and offers to try again.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export function lazyView<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function LazyView(props: Props) {
    const [, render] = useState(0);
    const [isMissing, setMissing] = useState(false);
    const fetchView = () => {
      setMissing(false);
      load().then(
        (view) => {
          loaded = view;
          render((count) => count + 1);
        },
        () => setMissing(true),
      );
    };
    useEffect(() => {
      if (!loaded) fetchView();
    }, []);
    const View = loaded;
    if (View) return <View {...props} />;
    if (!isMissing) return null;
    return (
      <section class="card empty" role="alert">
        <p>This part of the page could not be loaded.</p>
        <p class="row">
          <button type="button" class="button" onClick={fetchView}>
            Try again
          </button>
          <button type="button" class="button" onClick={() => location.reload()}>
            Reload the page
          </button>
        </p>
      </section>
    );
  };
}
