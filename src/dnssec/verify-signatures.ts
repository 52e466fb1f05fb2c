/**
 * Verifies that all RRsets of a zone are signed and that a validating resolver accepts the signatures (RFC 4035 §2.2,
 * §5.3).
 */
import { equalBytes } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import { lowerName } from '../dns/name.js';
import { serialIsAfter } from '../dns/serial.js';
import { type Finding, rrsetName } from './finding.js';
import { isSignedBy, isSupportedAlgorithm, type PublicKey } from './key.js';
import { type Signature, signedLabels, signedOctets } from './signature.js';
import { isAuthoritative, type PlacedSignature, type SignedOwner, type SignedRRset } from './signed-zone.js';

export interface SignatureCheck {
  /** Lower-case wire name. */
  readonly apex: Uint8Array;
  readonly keys: PublicKey[];
  /** Seconds since 1970. */
  readonly now: number;
  readonly findings: Finding[];
  /** RRsets that must be signed. */
  rrsets: number;
  /** Signatures that are valid. */
  good: number;
  /** When the first valid signature ends, seconds since 1970 modulo 2^32. */
  firstExpiration: number | undefined;
}

/** More signatures of one RRset are not looked at, nor stored (serving/stored-signatures.ts). */
const MOST_SIGNATURES = 64;

/** Checks all RRsets and signatures of one owner, signature by signature. */
export function* verifyOwner(check: SignatureCheck, owner: SignedOwner): Generator<undefined, void> {
  for (const [type, rrset] of owner.rrsets) {
    if (isAuthoritative(owner, type)) yield* verifyRRset(check, owner, type, rrset);
    yield;
  }
  for (const [type, signatures] of owner.signatures) {
    const what = rrsetName(owner.name, type);
    const { place } = signatures[0]!;
    if (!owner.rrsets.has(type)) {
      check.findings.push(error('signature-without-data', `${what}: there is a signature, but no such record`, place));
    } else if (!isAuthoritative(owner, type)) {
      const message = `${what}: belongs to another zone and must not be signed here (RFC 4035 §2.2)`;
      check.findings.push({ severity: 'warning', code: 'signature-of-glue', message, place });
    }
  }
}

/**
 * Each algorithm of the zone's keys must sign every RRset (RFC 4035 §2.2); one valid signature of each is sufficient.
 */
function* verifyRRset(
  check: SignatureCheck,
  owner: SignedOwner,
  type: number,
  rrset: SignedRRset,
): Generator<undefined, void> {
  check.rrsets++;
  const signatures = owner.signatures.get(type) ?? [];
  const what = rrsetName(owner.name, type);
  if (signatures.length > MOST_SIGNATURES) {
    const message = `${what}: ${signatures.length} signatures; the limit is ${MOST_SIGNATURES}`;
    check.findings.push(error('many-signatures', message, rrset.first));
    return;
  }
  const good: PlacedSignature[] = [];
  for (const algorithm of new Set(check.keys.map((key) => key.algorithm))) {
    const own = signatures.filter((signature) => signature.algorithm === algorithm);
    if (own.length === 0) {
      const message = `${what}: no signature of algorithm ${algorithm}`;
      check.findings.push(error('no-signature', message, rrset.first));
    } else if (isSupportedAlgorithm(algorithm)) {
      good.push(...(yield* verifyAlgorithm(check, owner, rrset, own, what)));
    } else {
      check.findings.push(unsupported(what, algorithm, own[0]!));
    }
  }
  if (type === Type.dnskey && good.length > 0) requireEntryPoint(check, rrset, good);
}

/** A parent points to an entry point, and resolvers trust the other keys because it signs them (RFC 4035 §5.2). */
function requireEntryPoint({ keys, findings }: SignatureCheck, rrset: SignedRRset, good: readonly Signature[]): void {
  const entryPoints = keys.filter((key) => key.isEntryPoint);
  const signs = ({ tag, algorithm }: PublicKey): boolean =>
    good.some((signature) => signature.keyTag === tag && signature.algorithm === algorithm);
  if (entryPoints.length === 0 || entryPoints.some(signs)) return;
  const message = 'the keys of the zone are not signed by one that a parent can point to (flag 257)';
  findings.push(error('no-entry-point', message, rrset.first));
}

/** The valid signatures of one algorithm. Invalid ones are errors only if there is no valid one. */
function* verifyAlgorithm(
  check: SignatureCheck,
  owner: SignedOwner,
  rrset: SignedRRset,
  signatures: readonly PlacedSignature[],
  what: string,
): Generator<undefined, PlacedSignature[]> {
  const judged: { readonly signature: PlacedSignature; readonly fault: Fault | undefined }[] = [];
  for (const signature of signatures) {
    judged.push({ signature, fault: faultOf(check, owner, rrset, signature) });
    yield;
  }
  const good = judged.filter(({ fault }) => fault === undefined).map(({ signature }) => signature);
  const severity = good.length > 0 ? 'warning' : 'error';
  for (const { signature, fault } of judged) {
    if (!fault) continue;
    const message = `${what}: the signature of key ${signature.keyTag} ${fault.message}`;
    check.findings.push({ severity, code: fault.code, message, place: signature.place });
  }
  check.good += good.length;
  for (const { expiration } of good) {
    const first = check.firstExpiration;
    if (first === undefined || serialIsAfter(first, expiration)) check.firstExpiration = expiration;
  }
  return good;
}

interface Fault {
  readonly code: string;
  readonly message: string;
}

/** Why a resolver would reject a signature (RFC 4035 §5.3.1), or undefined. */
function faultOf(
  { apex, now, keys }: SignatureCheck,
  owner: SignedOwner,
  rrset: SignedRRset,
  signature: Signature,
): Fault | undefined {
  const { signer, labels, originalTtl, inception, expiration, keyTag, algorithm } = signature;
  if (!equalBytes(lowerName(signer), apex)) return { code: 'wrong-signer', message: 'names another zone as signer' };
  if (labels !== signedLabels(owner.name)) {
    return { code: 'wrong-labels', message: `covers ${labels} labels, but the name has ${signedLabels(owner.name)}` };
  }
  if (originalTtl < rrset.ttl) {
    return { code: 'wrong-ttl', message: `has the original TTL ${originalTtl}, but the records have ${rrset.ttl}` };
  }
  if (serialIsAfter(inception, now))
    return { code: 'not-yet-valid', message: `begins on ${printTime(inception, now)}` };
  if (serialIsAfter(now, expiration)) return { code: 'expired', message: `ended on ${printTime(expiration, now)}` };
  const candidates = keys.filter((key) => key.tag === keyTag && key.algorithm === algorithm);
  if (candidates.length === 0) return { code: 'unknown-key', message: 'belongs to no key of the zone' };
  const octets = signedOctets({ ...signature, head: signature.rdata }, owner.name, rrset.rdatas);
  if (candidates.some((key) => isSignedBy(key, octets, signature.signature))) return undefined;
  return { code: 'wrong-signature', message: 'does not match the records' };
}

function error(code: string, message: string, place: Finding['place']): Finding {
  return { severity: 'error', code, message, place };
}

function unsupported(what: string, algorithm: number, { place }: PlacedSignature): Finding {
  const message = `${what}: signatures of algorithm ${algorithm} cannot be checked`;
  return { severity: 'warning', code: 'unsupported-algorithm', message, place };
}

/** A time modulo 2^32 as the one nearest to now (RFC 4034 §3.1.5). Both in seconds. */
export function printTime(time: number, now: number): string {
  const seconds = now + ((time - now) | 0);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}
