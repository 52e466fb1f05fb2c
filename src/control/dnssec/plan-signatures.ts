/**
 * The signatures that a write will need, made by threads before it, while others write. What a plan misses because the zone moves on,
 * the write makes itself.
 */
import { inSlices, nextSlice } from '../../base/slices.js';
import { type KeyMaterial, openKey } from '../../dnssec/signing-key.js';
import { recordsAtOwner } from '../../serving/owner.js';
import { isSignedHere } from '../../serving/signing.js';
import type { SignedOwner } from '../../serving/stored-signatures.js';
import { servingZone, unsignedZone } from '../../serving/zone.js';
import type { DenialKind } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import { placeOfSet } from '../../store/records/places.js';
import { openSnapshot } from '../../store/snapshot.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { OwnerAfter, SigningScope } from '../kernel/touched-zone.js';
import type { MadeSignatures } from '../kernel/zone-keys.js';
import { partOf } from './sign-ahead.js';
import { maintainsHashed, type SignedName, signHashedOf } from './signing/hashed-chain.js';
import { signedUpTo, signInSteps } from './signing/sign-change.js';
import { type PartEnd, signData } from './signing/sign-whole.js';
import { allHashes, ownersOfDenialTtl } from './signing/sign-zone.js';
import { planSignatures } from './signing/signatures.js';
import { planRows } from './signing/signed-rows.js';
import { beginSigningZone, openSigningZone, type SigningZone } from './signing/signing-zone.js';

/**
 * For edits of these owners. `row`: as the zone will be; `reader`: a handle that shows it so, and nothing that is written meanwhile.
 * `known`: what was made for an earlier plan. Undefined for a zone that is not signed here.
 */
export function signEdits(
  ctx: Context,
  row: ZoneRow,
  owners: Iterable<Uint8Array>,
  reader: Store,
  known: MadeSignatures | undefined,
): Promise<MadeSignatures | undefined> {
  return signOwners(ctx, row, { owners }, reader, known);
}

/** For signatures that are made again, or for the first time in an existing chain. */
export async function signAgain(ctx: Context, row: ZoneRow, scope: SigningScope): Promise<MadeSignatures | undefined> {
  const { store, close } = openSnapshot(ctx.store);
  try {
    return await signOwners(ctx, row, scope, store, undefined);
  } finally {
    close();
  }
}

interface OwnersToSign extends Pick<SigningScope, 'hashes' | 'exact'> {
  readonly owners?: Iterable<Uint8Array>;
}

async function signOwners(
  ctx: Context,
  row: ZoneRow,
  { owners = [], hashes = [], exact = false }: OwnersToSign,
  store: Store,
  known: MadeSignatures | undefined,
): Promise<MadeSignatures | undefined> {
  const { zoneKeys, clock, settings } = ctx;
  const zone = servingZone(store, row, settings);
  const signing = zoneKeys && openSigningZone({ ...ctx, store }, row, zone, exact);
  if (!signing) return undefined;
  const signatures = planSignatures(known);
  const own = { ...signing, signatures, rows: planRows(store, row.seq) };
  const readAll = function* (): Generator<OwnerAfter> {
    for (const ownerKey of owners) {
      const standing = { ownerKey, records: recordsAtOwner(store, own.zone, ownerKey) };
      yield { touched: { ownerKey, before: [], edited: true }, standing };
    }
  };
  const before = servingZone(store, findZone(store, row.seq) ?? row, settings);
  const denials = ownersOfDenialTtl(own, before, row.record_count);
  const also = denials === 'many' ? [] : denials;
  const options = { also, hashes: also.length > 0 ? allHashes(own) : hashes, ...signedUpTo(row, own) };
  await inSlices(clock, signInSteps(own, readAll(), zone, options));
  return signatures.fill(zoneKeys.threads);
}

/** For a zone that is to be signed for the first time, with these keys. `set`: its records, if they are not its own yet. */
export async function signFirst(
  ctx: Context,
  row: ZoneRow,
  keys: readonly KeyMaterial[],
  set?: number,
): Promise<MadeSignatures | undefined> {
  if (!ctx.zoneKeys) return undefined;
  const opened = keys.map(({ dnskey, pkcs8 }) => openKey(dnskey, pkcs8));
  const serving = unsignedZone(row, ctx.settings);
  const staged = set === undefined ? {} : { staged: { records: placeOfSet(set), signatures: row.seq } };
  return signAll(ctx, beginSigningZone(ctx, row, { ...serving, ...staged }, opened));
}

/** For a zone that will prove absence by another kind of records. */
export async function signDenial(ctx: Context, row: ZoneRow, denial: DenialKind): Promise<MadeSignatures | undefined> {
  const { store, settings, zoneKeys } = ctx;
  const zone = servingZone(store, row, settings);
  const now = zone.signing?.row;
  if (!zoneKeys || !isSignedHere(now) || now?.denial === denial) return undefined;
  const signing = openSigningZone(ctx, row, zone, false)!;
  return signAll(ctx, { ...signing, row: { ...signing.row, denial, next_denial: null } });
}

async function signAll(ctx: Context, signing: SigningZone): Promise<MadeSignatures> {
  const signatures = planSignatures();
  const owners: SignedName[] = [];
  const rows = {
    ...planRows(signing.store, signing.row.zone),
    put: (ownerKey: Uint8Array, owner: SignedOwner) => void owners.push({ ownerKey, owner }),
  };
  const own = { ...signing, signatures, rows };
  for (let end = signPart(own, undefined); end; end = signPart(own, end)) await nextSlice();
  if (maintainsHashed(own)) await inSlices(ctx.clock, signHashedOf(own, owners));
  return signatures.fill(ctx.zoneKeys!.threads);
}

function signPart(signing: SigningZone, from: PartEnd | undefined): PartEnd | undefined {
  const part = { ...signing, done: { ...signing.done, signatures: 0 } };
  return signData(part, from, partOf(part));
}
