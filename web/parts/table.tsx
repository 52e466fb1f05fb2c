/** The frame of a table, which scrolls on its own when the screen is narrow, and the plain header of its columns. */
import type { ComponentChildren } from 'preact';

interface TableFrameProps {
  readonly label: string;
  /** Whether newer rows are on their way. */
  readonly busy?: boolean;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function TableFrame({ label, busy = false, children, ...rest }: TableFrameProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="table" aria-label={label} aria-busy={busy} tabIndex={0}>
      <table {...rest}>{children}</table>
    </section>
  );
}

interface ColumnsProps {
  readonly names: readonly string[];
  /** Those of columns with numbers, which stand at the right. */
  readonly numbers?: readonly string[];
  /** With a last column of buttons. */
  readonly actions?: boolean;
}

/** The header of a table that is not sorted by its columns. */
export function Columns({ names, numbers = [], actions = false }: ColumnsProps) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col" class={numbers.includes(name) ? 'number' : ''}>
            {name}
          </th>
        ))}
        {actions && <ActionsColumn />}
      </tr>
    </thead>
  );
}

/** The header of the column of buttons: people who see them need no name for it. */
export function ActionsColumn() {
  return (
    <th scope="col">
      <span class="hidden">Actions</span>
    </th>
  );
}

interface CellProps {
  readonly class?: string;
  /** Stands before it where rows are stacked. */
  readonly name?: string;
  readonly value: ComponentChildren;
}

export function Cell({ name, value, ...rest }: CellProps) {
  return (
    <td {...rest} {...(name !== undefined && { 'data-name': name })}>
      {value}
    </td>
  );
}

/** The first cell of a row: what the row is about. */
export function RowHead({ value, ...rest }: Omit<CellProps, 'name'>) {
  return (
    <th scope="row" {...rest}>
      {value}
    </th>
  );
}
