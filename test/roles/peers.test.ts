/** What nodes tell each other: a change counts as served when all nodes that live serve it. */
import t, { type Test } from 'tap';
import type { Connection, Row } from '../../src/cluster/connection.js';
import { LIST_NODES } from '../../src/cluster/statements.js';
import { createPropagation, type Propagation } from '../../src/control/write/propagation.js';
import type { ClusterMember } from '../../src/roles/cluster/member.js';
import { type Listeners, startPeers } from '../../src/roles/cluster/peers.js';
import { openStore } from '../../src/store/driver.js';
import { migrate } from '../../src/store/migrate.js';
import { makeDirectory } from '../support/cluster-copies.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';

const CHANGE = { change: 7, zone: 1 };

/** The table of nodes, in memory. */
function makeTable() {
  const rows = new Map<string, Row & { beat: number }>();
  const listeners: ((news: string) => void)[] = [];
  const teller: Pick<Connection, 'query'> = {
    async query(text, values = []) {
      if (text === LIST_NODES) return [...rows.values()];
      const [name, role, version, schema, applied, report] = values as string[];
      const beat = (rows.get(name!)?.beat ?? 0) + 1;
      rows.set(name!, { name, role, version, schema, applied, beat, report, age: 0 });
      for (const tell of listeners) tell(`node ${name}`);
      return [];
    },
  };
  return { rows, listeners, teller };
}

function startNode(t: Test, table: ReturnType<typeof makeTable>, name: string, clock: TestClock, answersDns: boolean) {
  const store = openStore(makeDirectory(t));
  migrate(store, clock, seededRandom(1));
  const propagation = createPropagation(clock);
  const member = {
    ...{ name, role: 'all', store, log: { teller: table.teller } },
    replica: { status: () => ({ state: 'following', applied: 0 }) },
    onNews: (listener: (news: string) => void) => void table.listeners.push(listener),
  } as unknown as ClusterMember;
  const edges = { report() {}, forget() {}, noteChanges() {} };
  const peers = startPeers(member, { propagation, edges }, { version: '1', clock, answersDns });
  t.teardown(() => {
    peers.close();
    store.close();
  });
  return { propagation, own: peers.own };
}

const dnsAt = ({ propagation }: Listeners, applied: number): void =>
  propagation.report({ name: '1', applied, unpublished: [] });

t.test('a node whose DNS process has not said how far it is', async (t) => {
  const clock = new TestClock();
  const table = makeTable();
  /** Lets what was told arrive. */
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < 10; step++) {
      clock.advance(ms / 10);
      await new Promise(setImmediate);
    }
  };
  const served = ({ propagation }: { propagation: Propagation }): boolean => propagation.isServed(CHANGE);
  const a = startNode(t, table, 'a', clock, true);
  dnsAt(a.own, 7);
  await pass(300);
  t.ok(served(a), 'alone');
  const edge = startNode(t, table, 'edge', clock, false);
  await pass(300);
  t.ok(served(a), 'a node without DNS is not waited for');
  const b = startNode(t, table, 'b', clock, true);
  await pass(300);
  t.notOk(served(a), 'one that starts may answer at any moment');
  t.notOk(served(edge));
  dnsAt(b.own, 6);
  await pass(300);
  t.notOk(served(a));
  dnsAt(b.own, 7);
  await pass(300);
  t.ok(served(a));
  t.ok(served(edge));
  b.own.propagation.forget('1');
  await pass(300);
  t.notOk(served(a), 'nor while its DNS process is started again');
  dnsAt(b.own, 7);
  await pass(300);
  t.ok(served(a));
});
