/** Explains what a load balancer answers: the engine answers the question, and says what it looked at. */
import type { PlacedByCode } from '../answer/balance/choose.js';
import { answerWith } from '../answer/engine.js';
import { createEngineState, DEFAULT_ENGINE_SETTINGS, type Engine } from '../answer/state.js';
import { createClient, Transport } from '../answer/transport.js';
import { toHex } from '../base/bytes.js';
import { parseIP } from '../base/ip.js';
import { accountFailure } from '../control/guard/account-failures.js';
import { decide } from '../control/guard/decision.js';
import type { Context } from '../control/kernel/context.js';
import { printInstant } from '../control/rules/instant.js';
import { RCODE_MNEMONICS, Type } from '../dns/codes.js';
import { type ReadMessage, readMessage } from '../dns/message.js';
import { nameOfOwnerKey, toFqdn } from '../dns/name.js';
import { printRecord } from '../dns/zonefile/writer.js';
import { ImageWriter } from '../image/writer.js';
import type { PlaceSource } from '../location/finder.js';
import { createBalances, nodeSource } from '../publish/balances.js';
import { createZoneSource } from '../publish/source.js';
import { NO_HEALTH } from '../serving/health-source.js';
import { type ServedOwner, servedWithBalancer } from '../serving/owner.js';
import type { ServingZone } from '../serving/zone.js';
import { codeOf, textOfCode } from '../steering/layout.js';
import { findAccount } from '../store/access/accounts.js';
import type { LoadBalancerRow } from '../store/balancing/load-balancers.js';
import { type ChoiceTold, passedBy, toldOf } from './balancer-steps.js';
import { type ClientSubnetEffect, effectOf, readSubnet, type Subnet } from './client-subnet.js';
import { MOST_STATES } from './part-image.js';
import { balancerAt, type PastBalancer } from './past-balancer.js';
import { makeQuery } from './question.js';

export interface BalancerQuestion {
  readonly type: 'A' | 'AAAA';
  /** The address that the question comes from. */
  readonly client?: string | undefined;
  /** A network or an address, sent as the client subnet. */
  readonly subnet?: string | undefined;
  /** The country of the asker, instead of the looked-up one; needs `client` or `subnet`. */
  readonly country?: string | undefined;
  /** The location of the queried server, instead of the real one. */
  readonly region?: string | undefined;
  readonly pop?: string | undefined;
  /** Microseconds since 1970; undefined: now. */
  readonly atUs?: number | undefined;
}

/** Where this server is, and its source for the locations of others. */
export interface Surroundings {
  readonly region: string;
  readonly pop: string;
  readonly places: PlaceSource | undefined;
}

export interface BalancerExplanation extends ChoiceTold {
  readonly name: string;
  readonly type: string;
  /** The moment that is explained; null for now. */
  readonly at: string | null;
  readonly place: {
    readonly pop: string;
    readonly country: string;
    readonly region: string;
    readonly by: 'server' | 'client_subnet' | 'address';
  };
  readonly clientSubnet: ClientSubnetEffect | null;
  readonly rcode: string;
  /** Lines in zone file form. */
  readonly answer: readonly string[];
}

