/**
 * Explains an answer: the zone and owner that decide, what replaces a record, and the answer itself, made by the same
 * code that serves.
 */

import type { TracedName } from '../answer/trace.js';
import { toHex } from '../base/bytes.js';
import { parseId } from '../control/guard/access.js';
import { accountFailure } from '../control/guard/account-failures.js';
import type { Context } from '../control/kernel/context.js';
import { zoneItem } from '../control/zones/item.js';
import { proofInWords } from '../control/zones/proof-words.js';
import { RCODE_MNEMONICS, Type } from '../dns/codes.js';
import type { ReadMessage, ReadRecord } from '../dns/message.js';
import {
  isAtOrBelow,
  labelCount,
  lowerName,
  NameError,
  ownerKeyOf,
  parentName,
  parseName,
  toFqdn,
} from '../dns/name.js';
import { typeByMnemonic, typeMnemonic } from '../dns/rr/registry.js';
import { printRecord } from '../dns/zonefile/writer.js';
import { createZoneSource, type ZoneSource } from '../publish/source.js';
import { findZoneAbove } from '../serving/look-up.js';
import type { ServingZone } from '../serving/zone.js';
import { isAnswered } from '../serving/zone-state.js';
import { findTarget } from '../store/flatten/targets.js';
import { findIncoming, primariesOfZone } from '../store/secondary/incoming.js';
import { findZoneById, type ZoneRow } from '../store/zones/zones.js';
import { type HttpsFacts, isAdvertised } from '../zone/derive/https.js';
import { flattenedAlias, type ZoneFacts } from '../zone/derive/owner.js';
import { type ClientSubnetEffect, effectOf, readSubnet, type Subnet } from './client-subnet.js';
import { type Packet, packetOf } from './packet.js';
import { type Asked, createPartImage, type PartImage, wildcardOf } from './part-image.js';
import { type SignedStep, signedSteps } from './signed-steps.js';

/** One step of the decision. */
export interface ExplanationStep {
  readonly step:
    | 'zone'
    | 'node'
    | 'delegation'
    | 'alias'
    | 'proxied'
    | 'flattened'
    | 'origin'
    | 'synthesized'
    | 'outside'
    | SignedStep['step'];
  /** FQDN without the final dot. */
  readonly name: string;
  /** Text for people. */
  readonly detail: string;
}

export interface Explanation {
  readonly name: string;
  readonly type: string;
  /** Null when none of our zones contains the name. */
  readonly zone: {
    readonly id: string;
    readonly name: string;
    readonly status: string;
    readonly serial: number;
  } | null;
  readonly steps: readonly ExplanationStep[];
  readonly answer: {
    readonly rcode: string;
    readonly authoritative: boolean;
    /** Lines in zone file form. */
    readonly answer: readonly string[];
    readonly authority: readonly string[];
  };
  /** The question and the response octet for octet; null when no zone is asked. */
  readonly packets: { readonly query: Packet; readonly response: Packet } | null;
  /** What the client subnet of the question did (RFC 7871); null without one. */
  readonly clientSubnet: ClientSubnetEffect | null;
}

export interface ExplainOptions {
  /** Restricts the question to a zone, in which names may be relative; without it the deepest served zone answers. */
  readonly zoneId?: string | undefined;
  /** An address or a network, such as `192.0.2.0/24`, which is sent along with the question. */
  readonly clientSubnet?: string | undefined;
}

/** The largest number of names in a chain. */
const MOST_NAMES = 80;

/**
 * Throws 400 for an invalid name, type or client subnet, and for a name outside the zone; may also throw the errors of
 * requireZone.
 */
export function explain(
  ctx: Context,
  name: string,
  typeName: string,
  { zoneId, clientSubnet }: ExplainOptions = {},
): Explanation {
  const type = typeByMnemonic(typeName);
  if (!type) throw accountFailure('badInput', { reason: `There is no record type ${typeName.slice(0, 32)}.` });
  const subnet = clientSubnet === undefined ? undefined : readSubnet(clientSubnet);
  return ctx.store.snapshot(() => {
    const id = zoneId === undefined ? undefined : parseId(zoneId);
    const given = id && findZoneById(ctx.store, id);
    const wire = readName(name, given?.apex);
    const zone = given ?? findZoneAbove(ctx.store, wire, isAnswered);
    const question = { name: toFqdn(wire), type: type.mnemonic };
    if (!zone) return { ...question, zone: null, steps: [notOurs(wire)], ...UNANSWERED };
    const summary = { id: toHex(zone.id), name: zone.name, status: zone.status, serial: zone.serial };
    return { ...question, zone: summary, ...explainIn(ctx, zone, { name: wire, type: type.code, subnet }) };
  });
}

