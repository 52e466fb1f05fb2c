/** Use cases of rollovers: new keys are added here; their steps follow by a job (watch.ts). */
import type { NewKeyAlgorithm } from '../../dnssec/signing-key.js';
import { keysOfZone } from '../../store/dnssec/keys.js';
import { findDnssecZone } from '../../store/dnssec/zones.js';
import { requireZone } from '../access/access.js';
import { commit } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { listKeys, lookAtParentSoon } from './delegation.js';
import { resignSoon } from './enable.js';
import { dnssecFailure } from './errors.js';
import { beginKey } from './keys.js';

export interface Rollover {
  /** Which keys are replaced; with another algorithm both are. */
  readonly role?: 'zsk' | 'ksk' | null | undefined;
  readonly algorithm?: number | null | undefined;
}

const NEW_ALGORITHMS: ReadonlySet<number> = new Set([13, 15] satisfies NewKeyAlgorithm[]);

/** Begins a rollover; one at a time. Returns the keys with what each one waits for. */
export async function startRollover(
  ctx: Context,
  zoneId: string,
  { role, algorithm }: Rollover,
): ReturnType<typeof listKeys> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = findDnssecZone(ctx.store, zone.seq);
    if (row?.phase !== 'signed') throw dnssecFailure('notSigned');
    if (row.presigned === 1) throw dnssecFailure('presignedKeys', { zone: zone.name });
    const keys = keysOfZone(ctx.store, zone.seq).filter(({ sealed }) => sealed !== null);
    if (row.walk !== null || keys.some(({ state }) => state !== 'active')) throw dnssecFailure('rolling');
    const present = keys.find(({ role: own }) => own !== 'zsk')!.algorithm;
    const next = algorithm ?? present;
    if (!NEW_ALGORITHMS.has(next)) throw dnssecFailure('badAlgorithm', { algorithm: next });
    const isOther = next !== present;
    if (isOther ? role != null : role == null) throw dnssecFailure(isOther ? 'bothRoles' : 'noRole');
    const roles = isOther ? (['ksk', 'zsk'] as const) : [role!];
    for (const one of roles)
      beginKey(ctx, draft, zone, next as NewKeyAlgorithm, one, isOther ? 'presigning' : 'published');
    if (isOther) resignSoon(ctx, zone);
    lookAtParentSoon(ctx, zone);
    draft.audit({ action: 'dnssec.rollover', zone: zone.id, object: zone.id, after: { roles, algorithm: next } });
  });
  return listKeys(ctx, zoneId);
}
