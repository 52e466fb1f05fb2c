/** A zone as it is served, signatures included, and what verifies it. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equalBytes } from '../../src/base/bytes.js';
import { Type } from '../../src/dns/codes.js';
import { nameLength, nameOfOwnerKey, ownerKeysDownTo, parseName, printName } from '../../src/dns/name.js';
import type { RR } from '../../src/dns/rr.js';
import { printRecord } from '../../src/dns/zonefile/writer.js';
import { nameBehind } from '../../src/dnssec/denial.js';
import { hashOwner } from '../../src/dnssec/nsec3.js';
import type { PlacedRR } from '../../src/dnssec/signed-zone.js';
import { type Verification, verifyZone } from '../../src/dnssec/verify.js';
import { hashedOwnerKey, servedHashedOwners } from '../../src/serving/hashed.js';
import { servedOwners } from '../../src/serving/owner.js';
import { servingZone } from '../../src/serving/zone.js';
import { findDnssecZone } from '../../src/store/dnssec/zones.js';
import { findZone } from '../../src/store/zones/zones.js';
import type { ChangedZone } from './random-changes.js';

/** Every record with its signatures, owner by owner. */
export function servedRecords({ ctx, seq }: Pick<ChangedZone, 'ctx' | 'seq'>): PlacedRR[] {
  const { store, settings } = ctx;
  return store.snapshot(() => {
    const zone = servingZone(store, findZone(store, seq)!, settings);
    const hashed = [...servedHashedOwners(store, zone)].map(({ hash, rrset }) => {
      return { ownerKey: hashedOwnerKey(hash), rrsets: [rrset] };
    });
    return [...servedOwners(store, zone), ...hashed].flatMap(({ ownerKey, rrsets }) => {
      const owner = nameOfOwnerKey(ownerKey, zone.facts.apex);
      const place = (type: number, ttl: number, rdata: Uint8Array): PlacedRR => {
        return { owner, type, ttl, rdata, file: undefined, line: 0 };
      };
      return rrsets
        .filter(({ type }) => type <= 0xffff)
        .flatMap(({ type, ttl, rdatas, signatures = [] }) => [
          ...rdatas.map((rdata) => place(type, ttl, rdata)),
          ...signatures.map((rdata) => place(Type.rrsig, ttl, rdata)),
        ]);
    });
  });
}

/**
 * Owners of the NSEC3 records of names that exist without any record, such as those of flattened CNAMEs without addresses, and
 * of the names above them. A list of the zone's records does not show these names.
 */
function silentHashes({ ctx, seq }: Pick<ChangedZone, 'ctx' | 'seq'>): ReadonlySet<string> {
  const { store, settings } = ctx;
  const zone = servingZone(store, findZone(store, seq)!, settings);
  const silent = [...servedOwners(store, zone)].filter(({ rrsets }) => !rrsets.some(({ rdatas }) => rdatas.length > 0));
  const names = silent.flatMap(({ ownerKey }) => ownerKeysDownTo(ownerKey));
  const hashes = names.map((key) => hashOwner(nameOfOwnerKey(key, zone.facts.apex), { iterations: 0, salt: NO_SALT }));
  return new Set(hashes.map((hash) => printName(nameOfOwnerKey(hashedOwnerKey(hash), zone.facts.apex))));
}

const NO_SALT = new Uint8Array(0);

/** Throws with the faults that our own verification finds in the zone as it is served. */
export function requireVerified(world: Pick<ChangedZone, 'ctx' | 'seq' | 'apex'>, when: string): Verification {
  const nowS = Math.floor(world.ctx.clock.nowMs() / 1000);
  const verifying = verifyZone(parseName(`${world.apex}.`), servedRecords(world), nowS);
  for (let next = verifying.next(); ; next = verifying.next()) {
    if (!next.done) continue;
    const silent = silentHashes(world);
    const row = findDnssecZone(world.ctx.store, world.seq)!;
    // With compact denial there is no chain.
    if (row.denial === 'compact' && row.next_denial !== 'nsec' && !row.walk) requireCompact(world, when);
    const findings = next.value.findings.filter(
      ({ code, place }) =>
        (code !== 'denial-of-foreign-name' || !silent.has(printName(place!.owner))) &&
        (code !== 'broken-chain' || row.denial !== 'compact'),
    );
    if (findings.length === 0) return next.value;
    throw new Error(`after ${when}: ${findings.map(({ message }) => message).join('; ')}`);
  }
}

/** Throws when an NSEC record is about more than its own name (RFC 9824 §3). */
function requireCompact(world: Pick<ChangedZone, 'ctx' | 'seq'>, when: string): void {
  for (const { owner, type, rdata } of servedRecords(world)) {
    if (type !== Type.nsec) continue;
    const next = rdata.subarray(0, nameLength(rdata));
    if (equalBytes(next, nameBehind(owner))) continue;
    throw new Error(`after ${when}: the NSEC record of ${printName(owner)} leads to ${printName(next)}`);
  }
}

const VERIFIERS = ['/usr/bin/ldns-verify-zone', '/usr/bin/dnssec-verify'] as const;

/** Programs that are not installed. Under CI=true the caller must fail instead of skipping. */
export function missingVerifiers(): string[] {
  return VERIFIERS.filter((program) => !existsSync(program));
}

/**
 * Throws with what ldns-verify-zone and dnssec-verify say of the zone as it is served. They look at the time of the machine, so
 * the clock must show it.
 */
export function requireVerifiedByOthers(world: Pick<ChangedZone, 'ctx' | 'seq' | 'apex'>, when: string): void {
  // They know chains alone.
  if (findDnssecZone(world.ctx.store, world.seq)?.denial === 'compact') return;
  requireRecordsVerified(world.apex, servedRecords(world), when);
}

/** The same of records from elsewhere. */
export function requireRecordsVerified(apex: string, records: readonly RR[], when: string): void {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-signed-'));
  const file = join(directory, 'zone');
  try {
    writeFileSync(file, `${records.map(printRecord).join('\n')}\n`, 'latin1');
    const [ldns, bind] = VERIFIERS;
    run(when, ldns, ['-V', '2', file]);
    run(when, bind, ['-q', '-o', apex, file]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function run(when: string, program: string, parameters: readonly string[]): void {
  try {
    execFileSync(program, parameters, { stdio: 'pipe', encoding: 'utf8' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`after ${when}, ${program}: ${stdout}${stderr}`);
  }
}
