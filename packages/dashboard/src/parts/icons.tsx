// Drawn icons: search, copy, chevron, and those of the phone's tabs.

import type { ComponentChildren } from "preact";

function Icon({
  children,
  size = 14,
  box = 14,
}: {
  children: ComponentChildren;
  size?: number;
  box?: number;
}) {
  return (
    <svg
      viewBox={`0 0 ${box} ${box}`}
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const SearchIcon = () => (
  <Icon>
    <path d="M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM9.4 9.4l3.6 3.6" />
  </Icon>
);

export const CopyIcon = () => (
  <Icon>
    <path d="M5 4.5h7.5v8H5zM9.5 4.5V1.5h-8v8H5" />
  </Icon>
);

export const ChevronIcon = () => (
  <Icon size={10}>
    <path d="m4 1 6 6-6 6" stroke-width="2" />
  </Icon>
);

export const BackIcon = () => (
  <Icon size={12}>
    <path d="M10 1 4 7l6 6" stroke-width="2" />
  </Icon>
);

export function Mark({ size = 22 }: { size?: number }) {
  return (
    <svg viewBox="0 0 24 24" width={size} height={size} fill="none" stroke-width="2.6" aria-hidden="true">
      <path d="M1 17.5h22" stroke="currentColor" />
      <path d="M4 17.5 13 8.5h9" stroke="var(--mark)" />
    </svg>
  );
}

export function TabIcon({ name }: { name: string }) {
  const paths = new Map([
    ["overview", "M2 15h5l6-8h7"],
    ["stream", "M2 5h8m3 0h7M2 10h4m3 0h11M2 15h11"],
    ["tasks", "M2 5h18M2 10h18M2 15h12"],
    ["failures", "M7 2h8l5 5v8l-5 5H7l-5-5V7z"],
    ["more", "M4 10h.1M11 10h.1M18 10h.1"],
  ]);
  const isDots = name === "more";
  return (
    <svg
      viewBox="0 0 22 22"
      width="22"
      height="20"
      fill="none"
      stroke="currentColor"
      stroke-width={isDots ? 3 : 1.8}
      stroke-linecap={isDots ? "round" : "butt"}
      aria-hidden="true"
    >
      <path d={paths.get(name) ?? ""} />
    </svg>
  );
}
