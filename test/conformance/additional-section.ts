/** What the additional section must, may and must not contain. */
import { Type } from '../../src/dns/codes.js';
import type { DecodedMessage, DecodedRR } from '../support/message.js';
import type { Exchange } from './comparison.js';
import { isLink } from './meaning.js';
import { isStream } from './questions.js';

/** What is wrong with our additional section; undefined when nothing is. */
export function judgeAdditional({ way, question, owners, ours, theirs }: Exchange): string | undefined {
  if (ours.tc) return ours.additional.length > 0 ? 'a truncated answer has additional records' : undefined;
  const given = new Set(ours.additional.map(printData));
  if (given.size !== ours.additional.length) return 'an additional record comes twice';
  const answers = [...theirs.values()];
  const allowed = new Set(answers.flatMap(({ additional }) => additional.map(printData)));
  // Optional data is free (RFC 1034 §4.3.2 step 6), but nothing may be made up.
  const stray = ours.additional.find((record) => !allowed.has(printData(record)) && !isOfZone(record.owner, owners));
  if (stray) return `a stray additional record: ${printData(stray)}`;
  if (answers.some(({ tc }) => tc)) return undefined;
  const [knot, bind] = [theirs.get('knot'), theirs.get('bind')];
  let wanted: string[] = [];
  if (isReferral(ours)) wanted = glueWanted(isStream(way), ours, answers, bind, owners);
  else if (knot && bind && (question.type === Type.svcb || question.type === Type.https))
    wanted = commonOf([knot, bind]);
  const lost = way === 'udp' && !isReferral(ours) ? undefined : wanted.find((record) => !given.has(record));
  return lost === undefined ? undefined : `an additional record is missing: ${lost}`;
}

function isReferral({ answer, authority }: DecodedMessage): boolean {
  return authority.length > 0 && authority.every(({ type }) => type === Type.ns) && answer.every(isLink);
}

function isOfZone(owner: string, owners: ReadonlySet<string>): boolean {
  if (owners.has(owner)) return true;
  for (let at = owner.indexOf('.') + 1; at > 0 && at < owner.length; at = owner.indexOf('.', at) + 1) {
    if (owners.has(`*.${owner.slice(at)}`)) return true;
  }
  return false;
}

/**
 * Addresses of the name servers that all references give. Those below the cut must always be there (RFC 9471 §3.1); where
 * there is room also the others, which BIND leaves out.
 */
function glueWanted(
  hasRoom: boolean,
  { authority }: DecodedMessage,
  answers: readonly DecodedMessage[],
  bind: DecodedMessage | undefined,
  owners: ReadonlySet<string>,
): string[] {
  const cut = authority[0]!.owner;
  const ownerOf = (record: string): string => record.slice(0, record.indexOf(' '));
  // What only a wildcard makes is wanted when nobody leaves it out.
  const below = commonOf(answers).filter(
    (record) =>
      (ownerOf(record) === cut || ownerOf(record).endsWith(`.${cut}`)) &&
      (answers.length === 3 || owners.has(ownerOf(record))),
  );
  if (!hasRoom) return below;
  // Addresses that a wildcard makes are free: BIND has none.
  const generous = answers.filter((answer) => answer !== bind);
  const others = generous.length < 2 ? [] : commonOf(generous).filter((record) => owners.has(ownerOf(record)));
  return [...below, ...others];
}

/** Records that all of them have. */
function commonOf(answers: readonly DecodedMessage[]): string[] {
  const [first, ...others] = answers;
  const sets = others.map(({ additional }) => new Set(additional.map(printData)));
  return (first?.additional ?? []).map(printData).filter((record) => sets.every((set) => set.has(record)));
}

/** Without the TTL: RRsets whose TTLs differ in the file are everybody's own affair here. */
function printData({ owner, type, rdata }: DecodedRR): string {
  return `${owner} ${type} ${rdata}`;
}
