/** Whether a zone that was signed elsewhere can be served as it is. */

import { equalBytes } from '../../../base/bytes.js';
import type { Issue } from '../../../base/result.js';
import { Type } from '../../../dns/codes.js';
import { issueOfFinding } from '../../../dnssec/finding.js';
import type { PlacedRR } from '../../../dnssec/signed-zone.js';
import { verifyZone } from '../../../dnssec/verify.js';

/** What a validating resolver would say of the zone, and what cannot be served. `now`: seconds since 1970. */
export function* verifyPresigned(
  apex: Uint8Array,
  records: readonly PlacedRR[],
  now: number,
): Generator<unknown, Issue[]> {
  const { findings } = yield* verifyZone(apex, records, now);
  const issues = findings.map(issueOfFinding);
  const several = yield* severalChains(records);
  return several ? [...issues, several] : issues;
}

/** One chain proves absence: two would be needed only while one takes the place of the other. */
function* severalChains(records: readonly PlacedRR[]): Generator<undefined, Issue | undefined> {
  let parameters = 0;
  let first: Uint8Array | undefined;
  let [isMixed, hasOther] = [false, false];
  for (const { type, rdata } of records) {
    yield;
    if (type === Type.nsec3param) parameters++;
    else if (type === Type.nsec) hasOther = true;
    else if (type === Type.nsec3) {
      first ??= parametersOf(rdata);
      isMixed ||= !equalBytes(parametersOf(rdata), first);
    }
  }
  if (parameters <= 1 && !isMixed && !(first && hasOther)) return undefined;
  const message =
    'the zone has several chains of NSEC or NSEC3 records; finish the change of its denial where it is signed';
  return { severity: 'error', code: 'several-chains', message };
}

/** Hash algorithm, iterations and salt of an NSEC3 record (RFC 5155 §3.2). */
function parametersOf(rdata: Uint8Array): Uint8Array {
  return Uint8Array.of(rdata[0]!, ...rdata.subarray(2, 5 + rdata[4]!));
}
