/** The table of records with the edits that are not saved. Arrows go from row to row, Enter opens one. */

import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { contentText, printTtl } from '../../parts/record.js';
import { RowButton } from '../../parts/row-button.js';
import { SortHeader } from '../../parts/sort.js';
import { ActionsColumn, Cell, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { visible } from '../../parts/visible.js';
import { shownName } from '../../parts/zone.js';
import { Link, withQuery } from '../../router.js';
import type { DnsRecord, RecordType } from '../../types.js';
import type { Drafts } from './drafts.js';
import { relativeName } from './form-values.js';
import { bodyOf, type Edit, type Edits, type RecordBody, type RecordWarnings, warningsOf } from './pending.js';

export const ORDERS = ['name', 'type', 'content', 'ttl', 'proxied'] as const;
const COLUMNS = { name: 'Name', type: 'Type', content: 'Content', ttl: 'TTL', proxied: 'Proxied' } as const;

interface TableProps {
  readonly records: readonly DnsRecord[];
  readonly edits: Edits;
  readonly apex: string;
  readonly base: string;
  readonly busy: boolean;
  readonly editable: boolean;
  /** Whether the screen Explain is there. */
  readonly explains: boolean;
  readonly types: readonly RecordType[] | undefined;
  /** The row whose form is open. */
  readonly open: string | undefined;
  readonly drafts: Drafts;
  readonly selected: ReadonlyMap<string, DnsRecord>;
  readonly onOpen: (key: string | undefined) => void;
  readonly onSelect: (selected: ReadonlyMap<string, DnsRecord>) => void;
  /** Takes the edit of a row back. */
  readonly onTakeBack: (key: string) => void;
  readonly editor: (key: string, before: DnsRecord | undefined, body: RecordBody) => ComponentChildren;
}

/** New records that are shown above the others. */
const MOST_NEW = 50;

interface Row {
  /** Of the record, or the key of a new one. */
  readonly id: string;
  readonly before: DnsRecord | undefined;
  readonly edit: Edit | undefined;
  readonly body: RecordBody;
  readonly isSelected: boolean;
}

function rowsOf(records: readonly DnsRecord[], edits: Edits, selected: ReadonlyMap<string, DnsRecord>): Row[] {
  const rows: Row[] = [];
  for (const [key, edit] of edits) {
    if (edit.kind === 'create' && rows.length < MOST_NEW)
      rows.push({ id: key, before: undefined, edit, body: edit.body, isSelected: false });
  }
  for (const record of records) {
    const edit = edits.get(record.id);
    const body = edit && edit.kind !== 'delete' ? edit.body : bodyOfRecord(record);
    rows.push({ id: record.id, before: record, edit, body, isSelected: selected.has(record.id) });
  }
  return rows;
}

const bodies = new WeakMap<DnsRecord, RecordBody>();

/** The same object for a record each time, so that its row is not drawn again when others are edited. */
function bodyOfRecord(record: DnsRecord): RecordBody {
  let body = bodies.get(record);
  if (!body) bodies.set(record, (body = bodyOf(record)));
  return body;
}

export function RecordTable(props: TableProps) {
  const { records, edits, editable, open, drafts, selected, busy, onSelect } = props;
  const rows = useFirstRows(
    useMemo(() => rowsOf(records, edits, selected), [records, edits, selected]),
    records,
  );
  const isAllSelected = records.length > 0 && records.every(({ id }) => selected.has(id));
  const selectAll = (): void => {
    const next = new Map(selected);
    for (const record of records) {
      if (isAllSelected) next.delete(record.id);
      else next.set(record.id, record);
    }
    onSelect(next);
  };
  return (
    <TableFrame label="Records" class="records" busy={busy}>
      <thead>
        <tr>
          {editable && (
            <th scope="col" class="select-cell">
              <input
                type="checkbox"
                aria-label="Select all on this page"
                checked={isAllSelected}
                onChange={selectAll}
              />
            </th>
          )}
          {ORDERS.map((order) => (
            <SortHeader key={order} orders={ORDERS} order={order} usual="name" isNumber={order === 'ttl'}>
              {COLUMNS[order]}
            </SortHeader>
          ))}
          <ActionsColumn />
        </tr>
      </thead>
      <tbody onKeyDown={moveAmongRows} onClick={openClicked}>
        {rows.map((row) => (
          <KeptRow
            key={row.id}
            {...row}
            table={props}
            isOpen={open === row.id}
            isTyped={open !== row.id && drafts.has(row.id)}
          />
        ))}
      </tbody>
    </TableFrame>
  );
}

const LEAST_ROW_PX = 40;

/**
 * The rows that fill the window, then all of them: a page can be used before a hundred rows are drawn, and when all of them are
 * edited, those out of sight follow a moment later.
 */
function useFirstRows(rows: readonly Row[], list: readonly DnsRecord[]): readonly Row[] {
  const [drawn, setDrawn] = useState<{ readonly rows: readonly Row[]; readonly list: readonly DnsRecord[] }>();
  // Whoever has scrolled on sees more.
  const seen = useMemo(() => Math.ceil((scrollY + innerHeight) / LEAST_ROW_PX), [rows]);
  useEffect(() => {
    const timer = setTimeout(() => setDrawn({ rows, list }));
    return () => clearTimeout(timer);
  }, [rows, list]);
  if (drawn?.rows === rows) return rows;
  if (drawn?.list !== list) return rows.slice(0, seen);
  // With a row more or less, those behind it are others.
  const isSameRow = drawn.rows.length === rows.length && drawn.rows[seen]?.id === rows[seen]?.id;
  return isSameRow ? [...rows.slice(0, seen), ...drawn.rows.slice(seen)] : rows;
}

function moveAmongRows(event: KeyboardEvent): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const target = event.target as HTMLElement;
  if (!target.matches('.row-name')) return;
  event.preventDefault();
  const names = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.row-name')];
  names[names.indexOf(target) + (event.key === 'ArrowDown' ? 1 : -1)]?.focus();
}

