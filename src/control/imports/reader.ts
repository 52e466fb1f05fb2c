/**
 * Reads and checks the file of a whole zone; its output is ready to be stored. It uses no store, so it can run on any
 * thread.
 */
import { dirname, resolve } from 'node:path';
import { ByteReader } from '../../base/bytes.js';
import type { Issue } from '../../base/result.js';
import { Type } from '../../dns/codes.js';
import { nameLength, printName } from '../../dns/name.js';
import { type ParsedRecord, readZone, type ZoneFileBounds } from '../../dns/zonefile/parser.js';
import { exportedZone, type ZoneText } from '../../dns/zonefile/source.js';
import { type ImportedRow, type PackedRows, RowPacker } from '../../store/records/packed-rows.js';
import type { ZoneChange } from '../../store/zones/zones.js';
import { type AddedSets, createZoneChecker } from '../../zone/check.js';
import { createSignedZone } from '../../zone/signed.js';
import type { Context, ControlLimits } from '../kernel/context.js';
import { quotaOf, USUAL_QUOTAS } from '../rules/quotas.js';
import { createPolicyReview } from './policies.js';
import { createRowMaker, isApexAuthority } from './row.js';

export interface ImportOrder {
  readonly source: ZoneText;
  /** Wire name, lower case. */
  readonly apex: Uint8Array;
  /** Whether to omit SOA and apex NS of the file. */
  readonly automaticSoa: boolean;
  readonly proxied: boolean;
  /**
   * What becomes of what a signer made: it is refused; left out, because the zone is no longer signed or is signed here; or
   * stored apart from the records, but for its keys.
   */
  readonly signatures: 'refuse' | 'strip' | 'replace' | 'apart';
  readonly limits: ControlLimits;
  /** What a file from a stranger may make. */
  readonly bounds?: ZoneFileBounds | undefined;
}

/** Of a file that comes from a client of the API, and makes all accounts wait while it is stored. */
const OF_CLIENT: ZoneFileBounds = { records: USUAL_QUOTAS.records_per_file, generated: 65_536 };

/** The bounds for who asks, in an account (store number); undefined: those of every file. */
export function boundsFor({ source, store }: Context, account: number): ZoneFileBounds | undefined {
  if (source !== 'api') return undefined;
  return { ...OF_CLIENT, records: quotaOf(store, account, 'records_per_file').most ?? OF_CLIENT.records };
}

export interface ImportBatch {
  readonly packs: readonly PackedRows[];
  /** Records read so far. */
  readonly parsed: number;
  /** Octets of the file read so far. */
  readonly octetsRead: number;
}

/** The results after reading the whole file. */
export interface ImportEnd {
  readonly issues: readonly Issue[];
  readonly soa: ImportedSoa | undefined;
  readonly apexNameServers: number;
  /** RRsets with several TTLs among consecutive records. */
  readonly unevenSets: readonly (readonly [ownerKey: Uint8Array, type: number])[];
  readonly sets: AddedSets;
  /** Octets. */
  readonly longestRdata: number;
}

export interface ImportedSoa {
  readonly columns: ZoneChange;
  readonly serial: number;
}

/** Yields the rows of a file and returns the rest. Throws a UserError when the file cannot be read. */
export function* readImport(order: ImportOrder): Generator<ImportBatch, ImportEnd> {
  const { source, apex, automaticSoa, proxied, limits, signatures, bounds } = order;
  const signed = createSignedZone();
  const isExport = exportedZone(source) !== undefined;
  const maker = createRowMaker({ apex, limits, proxied, oneIsAutomatic: isExport });
  const checker = createZoneChecker(apex, { selfContained: !automaticSoa, flattens: isExport });
  const policies = createPolicyReview(checker);
  const include = 'file' in source ? { includeDirectory: dirname(resolve(source.file)) } : {};
  const reading = readZone(source, { origin: apex, keepComments: true, ...include, ...(bounds && { bounds }) });
  const unevenSets: [Uint8Array, number][] = [];
  let soa: ImportedSoa | undefined;
  let apexNameServers = 0;
  let longestRdata = 0;
  let parsed = 0;
  let last: ImportedRow | undefined;
  const packer = new RowPacker();
  for (const batch of reading.records()) {
    for (const record of batch) {
      const isMade = signed.note(record);
      if (isMade && isLeftOut(signatures, record.type)) continue;
      if (!checker.add(record)) continue;
      policies.note(record);
      if (isApexAuthority(record, apex)) {
        if (record.type === Type.soa) soa ??= soaOf(record);
        if (automaticSoa || record.type === Type.soa) continue;
        apexNameServers++;
      }
      const row = maker.rowOf(record);
      const sameSet = last?.owner_key === row.owner_key && last.type === row.type;
      if (sameSet && last?.ttl !== row.ttl) unevenSets.push([row.owner_key, row.type]);
      if (row.rdata.length > longestRdata) longestRdata = row.rdata.length;
      packer.add(row);
      last = row;
    }
    parsed += batch.length;
    yield { packs: packer.take(), parsed, octetsRead: reading.octets };
  }
  const signature = signatures === 'refuse' ? signed.refusal() : signatures === 'strip' ? signed.advice() : undefined;
  const checked = [...checker.finish(), ...policies.finish()];
  const issues = [...(signature ? [signature] : []), ...reading.issues, ...checked, ...maker.issues];
  return { issues, soa, apexNameServers, unevenSets, sets: checker.sets, longestRdata };
}

/** They are not records of the zone's owners, see control/dnssec/presigned. */
const APART: ReadonlySet<number> = new Set([Type.rrsig, Type.nsec, Type.nsec3]);

/** Whether a record that a signer made is none of the zone's rows. */
function isLeftOut(signatures: ImportOrder['signatures'], type: number): boolean {
  return signatures === 'apart' ? APART.has(type) : signatures !== 'refuse';
}

/** SOA rdata: two names and five numbers (RFC 1035 §3.3.13). `ttl`: seconds. */
export function soaOf({ rdata, ttl }: Pick<ParsedRecord, 'rdata' | 'ttl'>): ImportedSoa {
  const rnameAt = nameLength(rdata);
  const numbersAt = rnameAt + nameLength(rdata, rnameAt);
  const reader = new ByteReader(rdata, numbersAt);
  const serial = reader.u32();
  return {
    serial,
    columns: {
      soa_mname: printName(rdata).slice(0, -1),
      soa_rname: printName(rdata, rnameAt).slice(0, -1),
      soa_refresh: reader.u32(),
      soa_retry: reader.u32(),
      soa_expire: reader.u32(),
      soa_minimum: reader.u32(),
      soa_ttl: ttl ?? null,
    },
  };
}
