/**
 * `node build/test/by-hand/failovers.js [ROUNDS] [SEED]` (12 rounds): three nodes that clients write to, each round with a cluster of its own.
 * At a random moment the primary of PostgreSQL is killed with -9, and its synchronous standby is promoted a random time later;
 * in every second round one of the nodes is killed with -9 within that time, too, and started again. Then every acknowledged
 * creation must be on every node once, in the database and in DNS, and all databases must be equal. Prints a line a round;
 * exits with 0 when all went well.
 */
import t, { type Test } from 'tap';
import { SystemClock, sleep, steadyMs } from '../../src/base/clock.js';
import { parseName } from '../../src/dns/name.js';
import { contentIn } from '../support/cluster-copies.js';
import { copyMasterKey, makeNodes, type TestNode } from '../support/cluster-nodes.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { addSynchronousStandby, type Postgres, startPostgres } from '../support/postgres.js';
import { askAll } from '../support/reference-servers.js';
import { seededRandom } from '../support/seeded-random.js';
import { until } from '../support/until.js';

const ROUNDS = Number(process.argv[2] ?? 12);
const SEED = Number(process.argv[3] ?? 1);
/** Clients of each node; each sends its requests one after the other. */
const CLIENTS = 6;
const ROUND_LIMIT_MS = 300_000;
const clock = new SystemClock();

interface Creation {
  readonly name: string;
  /** -1: no answer came. */
  readonly status: number;
  readonly tookMs: number;
}

/** The moments of a round, milliseconds. */
interface Plan {
  readonly killAt: number;
  readonly promoteAfter: number;
  /** The node that is killed, and when after the primary; undefined: none. */
  readonly node: number | undefined;
  readonly nodeAfter: number;
}

function planOf(seed: number, round: number): Plan {
  const random = seededRandom(seed * 1000 + round + 1);
  const below = (limit: number): number => {
    const [high = 0, low = 0] = random.bytes(2);
    return ((high << 8) | low) % limit;
  };
  // The first numbers of close seeds are close to each other.
  random.bytes(16);
  const [killAt, promoteAfter, node, nodeAfter] = [below(1500), below(2500), below(3), below(2000)];
  return { killAt, promoteAfter, node: round % 2 ? node : undefined, nodeAfter };
}

async function startNodes(t: Test, postgres: Postgres, standby: Postgres): Promise<readonly TestNode[]> {
  const url = postgres.url.replace(/@[^/]*/, `@127.0.0.1:${postgres.port},127.0.0.1:${standby.port}`);
  const make = makeNodes(t, { url }, { ZONEPLANE_CLUSTER_PATIENCE: '60' });
  const nodes = ['a', 'b', 'c'].map((name) => make(name));
  const [first, ...others] = nodes as [TestNode, ...TestNode[]];
  t.match(await first.command('cluster', 'init'), { code: 0 });
  for (const other of others) copyMasterKey(first, other);
  // One after the other: free ports are only free until somebody takes them.
  for (const node of nodes) await node.start();
  return nodes;
}

/** Creates addresses until it is told to stop; the names are those of node and client. */
async function createUntil(
  node: TestNode,
  path: string,
  client: string,
  creations: Creation[],
  isOver: () => boolean,
): Promise<void> {
  for (let index = 0; !isOver(); index++) {
    const name = `${client}-${index}`;
    const beganMs = steadyMs(clock);
    const status = await node
      .call('POST', path, { type: 'A', name, content: '192.0.2.7' })
      .then((answer) => answer.status)
      .catch(() => -1);
    creations.push({ name, status, tookMs: steadyMs(clock) - beganMs });
    // A node that is being started again refuses connections.
    if (status === -1) await sleep(50);
  }
}

/** Names that the zone has on a node, with how often. */
async function namesOn(node: TestNode, path: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const { json } = await node.call('GET', `${path}?per_page=50000&type=A`);
  for (const { name } of json.result as { name: string }[]) {
    const label = name.split('.')[0]!;
    found.set(label, (found.get(label) ?? 0) + 1);
  }
  return found;
}

