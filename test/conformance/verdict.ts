/**
 * Decides whether our answer is right. Where all references that loaded the zone agree, we must agree with them. Where
 * they differ, a ruling with its reason decides; a disagreement without a ruling is also a failure.
 */
import { Type } from '../../src/dns/codes.js';
import { type DecodedMessage, type DecodedRR, printWire } from '../support/message.js';
import type { ReferenceName } from '../support/reference-servers.js';
import { judgeAdditional } from './additional-section.js';
import type { Exchange } from './comparison.js';
import { isLink, type Meaning, meaningOf, printRR, sameMeaning } from './meaning.js';
import { judgeRoom } from './room.js';

export interface Verdict {
  /** `unanimous`, the name of a ruling, or `no ruling`. */
  readonly by: string;
  /** What is wrong; undefined when we are right. */
  readonly fault: string | undefined;
  readonly agreed: readonly ReferenceName[];
}

interface Case extends Exchange {
  readonly own: Meaning;
  readonly meanings: ReadonlyMap<ReferenceName, Meaning>;
  /** CNAMEs and DNAMEs of our whole answer. */
  readonly links: readonly DecodedRR[];
}

interface Ruling {
  readonly name: string;
  readonly reason: string;
  applies(c: Case): boolean;
  /** References to agree with, one of them; or a check of its own. */
  readonly accepts: readonly ReferenceName[] | ((c: Case) => boolean);
}

/** Comes before everything else, also before agreement: our names may be shorter on the wire than everybody's. */
const ROOM: Ruling = {
  name: 'room',
  reason:
    'How much fits depends on the compression; BIND keeps room for an OPT that nobody sent; NSD and BIND drop glue that RFC 9471 §3.1 wants TC for. Right is: TC if what must be there is too long, else the same as over TCP.',
  applies: ({ ours, theirs }) => ours.tc || [...theirs.values()].some(({ tc }) => tc),
  accepts: () => true,
};

