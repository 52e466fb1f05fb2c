/** Which records are read, and whether the server would take edits of them. */
import { type Answer, ApiError, call, pathWith } from '../../api.js';
import { sortOf } from '../../parts/sort.js';
import type { DnsRecord, Zone } from '../../types.js';
import { answersInOrder } from './in-order.js';
import { batchOf, type Edits, editAt, type RecordWarnings } from './pending.js';
import { ORDERS } from './table.js';

const PER_PAGE = 100;
/** Records of a page when all of them are read. */
const READ_AT_ONCE = 2000;
/** The lists of a batch that have warnings. */
interface BatchAnswer {
  readonly patches: readonly DnsRecord[] | null;
  readonly posts: readonly DnsRecord[] | null;
}

/** Edits that are checked together with a new one; above, only the new one is. */
const MOST_CHECKED = 300;

/** A page of the list, as the address wants it. */
export function listPath(zone: Zone, query: URLSearchParams): string {
  const { order, direction } = sortOf(query, ORDERS, 'name');
  return pathWith(`/zones/${zone.id}/dns_records`, {
    ...filterOf(query),
    // As text, the apex would stand in the middle of the list.
    order: order === 'name' ? 'canonical' : order,
    direction,
    page: query.get('page') ?? undefined,
    per_page: PER_PAGE,
  });
}

/** What the address filters by, as the API wants it. */
export function filterOf(query: URLSearchParams): Readonly<Record<string, string | undefined>> {
  const of = (name: string): string | undefined => query.get(name) ?? undefined;
  // Names are kept without the final dot that people copy from zone files and the output of dig.
  return {
    search: of('search')?.replace(/(?<=[^.\s])\.$/, ''),
    type: of('type'),
    proxied: of('proxied'),
    tag: of('tag'),
  };
}

/** Reads all records that the filter matches. */
export async function readAll(
  zone: Zone,
  filter: Readonly<Record<string, string | undefined>>,
  onProgress: (read: number) => void,
): Promise<Map<string, DnsRecord>> {
  const all = new Map<string, DnsRecord>();
  const ask = (page: number): Promise<Answer<DnsRecord[]>> =>
    call('GET', pathWith(`/zones/${zone.id}/dns_records`, { ...filter, page, per_page: READ_AT_ONCE }));
  const take = ({ result }: Answer<DnsRecord[]>): void => {
    for (const record of result) all.set(record.id, record);
    onProgress(all.size);
  };
  // The first page says how many there are.
  const first = await ask(1);
  const others = Array.from({ length: Math.max(0, (first.info?.total_pages ?? 1) - 1) }, (_, i) => i + 2);
  take(first);
  for await (const [, answer] of answersInOrder(others, ask)) take(answer);
  return all;
}

/**
 * Asks the server whether the edits would be accepted, and what it finds wrong with the policy that the record of `key` says.
 * Throws its refusal, with pointers into that record.
 */
export async function check(zone: Zone, edits: Edits, key: string): Promise<RecordWarnings> {
  const tried = edits.size <= MOST_CHECKED ? edits : new Map([[key, edits.get(key)!]]);
  try {
    const path = `/zones/${zone.id}/dns_records/batch?dry_run=true`;
    const { result } = await call<BatchAnswer>('POST', path, { body: batchOf(tried) });
    const kind = edits.get(key)!.kind;
    const same = [...tried].filter(([, edit]) => edit.kind === kind).map(([other]) => other);
    const list = kind === 'create' ? result.posts : kind === 'change' ? result.patches : [];
    return list?.[same.indexOf(key)]?.meta.warnings ?? [];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const errors = error.errors.map(({ source, ...rest }) => {
      const found = source && editAt(tried, source.pointer);
      return found?.key === key ? { ...rest, source: { pointer: found.member } } : rest;
    });
    throw new ApiError(error.status, errors);
  }
}
