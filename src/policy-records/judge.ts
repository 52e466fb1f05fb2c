/**
 * Judges the records with which a domain says a policy: who may send its mail (SPF, DKIM, DMARC), how it takes mail (MTA-STS,
 * TLS-RPT, null MX), its logo (BIMI), and who may issue certificates for it (CAA). The one rule for zone files, `doctor`, the API
 * and the dashboard. Each record is judged in a time that grows with its length only.
 */
import { Type } from '../dns/codes.js';
import { latin1Text } from '../dns/presentation.js';
import { stringsOf } from '../dns/rr/text-fields.js';
import { bimiFaults, isBimi } from './bimi.js';
import { caaFaults, caaProperty } from './caa.js';
import { dkimFaults } from './dkim.js';
import { dmarcFaults, isDmarc, reportConsentFaults } from './dmarc.js';
import { LONGEST_TEXT, MOST_FAULTS, type PolicyFault, quoted } from './fault.js';
import { type Budget, type KnownNames, remembered } from './known.js';
import { isMeantAsSpf, isSpf, readSpf, type Spf } from './spf.js';
import { questionFaults } from './spf-questions.js';
import { copyFault } from './tag-list.js';
import { isMtaSts, isTlsReporting, mtaStsFaults, tlsReportingFaults } from './transport.js';

export interface JudgedRecord {
  /** Lower case, without the final dot. */
  readonly name: string;
  readonly type: number;
  /** Well-formed. */
  readonly rdata: Uint8Array;
}

/** Types of which some records say a policy. */
export const POLICY_TYPES: readonly number[] = [Type.txt, Type.mx, Type.spf, Type.caa];

type Kind = 'spf' | 'dkim' | 'dmarc' | 'dmarc-consent' | 'mta-sts' | 'tls-reporting' | 'bimi';

/** Names for people, and the place where receivers look for it. */
const KINDS: Readonly<
  Record<Kind, { readonly noun: string; readonly place: string; readonly is: (text: string) => boolean }>
> = {
  spf: { noun: 'SPF', place: 'the domain itself', is: isSpf },
  dkim: { noun: 'DKIM', place: '<selector>._domainkey.<domain>', is: (text) => /^v[ \t]*=[ \t]*DKIM1\b/.test(text) },
  dmarc: { noun: 'DMARC', place: '_dmarc.<domain>', is: isDmarc },
  'dmarc-consent': { noun: 'DMARC', place: '<domain>._report._dmarc.<domain>', is: isDmarc },
  'mta-sts': { noun: 'MTA-STS', place: '_mta-sts.<domain>', is: isMtaSts },
  'tls-reporting': { noun: 'TLS reporting', place: '_smtp._tls.<domain>', is: isTlsReporting },
  bimi: { noun: 'BIMI', place: '<selector>._bimi.<domain>', is: isBimi },
};
/** Those that have a place of their own. */
const PLACED = ['dmarc', 'dkim', 'mta-sts', 'tls-reporting', 'bimi'] as const;

/** What is wrong with a record; nothing for those that say no policy. */
export type Judge = (record: JudgedRecord) => readonly PolicyFault[];

/** For the records of one answer. */
const USUAL: Budget = { names: 200, octets: 256 * 1024 };

/** For records that are judged together; behind the budget, nothing is known of other names. */
export function createJudge(names: KnownNames, budget: Budget = USUAL): Judge {
  const known = remembered(names, budget);
  const read = new Map<string, Spf>();
  const readIncluded = (text: string, domain: string): Spf => {
    let spf = read.get(domain);
    if (!spf) read.set(domain, (spf = readSpf(text, domain)));
    return spf;
  };
  return (record) => faultsOf(record, known, readIncluded).slice(0, MOST_FAULTS);
}

function faultsOf(record: JudgedRecord, known: KnownNames, read: typeof readSpf): readonly PolicyFault[] {
  const { name, type, rdata } = record;
  if (type === Type.caa) return caaFaults(caaProperty(rdata.subarray(0, LONGEST_TEXT)), name);
  if (type === Type.mx) return nullMxFaults(record, known);
  if (type === Type.spf) return [obsoleteType(name)];
  if (type !== Type.txt) return [];
  const text = joinStrings(rdata);
  const kind = kindOf(name, text);
  if (kind === undefined) return misplaced(name, text);
  if (text.length > LONGEST_TEXT) return [tooLong(kind, name, text.length)];
  const copied = copyFault(text, `the ${KINDS[kind].noun} record at ${name}`, `${kind}-syntax`);
  if (copied) return [copied];
  const several = KINDS[kind].is(text) || kind === 'dkim' ? severalFaults(kind, name, known) : [];
  return [...several, ...faultsOfKind(kind, text, record, known, read)];
}

function faultsOfKind(
  kind: Kind,
  text: string,
  record: JudgedRecord,
  known: KnownNames,
  read: typeof readSpf,
): readonly PolicyFault[] {
  const { name } = record;
  switch (kind) {
    case 'spf': {
      if (!isSpf(text)) return [notSpf(name, text)];
      const joined = joinedTerms(record);
      const spf = readSpf(text, name);
      return joined ? [joined] : [...spf.faults, ...questionFaults(name, spf, known, read)];
    }
    case 'dkim':
      return dkimFaults(text, name);
    case 'dmarc':
      return dmarcFaults(text, name, known);
    case 'dmarc-consent':
      return reportConsentFaults(text, name);
    case 'mta-sts':
      return mtaStsFaults(text, name, known);
    case 'tls-reporting':
      return tlsReportingFaults(text, name);
    case 'bimi':
      return bimiFaults(text, name, known);
  }
}

