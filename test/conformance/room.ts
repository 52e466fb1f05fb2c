/** Truncation: what does not fit is omitted, and nothing else (RFC 2181 §9, RFC 9471 §3.1). */
import { Type } from '../../src/dns/codes.js';
import type { DecodedMessage, DecodedRR } from '../support/message.js';
import type { Exchange } from './comparison.js';
import { isLink, meaningOf, printRR } from './meaning.js';
import type { Way } from './questions.js';

/** Octets an answer may have, by the way it was asked for. */
const LIMITS: Readonly<Record<Way, number>> = { udp: 512, edns: 1232, dnssec: 1232, tcp: 65535, 'dnssec-tcp': 65535 };

/** What is wrong with the length of our answer; undefined when nothing is. */
export function judgeRoom({ way, ours, whole }: Exchange): string | undefined {
  const limit = LIMITS[way];
  if (ours.length > limit) return `${ours.length} octets`;
  if (whole.tc) return 'TC over TCP';
  const optional = whole.additional.filter((record) => !isMandatory(record, whole));
  const least = optional.reduce((length, record) => length - sizeOf(record), whole.length);
  if (ours.tc) return least > limit ? undefined : `TC though ${least} octets would do`;
  if (least > limit) return `${least} octets are needed and TC is not set`;
  const [own, all] = [meaningOf(ours), meaningOf(whole)];
  if (own.answer !== all.answer || own.authority !== all.authority || ours.rcode !== whole.rcode) {
    return 'not the answer that TCP gives';
  }
  const given = new Set(ours.additional.map(printRR));
  const lost = whole.additional.find((record) => isMandatory(record, whole) && !given.has(printRR(record)));
  return lost && `${printRR(lost)} is left out and TC is not set`;
}

/** Glue below the cut of a referral. */
function isMandatory({ owner }: DecodedRR, { answer, authority }: DecodedMessage): boolean {
  const cut = authority[0];
  if (cut?.type !== Type.ns || !answer.every(isLink)) return false;
  return owner === cut.owner || owner.endsWith(`.${cut.owner}`);
}

/** Octets of an additional record, whose owner is a pointer to the name that mentions it. */
function sizeOf({ rdata }: DecodedRR): number {
  return 12 + rdata.length / 2;
}