/** How many of the names DNS of a node does not answer. */
async function unanswered(node: TestNode, names: readonly string[]): Promise<number> {
  const answers = await askAll(
    node.program().dnsPort,
    names.map((name) => makeQuery(parseName(`${name}.failovers.test.`), 1)),
    2000,
  );
  return answers.filter((answer) => !answer || decodeMessage(answer).answer.length !== 1).length;
}

async function runRound(t: Test, round: number, plan: Plan): Promise<void> {
  const postgres = await startPostgres(t);
  const standby = await addSynchronousStandby(postgres);
  const nodes = await startNodes(t, postgres, standby);
  const { json } = await nodes[0]!.call('POST', '/zones', { name: 'failovers.test' });
  const path = `/zones/${json.result.id}/dns_records`;
  await until(async () =>
    (await Promise.all(nodes.map((node) => node.call('GET', path)))).every((a) => a.status === 200),
  );
  const creations: Creation[] = [];
  const made = (): number => creations.filter(({ status }) => status === 200).length;
  let isOver = false;
  const clients = nodes.flatMap((node) =>
    Array.from({ length: CLIENTS }, (_, index) =>
      createUntil(node, path, `${node.name}${index}`, creations, () => isOver),
    ),
  );
  await until(async () => made() > 100);
  await sleep(plan.killAt);
  const before = made();
  await postgres.signal('SIGKILL');
  const troubles = [sleep(plan.promoteAfter).then(() => standby.promote())];
  const victim = plan.node === undefined ? undefined : nodes[plan.node]!;
  if (victim) {
    troubles.push(
      (async () => {
        await sleep(plan.nodeAfter);
        await victim.kill();
        await victim.start();
      })(),
    );
  }
  await Promise.all(troubles);
  const during = made();
  await until(async () => made() > during + 300);
  isOver = true;
  await Promise.all(clients);

  const acknowledged = creations.filter(({ status }) => status === 200).map(({ name }) => name);
  const refused = creations.filter(({ status }) => status !== 200);
  const counts = await Promise.all(nodes.map((node) => namesOn(node, path)));
  const lost = counts.map((found) => acknowledged.filter((name) => !found.has(name)).length);
  const twice = counts.map((found) => [...found.values()].filter((count) => count > 1).length);
  const unknown = refused.filter(({ name }) => counts[0]!.has(name)).length;
  const silent: number[] = [];
  for (const node of nodes) {
    await until(async () => (await unanswered(node, acknowledged.slice(-20))) === 0);
    silent.push(await unanswered(node, acknowledged));
  }
  for (const node of nodes) await node.stop();
  for (const node of nodes) t.match(await node.command('zone', 'list'), { code: 0 });
  const contents = new Set(nodes.map(({ dataDir }) => contentIn(dataDir)));
  const longestMs = Math.max(...creations.filter(({ status }) => status === 200).map(({ tookMs }) => tookMs));
  t.comment(
    `round ${round}: killed after ${plan.killAt} ms and ${before} creations, promoted ${plan.promoteAfter} ms later` +
      `${victim ? `, node ${victim.name} killed after ${plan.nodeAfter} ms` : ''}; ${acknowledged.length} acknowledged, ` +
      `${refused.length} without success (${unknown} of them stored); lost ${lost}, twice ${twice}, not in DNS ${silent}, ` +
      `longest ${Math.round(longestMs)} ms`,
  );
  t.strictSame([...lost, ...twice, ...silent], [0, 0, 0, 0, 0, 0, 0, 0, 0]);
  t.equal(contents.size, 1, 'all databases are equal');
}

t.setTimeout(ROUNDS * ROUND_LIMIT_MS);
for (let round = 0; round < ROUNDS; round++) {
  t.test(`round ${round} of seed ${SEED}`, { timeout: ROUND_LIMIT_MS }, (t) => runRound(t, round, planOf(SEED, round)));
}
