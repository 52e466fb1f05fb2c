/** What edits change for resolvers as the change log has it, packed before the write that appends it. */
import { type Difference, ownerText } from '../../serving/difference.js';
import { type ChangedRR, MOST_CHANGED_OCTETS, packedOctets, packRRs } from '../../store/log/changes.js';

export interface PackedDifference {
  /** Owners at which the write looks again, by {@link ownerText}; their records are left out. */
  readonly except: ReadonlySet<string>;
  /** The records of all others, and what they are packed, in parts. */
  readonly others: Difference;
  readonly removed: readonly Uint8Array[];
  readonly added: readonly Uint8Array[];
}

/** Records that are packed between two looks at the clock. */
const PACKED_AT_ONCE = 100;

/** Undefined when they are more than the log takes. */
export function* packDifference(
  { removed, added }: Difference,
  owners: Iterable<Uint8Array>,
): Generator<undefined, PackedDifference | undefined> {
  const except = new Set([...owners].map(ownerText));
  const others: Difference = { removed: yield* without(except, removed), added: yield* without(except, added) };
  if (packedOctets(others.removed) + packedOctets(others.added) > MOST_CHANGED_OCTETS) return undefined;
  return { except, others, removed: yield* pack(others.removed), added: yield* pack(others.added) };
}

/** Those of one owner stand together, and there are very many. */
function* without(except: ReadonlySet<string>, rrs: readonly ChangedRR[]): Generator<undefined, ChangedRR[]> {
  const others: ChangedRR[] = [];
  let known: { readonly key: Uint8Array; readonly isOther: boolean } | undefined;
  for (const [i, rr] of rrs.entries()) {
    if (known?.key !== rr.owner_key) known = { key: rr.owner_key, isOther: !except.has(ownerText(rr.owner_key)) };
    if (known.isOther) others.push(rr);
    if (i % PACKED_AT_ONCE === 0) yield;
  }
  return others;
}

function* pack(rrs: readonly ChangedRR[]): Generator<undefined, Uint8Array[]> {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < rrs.length; at += PACKED_AT_ONCE) {
    parts.push(packRRs(rrs.slice(at, at + PACKED_AT_ONCE)));
    yield;
  }
  return parts;
}
