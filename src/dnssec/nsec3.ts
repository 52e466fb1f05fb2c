/** Verifies the NSEC3 chain of a zone: every name by its hash, in order, with its types (RFC 5155 §7.1). */
import { createHash } from 'node:crypto';
import { compareBytes, fromBase32Hex, toBase32Hex } from '../base/bytes.js';
import { sortInSteps } from '../base/slices.js';
import { Type } from '../dns/codes.js';
import { isOwnerKeyBelow, labelsOf, lowerName, nameOfOwnerKey, ownerKeysDownTo, printName } from '../dns/name.js';
import { typesOfBitmap } from '../dns/type-bitmap.js';
import type { Finding } from './finding.js';
import { bitmapFault } from './nsec.js';
import { apexRRsets, isAuthoritative, type PlacedRR, type SignedOwner, type SignedZone } from './signed-zone.js';

const SHA1 = 1;
const OPT_OUT = 1;

interface Parameters {
  readonly algorithm: number;
  readonly iterations: number;
  readonly salt: Uint8Array;
}

/** One NSEC3 record. */
interface HashedName {
  /** 20 octets. */
  readonly hash: Uint8Array;
  readonly next: Uint8Array;
  readonly optOut: boolean;
  readonly types: readonly number[];
  readonly place: PlacedRR;
}

/** The hash of an owner name (RFC 5155 §5). */
export function hashOwner(name: Uint8Array, { iterations, salt }: Pick<Parameters, 'iterations' | 'salt'>): Uint8Array {
  let octets: Uint8Array = createHash('sha1').update(lowerName(name)).update(salt).digest();
  for (let i = 0; i < iterations; i++) octets = createHash('sha1').update(octets).update(salt).digest();
  return octets;
}

/** Resolvers refuse more, and hashing each name so often takes hours (RFC 9276 §3.2). */
const MOST_ITERATIONS = 150;

/**
 * The problems with the chain described by the zone's NSEC3PARAM, and undefined between other steps; no problem when it is complete.
 */
export function* verifyNsec3Chain(zone: SignedZone): Generator<Finding | undefined, void> {
  const rrset = apexRRsets(zone).get(Type.nsec3param);
  const parameters = rrset?.rdatas.filter((rdata) => rdata[1] === 0).map(readParameters)[0];
  if (!rrset || !parameters) return;
  const { algorithm, iterations } = parameters;
  const place = rrset.first;
  if (algorithm !== SHA1) {
    const message = `NSEC3 records of the hash algorithm ${algorithm} cannot be checked`;
    yield { severity: 'warning', code: 'unsupported-hash', message, place };
    return;
  }
  if (iterations > MOST_ITERATIONS) {
    const message = `NSEC3 uses ${iterations} extra iterations; resolvers refuse more than ${MOST_ITERATIONS} (RFC 9276 §3.2)`;
    yield { severity: 'error', code: 'many-iterations', message, place };
    return;
  }
  if (iterations > 0) {
    const message = `NSEC3 uses ${iterations} extra iterations; resolvers may treat the zone as unsigned or refuse it (RFC 9276 §3.2)`;
    yield { severity: 'warning', code: 'many-iterations', message, place };
  }
  const chain = yield* readChain(zone, parameters);
  yield* verifyOrder(chain);
  yield* verifyNames(zone, parameters, chain);
}

/** Algorithm, flags, iterations, salt (RFC 5155 §4.2). */
function readParameters(rdata: Uint8Array): Parameters {
  return { algorithm: rdata[0]!, iterations: (rdata[2]! << 8) | rdata[3]!, salt: rdata.subarray(5, 5 + rdata[4]!) };
}

/** The records of the chain in the order of their hashes. Records with other parameters belong to another chain. */
function* readChain({ hashedOwners }: SignedZone, parameters: Parameters): Generator<undefined, readonly HashedName[]> {
  const chain: HashedName[] = [];
  for (const { name, rrsets } of hashedOwners) {
    yield;
    const { rdatas, first } = rrsets.get(Type.nsec3)!;
    const hash = fromBase32Hex(Buffer.from(labelsOf(name)[0]!).toString('latin1'));
    for (const rdata of rdatas) {
      const own = readParameters(rdata);
      const isOfChain = own.algorithm === SHA1 && own.iterations === parameters.iterations;
      if (!hash || !isOfChain || compareBytes(own.salt, parameters.salt) !== 0) continue;
      const nextAt = 6 + own.salt.length;
      const nextEnd = nextAt + rdata[nextAt - 1]!;
      const types = typesOfBitmap(rdata, nextEnd, rdata.length);
      const optOut = (rdata[1]! & OPT_OUT) !== 0;
      chain.push({ hash, next: rdata.subarray(nextAt, nextEnd), optOut, types, place: first });
    }
  }
  return yield* sortInSteps(chain, (a, b) => compareBytes(a.hash, b.hash));
}

