/**
 * Turns zone texts into the compiled image and its engine with the same code that serves: parser, checker, loader,
 * engine.
 */

import { answerWith, createEngine } from '../../src/answer/engine.js';
import type { MadeTable } from '../../src/answer/made.js';
import { createSigningTime } from '../../src/answer/signing-time.js';
import { createEngineState, DEFAULT_ENGINE_SETTINGS, type EngineSettings } from '../../src/answer/state.js';
import type { Answer } from '../../src/answer/transport.js';
import { ByteReader } from '../../src/base/bytes.js';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { formatIssue } from '../../src/base/result.js';
import {
  type CompactAnswerer,
  type CompactOptions,
  createCompactAnswerer,
  MOST_TIME_US,
} from '../../src/compact/answerer.js';
import { Type } from '../../src/dns/codes.js';
import { nameLength, ownerKeyOf, parseName } from '../../src/dns/name.js';
import { typeByCode } from '../../src/dns/rr/registry.js';
import { type ParsedRecord, readZone } from '../../src/dns/zonefile/parser.js';
import type { Denial } from '../../src/dnssec/denial.js';
import { ImageWriter } from '../../src/image/writer.js';
import { beginLoad, type SignedLoad } from '../../src/publish/load.js';
import { type ServedOwner, serveRows } from '../../src/serving/owner.js';
import type { ServingZone } from '../../src/serving/zone.js';
import type { StoredTuple } from '../../src/store/records/stored-rows.js';
import { createZoneChecker } from '../../src/zone/check.js';
import { NO_TARGETS } from '../../src/zone/derive/flatten.js';
import type { SoaFacts } from '../../src/zone/derive/soa.js';
import { DATA_KEY, type SignedZone, signZone } from './signed-zone.js';

export interface ZoneSource {
  /** With final dot. */
  readonly apex: string;
  readonly text: string;
  /** The zone is signed before it is served. */
  readonly denial?: Denial | undefined;
}

export interface ServedZones {
  readonly answer: Answer;
  readonly writer: ImageWriter;
  /** Zones that were refused, with the reason. */
  readonly refused: ReadonlyMap<string, string>;
  /** Signed zones by their apexes. */
  readonly signed: ReadonlyMap<string, SignedZone>;
}

/** Serves zones from memory; a zone with errors is refused as an import would refuse it. */
export function serveZones(
  zones: readonly ZoneSource[],
  settings: EngineSettings = DEFAULT_ENGINE_SETTINGS,
): ServedZones {
  const writer = new ImageWriter({ seed: 20261120 });
  const refused = new Map<string, string>();
  const signed = new Map<string, SignedZone>();
  for (const zone of zones) {
    const origin = parseName(zone.apex);
    const owners = readOwners(zone);
    if (typeof owners === 'string') {
      refused.set(zone.apex, owners);
      continue;
    }
    const { denial } = zone;
    const own = denial && signZone(origin, owners, denial);
    if (own) signed.set(zone.apex, own);
    loadOwners(writer, origin, own?.owners ?? owners, denial && own && { denial, hashedOwners: own.hashedOwners });
  }
  return { answer: createEngine(writer.reader, settings), writer, refused, signed };
}

/** Serves one zone of which the caller knows what it serves. */
export function serveOwners(apex: Uint8Array, owners: Iterable<ServedOwner>, signed?: SignedLoad): ServedZones {
  const writer = new ImageWriter({ seed: 20261120 });
  loadOwners(writer, apex, owners, signed);
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  return { answer, writer, refused: new Map(), signed: new Map() };
}

