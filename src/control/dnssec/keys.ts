/**
 * Keys of a signed zone: made, added, changed and removed inside a commit. What a key does shows in three columns: whether it
 * is published, whether it signs, and whether CDS and CDNSKEY name it. Rollovers decide when.
 */
import { makeId } from '../../base/random.js';
import { keyTag } from '../../dns/key-tag.js';
import { dutiesOf, type KeyState } from '../../dnssec/key-states.js';
import { generateKey, type KeyMaterial, KSK_FLAGS, type NewKeyAlgorithm, ZSK_FLAGS } from '../../dnssec/signing-key.js';
import {
  type DnssecKeyChange,
  type DnssecKeyRow,
  findDnssecKey,
  insertDnssecKey,
  type KeyRole,
  keysOfZone,
  removeDnssecKey,
  setOnlineKey,
  updateDnssecKey,
} from '../../store/dnssec/keys.js';
import { findDnssecZone } from '../../store/dnssec/zones.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Draft } from '../kernel/draft.js';
import { dnssecFailure } from './errors.js';
import { APEX } from './signing/chain.js';

export interface NewKey {
  readonly role: KeyRole;
  /** The name that rollovers give its state. */
  readonly state: string;
  readonly published: boolean;
  readonly signs: boolean;
  readonly inCds: boolean;
  /** Microseconds since 1970. */
  readonly until?: number;
}

/** Adds a new key that begins in this state. `made`: the key, if it was made before. */
export function beginKey(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  algorithm: NewKeyAlgorithm,
  role: 'ksk' | 'zsk',
  state: KeyState,
  made?: KeyMaterial,
): void {
  const { isPublished: published, signs, isNamedToParent: inCds } = dutiesOf(role, state);
  addNewKey(ctx, draft, zone, algorithm, { role, state, published, signs, inCds }, made);
}

/** Makes a key whose tag no other key of the zone has, and adds it. */
function addNewKey(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  algorithm: NewKeyAlgorithm,
  key: NewKey,
  made: KeyMaterial | undefined,
): DnssecKeyRow {
  const taken = new Set(keysOfZone(ctx.store, zone.seq).map(({ tag }) => tag));
  for (let material = made ?? newKey(algorithm, key.role); ; material = newKey(algorithm, key.role)) {
    if (!taken.has(keyTag(material.dnskey))) return addKey(ctx, draft, zone, material, key);
  }
}

/** A new key for this role. */
export function newKey(algorithm: NewKeyAlgorithm, role: KeyRole): KeyMaterial {
  return generateKey(algorithm, role === 'zsk' ? ZSK_FLAGS : KSK_FLAGS);
}

/** Adds a key that exists already. `pkcs8` undefined: another signer has the private key. */
export function addKey(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  material: Omit<KeyMaterial, 'pkcs8'> & { readonly pkcs8?: Uint8Array },
  key: NewKey,
): DnssecKeyRow {
  const { dnskey, pkcs8 } = material;
  if (!ctx.zoneKeys) throw dnssecFailure('noKeys', { zone: zone.name, reason: 'this process has no master key' });
  draft.noteSigning(zone.seq, { owners: [APEX] });
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  insertDnssecKey(ctx.store, {
    id,
    zone: zone.seq,
    role: key.role,
    algorithm: dnskey[3]!,
    tag: keyTag(dnskey),
    public: dnskey,
    sealed: pkcs8 ? ctx.zoneKeys.seal(id, pkcs8) : null,
    published: Number(key.published),
    signs: Number(key.signs),
    in_cds: Number(key.inCds),
    state: key.state,
    state_at: draft.now,
    until: key.until ?? null,
    created_at: draft.now,
  });
  handOutKeys(ctx, zone);
  return findDnssecKey(ctx.store, id)!;
}

/**
 * Gives DNS processes the keys that sign the records of a zone with compact denial, and takes them back from others; after a
 * change of the keys or of the denial. Inside a commit.
 */
export function handOutKeys(ctx: Context, { seq, name }: ZoneRow): void {
  const row = findDnssecZone(ctx.store, seq);
  const isCompact = row?.denial === 'compact' || row?.next_denial === 'compact';
  for (const key of keysOfZone(ctx.store, seq)) {
    const isOnline = isCompact && key.role === 'zsk' && key.sealed !== null;
    if (isOnline === (key.online !== null)) continue;
    if (isOnline && !ctx.zoneKeys)
      throw dnssecFailure('noKeys', { zone: name, reason: 'this process has no master key' });
    setOnlineKey(ctx.store, key.id, isOnline ? ctx.zoneKeys!.sealOnline(key) : null);
  }
}

/**
 * Changes what a key does; the commit signs the keys of the zone anew as needed. Data that a key has signed keeps its
 * signatures while the key is published; see `resignSoon` in enable.ts.
 */
export function changeKey(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  id: Uint8Array,
  change: Omit<DnssecKeyChange, 'state_at'>,
): void {
  requireKey(ctx, zone, id);
  draft.noteSigning(zone.seq, { owners: [APEX] });
  updateDnssecKey(ctx.store, id, { ...change, state_at: draft.now });
}

/** Removes a key with its private key. */
export function removeKey(ctx: Context, draft: Draft, zone: ZoneRow, id: Uint8Array): void {
  requireKey(ctx, zone, id);
  draft.noteSigning(zone.seq, { owners: [APEX] });
  removeDnssecKey(ctx.store, id);
}

function requireKey({ store }: Context, { seq }: ZoneRow, id: Uint8Array): void {
  if (findDnssecKey(store, id)?.zone !== seq) throw dnssecFailure('keyMissing');
}
