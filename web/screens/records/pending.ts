/**
 * Edits of a zone's records that are not saved yet. They stay while the page is open, on whatever screen, and each step can be
 * undone. Saving sends all of them in one request.
 */
import { useLayoutEffect, useState } from 'preact/hooks';
import { count } from '../../parts/count.js';
import type { DnsRecord } from '../../types.js';

/** What is sent for a record. */
export interface RecordBody {
  readonly type: string;
  readonly name: string;
  readonly content?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly priority?: number;
  readonly ttl: number;
  readonly proxied: boolean;
  /** Only on A and AAAA records. */
  readonly ptr?: boolean;
  /** When the service removes it; null: never. */
  readonly expires_on: string | null;
  readonly comment: string | null;
  readonly tags: readonly string[];
}

export type Edit =
  | {
      readonly kind: 'change';
      readonly before: DnsRecord;
      readonly body: RecordBody;
      readonly warnings?: RecordWarnings;
    }
  | { readonly kind: 'delete'; readonly before: DnsRecord }
  | { readonly kind: 'create'; readonly body: RecordBody; readonly warnings?: RecordWarnings };

/** What the server finds wrong with the policy that a record says. */
export type RecordWarnings = NonNullable<DnsRecord['meta']['warnings']>;

/** Of the record as it would be: what it was before says nothing about an edit. */
export function warningsOf(before: DnsRecord | undefined, edit: Edit | undefined): RecordWarnings {
  if (!edit) return before?.meta.warnings ?? [];
  return edit.kind === 'delete' ? [] : (edit.warnings ?? []);
}

/** By the record's identifier; new ones have a key of their own. */
export type Edits = ReadonlyMap<string, Edit>;

interface State {
  readonly edits: Edits;
  /** States before the last steps. */
  readonly past: readonly Edits[];
  /** State of the zone that was shown when the first edit was made. */
  readonly etag: string | undefined;
}

const NONE: State = { edits: new Map(), past: [], etag: undefined };
const MOST_STEPS = 100;

const states = new Map<string, State>();
const listeners = new Set<() => void>();

function put(zoneId: string, state: State): void {
  states.set(zoneId, state);
  for (const listener of listeners) listener();
}

addEventListener('beforeunload', (event) => {
  if ([...states.values()].some(({ edits }) => edits.size > 0)) event.preventDefault();
});

export interface Pending extends State {
  /** Makes a step: sets edits, or removes those that are undefined. */
  readonly apply: (changes: ReadonlyMap<string, Edit | undefined>, etag: string | undefined) => void;
  readonly undo: () => void;
  readonly clear: () => void;
  /** Edits as they are, on another state of the zone. */
  readonly rebase: (edits: Edits, etag: string | undefined) => void;
}

export function usePending(zoneId: string): Pending {
  const [, redraw] = useState(0);
  // Not after the next picture: an edit that is accepted before it would not be shown.
  useLayoutEffect(() => {
    const listener = (): void => redraw((n) => n + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  // What is done counts on the state of that moment, not on the one that was drawn last.
  const present = (): State => states.get(zoneId) ?? NONE;
  return {
    ...present(),
    apply(changes, etag) {
      const state = present();
      const edits = new Map(state.edits);
      for (const [key, edit] of changes) {
        if (edit === undefined) edits.delete(key);
        else edits.set(key, edit);
      }
      const past = [...state.past, state.edits].slice(-MOST_STEPS);
      put(zoneId, { edits, past, etag: state.edits.size === 0 ? etag : state.etag });
    },
    undo() {
      const state = present();
      const edits = state.past.at(-1);
      if (edits) put(zoneId, { ...state, edits, past: state.past.slice(0, -1) });
    },
    clear: () => put(zoneId, NONE),
    rebase: (edits, etag) => put(zoneId, { edits, past: [], etag }),
  };
}

/** Member of the query of a zone's records with which the review is open. */
export const REVIEW = 'review';

/** Says how many edits there are. */
export function notSaved({ size }: Edits): string {
  return `${size === 1 ? '1 edit is' : `${count(size)} edits are`} not saved`;
}

let created = 0;

/** A key for a new record. */
export function newKey(): string {
  return `new ${++created}`;
}

/** A record as it would be sent. `data` holds the priority of types that have it inside. */
export function bodyOf(record: DnsRecord): RecordBody {
  const { type, name, content, data, priority, ttl, proxied, ptr, expires_on = null, comment, tags } = record;
  return {
    type,
    name,
    ...(data ? { data } : { content }),
    ...(priority !== undefined && { priority }),
    ttl,
    proxied,
    ...(isAddress(type) && { ptr: ptr === true }),
    expires_on,
    comment,
    tags,
  };
}

export function isAddress(type: string): boolean {
  return type === 'A' || type === 'AAAA';
}

const MEMBERS = [
  ...(['type', 'name', 'content', 'data', 'priority', 'ttl', 'proxied', 'ptr', 'expires_on'] as const),
  ...(['comment', 'tags'] as const),
] as const;

/** The members of a record that an edit changes. */
export function changedMembers(before: DnsRecord, body: RecordBody): Partial<RecordBody> {
  const changed = MEMBERS.filter((member) => isChanged(before, body, member));
  return Object.fromEntries(changed.map((member) => [member, body[member]]));
}

function isChanged(before: DnsRecord, body: RecordBody, member: (typeof MEMBERS)[number]): boolean {
  // As in bodyOf, without making one: this is done for each of ten thousand edits.
  const old = presentValue(before, member);
  // What is not sent stays as it is: the priority that stands inside of `data`, too.
  if (body[member] === undefined) return false;
  return old !== body[member] && canonical(old) !== canonical(body[member]);
}

function presentValue(before: DnsRecord, member: (typeof MEMBERS)[number]): unknown {
  if (member === 'ptr') return before.ptr === true;
  if (member === 'expires_on') return before.expires_on ?? null;
  return member === 'content' && before.data ? undefined : before[member];
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value) ?? '';
  // Forms leave out what is empty.
  const members = Object.entries(value).filter(([, item]) => item !== '');
  return JSON.stringify(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The edit that makes this of a record; undefined when that changes nothing. */
export function changeOf(before: DnsRecord, body: RecordBody): Edit | undefined {
  return MEMBERS.some((member) => isChanged(before, body, member)) ? { kind: 'change', before, body } : undefined;
}

export interface Batch {
  readonly deletes: { readonly id: string }[];
  readonly patches: ({ readonly id: string } & Partial<RecordBody>)[];
  readonly posts: RecordBody[];
}

/** All edits as one request. */
export function batchOf(edits: Edits): Batch {
  const batch: Batch = { deletes: [], patches: [], posts: [] };
  for (const [id, edit] of edits) {
    if (edit.kind === 'delete') batch.deletes.push({ id });
    else if (edit.kind === 'create') batch.posts.push(edit.body);
    else batch.patches.push({ id, ...changedMembers(edit.before, edit.body) });
  }
  return batch;
}

/** The edit to which a refusal points, such as `/patches/3/content`, and the member of its body. */
export function editAt(edits: Edits, pointer: string): { readonly key: string; readonly member: string } | undefined {
  const [, list, index, member = ''] = /^\/(deletes|patches|posts)\/(\d+)(\/.*)?$/.exec(pointer) ?? [];
  const kind = { deletes: 'delete', patches: 'change', posts: 'create' }[list ?? ''];
  const key = [...edits].filter(([, edit]) => edit.kind === kind)[Number(index)]?.[0];
  return key === undefined ? undefined : { key, member };
}