/** The first that applies decides. */
const RULINGS: readonly Ruling[] = [
  {
    name: 'rrset ttl',
    reason:
      'TTLs of one RRset differ in the file: NSD gives each its own, BIND the first, Knot the last. The lowest is right for everybody (RFC 2181 §5.2).',
    applies: ({ own, meanings }) =>
      [...meanings.values()].every((theirs) => sameMeaning(withoutTtl(theirs), withoutTtl(own))),
    accepts: hasLowestTtls,
  },
  {
    name: 'recursive dname',
    reason:
      'Several DNAMEs, or one that leads below itself or back: NSD stops after one step, Knot after five, BIND says SERVFAIL. What one of them says, or a chain that holds together, each owner once.',
    applies: ({ links, theirs }) =>
      isRecursive(links) || [...theirs.values()].some(({ answer }) => isRecursive(answer)),
    accepts: (c) =>
      agrees(c) || isLiteralSubstitution(c) || (c.ours.aa && endsWell(c) && isLiteral(c) && holdsTogether(c.links)),
  },
  {
    name: 'other zone without knot',
    reason:
      'Knot fails with opt-out: SERVFAIL after a DNAME at a wildcard, NXDOMAIN without SOA below an empty non-terminal. When the chain leads to a name of another zone that is served too, nobody else stays in the zone: NSD goes on there, BIND leaves out the referral. The links of one of them, then what this zone says, which is what NSD and BIND say without the other zone.',
    applies: ({ links, theirs }) => links.length > 0 && isFailureOfKnot(theirs.get('knot')),
    accepts: (c) => agrees(c) || (isLiteral(c) && sameLinks(c) && staysInZone(c)),
  },
  {
    name: 'wildcard dname',
    reason: 'Substitution at a wildcard is undefined (RFC 6672 §3.3): a literal owner, as NSD and BIND have it.',
    applies: ({ owners, links, theirs }) =>
      [...owners].some((owner) => owner.startsWith('*.')) &&
      [...links, ...(theirs.get('knot')?.answer ?? [])].some(
        ({ type, owner }) => type === Type.dname && owner.startsWith('*.'),
      ),
    accepts: isLiteralSubstitution,
  },
  {
    name: 'any',
    reason:
      'One RRset of those there are (RFC 8482 §4.1): NSD and Knot take different ones, BIND gives all. Behind a DNAME BIND says no more than the alias; RFC 6672 §3.2 goes on with the new name for every type, as NSD and Knot do.',
    applies: ({ question }) => question.type === Type.any,
    accepts: isOneRRset,
  },
  {
    name: 'wildcard ns',
    reason:
      'NS at a wildcard has no defined meaning (RFC 4592 §4.2). NSD answers it like other data; BIND refuses the zone; Knot sends a referral of the name with the `*`, which no resolver takes for a parent of the name it asked for.',
    applies: ({ theirs }) =>
      !theirs.has('bind') &&
      (theirs.get('knot')?.authority ?? []).some(({ type, owner }) => type === Type.ns && owner.startsWith('*.')),
    accepts: ['nsd'],
  },
  {
    name: 'alias loop',
    reason:
      'BIND says SERVFAIL, NSD and Knot may list a wildcard twice; NOERROR with each CNAME once leaves the verdict to the resolver (RFC 1034 §5.2.2).',
    applies: ({ links }) => leadsBack(links),
    accepts: (c) => c.ours.aa && c.ours.rcode === 0 && holdsTogether(c.links) && sameLinks(c),
  },
  {
    name: 'yxdomain',
    reason: 'Knot adds an SOA, which RFC 6672 §3.1 does not ask for.',
    applies: ({ ours }) => ours.rcode === 6,
    accepts: ['nsd', 'bind'],
  },
  {
    name: 'long chain',
    reason: 'Knot stops after 5 CNAMEs, BIND after 11 with SERVFAIL; resolvers follow 16 and more.',
    applies: ({ links }) => links.length > 5,
    accepts: ['nsd'],
  },
  {
    name: 'opt-out',
    reason:
      'Below an empty non-terminal that opt-out leaves out of the chain, Knot says NXDOMAIN without SOA and proof; RFC 5155 §7.2.2 wants the closest provable encloser.',
    applies: ({ theirs }) => isFailureOfKnot(theirs.get('knot')) && theirs.get('knot')!.rcode === 3,
    accepts: ['bind', 'nsd'],
  },
  {
    name: 'other zone',
    reason:
      'The chain leaves the zone for another one of this server, maybe of another account: NSD goes on, BIND leaves out the referral at the cut; Knot does neither (RFC 6604 §3).',
    applies: ({ links }) => links.length > 0,
    // Busy, Knot may not have answered.
    accepts: (c) => agreesWithKnot(c) || (!c.theirs.has('knot') && (agrees(c) || sameLinks(c)) && staysInZone(c)),
  },
  {
    name: 'ds of a child served here',
    reason:
      'DS belongs to the zone above if that is served too (RFC 4035 §3.1.4.1); NSD asks the child when there is no cut.',
    applies: ({ question }) => question.type === Type.ds,
    accepts: ['knot', 'bind'],
  },
  {
    name: 'overlapping zones',
    reason:
      'NSD keeps the names of all zones in one tree, so that a name of a child zone served here exists for the parent.',
    applies: ({ overlaps }) => overlaps,
    accepts: ['knot', 'bind'],
  },
];

export function judge(exchange: Exchange): Verdict {
  const own = meaningOf(exchange.ours);
  const meanings = new Map([...exchange.theirs].map(([name, answer]) => [name, meaningOf(answer)]));
  const all = [...meanings.values()];
  const agreed = [...meanings].filter(([, theirs]) => sameMeaning(theirs, own)).map(([name]) => name);
  const c: Case = { ...exchange, own, meanings, links: linksOf(exchange) };
  const unanimous = all.every((meaning) => sameMeaning(meaning, all[0]!));
  const ruling = unanimous && agreed.length === all.length ? undefined : rule(c, unanimous);
  const right = ruling === undefined || accepts(ruling, c, agreed);
  const fault = right ? (judgeRoom(c) ?? judgeAdditional(c)) : 'the answer';
  return { by: ruling?.name ?? 'unanimous', fault, agreed };
}

/** Without the DNAME that was asked for, which leads nowhere. */
function linksOf({ question, whole }: Exchange): DecodedRR[] {
  const links = whole.answer.filter(isLink);
  if (question.type === Type.dname && links.at(-1)?.type === Type.dname) links.pop();
  return links;
}