/** By its name, or by its beginning; undefined: it says no policy here. */
function kindOf(name: string, text: string): Kind | undefined {
  if (name.startsWith('_dmarc.')) return 'dmarc';
  if (name.startsWith('_mta-sts.')) return 'mta-sts';
  if (name.startsWith('_smtp._tls.')) return 'tls-reporting';
  if (name.includes('._report._dmarc.')) return 'dmarc-consent';
  // Names that begin with an underscore are not selectors (RFC 5617, RFC 6651).
  if (!name.startsWith('_') && name.includes('._domainkey.')) return 'dkim';
  if (!name.startsWith('_') && name.includes('._bimi.')) return 'bimi';
  return isMeantAsSpf(text) ? 'spf' : undefined;
}

/** Whether a text may say a policy, so that it is worth keeping for a judge. */
export function mayBePolicy({ name, type, rdata }: JudgedRecord): boolean {
  if (type === Type.mx) return rdata.length === 3;
  if (type === Type.caa || type === Type.spf) return true;
  if (type !== Type.txt) return false;
  const text = joinStrings(rdata.subarray(0, 1 + Math.min(rdata[0] ?? 0, 60)));
  return kindOf(name, text) !== undefined || isPlaced(text) !== undefined;
}

function isPlaced(text: string): (typeof PLACED)[number] | undefined {
  return PLACED.find((kind) => KINDS[kind].is(text));
}

function misplaced(name: string, text: string): PolicyFault[] {
  const kind = isPlaced(text);
  if (kind === undefined) return [];
  const { noun, place } = KINDS[kind];
  const said = `nobody looks for the ${noun} record at ${name}`;
  return [{ code: `${kind}-place`, text: said, remedy: `Move it to ${place}.` }];
}

function severalFaults(kind: Kind, name: string, known: KnownNames): PolicyFault[] {
  const { noun, is } = KINDS[kind];
  const some = known.texts(name)?.filter((text) => kind === 'dkim' || is(text)).length ?? 0;
  if (some <= 1) return [];
  const text = `${name} has ${some} ${noun} records, so receivers use none of them`;
  return [
    {
      code: `${kind}-several`,
      text,
      remedy: kind === 'dkim' ? 'Keep one, or give each a selector of its own.' : 'Merge them into one.',
    },
  ];
}

function notSpf(name: string, text: string): PolicyFault {
  const said = `the SPF record of ${name} begins with ${quoted(text.slice(0, 20))}, so receivers do not know it`;
  return { code: 'spf-syntax', text: said, remedy: 'Begin it with v=spf1 and a blank.' };
}

function tooLong(kind: Kind, name: string, length: number): PolicyFault {
  const said = `the ${KINDS[kind].noun} record at ${name} has ${length} octets, which no receiver reads`;
  return { code: `${kind}-syntax`, text: said, remedy: `Make it shorter than ${LONGEST_TEXT} octets.` };
}

function obsoleteType(name: string): PolicyFault {
  const said = `nobody reads the SPF record of ${name} in the record type SPF any more`;
  return { code: 'spf-type', text: said, remedy: 'Write it as a TXT record, and remove this one (RFC 7208 §3.1).' };
}

/** Strings are joined without anything between them (RFC 7208 §3.3), and the blank between two terms is often forgotten. */
function joinedTerms({ name, rdata }: JudgedRecord): PolicyFault | undefined {
  for (let at = 0; at < rdata.length; ) {
    const next = at + 1 + rdata[at]!;
    if (next >= rdata.length) return undefined;
    const isFull = rdata[at] === 255;
    const before = String.fromCharCode(rdata[next - 1]!);
    const after = Buffer.from(rdata.subarray(next + 1, Math.min(next + 13, next + 1 + rdata[next]!))).toString(
      'latin1',
    );
    if (!isFull && before !== ' ' && /^[+?~-]?(?:include:|ip[46]:|exists:|redirect=|a:|mx:|all$)/i.test(after)) {
      const said = `the SPF record of ${name} is written in several strings, and the blank before ${quoted(after)} is missing; receivers join them`;
      return {
        code: 'spf-syntax',
        text: said,
        remedy: `Write a blank at the beginning of the string ${quoted(after)}.`,
      };
    }
    at = next;
  }
  return undefined;
}

/** “No mail here” stands alone, with the preference 0 (RFC 7505 §3). */
function nullMxFaults({ name, rdata }: JudgedRecord, known: KnownNames): PolicyFault[] {
  if (rdata.length !== 3) return [];
  const code = 'null-mx';
  if ((known.count(name, 'mx') ?? 0) > 1) {
    const text = `MX 0 . says that ${name} takes no mail, but other MX records do`;
    return [{ code, text, remedy: 'Remove this record or the others (RFC 7505 §3).' }];
  }
  if (rdata[0] === 0 && rdata[1] === 0) return [];
  const text = `the MX record of ${name} says with a dot that it takes no mail, which needs the preference 0`;
  return [{ code, text, remedy: 'Write 0 . (RFC 7505 §3).' }];
}

/** The strings of TXT rdata without anything between them (RFC 7208 §3.3), one character for each octet. */
export function joinStrings(rdata: Uint8Array): string {
  return stringsOf(rdata).map(latin1Text).join('');
}
