/**
 * A zone begins and ceases to be signed. A small zone is signed at once; a large one by a job (job.ts), and it is
 * served signed when all of it is, in one change.
 */

import { readPublicKey } from '../../dnssec/key.js';
import type { KeyMaterial, NewKeyAlgorithm } from '../../dnssec/signing-key.js';
import { removeKeysOfZone } from '../../store/dnssec/keys.js';
import { removeSignalsOfZone } from '../../store/dnssec/signals.js';
import { insertDnssecZone, removeDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { planRemoval } from '../kernel/unused-records.js';
import type { MadeSignatures } from '../kernel/zone-keys.js';
import { MOST_AT_ONCE, runSigningSoon } from '../schedule/signing.js';
import { addKey, beginKey, newKey } from './keys.js';
import { signFirst } from './plan-signatures.js';
import { APEX } from './signing/chain.js';
import { refuseWildcardCuts } from './signing/wildcard-cuts.js';

export interface EnableOptions {
  /** 13 (default): ECDSA with P-256. 15: Ed25519. */
  readonly algorithm?: NewKeyAlgorithm;
  /** Keys that the zone has already, instead of new ones. */
  readonly keys?: readonly KeyMaterial[];
  /** New keys that were made before, with which its signatures were made. */
  readonly made?: NewKeys | undefined;
  /** Sign it in this commit, however large it is: its parent has a DS record, so it must not be served unsigned. */
  readonly atOnce?: boolean;
}

interface NewKeys {
  readonly ksk: KeyMaterial;
  readonly zsk: KeyMaterial;
}

/** What is made before the commit that begins to sign a zone. */
export interface FirstSignatures {
  readonly made: NewKeys;
  readonly signatures: MadeSignatures | undefined;
}

/** Makes new keys of a small zone, and its signatures. */
export async function planSigning(
  ctx: Context,
  zone: ZoneRow,
  algorithm: NewKeyAlgorithm = DEFAULT_ALGORITHM,
): Promise<FirstSignatures | undefined> {
  if (zone.record_count > MOST_AT_ONCE) return undefined;
  const made = { ksk: newKey(algorithm, 'ksk'), zsk: newKey(algorithm, 'zsk') };
  return { made, signatures: await signFirst(ctx, zone, [made.ksk, made.zsk]) };
}

const DEFAULT_ALGORITHM = 13;

/** Makes the keys of a zone and signs it, inside a commit; for a zone without a row in dnssec_zones. */
export function beginSigning(ctx: Context, draft: Draft, zone: ZoneRow, options: EnableOptions): void {
  const { store } = ctx;
  refuseWildcardCuts(store, zone);
  const isSmall = options.atOnce === true || draft.recordCount(zone) <= MOST_AT_ONCE;
  draft.noteSigning(zone.seq, { owners: [APEX], whole: isSmall });
  const phase = isSmall ? 'signed' : 'data';
  insertDnssecZone(store, { zone: zone.seq, state: 'pending', phase, denial: 'nsec', modified_at: draft.now });
  const { algorithm = DEFAULT_ALGORITHM, keys, made } = options;
  if (keys) takeKeys(ctx, draft, zone, keys);
  else {
    // The parent is asked for a DS when no resolver has answers without signatures any more.
    beginKey(ctx, draft, zone, algorithm, 'ksk', 'published', made?.ksk);
    beginKey(ctx, draft, zone, algorithm, 'zsk', 'active', made?.zsk);
  }
  draft.setZone(zone.seq, { signed: isSmall ? 1 : 2 });
  runSigningSoon(ctx, zone);
  const after = keys ? { imported_keys: keys.length } : { algorithm };
  draft.event({ kind: 'dnssec.enable', zone, after });
}

/** Resolvers know these keys already, so they do everything at once. */
function takeKeys(ctx: Context, draft: Draft, zone: ZoneRow, keys: readonly KeyMaterial[]): void {
  const isEntry = ({ dnskey }: KeyMaterial): boolean => readPublicKey(dnskey).isEntryPoint;
  const isSplit = keys.some((key) => !isEntry(key));
  for (const key of keys) {
    const inCds = isEntry(key);
    const role = !inCds ? 'zsk' : isSplit ? 'ksk' : 'csk';
    addKey(ctx, draft, zone, key, { role, state: 'active', published: true, signs: true, inCds });
  }
}

/** Takes signatures and keys off a zone, inside a commit. The parent must have no DS any more. */
export function endSigning(ctx: Context, draft: Draft, zone: ZoneRow): void {
  const { store } = ctx;
  draft.noteSigning(zone.seq, { prepared: true });
  removeKeysOfZone(store, zone.seq);
  removeSignalsOfZone(store, zone.seq);
  const isSmall = draft.recordCount(zone) <= MOST_AT_ONCE;
  if (isSmall) removeSigning(ctx, zone.seq);
  else updateDnssecZone(store, zone.seq, { phase: 'unsigning', cursor: null, walk: null, modified_at: draft.now });
  draft.setZone(zone.seq, { signed: isSmall ? 0 : 2 });
  if (!isSmall) runSigningSoon(ctx, zone);
  draft.event({ kind: 'dnssec.delete', zone });
}

/** Removes all rows about the signing of a zone, except its keys. */
export function removeSigning(ctx: Context, zone: number): void {
  if (!removeDnssecZone(ctx.store, zone)) planRemoval(ctx);
}

/**
 * Replaces all signatures that were not made by exactly the signing keys, a part at a time: after another key has begun to
 * sign, or one has ceased to. Inside a commit.
 */
export function resignSoon(ctx: Context, zone: ZoneRow): void {
  updateDnssecZone(ctx.store, zone.seq, { walk: APEX });
  runSigningSoon(ctx, zone);
}