function rule(c: Case, unanimous: boolean): Ruling {
  if (ROOM.applies(c)) return ROOM;
  // Two that agree do not show what the third would have said.
  if (unanimous && c.theirs.size === 3) return DISAGREES;
  return RULINGS.find(({ applies }) => applies(c)) ?? UNRULED;
}

const DISAGREES: Ruling = { name: 'unanimous', reason: '', applies: () => true, accepts: [] };
const UNRULED: Ruling = { name: 'no ruling', reason: '', applies: () => true, accepts: [] };

function accepts({ accepts }: Ruling, c: Case, agreed: readonly ReferenceName[]): boolean {
  if (typeof accepts === 'function') return accepts(c);
  return accepts.some((name) => agreed.includes(name));
}

/** As one of them has it, or all there is of one type, where DNAMEs lead. */
function isOneRRset(c: Case): boolean {
  const { own, ours, theirs } = c;
  if (agrees(c)) return true;
  // At an alias there is nothing else (RFC 8482 §4.1 does not have it followed).
  if (ours.answer[0]?.type === Type.cname) {
    return ours.rcode === 0 && ours.authority.length === 0 && isBeginOfAny(c);
  }
  const all = theirs.get('bind');
  // Nobody shows all there is.
  if (!all) return isSingleRRset(c);
  const first = ours.answer.find((record) => !isOfLink(record));
  const isSigned = ours.answer.some(({ type }) => type === Type.rrsig);
  const links = new Set(ours.answer.filter(isOfLink).map(printRR));
  const isGiven = (record: DecodedRR): boolean => {
    if (isOfLink(record)) return links.has(printRR(record));
    return record.owner === first?.owner && (isSigned ? coveredType(record) : record.type) === first.type;
  };
  const given = all.answer.filter(isGiven);
  return sameMeaning(withoutTtl(own), withoutTtl(meaningOf({ ...all, answer: given })));
}

function isSingleRRset({ ours, question }: Case): boolean {
  const [first] = ours.answer;
  const isOfIt = (record: DecodedRR): boolean =>
    record.owner === printWire(question.name).toLowerCase() && coveredType(record) === coveredType(first!);
  return ours.aa && ours.rcode === 0 && ours.answer.every(isOfIt);
}

/** The type of a record, or of what it signs. */
function coveredType({ type, rdata }: DecodedRR): number {
  return type === Type.rrsig ? Number.parseInt(rdata.slice(0, 4), 16) : type;
}

/** A DNAME or CNAME, or its signature. */
function isOfLink(record: DecodedRR): boolean {
  const type = coveredType(record);
  return type === Type.cname || type === Type.dname;
}

function isBeginOfAny({ own, links, meanings }: Case): boolean {
  const aliases = links.filter(({ type }) => type === Type.cname).length;
  return aliases === 1 && [...meanings.values()].some(({ answer }) => `${answer}\n`.startsWith(`${own.answer}\n`));
}

function agrees({ own, meanings }: Case): boolean {
  return [...meanings.values()].some((theirs) => sameMeaning(theirs, own));
}

function agreesWithKnot({ own, meanings }: Case): boolean {
  const knot = meanings.get('knot');
  return knot !== undefined && sameMeaning(knot, own);
}

function isLiteral({ links, owners }: Case): boolean {
  return links.every(({ type, owner }) => type !== Type.dname || owners.has(owner));
}

/** DNAMEs at owners that are in the zone, and otherwise the answer of one of them, whatever its DNAME's owner. */
function isLiteralSubstitution(c: Case): boolean {
  return isLiteral(c) && [...c.meanings.values()].some((theirs) => sameSubstitution(theirs, c.own));
}

/** The same but for the owners of DNAMEs, which Knot invents at wildcards. */
export function sameSubstitution(a: Meaning, b: Meaning): boolean {
  return sameMeaning(withoutDnameOwners(a), withoutDnameOwners(b));
}