/** A click anywhere in a row opens it, unless it is for something inside, or selects text. */
function openClicked(event: MouseEvent): void {
  const target = event.target as HTMLElement;
  if (event.detail > 1 || target.closest('a, button, input, summary, .editor-row')) return;
  if (getSelection()?.isCollapsed === false) return;
  target.closest('tr')?.querySelector<HTMLElement>('.row-name[aria-expanded="false"]')?.click();
}

const WORDS = { change: 'Edited', delete: 'Will be deleted', create: 'New' } as const;

interface RowProps extends Row {
  readonly table: TableProps;
  readonly isOpen: boolean;
  /** Whether its form, which is closed, has text that was neither kept nor cancelled. */
  readonly isTyped: boolean;
}

/** Draws a row again only when something in it is different: a hundred rows take longer than a person should wait for a key. */
function KeptRow(props: RowProps) {
  const { id, before, edit, body, table, isOpen, isTyped, isSelected } = props;
  const present = useRef(table);
  present.current = table;
  const kept: TableProps = useMemo(
    () => ({
      ...table,
      onOpen: (key) => present.current.onOpen(key),
      onSelect: (selected) => present.current.onSelect(selected),
      onTakeBack: (key) => present.current.onTakeBack(key),
    }),
    [table.apex, table.base, table.editable, table.explains, table.types],
  );
  // An open form belongs to the present state of everything.
  return useMemo(
    () => <RecordRow {...props} table={isOpen ? table : kept} toggle={() => toggle(present.current, id, before)} />,
    [id, before, edit, body, isOpen, isTyped, isSelected, kept, isOpen && table],
  );
}

function toggle({ selected, onSelect }: TableProps, id: string, before: DnsRecord | undefined): void {
  const next = new Map(selected);
  if (!next.delete(id) && before) next.set(id, before);
  onSelect(next);
}

