/** The meaning of an answer, independent of its encoding: the parts that must be equal on every server. */
import type { DecodedMessage, DecodedRR } from '../support/message.js';

export interface Meaning {
  readonly rcode: number;
  /** Header flags that are set, except QR. */
  readonly flags: string;
  /** Of the OPT record: version, payload size, DO; empty without OPT. Options are free. */
  readonly opt: string;
  /** One record a line; links of a chain in their order, then the rest sorted. */
  readonly answer: string;
  readonly authority: string;
}

const CNAME = 5;
const DNAME = 39;

export function meaningOf(message: DecodedMessage): Meaning {
  const { rcode, opt, tc } = message;
  const flags = (['aa', 'tc', 'rd', 'ra', 'z', 'ad', 'cd'] as const).filter((flag) => message[flag]).join(' ');
  return {
    rcode,
    flags,
    opt: opt ? `${opt.version} ${opt.size}${opt.dnssecOk ? ' do' : ''}` : '',
    // What a truncated answer still holds is free (RFC 2181 §9).
    answer: tc ? '' : printAnswer(message.answer),
    authority: tc ? '' : printSet(message.authority),
  };
}

export function sameMeaning(a: Meaning, b: Meaning): boolean {
  return (
    a.rcode === b.rcode &&
    a.flags === b.flags &&
    a.opt === b.opt &&
    a.answer === b.answer &&
    a.authority === b.authority
  );
}

export function isLink({ type }: DecodedRR): boolean {
  return type === CNAME || type === DNAME;
}

export function printRR({ owner, type, class: rrClass, ttl, rdata }: DecodedRR): string {
  return `${owner} ${ttl} ${rrClass} ${type} ${rdata}`;
}

function printSet(records: readonly DecodedRR[]): string {
  return records.map(printRR).sort().join('\n');
}

function printAnswer(records: readonly DecodedRR[]): string {
  const links = records.filter(isLink).map(printRR);
  const others = records.filter((record) => !isLink(record)).map(printRR);
  return [...links, ...others.sort()].join('\n');
}