function withoutDnameOwners(meaning: Meaning): Meaning {
  const lines = meaning.answer.split('\n').map((line) => line.replace(/^\S+ (\d+ 1 (?:39 |46 0027))/, '$1'));
  const isSignature = (line: string): boolean => /^\d+ 1 46 /.test(line);
  const answer = [...lines.filter((line) => !isSignature(line)), ...lines.filter(isSignature).sort()].join('\n');
  return { ...meaning, answer };
}

function withoutTtl(meaning: Meaning): Meaning {
  const blank = (section: string): string =>
    section
      .split('\n')
      .map((line) => line.replace(/^(\S+) \d+ /, '$1 '))
      .sort()
      .join('\n');
  return { ...meaning, answer: blank(meaning.answer), authority: blank(meaning.authority) };
}

/** Every RRset of ours has one TTL, the lowest that NSD, which shows them all, gives for it. */
function hasLowestTtls({ ours, theirs }: Case): boolean {
  const shown = theirs.get('nsd');
  if (!shown) return true;
  const lowest = (records: readonly DecodedRR[], { owner, type }: DecodedRR): number =>
    Math.min(...records.filter((record) => record.owner === owner && record.type === type).map(({ ttl }) => ttl));
  return (['answer', 'authority'] as const).every((section) =>
    ours[section].every((record) => record.type === Type.soa || record.ttl === lowest(shown[section], record)),
  );
}

function targetOf({ rdata }: DecodedRR): string {
  return printWire(Buffer.from(rdata, 'hex'));
}

function isBelow(name: string, ancestor: string): boolean {
  return name !== ancestor && (ancestor === '.' || name.endsWith(`.${ancestor}`));
}

/** A DNAME is used more than once, or a CNAME made of one leads to a name below a DNAME already used. */
function isRecursive(answer: readonly DecodedRR[]): boolean {
  const dnames = answer.filter(({ type }) => type === Type.dname);
  const aliases = answer.filter(({ type }) => type === Type.cname);
  return (
    dnames.some(
      ({ owner }) =>
        aliases.filter((alias) => isBelow(alias.owner, owner)).length > 1 ||
        aliases.some((alias) => isBelow(alias.owner, owner) && isBelow(targetOf(alias), owner)),
    ) || dnames.length > 1
  );
}

function leadsBack(links: readonly DecodedRR[]): boolean {
  const aliases = links.filter(({ type }) => type === Type.cname);
  const last = aliases.at(-1);
  return last !== undefined && aliases.some(({ owner }) => owner === targetOf(last));
}

/** The links of ours are those of one of them, each once. */
function sameLinks({ links, theirs }: Case): boolean {
  const own = links.map(printRR).join('\n');
  return [...theirs.values()].some(
    (answer) => [...new Set(answer.answer.filter(isLink).map(printRR))].join('\n') === own,
  );
}

/** NOERROR, YXDOMAIN, or that the last name does not exist in the zone. */
function endsWell(c: Case): boolean {
  const { rcode } = c.ours;
  return rcode === 0 || rcode === 6 || (rcode === 3 && staysInZone(c));
}

/** Neither an answer nor a proof: NXDOMAIN without SOA, or SERVFAIL. */
function isFailureOfKnot(knot: DecodedMessage | undefined): boolean {
  return knot !== undefined && (knot.rcode === 2 || (knot.rcode === 3 && !knot.aa)) && knot.authority.length === 0;
}

/** Behind the chain comes nothing when it leads out of the zone, otherwise the zone's SOA or a referral below it. */
function staysInZone({ ours, apex, links }: Case): boolean {
  const last = links.findLast(({ type }) => type === Type.cname);
  if (last && !isBelow(targetOf(last), apex) && targetOf(last) !== apex) {
    return ours.rcode === 0 && ours.authority.length === 0;
  }
  return ours.authority.some(({ type, owner }) =>
    type === Type.ns ? isBelow(owner, apex) : type === Type.soa && owner === apex,
  );
}

/** Each alias begins where the one before it leads to, and none comes twice. */
function holdsTogether(links: readonly DecodedRR[]): boolean {
  const aliases = links.filter(({ type }) => type === Type.cname);
  const owners = new Set(aliases.map(({ owner }) => owner));
  return (
    owners.size === aliases.length &&
    aliases.every((alias, index) => index === 0 || targetOf(aliases[index - 1]!) === alias.owner)
  );
}
