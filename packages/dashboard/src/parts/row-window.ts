// The part of a long table that is in the page: rows near the window. The rest is space.

import { useEffect, useRef, useState } from "preact/hooks";

/** Rows beyond the window's edges, so that a quick scroll shows rows and not space. */
const spareRows = 20;
/** A shorter table is drawn whole. */
const wholeMax = 60;

/** Which rows of a long table are near the window; all of a short one. */
export function useRowWindow(total: number, height: number) {
  const box = useRef<HTMLElement>(null);
  const [range, setRange] = useState({ from: 0, to: wholeMax });
  useEffect(() => {
    const look = () => {
      const top = box.current?.getBoundingClientRect().top ?? 0;
      const from = Math.max(0, Math.floor(-top / height) - spareRows);
      const to = Math.ceil((innerHeight - top) / height) + spareRows;
      setRange((before) =>
        Math.abs(before.from - from) > 8 || Math.abs(before.to - to) > 8 ? { from, to } : before,
      );
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [total, height]);
  if (total <= wholeMax) return { box, from: 0, to: total };
  return { box, from: Math.min(range.from, total), to: Math.min(total, Math.max(range.to, 40)) };
}