const UNANSWERED = {
  answer: { rcode: 'REFUSED', authoritative: false, answer: [], authority: [] },
  packets: null,
  clientSubnet: null,
} as const;

function notOurs(name: Uint8Array): ExplanationStep {
  return { step: 'outside', name: toFqdn(name), detail: 'no zone served here contains this name' };
}

/** Relative names and `@` belong to the zone. */
function readName(text: string, apex: Uint8Array | undefined): Uint8Array {
  try {
    if (apex === undefined) return lowerName(parseName(text.endsWith('.') ? text : `${text}.`));
    if (text === '@' || text === '') return apex;
    const absolute = lowerName(parseName(text.endsWith('.') ? text : `${text}.`));
    if (isAtOrBelow(absolute, apex)) return absolute;
    if (text.endsWith('.')) throw accountFailure('badInput', { reason: `${text} is not in the zone.` });
    return lowerName(parseName(text, apex));
  } catch (error) {
    if (error instanceof NameError) throw accountFailure('badInput', { reason: `${error.message}.` });
    throw error;
  }
}

interface Question {
  readonly name: Uint8Array;
  readonly type: number;
  readonly subnet: Subnet | undefined;
}

type Found = Pick<Explanation, 'steps' | 'answer' | 'packets' | 'clientSubnet'>;

function explainIn(ctx: Context, zone: ZoneRow, { name, type, subnet }: Question): Found {
  const source = createZoneSource(ctx.store, ctx.settings);
  const serving = source.zone(zone.seq);
  if (!serving) {
    const detail = `the zone is ${zone.status} and not served. ${proofInWords(zoneItem(ctx, zone))}`;
    return { steps: [{ step: 'zone', name: zone.name, detail }], ...UNANSWERED };
  }
  const { facts } = serving;
  const ask: Ask = (image) => image.ask(name, type, subnet?.option);
  const { message, trace, query, response } = askPart(createPartImage(source, serving), facts.apex, name, ask);
  const answered = {
    answer: printAnswer(message),
    packets: { query: packetOf(query), response: packetOf(response) },
    clientSubnet: subnet ? effectOf(subnet, message) : null,
  };
  if (serving.expired) return { steps: [expiredStep(ctx, zone)], ...answered };
  const shared = { ctx, zone, source, serving, type };
  const chain = chainOf(message, name);
  const steps = [...chain, ...hiddenLinks(shared, chain, trace)].flatMap((link, i) =>
    explainName(shared, link, trace[i]),
  );
  const signed = signedSteps(message, Math.floor(ctx.clock.nowMs() / 1000));
  return { steps: [zoneStep(ctx, zone, facts), ...steps, ...signed], ...answered };
}

type Ask = (image: PartImage) => Asked;

/** Asks until the image contains all names to which the answer leads, because they decide the rest of it. */
function askPart(image: PartImage, apex: Uint8Array, name: Uint8Array, ask: Ask): Asked {
  image.add(name);
  let asked = ask(image);
  for (let round = 0; round < MOST_NAMES; round++) {
    const added = chainOf(asked.message, name).filter((link) => isAtOrBelow(link, apex) && image.add(link));
    if (added.length === 0) break;
    asked = ask(image);
  }
  return asked;
}

/** The name and the names to which its aliases lead, in order. */
function chainOf({ answers }: ReadMessage, name: Uint8Array): Uint8Array[] {
  return [name, ...answers.filter(({ type }) => type === Type.cname).map(({ rdata }) => lowerName(rdata))];
}

/** The rest of a chain that an error answer does not show. */
function hiddenLinks(
  { source, serving }: ExplanationFacts,
  chain: readonly Uint8Array[],
  trace: readonly TracedName[],
): Uint8Array[] {
  const links: Uint8Array[] = [];
  for (let i = chain.length; i < trace.length; i++) {
    const owner = deciderOf(links.at(-1) ?? chain.at(-1)!, trace[i - 1]!);
    const { rrsets } = source.owner(serving, ownerKeyOf(owner, serving.facts.apex));
    const alias = rrsets.find(({ type }) => type === Type.cname);
    if (!alias) break;
    links.push(lowerName(alias.rdatas[0]!));
  }
  return links;
}

