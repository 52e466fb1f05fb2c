/** A zone with all that is needed to sign it in one commit: keys, times, and how long existing signatures are kept. */

import { messageOf, UserError } from '../../../base/errors.js';
import { signsRecords } from '../../../dnssec/key-states.js';
import type { SigningKey } from '../../../dnssec/signing-key.js';
import { signingOf } from '../../../serving/signed.js';
import { signingOfRow } from '../../../serving/signing.js';
import { type ServingZone, signedZone } from '../../../serving/zone.js';
import { signatureState } from '../../../serving/zone-state.js';
import type { DnssecKeyRow } from '../../../store/dnssec/keys.js';
import type { DnssecZoneRow } from '../../../store/dnssec/zones.js';
import type { Store } from '../../../store/driver.js';
import type { Place } from '../../../store/records/places.js';
import type { ZoneRow } from '../../../store/zones/zones.js';
import type { Context } from '../../kernel/context.js';
import { isEntryPoint } from '../ds.js';
import { dnssecFailure } from '../errors.js';
import { type Signatures, signaturesOfWrite } from './signatures.js';
import { rowsOfZone, type SignedRows } from './signed-rows.js';
import { largestTtlOf, refreshSpan, type SigningTimes, signingTimes, wasPutBack } from './times.js';

export interface SigningZone {
  readonly store: Store;
  /** Its `zone` is where the signatures stand. */
  readonly row: DnssecZoneRow;
  /** As it is served with signatures after the commit, whether it is served with them already or not. */
  readonly zone: ServingZone;
  /** Sign DNSKEY, CDS and CDNSKEY (RFC 7344 §4.1). */
  readonly entryKeys: readonly SigningKey[];
  /** Sign all other RRsets. */
  readonly dataKeys: readonly SigningKey[];
  /** Keys whose signatures resolvers can verify, see {@link keyName}. */
  readonly known: ReadonlySet<number>;
  readonly times: SigningTimes;
  /** TTL of NSEC and NSEC3 records, seconds. */
  readonly denialTtl: number;
  /** Whether only signatures of exactly the signing keys are kept. */
  readonly exact: boolean;
  readonly signatures: Signatures;
  readonly rows: SignedRows;
  /** Where the signatures stand that are kept when they fit, and otherwise replaced. */
  readonly kept: Place;
  /** Signatures made, and the largest TTL of what was signed. */
  readonly done: { signatures: number; largestTtl: number };
}

/** Algorithm and tag of a key as one number. */
export function keyName(algorithm: number, tag: number): number {
  return algorithm * 0x10000 + tag;
}

/**
 * Undefined for a zone that is not to be signed. Throws when the keys cannot be opened, or the clock is wrong. `zone`: after
 * the edits, and `serving` as it is served then.
 */
export function openSigningZone(
  ctx: Context,
  zone: ZoneRow,
  serving: ServingZone,
  exact: boolean,
): SigningZone | undefined {
  const { store } = ctx;
  const how = serving.signing ?? (signatureState(zone) === 'none' ? undefined : signingOf(store, zone.apex, zone.seq));
  const signing = signingOfRow(how?.row);
  if (!how || signing.kind !== 'here' || signing.work === 'end') return undefined;
  const { row, keys } = how;
  refuseUnsetClock(zone, row, nowInSeconds(ctx));
  return {
    ...signingZone(ctx, zone, serving.signing ? serving : signedZone(serving, how), row),
    entryKeys: openKeys(ctx, zone, keys.filter(signsKeys), 'its keys'),
    dataKeys: openKeys(ctx, zone, keys.filter(signsRecordsAmong(keys)), 'its records'),
    known: new Set(
      keys.filter((key) => key.published === 1 || key.signs === 1).map((key) => keyName(key.algorithm, key.tag)),
    ),
    exact,
  };
}

