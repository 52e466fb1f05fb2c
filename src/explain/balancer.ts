/** Explains what a load balancer answers: the engine answers the question, and says what it looked at. */
import { answerWith } from '../answer/engine.js';
import { createEngineState, DEFAULT_ENGINE_SETTINGS } from '../answer/state.js';
import { Transport } from '../answer/transport.js';
import { type LoadBalancer, loadBalancerOf } from '../balancing/load-balancer.js';
import { accountFailure } from '../control/guard/account-failures.js';
import type { Context } from '../control/kernel/context.js';
import { RCODE_MNEMONICS, Type } from '../dns/codes.js';
import { readMessage } from '../dns/message.js';
import { nameOfOwnerKey, toFqdn } from '../dns/name.js';
import { printRecord } from '../dns/zonefile/writer.js';
import { ImageWriter } from '../image/writer.js';
import { createBalances, nodeSource } from '../publish/balances.js';
import { createZoneSource } from '../publish/source.js';
import type { BalancedPool } from '../serving/balanced.js';
import { NO_HEALTH } from '../serving/health-source.js';
import { type Choice, Drop } from '../steering/choice.js';
import { codeOf, Head, textOfCode } from '../steering/layout.js';
import type { LoadBalancerRow } from '../store/balancing/load-balancers.js';
import { readSubnet } from './client-subnet.js';
import { MOST_STATES } from './part-image.js';
import { makeQuery } from './question.js';

export interface BalancerQuestion {
  readonly type: 'A' | 'AAAA';
  /** An address or a network of the asker, which is sent along as its client subnet. */
  readonly client?: string | undefined;
  /** Where the asker is, in place of what a database says; needs `client`. */
  readonly country?: string | undefined;
  /** Where the server is that is asked. */
  readonly region?: string | undefined;
  readonly pop?: string | undefined;
}

export interface PoolVerdict {
  readonly id: string;
  readonly name: string;
  readonly verdict:
    | 'chosen'
    | 'fallback'
    | 'candidate'
    | 'disabled'
    | 'critical'
    | 'no origin takes traffic'
    | 'shed'
    | 'not considered';
}

export interface BalancerExplanation {
  readonly name: string;
  readonly type: string;
  readonly policy: string;
  readonly place: { readonly pop: string; readonly country: string; readonly region: string };
  /** Text for people, in the order of the decision. */
  readonly steps: readonly string[];
  /** Those of the list that was chosen from in its order, then all others. */
  readonly pools: readonly PoolVerdict[];
  readonly rcode: string;
  /** Lines in zone file form. */
  readonly answer: readonly string[];
}

/** Throws 400 for a question that cannot be asked. */
export function explainBalancer(ctx: Context, row: LoadBalancerRow, question: BalancerQuestion): BalancerExplanation {
  const { store, settings } = ctx;
  return store.snapshot(() => {
    const source = createZoneSource(store, settings);
    const zone = source.zone(row.zone);
    if (!zone) throw accountFailure('badInput', { reason: 'The zone is not answered.' });
    const ownerKey = new Uint8Array(row.owner_key);
    const { apex } = zone.facts;
    const owner = nameOfOwnerKey(ownerKey, apex);
    const writer = new ImageWriter({ seed: 1, states: MOST_STATES });
    const number = writer.beginZone(apex);
    const balances = createBalances(source.health ?? NO_HEALTH, writer);
    const keys = ownerKey.length === 0 ? [ownerKey] : [new Uint8Array(0), ownerKey];
    const served = keys.map((key) => source.owner(zone, key));
    for (const each of served) writer.loadNode(number, nodeSource(each, apex, balances));
    writer.publishZone(number);
    writer.commit();
    const subnet = question.client === undefined ? undefined : readSubnet(question.client);
    if (subnet && question.country !== undefined) {
      writer.setPlaces({ version: 1, networks: `${subnet.text} ${question.country}\n` });
    }
    const own = { pop: codeOf(question.pop ?? ''), region: codeOf(question.region ?? '') };
    const engine = createEngineState({ ...DEFAULT_ENGINE_SETTINGS, own });
    const query = makeQuery(owner, question.type === 'A' ? Type.a : Type.aaaa, false, subnet?.option);
    const out = new Uint8Array(65_535);
    const answer = answerWith(engine, writer.reader);
    const length = answer(query, 0, query.length, out, 0, out.length, Transport.tcp);
    const message = readMessage(out.slice(0, length))!;
    const { balanced } = served.at(-1)!;
    const { asker, choice } = engine.search.balance;
    const told = balanced
      ? toldOf(choice, balanced.balanced.pools)
      : { pools: [], steps: [passedBy(loadBalancerOf(row))] };
    return {
      name: toFqdn(owner).replace(/\.$/, ''),
      type: question.type,
      policy: balanced ? POLICY_NAMES[choice.steering[0]!]! : loadBalancerOf(row).policy,
      place: { pop: textOfCode(asker.pop), country: textOfCode(asker.country), region: textOfCode(asker.region) },
      ...told,
      rcode: RCODE_MNEMONICS[message.rcode] ?? String(message.rcode),
      answer: message.answers.map(printRecord),
    };
  });
}