function zoneStep(ctx: Context, zone: ZoneRow, facts: ZoneFacts): ExplanationStep {
  const modes = [
    ...(zone.paused === 1 ? ['paused'] : []),
    ...(zone.zone_mode === 'standard' ? [] : [zone.zone_mode]),
    ...(zone.account_dns_only === 1 ? ['dns_only for the whole account'] : []),
    ...(facts.flattenAll ? ['flattens every CNAME'] : []),
  ];
  const state = [`${zone.status}, serial ${zone.serial}`, ...modes].join(', ');
  return { step: 'zone', name: zone.name, detail: `${state}. ${proofInWords(zoneItem(ctx, zone))}` };
}

/** A secondary zone without a copy that may be served; its records do not matter (RFC 1034 §4.3.5). */
function expiredStep({ store }: Context, { seq, name }: ZoneRow): ExplanationStep {
  const incoming = findIncoming(store, seq);
  const primaries = primariesOfZone(store, seq);
  const at = incoming?.expires_at ?? null;
  const time = at === null ? '' : ` at ${new Date(at / 1000).toISOString()}`;
  const state =
    incoming?.serial == null
      ? 'nothing was transferred from a primary yet'
      : `its copy, serial ${incoming.serial}, expired${time}, because no primary answered`;
  const reason = incoming?.error ?? (primaries.length === 0 ? 'it has no primaries' : undefined);
  const last = reason === undefined ? '' : `; last check: ${reason}`;
  return { step: 'zone', name, detail: `secondary zone: ${state}${last}. All names are answered with SERVFAIL` };
}

/** The context of all steps of an explanation. */
interface ExplanationFacts {
  readonly ctx: Context;
  readonly zone: ZoneRow;
  readonly source: ZoneSource;
  readonly serving: ServingZone;
  readonly type: number;
}

/** What decides at one name of the chain, as the engine found it; nothing for a name that it did not look up. */
function explainName(shared: ExplanationFacts, name: Uint8Array, traced: TracedName | undefined): ExplanationStep[] {
  const { zone, serving } = shared;
  if (!isAtOrBelow(name, serving.facts.apex)) {
    return [{ step: 'outside', name: toFqdn(name), detail: `not in ${zone.name}: resolvers look it up elsewhere` }];
  }
  if (!traced) return [];
  const decider = deciderOf(name, traced);
  switch (traced.led) {
    case 'cut':
      return [{ step: 'delegation', name: toFqdn(decider), detail: 'delegated: answered with a referral' }];
    case 'dname':
      return [{ step: 'alias', name: toFqdn(decider), detail: 'a DNAME: names below it are redirected' }];
    case 'nowhere':
      return [{ step: 'node', name: toFqdn(name), detail: `${MISSING} ${toFqdn(decider)}, no wildcard there` }];
    default:
      return explainOwner(shared, decider, traced.led === 'wildcard' ? 'wildcard' : 'owner');
  }
}

const MISSING = 'does not exist; closest encloser';

/** The owner that decides about a name; for a nonexistent name its closest encloser. */
function deciderOf(name: Uint8Array, { led, labels }: TracedName): Uint8Array {
  let ancestor = name;
  for (let left = labelCount(name) - labels; left > 0; left--) ancestor = parentName(ancestor);
  return led === 'wildcard' ? wildcardOf(ancestor) : ancestor;
}

/** What replaces an owner's records. */
function explainOwner(shared: ExplanationFacts, owner: Uint8Array, kind: 'owner' | 'wildcard'): ExplanationStep[] {
  const { ctx, source, serving, type } = shared;
  const { facts } = serving;
  const steps: ExplanationStep[] = [];
  const key = ownerKeyOf(owner, facts.apex);
  const rows = source.owner(serving, key).records;
  const here = toFqdn(owner);
  const types = [...new Set(rows.map((row) => typeMnemonic(row.type)))].join(', ');
  steps.push({ step: 'node', name: here, detail: rows.length === 0 ? emptyDetail(key) : `${kind} with ${types}` });
  if (rows.some(({ proxied }) => proxied)) {
    const detail = facts.dnsOnly
      ? 'proxied, but the zone answers its records unchanged'
      : 'proxied: answers the edge addresses';
    steps.push({ step: 'proxied', name: here, detail });
    if (type === Type.https && !facts.dnsOnly && !rows.some((row) => row.type === Type.https)) {
      steps.push({ step: 'synthesized', name: here, detail: explainHttps(facts, key) });
    }
  }
  const alias = flattenedAlias(facts, key.length === 0, rows);
  const origin = facts.dnsOnly ? undefined : rows.find((row) => row.proxied && row.type === Type.cname);
  if (origin) steps.push(...explainTarget(ctx, here, lowerName(origin.rdata), 'origin'));
  if (alias) steps.push(...explainTarget(ctx, here, lowerName(alias.rdata), 'flattened'));
  else if (rows.some((row) => row.type === Type.cname) && !rows.some(({ proxied }) => proxied && !facts.dnsOnly)) {
    steps.push({ step: 'alias', name: here, detail: 'a CNAME: the look-up continues with its target' });
  }
  if (key.length === 0 && (type === Type.soa || type === Type.ns) && facts.nameServers.length > 0) {
    steps.push({ step: 'synthesized', name: here, detail: `${typeMnemonic(type)} of the service's name servers` });
  }
  return steps;
}

