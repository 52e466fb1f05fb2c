/** Use cases of rollovers: new keys are added here; their steps follow by a job (watch.ts). */
import type { NewKeyAlgorithm } from '../../dnssec/signing-key.js';
import { isSignedElsewhere } from '../../serving/signing.js';
import { type DnssecKeyRow, keysOfZone } from '../../store/dnssec/keys.js';
import { findDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { lookAtParentSoon } from '../schedule/signing.js';
import { listKeys } from './delegation.js';
import { isEntryPoint } from './ds.js';
import { resignSoon } from './enable.js';
import { dnssecFailure } from './errors.js';
import { beginKey } from './keys.js';
import { requireNoForeignKeys } from './multi-signer.js';

export interface Rollover {
  /** Which keys are replaced; with another algorithm both are. */
  readonly role?: 'zsk' | 'ksk' | null | undefined;
  readonly algorithm?: number | null | undefined;
  /** Do not wait for what resolvers remember: a key is in foreign hands. Also for a rollover that is under way. */
  readonly emergency?: boolean | null | undefined;
}

const NEW_ALGORITHMS: ReadonlySet<number> = new Set([13, 15] satisfies NewKeyAlgorithm[]);

/** Begins a rollover; one at a time. Returns the keys with what each one waits for. */
export async function startRollover(ctx: Context, zoneId: string, rollover: Rollover): ReturnType<typeof listKeys> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = findDnssecZone(ctx.store, zone.seq);
    if (row?.phase !== 'signed') throw dnssecFailure('notSigned');
    if (isSignedElsewhere(row)) throw dnssecFailure('presignedKeys', { zone: zone.name });
    const keys = keysOfZone(ctx.store, zone.seq).filter(({ sealed }) => sealed !== null);
    const isRolling = row.walk !== null || keys.some(({ state }) => state !== 'active');
    if (isRolling && !rollover.emergency) throw dnssecFailure('rolling');
    if (rollover.emergency) updateDnssecZone(ctx.store, zone.seq, { emergency: 1 });
    // In an emergency a key is replaced beside whatever else is under way, unless it is being replaced already.
    const isBegun = keys.some(({ role, state }) => role === rollover.role && state !== 'active');
    if (!isRolling || (rollover.role && !isBegun)) replaceKeys(ctx, draft, zone, keys, rollover);
    lookAtParentSoon(ctx, zone);
    draft.event({ kind: 'dnssec.rollover', zone, after: { ...rollover } });
  });
  return listKeys(ctx, zoneId);
}

function replaceKeys(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  keys: readonly DnssecKeyRow[],
  { role, algorithm }: Rollover,
): void {
  const entries = keys.filter(isEntryPoint);
  const present = (entries.findLast(({ state }) => state === 'active') ?? entries[0])!.algorithm;
  const next = algorithm ?? present;
  if (!NEW_ALGORITHMS.has(next)) throw dnssecFailure('badAlgorithm', { algorithm: next });
  const isOther = next !== present;
  if (isOther ? role != null : role == null) throw dnssecFailure(isOther ? 'bothRoles' : 'noRole');
  // The others would have to sign with it at the same moment.
  if (isOther) requireNoForeignKeys(ctx.store, zone);
  const state = isOther ? 'presigning' : 'published';
  for (const [one, of] of replacing(keys, isOther ? null : role, next)) beginKey(ctx, draft, zone, of, one, state);
  if (isOther) resignSoon(ctx, zone);
}

/** Roles and algorithms of the new keys. `role` null: all. */
function replacing(
  keys: readonly DnssecKeyRow[],
  role: Rollover['role'],
  next: number,
): (readonly ['ksk' | 'zsk', NewKeyAlgorithm])[] {
  const records = keys.filter((key) => key.role === 'zsk' && key.state === 'active').map(({ algorithm }) => algorithm);
  // A key for everything is replaced by two.
  if (role == null || records.length === 0)
    return [
      ['ksk', next as NewKeyAlgorithm],
      ['zsk', next as NewKeyAlgorithm],
    ];
  // During a rollover of the algorithm there are ZSKs of both.
  const algorithms =
    role === 'ksk' ? [next] : [...new Set(records)].filter((algorithm) => NEW_ALGORITHMS.has(algorithm));
  return algorithms.map((algorithm) => [role, algorithm as NewKeyAlgorithm] as const);
}
