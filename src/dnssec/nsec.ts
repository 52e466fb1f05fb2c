/** Verifies the NSEC chain of a zone: every name once, in order, with its types (RFC 4035 §2.3). */
import { equalBytes } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import { lowerName, nameLength, printName } from '../dns/name.js';
import { typeMnemonic } from '../dns/rr/registry.js';
import { typesOfBitmap } from '../dns/type-bitmap.js';
import type { Finding } from './finding.js';
import { isAuthoritative, type SignedOwner, type SignedZone } from './signed-zone.js';

/** The problems with the chain, and undefined between them; none when it is complete. */
export function* verifyNsecChain({ owners }: SignedZone): Generator<Finding | undefined, void> {
  const members: SignedOwner[] = [];
  for (const owner of owners) {
    yield undefined;
    const rrset = owner.rrsets.get(Type.nsec);
    if (owner.standing !== 'occluded') members.push(owner);
    else if (rrset) {
      const message = `${printName(owner.name)} has an NSEC record, but is not a name of this zone`;
      yield { severity: 'error', code: 'denial-of-foreign-name', message, place: rrset.first };
    }
  }
  for (let i = 0; i < members.length; i++) {
    yield* verifyMember(members[i]!, members[(i + 1) % members.length]!);
    yield undefined;
  }
}

function verifyMember(owner: SignedOwner, next: SignedOwner): Finding[] {
  const rrset = owner.rrsets.get(Type.nsec);
  const name = printName(owner.name);
  const error = (code: string, message: string): Finding => {
    return { severity: 'error', code, message, place: rrset?.first ?? [...owner.rrsets.values()][0]?.first };
  };
  if (!rrset) return [error('no-denial', `${name} has no NSEC record`)];
  if (rrset.rdatas.length > 1) return [error('several-denials', `${name} has more than one NSEC record`)];
  const rdata = rrset.rdatas[0]!;
  const nextLength = nameLength(rdata);
  const pointsTo = lowerName(rdata.subarray(0, nextLength));
  const faults: Finding[] = [];
  if (!equalBytes(pointsTo, next.name)) {
    const message = `the NSEC record of ${name} points to ${printName(pointsTo)}, but the next name is ${printName(next.name)}`;
    faults.push(error('broken-chain', message));
  }
  const expected = [Type.rrsig, ...owner.rrsets.keys()].filter(
    (type) => type === Type.rrsig || type === Type.ns || isAuthoritative(owner, type),
  );
  const fault = bitmapFault(expected, typesOfBitmap(rdata, nextLength, rdata.length));
  return fault === undefined ? faults : [...faults, error('wrong-types', `the NSEC record of ${name} ${fault}`)];
}

/** Types that are named. */
const MOST_NAMED = 50;

/** How the types of a bitmap differ from the expected ones, or undefined. */
export function bitmapFault(expected: readonly number[], found: readonly number[]): string | undefined {
  const [own, others] = [new Set(expected), new Set(found)];
  const missing = expected.filter((type) => !others.has(type));
  const wrong = found.filter((type) => !own.has(type));
  const list = (types: readonly number[]): string => types.slice(0, MOST_NAMED).map(typeMnemonic).join(' ');
  if (missing.length > 0) return `does not list ${list(missing)}`;
  return wrong.length > 0 ? `lists ${list(wrong)}, which does not exist` : undefined;
}
