/** What nodes tell each other: a change counts as served when all nodes that live serve it. */

import t, { type Test } from 'tap';
import { parseIP } from '../../src/base/ip.js';
import { createLifecycle } from '../../src/base/lifecycle.js';
import { silentLogger } from '../../src/base/log.js';
import type { Row } from '../../src/cluster/ask.js';
import type { Connection } from '../../src/cluster/connection.js';
import { LIST_NODES } from '../../src/cluster/statements.js';
import { loadSettings } from '../../src/config/load.js';
import { settingsSchema } from '../../src/config/schema.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import type { ContextBase } from '../../src/control/kernel/context.js';
import { createPropagation, type Propagation } from '../../src/control/kernel/propagation.js';
import { createZone } from '../../src/control/zones/zones.js';
import type { ClusterMember } from '../../src/roles/cluster/member.js';
import { type Listeners, startPeers } from '../../src/roles/cluster/peers.js';
import {
  createInstallationEgress,
  listenersOfNode,
  machineName,
  tellListeners,
} from '../../src/roles/process/listening.js';
import { createCertificates } from '../../src/roles/services/certificates.js';
import { openStore, type Store } from '../../src/store/driver.js';
import { lastChange } from '../../src/store/log/changes.js';
import { putMeta } from '../../src/store/meta.js';
import { migrate } from '../../src/store/migrate.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { baseOf, makeInstallation } from '../support/api-nodes.js';
import { makeDirectory } from '../support/cluster-copies.js';
import { hostnameServices } from '../support/hostname-services.js';
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
      const [name, role, version, schema, knows, applied, appliedId, report] = values as string[];
      const beat = (rows.get(name!)?.beat ?? 0) + 1;
      rows.set(name!, { name, role, version, schema, knows, applied, applied_id: appliedId, beat, report, age: 0 });
      for (const tell of listeners) tell(`node ${name}`);
      return [];
    },
  };
  return { rows, listeners, teller };
}

function startNode(t: Test, table: ReturnType<typeof makeTable>, name: string, clock: TestClock, answersDns: boolean) {
  const directory = makeDirectory(t);
  const store = openStore(directory);
  migrate(store, clock, seededRandom(1));
  const propagation = createPropagation(clock);
  const member = {
    ...{ name, role: 'all', store, log: { teller: table.teller } },
    replica: { status: () => ({ state: 'following', applied: 0 }) },
    onNews: (listener: (news: string) => void) => void table.listeners.push(listener),
  } as unknown as ClusterMember;
  const edges = { report() {}, forget() {}, noteChanges() {} };
  const peers = startPeers(
    member,
    { propagation, edges },
    {
      ...{ version: '1', clock, answersDns, log: silentLogger(), dataDir: directory },
    },
  );
  t.teardown(() => {
    peers.close();
    store.close();
  });
  return { store, directory, propagation, own: peers.own };
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

const setPosition = (store: Store, entry: number): Promise<void> =>
  store.write(() => putMeta(store, 'log_number', entry));

/** What issues certificates in the admin process of a node. */
async function certificatesOf(t: Test, base: ContextBase, { directory, propagation }: ReturnType<typeof startNode>) {
  const { resolver, certificates } = await hostnameServices(base, { directory });
  const { vault, fetchToken } = certificates;
  const lifecycle = createLifecycle(base.clock, base.log);
  t.teardown(() => lifecycle.stop(1000));
  const parts = { base, vault, resolver, fetchToken, version: 'test', lifecycle, propagation };
  return createCertificates(loadSettings({ environment: {}, flags: {} }).settings, parts);
}

t.test('a certificate authority is told of a challenge when all nodes that live serve it', async (t) => {
  const clock = new TestClock();
  const table = makeTable();
  const [a, b] = [startNode(t, table, 'a', clock, true), startNode(t, table, 'b', clock, true)];
  const base = { ...baseOf(a.store, 1), clock };
  await makeInstallation(a.store, a.directory);
  await createZone({ ...base, actor: OPERATOR, requestId: 'test', source: 'api' }, { name: 'example.com' });
  const { seq } = findZoneByName(a.store, 'example.com')!;
  const { whenEverywhere } = await certificatesOf(t, base, a);
  const change = lastChange(a.store);
  /** The answer once it is there; undefined before. */
  const ask = (): { told?: boolean } => {
    const asked: { told?: boolean } = {};
    whenEverywhere([seq]).then((told) => (asked.told = told));
    return asked;
  };
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < 20; step++) {
      clock.advance(ms / 20);
      await new Promise(setImmediate);
    }
  };
  dnsAt(a.own, change);
  dnsAt(b.own, change - 1);
  await pass(400);
  const first = ask();
  await pass(2000);
  t.equal(first.told, undefined, 'the DNS process of the other node lacks the change');
  dnsAt(b.own, change);
  await pass(400);
  t.equal(first.told, true);
  // Its DNS process says nothing of rows that are not changes for DNS, such as what is answered over HTTP.
  await setPosition(a.store, 7);
  const second = ask();
  await pass(2000);
  t.equal(second.told, undefined, 'the copy of the other node lacks an entry');
  await setPosition(b.store, 7);
  await pass(6000);
  t.equal(second.told, true);
  dnsAt(b.own, change - 1);
  await pass(400);
  const third = ask();
  await pass(20_000);
  t.equal(third.told, false, 'a node that lives and serves nothing holds a step for seconds only');
});

t.test('what a node listens on is not an origin on another one', async (t) => {
  const clock = new TestClock();
  const table = makeTable();
  const [a, b] = ['a', 'b'].map((name) => startNode(t, table, name, clock, false));
  const listener = { host: '127.0.0.1', port: 9053, place: 'here' } as const;
  const end = tellListeners(b!.directory, 'admin', [listener], silentLogger());
  const serving = { edgeAddresses: [parseIP('203.0.113.80')!], nameServerAddresses: [] };
  const refusalAt = (address: string, port: number): string | undefined => {
    const settings = { ...settingsSchema.parse({}), dataDir: a!.directory, allowNetworks: ['0.0.0.0/0'] };
    return createInstallationEgress(settings, serving, clock).refusal('origins', address, port);
  };
  const pass = async (): Promise<void> => {
    for (let step = 0; step < 10; step++) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
  };
  await pass();
  t.match(refusalAt('127.0.0.1', 9053), /is a listener of this installation/);
  t.equal(refusalAt('203.0.113.80', 9999), undefined, 'no port of a listener');
  t.match(refusalAt('203.0.113.80', 443), /is a listener of this installation/, 'the edge of both');
  end();
  await pass();
  t.equal(refusalAt('127.0.0.1', 9053), undefined, 'it listens no more');
});

t.test('loopback of another machine is not ours', async (t) => {
  const told = ['127.0.0.1', '::1', '10.0.0.2'].map((host) => ({ host, port: 8053, place: 'here' as const }));
  t.strictSame(listenersOfNode('another', told), [{ host: '10.0.0.2', port: 8053, place: 'elsewhere' }]);
  t.strictSame(listenersOfNode(machineName(), told), told);
});