/** The answerer of zones with compact denial, and its engine. `keys`: whether there are any. */
export function serveCompact(
  { writer }: Pick<ServedZones, 'writer'>,
  {
    clock = new SystemClock(),
    processorUs = () => clock.steadyUs(),
    hasKeys = () => true,
    accountOf = () => 1,
  }: Partial<Pick<CompactOptions, 'clock' | 'processorUs' | 'accountOf'>> & { readonly hasKeys?: () => boolean } = {},
): { readonly compact: CompactAnswerer; readonly signingTime: SharedArrayBuffer; readonly made: MadeTable } {
  const made: MadeTable = new Map();
  const signingTime = createSigningTime(MOST_TIME_US);
  const state = createEngineState({ ...DEFAULT_ENGINE_SETTINGS, signingTime }, made);
  const engine = { state, image: writer.reader, answer: answerWith(state, writer.reader) };
  const keysOf = () => (hasKeys() ? [DATA_KEY] : undefined);
  return {
    compact: createCompactAnswerer({
      engine,
      made,
      signingTime,
      keysOf,
      accountOf,
      clock,
      processorUs,
      log: silentLogger(),
    }),
    signingTime,
    made,
  };
}

function loadOwners(
  writer: ImageWriter,
  apex: Uint8Array,
  owners: Iterable<ServedOwner>,
  signed: SignedLoad | undefined,
): void {
  const load = beginLoad(writer, apex, owners, signed);
  load.advance(Number.POSITIVE_INFINITY);
  writer.publishZone(load.number);
  writer.commit();
}

/** What a zone serves without signatures, or the first error of a zone that cannot be served. */
export function readOwners({ apex, text }: ZoneSource): Iterable<ServedOwner> | string {
  const origin = parseName(apex);
  const reading = readZone({ text }, { origin });
  const records = [...reading.records()].flat();
  const checker = createZoneChecker(origin, { selfContained: true, flattens: false });
  const kept = records.filter((record) => checker.add(record));
  const error = [...reading.issues, ...checker.finish()].find(({ severity }) => severity === 'error');
  if (error) return formatIssue(error);
  const soa = soaFacts(kept.find(({ type }) => type === Type.soa)!);
  const rows = storedRows(kept, origin, soa.minimum);
  return serveRows(plainZone(origin, soa), rows, NO_TARGETS);
}

/** A zone to whose records the service adds nothing. */
export function plainZone(apex: Uint8Array, soa: Partial<SoaFacts> = {}): ServingZone {
  const given = { mname: apex, rname: apex, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 60, ttl: 300, ...soa };
  return {
    seq: 1,
    facts: {
      apex,
      soa: given,
      nameServers: [],
      nsTtl: 0,
      ownNameServers: true,
      dnsOnly: false,
      http2: false,
      certifiedNames: [],
    },
    edge: { ipv4: [], ipv6: [] },
    hosts: [],
    hostAddresses: [],
  };
}

function soaFacts({ rdata, ttl }: ParsedRecord): SoaFacts {
  const mname = rdata.subarray(0, nameLength(rdata));
  const rname = rdata.subarray(mname.length, mname.length + nameLength(rdata, mname.length));
  const numbers = new ByteReader(rdata, mname.length + rname.length);
  const [serial, refresh, retry, expire, minimum] = [0, 0, 0, 0, 0].map(() => numbers.u32()) as [
    number,
    number,
    number,
    number,
    number,
  ];
  return { mname, rname, serial, refresh, retry, expire, minimum, ttl: ttl ?? minimum };
}

/** In canonical order, identical records once. */
function storedRows(records: readonly ParsedRecord[], apex: Uint8Array, defaultTtl: number): StoredTuple[] {
  const rows = new Map<string, StoredTuple>();
  for (const { owner, type, ttl, rdata } of records) {
    if (type === Type.soa) continue;
    const ownerKey = Buffer.from(ownerKeyOf(owner, apex));
    // TXT as it is: that the API takes differently split strings for one (v4: §5.5) is not the engine's matter.
    const key = type === Type.txt ? rdata : typeByCode(type).duplicateKey(rdata);
    const identity = `${ownerKey.toString('latin1')}/${type}/${Buffer.from(key).toString('latin1')}`;
    if (!rows.has(identity)) rows.set(identity, [ownerKey, type, ttl ?? defaultTtl, 0, rdata, null]);
  }
  return [...rows.values()].sort((a, b) => Buffer.compare(a[0], b[0]));
}
