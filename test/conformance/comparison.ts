/**
 * Sends the same queries to the reference servers and to us over all transports, and returns the answers query by
 * query.
 */
import { Transport } from '../../src/answer/transport.js';
import { Type } from '../../src/dns/codes.js';
import { lowerName, parseName } from '../../src/dns/name.js';
import { readZone } from '../../src/dns/zonefile/parser.js';
import { type DecodedMessage, decodeMessage, makeQuery, printWire } from '../support/message.js';
import { askAll, askAllByTcp, type ReferenceName, type References } from '../support/reference-servers.js';
import type { ServedZones, ZoneSource } from '../support/served-zones.js';
import { isStream, type Question, queryFor, type Way } from './questions.js';
import type { AskThroughInterface } from './through-interface.js';

/** A zone all servers were given, and what is asked of it. */
export interface AskedZone extends ZoneSource {
  readonly questions: readonly Question[];
}

/** What we serve, and how it is asked over UDP, unless the engine itself is. */
export interface Ours extends Omit<ServedZones, 'writer'> {
  readonly ask?: AskThroughInterface | undefined;
}

/** One question and what everybody said to it. */
export interface Exchange {
  readonly way: Way;
  readonly question: Question;
  /** Of the zone the question belongs to. */
  readonly apex: string;
  /** Another zone above or below this one is served too. */
  readonly overlaps: boolean;
  /** Printed names that have records in that zone. */
  readonly owners: ReadonlySet<string>;
  readonly ours: DecodedMessage;
  /** Our answer over TCP, where nothing is left out for lack of room. */
  readonly whole: DecodedMessage;
  /** Without the servers that could not load the zone. */
  readonly theirs: ReadonlyMap<ReferenceName, DecodedMessage>;
}

/** Calls `visit` for every question that at least two references have an answer to. */
export async function exchange(
  way: Way,
  zones: readonly AskedZone[],
  ours: Ours,
  references: References,
  visit: (exchange: Exchange) => void,
): Promise<void> {
  const asked = zones.flatMap(({ questions }) => questions);
  const queries = asked.map((question) => queryFor(question, way));
  const ask = isStream(way) ? askAllByTcp : askAll;
  const { servers } = references;
  const overlapping = overlappingZones(zones);
  const apexes = new Set(zones.map(({ apex }) => apex));
  const owners = new Map(zones.map((zone) => [zone.apex, ownersOf(zone)]));
  const loaded = await Promise.all(servers.map(({ port }) => loadedZones(port, zones)));
  const theirs = await Promise.all(servers.map(({ port }) => ask(port, queries)));
  const own = isStream(way) ? undefined : await ours.ask?.(queries);
  asked.forEach((question, index) => {
    const query = queries[index]!;
    const enclosing = enclosingZones(question.name, apexes);
    // Who has the child but not the parent or the other way round answers other questions.
    const needed = enclosing.slice(0, 2);
    const apex = question.type === Type.ds && enclosing[0] === printWire(question.name) ? needed.at(-1)! : needed[0]!;
    const answers = new Map<ReferenceName, DecodedMessage>();
    servers.forEach(({ name }, at) => {
      if (!needed.every((one) => loaded[at]!.has(one))) return;
      const answer = theirs[at]![index];
      // A question lost on the way to a busy server is nobody's opinion; the tally says whether too many were.
      if (answer !== undefined) answers.set(name, decodeMessage(answer));
    });
    if (answers.size < 2) return;
    const whole = answerOf(ours, query, 'tcp');
    const received = own && (own[index] ?? Buffer.alloc(0));
    visit({
      way,
      question,
      apex,
      overlaps: overlapping.has(apex),
      owners: owners.get(apex)!,
      ours: received ? decodeMessage(received) : isStream(way) ? whole : answerOf(ours, query, way),
      whole,
      theirs: answers,
    });
  });
}

/** Apexes at or above the name, the closest first. */
function enclosingZones(name: Uint8Array, apexes: ReadonlySet<string>): string[] {
  const printed = printWire(lowerName(name));
  const found: string[] = [];
  for (let at = 0; at < printed.length; at = printed.indexOf('.', at) + 1) {
    if (apexes.has(printed.slice(at))) found.push(printed.slice(at));
  }
  return found;
}

function ownersOf({ apex, text }: ZoneSource): Set<string> {
  const records = [...readZone({ text }, { origin: parseName(apex) }).records()].flat();
  return new Set(records.map(({ owner }) => printWire(lowerName(owner))));
}

function overlappingZones(zones: readonly ZoneSource[]): Set<string> {
  const isUnder = (lower: string, upper: string): boolean => lower.endsWith(`.${upper}`);
  const apexes = zones.map(({ apex }) => apex);
  return new Set(apexes.filter((one) => apexes.some((other) => isUnder(one, other) || isUnder(other, one))));
}

/** Apexes of the zones a server has: those whose SOA it gives. */
async function loadedZones(port: number, zones: readonly ZoneSource[]): Promise<Set<string>> {
  const queries = zones.map(({ apex }) => makeQuery(parseName(apex), 6));
  const answers = await askAll(port, queries);
  return new Set(
    zones.flatMap(({ apex }, index) => {
      const answer = answers[index] && decodeMessage(answers[index]);
      return answer?.aa && answer.rcode === 0 && answer.answer[0]?.type === 6 ? [apex] : [];
    }),
  );
}

function answerOf({ answer }: Pick<ServedZones, 'answer'>, query: Buffer, way: Way): DecodedMessage {
  const out = Buffer.alloc(65535);
  const length = answer(query, 0, query.length, out, 0, out.length, isStream(way) ? Transport.tcp : Transport.udp);
  return decodeMessage(out.subarray(0, length));
}