function RecordRow({
  id: rowKey,
  before,
  edit,
  body,
  table,
  isOpen,
  isTyped,
  isSelected,
  toggle: select,
}: RowProps & { readonly toggle: () => void }) {
  const { apex, base, editable, explains, types, onOpen, onTakeBack, editor } = table;
  const readOnly = before?.meta.read_only === true;
  const name = shownName({ name: relativeName(body.name, apex) });
  const content = contentOf(body, before);
  const columns = editable ? 7 : 6;
  const opens = editable && !readOnly && edit?.kind !== 'delete';
  const isProxiable = before?.proxiable ?? types?.find(({ type }) => type === body.type)?.proxiable ?? false;
  return (
    <>
      <tr class={edit && `edit-${edit.kind}`} aria-selected={isSelected || undefined}>
        {editable && (
          <td class="select-cell">
            {before && !readOnly && (
              <input
                type="checkbox"
                aria-label={`Select ${body.name} ${body.type}`}
                checked={isSelected}
                onChange={select}
              />
            )}
          </td>
        )}
        <th scope="row" class="name-cell">
          {opens ? (
            <Button
              class="row-name mono"
              id={`row-${rowKey}`}
              aria-expanded={isOpen}
              title={body.name}
              onClick={() => onOpen(isOpen ? undefined : rowKey)}
              text={name}
            />
          ) : (
            <span class="mono" title={body.name}>
              {name}
            </span>
          )}
        </th>
        <Cell value={<span class="type">{body.type}</span>} />
        <td class="content-cell">
          <span class="mono content" title={content}>
            {content}
          </span>
          <Notes body={body} />
          {body.expires_on !== null && (
            <span class="muted">
              Ends <Time at={body.expires_on} />
            </span>
          )}
          {before?.meta.target && <span class="problem">{before.meta.target.reason}</span>}
          <PolicyWarnings warnings={warningsOf(before, edit)} />
          {before?.meta.ptr && <KeptPointer type={before.type} status={before.meta.ptr.status} />}
        </td>
        <td class="muted number">{printTtl(body.ttl)}</td>
        <td>{isProxiable ? <Proxied on={body.proxied} /> : <span class="muted">–</span>}</td>
        <td class="row-actions">
          {isTyped && <span class="chip wait">Typed, not kept</span>}
          {edit && <span class="chip wait">{WORDS[edit.kind]}</span>}
          {opens && !isOpen && (
            <RowButton verb="Edit" what={`${body.name} ${body.type}`} onClick={() => onOpen(rowKey)} />
          )}
          {edit && <Button class="quiet" onClick={() => onTakeBack(rowKey)} text="Undo" />}
          {!edit && before && explains && (
            <Link
              href={`${base}/explain?name=${encodeURIComponent(before.name)}&type=${before.type}`}
              aria-label={`Explain ${before.name} ${before.type}`}
            >
              Explain
            </Link>
          )}
        </td>
      </tr>
      {isOpen && (
        <tr class="editor-row">
          <td colSpan={columns}>{editor(rowKey, before, body)}</td>
        </tr>
      )}
    </>
  );
}

/** What is wrong with the policy that a record says, and what to change. */
function PolicyWarnings({ warnings }: { readonly warnings: RecordWarnings }) {
  return warnings.map(({ code, text, remedy }, index) => (
    <span key={`${code} ${index}`} class="problem">
      {capital(visible(text))}. {remedy}
    </span>
  ));
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Whether the PTR record of an address is kept, or why not. */
function KeptPointer({
  type,
  status,
}: {
  readonly type: string;
  readonly status: 'kept' | 'no-zone' | 'other-record';
}) {
  if (type === 'PTR') return <span class="muted">Kept for the address of this name</span>;
  if (status === 'kept') return <span class="muted">Its PTR record is kept</span>;
  const why = status === 'no-zone' ? 'this account has no reverse zone for it' : 'another record stands in its place';
  return <span class="problem">No PTR record: {why}</span>;
}

/** The content as one text. */
function contentOf({ content, data, priority }: RecordBody, before: DnsRecord | undefined): string {
  if (before && data === before.data && content === undefined) return contentText(before);
  if (content === undefined) return Object.values(data ?? {}).join(' ');
  return priority === undefined ? content : `${priority} ${content}`;
}

function Proxied({ on }: { readonly on: boolean }) {
  return <span class={`chip ${on ? 'good' : ''}`}>{on ? 'Proxied' : 'DNS only'}</span>;
}

/** Tags that are shown at once. */
const MOST_TAGS = 4;

/** Each leads to the records that have it. */
function Tags({ tags }: { readonly tags: readonly string[] }) {
  return tags.map((tag) => (
    <Link key={tag} class="tag" href={withQuery({ tag, page: undefined })}>
      <bdi>{visible(tag)}</bdi>
    </Link>
  ));
}

/** Comment and tags. They may be in any script, so each has its own direction. */
function Notes({ body: { comment, tags } }: { readonly body: RecordBody }) {
  if (comment === null && tags.length === 0) return null;
  return (
    <div class="notes">
      {comment !== null && (
        <span class="comment" dir="auto">
          {visible(comment)}
        </span>
      )}
      <Tags tags={tags.slice(0, MOST_TAGS)} />
      {tags.length > MOST_TAGS && (
        <details class="more-tags">
          <summary>{tags.length - MOST_TAGS} more tags</summary>
          <div>
            <Tags tags={tags.slice(MOST_TAGS)} />
          </div>
        </details>
      )}
    </div>
  );
}