/** The same for a zone that is not signed yet, and will be with these keys. */
export function beginSigningZone(
  ctx: Context,
  zone: ZoneRow,
  serving: ServingZone,
  keys: readonly SigningKey[],
): SigningZone {
  const row = { ...NEWLY_SIGNED, zone: zone.seq };
  const how = { denial: { kind: 'nsec' }, apex: zone.apex, row, keys: [] } as const;
  const others = keys.filter(({ isEntryPoint }) => !isEntryPoint);
  const dataKeys = keys.filter(
    (key) => !key.isEntryPoint || !others.some(({ algorithm }) => algorithm === key.algorithm),
  );
  const known = new Set(keys.map(({ algorithm, tag }) => keyName(algorithm, tag)));
  return { ...signingZone(ctx, zone, signedZone(serving, how), row), entryKeys: [], dataKeys, known, exact: false };
}

/** A zone that begins to be signed. */
export const NEWLY_SIGNED: Omit<DnssecZoneRow, 'zone'> = {
  state: 'pending',
  phase: 'signed',
  cursor: null,
  walk: null,
  walked_at: null,
  denial: 'nsec',
  next_denial: null,
  iterations: 0,
  salt: new Uint8Array(0),
  opt_out: 0,
  delete_form: 0,
  presigned: 0,
  multi_signer: 0,
  emergency: 0,
  signals: 0,
  parental_agent: 0,
  newest_inception: 0,
  renew_before: 0,
  largest_ttl: 0,
  ds_seen_at: null,
  modified_at: 0,
  signature_set: 0,
};

/** What does not depend on keys. */
function signingZone(
  ctx: Context,
  zone: ZoneRow,
  serving: ServingZone,
  row: DnssecZoneRow,
): Omit<SigningZone, 'entryKeys' | 'dataKeys' | 'known' | 'exact'> {
  const { store } = ctx;
  const { soa } = serving.facts;
  const refresh = refreshSpan(soa.expire, largestTtlOf(row, soa, zone));
  return {
    store,
    row,
    zone: serving,
    times: signingTimes(nowInSeconds(ctx), refresh),
    denialTtl: Math.min(soa.ttl, soa.minimum),
    signatures: signaturesOfWrite(ctx.signatures),
    rows: rowsOfZone(store, zone.seq),
    kept: zone.seq,
    done: { signatures: 0, largestTtl: row.largest_ttl },
  };
}

function nowInSeconds({ clock }: Pick<Context, 'clock'>): number {
  return Math.floor(clock.nowMs() / 1000);
}

/** Whether a key signs DNSKEY, CDS and CDNSKEY. */
function signsKeys(key: DnssecKeyRow): boolean {
  return isEntryPoint(key) && key.signs === 1 && key.published === 1;
}

function signsRecordsAmong(keys: readonly DnssecKeyRow[]): (key: DnssecKeyRow) => boolean {
  const roles = keys.map(({ role, algorithm, signs }) => ({ role, algorithm, signs: signs === 1 }));
  return ({ role, algorithm, signs }) => signsRecords({ role, algorithm, signs: signs === 1 }, roles);
}

function openKeys(ctx: Context, zone: ZoneRow, rows: readonly DnssecKeyRow[], what: string): readonly SigningKey[] {
  if (rows.length === 0) throw dnssecFailure('noSigningKey', { zone: zone.name, what });
  return rows.map((key) => open(ctx, zone, key));
}

function open({ zoneKeys }: Context, { name }: ZoneRow, row: DnssecKeyRow): SigningKey {
  if (!zoneKeys) throw dnssecFailure('noKeys', { zone: name, reason: 'this process has no master key' });
  try {
    return zoneKeys.open(row);
  } catch (error) {
    const remedy = error instanceof UserError && error.remedy !== undefined ? ` (${error.remedy})` : '';
    throw dnssecFailure('noKeys', { zone: name, reason: `${messageOf(error)}${remedy}` });
  }
}

/** Signatures made with a clock that has not been set since the machine started would have ended for others. */
function refuseUnsetClock({ name }: ZoneRow, row: DnssecZoneRow, nowS: number): void {
  const { newest_inception: newest } = row;
  if (nowS >= newest || wasPutBack(row, nowS)) return;
  const print = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19);
  throw dnssecFailure('clock', { zone: name, newest: `${print(newest)}Z`, now: `${print(nowS)}Z` });
}