function* verifyOrder(chain: readonly HashedName[]): Generator<Finding | undefined, void> {
  for (const [i, { hash, next, place }] of chain.entries()) {
    yield undefined;
    const following = chain[(i + 1) % chain.length]!.hash;
    if (compareBytes(next, following) === 0) continue;
    const [own, to, right] = [hash, next, following].map((octets) => toBase32Hex(octets));
    const message = `the NSEC3 record ${own} points to ${to}, but the next one is ${right}`;
    yield { severity: 'error', code: 'broken-chain', message, place };
  }
}

interface ExpectedName {
  readonly key: Uint8Array;
  readonly name: Uint8Array;
  readonly types: readonly number[];
  /** A delegation without DS, or a name that exists only above such delegations; opt-out may omit it (RFC 5155 §6). */
  isInsecure: boolean;
  readonly place: PlacedRR | undefined;
}

function* verifyNames(
  zone: SignedZone,
  parameters: Parameters,
  chain: readonly HashedName[],
): Generator<Finding | undefined, void> {
  const byHash = new Map<string, HashedName>();
  for (const member of chain) {
    byHash.set(Buffer.from(member.hash).toString('latin1'), member);
    yield undefined;
  }
  for (const { name, types, isInsecure, place } of expectedNames(zone)) {
    yield undefined;
    const hash = hashOwner(name, parameters);
    const key = Buffer.from(hash).toString('latin1');
    const member = byHash.get(key);
    byHash.delete(key);
    if (member) {
      const fault = bitmapFault(types, member.types);
      const message = `the NSEC3 record of ${printName(name)} ${fault}`;
      if (fault !== undefined) yield { severity: 'error', code: 'wrong-types', message, place: member.place };
    } else if (!isInsecure || !covering(chain, hash)?.optOut) {
      const message = `${printName(name)} has no NSEC3 record (${toBase32Hex(hash)})`;
      yield { severity: 'error', code: 'no-denial', message, place };
    }
  }
  for (const { hash, place } of byHash.values()) {
    const message = `the NSEC3 record ${toBase32Hex(hash)} matches no name of this zone`;
    yield { severity: 'error', code: 'denial-of-foreign-name', message, place };
  }
}

/**
 * Every name that the chain must contain: owners, and empty non-terminals above them, each after all names below it. An owner may have
 * more than a hundred of these, so only those above the last owner are kept.
 */
function* expectedNames({ apex, owners }: SignedZone): Generator<ExpectedName> {
  const open: ExpectedName[] = [];
  const close = function* (next: Uint8Array | undefined): Generator<ExpectedName> {
    for (let last = open.at(-1); last && !(next && isOwnerKeyBelow(next, last.key)); last = open.at(-1)) {
      open.pop();
      yield last;
    }
  };
  for (const owner of owners) {
    if (owner.standing === 'occluded') continue;
    yield* close(owner.key);
    const isInsecure = owner.standing === 'cut' && !owner.rrsets.has(Type.ds);
    const place = [...owner.rrsets.values()][0]?.first;
    // A name is insecure only as long as all below it are.
    if (!isInsecure) for (const name of open) if (name.types.length === 0) name.isInsecure = false;
    const known = open.at(-1)?.key.length ?? 0;
    for (const key of ownerKeysDownTo(owner.key).slice(0, -1)) {
      if (key.length > known) open.push({ key, name: nameOfOwnerKey(key, apex), types: [], isInsecure, place });
    }
    open.push({ key: owner.key, name: owner.name, types: expectedTypes(owner, isInsecure), isInsecure, place });
  }
  yield* close(undefined);
}

/** A delegation without DS has no signed records at its name (RFC 5155 §7.1). */
function expectedTypes(owner: SignedOwner, isInsecure: boolean): number[] {
  const types = [...owner.rrsets.keys()].filter((type) => type === Type.ns || isAuthoritative(owner, type));
  return isInsecure ? types : [...types, Type.rrsig];
}

/** The record whose hash and next hash surround this one. */
function covering(chain: readonly HashedName[], hash: Uint8Array): HashedName | undefined {
  let low = 0;
  let high = chain.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareBytes(chain[middle]!.hash, hash) < 0) low = middle + 1;
    else high = middle;
  }
  return chain[low - 1] ?? chain.at(-1);
}