/** Why a proxied owner has, or lacks, an HTTPS record that nobody wrote. */
function explainHttps(facts: HttpsFacts, ownerKey: Uint8Array): string {
  if (isAdvertised(facts, ownerKey)) return 'HTTPS, because a certificate of the zone covers the name';
  if (!facts.http2) return 'the setting http2 is off: no HTTPS';
  return 'no valid certificate of the zone covers every name that is answered here: no HTTPS';
}

const emptyDetail = (key: Uint8Array): string =>
  key.length === 0 ? 'the apex, without records of its own' : 'no records here, but names below it exist: no data';

/** `step`: whether the name answers the target's addresses, or the edge's, which connects to the target. */
function explainTarget(
  ctx: Context,
  owner: string,
  target: Uint8Array,
  step: 'flattened' | 'origin',
): ExplanationStep[] {
  const text = toFqdn(target);
  const row = findTarget(ctx.store, target);
  const first = step === 'origin' ? `its origin is ${text}` : `flattened: answers the addresses of ${text}`;
  if (!row || row.asked === 0) return [{ step, name: owner, detail: `${first}, which has not been resolved yet` }];
  const nowUs = ctx.clock.nowMs() * 1000;
  const seconds = (us: number): number => Math.max(0, Math.round(us / 1_000_000));
  const age = `resolved ${seconds(nowUs - row.resolved_at)} s ago`;
  const hops = (JSON.parse(row.chain ?? '[]') as { name: string; ttl: number; source: string }[]).map(
    (hop): ExplanationStep => ({
      step,
      name: hop.name,
      detail: `next of the chain, TTL ${hop.ttl}, ${hop.source === 'own' ? 'from our own zones' : 'from outside'}`,
    }),
  );
  const state =
    row.failures === 0
      ? `${age}, TTL ${row.ttl}, resolved again in ${seconds(row.refresh_at * 1000 - nowUs)} s`
      : `failed ${row.failures} times (${row.reason}), ${row.ipv4 === null ? 'no addresses known' : row.stale === 1 ? 'stale' : age}`;
  const isNowhere = row.ipv4?.length === 0 && row.ipv6?.length === 0;
  const where = isNowhere ? ', which leads nowhere: it has no address' : '';
  return [{ step, name: owner, detail: `${first}${where}; ${state}` }, ...hops];
}

function printAnswer(message: ReadMessage): Explanation['answer'] {
  return {
    rcode: RCODE_MNEMONICS[message.rcode] ?? String(message.rcode),
    authoritative: (message.flags & 0x0400) !== 0,
    answer: message.answers.map(printLine),
    authority: message.authorities.map(printLine),
  };
}

function printLine({ owner, type, ttl, rdata }: ReadRecord): string {
  return printRecord({ owner, type, ttl, rdata }).replaceAll('\t', ' ');
}

/** Text for people, as the command line prints it. */
export function printExplanation({ name, type, zone, steps, answer, clientSubnet }: Explanation): string[] {
  const widest = Math.max(...steps.map((step) => step.step.length));
  return [
    `${name} ${type}${zone ? ` in ${zone.name}` : ''}`,
    ...steps.map((step) => `  ${step.step.padEnd(widest)}  ${step.name}: ${step.detail}`),
    `  ${answer.rcode}${answer.authoritative ? ', authoritative' : ''}`,
    ...answer.answer.map((line) => `  answer     ${line}`),
    ...answer.authority.map((line) => `  authority  ${line}`),
    ...(clientSubnet ? [`  subnet     ${clientSubnet.asked}: ${clientSubnet.detail}`] : []),
  ];
}

/** The packets as text, one line for each part: its offset, its octets, what it is. */
export function printPackets({ packets }: Explanation): string[] {
  if (!packets) return [];
  return (['query', 'response'] as const).flatMap((which) => [
    `  ${which}, ${packets[which].size} octets`,
    ...packets[which].parts.map(({ offset, hex, text }) => `    ${String(offset).padStart(5)}  ${hex}  ${text}`),
  ]);
}
