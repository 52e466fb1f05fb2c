/** What lists are made of: their table, and what stands there while there is nothing to show. */
import { type ComponentChildren, Fragment } from 'preact';
import type { Loaded } from '../load.js';
import { ErrorNote, Loading } from '../parts/notes.js';
import { Columns, TableFrame } from '../parts/table.js';

interface TableProps<Item> {
  /** What it is, for who hears it. */
  readonly label: string;
  readonly columns: readonly string[];
  readonly numbers?: readonly string[];
  /** With a last column of buttons. */
  readonly actions?: boolean;
  readonly busy?: boolean;
  readonly class?: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string | number;
  /** A row, or several. */
  readonly row: (item: Item) => ComponentChildren;
}

/** Nothing where there are no items. */
export function ListTable<Item>(props: TableProps<Item>) {
  const { label, columns, numbers = [], actions = false, busy = false, items, keyOf, row, ...rest } = props;
  if (items.length === 0) return null;
  return (
    <TableFrame label={label} class={rest.class ?? 'stacked'} busy={busy}>
      <Columns names={columns} numbers={numbers} actions={actions} />
      <tbody>
        {items.map((item) => (
          <Fragment key={keyOf(item)}>{row(item)}</Fragment>
        ))}
      </tbody>
    </TableFrame>
  );
}

interface StateProps {
  readonly loaded: Pick<Loaded<unknown>, 'answer' | 'error' | 'reload'>;
  /** What is read: «tokens». */
  readonly what: string;
}

/** Why there is no list yet: it is read, or could not be. */
export function ListState({ loaded: { answer, error, reload }, what }: StateProps) {
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  return answer ? null : <Loading what={what} />;
}