const POLICY_NAMES = [
  ...['off', 'geo', 'random', 'dynamic_latency', 'proximity', 'least_outstanding_requests', 'least_connections'],
];

function passedBy({ enabled }: LoadBalancer): string {
  return enabled
    ? 'The load balancer is proxied: the name answers the addresses of the edge, which chooses for each request.'
    : 'The load balancer is disabled: the other records of its name are answered.';
}

const VERDICTS: Readonly<Record<number, PoolVerdict['verdict']>> = {
  [Drop.no]: 'candidate',
  [Drop.disabled]: 'disabled',
  [Drop.critical]: 'critical',
  [Drop.empty]: 'no origin takes traffic',
  [Drop.shed]: 'shed',
};

function toldOf(
  choice: Choice,
  pools: readonly BalancedPool[],
): { readonly pools: readonly PoolVerdict[]; readonly steps: readonly string[] } {
  const nameOf = (index: number): string => pools[index]!.pool.name;
  const isFixed = choice.fixedSet >= 0 || choice.fixedRule >= 0;
  const listed = isFixed
    ? []
    : Array.from(choice.words.subarray(choice.list + 1, choice.list + 1 + choice.words[choice.list]!));
  const verdictOf = (index: number): PoolVerdict['verdict'] => {
    if (index === choice.pool && !isFixed) return choice.isFallback ? 'fallback' : 'chosen';
    return listed.includes(index) ? VERDICTS[choice.dropped[index]!]! : 'not considered';
  };
  const order = [...listed, ...pools.keys()].filter((index, i, all) => all.indexOf(index) === i);
  const steps: string[] = [];
  if (choice.set >= 0) steps.push(`Pool set ${choice.set} matches.`);
  for (const [rule, matched] of choice.matched.entries()) {
    if (matched === 1 && rule < choice.words[choice.at + Head.rules]!) steps.push(`Rule ${rule} holds.`);
  }
  if (isFixed) steps.push('It has a fixed response: the name answers without records.');
  else {
    steps.push(`The pools to choose from, in order: ${listed.map(nameOf).join(', ') || 'none'}.`);
    for (const index of listed) {
      const verdict = verdictOf(index);
      if (verdict !== 'chosen' && verdict !== 'candidate' && verdict !== 'fallback')
        steps.push(`Pool ${nameOf(index)}: ${verdict}.`);
    }
    if (choice.pool < 0) steps.push('No pool is left, and the fallback pool is disabled: there is no address.');
    else if (choice.isFallback)
      steps.push(`No pool is left: the fallback pool ${nameOf(choice.pool)}, whatever its health.`);
    else steps.push(`Pool ${nameOf(choice.pool)} is chosen.`);
  }
  return {
    steps,
    pools: order.map((index) => ({ id: pools[index]!.pool.id, name: nameOf(index), verdict: verdictOf(index) })),
  };
}
