/** The frame of a table, which scrolls on its own when the screen is narrow. */
import type { ComponentChildren } from 'preact';

interface TableFrameProps {
  readonly label: string;
  /** Whether newer rows are on their way. */
  readonly busy?: boolean;
  readonly children: ComponentChildren;
}

export function TableFrame({ label, busy = false, children }: TableFrameProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="table" aria-label={label} aria-busy={busy} tabIndex={0}>
      <table>{children}</table>
    </section>
  );
}
