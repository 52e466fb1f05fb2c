/** What a version of a catalog changes, step by step. Pure. */
import type { ConsumedMemberRow } from '../../store/secondary/consumed-catalogs.js';
import type { ListedMember } from './content.js';

export interface CatalogChange {
  /** Members that are zones here and are not listed any more. */
  readonly gone: readonly ConsumedMemberRow[];
  /** The same zones under other identifiers: what is known of them is dropped (RFC 9432 §5.4). */
  readonly reset: readonly Pair[];
  /** Listed ones that are not zones here. */
  readonly missing: readonly ListedMember[];
  /** Members whose group or move changed. */
  readonly edited: readonly Pair[];
  /** Members that were never zones here and are not listed any more. */
  readonly forgotten: readonly ConsumedMemberRow[];
}

interface Pair {
  readonly known: ConsumedMemberRow;
  readonly listed: ListedMember;
}

export function* compareMembers(
  known: readonly ConsumedMemberRow[],
  listed: readonly ListedMember[],
): Generator<undefined, CatalogChange> {
  const change = {
    gone: [] as ConsumedMemberRow[],
    reset: [] as Pair[],
    missing: [] as ListedMember[],
    edited: [] as Pair[],
    forgotten: [] as ConsumedMemberRow[],
  };
  const rest = new Map<string, ConsumedMemberRow>();
  for (const row of known) {
    rest.set(row.name, row);
    yield;
  }
  for (const member of listed) {
    yield;
    const row = rest.get(member.name);
    rest.delete(member.name);
    if (!row || row.zone === null) change.missing.push(member);
    else if (row.member_id !== member.memberId) change.reset.push({ known: row, listed: member });
    else if (row.grp !== member.group || row.moves_to !== member.movesTo) {
      change.edited.push({ known: row, listed: member });
    }
  }
  for (const row of rest.values()) (row.zone === null ? change.forgotten : change.gone).push(row);
  return change;
}

/** One member, or zone, that has to be changed. */
export type Step =
  | { readonly kind: 'forget'; readonly known: ConsumedMemberRow }
  | { readonly kind: 'remove'; readonly known: ConsumedMemberRow }
  | ({ readonly kind: 'edit' } & Pair)
  | ({ readonly kind: 'reset' } & Pair)
  | { readonly kind: 'adopt'; readonly listed: ListedMember }
  /** A zone (store number) whose primaries are not those of its catalog. */
  | { readonly kind: 'primaries'; readonly zone: number };

/** In the order in which they are taken. `isHeld`: zones that would go stay. */
export function stepsOf({ gone, reset, missing, edited, forgotten }: CatalogChange, isHeld: boolean): Step[] {
  const steps: Step[] = forgotten.map((known) => ({ kind: 'forget', known }));
  for (const pair of edited) steps.push({ kind: 'edit', ...pair });
  if (!isHeld) {
    for (const known of gone) steps.push({ kind: 'remove', known });
    for (const pair of reset) steps.push({ kind: 'reset', ...pair });
  }
  for (const listed of missing) steps.push({ kind: 'adopt', listed });
  return steps;
}

/** A version that takes away more zones than both waits for a person. */
const MOST_REMOVED = 10;
const MOST_SHARE = 0.2;

/** Zones that would be dropped, if they are so many that a person must agree; otherwise 0. */
export function removalsToConfirm({ gone, reset }: CatalogChange, known: readonly ConsumedMemberRow[]): number {
  const dropped = gone.length + reset.length;
  const zones = known.filter(({ zone }) => zone !== null).length;
  return dropped > MOST_REMOVED && dropped > zones * MOST_SHARE ? dropped : 0;
}
