/**
 * The signatures that a write will need, made by threads before it, while others write. What a plan misses because the zone moves on,
 * the write makes itself. Of edits, the plan also has the rows that the write stores, and what they change for resolvers.
 */
import { isDeepStrictEqual } from 'node:util';
import { inSlices, nextSlice } from '../../base/slices.js';
import { type KeyMaterial, openKey } from '../../dnssec/signing-key.js';
import { recordsAtOwner } from '../../serving/owner.js';
import { isSignedHere, signingOfRow } from '../../serving/signing.js';
import type { SignedOwner } from '../../serving/stored-signatures.js';
import { type ServingZone, servingZone, unsignedZone } from '../../serving/zone.js';
import type { DenialKind } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import { openSnapshot } from '../../store/handle/snapshot.js';
import { placeOfSet } from '../../store/records/places.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { MadeForEdits, SignedEdits } from '../kernel/participant.js';
import type { OwnerAfter, PlannedSignatures, SigningScope } from '../kernel/touched-zone.js';
import type { MadeSignatures } from '../kernel/zone-keys.js';
import { partOf } from './sign-ahead.js';
import { maintainsHashed, type SignedName, signHashedOf } from './signing/hashed-chain.js';
import { type SignedChange, signedUpTo, signInSteps } from './signing/sign-change.js';
import { type PartEnd, signData } from './signing/sign-whole.js';
import { allHashes, ownersOfDenialTtl } from './signing/sign-zone.js';
import { planSignatures } from './signing/signatures.js';
import { type PlannedRows, planRows, rowsOfZone } from './signing/signed-rows.js';
import { beginSigningZone, openSigningZone, type SigningZone } from './signing/signing-zone.js';
import { wasPutBack } from './signing/times.js';
import { basisOfSignatures } from './stage-signatures.js';

/**
 * For edits of these owners. `row`: as the zone will be; `reader`: a handle that shows nothing that is written meanwhile. `known`: what
 * was made for an earlier plan. Undefined for a zone that is not signed here.
 */
export async function signEdits(
  ctx: Context,
  row: ZoneRow,
  owners: Iterable<OwnerAfter>,
  reader: Store,
  known: MadeSignatures | undefined,
): Promise<SignedEdits | undefined> {
  const signed = await signOwners(ctx, row, () => owners, {}, reader, known);
  if (!signed) return undefined;
  const { signing, isWhole } = signed;
  const basis = isWhole ? basisOfRows(servingZone(reader, row, ctx.settings), signing) : undefined;
  const made = basis
    ? planStoring(ctx, row, signed, basis)
    : signed.made.then((signatures) => ({ signatures, change: undefined }));
  made.catch(thrownWhereUsed);
  return { isKnown: basis !== undefined, made };
}

/** What is left to be done when the threads are ready. */
async function planStoring(
  { store, clock, settings }: Context,
  row: ZoneRow,
  { signing, change, rows, made }: SignedOwners,
  basis: unknown,
): Promise<MadeForEdits> {
  const signatures = await made;
  await nextSlice();
  change.store();
  await nextSlice();
  await inSlices(clock, rows.pack(true));
  const planned: PlannedSignatures = {
    fits: (now) => isDeepStrictEqual(basisOfRows(servingZone(store, now, settings), signing), basis),
    storeIn: (own) => rows.storeIn(rowsOfZone(own, row.seq)),
    done: signing.done,
  };
  return { signatures, change: { difference: change.difference, planned } };
}

function thrownWhereUsed(): void {}

/**
 * What planned rows were made from, besides records and rows that do not change without a serial; undefined where a write has to
 * find out what to store, because not all is signed that is served, or the clock was put back.
 */
function basisOfRows(zone: ServingZone, { times }: SigningZone): unknown {
  const signing = signingOfRow(zone.signing?.row);
  if (signing.kind !== 'here' || signing.phase !== 'signed') return undefined;
  if ((signing.work !== undefined && signing.work !== 'walk') || wasPutBack(signing.row, times.now)) return undefined;
  // Each write may move these on.
  const { newest_inception, largest_ttl, modified_at, ...row } = signing.row;
  return { row, signatures: basisOfSignatures(zone) };
}

/** For signatures that are made again, or for the first time in an existing chain. */
export async function signAgain(ctx: Context, row: ZoneRow, scope: SigningScope): Promise<MadeSignatures | undefined> {
  const { store, close } = openSnapshot(ctx.store);
  try {
    const { owners = [], ...also } = scope;
    const readAll = function* (zone: ServingZone): Generator<OwnerAfter> {
      for (const ownerKey of owners) {
        const standing = { ownerKey, records: recordsAtOwner(store, zone, ownerKey) };
        yield { touched: { ownerKey, before: [], edited: true }, standing };
      }
    };
    return await (await signOwners(ctx, row, readAll, also, store, undefined))?.made;
  } finally {
    close();
  }
}

interface SignedOwners {
  readonly signing: SigningZone;
  readonly change: SignedChange;
  /** Where the change stores its owners. */
  readonly rows: PlannedRows;
  readonly made: Promise<MadeSignatures>;
  /** Whether the change has all that the write will change. */
  readonly isWhole: boolean;
}

/** `ownersOf`: the touched owners of the zone, as it will be served. Resolves when they were read, and threads sign them. */
async function signOwners(
  ctx: Context,
  row: ZoneRow,
  ownersOf: (zone: ServingZone) => Iterable<OwnerAfter>,
  { hashes = [], exact = false }: Pick<SigningScope, 'hashes' | 'exact'>,
  store: Store,
  known: MadeSignatures | undefined,
): Promise<SignedOwners | undefined> {
  const { zoneKeys, clock, settings } = ctx;
  const zone = servingZone(store, row, settings);
  const signing = zoneKeys && openSigningZone({ ...ctx, store }, row, zone, exact);
  if (!signing) return undefined;
  const signatures = planSignatures(known);
  const rows = planRows(store, row.seq);
  const own = { ...signing, signatures, rows };
  const before = servingZone(store, findZone(store, row.seq) ?? row, settings);
  const denials = ownersOfDenialTtl(own, before, row.record_count);
  const also = denials === 'many' ? [] : denials;
  const options = { also, hashes: also.length > 0 ? allHashes(own) : hashes, ...signedUpTo(row, own) };
  const change = await inSlices(clock, signInSteps(own, ownersOf(own.zone), before, options));
  await nextSlice();
  const made = signatures.fill(zoneKeys.threads);
  made.catch(thrownWhereUsed);
  return { signing: own, change, rows, made, isWhole: denials.length === 0 };
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