/** Throws 400 for a question that cannot be asked. */
export function explainBalancer(
  ctx: Context,
  row: LoadBalancerRow,
  question: BalancerQuestion,
  here: Surroundings,
): BalancerExplanation {
  const { store, settings } = ctx;
  return store.snapshot(() => {
    const source = createZoneSource(store, settings, question.region ?? here.region);
    const zone = source.zone(row.zone);
    if (!zone) throw accountFailure('badInput', { reason: 'The zone is not answered.' });
    const past = question.atUs === undefined ? undefined : balancerAt(ctx, row, question.atUs);
    const ownerKey = new Uint8Array(row.owner_key);
    const keys = ownerKey.length === 0 ? [ownerKey] : [new Uint8Array(0), ownerKey];
    const served = keys.map((key) =>
      past && key === ownerKey ? pastOwner(ctx, zone, key, past) : source.owner(zone, key),
    );
    const writer = new ImageWriter({ seed: 1, states: MOST_STATES });
    const number = writer.beginZone(zone.facts.apex);
    const balances = createBalances(past?.health ?? source.health ?? NO_HEALTH, writer);
    for (const each of served) writer.loadNode(number, nodeSource(each, zone.facts.apex, balances, number));
    writer.publishZone(number);
    writer.commit();
    const owner = nameOfOwnerKey(ownerKey, zone.facts.apex);
    const { engine, message, subnet } = ask(writer, owner, question, here);
    const { asker, placedBy } = engine.search.balance;
    const { balanced } = served.at(-1)!;
    return {
      name: toFqdn(owner).replace(/\.$/, ''),
      type: question.type,
      at: question.atUs === undefined ? null : printInstant(question.atUs),
      place: {
        ...{ pop: textOfCode(asker.pop), country: textOfCode(asker.country), region: textOfCode(asker.region) },
        by: PLACED_BY[placedBy],
      },
      ...(balanced
        ? toldOf(engine.search.balance, balanced.balanced, readsPools(ctx, row))
        : passedBy(past?.balanced.row ?? row)),
      clientSubnet: subnet ? effectOf(subnet, message) : null,
      rcode: RCODE_MNEMONICS[message.rcode] ?? String(message.rcode),
      answer: message.answers.map(printRecord),
    };
  });
}

/** A zone permission shows load balancers; the account permission also shows the origins behind them. */
function readsPools({ actor, store }: Context, { account }: LoadBalancerRow): boolean {
  return decide(actor, 'loadBalancing', 'read', { account: toHex(findAccount(store, account)!.id) }).allowed;
}

const PLACED_BY = { 0: 'server', 1: 'client_subnet', 2: 'address' } as const satisfies Record<PlacedByCode, string>;

/** What was served at the name. A disabled load balancer did not hide the other records. */
function pastOwner({ store }: Context, zone: ServingZone, key: Uint8Array, { balanced }: PastBalancer): ServedOwner {
  return servedWithBalancer(store, zone, key, balanced.row.enabled === 1 ? balanced : undefined);
}

interface Asked {
  /** The engine in its state after the answer. */
  readonly engine: Engine;
  readonly message: ReadMessage;
  readonly subnet: Subnet | undefined;
}

function ask(writer: ImageWriter, owner: Uint8Array, question: BalancerQuestion, here: Surroundings): Asked {
  const subnet = question.subnet === undefined ? undefined : readSubnet(question.subnet);
  const source = question.client === undefined ? undefined : parseIP(question.client);
  if (question.client !== undefined && !source) {
    throw accountFailure('badInput', { reason: `${question.client.slice(0, 64)} is not an address.` });
  }
  const places = placesOf(question, subnet, here);
  if (places) writer.setPlaces(places);
  const { pop = here.pop, region = here.region } = question;
  const own = { pop: codeOf(pop.toUpperCase()), region: codeOf(region.toUpperCase()) };
  const engine = createEngineState({ ...DEFAULT_ENGINE_SETTINGS, own });
  const query = makeQuery(owner, question.type === 'A' ? Type.a : Type.aaaa, false, subnet?.option);
  const client = { ...createClient(), ...(source && { source, length: source.length }) };
  const out = new Uint8Array(65_535);
  const answer = answerWith(engine, writer.reader);
  const length = answer(query, 0, query.length, out, 0, out.length, Transport.tcp, client);
  return { engine, message: readMessage(out.slice(0, length))!, subnet };
}

/** Locations of networks: as given in the question, otherwise as the server knows them. */
function placesOf(
  { country, client }: BalancerQuestion,
  subnet: Subnet | undefined,
  here: Surroundings,
): PlaceSource | undefined {
  const asker = subnet?.text ?? client;
  if (country === undefined) return here.places;
  if (asker === undefined) {
    throw accountFailure('badInput', { reason: 'A country needs an address or a client subnet.' });
  }
  if (!/^[A-Za-z]{2}$/.test(country))
    throw accountFailure('badInput', { reason: 'A country is a code of two letters.' });
  return { version: 1, networks: `${asker} ${country.toUpperCase()}\n` };
}
