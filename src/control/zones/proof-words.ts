/** Whose the name of a zone is, in words: the one text for the API, the dashboard, the commands and `explain` (docs/tenants.md). */
import type { ZoneItem } from './item.js';

/** What shows that the name is the account's and since when, or what to do next. */
export function proofInWords(zone: Pick<ZoneItem, 'name' | 'status' | 'nameServers' | 'proof'>): string {
  const { by, at, lostAt } = zone.proof;
  const since = at === null ? '' : ` since ${printTime(at)}`;
  if (by === 'trust')
    return `Nothing shows whose the name is: this server believes who comes first, which it does${since}.`;
  if (by === null) return [...whyNot(zone), whatNext(zone)].join(' ');
  const lost = lostAt === null ? '' : ` It was not found any more on ${printTime(lostAt)}. ${whatNext(zone)}`;
  const waits = ` The zone becomes active when ${zone.name} is delegated to ${list(zone.nameServers)}.`;
  return `The name is proven by ${PROOFS[by](zone)}${since}.${lost}${zone.status === 'pending' ? waits : ''}`;
}

const PROOFS = {
  operator: () => 'the word of this server’s operator',
  delegation: ({ nameServers }: Pick<ZoneItem, 'nameServers'>) => `its delegation to ${list(nameServers)}`,
  txt: ({ proof }: Pick<ZoneItem, 'proof'>) => `the TXT record ${proof.record.name}`,
} as const;

function whyNot({ status, proof }: Pick<ZoneItem, 'status' | 'proof'>): string[] {
  if (status === 'moved') return ['Another account has shown that the name is its own.'];
  const contested = 'Another account claims the name, or one above or below it, so the zone is not answered yet.';
  return ['Nothing shows yet whose the name is.', ...(proof.contested ? [contested] : [])];
}

function whatNext({ name, nameServers, proof }: Pick<ZoneItem, 'name' | 'nameServers' | 'proof'>): string {
  const { name: at, content } = proof.record;
  const record = `the TXT record ${at} with the content ${content}`;
  if (!proof.byDelegation)
    return `Add ${record} where ${name} is answered now: its delegation cannot tell whose it is.`;
  return `Have ${name} delegated to ${list(nameServers)} and no others of this server, or add ${record} where it is answered now.`;
}

function list(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

function printTime(atUs: number): string {
  return new Date(atUs / 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}
