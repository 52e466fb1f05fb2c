/** Monitors, pools and load balancers as use cases return them. Identifiers are 32 hexadecimal digits, times microseconds since 1970. */
import type { Members } from '../../balancing/members.js';

/** One of them, with its members as clients know them, apart from what follows. */
export interface BalancingItem {
  readonly id: string;
  readonly members: Members;
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** The entity tag of its state, with quotes. */
  readonly tag: string;
  /** What its owner should know about it: only after a write. */
  readonly notices: readonly string[];
}

/** What of a row is shown as it is. */
interface Row {
  readonly id: Uint8Array;
  readonly created_at: number;
  readonly modified_at: number;
}

export function tagOf({ modified_at: modifiedAt }: Pick<Row, 'modified_at'>): string {
  return `"${modifiedAt}"`;
}

export function itemOf(row: Row, members: Members, notices: readonly string[] = []): BalancingItem {
  const id = Buffer.from(row.id).toString('hex');
  return { id, members, createdAt: row.created_at, modifiedAt: row.modified_at, tag: tagOf(row), notices };
}
